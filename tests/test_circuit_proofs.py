# amaranth: UnusedElaboratable=no
"""Proofs that circuit boxes keep and release paths as they should, and that initiators play by the
rules of the link."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from claims import Claims, needs_yosys
from multicube.hdl.boxes.circuit import CircuitBox
from multicube.hdl.boxes.circuit_terminals import CircuitInitiator
from multicube.hdl.networks.multistage.circuit import CircuitNetwork
from multicube.hdl.primitives.packet import Packet

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


@pytest.mark.parametrize(
    ("radix", "policy"),
    [(2, "hold"), (2, "drop"), (2, "modified-hold"), (3, "drop"), (4, "modified-hold")],
)
def test_circuit_box_keeps_and_releases_paths(tmp_path: Path, radix: int, policy: str) -> None:
    """Inductive but for 3, as the proofs of its arbiter: what is owned is what is requested."""
    claims = paths_kept_and_released(radix, policy)
    assert claims.hold(tmp_path, 6, inductive=radix != 3)


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


@pytest.mark.parametrize("component", [Leaks, CutsOff, Forgets])
def test_proofs_find_a_wrong_box(tmp_path: Path, component: type[CircuitBox]) -> None:
    assert not paths_kept_and_released(2, "hold", component).hold(tmp_path, 6)


@pytest.mark.parametrize(("policy", "limit"), [("drop", 0), ("modified-hold", LIMIT)])
def test_circuit_box_rejects_when_its_policy_says(tmp_path: Path, policy: str, limit: int) -> None:
    """Inductive: a request is connected in the next cycle, or it has been refused exactly as often
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
    assert claims.hold(tmp_path, 10, inductive=True)


@pytest.mark.parametrize("radix", [2, 3])
def test_circuit_box_is_fair(tmp_path: Path, radix: int) -> None:
    """Bounded: a request that holds sees at most radix - 1 other circuits begin at its output."""
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
    assert claims.hold(tmp_path, 4 * radix + 2)


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


@pytest.mark.parametrize("delay", [0, 4])
def test_circuit_initiator_keeps_the_rules_of_the_link(tmp_path: Path, delay: int) -> None:
    """Bounded. Its terminal keeps the stream rule; the network does what it likes."""
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
    assert claims.hold(tmp_path, 16)
