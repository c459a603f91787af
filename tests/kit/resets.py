"""What tests of resets share: a network on its bench, whose reset is pulsed amid traffic."""

import random
from collections.abc import Iterator, Sequence

from amaranth.lib.wiring import Out
from multicube.hdl import AxiStreamNetwork, Network, PacketNetwork
from multicube.hdl.bench import Bench, bench_for
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Run
from multicube.sim.engines import PortEngine, ResetEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.probe import Probe
from multicube.sim.workload.class_traffic import network_traffic
from random_modules import flat

__all__ = [
    "AxisEnds",
    "Ends",
    "Scoreboard",
    "check_books",
    "check_resets",
    "counters",
    "pulses",
    "reset_bench",
    "start",
]

_WATCHED = (1, 3, 17, 20, 40)
"""Cycles between looks at the counters after a reset."""

_LONGEST_DRAIN = 40_000


def reset_bench(network: Network, *, load: float = 0.5, seed: int = 1) -> Bench:
    """A bench of the network with uniform traffic."""
    run = Run(network_traffic("uniform", network), load, seed=seed, source_depth=8)
    return bench_for(network, run.sources(network), bins=64)


def counters(bench: Bench) -> list[Pin]:
    """What sources, sinks and meters count, as far as registers do.

    Stamps have numbers from a memory, which a reset does not reach.
    """
    cells = dict.fromkeys([*bench.sources, *bench.sinks])
    cells |= dict.fromkeys(name for meters in bench.meters.values() for name in meters.values())
    return [
        Pin(name, path)
        for name in cells
        for path, leaf in bench.cells[name].type.leaves.items()
        if leaf.flow == Out and len(path) == 1 and path != ("stamp_sum",)
    ]


def start(engine: PortEngine) -> None:
    engine.set("send", 1)
    engine.set("measure", 1)


def pulses(seed: int, count: int, *, within: int = 120) -> Iterator[tuple[int, int]]:
    """For each reset, after how many cycles it begins, and how many it takes."""
    generator = random.Random(seed)
    for _ in range(count):
        yield generator.randint(1, within), generator.choice((1, 1, 2, 3, 9, 40))


def check_books(engine: CompiledEngine, bench: Bench) -> None:
    """Let the sources stop: each packet or request since the reset has come, once."""
    probe = Probe(engine, [0], bench)
    engine.set("send", 0)
    end = engine.cycle + _LONGEST_DRAIN
    while probe.unfinished > 0 and engine.cycle < end:
        engine.step(100)
    engine.step(200)  # nothing may follow
    assert probe.unfinished == 0
    assert sum(probe.sinks("delivered")) > 0
    ports = bench.cells[bench.sinks[0]].type.leaves
    for error in ("misrouted", "duplicated", "damaged"):
        assert (error,) not in ports or sum(probe.sinks(error)) == 0, error
    assert not probe.stamps_differ
    # Nothing was born before the reset.
    born = sum(probe.sinks("delivered")) * max(probe.sinks("latest"))
    assert probe.arrived_latency <= born


def check_resets(
    network: Network, pulses: Sequence[tuple[int, int]], *, load: float = 0.5, seed: int = 1
) -> None:
    """Pulse the reset amid traffic: after it, the network is as when it was new.

    After resets that are too short for that (`reset_cycles`) only the books are compared.
    """
    bench = reset_bench(network, load=load, seed=seed)
    pins = counters(bench)

    def watched(engine: CompiledEngine) -> list[list[int]]:
        seen = []
        for cycles in _WATCHED:
            engine.step(cycles)
            seen.append([engine.get(pin) for pin in pins])
        return seen

    with CompiledEngine(bench) as engine:
        start(engine)
        new = watched(engine)
        for number, (wait, length) in enumerate(pulses):
            engine.step(wait)
            engine.reset(length)
            at_once = length >= network.reset_cycles
            assert watched(engine) == new or not at_once, (number, engine.cycle)
            if not at_once or number == len(pulses) - 1:
                check_books(engine, bench)
                start(engine)


class Ends:
    """How packets get into an engine's fabric and out of it: streams `i_0`, ..., `o_0`, ...

    Attributes
    ----------
    network : PacketNetwork
        Its payload has `_BITS` bits, or more.
    fabric : Fabric
    """

    def __init__(self, network: PacketNetwork) -> None:
        self.network = network
        self.fabric = flat(network.fabric)

    def offer(
        self, engine: PortEngine, source: int, destination: int, payload: int | None, last: bool
    ) -> None:
        """Show a flit at an input, or none if there is no payload."""
        engine.set(f"i_{source}_valid", payload is not None)
        if payload is not None:
            packet = self.network.packet
            fields: dict[str, int] = {"payload": payload}
            fields["tag"] = self.network.tags.tag(source, destination)
            if packet.flits:
                fields["last"] = last
            elif packet.sized:
                fields["length"] = 1
            engine.set(f"i_{source}_payload", packet.const(fields).as_value().value)

    def taken(self, engine: PortEngine, source: int) -> bool:
        return bool(engine.get(Pin(None, (f"i_{source}_ready",))))

    def ready(self, engine: PortEngine, sink: int, ready: bool) -> None:
        engine.set(f"o_{sink}_ready", ready)

    def shown(self, engine: PortEngine, sink: int) -> tuple[int, bool] | None:
        """The payload of the flit at an output, and whether it is the last of its packet."""
        if not engine.get(Pin(None, (f"o_{sink}_valid",))):
            return None
        flit = self.network.packet.from_bits(engine.get(Pin(None, (f"o_{sink}_payload",))))
        return flit.payload, bool(flit.last) if self.network.packet.flits else True


class AxisEnds(Ends):
    """The same by AXI4-Streams."""

    def __init__(self, network: PacketNetwork) -> None:
        self.network = network
        self.fabric = AxiStreamNetwork(network).fabric

    def offer(
        self, engine: PortEngine, source: int, destination: int, payload: int | None, last: bool
    ) -> None:
        engine.set(f"s_axis_{source}_tvalid", payload is not None)
        if payload is not None:
            engine.set(f"s_axis_{source}_tdata", payload)
            engine.set(f"s_axis_{source}_tdest", self.network.tags.code.encode(destination))
            if self.network.packet.flits:
                engine.set(f"s_axis_{source}_tlast", last)

    def taken(self, engine: PortEngine, source: int) -> bool:
        return bool(engine.get(Pin(None, (f"s_axis_{source}_tready",))))

    def ready(self, engine: PortEngine, sink: int, ready: bool) -> None:
        engine.set(f"m_axis_{sink}_tready", ready)

    def shown(self, engine: PortEngine, sink: int) -> tuple[int, bool] | None:
        if not engine.get(Pin(None, (f"m_axis_{sink}_tvalid",))):
            return None
        values = (engine.get(Pin(None, (f"m_axis_{sink}_{name}",))) for name in ("tdata", "tlast"))
        payload, last = values
        return payload, bool(last)


_BITS = 24
_FLIT, _NUMBER, _SOURCE = 3, 11, 5
"""Bits of a payload: the number of the flit, that of the packet, its source; then the reset's."""


class Scoreboard:
    """Terminals that send random packets, and know what must arrive where since the last reset."""

    def __init__(self, engine: ResetEngine, ends: Ends, seed: int) -> None:
        self.engine = engine
        self.ends = ends
        self.random = random.Random(seed)
        network = ends.network
        self.sources, self.sinks = range(network.sources), range(network.sinks)
        self.resets = self.number = self.arrived = 0
        self._forget()

    def _forget(self) -> None:
        self.left: list[list[tuple[int, int, bool]]] = [[] for _ in self.sources]
        self.due: dict[tuple[int, ...], int] = {}
        self.parts: list[list[int]] = [[] for _ in self.sinks]

    def _new(self, source: int) -> None:
        """Have a packet sent."""
        low, high = self.ends.network.lengths
        length = self.random.randint(low, high) if self.ends.network.packet.flits else 1
        destination = self.random.choice(self.sinks)
        self.number = (self.number + 1) % (1 << _NUMBER)
        head = (self.resets % 16 << _SOURCE | source) << _NUMBER | self.number
        flits = tuple(head << _FLIT | flit for flit in range(length))
        self.left[source] = [(destination, one, one == flits[-1]) for one in flits]
        assert flits not in self.due
        self.due[flits] = destination

    def step(self, cycles: int, *, send: bool = True) -> None:
        engine, ends = self.engine, self.ends
        for _ in range(cycles):
            for source in self.sources:
                if not self.left[source] and send and self.random.random() < 0.5:
                    self._new(source)
                to, payload, last = (self.left[source] or [(0, None, False)])[0]
                ends.offer(engine, source, to, payload, last)
            readies = [self.random.random() < 0.8 for _ in self.sinks]
            for sink, ready in zip(self.sinks, readies):
                ends.ready(engine, sink, ready)
            for source in self.sources:
                if self.left[source] and ends.taken(engine, source):
                    del self.left[source][0]
            for sink, ready in zip(self.sinks, readies):
                if ready and (flit := ends.shown(engine, sink)) is not None:
                    self._arrive(sink, *flit)
            engine.step(1)

    def _arrive(self, sink: int, payload: int, last: bool) -> None:
        self.parts[sink].append(payload)
        if last:
            flits, self.parts[sink] = tuple(self.parts[sink]), []
            assert self.due.pop(flits, None) == sink, (sink, list(map(hex, flits)), self.resets)
            self.arrived += 1

    def reset(self, cycles: int) -> None:
        """Reset the network and its terminals together."""
        for source in self.sources:
            self.ends.offer(self.engine, source, 0, None, False)
        self.engine.reset(cycles)
        self.resets += 1
        self._forget()

    def finish(self, limit: int = 20_000) -> None:
        """All that was sent arrives, and nothing else."""
        spent = 0
        while (self.due or any(self.left)) and spent < limit:
            self.step(20, send=False)
            spent += 20
        assert not self.due, sorted(self.due)
        self.step(60, send=False)
        assert not any(self.parts)
