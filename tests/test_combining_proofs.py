# amaranth: UnusedElaboratable=no
"""Each request gets exactly one reply of its own: proofs of small combining boxes.

*Bounded*: for all fetch-and-adds, and all delays at all ends, in so many cycles from reset. Memory
modules answer each request that reaches them once, in order, with any value. What holds for ever is
proved in `test_combining_induction.py`; here is how soon a box is empty.
"""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from claims import Claims, needs_yosys
from long_runs import long
from multicube.hdl.boxes.combining import CombiningBox, InputBufferedBox
from multicube.hdl.boxes.combining import combining_switch as switch_module
from multicube.hdl.boxes.combining.wait_buffer import WaitBuffer
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.memory import find_operation
from multicube.hdl.primitives.arrival_queue import ArrivalQueue
from multicube.hdl.primitives.word_buffer import WordBuffer
from proof_table import proves

pytestmark = needs_yosys

IDENTITIES = 2


def one_reply_each(
    folder: Path,
    *,
    steps: int | None = None,
    drain: int,
    outputs: int = 1,
    seen: bool = False,
    kind: type[wiring.Component] = CombiningBox,
    **given: Any,
) -> bool:
    """No reply comes that is not awaited; and when all has been calm for a while, none is missing.

    `drain` is the number of cycles after which a box without new requests, whose ends take and
    give what they can, has nothing left. Requests go to so many `outputs`, all to one word of it;
    all are fetch-and-adds, whose operands and values don't matter here. With `seen`,
    instead: two requests never combine.
    """
    operations = tuple(map(find_operation, ("fetch-and-add", "load")))
    link = MemoryLink(tag=1, identity=1, address=1, width=1, operations=operations)
    claims = Claims()
    m, free = claims.m, claims.free
    m.submodules.box = box = kind(link, radix=2, **given)
    if kind is CombiningBox:
        # One stage: no bit of the tag leads on.
        m.d.comb += box.later.eq(0)
    calm = Signal(range(drain + 1))
    awaited = [[Signal(name=f"awaited_{p}_{x}") for x in range(IDENTITIES)] for p in range(2)]
    went = [[Signal(name=f"went_{p}_{x}") for x in range(IDENTITIES)] for p in range(2)]
    disturbed = 0
    for p, port in enumerate(box.i):
        valid, take = free(1, f"valid_{p}"), free(1, f"take_{p}")
        identity = free(1, f"identity_{p}")
        request, reply = port.request, port.reply
        m.d.comb += [
            request.valid.eq(valid),
            request.payload.identity.eq(identity),
            request.payload.tag.eq(free(1, f"output_{p}") if outputs == 2 else 0),
            request.payload.operation.eq(free(1, f"load_{p}") if kind is not CombiningBox else 0),
            reply.ready.eq(take),
        ]
        disturbed |= valid | ~take
        for x in range(IDENTITIES):
            sent = valid & request.ready & (request.payload.identity == x)
            came = reply.valid & take & (reply.payload.identity == x)
            claims.assume(~(valid & (request.payload.identity == x) & awaited[p][x]))
            with m.If(sent):
                m.d.sync += [awaited[p][x].eq(1), went[p][x].eq(request.payload.tag)]
            with m.Elif(came):
                m.d.sync += awaited[p][x].eq(0)
        mine = Signal(name=f"mine_{p}")
        tag = Signal(name=f"tag_{p}")
        m.d.comb += [
            mine.eq(Mux(reply.payload.identity, awaited[p][1], awaited[p][0])),
            tag.eq(Mux(reply.payload.identity, went[p][1], went[p][0])),
        ]
        if not seen:
            claims.claim(~reply.valid | (mine & (reply.payload.tag == tag)))
    name = data.StructLayout({"tag": 1, "identity": 1})
    for j, port in enumerate(box.o):
        m.submodules[f"memory_{j}"] = memory = ArrivalQueue(name, depth=1, refill=True)
        go, answer = free(1, f"go_{j}"), free(1, f"answer_{j}")
        m.d.comb += [
            memory.i[0].valid.eq(port.request.valid & go),
            port.request.ready.eq(memory.i[0].ready & go),
            memory.i[0].payload.tag.eq(port.request.payload.tag),
            memory.i[0].payload.identity.eq(port.request.payload.identity),
            port.reply.valid.eq(memory.o.valid & answer),
            memory.o.ready.eq(port.reply.ready & answer),
            port.reply.payload.tag.eq(memory.o.payload.tag),
            port.reply.payload.identity.eq(memory.o.payload.identity),
        ]
        disturbed |= ~go | ~answer
    with m.If(disturbed):
        m.d.sync += calm.eq(0)
    with m.Elif(calm != drain):
        m.d.sync += calm.eq(calm + 1)
    if seen:
        claims.claim(box.combined == 0)
    else:
        missing = Cat(signal for row in awaited for signal in row).any()
        claims.claim(~missing | (calm != drain))
    return claims.hold(folder, steps)


@proves(
    CombiningBox,
    says="Each request gets exactly one reply of its own. The box is empty after 7 cycles in "
    "which no request comes, replies are taken, and memory accepts and answers.",
    sizes="2 x 2 boxes of depth 2, wait buffers of 1 and 2 records, fetch-and-adds for one word "
    "at each output",
    cycles=8,
)
@pytest.mark.parametrize(
    ("merge", "wait", "outputs", "steps"),
    [
        long("pairwise", 1, 1, 9),
        long("unlimited", 2, 1, 9),
        long("pairwise", 1, 1, 11),
        long("pairwise", 1, 2, 8),
    ],
)
def test_each_request_gets_one_reply_of_its_own(
    tmp_path: Path, merge: str, wait: int, outputs: int, steps: int
) -> None:
    given = {"steps": steps, "drain": 7, "outputs": outputs}
    assert one_reply_each(tmp_path, **given, depth=2, wait=wait, merge=merge)


def buffered(folder: Path, drain: int, steps: int | None = None, *, depth: int, delay: int) -> bool:
    given = {"depth": depth, "delay": delay, "lengths": (1, 2), "kind": InputBufferedBox}
    return one_reply_each(folder, steps=steps, drain=drain, **given)


@proves(
    InputBufferedBox,
    WordBuffer,
    says="Each request gets exactly one reply of its own. The box is empty after 6 cycles in "
    "which no request comes, replies are taken, and memory accepts and answers.",
    sizes="2 x 2 boxes of depth 2 and delay 1, with loads of one word and fetch-and-adds of two",
)
@pytest.mark.long
def test_boxes_with_buffers_at_the_inputs_answer_each_request_once(tmp_path: Path) -> None:
    assert buffered(tmp_path, 6, depth=2, delay=1)


@proves(
    InputBufferedBox,
    WordBuffer,
    says="Each request gets exactly one reply of its own. The box is empty after 11 cycles in "
    "which no request comes, replies are taken, and memory accepts and answers.",
    sizes="2 x 2 boxes of depth 3 and delay 2, with loads of one word and fetch-and-adds of two",
    cycles=12,
)
@pytest.mark.long
def test_deeper_buffers_answer_each_request_once(tmp_path: Path) -> None:
    assert buffered(tmp_path, 11, 12, depth=3, delay=2)


def test_boxes_with_buffers_at_the_inputs_are_not_drained_sooner(tmp_path: Path) -> None:
    assert not buffered(tmp_path, 4, 8, depth=2, delay=1)


@pytest.mark.long
def test_there_is_something_to_prove(tmp_path: Path) -> None:
    """Requests do combine within that time, and boxes are not drained sooner."""
    assert not one_reply_each(tmp_path, steps=3, drain=7, depth=2, wait=1, seen=True)
    assert not one_reply_each(tmp_path, steps=8, drain=2, depth=2, wait=1)


class Forgetful(WaitBuffer):
    """Loses a record whose reply has to wait."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = WaitBuffer(self._key, self._record, size=self.size)
        for name in ("store", "key", "record", "wanted"):
            m.d.comb += getattr(inner, name).eq(getattr(self, name))
        for name in ("free", "more", "found", "hit"):
            m.d.comb += getattr(self, name).eq(getattr(inner, name))
        # Taken, whether or not it had to wait.
        m.d.comb += inner.take.eq(inner.hit)
        return m


@pytest.mark.long
def test_proofs_find_a_lost_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch_module, "WaitBuffer", Forgetful)
    assert not one_reply_each(tmp_path, steps=10, drain=7, depth=2, wait=1)
