"""The test bench for workloads: each source also hears what arrives at its terminal."""

from ..fabric.fabric import Pin, Pins
from ..networks.network import PacketNetwork
from .packet_bench import PacketBench, SourcePlan
from .stamp import LONG_TIME_BITS

__all__ = ["WorkloadBench"]


class WorkloadBench(PacketBench):
    """The fabric of a network with a `DependentSource` and a sink at every terminal.

    Parameters
    ----------
    network : PacketNetwork
        With as many sources as sinks.
    sources : SourcePlan
        Of `DependentSource`, or of one that has a `word` as well.
    """

    def __init__(self, network: PacketNetwork, sources: SourcePlan) -> None:
        rows = sources.parameters["arrivals"]
        super().__init__(
            network,
            sources,
            bins=2,
            time=LONG_TIME_BITS,
            network_latency=False,
            # Whole bytes, so that a few more messages change no router.
            message=8 * -(-rows.bit_length() // 8),
            word=sources.parameters.get("word", 0),
        )
        drivers = {receiver.cell: driver for driver, receiver in self._metered}
        outputs = [drivers[sink] for sink in self.sinks]
        for part, port in (("valid", "heard_valid"), ("payload", "heard")):
            heard = [Pin(output.cell, (*output.path, part)) for output in outputs]
            self.link_all(Pins.of(heard), Pins.alike(self.sources, (port,)))
