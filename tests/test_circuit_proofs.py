# amaranth: UnusedElaboratable=no
"""Proofs that circuit boxes keep and release paths as they should, and that initiators play by the
rules of the link."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from claims import Claims, any_bits, needs_yosys
from long_runs import long
from multicube.hdl.boxes.circuit import CircuitBox
from multicube.hdl.boxes.circuit_copies import CircuitDistributor, CircuitMerger
from multicube.hdl.families.multistage.circuit_network import CircuitNetwork
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.routing_tags import TagEncoder
from multicube.hdl.terminals.circuit_parity import CircuitParityChecker
from multicube.hdl.terminals.circuit_terminals import CircuitInitiator, CircuitResponder
from multicube.hdl.terminals.parity import ParityGenerator
from proof_table import proves

__all__ = ["any_bits"]

pytestmark = needs_yosys

LIMIT = 3


class Watched:
    """A box with free requests, made to tell which input is connected to which output.

    Each input sends its own number, and each output replies its own, so both directions say it:
    `seen_there[j][i]` at output j, `seen_here[i][j]` at input i.
    """

    def __init__(
        self, claims: Any, radix: int, policy: str, component: type[CircuitBox] = CircuitBox
    ) -> None:
        bits = (radix - 1).bit_length()
        self.ports = range(radix)
        self.dut = component(Packet(bits, bits), bits, radix=radix, policy=policy, hold_limit=LIMIT)
        m = claims.m
        m.submodules.box = self.dut
        self.requests = claims.free(radix, "requests")
        self.targets = [claims.free(bits, f"target_{i}") for i in self.ports]
        for i, port in enumerate(self.dut.i):
            m.d.comb += [
                port.request.eq(self.requests[i]),
                port.payload.tag.eq(self.targets[i]),
                port.payload.payload.eq(i),
            ]
        for j, port in enumerate(self.dut.o):
            m.d.comb += [port.reply.valid.eq(1), port.reply.payload.eq(j)]
        self.seen_there = [
            [self.dut.held[j] & (port.payload.payload == i) for i in self.ports]
            for j, port in enumerate(self.dut.o)
        ]
        self.seen_here = [
            [port.reply.valid & (port.reply.payload == j) for j in self.ports]
            for port in self.dut.i
        ]
        self.seeks = [self.requests[i] & ~self.dut.i[i].reply.valid for i in self.ports]
        self.lets_go = [~port.request for port in self.dut.o]


def paths_kept_and_released(
    radix: int, policy: str, component: type[CircuitBox] = CircuitBox
) -> Any:
    claims = Claims()
    box = Watched(claims, radix, policy, component)
    for i in box.ports:
        before = claims.past(Cat(box.seen_here[i]))
        requested = claims.past(box.requests[i])
        sought = claims.past(box.seeks[i])
        target = claims.past(box.targets[i])
        for j in box.ports:
            connected = box.seen_here[i][j]
            freed = claims.past(box.lets_go[j])
            # Both ends agree, so an output has one owner, and an input one output.
            claims.claim(connected == box.seen_there[j][i])
            claims.claim(~connected | (box.dut.o[j].request == box.requests[i]))
            # A path stays as long as it is requested, and no longer.
            claims.claim(~claims.began | ~(before[j] & requested) | connected)
            claims.claim(~claims.began | requested | ~connected)
            # It begins where the tag says, where no other is.
            claims.claim(~claims.began | ~connected | before[j] | (sought & (target == j) & freed))
    for j in box.ports:
        wanted = Cat(box.seeks[i] & (box.targets[i] == j) for i in box.ports).any()
        idle = claims.past(wanted & box.lets_go[j])
        claims.claim(~claims.began | ~idle | box.dut.held[j])
        claims.claim(box.dut.held[j] | box.lets_go[j])
    if policy == "hold":
        claims.claim(~box.dut.dropped.any())
    return claims


@pytest.mark.long
@proves(
    CircuitBox,
    says="Both ends of a path agree on it, so an output belongs to one input at most, and an "
    "input to one output. A path begins at the output that the tag names, as soon as that is "
    "free. It lasts as long as it is requested, and no longer.",
    sizes="radix 2 with every policy; radix 3 and 4",
)
@pytest.mark.parametrize(
    ("radix", "policy"),
    [(2, "hold"), long(2, "drop"), long(2, "modified-hold"), (3, "drop"), long(4, "modified-hold")],
)
def test_circuit_box_keeps_and_releases_paths(tmp_path: Path, radix: int, policy: str) -> None:
    claims = paths_kept_and_released(radix, policy)
    assert claims.hold(tmp_path)


class Leaks(CircuitBox):
    """Does not see the release of both paths at once."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.held.all() & ~Cat(port.request for port in self.i).any()):
            m.d.sync += self.held.eq(self.held)
        return m


class CutsOff(CircuitBox):
    """Releases a path that is still requested."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.held.all() & (self.i[0].payload.tag == self.i[1].payload.tag)):
            m.d.sync += self.held.eq(1)
        return m


class Forgets(CircuitBox):
    """Takes no path while the other output is released."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.held[0] & ~self.o[0].request):
            m.d.sync += self.held.eq(0)
        return m


@pytest.mark.long
@pytest.mark.parametrize("component", [Leaks, CutsOff, Forgets])
def test_proofs_find_a_wrong_box(tmp_path: Path, component: type[CircuitBox]) -> None:
    assert not paths_kept_and_released(2, "hold", component).hold(tmp_path)


@pytest.mark.long
@proves(
    CircuitBox,
    says="A request is connected in the next cycle, or waits, or is rejected. It is rejected "
    "after exactly as many refusals as the policy says.",
    sizes="radix 2, policies `drop` and `modified-hold`",
)
@pytest.mark.parametrize(("policy", "limit"), [("drop", 0), ("modified-hold", LIMIT)])
def test_circuit_box_rejects_when_its_policy_says(tmp_path: Path, policy: str, limit: int) -> None:
    """A request is connected in the next cycle, or it has been refused exactly as often
    as it may be and is rejected, or it waits."""
    claims = Claims()
    box = Watched(claims, 2, policy)
    for i in box.ports:
        waits = Signal(4, name=f"waits_{i}")
        rejected = box.dut.i[i].reject
        claims.claim(rejected == box.dut.dropped[i])
        claims.claim(~rejected | box.seeks[i])
        sought, was_rejected = claims.past(box.seeks[i]), claims.past(rejected)
        connected = box.dut.i[i].reply.valid
        claims.claim(~claims.began | ~was_rejected | ~connected)
        # Cycles in which it was refused, and not rejected, in a row.
        refused = claims.began & sought & ~was_rejected & ~connected
        claims.m.d.comb += waits.eq(Mux(refused, claims.past(waits) + 1, 0))
        claims.claim(waits <= limit)
        claims.claim(~rejected | (waits == limit))
    assert claims.hold(tmp_path)


@pytest.mark.long
@proves(
    CircuitBox,
    says="The box is fair: a request that stays sees at most radix - 1 other circuits begin at "
    "its output.",
    sizes="radix 2 and 3, policy `hold`",
)
@pytest.mark.parametrize("radix", [2, long(3)])
def test_circuit_box_is_fair(tmp_path: Path, radix: int) -> None:
    claims = Claims()
    box = Watched(claims, radix, "hold")
    who, where = claims.symbol(2, "who"), claims.symbol(2, "where")
    claims.assume((who < radix) & (where < radix))
    waits = Signal(4)
    others = Signal()
    for i in box.ports:
        with claims.m.If(who == i):
            claims.assume(~box.seeks[i] | (box.targets[i] == where))
            for j in box.ports:
                begins = claims.past(box.lets_go[j]) & box.dut.held[j]
                with claims.m.If(where == j):
                    claims.m.d.comb += others.eq(begins & claims.past(box.seeks[i]))
            with claims.m.If(~box.seeks[i]):
                claims.m.d.sync += waits.eq(0)
            with claims.m.Elif(others & (waits < 15)):
                claims.m.d.sync += waits.eq(waits + 1)
            claims.claim(~box.seeks[i] | (waits + others <= radix - 1))
    assert claims.hold(tmp_path)


@pytest.mark.long
@proves(
    CircuitBox,
    says="Whatever state the network begins in, no box holds a path that nobody requests.",
    sizes="a network of 8 terminals, policy `modified-hold`",
)
def test_circuit_network_holds_nothing_that_nobody_requests(tmp_path: Path) -> None:
    """Inductive, for all twelve boxes of a network of eight terminals, whatever was before."""
    claims = Claims()
    dut = CircuitNetwork(8, payload=1, policy="modified-hold")
    claims.m.submodules.dut = dut.elaborate(None)
    requests = claims.free(8, "requests")
    for i, port in enumerate(dut.i):
        claims.m.d.comb += [
            port.request.eq(requests[i]),
            port.payload.tag.eq(claims.free(3, f"tag_{i}")),
        ]
    boxes = [dut.instances[name] for name in dut.fabric.cells]
    assert len(boxes) == 12
    held = Cat(box.held for box in boxes)
    claims.claim(~claims.began | claims.past(requests.any()) | ~held.any())
    assert claims.hold(tmp_path, 3, inductive=True)


@pytest.mark.one_in(2)
@proves(
    CircuitInitiator,
    says="The header does not change until it is answered. Words are sent only on a circuit. A "
    "circuit lasts until the last word has crossed, and as long as `keep` says.",
    sizes="delay 0 and 4, whatever the network does",
)
@pytest.mark.parametrize("delay", [0, 4])
def test_circuit_initiator_keeps_the_rules_of_the_link(tmp_path: Path, delay: int) -> None:
    """Its terminal keeps the stream rule; the network does what it likes."""
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = CircuitInitiator(Packet(1, 1, flits=True), 1, delay=delay)
    link = dut.o
    valid, word = claims.free(1, "valid"), claims.free(3, "word")
    m.d.comb += [
        dut.i.valid.eq(valid),
        Value.cast(dut.i.payload).eq(word),
        dut.seed.eq(1),
        dut.keep.eq(claims.free(1, "keep")),
        link.ready.eq(claims.free(1, "ready")),
        link.grant.eq(claims.free(1, "grant")),
        link.reject.eq(claims.free(1, "reject")),
    ]
    claims.assume(~(link.grant & link.reject))
    held = claims.past(valid & ~dut.i.ready)
    claims.assume(~claims.began | ~held | (valid & (word == claims.past(word))))

    tail = dut.i.payload.last & link.valid & link.ready
    seeking, up = Signal(), Signal()  # a request without a grant yet; a circuit
    m.d.comb += seeking.eq(link.request & ~up)
    m.d.sync += up.eq(link.request & (up | link.grant))
    # The header stands still until the answer comes, and it is not sent before.
    claims.claim(~seeking | ~link.valid)
    waiting = claims.past(seeking & ~link.grant & ~link.reject)
    shown = claims.past(Value.cast(link.payload))
    claims.claim(~waiting | (link.request & (Value.cast(link.payload) == shown)))
    claims.claim(~claims.past(seeking & link.reject) | ~link.request)
    # A circuit lasts until the last word has crossed, and then for as long as `keep` says.
    claims.claim(~link.valid | up)
    sent = Signal()
    m.d.sync += sent.eq(link.request & (sent | tail))
    claims.claim(~up | (link.request == (~sent | claims.past(dut.keep))))
    assert claims.hold(tmp_path)


def merged(policy: str, kind: type[CircuitMerger] = CircuitMerger) -> Claims:
    """Each copy sends its own number, so the terminal sees whose circuit it has."""
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = kind(Packet(1, 1), 2, policy=policy, hold_limit=LIMIT)
    link = dut.o
    requests, valid = claims.free(2, "requests"), claims.free(2, "valid")
    grant, refuse, ready = (claims.free(1, name) for name in ("grant", "refuse", "ready"))
    m.d.comb += [link.grant.eq(grant), link.reject.eq(refuse), link.ready.eq(ready)]
    claims.claim(claims.past(link.request) | (link.request == requests.any()))
    for c, port in enumerate(dut.i):
        m.d.comb += [
            port.request.eq(requests[c]),
            port.valid.eq(valid[c]),
            port.payload.payload.eq(c),
        ]
        has = link.request & (link.payload.payload == c)
        had = claims.past(has)
        # It keeps the terminal until it releases it; then no request is seen for a cycle.
        claims.claim(~(had & requests[c]) | has)
        claims.claim(~(had & ~requests[c]) | ~link.request)
        claims.claim(~has | (requests[c] & (link.valid == valid[c])))
        told, right = Cat(port.grant, port.ready, port.reject), Cat(grant, ready, refuse)
        claims.claim(~requests[c] | (told == Mux(has, right, dut.dropped[c] << 2)))
        claims.claim(~dut.dropped[c] | (requests[c] & ~has))
        if policy == "hold":
            claims.claim(~dut.dropped[c])
        elif policy == "drop":
            claims.claim(dut.dropped[c] == (requests[c] & ~has))
    # A request that holds is next but one, at most.
    who, waits = claims.symbol(1, "who"), Signal(2)
    mine = requests.bit_select(who, 1)
    begins = link.request & ~claims.past(link.request) & (link.payload.payload != who)
    has_mine = link.request & (link.payload.payload == who)
    with m.If(~mine | has_mine):
        m.d.sync += waits.eq(0)
    with m.Elif(begins & ~waits.all()):
        m.d.sync += waits.eq(waits + 1)
    claims.claim(waits <= 1)
    return claims


@pytest.mark.long
@proves(
    CircuitMerger,
    says="The terminal has one circuit at a time, which lasts as long as it is requested. In the "
    "cycle after it, the terminal sees no request. All other requests wait or are rejected, as "
    "the policy says. The merger is fair: a request that stays sees at most one other circuit "
    "begin.",
    sizes="2 copies of the network, policies `hold` and `drop`",
)
@pytest.mark.parametrize("policy", ["hold", "drop"])
def test_circuit_merger_serves_one_copy_at_a_time(tmp_path: Path, policy: str) -> None:
    assert merged(policy).hold(tmp_path)


class Interrupts(CircuitMerger):
    """Lets the first copy in while the second one has the terminal."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.i[0].request & self.i[1].request):
            m.d.comb += self.o.payload.eq(self.i[0].payload)
        return m


def test_proofs_find_a_circuit_that_is_interrupted(tmp_path: Path) -> None:
    assert not merged("hold", Interrupts).hold(tmp_path)


@proves(
    CircuitDistributor,
    says="A request goes to one copy of the network, and to the same one as long as it stays. The "
    "wires of both directions pass unchanged. All this is so whatever the random bits are.",
    sizes="2 and 3 copies",
)
@pytest.mark.parametrize("copies", [2, long(3)])
def test_circuit_distributor_keeps_its_choice(
    tmp_path: Path, any_bits: Claims, copies: int
) -> None:
    m = any_bits.m
    m.submodules.dut = dut = CircuitDistributor(Packet(1, 1), copies)
    request, valid, word = (any_bits.free(n, x) for n, x in ((1, "request"), (1, "v"), (2, "word")))
    m.d.comb += [dut.i.request.eq(request), dut.i.valid.eq(valid), dut.i.payload.eq(word)]
    back = []
    for c, port in enumerate(dut.o):
        ready, grant, reject = (any_bits.free(1, f"{x}_{c}") for x in ("ready", "grant", "reject"))
        m.d.comb += [port.ready.eq(ready), port.grant.eq(grant), port.reject.eq(reject)]
        back.append(Cat(ready, grant, reject))
        kept = any_bits.past(request & port.request)
        any_bits.claim(~(kept & request) | port.request)
        shown = Cat(dut.i.ready, dut.i.grant, dut.i.reject)
        any_bits.claim(~port.request | ((shown == back[c]) & (port.valid == valid)))
        any_bits.claim(~port.request | (Value.cast(port.payload) == word))
    any_bits.claim(sum((port.request for port in dut.o), start=0) == request)
    assert any_bits.hold(tmp_path)


@pytest.mark.one_in(2)
@proves(
    CircuitResponder,
    says="A circuit is accepted if and only if its tag is the terminal's address, and is kept as "
    "long as it is requested. Words and replies pass unchanged on a circuit, and at no other "
    "time. `connected` is 0 between two circuits.",
    sizes="4 terminals, destination and XOR tags, replies of 1 bit",
)
@pytest.mark.parametrize("routing", ["destination", "xor"])
def test_circuit_responder_accepts_what_is_its_own(tmp_path: Path, routing: Any) -> None:
    claims = Claims()
    m = claims.m
    tags = multistage_plan("omega", 4).tags(routing)
    m.submodules.dut = dut = CircuitResponder(Packet(2, 1), 1, tags=tags)
    m.submodules.encoder = encoder = TagEncoder(tags)
    link = dut.i
    here, request, word = (
        claims.symbol(2, "here"),
        claims.free(1, "request"),
        claims.free(3, "word"),
    )
    valid, ready, offered, taken = (claims.free(1, x) for x in ("valid", "ready", "offer", "taken"))
    answer = claims.free(1, "answer")
    m.d.comb += [
        dut.address.eq(here),
        encoder.destination.eq(here),
        link.request.eq(request),
        link.payload.eq(word),
        link.valid.eq(valid),
        dut.o.ready.eq(ready),
        dut.reply.valid.eq(offered),
        dut.reply.payload.eq(answer),
        link.reply.ready.eq(taken),
    ]
    own = (word[:2] == encoder.tag) if routing == "destination" else 1
    had = claims.past(link.grant)
    claims.claim(link.grant == (request & (had | own)))
    claims.claim(link.reject == (request & ~link.grant))
    claims.claim(dut.misdelivered == link.reject)
    claims.claim(dut.connected == (had & request))
    claims.claim((dut.o.valid == (valid & dut.connected)) & (link.ready == (ready & dut.connected)))
    claims.claim(Value.cast(dut.o.payload) == word)
    claims.claim(link.reply.valid == (offered & dut.connected))
    claims.claim(dut.reply.ready == (taken & dut.connected))
    claims.claim(link.reply.payload == answer)
    assert claims.hold(tmp_path)


def checked(kind: type[CircuitParityChecker] = CircuitParityChecker) -> Claims:
    """Circuits with one packet each; one wrong bit, if any, and one packet that is followed.

    All words of a packet have its number. What leaves is words of whole packets without a wrong
    bit, in order and without gaps in the numbers but for those that are reported.
    """
    claims = Claims()
    m = claims.m
    length = 2
    packet = Packet(1, 3, flits=True)  # the payload: header, mark
    m.submodules.generator = generator = ParityGenerator(packet)
    m.submodules.dut = dut = kind(packet, length=length)
    valid, ready, wrong = claims.free(1, "valid"), claims.free(1, "ready"), claims.free(1, "wrong")
    goes_on, mark = claims.free(1, "goes_on"), claims.free(1, "mark")
    last = claims.free(1, "last")
    # A circuit lasts until its last word has crossed; then there is none for a cycle.
    up, begun, ended = Signal(), Signal(), Signal()
    m.d.sync += up.eq(Mux(up, ~ended, goes_on))
    crosses = up & valid & dut.i.ready
    with m.If(crosses):
        m.d.sync += [begun.eq(~last & ~begun)]
    m.d.comb += ended.eq(crosses & (last | begun))
    sent = Value.cast(generator.o.payload)
    m.d.comb += [
        generator.i.payload.last.eq(last | begun),
        generator.i.payload.payload.eq(Cat(~begun, mark)),
        Value.cast(dut.i.payload).eq(sent ^ wrong),  # the lowest bit, of the tag
        dut.i.valid.eq(up & valid),
        dut.connected.eq(up),
        dut.o.ready.eq(ready),
    ]
    # One packet, or none, has the mark, in all its words.
    marked, used, spoilt = Signal(), Signal(), Signal()
    claims.assume(~(up & valid & begun) | (mark == marked))
    claims.assume(~(up & valid & ~begun & mark & used))
    with m.If(crosses & ~begun):
        m.d.sync += [marked.eq(mark), used.eq(used | mark)]
    bad = Signal()
    with m.If(crosses):
        m.d.sync += bad.eq(Mux(begun, bad | wrong, wrong))
    with m.If(crosses & mark):
        m.d.sync += spoilt.eq(spoilt | wrong)
    claims.claim(~(dut.o.valid & dut.o.payload.payload[1]) | (used & ~spoilt))
    inside = Signal()
    shown = dut.o.payload
    with m.If(dut.o.valid & ready):
        m.d.sync += inside.eq(~shown.last)
    claims.claim(~dut.o.valid | (shown.payload[0] == ~inside))
    held = claims.past(dut.o.valid & ~ready)
    payload = Value.cast(shown)
    claims.claim(~held | (dut.o.valid & (payload == claims.past(payload))))
    # It is reported once, in the cycle after the circuit, if and only if a word was wrong.
    over = claims.past(up) & ~up
    claims.claim(dut.corrupted == (over & bad))
    # As many words leave as good packets had, within so many cycles.
    good, words = Signal(range(2 * length + 1)), Signal(range(length + 1))
    whole = ended & ~wrong & ~(begun & bad)
    m.d.comb += words.eq(Mux(begun, 2, 1))
    m.d.sync += good.eq(good + Mux(whole, words, 0) - (dut.o.valid & ready))
    claims.claim(dut.o.valid == (good != 0))
    return claims


@pytest.mark.long
@proves(
    CircuitParityChecker,
    says="If all words of a packet have the right parity, all of them leave, in order, each once. "
    "If not, none of them leaves, and the packet is reported once, when its circuit is released. "
    "The stream rule holds.",
    sizes="packets of 1 or 2 words, one per circuit; one parity bit; any number of wrong words",
)
def test_circuit_parity_checker_passes_sound_packets(tmp_path: Path) -> None:
    assert checked().hold(tmp_path)


@pytest.mark.long
def test_proofs_find_a_wrong_word_that_is_not_reported(tmp_path: Path) -> None:
    class Silent(CircuitParityChecker):
        """Reports nothing while words wait to leave."""

        def elaborate(self, platform: object) -> Module:
            m = super().elaborate(platform)
            with m.If(self.o.valid):
                m.d.comb += self.corrupted.eq(0)
            return m

    assert not checked(Silent).hold(tmp_path)
