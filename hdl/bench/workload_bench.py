"""The test bench for workloads: each source also hears what arrives at its terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..fabric.cell import Cell, CellType
from ..fabric.pins import Pin, Pins
from ..networks.packet_network import PacketNetwork
from .packet_bench import PacketBench, SourcePlan
from .stamp import LONG_TIME_BITS
from .waiting_rows import WaitingRows

__all__ = ["WorkloadBench", "WorkloadPlan"]


@dataclass(frozen=True)
class WorkloadPlan(SourcePlan):
    """The sources of a workload: `DependentSource`, or one that has a `word` as well; and the rows
    beside them.

    Attributes
    ----------
    rows : Mapping[str, int]
        Parameters of the `WaitingRows`.
    blocks : Sequence[Sequence[Mapping[str, int]]]
        By terminal and block, the straps of its `WaitingRows`.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    blocks: Sequence[Sequence[Mapping[str, int]]] = ()


class WorkloadBench(PacketBench):
    """The fabric of a network with a `DependentSource` and a sink at every terminal.

    Parameters
    ----------
    network : PacketNetwork
        With as many sources as sinks.
    sources : WorkloadPlan
    """

    def __init__(self, network: PacketNetwork, sources: WorkloadPlan) -> None:
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
        drivers = {receiver.cell: driver for driver, receiver in self._metered.each()}
        outputs = [drivers[sink] for sink in self.sinks]
        for part, port in (("valid", "heard_valid"), ("payload", "heard")):
            heard = [Pin(output.cell, (*output.path, part)) for output in outputs]
            self.link_all(Pins.of(heard), Pins.of_each(self.sources, (port,)))
        kind = CellType(WaitingRows, **sources.rows)
        names = []
        for terminal, (source, blocks) in enumerate(zip(self.sources, sources.blocks)):
            for number, straps in enumerate(blocks):
                name = self.place(Cell(f"rows_{terminal}_{number}", kind, straps)).name
                names.append(name)
                for port in ("ready", "first", "computed", "last"):
                    self.link(Pin(name, (port,)), Pin(source, (port, number)))
                for port in ("arrived", "left", "ended", "sent", "stopped"):
                    self.link(Pin(source, (port, number)), Pin(name, (port,)))
                self.link(Pin(source, ("sent_row",)), Pin(name, ("sent_row",)))
        self._supply(Pin(None, ("send",)), names, "open")
