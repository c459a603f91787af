# amaranth: UnusedElaboratable=no
"""Circuits through whole networks: set-up, data in both directions, conflicts, release."""

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from driving import exercise, transport
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.bench import PacketBench
from multicube.hdl.boxes.circuit import POLICIES
from multicube.hdl.export.verilog import write_verilog
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.multistage.circuit_network import CircuitNetwork
from multicube.hdl.graphs.permutations import bit_reversal, cyclic_shift, identity
from multicube.hdl.links.circuit_link import CircuitLink
from multicube.hdl.links.packet import Packet
from multicube.hdl.networks.stage_columns import place_columns
from multicube.hdl.primitives.random_bits import scattered_seed
from multicube.hdl.primitives.xoroshiro import Xoroshiro128
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.run import Run
from multicube.sim.run.simulation import simulate
from multicube.sim.theory.unbuffered_bandwidth import unbuffered_throughput
from multicube.sim.workload.traffic import pattern
from refusals import refusals
from scipy.stats import t as student
from verilog_tools import assert_lint_free, check_with_yosys

NETWORKS: dict[str, dict[str, Any]] = {
    "one-way": {},
    "two-way": {"reply": 5, "flits": True, "policy": "drop"},
    "xor": {"ports": 16, "radix": 4, "routing": "xor", "reply": 3, "policy": "modified-hold"},
    "radix-3": {"ports": 9, "radix": 3, "wiring": "omega", "policy": "modified-hold"},
}


class Hand:
    """Drives the links of a network in Amaranth's simulator."""

    def __init__(self, ctx: Any, network: CircuitNetwork) -> None:
        self.ctx, self.network = ctx, network

    def request(self, source: int, destination: int) -> None:
        port = self.network.i[source]
        self.ctx.set(port.payload.tag, self.network.tags.tag(source, destination))
        self.ctx.set(port.request, 1)

    def release(self, source: int) -> None:
        self.ctx.set(self.network.i[source].request, 0)

    def shown(self) -> list[int]:
        """The outputs at which a request has arrived."""
        return [j for j, port in enumerate(self.network.o) if self.ctx.get(port.request)]

    def flags(self, name: str) -> list[int]:
        """The sources that see `grant` or `reject`."""
        return [i for i, port in enumerate(self.network.i) if self.ctx.get(getattr(port, name))]

    def held(self) -> set[Pin]:
        """The outputs of boxes that are held."""
        return {
            Pin(name, ("o", j))
            for name, box in self.network.instances.items()
            if name is not None
            for j in range(box.radix)
            if self.ctx.get(box.held) >> j & 1
        }

    async def ticks(self, count: int) -> None:
        for _ in range(count):
            await self.ctx.tick()


@pytest.mark.parametrize("routing", ["destination", "xor"])
def test_every_pair_of_terminals_talks_both_ways(routing: str) -> None:
    """A path takes a cycle a box to set up. Then words flow in both directions, in the same cycle,
    with nothing at any other terminal; after the release, in the next cycle, no box holds."""
    network = CircuitNetwork(8, routing=routing, reply=7)
    rng = random.Random(1)

    async def testbench(ctx: Any) -> None:
        hand = Hand(ctx, network)
        for source, destination in itertools.product(range(8), repeat=2):
            near, far = network.i[source], network.o[destination]
            hand.request(source, destination)
            path = network.path(source, destination)
            for stage in range(3):
                assert hand.held() == set(path[:stage])
                assert hand.shown() == []
                await ctx.tick()
            assert hand.shown() == [destination]
            assert hand.held() == set(path)
            assert ctx.get(far.payload.tag) == network.tags.tag(source, destination)
            assert hand.flags("grant") == []
            ctx.set(far.grant, 1)
            assert hand.flags("grant") == [source]
            await ctx.tick()
            for _ in range(4):
                word, reply = rng.getrandbits(19), rng.getrandbits(7)
                flags = [rng.getrandbits(1) for _ in range(4)]
                ctx.set(Value.cast(near.payload), word)
                ctx.set(
                    Cat(near.valid, near.reply.ready, far.ready, far.reply.valid),
                    sum(flag << at for at, flag in enumerate(flags)),
                )
                ctx.set(far.reply.payload, reply)
                assert ctx.get(Value.cast(far.payload)) == word
                assert ctx.get(near.reply.payload) == reply
                seen = [far.valid, far.reply.ready, near.ready, near.reply.valid]
                assert [ctx.get(signal) for signal in seen] == flags
                others = [port.valid for port in network.o if port is not far]
                others += [port.ready for port in network.i if port is not near]
                assert not any(ctx.get(signal) for signal in others)
                await ctx.tick()
            hand.release(source)
            assert hand.shown() == []
            ctx.set(Cat(near.valid, near.reply.ready, far.ready, far.reply.valid, far.grant), 0)
            await ctx.tick()
            assert hand.held() == set()

    exercise(network, testbench)


def passes(network: CircuitNetwork, permutation: list[int]) -> bool:
    """Whether all paths of a permutation are disjoint."""
    paths = [network.path(source, target) for source, target in enumerate(permutation)]
    return len({pin for path in paths for pin in path}) == 8 * 3


@pytest.mark.parametrize("wiring_", ["cube", "omega", long("baseline")])
def test_passable_permutations_are_set_up_at_once(wiring_: str) -> None:
    """And of others, some requests are dropped: as many as lose a conflict, no more."""
    network = CircuitNetwork(8, wiring=wiring_, policy="drop")
    rng = random.Random(2)
    permutations = [identity(8), cyclic_shift(8, 3), bit_reversal(8)]
    permutations += [rng.sample(range(8), 8) for _ in range(20)]
    # Any setting of all boxes gives a passable one.
    for _ in range(20):
        crossed = {(s, x): rng.getrandbits(1) for s in range(3) for x in range(4)}
        permutations.append(next_hop_permutation(network, crossed))
    verdicts = [passes(network, permutation) for permutation in permutations]
    assert all(verdicts[-20:])
    assert not all(verdicts)

    async def testbench(ctx: Any) -> None:
        hand = Hand(ctx, network)
        for permutation, passable in zip(permutations, verdicts):
            rejected: set[int] = set()
            for source, target in enumerate(permutation):
                hand.request(source, target)
            for _ in range(3):
                rejects = hand.flags("reject")
                rejected.update(rejects)
                await ctx.tick()
                for source in rejects:
                    hand.release(source)
            arrived = [
                target for source, target in enumerate(permutation) if source not in rejected
            ]
            assert hand.shown() == sorted(arrived)
            assert (len(arrived) == 8) == passable
            assert not hand.flags("reject")
            for source in range(8):
                hand.release(source)
            await ctx.tick()
            assert hand.held() == set()

    exercise(network, testbench)


def next_hop_permutation(network: CircuitNetwork, crossed: dict[tuple[int, int], int]) -> list[int]:
    """The permutation of a setting of all boxes: straight or exchange."""
    targets = []
    for source in range(8):
        for target in range(8):
            hops = network.plan.path(source, target)
            if all(hop.output == hop.input ^ crossed[hop.stage, hop.box] for hop in hops):
                targets.append(target)
    assert sorted(targets) == list(range(8))
    return targets


def rivals(network: CircuitNetwork) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two pairs of terminals whose paths meet at an output of the second stage."""
    first = (0, 0)
    for second in itertools.product(range(1, 8), range(1, 8)):
        shared = [a == b for a, b in zip(network.path(*first), network.path(*second))]
        if shared == [False, True, False]:
            return first, second
    raise AssertionError


@pytest.mark.parametrize("limit", [long(1), 4])
@pytest.mark.parametrize("policy", POLICIES)
def test_conflict_inside_the_network(policy: str, limit: int) -> None:
    """A second request meets a path that is held. What it has set up itself is one link."""
    network = CircuitNetwork(8, policy=policy, hold_limit=limit)
    (holder, its_target), (source, target) = rivals(network)
    path = network.path(source, target)

    async def testbench(ctx: Any) -> None:
        hand = Hand(ctx, network)
        hand.request(holder, its_target)
        await hand.ticks(3)
        lasting = set(network.path(holder, its_target))
        assert hand.held() == lasting
        hand.request(source, target)
        await ctx.tick()
        # The second stage refuses it in this cycle, and in each of the following.
        patience = {"hold": 12, "drop": 0, "modified-hold": limit}[policy]
        for _ in range(patience):
            assert hand.flags("reject") == []
            assert hand.held() == lasting | {path[0]}
            await ctx.tick()
        if policy != "hold":
            assert hand.flags("reject") == [source]
            await ctx.tick()
            hand.release(source)
            await ctx.tick()
            assert hand.held() == lasting
            assert hand.shown() == [its_target]
            return
        # It gets on in the cycle in which the other lets go.
        hand.release(holder)
        assert hand.shown() == []
        await ctx.tick()
        assert hand.held() == set(path[:2])
        await ctx.tick()
        assert hand.shown() == [target]
        hand.release(source)
        await ctx.tick()
        assert hand.held() == set()

    exercise(network, testbench)


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "delay", "routing"),
    [
        long("hold", 0, "destination"),
        ("drop", 4, "xor"),
        long("modified-hold", 1, "destination"),
        long("drop", 0, "destination"),
    ],
)
def test_packets_arrive_whole_and_no_path_leaks(policy: str, delay: int, routing: str) -> None:
    """Random packets under random waits. Every packet comes once, its words together and in order,
    or was dropped (with a delay of 0) and counted; at the end no box holds."""
    network = MultistageNetwork(
        8,
        switch="circuit",
        payload=12,
        policy=policy,
        hold_limit=3,
        resubmit=delay,
        length="1:7",
        routing=routing,
    )
    rng = random.Random(delay)
    waiting: list[list[int]] = [[] for _ in range(8)]
    packets: dict[int, list[list[int]]] = {source: [] for source in range(8)}

    def offer(source: int, cycle: int) -> int | None:
        if not waiting[source] and cycle < 700 and rng.random() < 0.2:
            words = [rng.getrandbits(15) for _ in range(rng.choice([1, 1, 2, 3, 7]))]
            target = rng.randrange(8)
            # The payload of the header names the packet.
            words[0] = network.tags.tag(source, target) | source << 3 | len(packets[source]) << 6
            words[-1] |= 1 << 15
            packets[source].append([target, *words])
            waiting[source] = words.copy()
        return waiting[source].pop(0) if waiting[source] else None

    def boxes(name: str) -> Value:
        return Cat(
            getattr(network.instances[cell], name)
            for cell in network.instances
            if "box" in str(cell)
        )

    trace = transport(
        network,
        cycles=1000,
        offer=offer,
        ready=lambda port, cycle: cycle > 750 or rng.random() < 0.7,
        watch=lambda: Cat(boxes("held"), boxes("dropped")),
    )
    received: list[list[list[int]]] = [[[]] for _ in range(8)]
    for cycle in trace:
        for target, word in cycle.moved():
            received[target][-1].append(word)
            if word >> 15:
                received[target].append([])
    sent = {tuple(packet) for source in packets for packet in packets[source]}
    arrived = [(target, *packet) for target in range(8) for packet in received[target] if packet]
    drops = sum((cycle.watched >> 24).bit_count() for cycle in trace)
    assert len(sent) == sum(map(len, packets.values())) > 200
    assert set(arrived) <= sent
    assert (
        len(arrived)
        == len(set(arrived))
        == len(sent) - (drops if policy == "drop" and not delay else 0)
    )
    assert (drops > 20) == (policy != "hold")
    for source, target in itertools.product(range(8), repeat=2):
        numbers = [
            packet[1] >> 6 & 511
            for packet in arrived
            if packet[0] == target and packet[1] >> 3 & 7 == source
        ]
        assert numbers == sorted(numbers)
    assert any(cycle.watched & (1 << 24) - 1 for cycle in trace[:700])
    assert trace[-1].watched == 0


@pytest.mark.parametrize("length", [1, 2, 5])
def test_circuit_takes_a_cycle_a_box_and_a_cycle_a_word(length: int) -> None:
    """Offered in cycle 5, the words cross in the cycles after the path is set up; the source asks
    for the next path two cycles after the last word."""
    network = MultistageNetwork(8, switch="circuit", payload=4, length=length)
    words = [network.tags.tag(1, 6), *range(1, length)]
    words[-1] |= network.packet.flits << 7
    words *= 2
    left = words.copy()
    trace = transport(
        network,
        cycles=5 + 2 * (length + 6),
        offer=lambda port, cycle: left.pop(0) if port == 1 and cycle >= 5 and left else None,
    )
    crossed = [(cycle, *move) for cycle, seen in enumerate(trace) for move in seen.moved()]
    first = [5 + 3 + 1 + number for number in range(length)]
    second = [cycle + length + 2 + 3 for cycle in first]
    assert crossed == [(cycle, 6, word) for cycle, word in zip(first + second, words)]


class Requester(wiring.Component):
    """All requests of a round at once: with probability `load` one to a random destination.

    A round takes `stages` + 2 cycles. `attempts` and `grants` count the requests and those that
    are granted.
    """

    def __init__(self, packet: Packet, stages: int) -> None:
        self.stages = stages
        super().__init__(
            {
                "seed": In(128),
                "load": In(17),
                "o": Out(CircuitLink(packet)),
                "attempts": Out(32),
                "grants": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.random = draw = Xoroshiro128()
        count = Signal(range(self.stages + 2))
        link = self.o
        m.d.comb += draw.seed.eq(self.seed)
        m.d.sync += count.eq(count + 1)
        with m.If(link.request & link.reject):
            m.d.sync += link.request.eq(0)
        with m.If(count == self.stages):
            m.d.sync += [
                link.request.eq(0),
                self.grants.eq(self.grants + (link.request & link.grant)),
            ]
        with m.If(count == self.stages + 1):
            luck = draw.value[-16:] < self.load
            m.d.sync += [
                count.eq(0),
                link.request.eq(luck),
                link.payload.tag.eq(draw.value),
                self.attempts.eq(self.attempts + luck),
            ]
        return m


class Grantor(wiring.Component):
    """Accepts every circuit."""

    def __init__(self, packet: Packet) -> None:
        super().__init__({"i": In(CircuitLink(packet))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.i.grant.eq(1)
        return m


def seeds(run: int, terminal: int) -> int:
    return sum(scattered_seed(run, terminal, word) << 32 * word for word in range(4))


@pytest.mark.parametrize("radix", [2, *(long(radix) for radix in (4, 8))])
def test_requests_made_at_once_survive_as_recurrence_1_says(radix: int) -> None:
    """Siegel et al., VI-C: for a synchronous network the analysis of unbuffered ones applies.

    64 terminals, policy drop; the means of 40 x 100 rounds. With 99 % probability all six intervals
    of the test hold.
    """
    network = CircuitNetwork(64, radix=radix, payload=1, policy="drop")
    stages = len(network.plan.stages)
    loads = (1.0, 0.5)
    fabrics = []
    for run, load in enumerate(loads):
        fabric = Fabric({"unused": In(1)})
        columns = place_columns(fabric, network.plan, [network.box] * stages)
        for terminal in range(64):
            straps = {"seed": seeds(run, terminal), "load": int(load * 2**16)}
            kind = CellType(Requester, packet=network.packet, stages=stages)
            fabric.place(Cell(f"requester_{terminal}", kind, straps))
            fabric.place(Cell(f"grantor_{terminal}", CellType(Grantor, packet=network.packet)))
            fabric.link(Pin(f"requester_{terminal}", ("o",)), columns.inputs[terminal])
            fabric.link(columns.outputs[terminal], Pin(f"grantor_{terminal}", ("i",)))
        fabrics.append(fabric)
    engine = CompiledEngine(fabrics)
    names = [f"requester_{terminal}" for terminal in range(64)]
    counts = []
    engine.step(stages + 2)
    for _ in range(41):
        counts.append([sum(engine.read(names, "grants", run)) for run in range(2)])
        engine.step(100 * (stages + 2))
    rates = np.diff(np.array(counts, float), axis=0) / (64 * 100)
    for load, sample in zip(loads, rates.T):
        expected = unbuffered_throughput(load, radix, stages)
        width = student.ppf(1 - 0.01 / 12, 39) * sample.std(ddof=1) / 40**0.5
        print(f"load {load}: {sample.mean():.4f} +- {width:.4f}, formula (1): {expected:.4f}")
        assert abs(sample.mean() - expected) < width
        assert width < 0.01 * expected


@pytest.mark.parametrize("policy", [POLICIES[0], *map(long, POLICIES[1:])])
def test_no_path_leaks_in_a_network_of_64(policy: str) -> None:
    """After thousands of circuits under full load, and conflicts, the sources fall silent."""
    network = MultistageNetwork(64, switch="circuit", length="1:6", policy=policy, hold_limit=5)
    bench = PacketBench(
        network, Run(pattern("uniform", 64), 1.0, source_depth=1).sources(network), bins=2
    )
    engine = CompiledEngine(bench)
    boxes = [name for name in bench.cells if name.startswith("box")]
    engine.set("send", 1)
    engine.step(3000)
    engine.set("send", 0)
    assert any(engine.read(boxes, "held"))
    engine.step(1500)
    packets = sum(engine.read(bench.sources, "injected"))
    assert packets > 5000
    assert sum(engine.read(bench.sinks, "delivered")) == packets
    assert not any(engine.read(boxes, "held"))


@pytest.mark.long
@pytest.mark.parametrize("ports", [64, 256])
def test_drop_is_better_than_hold_for_long_transfers(ports: int) -> None:
    """Siegel et al., VI-C, from Lee and Wu: for heavy traffic, from about ten cycles on.

    True if a dropped request soon tries again. Measured are the words that a terminal sends a
    cycle while all sources are always busy: with a delay of one cycle drop is better from 8 words
    on, with up to 8 cycles from about 12. With up to 64 cycles hold is still better at 16. A
    modified hold of 16 cycles is at no length worse than hold, and for long transfers better.
    """
    lengths = (1, 4, 6, 10, 16, 32, 64)

    def measured(policy: str, resubmit: int) -> dict[int, tuple[float, float]]:
        """Of each length, the throughput in words, and the half width of its 99 % interval."""
        figures = {}
        for length in lengths:
            network = MultistageNetwork(
                ports, switch="circuit", policy=policy, resubmit=resubmit, length=length
            )
            run = {"cycles": 6000 + 300 * length, "warmup": 500 + 30 * length, "source_depth": 4}
            result = simulate(network, load=1.0, **run)
            figures[length] = length * result.throughput, length * result.throughput_ci99
        print(policy, resubmit, {n: f"{rate:.4f} +- {w:.4f}" for n, (rate, w) in figures.items()})
        return figures

    def better(one: dict, other: dict, length: int) -> bool:
        """By more than chance."""
        (a, wide_a), (b, wide_b) = one[length], other[length]
        return a - b > (wide_a**2 + wide_b**2) ** 0.5

    hold, modified = measured("hold", 0), measured("modified-hold", 8)
    drop = {delay: measured("drop", delay) for delay in (1, 8, 64)}
    assert all(better(hold, drop[1], n) for n in (1, 4))
    assert all(better(drop[1], hold, n) for n in (10, 16, 32, 64))
    assert all(better(hold, drop[8], n) for n in (1, 4, 6))
    assert all(better(drop[8], hold, n) for n in (16, 32, 64))
    assert all(better(hold, drop[64], n) for n in (1, 4, 6, 10, 16))
    assert not any(better(hold, modified, n) for n in lengths)
    assert all(better(modified, hold, n) for n in (32, 64))


@pytest.mark.parametrize(
    "parameters",
    [
        (pytest.param if name == "two-way" else long)(parameters, id=name)
        for name, parameters in NETWORKS.items()
    ],
)
def test_exported_verilog_is_clean(tmp_path: Path, parameters: dict[str, Any]) -> None:
    """Nothing for Verilator's linter to say, in particular of loops; nor for Yosys."""
    fabric = CircuitNetwork(**parameters).fabric
    write_verilog(fabric, tmp_path / "network.v")
    assert_lint_free([tmp_path / "network.v"])
    assert "Warning" not in check_with_yosys([tmp_path / "network.v"])


test_circuit_network_rejects = refusals(
    lambda parameters: CircuitNetwork(**parameters),
    ({"ports": 6}, "Ports must be a power of the radix 2, not 6"),
    ({"wiring": "ring"}, "Wiring must be one of cube, ..."),
    ({"payload": 0}, "Payload must be at least 1, not 0"),
    ({"routing": "both"}, "Routing must be destination, xor or difference, not 'both'"),
    ({"policy": "wait"}, "Policy must be one of hold, drop, modified-hold, ..."),
)
