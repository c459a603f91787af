# amaranth: UnusedElaboratable=no
"""The router of a torus: decision time, shared links, and which turns have wires."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from multicube.hdl.primitives.packet import Packet
from multicube.hdl.routers.torus_router import TorusRouter
from multicube.hdl.topology.torus import Hop, Torus


class Placed(wiring.Component):
    """A router at an address."""

    def __init__(self, router: TorusRouter, address: int = 0) -> None:
        self.router, self.address = router, address
        members = router.signature.members
        super().__init__({name: members[name] for name in ("i", "o")})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.router = self.router
        m.d.comb += self.router.address.eq(self.address)
        for outer, inner in zip((*self.i, *self.o), (*self.router.i, *self.router.o)):
            wiring.connect(m, wiring.flipped(outer), inner)
        return m


def in_ring(decision: int) -> Placed:
    """Node 0 of a 4-ary ring: port 0 leads up to node 1, port 4 is the terminal."""
    packet = Packet(2, 4, flits=True)
    return Placed(TorusRouter(packet, Torus(4, 1), depth=4, decision=decision))


def offers(worms: dict[int, list[list[int]]]) -> Callable[[int, int], int | None]:
    flits = {port: [flit for worm in queue for flit in worm] for port, queue in worms.items()}
    return lambda port, cycle: flits[port].pop(0) if flits.get(port) else None


def worm(name: int, destination: int, length: int = 3) -> list[int]:
    return [destination | name << 2 | (at == length - 1) << 6 for at in range(length)]


@pytest.mark.parametrize("decision", [1, 2, 4])
def test_decision_time(transport: Callable[..., list], decision: int) -> None:
    """Worms of one input follow each other with a gap of D_t - 1, into the terminal without."""
    dut = in_ring(decision)
    trace = transport(
        dut, dut.i, dut.o, cycles=30, offer=offers({4: [worm(n, 1) for n in range(4)]})
    )
    moved = [cycle for cycle, seen in enumerate(trace) if seen.moved()]
    period = decision + 2
    assert moved == [decision + period * number + flit for number in range(4) for flit in range(3)]
    assert {port for seen in trace for port, _ in seen.moved()} == {0}
    dut = in_ring(decision)
    trace = transport(
        dut, dut.i, dut.o, cycles=30, offer=offers({0: [worm(n, 0) for n in range(4)]})
    )
    assert [cycle for cycle, seen in enumerate(trace) if seen.moved()] == list(range(1, 13))


def test_decision_takes_nothing_from_a_link_that_others_use(transport: Callable[..., list]) -> None:
    """While one worm passes, the header behind another input is decided upon."""
    dut = in_ring(3)
    worms = {4: [worm(1, 1, 6)], 0: [worm(2, 1, 6)]}
    trace = transport(dut, dut.i, dut.o, cycles=20, offer=offers(worms))
    assert [cycle for cycle, seen in enumerate(trace) if seen.moved()] == list(range(3, 15))
    names = [payload >> 2 & 15 for seen in trace for _, payload in seen.moved()]
    assert len(list(itertools.groupby(names))) == 2


def sharing(
    transport: Callable[..., list], ready: Callable[[int, int], bool], refill: bool
) -> list[list[int]]:
    """The channels that send, in each cycle, if two worms of six flits share a link upward.

    `ready(channel, cycle)` says whether the receiver of a channel is.
    """
    router = TorusRouter(Packet(4, 4, flits=True), Torus(4, 2), depth=8, refill=refill)
    up = [router.port_of(Hop(0, 0, channel)) for channel in range(2)]

    def long(name: int, destination: int) -> list[int]:
        return [destination | name << 4 | (at == 5) << 8 for at in range(6)]

    # In node (0, 2) a packet for (0, 3) goes on without, one for (0, 0) with a wrap-around.
    worms = {len(router.hops): [long(1, 3)], router.port_of(Hop(1, 0, 0)): [long(2, 0)]}
    dut = Placed(router, 2)
    trace = transport(
        dut,
        dut.i,
        dut.o,
        cycles=24,
        offer=offers(worms),
        ready=lambda port, cycle: port not in up or ready(up.index(port), cycle),
    )
    assert {port for seen in trace for port, _ in seen.moved()} <= {*up}
    return [[up.index(port) for port, _ in seen.moved()] for seen in trace]


@pytest.mark.parametrize("refill", [False, True])
def test_channels_of_a_link_take_turns(transport: Callable[..., list], refill: bool) -> None:
    """Two worms that leave upward, one of them for the wrap-around: a flit each in turn."""
    sent = sharing(transport, lambda channel, cycle: True, refill)
    ways = ([[0], [1]], [[1], [0]])
    assert sent in ([[], *(way * 6), *[[]] * 11] for way in ways)


@pytest.mark.parametrize("refill", [False, True])
@pytest.mark.parametrize("blocked", [0, 1])
def test_a_blocked_channel_leaves_the_link_to_the_other(
    transport: Callable[..., list], blocked: int, refill: bool
) -> None:
    """All wires while it is blocked; its share from the second cycle in which it is not."""
    sent = sharing(transport, lambda channel, cycle: channel != blocked or cycle >= 4, refill)
    other = [1 - blocked]
    assert sent[:4] == [[], other, other, other]
    assert [blocked] in sent[4:6]
    assert sorted(channel for channels in sent for channel in channels) == [0] * 6 + [1] * 6
    assert all(sent[4:13])


def test_only_turns_of_the_routing_have_wires() -> None:
    """For each pair of ports: some packet turns so in some node, or there is no wire."""
    forms: dict[str, dict[str, Any]] = {
        "torus": {},
        "mesh": {"wrap": False, "channels": 1},
        "ring": {"directions": 1},
    }
    for form, k, n in itertools.product(forms, (2, 3, 4, 5), (1, 2)):
        torus = Torus(k, n, **forms[form])
        dut = TorusRouter(Packet(torus.code.width, 4, flits=True), torus, depth=1)
        terminal = len(dut.hops)
        turns = set()
        for pair in itertools.product(range(torus.nodes), repeat=2):
            ports = [dut.port_of(hop) for _, hop in torus.path(*pair)]
            turns |= set(itertools.pairwise([terminal, *ports, terminal]))
        wires = {(i, j) for j in range(terminal + 1) for i in dut.entries(j)}
        assert turns <= wires
        # In a 4-ary torus no way over a wrap-around link goes on behind it.
        assert wires == turns or (form, k) == ("torus", 4)


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
            {"plan": Torus(4, 2)},
            ValueError,
            "Tag of a packet must have 4 bits in a 4-ary 2-cube, not 3",
        ),
    ],
)
def test_router_rejects(
    packet: dict[str, bool], parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        TorusRouter(Packet(3, 8, **packet), **{"plan": Torus(8, 1), "depth": 2, **parameters})
