# amaranth: UnusedElaboratable=no
"""Proofs of the deflection router and, in a small network, of delivery in bounded time.

The payload of a packet is a mark. No router looks at it, so what holds of the marked packet, which
may be any, holds of all.
"""

from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from claims import Claims, needs_yosys
from long_runs import long
from multicube.hdl.families.deflection.deflection_network import DeflectionTorus
from multicube.hdl.families.deflection.deflection_router import DeflectionRouter
from multicube.hdl.links.packet import Packet
from proof_table import proves

pytestmark = needs_yosys

PAYLOAD = 2
"""The mark, and a bit that must not change."""


def count(flags: list[Value]) -> Value:
    return sum(flags, start=0)


def router(digit: int, kind: type[DeflectionRouter] = DeflectionRouter) -> Claims:
    """Neighbours send what they like, if what they say of it is true; and so does this node."""
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = kind(Packet(2 * digit, PAYLOAD), digit=digit)
    address, beyond = (claims.symbol(2 * digit, name) for name in ("address", "beyond"))
    x, y = address[:digit], address[digit:]
    next_x, next_y = beyond[:digit], beyond[digit:]
    claims.assume((x != next_x) & (y != next_y))
    m.d.comb += [dut.address.eq(address), dut.beyond.eq(beyond)]

    second, first = dut.i_link
    to_second, to_first = dut.o_link
    words = []
    for name, port in (("second", second), ("first", first), ("own", dut.i)):
        word = claims.free(len(Value.cast(port.payload)), f"word_{name}")
        m.d.comb += [port.valid.eq(claims.free(1, f"valid_{name}")), port.payload.eq(word)]
        words.append(port.payload if port is dut.i else port.payload.packet)
    ready = claims.free(1, "ready")
    m.d.comb += dut.o.ready.eq(ready)

    # What neighbours say of their packets, and what this node says of its own.
    for port, column, row, say in (
        (second, x, None, claims.assume),
        (first, x, y, claims.assume),
        (to_second, next_x, None, claims.claim),
        (to_first, x, next_y, claims.claim),
    ):
        packet = port.payload.packet
        say(~port.valid | (port.payload.right == (packet.tag[:digit] == column)))
        if row is not None:
            say(~port.valid | (port.payload.turns == (packet.tag[digit:] == row)))
    claims.assume(~second.valid | (second.payload.packet.tag[digit:] == y))
    claims.claim(~to_second.valid | (to_second.payload.packet.tag[digit:] == y))
    claims.claim(~dut.o.valid | (dut.o.payload.tag == address))

    # A terminal enters exactly where nothing comes over the first ring.
    claims.claim(dut.i.ready == ~first.valid)
    claims.claim(second.ready & first.ready)

    # As many leave as enter.
    enters = [second.valid, first.valid, dut.i.valid & dut.i.ready]
    leaves = [to_second.valid, to_first.valid, dut.o.valid & ready]
    inside = Signal(4)
    m.d.sync += inside.eq(inside + count(enters) - count(leaves))
    # In the network a packet that leaves by the first link in this cycle is still in this node.
    claims.claim(inside <= 3)
    claims.claim(count(leaves) <= inside + second.valid)

    # The marked packet enters once, and leaves once, as it was.
    marks = [enter & word.payload[0] for enter, word in zip(enters, words)]
    entering = Cat(marks).any()
    used, here, fresh, of_second = Signal(), Signal(), Signal(), Signal()
    kept, given = Signal(2 * digit + PAYLOAD), Signal(2 * digit + PAYLOAD)
    claims.assume(count(marks) <= ~used)
    for mark, word in zip(marks, words):
        with m.If(mark):
            m.d.comb += given.eq(Cat(word.tag, word.payload))
    m.d.sync += fresh.eq(entering)
    with m.If(entering):
        m.d.sync += [used.eq(1), here.eq(1), of_second.eq(marks[0]), kept.eq(given)]
    shown = {
        "second": (to_second.valid, to_second.payload.packet),
        "first": (to_first.valid, to_first.payload.packet),
        "own": (dut.o.valid, dut.o.payload),
    }
    flags = {name: valid & packet.payload[0] for name, (valid, packet) in shown.items()}
    known = Mux(entering, given, kept)
    for name, (_, packet) in shown.items():
        claims.claim(~flags[name] | (Cat(packet.tag, packet.payload) == known))
    column, row = known[:digit], known[digit : 2 * digit]
    # What is deflected leaves in the cycle in which it comes, what turns after two, others after
    # one; or it is shown to the terminal.
    deflected = marks[0] & flags["first"]
    turning = here & fresh & ~of_second & (row == y)
    claims.claim(count(list(flags.values())) == ((here & ~turning) | deflected))
    with m.If(flags["second"] | flags["first"] | (flags["own"] & ready)):
        m.d.sync += here.eq(0)
    claims.claim(~(here & entering))

    # Only what comes over the second ring is deflected.
    claims.claim(~deflected | dut.deflected)
    claims.claim(~(flags["first"] & here) | (row != y))
    claims.claim(~flags["own"] | ((row == y) & (column == x)))
    # If the terminal has taken what it was offered, nothing passes it.
    refused = Signal()
    with m.If(~ready):
        m.d.sync += refused.eq(1)
    claims.claim(refused | ~flags["second"] | (column != x))
    claims.claim(refused | ~ready | ~dut.missed)
    # The stream rule.
    held = claims.past(dut.o.valid & ~ready)
    now = Value.cast(dut.o.payload)
    claims.claim(~held | (dut.o.valid & (now == claims.past(now))))
    return claims


@proves(
    DeflectionRouter,
    says="The router is lossless. A packet that turns is never deflected. A packet that has "
    "arrived leaves, unless it is deflected or its terminal has refused a packet before. In time: "
    "a packet is inside for at most 2 cycles. What the router tells the next node about its "
    "packets is true if what it was told is true. The stream rule holds at the terminal.",
    sizes="all addresses of 1 and 2 bits per dimension",
)
@pytest.mark.parametrize("digit", [1, 2])
def test_deflection_router_is_lossless_and_turns_for_sure(tmp_path: Path, digit: int) -> None:
    assert router(digit).hold(tmp_path)


class Careless(DeflectionRouter):
    """What should be deflected is lost."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.deflected):
            m.d.comb += self.o_link[1].valid.eq(0)
        return m


@pytest.mark.long
def test_proofs_find_a_router_that_loses_packets(tmp_path: Path) -> None:
    assert not router(1, Careless).hold(tmp_path)


_REGISTERS = (
    *("comes", "came", "turns"),
    *("o_link__0__valid", "o_link__0__payload", "o__valid", "o__payload"),
)


def network(k: str, longest: int) -> Claims:
    """Terminals send what they like, and take what they are offered at once."""
    claims = Claims()
    m = claims.m
    dut = DeflectionTorus(k, payload=1)
    registers = claims.inside("dut", dut)
    codes = [dut.tags.code.encode(node) for node in range(dut.ports)]
    marks = []
    for number, port in enumerate(dut.i):
        valid, mark = (claims.free(1, f"{name}_{number}") for name in ("valid", "mark"))
        tag = claims.free(dut.tags.code.width, f"tag_{number}")
        claims.assume(Cat(tag == code for code in codes).any())
        m.d.comb += [port.valid.eq(valid), port.payload.tag.eq(tag), port.payload.payload.eq(mark)]
        marks.append(valid & mark & port.ready)
    used, inside, age = Signal(), Signal(), Signal(8)
    claims.assume(count(marks) <= Mux(used, 0, 1))
    arrivals = []
    for number, port in enumerate(dut.o):
        m.d.comb += port.ready.eq(1)
        claims.claim(~port.valid | (port.payload.tag == dut.tags.code.encode(number)))
        arrivals.append(port.valid & port.payload.payload)
    with m.If(Cat(marks).any()):
        m.d.sync += [used.eq(1), inside.eq(1), age.eq(1)]
    with m.Elif(inside):
        m.d.sync += age.eq(age + 1)
    with m.If(Cat(arrivals).any()):
        m.d.sync += inside.eq(0)
    claims.claim(count(arrivals) <= inside)
    claims.claim(~inside | (age <= longest))

    def packet_in(word: Value) -> data.View:
        return data.View(dut.packet, word[: dut.packet.size])

    def position(word: Value, dimension: int) -> Value:
        return packet_in(word).tag.word_select(dimension, dut.relation.code.digit_bits)

    # For the induction: what is true of each packet inside.
    sizes, held = dut.relation.sizes, []
    for node in range(dut.ports):
        own = {name: registers[f"router_{node}.{name}"] for name in _REGISTERS}
        x, y = dut.relation.code.split(node)
        came, second = own["came"], own["o_link__0__payload"]
        here, second_valid = own["comes"], own["o_link__0__valid"]
        places = ((here, came), (second_valid, second), (own["o__valid"], own["o__payload"]))
        for valid, word in places:
            held.append(valid & packet_in(word).payload)
            known = Cat(packet_in(word).tag == code for code in codes).any()
            claims.claim(~valid | known)
        for valid, word, column in ((here, came, x), (second_valid, second, (x + 1) % sizes[0])):
            right = word[dut.packet.size]
            claims.claim(~valid | (right == (position(word, 0) == column)))
        claims.claim(~second_valid | (position(second, 1) == y))
        claims.claim(~own["turns"] | (here & (position(came, 1) == y)))
    claims.claim(count(held) == inside)
    claims.claim(~inside | used)
    return claims


@proves(
    DeflectionRouter,
    says="A network of these routers delivers each packet once, to its terminal. If all terminals "
    "take what they are offered, that is within a + b (k_1 + 1) + 2 cycles, where a and b are the "
    "links that the packet needs in each dimension. This bound is reached.",
    sizes="networks of 2 x 2, 2 x 3 and 3 x 3 nodes",
)
@pytest.mark.parametrize(("k", "longest"), [("2x2", 6), long("2x3", 8), long("3x3", 12)])
def test_a_small_network_delivers_in_time(tmp_path: Path, k: str, longest: int) -> None:
    """Links up and along, each after which it may be deflected once around, and in and out."""
    assert network(k, longest).hold(tmp_path, longest + 1, inductive=True)
    assert not network(k, longest - 1).hold(tmp_path, longest + 3)
