# amaranth: UnusedElaboratable=no
"""Proofs of the boxes of multistage networks: what is common to all, and the unbuffered ones.

What only flits have is in `test_wormhole_proofs.py`, circuits in `test_circuit_proofs.py`, and
combining in `test_combining_induction.py`.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Value
from claims import Claims, FickleArbiter, any_bits, needs_yosys
from conveyance import WITNESS, convey
from long_runs import long
from multicube.hdl.boxes import InputQueuedSwitch, OutputQueuedSwitch
from multicube.hdl.boxes.pipelined_switches import PipelinedFlitSwitch, PipelinedSwitch
from multicube.hdl.boxes.unbuffered import UnbufferedSwitch
from multicube.hdl.boxes.wormhole import CutThroughSwitch, WormholeSwitch
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.interchange_box import InterchangeBox
from multicube.hdl.primitives.multiplexer import (
    CodedMultiplexer,
    QuickMultiplexer,
    TreeMultiplexer,
    select_code,
    tree_code,
)
from multicube.hdl.primitives.request_queue import RequestQueue
from multicube.hdl.switch import held
from proof_table import proves

__all__ = ["any_bits"]

pytestmark = needs_yosys


@proves(
    InterchangeBox,
    says="Each output shows the word of the input that it selects. An idle output shows zero.",
    sizes="2 x 2 boxes set by their state, boxes of 2 x 3, 3 x 3 and 4 x 4; words of 2 bits",
)
@pytest.mark.parametrize(("radix", "outputs"), [long(2, 2), (3, 3), long(2, 3), long(4, 4)])
def test_interchange_box_shows_what_is_selected(tmp_path: Path, radix: int, outputs: int) -> None:
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = InterchangeBox(radix, 2, outputs)
    given = [claims.free(2, f"given_{i}") for i in range(radix)]
    m.d.comb += [port.eq(value) for port, value in zip(dut.i, given)]
    select = [claims.free((radix - 1).bit_length(), f"select_{j}") for j in range(outputs)]
    enable = claims.free(outputs, "enable")
    dut.set(m, select, enable)
    for j, port in enumerate(dut.o):
        for i in range(radix):
            on = Const(1) if dut.has_state else enable[j]
            claims.claim((select[j] != i) | (port == Mux(on, given[i], 0)))
    assert claims.hold(tmp_path)


def shows_the_selected_word(
    dut: Any, code: Callable[[list[Value]], Iterable[Value]], *, zero: bool = False
) -> Claims:
    """Whether a multiplexer shows the word whose bit is set in what its code is made of; `zero` if
    none is."""
    claims, count = Claims(), len(dut.i)
    m = claims.m
    m.submodules.dut = dut
    given = [claims.free(2, f"given_{i}") for i in range(count)]
    number = claims.free(count.bit_length(), "number")
    selected = [number == i for i in range(count)]
    m.d.comb += [port.eq(value) for port, value in zip(dut.i, given)]
    m.d.comb += dut.code.eq(Cat(code(selected)))
    for bit, word in zip(selected, given):
        claims.claim(~bit | (dut.o == word))
    if zero:
        claims.claim((number < count) | (dut.o == 0))
    return claims


@pytest.mark.one_in(2)
@proves(
    CodedMultiplexer,
    says="The code is made from one bit for each word. The output is the word whose bit was set, "
    "or zero if none was.",
    sizes="4 to 9 words of 2 bits",
)
@pytest.mark.parametrize("count", [long(4), long(5), 6, long(7), long(8), 9])
def test_coded_multiplexer_shows_the_selected_word(tmp_path: Path, count: int) -> None:
    assert shows_the_selected_word(CodedMultiplexer(count, 2), select_code, zero=True).hold(
        tmp_path
    )


@proves(
    QuickMultiplexer,
    says="It shows the word whose bit is 1, and zero if no bit is.",
    sizes="2 to 8 words of 2 bits",
)
@pytest.mark.parametrize("count", [2, *map(long, range(3, 9))])
def test_quick_multiplexer_shows_the_word(tmp_path: Path, count: int) -> None:
    assert shows_the_selected_word(QuickMultiplexer(count, 2), list, zero=True).hold(tmp_path)


@proves(
    TreeMultiplexer,
    says="The code is made from one bit for each word. The output is the word whose bit was set.",
    sizes="4 to 10 words of 2 bits",
)
@pytest.mark.parametrize("count", [long(4), long(5), long(6), long(7), long(8), 9, long(10)])
def test_tree_multiplexer_shows_the_selected_word(tmp_path: Path, count: int) -> None:
    assert shows_the_selected_word(TreeMultiplexer(count, 2), tree_code).hold(tmp_path)


def packet_switch(
    kind: type[Any],
    *,
    depth: int,
    routing: str = "destination",
    drain: int,
    waits: int | None = None,
    bundle: int = 1,
    lanes: int = 1,
    behind: int = 0,
    **more: int,
) -> Claims:
    """The claims of all packet switches; `behind` more packets fit in behind the queues."""
    claims = Claims()
    m = claims.m
    if bundle > 1 or lanes > 1:
        more |= {"dilation_in": bundle, "dilation_out": lanes}
    m.submodules.dut = dut = kind(Packet(1, WITNESS), radix=2, depth=depth, routing=routing, **more)
    goals = []
    for i, port in enumerate(dut.i):
        tag = claims.free(1, f"tag_{i}")
        m.d.comb += port.payload.tag.eq(tag)
        goals.append(tag ^ (i // bundle) if routing == "xor" else tag)
    convey(
        claims,
        dut.i,
        dut.o,
        goals=goals,
        capacity=depth * bundle + (lanes if lanes > 1 else 0) + behind,
        drain=drain,
        waits=waits,
        ordered=bundle == lanes == 1,
        lanes=lanes,
        bundle=bundle,
    )
    return claims


@pytest.mark.long
@proves(
    OutputQueuedSwitch,
    InputQueuedSwitch,
    says="The switch is lossless and in order, and keeps the stream rule. In time: a packet is "
    "inside for at most `depth` cycles with output queues, and 2 `depth` with input queues. It is "
    "accepted after at most `depth` cycles.",
    sizes="2 x 2 switches of depth 1 and 2, with destination and XOR tags",
)
@pytest.mark.parametrize(
    ("kind", "depth", "routing"),
    [
        long(OutputQueuedSwitch, 1, "destination"),
        long(OutputQueuedSwitch, 1, "xor"),
        (OutputQueuedSwitch, 2, "xor"),
        long(OutputQueuedSwitch, 2, "destination"),
        (InputQueuedSwitch, 1, "xor"),
        long(InputQueuedSwitch, 1, "destination"),
        long(InputQueuedSwitch, 2, "destination"),
        long(InputQueuedSwitch, 2, "xor"),
    ],
)
def test_packet_switch_is_lossless_and_in_time(
    tmp_path: Path, kind: type[Any], depth: int, routing: str
) -> None:
    drain = depth if kind is OutputQueuedSwitch else 2 * depth
    claims = packet_switch(kind, depth=depth, routing=routing, drain=drain, waits=depth)
    assert claims.hold(tmp_path)


@pytest.mark.long
@proves(
    OutputQueuedSwitch,
    InputQueuedSwitch,
    says="The dilated switch is lossless and keeps the stream rule. In time: with output queues a "
    "packet is inside for at most 2 cycles. With input queues it is inside for at most 1, or 3 if "
    "the inputs are bundles too.",
    sizes="2 x 2 switches of depth 1 whose outputs are bundles of 2 links, and whose inputs are "
    "single links or such bundles",
)
@pytest.mark.parametrize(
    ("kind", "bundle", "drain"),
    [
        long(OutputQueuedSwitch, 1, 2),
        long(OutputQueuedSwitch, 2, 2),
        (InputQueuedSwitch, 1, 1),
        long(InputQueuedSwitch, 2, 3),
    ],
)
def test_dilated_switch_is_lossless_and_in_time(
    tmp_path: Path, kind: type[Any], bundle: int, drain: int
) -> None:
    claims = packet_switch(kind, depth=1, drain=drain, bundle=bundle, lanes=2)
    assert claims.hold(tmp_path)


@proves(
    PipelinedSwitch,
    RequestQueue,
    says="The switch with a register at each output is lossless and in order, and keeps the "
    "stream rule. In time: a packet is inside for at most 5 cycles, and is accepted after at most "
    "3.",
    sizes="2 x 2 switches of depth 2 with `pipeline` 1, with destination and XOR tags",
)
@pytest.mark.parametrize("routing", [long("destination"), long("xor")])
def test_pipelined_switch_is_lossless_and_in_time(tmp_path: Path, routing: str) -> None:
    claims = packet_switch(
        PipelinedSwitch, depth=2, routing=routing, drain=5, waits=3, behind=1, pipeline=1
    )
    assert claims.hold(tmp_path)


@pytest.mark.long
def test_proofs_find_an_arbiter_that_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "RoundRobin", FickleArbiter)
    assert not packet_switch(InputQueuedSwitch, depth=2, drain=9).hold(tmp_path)


class Loses(OutputQueuedSwitch):
    """Takes a packet that meets another one for the same output, and drops it."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.i[0].valid & self.i[1].valid):
            m.d.comb += self.i[1].ready.eq(1)
        return m


class Misleads(OutputQueuedSwitch):
    """Sends a packet elsewhere if both inputs have the same tag."""

    def _requested(self, m: Module, i: int, header: Any) -> Value:
        same = self.i[0].valid & self.i[1].valid & (self.i[0].payload.tag == self.i[1].payload.tag)
        wanted = super()._requested(m, i, header)
        return Mux(same, Cat(wanted[1], wanted[0]), wanted)


class Damages(InputQueuedSwitch):
    """Inverts a bit of data while both outputs are in use."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.o[0].valid & self.o[1].valid):
            m.d.comb += self.o[1].payload.payload.data.eq(0)
        return m


@pytest.mark.long
@pytest.mark.parametrize("kind", [Loses, long(Misleads), long(Damages)])
def test_proofs_find_a_switch_that_loses_misleads_or_damages(
    tmp_path: Path, kind: type[Any]
) -> None:
    assert not packet_switch(kind, depth=1, drain=9).hold(tmp_path)


@pytest.mark.parametrize("kind", [OutputQueuedSwitch, InputQueuedSwitch])
@pytest.mark.long
def test_proofs_find_that_packets_take_time(tmp_path: Path, kind: type[Any]) -> None:
    drain = 1 if kind is OutputQueuedSwitch else 3
    assert not packet_switch(kind, depth=2, drain=drain).hold(tmp_path)


FLITS = Packet(1, WITNESS, flits=True)
LONGEST = 2

FLIT_SWITCHES: dict[str, tuple[Callable[[], Any], int, int, int]] = {
    "wormhole, depth 1": (lambda: WormholeSwitch(FLITS, radix=2, depth=1), 1, 3, 2),
    "wormhole, depth 2": (lambda: WormholeSwitch(FLITS, radix=2, depth=2), 2, 6, 3),
    "wormhole, output depth 1": (
        lambda: WormholeSwitch(FLITS, radix=2, depth=1, output_depth=1),
        *(2, 4, 3),
    ),
    **{
        name: (
            lambda queues=queues, store=store: CutThroughSwitch(
                FLITS, radix=2, depth=2, length=LONGEST, queues=queues, store=store
            ),
            *(2, 4, 3),
        )
        for name, queues, store in (
            ("cut-through", "input", False),
            ("cut-through, crosspoint queues", "crosspoint", False),
            ("store-and-forward", "input", True),
            ("store-and-forward, crosspoint queues", "crosspoint", True),
        )
    },
}
"""Each kind, with the flits of a flow that fit, and its greatest delay and wait."""


def flit_switch(make: Callable[[], Any], capacity: int, drain: int, waits: int | None) -> Claims:
    claims = Claims()
    claims.m.submodules.dut = dut = make()
    goals = []
    for i, port in enumerate(dut.i):
        goals.append(claims.free(1, f"tag_{i}"))
        claims.m.d.comb += port.payload.tag.eq(goals[i])
    convey(
        claims,
        dut.i,
        dut.o,
        goals=goals,
        capacity=capacity,
        drain=drain,
        waits=waits,
        longest=LONGEST,
    )
    return claims


@pytest.mark.long
@proves(
    WormholeSwitch,
    CutThroughSwitch,
    says="The switch is lossless and in order, keeps the stream rule and keeps packets whole. In "
    "time: a flit is inside for at most 3 cycles (wormhole, depth 1), 6 (wormhole, depth 2) or 4 "
    "(all others). It is accepted after at most 3.",
    sizes="2 x 2 switches, packets of 1 or 2 flits; wormhole with depth 1, depth 2, and depth 1 "
    "with output buffers of 1; cut-through and store-and-forward with depth 2, and with input and "
    "crosspoint queues",
)
@pytest.mark.parametrize(
    "kind", [name if name == "wormhole, depth 1" else long(name) for name in FLIT_SWITCHES]
)
def test_flit_switch_is_lossless_and_in_time(tmp_path: Path, kind: str) -> None:
    assert flit_switch(*FLIT_SWITCHES[kind]).hold(tmp_path)


PIPELINED_SWITCHES = {
    switching: (
        lambda room=room: PipelinedFlitSwitch(FLITS, radix=2, depth=2, pipeline=1, room=room),
        *(4, drain, waits),
    )
    for switching, room, drain, waits in (("wormhole", 1, 8, 4), ("cut-through", LONGEST, 14, 8))
}
"""Each kind, as above."""


@proves(
    PipelinedFlitSwitch,
    says="The switch is lossless and in order, keeps the stream rule and keeps packets whole. In "
    "time: with wormhole switching a flit is inside for at most 8 cycles and is accepted after at "
    "most 4. With cut-through these are 14 and 8.",
    sizes="2 x 2 switches of depth 2 with `pipeline` 1, packets of 1 or 2 flits; wormhole and "
    "cut-through",
)
@pytest.mark.parametrize("kind", PIPELINED_SWITCHES)
@pytest.mark.long
def test_pipelined_flit_switch_is_lossless_and_in_time(tmp_path: Path, kind: str) -> None:
    assert flit_switch(*PIPELINED_SWITCHES[kind]).hold(tmp_path)


@pytest.mark.parametrize("kind", ["wormhole, depth 1", "store-and-forward"])
@pytest.mark.long
def test_proofs_find_that_flits_take_time(tmp_path: Path, kind: str) -> None:
    make, capacity, drain, _ = FLIT_SWITCHES[kind]
    assert not flit_switch(make, capacity, drain - 1, None).hold(tmp_path)


def unbuffered(
    claims: Claims, *, reject: bool = False, lanes: int = 1, kind: type[Any] = UnbufferedSwitch
) -> None:
    """Each packet is shown in the next cycle where it belongs, or dropped now; and with verdicts,
    the source learns later which."""
    m = claims.m
    stages, delay = 1, 1
    more = {"reject": stages} if reject else {}
    m.submodules.dut = dut = kind(Packet(1, WITNESS), radix=2, dilation_out=lanes, **more)
    valid, tags, data = (claims.free(2, name) for name in ("valid", "tag", "data"))
    ready, verdict = claims.free(len(dut.o), "ready"), claims.free(len(dut.o), "verdict")
    for i, port in enumerate(dut.i):
        shown = port.payload.payload
        m.d.comb += [port.valid.eq(valid[i]), port.payload.tag.eq(tags[i])]
        m.d.comb += [shown.source.eq(i), shown.goal.eq(tags[i]), shown.data.eq(data[i])]
        claims.claim(port.ready)
    for j, port in enumerate(dut.o):
        m.d.comb += port.ready.eq(ready[j])
        held = claims.past(port.valid & ~ready[j])
        payload = Value.cast(port.payload)
        claims.claim(~held | (port.valid & (payload == claims.past(payload))))
        claims.claim(~port.valid | (port.payload.payload.goal == j // lanes))
    free = [~port.valid | ready[j] for j, port in enumerate(dut.o)]
    for i in range(2):
        sent = valid[i] & ~dut.dropped[i]
        claims.claim(valid[i] | ~dut.dropped[i])
        # It is shown on one link, with its data, if it was sent, and on none otherwise.
        came = [
            port.valid
            & claims.past(free[j])
            & (port.payload.payload.source == i)
            & (port.payload.payload.data == claims.past(data[i]))
            for j, port in enumerate(dut.o)
        ]
        claims.claim(~claims.began | (sum(came, start=0) == claims.past(sent)))
        # It is dropped only if it has lost, or found no free link.
        mine = [Mux(tags[i], free[lanes + x], free[x]) for x in range(lanes)]
        rivals = valid[1 - i] & (tags[0] == tags[1])
        claims.claim(~dut.dropped[i] | ~Cat(mine).all() | (rivals & (lanes == 1)))
        claims.claim(~(dut.dropped[i] & rivals & dut.dropped[1 - i]) | ~Cat(mine).all())
        if reject:
            m.d.comb += dut.delay.eq(delay)
            m.d.comb += [port.accepted.eq(verdict[j]) for j, port in enumerate(dut.o)]
            told = claims.past(claims.past(sent))
            where = claims.past(claims.past(tags[i]))
            answer = told & claims.past(verdict).bit_select(where, 1)
            twice = claims.past(claims.began)
            claims.claim(~twice | (dut.i[i].accepted == answer))


@proves(
    UnbufferedSwitch,
    says="In the cycle after its arrival a packet is shown once, unchanged, where it belongs, "
    "unless it is dropped and counted. It is dropped only if it has a rival or not all links of "
    "its output are free. Of two rivals for free links at most one is dropped. With a reject "
    "signal each source gets the verdict on its own packet. The stream rule holds. All this is so "
    "whatever the random bits are.",
    sizes="2 x 2 switches with bundles of 1 or 2 links; the reject signal is that of the last "
    "stage",
)
@pytest.mark.parametrize(("reject", "lanes"), [long(False, 1), (True, 1), long(False, 2)])
def test_unbuffered_switch_sends_or_drops(
    tmp_path: Path, any_bits: Claims, reject: bool, lanes: int
) -> None:
    unbuffered(any_bits, reject=reject, lanes=lanes)
    assert any_bits.hold(tmp_path)


class Silent(UnbufferedSwitch):
    """Does not count a packet that found its output in use."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.o[0].valid & ~self.o[0].ready):
            m.d.comb += self.dropped.eq(0)
        return m


@pytest.mark.long
def test_proofs_find_a_drop_that_is_not_counted(tmp_path: Path, any_bits: Claims) -> None:
    unbuffered(any_bits, kind=Silent)
    assert not any_bits.hold(tmp_path)
