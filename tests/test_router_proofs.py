# amaranth: UnusedElaboratable=no
"""Proofs of routers and links; `test_hypercube_proofs.py` has those of the Connection Machine."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from claims import Claims, FickleArbiter, any_bits, needs_yosys
from conveyance import WITNESS, convey
from long_runs import long
from multicube.hdl.families.dcsh import dcsh_multiplexer as cluster_module
from multicube.hdl.families.dcsh.dcsh_graph import DCSH
from multicube.hdl.families.dcsh.dcsh_multiplexer import ClusterChannel, ClusterMultiplexer
from multicube.hdl.families.dcsh.dcsh_router import DCSHRouter
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.arrival_queue import ArrivalQueue
from multicube.hdl.routers.communication_controller import CommunicationController, SilentLane
from multicube.hdl.routers.credit_link import CreditLink
from multicube.hdl.routers.detour import DetourEnd, LeastDelayDetour, RandomDetour
from multicube.hdl.routers.packet_router import PacketRouter
from multicube.hdl.routers.route_table import RouteTable
from multicube.hdl.routers.worm_router import WormRouter
from multicube.hdl.switch import crossing
from multicube.hdl.switch.selection import Selector
from multicube.hdl.switch.shape import InputChannel, OutputChannel, RouterShape
from multicube.hdl.switch.shared_wires import Wires
from proof_table import proves

__all__ = ["any_bits"]

pytestmark = needs_yosys

FLITS = Packet(2, WITNESS, flits=True)
LONGEST = 2

# A link in and out, of two virtual channels, and a terminal. From the lower channel a worm goes on
# in either, from the upper one only in the upper one, as at a dateline.
SHAPE = RouterShape(
    (InputChannel((0, 0)), InputChannel((0, 1)), InputChannel((-1, 0))),
    (
        OutputChannel((0, 0), (0, 2)),
        OutputChannel((0, 1), (0, 1, 2)),
        OutputChannel((-1, 0), (0, 1, 2)),
    ),
)


def routed(claims: Claims, dut: Any) -> list[Value]:
    """Tags that say the number of an output; returns these outputs."""
    goals = []
    for i, port in enumerate(dut.i):
        tag = claims.free(2, f"tag_{i}")
        turns = [i in output.inputs for output in dut.shape.outputs]
        claims.assume(Cat(tag == j for j, turn in enumerate(turns) if turn).any())
        claims.m.d.comb += [
            port.payload.tag.eq(tag),
            dut.exits[i].eq(Cat(dut.tag[i] == j for j in range(len(turns)))),
        ]
        goals.append(tag)
    return goals


def worm_router(drain: int, *, depth: int, longest: int = LONGEST, **others: Any) -> Claims:
    claims = Claims()
    claims.m.submodules.dut = dut = WormRouter(FLITS, SHAPE, depth=depth, **others)
    opens: Value = Const(1)
    if dut.guarded_outputs:
        opens = claims.free(len(dut.guarded_outputs), "opens")
        claims.m.d.comb += [port.eq(bit) for port, bit in zip(dut.open, opens)]
    goals = routed(claims, dut)
    convey(
        claims,
        dut.i,
        dut.o,
        goals=goals,
        capacity=depth,
        drain=drain,
        longest=longest,
        counted=opens.all(),
    )
    return claims


ROUTERS: dict[str, tuple[int, dict[str, Any]]] = {
    "plain": (11, {"depth": 1}),
    "refill": (10, {"depth": 1, "refill": True}),
    "least-recent": (11, {"depth": 1, "arbiter": "least-recent"}),
    "decision": (11, {"depth": 1, "decision": 2}),
    "single": (5, {"depth": 1, "single": True, "longest": 1}),
}


@pytest.mark.long
@proves(
    WormRouter,
    says="The router is lossless and in order, keeps the stream rule and keeps packets whole. "
    "Packets leave in the virtual channel that their route names. In time: a flit is inside for "
    "at most 11 cycles, or 10 with refill, or 5 if packets are single flits. Therefore neither "
    "channel of a link stops the other.",
    sizes="one link of 2 channels and one terminal, each in and out; depth 1, packets of 1 or 2 "
    "flits; plain, with refill, with least-recent arbiters, with a decision time of 2, and with "
    "packets of single flits",
)
@pytest.mark.parametrize("kind", ["plain", *map(long, [k for k in ROUTERS if k != "plain"])])
def test_worm_router_is_lossless_and_in_time(tmp_path: Path, kind: str) -> None:
    drain, others = ROUTERS[kind]
    assert worm_router(drain, **others).hold(tmp_path)


@pytest.mark.long
def test_proofs_find_that_a_worm_takes_time(tmp_path: Path) -> None:
    assert not worm_router(10, depth=1).hold(tmp_path)


def first_channel_first(m: Module, link: int, channels: Any, **_: Any) -> Wires:
    """The upper channel of a link gets the wires only when the lower one has nothing to send."""
    if len(channels) == 1:
        return Wires([Const(1)], [Const(1)])
    first = Signal(name=f"first_{link}")
    m.d.comb += first.eq(channels[0][0] & channels[0][1])
    return Wires([first, channels[1][0] & channels[1][1] & ~first], [])


@pytest.mark.long
def test_proofs_find_a_channel_that_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crossing, "shared_wires", first_channel_first)
    assert not worm_router(11, depth=1).hold(tmp_path)


def packet_router(depth: int, drain: int, waits: int | None = None) -> Claims:
    claims = Claims()
    m = claims.m
    shape = RouterShape(
        (InputChannel((0, 0)), InputChannel((-1, 0))),
        (OutputChannel((0, 0), (0, 1)), OutputChannel((-1, 0), (0, 1))),
    )
    m.submodules.dut = dut = PacketRouter(Packet(2, WITNESS, length=2), shape, depth=depth)
    goals = routed(claims, dut)
    for i, port in enumerate(dut.i):
        length = claims.free(2, f"length_{i}")
        claims.assume((length == 1) | (length == 2))
        m.d.comb += port.payload.length.eq(length)
    convey(claims, dut.i, dut.o, goals=goals, capacity=depth, drain=drain, waits=waits)
    return claims


@pytest.mark.long
@proves(
    PacketRouter,
    says="The router is lossless and in order, and keeps the stream rule. In time: a packet is "
    "inside for at most 2 `depth` cycles. With depth 1 it is accepted after at most 5.",
    sizes="one link and one terminal, each in and out; depth 1 and 2; packets for 1 or 2 flits",
)
@pytest.mark.parametrize(("depth", "waits"), [(1, 5), long(2, None)])
def test_packet_router_is_lossless_and_in_time(
    tmp_path: Path, depth: int, waits: int | None
) -> None:
    assert packet_router(depth, 2 * depth, waits).hold(tmp_path)


def credit_link(
    latency: int, depth: int, drain: int, kind: type[CreditLink] = CreditLink
) -> Claims:
    """A link with the queues at its end, which are never too full for what comes."""
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = kind(FLITS, channels=2, latency=latency, depth=depth, levels=True)
    entries = [stream.Signature(FLITS).create(path=(f"entry_{c}",)) for c in range(2)]
    heads = []
    shared = Mux(entries[1].valid, Value.cast(entries[1].payload), Value.cast(entries[0].payload))
    claims.assume(~(entries[0].valid & entries[1].valid))
    for c, entry in enumerate(entries):
        queue = ArrivalQueue(FLITS, depth=depth)
        m.submodules[f"queue_{c}"] = queue
        m.d.comb += [
            dut.i[c].valid.eq(entry.valid),
            dut.i[c].payload.eq(shared),
            entry.ready.eq(dut.i[c].ready),
            queue.i[0].valid.eq(dut.o[c].valid),
            queue.i[0].payload.eq(dut.o[c].payload),
            dut.freed[c].eq(queue.o.valid & queue.o.ready),
        ]
        claims.claim(~dut.o[c].valid | queue.i[0].ready)
        claims.claim(dut.level[c] >= queue.level)
        heads.append(queue.o)
    goals = [Const(0, 1), Const(1, 1)]
    # A sender that is blocked lets the other channel go first, so there is no bound on its wait.
    convey(claims, entries, heads, goals=goals, capacity=depth, drain=drain)
    return claims


@proves(
    CreditLink,
    says="The link is lossless and in order: what enters finds room in the queue behind it. In "
    "time: it has left that queue after at most latency - 1 + depth cycles.",
    sizes="2 channels, latency 2 and 3, depth 1 and 2",
)
@pytest.mark.parametrize(("latency", "depth"), [(2, 1), long(2, 2), long(3, 2)])
def test_credit_link_is_lossless(tmp_path: Path, latency: int, depth: int) -> None:
    assert credit_link(latency, depth, latency - 1 + depth).hold(tmp_path)


class Generous(CreditLink):
    """Gives back a credit that was not taken."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.i[0].ready.eq(1)
        return m


@pytest.mark.long
def test_proofs_find_a_flit_without_a_credit(tmp_path: Path) -> None:
    assert not credit_link(2, 1, 9, Generous).hold(tmp_path)


def multiplexer(drain: int, **others: Any) -> Claims:
    claims = Claims()
    claims.m.submodules.dut = dut = ClusterMultiplexer(FLITS, inputs=2, **others)
    convey(claims, dut.i, [dut.o], capacity=others["depth"], drain=drain, longest=LONGEST)
    return claims


@pytest.mark.long
@proves(
    ClusterMultiplexer,
    says="The multiplexer is lossless and in order, keeps the stream rule and keeps packets "
    "whole. In time: a flit is inside for at most 4 cycles, or 5 with a decision time of 2.",
    sizes="2 inputs, packets of 1 or 2 flits; depth 1, also with a decision time of 2 or with "
    "refill; depth 2 with packets accepted whole",
)
@pytest.mark.parametrize(
    ("drain", "others"),
    [
        (4, {"depth": 1}),
        long(4, {"depth": 1, "refill": True}),
        long(5, {"depth": 1, "decision": 2}),
        long(4, {"depth": 2, "length": 2}),
    ],
)
def test_cluster_multiplexer_is_lossless_and_in_time(
    tmp_path: Path, drain: int, others: dict[str, Any]
) -> None:
    assert multiplexer(drain, **others).hold(tmp_path)


@pytest.mark.long
def test_proofs_find_a_multiplexer_that_moves_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "RoundRobin", FickleArbiter)
    assert not multiplexer(4, depth=1).hold(tmp_path)


def dcsh_router(drain: int, waits: int) -> Claims:
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = DCSHRouter(FLITS, DCSH(2, 2), depth=1)
    address = claims.symbol(2, "address")
    m.d.comb += dut.address.eq(address)
    goals: list[Value] = []
    for i, port in enumerate(dut.i):
        tag = claims.free(2, f"tag_{i}")
        m.d.comb += port.payload.tag.eq(tag)
        left = (tag ^ address) & ((1 << i) - 1)  # the dimensions below its own
        goals.append(Mux(left[1], 1, Mux(left[0], 0, 2)))
    convey(
        claims,
        dut.i,
        dut.o,
        goals=goals,
        capacity=1,
        drain=drain,
        waits=waits,
        longest=LONGEST,
        keeps=True,
    )
    return claims


@proves(
    DCSHRouter,
    says="The router is lossless and in order, keeps packets whole, and keeps the stream rule if "
    "the senders do. Each packet goes by the highest dimension that is left. In time: a flit is "
    "inside for at most 5 cycles, and is accepted after at most 5.",
    sizes="2 x 2 nodes, any address, no broadcast, depth 1, packets of 1 or 2 flits",
)
def test_dcsh_router_is_lossless_and_in_time(tmp_path: Path) -> None:
    assert dcsh_router(5, 5).hold(tmp_path)


@pytest.mark.long
def test_proofs_find_that_a_dcsh_router_takes_time(tmp_path: Path) -> None:
    assert not dcsh_router(4, 9).hold(tmp_path)


def channel(broadcast: bool, kind: type[ClusterChannel] = ClusterChannel) -> Claims:
    """Flits go to the members that their header names, and all together."""
    claims = Claims()
    m = claims.m
    k = 3
    packet = Packet(2, 1, flits=True, broadcast=broadcast)
    m.submodules.dut = dut = kind(packet, DCSH(k, 1))
    position = claims.symbol(2, "position")
    claims.assume(position < k)
    valid, ready = claims.free(1, "valid"), claims.free(k - 1, "ready")
    word = claims.free(packet.size, "word")
    m.d.comb += [
        dut.position.eq(position),
        dut.i.valid.eq(valid),
        dut.i.payload.eq(word),
        *(port.eq(bit) for port, bit in zip(dut.o_ready, ready)),
    ]
    flit = packet(word)
    following, kept, goals = Signal(), Signal(k - 1), Signal(k - 1)
    care = ~flit.mask if broadcast else Const(3, 2)
    named = [((flit.tag ^ member) & care) == 0 for member in range(k)]
    own = Cat(Mux(slot >= position, named[slot + 1], named[slot]) for slot in range(k - 1))
    m.d.comb += goals.eq(Mux(following, kept, own))
    claims.assume(following | (flit.tag < k))
    with m.If(valid & dut.i.ready):
        m.d.sync += [following.eq(~flit.last), kept.eq(goals)]
    taken = Cat(v & r for v, r in zip(dut.o_valid, ready))
    # What leaves is taken by all that it is for, and by nobody else, and only then leaves.
    claims.claim(~valid | (dut.i.ready == ((goals & ~ready) == 0)))
    claims.claim(~(valid & dut.i.ready) | (taken == goals))
    claims.claim((valid & dut.i.ready) | (taken == 0) | (not broadcast and (taken & ~goals) == 0))
    claims.claim(dut.o_payload.as_value() == word)
    return claims


@proves(
    ClusterChannel,
    says="Each flit goes to all receivers that its header names, in the same cycle, and to no "
    "other.",
    sizes="3 nodes, any owner, with and without broadcast, packets of any length",
)
@pytest.mark.parametrize("broadcast", [long(False), True])
def test_cluster_channel_reaches_those_that_are_named(tmp_path: Path, broadcast: bool) -> None:
    assert channel(broadcast).hold(tmp_path)


class Forgets(ClusterChannel):
    """Reads each flit's tag as a header."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.i.valid):
            m.d.comb += [
                valid.eq(self._addressed(self.i.payload)[slot] & self.i.ready)
                for slot, valid in enumerate(self.o_valid)
            ]
        return m


@pytest.mark.long
def test_proofs_find_a_channel_that_forgets_its_hearers(tmp_path: Path) -> None:
    assert not channel(True, Forgets).hold(tmp_path)


@pytest.mark.long
@proves(
    CommunicationController,
    SilentLane,
    says="The word to be sent is on the chosen link and on no other. The received word is that of "
    "the chosen link. `clash` is set exactly when a word meets another on its link, and `missed` "
    "exactly when an arriving word is not taken.",
    sizes="3 links",
)
def test_controller_connects_one_link_each_way(tmp_path: Path) -> None:
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = CommunicationController(2, links=3)
    m.submodules.silent = silent = SilentLane(2)
    port = dut.processor
    came, words = claims.free(2, "came"), [claims.free(2, f"word_{link}") for link in range(2)]
    sends, word, output = claims.free(1, "sends"), claims.free(2, "word"), claims.free(2, "output")
    receives, chosen = claims.free(1, "receives"), claims.free(2, "chosen")
    claims.assume((output < 3) & (chosen < 3))
    m.d.comb += [
        port.send.valid.eq(sends),
        port.send.word.eq(word),
        port.output.eq(output),
        port.receives.eq(receives),
        port.input.eq(chosen),
        dut.i[2].eq(silent.o),
    ]
    for link in range(2):
        m.d.comb += [dut.i[link].valid.eq(came[link]), dut.i[link].word.eq(words[link])]
    clash, missed = Const(0, 1), Const(0, 1)
    for link in range(3):
        sent = sends & (output == link)
        claims.claim(dut.o[link].valid == sent)
        claims.claim(~sent | (dut.o[link].word == word))
        arrived = came[link] if link < 2 else Const(0, 1)
        heard = receives & (chosen == link)
        clash |= arrived & sent
        missed |= arrived & ~heard
        claims.claim(~heard | (port.received.valid == arrived))
        if link < 2:
            claims.claim(~(heard & arrived) | (port.received.word == words[link]))
    claims.claim(receives | ~port.received.valid)
    claims.claim((port.clash == clash) & (port.missed == missed))
    assert claims.hold(tmp_path)


@pytest.mark.long
@proves(
    RouteTable,
    says="Each reader gets the row of its tag. If the packet has an intermediate terminal, the "
    "reader gets that terminal's row, unless it is empty.",
    sizes="tags of 2 bits, 2 readers of one memory, one of them with intermediate terminals",
)
def test_route_table_looks_up_the_row(tmp_path: Path) -> None:
    rows, via = (1, 2, 3, 4), (0, 5, 6, 0)
    claims = Claims()
    m = claims.m
    table = RouteTable(tag=2, outputs=3, readers=(0, 0), via=(None, 0), rows_0=rows, via_0=via)
    m.submodules.dut = table
    tags = [claims.free(4, f"tag_{i}") for i in range(2)]
    m.d.comb += [port.eq(tag) for port, tag in zip(table.tag, tags)]
    for low in range(4):
        for high in range(4):
            claims.claim((tags[0] != low + 4 * high) | (table.exits[0] == rows[low]))
            found = via[high] or rows[low]
            claims.claim((tags[1] != low + 4 * high) | (table.exits[1] == found))
    assert claims.hold(tmp_path)


CHOICE = RouterShape(
    (InputChannel((0, 0)), InputChannel((-1, 0))),
    (
        OutputChannel((0, 0), (0, 1), False),
        OutputChannel((1, 0), (0, 1), False),
        OutputChannel((0, 1), (0, 1), True),
        OutputChannel((-1, 0), (0, 1)),
    ),
    choice=True,
)


@proves(
    Selector,
    says="A header gets only outputs that it was offered. If there are any besides escape "
    "channels, it gets exactly one of these, and the escape channels with it. If not, it gets "
    "exactly one escape channel. This is so whatever the random bits are.",
    sizes="3 channels on 2 links and a terminal; selections `random`, `least-count` and "
    "`shortest-queue`",
)
@pytest.mark.parametrize("selection", ["random", long("least-count"), long("shortest-queue")])
def test_selector_selects_one_output(tmp_path: Path, any_bits: Claims, selection: Any) -> None:
    m = any_bits.m
    m.submodules.dut = dut = Selector(CHOICE, selection=selection)
    for name in ("accepted", "left", "offered"):
        for i, port in enumerate(getattr(dut, name)):
            m.d.comb += port.eq(any_bits.free(len(port), f"{name}_{i}"))
    m.d.comb += dut.held.eq(any_bits.free(4, "held"))
    for offered, exits in zip(dut.offered, dut.exits):
        any_bits.claim((exits & ~offered) == 0)
        adaptive = offered[:2].any()
        any_bits.claim(~adaptive | ((exits[0] ^ exits[1]) & (exits[2] == offered[2])))
        any_bits.claim(adaptive | (exits[2] == offered[2]))
        any_bits.claim(exits[3] == offered[3])
    assert any_bits.hold(tmp_path)


def detour(claims: Claims, dut: Any) -> None:
    """Packets pass whole and in order, and an intermediate terminal that waits stays."""
    m = claims.m
    m.submodules.dut = dut
    m.submodules.end = end = DetourEnd(dut.packet)
    middle = dut.o
    tag = claims.free(2, "tag")
    m.d.comb += [
        dut.i.payload.tag.eq(tag),
        end.i.valid.eq(middle.valid),
        end.i.payload.eq(middle.payload),
        middle.ready.eq(end.i.ready),
    ]
    convey(claims, [dut.i], [end.o], capacity=2, drain=2, waits=1, longest=LONGEST, keeps=True)
    via = Value.cast(middle.payload)[2:4]
    waits = claims.past(middle.valid & ~middle.ready)
    claims.claim(~waits | (via == claims.past(via)))


@pytest.mark.long
@proves(
    RandomDetour,
    LeastDelayDetour,
    DetourEnd,
    says="The detour is lossless and in order, keeps the stream rule and keeps packets whole. In "
    "time: a flit is inside for at most 2 cycles. The intermediate terminal does not change while "
    "its flit waits.",
    sizes="4 terminals, packets of 1 or 2 flits",
)
@pytest.mark.parametrize("kind", ["random", long("least delay")])
def test_detours_are_lossless(tmp_path: Path, any_bits: Claims, kind: str) -> None:
    if kind == "random":
        dut: Any = RandomDetour(FLITS, terminals=4)
    else:
        rows = {"direct": (1, 1, 1, 1), "detour": (1, 1, 1, 1), "onward": (1,) * 16}
        dut = LeastDelayDetour(FLITS, terminals=4, links=((0,), (1,)), depth=1, hops=1, **rows)
        for c, port in enumerate(dut.level):
            any_bits.m.d.comb += port.eq(any_bits.free(1, f"level_{c}"))
    any_bits.m.d.comb += dut.seed.eq(any_bits.symbol(32, "seed"))
    detour(any_bits, dut)
    assert any_bits.hold(tmp_path)
