# amaranth: UnusedElaboratable=no
"""Proofs of the rules of AXI4 and Wishbone, for ever, whatever managers and memory do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value
from amaranth.lib import data
from claims import Claims, Rows, needs_yosys
from long_runs import long
from multicube.hdl import build
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.links.packet import Packet
from multicube.hdl.operations.bus_operations import bus_operations, row_bits
from multicube.hdl.terminals import ordered_requests
from multicube.hdl.terminals.axi import AxiTarget
from multicube.hdl.terminals.bus_words import WordMap
from multicube.hdl.terminals.ordered_requests import RequestsByIdentity
from multicube.hdl.terminals.remote_memory import (
    RemoteProcessorEnd,
    copied_link,
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


@pytest.mark.long
@proves(
    AxiTarget,
    says="The target keeps the rules of AXI4 for a subordinate, with `reorder`, too. `bvalid` and "
    "`rvalid` stay high, with all that belongs to them unchanged, until they are taken. They are "
    "raised only for bursts that were accepted and are not yet answered. No response is EXOKAY. A "
    "request to memory stays until it is taken, and has an identity that is free.",
    sizes="words of one byte, two requests each way, bursts of up to 256 beats of every kind, "
    "without and with masks",
)
@pytest.mark.parametrize("option", ["plain", long("reorder"), long("mask")])
def test_rules_of_axi(tmp_path: Path, option: str) -> None:
    claims = Claims()
    mask = int(option == "mask")
    words = replace(WORDS, columns=(1, 2), tag=2) if mask else WORDS
    link = copied_link(LINK, Packet(1, 1, broadcast=True)) if mask else LINK
    target = AxiTarget(link, words=words, data=8, ids=1, user=mask, reorder=option == "reorder")
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


@pytest.mark.one_in(2)
@proves(
    RequestsByIdentity,
    says="Of two requests of an identity with no other of it between them, the later one is not "
    "answered before the earlier one. A request is answered once, after its reply, and with its "
    "value. After an answer that is not the last of a burst the next is of the same burst. If all "
    "replies and the whole of each burst have come, an answer is shown two cycles later.",
    sizes="two identities, two and four places, bursts of any length",
)
@pytest.mark.parametrize("bits", [1, 2])
def test_order_of_requests_by_identity(
    tmp_path: Path, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By induction, with claims about the registers."""
    monkeypatch.setattr(ordered_requests, "Memory", Rows)
    claims = Claims()
    m, free = claims.m, claims.free
    link = MemoryLink(tag=1, identity=bits, address=1, width=1)
    note = data.StructLayout({"id": 1, "last": 1, "earlier": 1, "later": 1})
    window = RequestsByIdentity(link, words=WORDS, note=note)
    inside = claims.inside("window", window)
    asks, answers, request, reply = window.asks, window.answers, window.o.request, window.o.reply
    ask, answer, place = asks.payload, answers.payload, request.payload.identity
    accepted, taken = asks.valid & asks.ready, answers.valid & answers.ready
    places = range(1 << bits)
    waited = Signal(len(places))  # for replies
    comes = free(1, "comes") & waited.bit_select(reply.payload.identity, 1)
    # Any one request, and the next one of its identity.
    traced, marked, followed, done = claims.symbol(1, "traced"), Signal(), Signal(), Signal()
    of_it = ask.note.id == traced
    m.d.comb += [
        asks.valid.eq(free(1, "asks")),
        ask.skip.eq(free(1, "skip")),
        ask.note.last.eq(free(1, "last")),
        ask.note.id.eq(free(1, "id")),
        ask.note.earlier.eq(of_it & ~marked & free(1, "mark")),
        ask.note.later.eq(of_it & marked & ~followed),
        answers.ready.eq(free(1, "taken")),
        request.ready.eq(free(1, "sent")),
        reply.valid.eq(comes),
        reply.payload.eq(free(len(reply.payload.as_value()), "reply")),
    ]
    m.d.sync += [
        waited.eq(
            waited & ~(comes << reply.payload.identity) | ((request.valid & request.ready) << place)
        ),
        marked.eq(marked | (accepted & ask.note.earlier)),
        followed.eq(followed | (accepted & ask.note.later)),
        done.eq(done | (taken & answer.note.earlier)),
    ]
    skipped, replied, value, at = Signal(), Signal(), Signal(), Signal(bits)
    with m.If(accepted & ask.note.earlier):
        m.d.sync += [skipped.eq(ask.skip), at.eq(place)]
    held = marked & ~done
    with m.If(held & ~replied & comes & (reply.payload.identity == at)):
        m.d.sync += [replied.eq(1), value.eq(reply.payload.value)]
    # Bursts that come whole leave whole.
    coming, leaving = (Signal(data.StructLayout({"more": 1, "id": 1})) for _ in range(2))
    claims.assume(~coming.more | (ask.note.id == coming.id))
    with m.If(accepted):
        m.d.sync += [coming.more.eq(~ask.note.last), coming.id.eq(ask.note.id)]
    with m.If(taken):
        m.d.sync += [leaving.more.eq(~answer.note.last), leaving.id.eq(answer.note.id)]
    shown = answers.valid
    claims.claim(~(shown & answer.note.later) | done)
    claims.claim(~(shown & answer.note.earlier) | held)
    claims.claim(~(shown & answer.note.earlier & ~skipped) | (replied & (answer.value == value)))
    claims.claim(~(shown & leaving.more) | (answer.note.id == leaving.id))

    # What holds between the registers.
    reserved = inside["has_place"] << inside["place"]
    newest, blocked, begins = inside["newest"], inside["blocked"], inside["begins"]
    live, answered = inside["used"] & ~reserved, inside["answered"]
    claims.claim((reserved & ~inside["used"]) == 0)
    claims.claim(answered ^ waited == live)
    claims.claim((answered & waited) == 0)
    claims.claim(((newest | blocked) & ~live) == 0)
    claims.claim(inside["inside"] == coming.more)
    claims.claim(inside["half_shown"] == leaving.more)
    showing = inside["shown"] << inside["first"]
    claims.claim(inside["showing"] == showing)
    claims.claim((showing & ~(answered & ~blocked)) == 0)
    claims.claim(~inside["shown"] | ((begins & showing).any() ^ leaving.more))
    head = inside["next_head"]
    claims.claim((head & ~(answered & ~blocked & begins & ~showing)) == 0)
    claims.claim((head & (head - 1)) == 0)
    notes = [data.View(note, inside[f"notes.row_{each}"]) for each in places]
    lasts = Array(each.last for each in notes)
    values = Array(inside[f"values.row_{each}"] for each in places)
    claims.claim(~held | (live.bit_select(at, 1) & (Array(n.id for n in notes)[at] == traced)))
    claims.claim(~held | followed | newest.bit_select(at, 1))
    claims.claim(~(held & skipped) | (answered.bit_select(at, 1) & ~replied))
    claims.claim(~(held & ~skipped) | Mux(replied, answered, waited).bit_select(at, 1))
    claims.claim(~(held & replied) | (values[at] == value))
    claims.claim(marked | ~(followed | done | replied))
    ends = coming.more & ~Cat(newest[e] & (notes[e].id == coming.id) for e in places).any()
    claims.claim(~ends | (leaving.more & (leaving.id == coming.id)))
    # Of each two places: whether the request of the first is older.
    older = [Signal(len(places), name=f"older_than_{e}") for e in places]
    for e in places:
        with m.If(accepted):
            m.d.sync += older[e].eq(Mux(place == e, live, older[e] & ~(1 << place)))
    opened = live & ~begins & ~blocked
    claims.claim((opened & (opened - 1)) == 0)
    none = ~Cat(newest[e] & (notes[e].id == leaving.id) for e in places).any()
    cut = coming.more & (coming.id == leaving.id) & none
    claims.claim(~leaving.more | opened.any() | cut)
    # There is always one to be shown, if all replies have come.
    due = live.any() & ~waited.any() & ~coming.more & ~shown
    claims.claim(shown | head.any() | ~claims.past(due))
    claims.claim(shown | ~claims.past(due & claims.past(due)))
    for e in places:
        mine, before = notes[e], inside[f"before_{e}"]
        follows = live[e] & blocked[e]
        known = [
            inside[f"id_{e}"] == mine.id,
            mine.earlier == (held & (at == e)),
            ~mine.later | (followed & (done | (blocked[e] & (before == at)))),
            Cat(newest[f] & (notes[f].id == mine.id) for f in places).any(),
            newest[e] | Cat(blocked[f] & (inside[f"before_{f}"] == e) for f in places).any(),
            ~opened[e] | (leaving.more & (leaving.id == mine.id)),
            ~(newest[e] & ~mine.last) | (coming.more & (coming.id == mine.id)),
            ~(newest[e] & mine.last) | ~coming.more | (coming.id != mine.id),
        ]
        claims.claim(~live[e] | Cat(known).all())
        of_before = [
            live.bit_select(before, 1),
            ~newest.bit_select(before, 1),
            Array(n.id for n in notes)[before] == mine.id,
            lasts[before] == begins[e],
            older[e].bit_select(before, 1),
        ]
        claims.claim(~follows | Cat(of_before).all())
        claims.claim(~(live[e] & older[e][e]))
        for f in places:
            if f == e:
                continue
            both, same = live[e] & live[f], mine.id == notes[f].id
            between = older[e][f] & (before != f) & ~Array(older)[before][f]
            claims.claim(~both | (older[e][f] ^ older[f][e]))
            claims.claim(~(both & same & newest[e]) | older[e][f])
            claims.claim(~(both & same & ~blocked[e]) | older[f][e])
            claims.claim(~(both & same & blocked[e] & between))
            for g in places:
                claims.claim(~(both & live[g] & older[e][f] & older[f][g]) | older[e][g])
    assert claims.hold(tmp_path, inductive=True)


@proves(
    RemoteProcessorEnd,
    says="A request with a mask or for a group is answered exactly once, with the last of as many "
    "replies as it has modules; the others are swallowed.",
    sizes="eight modules, two requests, with masks and with groups",
)
@pytest.mark.parametrize("given", ["cube ports=8 broadcast=1", "hypercube n=3 group_entries=8"])
def test_a_request_for_several_modules_has_one_answer(tmp_path: Path, given: str) -> None:
    """Replies are counted from when their request is offered: all but the last may come before it
    is taken."""
    claims = Claims()
    network = build(given)
    link = MemoryLink(tag=3, identity=1, address=1, width=1)
    sent, received = map(network.packet_of, (request_payload(link), reply_payload(link)))
    end = RemoteProcessorEnd(link, sent, received, network.tags, queued=False, copies=True)
    claims.m.submodules.end = end
    request, reply, back = end.i.request, end.i.reply, end.back
    shown, arriving = Value.cast(request.payload), Value.cast(back.payload)
    kept, stays, begun = Signal(len(shown)), Signal(), Signal()
    left = Array(Signal(4, name=f"left_of_{each}") for each in range(2))
    asking, answering = request.payload.identity, back.payload.payload.identity
    is_back = back.valid & back.ready
    ends = reply.valid & reply.ready
    mask = request.payload.tag[3:6]
    claims.m.d.sync += [
        kept.eq(shown),
        stays.eq(request.valid & ~request.ready),
        begun.eq(end.o.valid & ~end.o.ready),
    ]
    claims.m.d.comb += [
        shown.eq(Mux(stays, kept, claims.free(len(shown), "request"))),
        arriving.eq(claims.free(len(arriving), "back")),
        request.valid.eq(stays | (claims.free(1, "offered") & (left[asking] == 0))),
        end.o.ready.eq(claims.free(1, "taken")),
        reply.ready.eq(claims.free(1, "wanted")),
        back.valid.eq(
            claims.free(1, "comes") & (left[answering] > (begun & (answering == asking)))
        ),
    ]
    named = sum((module & ~mask) == 0 for module in (Const(n, 3) for n in range(8)))
    if network.groups:
        named = mask + 1
    with claims.m.If(end.o.valid & ~begun):
        claims.m.d.sync += left[asking].eq(named)
    with claims.m.If(is_back):
        claims.m.d.sync += left[answering].eq(left[answering] - 1)
    claims.claim(ends == (is_back & (left[answering] == 1)))
    claims.claim(~ends | (reply.payload.identity == answering))
    claims.claim(~ends | (reply.payload.value == back.payload.payload.value))
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


@pytest.mark.long
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
