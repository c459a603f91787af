# amaranth: UnusedElaboratable=no
"""Queues between two clocks, and networks whose terminals have clocks of their own."""

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from operator import call
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator
from long_runs import long
from multicube.hdl import MultiClockNetwork, TerminalClocks, build
from multicube.hdl.fabric.cell import SYNC, Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.terminals.clock_crossing import ClockCrossing
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from refusals import refusals

SEED = 265

CLOCKS = {
    "in phase": ((1.0, 0.25), (1.0, 0.25)),
    "in turn": ((1.0, 0.25), (1.0, 0.75)),
    "near": ((1.0, 0.25), (1.013, 0.6)),
    "slow writer": ((2.71, 0.25), (1.0, 0.6)),
    "slow reader": ((1.0, 0.25), (3.37, 0.6)),
}
"""Period and phase in microseconds: of the writer, and of the reader."""


class Clocked:
    """A design in Amaranth's simulator, with clocks by domain."""

    def __init__(self, design: Any, clocks: dict[str, tuple[float, float]]) -> None:
        m = Module()
        m.submodules.design = design
        self.resets = {}
        for name in clocks:
            domain = ClockDomain(name)
            m.domains += domain
            self.resets[name] = domain.rst
        self.simulator = Simulator(m)
        for name, (period, phase) in clocks.items():
            self.simulator.add_clock(period * 1e-6, phase=phase * 1e-6, domain=name)

    def run(self, *testbenches: Any, background: tuple[Any, ...] = (), limit: float) -> None:
        """Run testbenches to their end, which must come within `limit` microseconds."""

        async def watchdog(ctx: Any) -> None:
            await ctx.delay(limit * 1e-6)
            raise TimeoutError(f"The test did not end within {limit} microseconds")

        for testbench in testbenches:
            self.simulator.add_testbench(testbench)
        for testbench in (*background, watchdog):
            self.simulator.add_testbench(testbench, background=True)
        self.simulator.run()


def pair(clocks: tuple[tuple[float, float], tuple[float, float]], **parameters: Any) -> Any:
    crossing = ClockCrossing(16, **parameters)
    return crossing, Clocked(crossing, dict(zip(("write", "read"), clocks)))


@pytest.mark.parametrize("clocks", list(CLOCKS.values())[1:], ids=list(CLOCKS)[1:])
def test_latency(clocks: Any) -> None:
    """An item is shown behind the third edge of the reader, whenever the queue was empty."""
    crossing, clocked = pair(clocks)
    sent, edges = [], []

    async def write(ctx: Any) -> None:
        for item in range(1, 8):
            ctx.set(crossing.i.payload, item)
            ctx.set(crossing.i.valid, 1)
            await ctx.tick("write").until(crossing.i.ready)
            sent.append(item)
            ctx.set(crossing.i.valid, 0)
            for _ in range(30):
                await ctx.tick("write")

    async def read(ctx: Any) -> None:
        ctx.set(crossing.o.ready, 1)
        since = 0
        while True:
            *_, valid, item = await ctx.tick("read").sample(crossing.o.valid, crossing.o.payload)
            since = since + 1 if len(sent) > len(edges) else 0
            if valid:
                assert item == sent[-1]
                edges.append(since)
                since = 0

    clocked.run(write, background=(read,), limit=1000)
    # It is taken at the edge behind which it is no longer shown: the fourth.
    assert edges == [4] * 7


@pytest.mark.one_in(3)
@pytest.mark.parametrize("depth", [2, 4, 8])
@pytest.mark.parametrize("clocks", CLOCKS.values(), ids=CLOCKS)
def test_throughput(clocks: Any, depth: int) -> None:
    """With a depth of 8, one item in each cycle of the slower clock; all in order."""
    crossing, clocked = pair(clocks, depth=depth)
    slower = max(period for period, _ in clocks)
    begun, cycles = 40, 100
    seen = []

    async def write(ctx: Any) -> None:
        item = 0
        ctx.set(crossing.i.valid, 1)
        while True:
            ctx.set(crossing.i.payload, item)
            *_, ready = await ctx.tick("write").sample(crossing.i.ready)
            item += ready

    async def read(ctx: Any) -> None:
        ctx.set(crossing.o.ready, 1)
        while True:
            *_, valid, item = await ctx.tick("read").sample(crossing.o.valid, crossing.o.payload)
            if valid:
                assert item == len(seen)
                seen.append(item)

    counts = []

    async def count(ctx: Any) -> None:
        await ctx.delay(begun * slower * 1e-6)
        counts.append(len(seen))
        await ctx.delay(cycles * slower * 1e-6)
        counts.append(len(seen))

    clocked.run(count, background=(write, read), limit=1000)
    rate = (counts[1] - counts[0]) / cycles
    if depth == 8:
        assert rate == pytest.approx(1, abs=0.011)
    elif clocks is CLOCKS["in phase"]:
        assert rate == pytest.approx(depth / 6, abs=0.02)
    else:
        assert depth / 6 - 0.02 <= rate <= 1.01


@pytest.mark.one_in(2)
@pytest.mark.parametrize("who", [("read",), ("write",), ("write", "read")], ids="+".join)
@pytest.mark.parametrize("clocks", CLOCKS.values(), ids=CLOCKS)
def test_resets(clocks: Any, who: tuple[str, ...]) -> None:
    """The reader's reset loses nothing; the writer's only what waits unseen; that of both all.

    What is offered to a reader that is not in reset stays as it is until it is taken.
    """
    crossing, clocked = pair(clocks, depth=4)
    rng = random.Random(SEED)
    sent: list[int] = []
    seen: list[int] = []
    marks: list[tuple[int, int]] = []
    slower = max(period for period, _ in clocks)

    async def write(ctx: Any) -> None:
        item = 0
        offered = False
        while True:
            if not offered and rng.random() < 0.8:
                item += 1
                offered = True
            ctx.set(crossing.i.valid, offered)
            ctx.set(crossing.i.payload, item if offered else rng.getrandbits(16))
            # A sender in reset shows anything.
            _, reset, ready = await ctx.tick("write").sample(crossing.i.ready)
            if reset:
                assert not ready
            elif ready and offered:
                sent.append(item)
                offered = False

    async def read(ctx: Any) -> None:
        held = None
        while True:
            ready = rng.random() < 0.6
            ctx.set(crossing.o.ready, ready)
            _, reset, valid, item = await ctx.tick("read").sample(
                crossing.o.valid, crossing.o.payload
            )
            if reset:
                assert not valid
                held = None if len(who) == 2 else held
                continue
            if held is not None:
                assert (valid, item) == (1, held), "an offered item was withdrawn"
            held = item if valid and not ready else None
            if valid and ready:
                seen.append(item)

    async def control(ctx: Any) -> None:
        for _ in range(12):
            await ctx.delay(slower * rng.uniform(10, 25) * 1e-6)
            for name in who:
                ctx.set(clocked.resets[name], 1)
            await ctx.delay(slower * 4 * 1e-6)
            marks.append((len(seen), sent[-1]))
            for name in rng.sample(who, len(who)):
                ctx.set(clocked.resets[name], 0)
                await ctx.delay(slower * rng.uniform(0, 3) * 1e-6)
        await ctx.delay(slower * 30 * 1e-6)

    print("seed", SEED)
    clocked.run(control, background=(write, read), limit=3000)
    assert len(set(seen)) == len(seen) > 40
    assert seen == sorted(seen)
    lost = set(sent) - set(seen) - set(sent[-5:])  # the last ones may be on their way
    if who == ("read",):
        assert lost == set()
    else:
        # No more than the queue holds, for each reset.
        assert len(lost) <= 12 * (4 + len(who) - 1)
        assert lost
    if len(who) == 2:
        assert all(item > last for begun, last in marks for item in seen[begun:])


def traffic(
    family: str,
    parameters: dict[str, Any],
    which: str,
    periods: list[float],
    *,
    each: int = 20,
    resets: tuple[str, int] = ("sync", 0),
) -> tuple[dict[tuple[int, int], list[tuple[int, ...]]], dict[tuple[int, int], list]]:
    """What was sent and what has arrived, by source and destination; with resets of a domain."""
    network = build(family, payload=16, **parameters)
    clocked = MultiClockNetwork(network, TerminalClocks(which, depth=4))
    names = clocked.fabric.clocks
    offered = itertools.cycle(periods)
    clocks = {name: (next(offered), 0.1 + 0.137 * number) for number, name in enumerate(names)}
    runner = Clocked(clocked, clocks)
    rng = random.Random(SEED)
    sent: dict[tuple[int, int], list[tuple[int, ...]]] = defaultdict(list)
    seen: dict[tuple[int, int], list[tuple[int, ...]]] = defaultdict(list)
    left = [each * network.ports]
    sources, sinks = clocked.clocks.names(network)

    def source(t: int) -> Any:
        async def write(ctx: Any) -> None:
            stream = clocked.i[t]
            for number in range(each):
                destination = rng.randrange(network.ports)
                length = rng.randint(1, network.lengths[1])
                flits = tuple(t << 12 | number << 4 | flit for flit in range(length))
                sent[t, destination].append(flits)
                for flit, payload in enumerate(flits):
                    while rng.random() < 0.3:
                        await ctx.tick(sources[t])
                    value: dict[str, Any] = {"payload": payload}
                    value["tag"] = network.tags.tag(t, destination)
                    if network.flits:
                        value["last"] = flit == length - 1
                    ctx.set(stream.payload, value)
                    ctx.set(stream.valid, 1)
                    taken = 0
                    while not taken:
                        *_, taken = await ctx.tick(sources[t]).sample(stream.ready)
                    ctx.set(stream.valid, 0)

        return write

    def sink(t: int) -> Any:
        async def read(ctx: Any) -> None:
            stream, packet = clocked.o[t], ()
            held = None
            while True:
                ready = rng.random() < 0.7
                ctx.set(stream.ready, ready)
                _, reset, valid, word = await ctx.tick(sinks[t]).sample(
                    stream.valid, stream.payload
                )
                if reset:
                    assert not valid
                    continue
                if held is not None:
                    assert (valid, word) == (1, held)
                held = word if valid and not ready else None
                if valid and ready:
                    packet = (*packet, word.payload)
                    if not network.flits or word.last:
                        seen[packet[0] >> 12, t].append(packet)
                        left[0] -= 1
                        packet = ()

        return read

    async def wait(ctx: Any) -> None:
        domain, number = resets
        for _ in range(number):
            await ctx.delay(rng.uniform(10, 20) * 1e-6)
            ctx.set(runner.resets[domain], 1)
            await ctx.delay(4 * max(periods) * 1e-6)
            ctx.set(runner.resets[domain], 0)
        while left[0] and not number:
            await ctx.delay(10e-6)
        await ctx.delay((400 if number else 100) * 1e-6)  # nothing may follow

    print("seed", SEED)
    sides = [source(t) for t in range(network.ports)]
    runner.run(wait, *sides, background=tuple(sink(t) for t in range(network.ports)), limit=100_000)
    return sent, seen


@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "parameters", "which", "periods"),
    [
        long("cube", {"ports": 4}, "each", [1.0, 0.731, 2.193]),
        ("torus", {"k": 3, "n": 1, "length": "1:3"}, "each", [1.0, 1.531, 0.411]),
        long("torus", {"k": 3, "n": 1, "length": "1:3"}, "one", [1.0, 0.377]),
        ("cube", {"ports": 4, "switch": "circuit", "length": "1:3"}, "one", [1.0, 1.77]),
    ],
)
def test_networks_lose_nothing(
    family: str, parameters: dict[str, Any], which: str, periods: list[float]
) -> None:
    sent, seen = traffic(family, parameters, which, periods)
    assert sum(map(len, sent.values())) >= 60
    assert seen == sent


@pytest.mark.long
def test_reset_of_one_terminal_harms_nobody() -> None:
    """What others send arrives, also at this terminal; of its own only what waited is lost."""
    resets = 5
    sent, seen = traffic(
        *("cube", {"ports": 4}, "each", [1.0, 0.731, 1.393]),
        each=100,
        resets=("terminal_1", resets),
    )
    ours = {flow: packets for flow, packets in sent.items() if flow[0] == 1}
    assert {flow: seen[flow] for flow in sent if flow not in ours} == {
        flow: packets for flow, packets in sent.items() if flow not in ours
    }
    lost = 0
    for flow, packets in ours.items():
        assert seen[flow] == [packet for packet in packets if packet in seen[flow]]
        lost += len(packets) - len(seen[flow])
    assert 0 < lost <= resets * 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "parameters"),
    [("cube", {"ports": 4}), ("torus", {"k": 2, "n": 1, "channels": 1, "recovery": "discard"})],
)
def test_reset_of_the_network_loses_only_what_was_in_it(
    family: str, parameters: dict[str, Any]
) -> None:
    """What comes after it arrives in order and once, also where packets are sent again."""
    resets = 4
    sent, seen = traffic(
        *(family, parameters, "each", [1.0, 0.731, 1.393]), each=60, resets=("sync", resets)
    )
    lost = 0
    for flow, packets in sent.items():
        assert seen[flow] == [packet for packet in packets if packet in seen[flow]]
        lost += len(packets) - len(seen[flow])
    # No more than queues, boxes and interfaces of a few places hold, at each reset.
    assert 0 < lost <= resets * 40
    assert sum(map(len, seen.values())) > 50


@pytest.mark.long
def test_reset_of_all_leaves_nothing() -> None:
    """A network that sends packets again, and its terminals with clocks of their own."""
    network = build("torus", k=2, n=1, channels=1, recovery="discard", payload=16)
    clocked = MultiClockNetwork(network, TerminalClocks("each", depth=4))
    periods = dict(zip(clocked.fabric.clocks, (1.0, 0.731, 1.393)))
    runner = Clocked(clocked, {name: (at, 0.1 + 0.3 * at) for name, at in periods.items()})
    rng = random.Random(SEED)
    seen: list[int] = []

    async def offer(ctx: Any, payload: int) -> None:
        tag = network.tags.tag(0, 1)
        ctx.set(clocked.i[0].payload, {"tag": tag, "payload": payload, "last": 1})
        ctx.set(clocked.i[0].valid, 1)
        taken = 0
        while not taken:
            *_, taken = await ctx.tick("terminal_0").sample(clocked.i[0].ready)
        ctx.set(clocked.i[0].valid, 0)

    async def source(ctx: Any) -> None:
        for turn in range(12):
            first = 16 * turn
            for payload in range(first, first + 3):
                await offer(ctx, payload)
            await ctx.delay(40e-6)
            assert seen == [first, first + 1, first + 2], "what was sent since the last reset"
            await offer(ctx, first + 3)
            await ctx.delay(rng.uniform(0, 12) * 1e-6)
            for reset in runner.resets.values():
                ctx.set(reset, 1)
            await ctx.delay(5 * max(periods.values()) * 1e-6)
            for reset in runner.resets.values():
                ctx.set(reset, 0)
            seen.clear()

    async def sink(ctx: Any) -> None:
        ctx.set(clocked.o[1].ready, 1)
        while True:
            _, reset, valid, word = await ctx.tick("terminal_1").sample(
                clocked.o[1].valid, clocked.o[1].payload
            )
            if valid and not reset:
                seen.append(word.payload)

    print("seed", SEED)
    runner.run(source, background=(sink,), limit=3000)


@pytest.mark.long
def test_one_flit_per_cycle_of_the_slower_clock() -> None:
    """A cube of two terminals whose clocks are faster and slower than the network's."""
    network = build("cube", ports=2, payload=16)
    clocked = MultiClockNetwork(network)
    clocks = {"sync": (1.0, 0.1), "terminal_0": (0.731, 0.2), "terminal_1": (1.617, 0.3)}
    runner = Clocked(clocked, clocks)
    seen = [0, 0]

    def end(t: int) -> Iterator[Any]:
        async def write(ctx: Any) -> None:
            ctx.set(clocked.i[t].payload, {"tag": network.tags.tag(t, t)})
            ctx.set(clocked.i[t].valid, 1)

        async def read(ctx: Any) -> None:
            ctx.set(clocked.o[t].ready, 1)
            while True:
                *_, valid = await ctx.tick(f"terminal_{t}").sample(clocked.o[t].valid)
                seen[t] += valid

        yield from (write, read)

    counts = []

    async def count(ctx: Any) -> None:
        for delay in (60, 161.7):
            await ctx.delay(delay * 1e-6)
            counts.append(tuple(seen))

    runner.run(count, background=(*end(0), *end(1)), limit=1000)
    taken = [after - before for before, after in zip(*counts)]
    assert taken == pytest.approx([161, 100], abs=2)


def test_clocks_of_a_fabric() -> None:
    network = build("cube", ports=4, payload=8)
    assert network.fabric.clocks == [SYNC]
    each = MultiClockNetwork(network).fabric
    assert each.clocks == [SYNC, *(f"terminal_{t}" for t in range(4))]
    assert MultiClockNetwork(network, TerminalClocks("one")).fabric.clocks == [SYNC, "terminals"]
    assert Fabric.alone(CellType(ClockCrossing, shape=8)).clocks == ["write", "read"]


def test_sources_that_are_no_sinks_have_their_own_clocks() -> None:
    network = build("delta", inputs=2, outputs=3, stages=1)
    assert MultiClockNetwork(network).fabric.clocks == [
        SYNC,
        *("source_0", "source_1"),
        *("sink_0", "sink_1", "sink_2"),
    ]


def test_fabric_rejects_a_domain_that_a_cell_has_not() -> None:
    fabric = Fabric({})
    with pytest.raises(ValueError, match=r"^Clock domain 'sync' of cell 'x' is not one of it$"):
        fabric.place(Cell("x", CellType(ClockCrossing, shape=8), clocks={"sync": "fast"}))


@pytest.mark.parametrize("engine", [CompiledEngine, AmaranthEngine])
def test_engines_reject_several_clocks(engine: Any) -> None:
    fabric = MultiClockNetwork(build("cube", ports=2, payload=1)).fabric
    with pytest.raises(ValueError, match=r"needs a fabric with one clock, not 3 clocks$"):
        engine(fabric)


@pytest.mark.parametrize(
    ("depth", "error", "message"),
    [
        (6, ValueError, r"^Depth of a clock crossing must be a power of two, not 6$"),
        (1, ValueError, r"^Depth of a clock crossing must be from 2 to 65536, not 1$"),
        (8.0, TypeError, r"^Depth of a clock crossing must be an integer, not 8\.0$"),
    ],
)
def test_clock_crossing_rejects_depth(depth: Any, error: type, message: str) -> None:
    for kind in (lambda: ClockCrossing(8, depth=depth), lambda: TerminalClocks(depth=depth)):
        with pytest.raises(error, match=message):
            kind()


test_refuses = refusals(
    call,
    (
        lambda: TerminalClocks("eahc"),
        "Terminal clocks must be one of each, one, not 'eahc'; did you mean 'each'?",
    ),
    (lambda: MultiClockNetwork(3), TypeError, "Network must be a packet-switching network, not 3"),
    (
        lambda: MultiClockNetwork(build("combining")),
        "...need a network that carries packets, not combining",
    ),
    (
        lambda: MultiClockNetwork(build("cube"), "each"),
        TypeError,
        "Clocks must be TerminalClocks, not 'each'",
    ),
)
