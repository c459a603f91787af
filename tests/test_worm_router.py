# amaranth: UnusedElaboratable=no
"""The router of static networks: decision time, shared links, and which turns have wires."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from driving import exercise, transport
from multicube.hdl import TorusNetwork, build
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.families.torus.torus_router import TorusLogic
from multicube.hdl.graphs.routing.survey import survey
from multicube.hdl.links.packet import Packet
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.hdl.primitives.arbiters import ARBITERS
from multicube.hdl.routers.worm_router import WormRouter
from multicube.hdl.switch.shape import RouterShape, Switching


class Placed(wiring.Component):
    """A router at an address."""

    def __init__(self, router: WormRouter, address: int = 0) -> None:
        self.router, self.address = router, address
        members = router.signature.members
        super().__init__({name: members[name] for name in ("i", "o")})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.router = self.router
        m.d.comb += self.router.address.eq(self.address)
        if self.router.grant.arbiter == "random":
            m.d.comb += self.router.seed.eq(99)
        for outer, inner in zip((*self.i, *self.o), (*self.router.i, *self.router.o)):
            wiring.connect(m, wiring.flipped(outer), inner)
        return m


def router(k: int, n: int, packet: Packet | None = None, **options: Any) -> WormRouter:
    """The router of a torus."""
    network = TorusNetwork(k, n)
    packet = packet or Packet(network.tags.code.width, 4, flits=True)
    return WormRouter(packet, network.shapes[0], logic=TorusLogic(network.relation), **options)


def in_ring(decision: int, **options: Any) -> Placed:
    """Node 0 of a 4-ary ring: port 0 leads up to node 1, port 4 is the terminal."""
    return Placed(router(4, 1, decision=decision, **{"depth": 4, **options}))


def offers(worms: dict[int, list[list[int]]]) -> Callable[[int, int], int | None]:
    flits = {port: [flit for worm in queue for flit in worm] for port, queue in worms.items()}
    return lambda port, cycle: flits[port].pop(0) if flits.get(port) else None


def worm(name: int, destination: int, length: int = 3) -> list[int]:
    return [destination | name << 2 | (at == length - 1) << 6 for at in range(length)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("decision", [1, 2, 4])
def test_decision_time(decision: int) -> None:
    """Worms of one input follow each other with a gap of D_t - 1, into the terminal without."""
    dut = in_ring(decision)
    trace = transport(dut, cycles=30, offer=offers({4: [worm(n, 1) for n in range(4)]}))
    moved = [cycle for cycle, seen in enumerate(trace) if seen.moved()]
    period = decision + 2
    assert moved == [decision + period * number + flit for number in range(4) for flit in range(3)]
    assert {port for seen in trace for port, _ in seen.moved()} == {0}
    dut = in_ring(decision)
    trace = transport(dut, cycles=30, offer=offers({0: [worm(n, 0) for n in range(4)]}))
    assert [cycle for cycle, seen in enumerate(trace) if seen.moved()] == list(range(1, 13))


def test_decision_takes_nothing_from_a_link_that_others_use() -> None:
    """While one worm passes, the header behind another input is decided upon."""
    dut = in_ring(3)
    worms = {4: [worm(1, 1, 6)], 0: [worm(2, 1, 6)]}
    trace = transport(dut, cycles=20, offer=offers(worms))
    assert [cycle for cycle, seen in enumerate(trace) if seen.moved()] == list(range(3, 15))
    names = [payload >> 2 & 15 for seen in trace for _, payload in seen.moved()]
    assert len(list(itertools.groupby(names))) == 2


def sharing(ready: Callable[[int, int], bool], refill: bool) -> list[list[int]]:
    """The channels that send, in each cycle, if two worms of six flits share a link upward.

    `ready(channel, cycle)` says whether the receiver of a channel is.
    """
    dut = Placed(router(4, 2, depth=8, refill=refill), 2)
    up = [0, 1]

    def long(name: int, destination: int) -> list[int]:
        return [destination | name << 4 | (at == 5) << 8 for at in range(6)]

    # In node (0, 2) a packet for (0, 3) goes on without, one for (0, 0) with a wrap-around.
    worms = {8: [long(1, 3)], 4: [long(2, 0)]}
    trace = transport(
        dut,
        cycles=24,
        offer=offers(worms),
        ready=lambda port, cycle: port not in up or ready(up.index(port), cycle),
    )
    assert {port for seen in trace for port, _ in seen.moved()} <= {*up}
    return [[up.index(port) for port, _ in seen.moved()] for seen in trace]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("refill", [False, True])
def test_channels_of_a_link_take_turns(refill: bool) -> None:
    """Two worms that leave upward, one of them for the wrap-around: a flit each in turn."""
    sent = sharing(lambda channel, cycle: True, refill)
    ways = ([[0], [1]], [[1], [0]])
    assert sent in ([[], *(way * 6), *[[]] * 11] for way in ways)


@pytest.mark.long
@pytest.mark.parametrize("refill", [False, True])
@pytest.mark.parametrize("blocked", [0, 1])
def test_a_blocked_channel_leaves_the_link_to_the_other(blocked: int, refill: bool) -> None:
    """All wires while it is blocked; its share from the second cycle in which it is not."""
    sent = sharing(lambda channel, cycle: channel != blocked or cycle >= 4, refill)
    other = [1 - blocked]
    assert sent[:4] == [[], other, other, other]
    assert [blocked] in sent[4:6]
    assert sorted(channel for channels in sent for channel in channels) == [0] * 6 + [1] * 6
    assert all(sent[4:13])


@pytest.mark.parametrize("switching", ["cut-through", "store-and-forward"])
def test_space_is_that_of_the_longest_packet(switching: Switching) -> None:
    dut = in_ring(1, depth=6, longest=4, switching=switching)
    space = dut.router.space[dut.router.guarded_inputs.index(0)]
    trace = transport(
        dut,
        cycles=24,
        offer=offers({0: [worm(n, 0) for n in range(4)]}),
        ready=lambda port, cycle: cycle > 8,
        watch=lambda: space,
    )
    level, levels = 0, set()
    for seen in trace:
        assert seen.watched == (level <= 2)
        levels.add(level)
        level += len(seen.entered()) - len(seen.moved())
    assert levels == set(range(7))


@pytest.mark.parametrize("arbiter", ARBITERS)
def test_arbiters(arbiter: str) -> None:
    """Worms of all inputs for the terminal: in turn, the lowest first, or at random."""
    shape = TorusNetwork(4, 1).shapes[0]
    packet = Packet(2, 4, flits=True)
    logic = TorusLogic(Torus(4, 1))
    dut = Placed(WormRouter(packet, shape, logic=logic, depth=2, arbiter=arbiter))
    numbers = range(len(dut.i))
    count = 1000 if arbiter == "random" else 100
    trace = transport(dut, cycles=count + 1, offer=lambda port, _: port << 2 | 1 << 6)
    came = [payload >> 2 & 15 for seen in trace for _, payload in seen.moved()]
    assert len(came) == count
    shares = [came.count(number) / len(came) for number in numbers]
    if arbiter == "fixed":
        assert shares == [1, 0, 0, 0, 0]
    elif arbiter == "random":
        assert max(abs(share - 0.2) for share in shares) < 0.08
        assert len(set(itertools.pairwise(came))) == 25
    else:
        assert came == [came[at % 5] for at in range(count)]
        assert sorted(came[:5]) == list(numbers)


NETWORKS = [
    *(
        f"{form} k={k} n={n}"
        for form, k, n in itertools.product(("torus", "mesh", "ring"), (2, 3, 4, 5, 6), (1, 2))
    ),
    *("torus k=4x3x2", "mesh k=2x5", "ring k=3x2", "torus k=5 n=1 channels=5", "mesh channels=3"),
    *(
        f"hypercube n={n} routing={routing}"
        for n in (2, 3, 4)
        for routing in ("ecube", "pcube", "adaptive")
    ),
]


def network_of(words: str) -> RoutedNetwork:
    name, *given = words.split()
    network = build(name, **dict(word.split("=") for word in given))
    assert isinstance(network, RoutedNetwork)
    return network


@pytest.mark.parametrize("words", NETWORKS)
def test_what_descriptions_say_is_what_all_headers_do(words: str) -> None:
    """Turns, diameter and freedom from deadlock: a description states them for any size."""
    relation = network_of(words).relation
    found = survey(relation)
    assert found.cycle is None
    assert relation.deadlock_free
    assert relation.diameter == found.diameter
    # All nodes are alike, so a turn has wires in each of them.
    made = set().union(*found.turns.values())
    assert all(set(turns) == made for turns in relation.turns().values())
    assert {len(turns) for turns in relation.turns().values()} == {len(made)}
    choices = (after for node in range(relation.ports) for _, _, after in relation.steps(node))
    assert relation.ordered == all(len(after) <= 1 for after in choices)


FAT_TREES = [f"fat-tree k={k} n={n}" for k, n in ((2, 1), (2, 4), (3, 2))]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("words", [*NETWORKS, *FAT_TREES, "fat-tree k=3 n=3 ascent=fixed"])
def test_logic_is_the_relation(words: str) -> None:
    """The gates, for every node, input and destination, against `route`."""
    network = network_of(words)
    relation, shapes, logic = network.relation, network.shapes, network._logic()
    assert logic is not None
    width = network.tags.code.width
    here, tag = Signal(max(logic.address, 1)), Signal(width)
    m = Module()
    # Nodes at the border of a mesh have a shape of their own.
    results: dict[RouterShape, list[Signal]] = {}
    for kind, shape in enumerate(dict.fromkeys(shapes)):
        results[shape] = []
        for i, entry in enumerate(shape.inputs):
            came = None if entry.is_terminal else entry.end
            exits = logic.exits(m, f"{kind}_{i}", came, here[: logic.address], tag)
            own = [j for j, output in enumerate(shape.outputs) if i in output.inputs]
            found = Signal(len(shape.outputs), name=f"exits_{kind}_{i}")
            m.d.comb += [found[j].eq(exits.get(shape.outputs[j].end, 0)) for j in own]
            results[shape].append(found)
    expected: dict[tuple[int, int, int], int] = {}
    for destination in range(network.ports):
        exit_ = relation.graph.exits[destination]
        for node, came, nexts in relation.steps(destination):
            link = None if came is None else relation.graph.link_of(came)
            end = (-1, 0) if link is None or came is None else (link.peer_port, came.number)
            ends = [(channel.port, channel.number) for channel in nexts or [exit_]]
            # An XOR tag is the difference, here of any node on the way.
            label = network.tags.tag(node % network.ports, destination)
            wanted = sum(1 << shapes[node].output(each) for each in ends)
            expected[node, shapes[node].input(end), label] = wanted

    async def testbench(ctx: Any) -> None:
        for (node, i, label), wanted in expected.items():
            position = logic.position(node) if logic.address else 0
            ctx.set(Cat(here, tag), position | label << len(here))
            assert ctx.get(results[shapes[node]][i]) == wanted, (node, i, label)

    m.d.sync += Signal().eq(1)
    exercise(m, testbench)


@pytest.mark.parametrize(
    ("packet", "parameters", "error", "message"),
    [
        ({"flits": True}, {"depth": "2"}, TypeError, "Depth must be an integer, not '2'"),
        ({"flits": True}, {"decision": 0}, ValueError, "Decision time must be at least 1, not 0"),
        ({}, {}, ValueError, "Packet must have flits"),
        (
            {"flits": True, "broadcast": True},
            {},
            ValueError,
            "Packet of several flits must not have a broadcast mask",
        ),
        (
            {"flits": True},
            {"switching": "circuit"},
            ValueError,
            "Switching must be one of wormhole, cut-through, store-and-forward, not 'circuit'",
        ),
        (
            {"flits": True},
            {"switching": "cut-through", "longest": 4},
            ValueError,
            "Depth must be at least the length of 4 flits with cut-through switching, not 2",
        ),
        (
            {"flits": True},
            {"arbiter": "dice"},
            ValueError,
            "Arbiter must be one of round-robin, fixed, random, least-recent, not 'dice'",
        ),
    ],
)
def test_router_rejects(
    packet: dict[str, bool], parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        router(8, 1, Packet(3, 8, **packet), **{"depth": 2, **parameters})
