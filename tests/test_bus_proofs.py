# amaranth: UnusedElaboratable=no
"""Proofs of the rules of AXI4 and Wishbone, for ever, whatever managers and memory do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Signal, Value
from claims import Claims, needs_yosys
from long_runs import long
from multicube.hdl import build
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.bus_operations import bus_operations, row_bits
from multicube.hdl.terminals.axi import AxiTarget
from multicube.hdl.terminals.bus_words import WordMap
from multicube.hdl.terminals.remote_memory import (
    RemoteProcessorEnd,
    masked_link,
    reply_payload,
    request_payload,
)
from multicube.hdl.terminals.wishbone import WishboneTarget
from multicube.hdl.terminals.wishbone_bursts import WishboneBurstTarget
from proof_table import proves

pytestmark = needs_yosys

WORDS = WordMap((1,), 2, 1)
LINK = MemoryLink(tag=1, identity=2, address=1, width=row_bits(8), operations=bus_operations(8))


class Face:
    """A target with free inputs, and what its memory has been asked and has not answered."""

    def __init__(self, claims: Claims, target: Any, inputs: tuple[str, ...]) -> None:
        self.claims, self.target = claims, target
        claims.m.submodules.target = target
        for name in inputs:
            port = getattr(target.bus, name)
            claims.m.d.comb += port.eq(claims.free(len(port), name))
        request, reply = target.o.request, target.o.reply
        identities = 1 << len(request.payload.identity)
        self.asked = asked = Signal(identities)
        answer = claims.free(len(reply.payload.as_value()), "answer")
        comes = claims.free(1, "comes")
        claims.m.d.comb += [
            request.ready.eq(claims.free(1, "taken")),
            reply.payload.eq(answer),
            reply.valid.eq(comes & asked.bit_select(reply.payload.identity, 1)),
        ]
        added = (request.valid & request.ready) << request.payload.identity
        removed = (reply.valid & reply.ready) << reply.payload.identity
        claims.m.d.sync += asked.eq(asked & ~removed | added)

    def kept(self, valid: Value, ready: Value, shown: Value) -> Value:
        """What was shown and not taken is shown again."""
        past = self.claims.past
        return ~past(valid & ~ready) | (valid & (shown == past(shown)))


MANAGER = ("id", "addr", "len", "size", "burst", "valid")
SENT = (*(f"aw{name}" for name in MANAGER), *(f"ar{name}" for name in MANAGER))


@proves(
    AxiTarget,
    says="The target keeps the rules of AXI4 for a subordinate. `bvalid` and `rvalid` stay high, "
    "with all that belongs to them unchanged, until they are taken. They are raised only for "
    "bursts that were accepted and are not yet answered. No response is EXOKAY. A request to "
    "memory stays until it is taken, and has an identity that is free.",
    sizes="words of one byte, two requests each way, bursts of up to 256 beats of every kind, "
    "without and with masks",
)
@pytest.mark.parametrize("mask", [False, long(True)], ids=["plain", "mask"])
def test_rules_of_axi(mask: bool, tmp_path: Path) -> None:
    claims = Claims()
    words = replace(WORDS, columns=(1, 2), tag=2) if mask else WORDS
    link = masked_link(LINK) if mask else LINK
    target = AxiTarget(link, words=words, data=8, ids=1, mask=mask)
    sent = (*SENT, *(["awuser"] if mask else []))
    face = Face(claims, target, (*sent, "wdata", "wstrb", "wlast", "wvalid", "bready", "rready"))
    bus, request = target.bus, target.o.request
    b, r = Cat(bus.bid, bus.bresp), Cat(bus.rid, bus.rdata, bus.rresp, bus.rlast)
    claims.claim(face.kept(bus.bvalid, bus.bready, b))
    claims.claim(face.kept(bus.rvalid, bus.rready, r))
    claims.claim(face.kept(request.valid, request.ready, request.payload.as_value()))
    claims.claim(~request.valid | ~face.asked.bit_select(request.payload.identity, 1))
    for accepted, shown, ends in (
        (bus.awvalid & bus.awready, bus.bvalid, bus.bvalid & bus.bready),
        (bus.arvalid & bus.arready, bus.rvalid, bus.rvalid & bus.rready & bus.rlast),
    ):
        bursts = Signal(3)
        claims.m.d.sync += bursts.eq(bursts + accepted - ends)
        claims.claim(~shown | (bursts != 0))
    claims.claim(~bus.bvalid | (bus.bresp != 1))
    claims.claim(~bus.rvalid | (bus.rresp != 1))
    assert claims.hold(tmp_path)


@proves(
    RemoteProcessorEnd,
    says="A request with a mask is answered exactly once, with the last of as many replies as the "
    "mask has modules; the others are swallowed.",
    sizes="eight modules, two requests, with masks",
)
def test_a_request_with_a_mask_has_one_answer(tmp_path: Path) -> None:
    """The replies of one identity, any, are counted upwards."""
    claims = Claims()
    network = build("cube ports=8 broadcast=1")
    link = MemoryLink(tag=3, identity=1, address=1, width=1)
    sent, received = map(network.packet_of, (request_payload(link), reply_payload(link)))
    end = RemoteProcessorEnd(link, sent, received, network.tags, queued=False, masks=True)
    claims.m.submodules.end = end
    request, reply, back = end.i.request, end.i.reply, end.back
    for stream, name in ((request, "request"), (back, "back")):
        shown = Value.cast(stream.payload)
        claims.m.d.comb += shown.eq(claims.free(len(shown), name))
    one = claims.symbol(1, "one")
    left, asked = Signal(4), Signal()
    comes = claims.free(1, "comes")
    is_asked = request.valid & request.ready & (request.payload.identity == one)
    is_back = back.valid & back.ready & (back.payload.payload.identity == one)
    ends = reply.valid & reply.ready & (reply.payload.identity == one)
    mask = request.payload.tag[3:]
    claims.m.d.comb += [
        request.valid.eq(claims.free(1, "offered") & (~asked | (request.payload.identity != one))),
        end.o.ready.eq(claims.free(1, "taken")),
        reply.ready.eq(claims.free(1, "wanted")),
        back.valid.eq(comes & ((back.payload.payload.identity != one) | (left != 0))),
    ]
    named = sum((module & ~mask) == 0 for module in (Const(n, 3) for n in range(8)))
    with claims.m.If(is_asked):
        claims.m.d.sync += [left.eq(named), asked.eq(1)]
    with claims.m.Elif(is_back):
        claims.m.d.sync += left.eq(left - 1)
    with claims.m.If(ends):
        claims.m.d.sync += asked.eq(0)
    claims.claim(~ends | (is_back & (left == 1)))
    claims.claim(~(is_back & (left == 1)) | ends)
    claims.claim(asked == (left != 0))
    claims.claim(~is_back | (left != 1) | (reply.payload.value == back.payload.payload.value))
    assert claims.hold(tmp_path)


@proves(
    WishboneTarget,
    says="The target keeps the rules of Wishbone. `ack` and `err` are never high together, last "
    "one cycle, and answer a bus cycle that had begun before. A request to memory stays until it "
    "is taken.",
    sizes="words of one byte",
)
def test_rules_of_wishbone(tmp_path: Path) -> None:
    claims = Claims()
    target = WishboneTarget(LINK, words=WORDS, data=8)
    face = Face(claims, target, ("adr", "dat_w", "sel", "cyc", "stb", "we"))
    bus, request = target.bus, target.o.request
    ends = bus.ack | bus.err
    claims.claim(~(bus.ack & bus.err))
    claims.claim(~ends | claims.past(bus.cyc & bus.stb))
    claims.claim(~ends | ~claims.past(ends))
    claims.claim(face.kept(request.valid, request.ready, request.payload.as_value()))
    assert claims.hold(tmp_path)


@proves(
    WishboneBurstTarget,
    says="`ack` and `err` are never high together. They are high only with `cyc` and `stb`, and "
    "only for a bus cycle that had begun before or that a burst announced. A request to memory "
    "stays until it is taken, and has an identity that is free.",
    sizes="words of one byte, four requests",
)
def test_rules_of_wishbone_bursts(tmp_path: Path) -> None:
    claims = Claims()
    target = WishboneBurstTarget(LINK, words=WORDS, data=8)
    face = Face(claims, target, ("adr", "dat_w", "sel", "cyc", "stb", "we", "cti", "bte"))
    bus, request = target.bus, target.o.request
    ends = bus.ack | bus.err
    announced = Signal()
    with claims.m.If(ends | ~bus.cyc):
        claims.m.d.sync += announced.eq(bus.ack & bus.cti.matches(1, 2))
    claims.claim(~(bus.ack & bus.err))
    claims.claim(~ends | (bus.cyc & bus.stb))
    claims.claim(~ends | announced | (claims.past(bus.cyc & bus.stb) & ~claims.past(ends)))
    claims.claim(face.kept(request.valid, request.ready, request.payload.as_value()))
    claims.claim(~request.valid | ~face.asked.bit_select(request.payload.identity, 1))
    assert claims.hold(tmp_path)


def test_a_broken_rule_is_found(tmp_path: Path) -> None:
    """As if `bready` were not looked at."""
    claims = Claims()
    target = AxiTarget(LINK, words=WORDS, data=8, ids=1)
    Face(claims, target, (*SENT, "wdata", "wstrb", "wlast", "wvalid", "bready", "rready"))
    claims.claim(~claims.past(target.bus.bvalid & target.bus.bready) | target.bus.bvalid)
    assert not claims.hold(tmp_path, 12)
