# amaranth: UnusedElaboratable=no
"""Combining boxes and their parts, for ever: inductive proofs.

Induction begins in any state, so each proof also claims what holds between the registers. Memories
are registers here, so that claims can be made about their rows.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from claims import Claims, Rows, needs_yosys
from long_runs import long
from multicube.hdl.boxes.combining import CombiningBox, CombiningRouter, CombiningSwitch
from multicube.hdl.boxes.combining import combining_switch as switch_module
from multicube.hdl.boxes.combining import wait_buffer as wait_buffer_module
from multicube.hdl.boxes.combining.queue import CombiningQueue
from multicube.hdl.boxes.combining.wait_buffer import WaitBuffer
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.combining_rules import Rules
from multicube.hdl.operations.memory import find_operation
from multicube.hdl.primitives import arrival_queue as arrival_queue_module
from multicube.hdl.primitives.pacing import Pacer
from multicube.hdl.switch.shape import InputChannel, OutputChannel, RouterShape
from proof_table import proves

pytestmark = needs_yosys

OPERATIONS = tuple(map(find_operation, ("fetch-and-add", "load", "store", "fetch-and-store")))
LINK = MemoryLink(tag=1, identity=1, address=1, width=1, operations=OPERATIONS)


@pytest.fixture(autouse=True)
def _registers(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (wait_buffer_module, arrival_queue_module):
        monkeypatch.setattr(module, "Memory", Rows)


@proves(
    WaitBuffer,
    says="A record is kept until it is taken, unchanged. A search finds a record with the key if "
    "there is one. `free`, `hit` and `more` are right.",
    sizes="1, 2 and 3 records",
)
@pytest.mark.parametrize("size", [1, long(2), long(3)])
def test_wait_buffer_keeps_every_record(tmp_path: Path, size: int) -> None:
    """Any record, from when it is stored until it is taken, is found by its key or another of the
    same key is; and what is found is what was stored."""
    claims = Claims()
    wait = WaitBuffer(2, 2, size=size)
    claims.m.d.comb += [
        getattr(wait, name).eq(claims.free(2, name)) for name in ("key", "record", "wanted")
    ]
    inside = claims.inside("wait", wait)
    store, take = claims.free(1, "store"), claims.free(1, "take")
    claims.assume(~store | wait.free)
    claims.assume(~take | wait.hit)
    claims.m.d.comb += [wait.store.eq(store), wait.take.eq(take)]
    # The number of records of each kind, counted at the ports.
    held = Array(Signal(range(size + 1), name=f"held_{kind}") for kind in range(16))
    kinds = [Cat(inside[f"key_{row}"], inside[f"records.row_{row}"]) for row in range(size)]
    came, went = Cat(wait.key, wait.record), Cat(wait.wanted, wait.found)
    for kind in range(16):
        claims.m.d.sync += held[kind].eq(
            held[kind] + (store & (came == kind)) - (take & (went == kind))
        )
        rows = [inside["used"][row] & (kinds[row] == kind) for row in range(size)]
        claims.claim(held[kind] == sum(rows))
    here = sum(Mux(wait.wanted == kind & 3, held[kind], 0) for kind in range(16))
    claims.claim(wait.hit == (here != 0))
    claims.claim(wait.more == (here > 1))
    claims.claim(wait.free == (sum(held) < size))
    claims.claim(~wait.hit | (held[went] != 0))
    assert claims.hold(tmp_path, 3, inductive=True)


@pytest.mark.one_in(4)
@proves(
    Pacer,
    says="After the head of a message, the next head may pass after as many cycles as the message "
    "has words. It passes no sooner, and is not delayed any longer.",
    sizes="messages of (1, 2), (2, 4) and (3, 3) words",
)
@pytest.mark.parametrize("lengths", [(1, 2), (2, 4), (3, 3)])
def test_pacer_keeps_its_distance_and_delays_nothing(
    tmp_path: Path, lengths: tuple[int, int]
) -> None:
    """Heads are as many cycles apart as the message has words, and at least one goes then."""
    claims = Claims()
    pacer = Pacer(LINK, "request", lengths=lengths)
    inside = claims.inside("pacer", pacer)
    operation, valid = claims.free(2, "operation"), claims.free(1, "valid")
    ready = claims.free(1, "ready")
    claims.m.d.comb += [
        pacer.i.payload.operation.eq(operation),
        pacer.i.valid.eq(valid),
        pacer.o.ready.eq(ready),
    ]
    passed = pacer.o.valid & ready
    left = Signal(range(lengths[1] + 1))
    with claims.m.If(passed):
        loads = operation == OPERATIONS.index(find_operation("load"))
        claims.m.d.sync += left.eq(Mux(loads, *lengths) - 1)
    with claims.m.Elif(left != 0):
        claims.m.d.sync += left.eq(left - 1)
    claims.claim(inside["rest"] == left)
    claims.claim(passed == (valid & ready & (left == 0)))
    claims.claim((pacer.i.ready & valid) == passed)
    claims.claim(pacer.resting == (left != 0))
    assert claims.hold(tmp_path, 3, inductive=True)


def queue_claims(claims: Claims, queue: CombiningQueue, pairwise: bool) -> None:
    """A marked request, any one, keeps its place and its name until it leaves, and in between
    only requests for the same word combine with it."""
    m, writers = claims.m, queue.writers
    inside = claims.inside("queue", queue)
    layout = LINK.request_layout
    later = claims.symbol(1, "later")
    take = claims.free(1, "take")
    m.d.comb += [
        queue.later.eq(later),
        queue.free.eq(claims.free(writers, "free")),
        queue.o.ready.eq(take),
    ]
    for i, port in enumerate(queue.i):
        m.d.comb += [
            port.valid.eq(claims.free(1, f"valid_{i}")),
            port.payload.eq(claims.free(layout.size, f"payload_{i}")),
        ]
    level = inside["level"]
    claims.claim(level <= queue.depth)

    # The stream: what is shown stays, and is never changed, combined or not.
    stuck = claims.past(queue.o.valid & ~take)
    before = claims.past(Value.cast(queue.o.payload))
    claims.claim(~claims.began | ~stuck | (queue.o.valid & (Value.cast(queue.o.payload) == before)))

    # Marked requests leave in the order in which they came, under their names.
    went = Signal()
    m.d.comb += went.eq(queue.o.valid & take)
    appended = [queue.i[i].valid & queue.i[i].ready & ~queue.combined[i] for i in range(writers)]
    tracked, place = Signal(), Signal(range(queue.depth))
    mark = claims.free(writers, "mark")
    keep = Signal(layout)
    with m.If(tracked & went):
        m.d.sync += place.eq(place - 1)
        with m.If(place == 0):
            m.d.sync += tracked.eq(0)
    for i in range(writers):
        with m.If(~tracked & appended[i] & (mark == 1 << i)):
            m.d.sync += [
                tracked.eq(1),
                keep.eq(queue.i[i].payload),
                place.eq(level + sum(appended[:i]) - went),
            ]
    names = Array(inside[f"name_{slot}"] for slot in range(queue.depth))
    addresses = Array(inside[f"address_{slot}"] for slot in range(queue.depth))
    claims.claim(~tracked | (place < level))
    claims.claim(~tracked | (Cat(keep.tag, keep.identity) == names[place]))
    claims.claim(~tracked | (keep.address == addresses[place]))
    shown = queue.o.payload
    claims.claim(
        ~(tracked & (place == 0))
        | (
            queue.o.valid
            & (shown.tag == keep.tag)
            & (shown.identity == keep.identity)
            & (shown.address == keep.address)
        )
    )
    # Nothing is counted twice or lost, and a request that has combined has gone nowhere else.
    for i in range(writers):
        port = queue.i[i]
        claims.claim(~queue.combined[i] | (port.valid & port.ready & queue.free[i]))
    held = Signal(range(queue.depth + 2))
    m.d.sync += held.eq(held + sum(appended) - went)
    claims.claim(held == level)


@proves(
    CombiningQueue,
    says="A request keeps its place, tag and identity until it leaves. The queue is lossless and "
    "in order, and keeps the stream rule. Only requests for the same word are combined.",
    sizes="2 inputs with depth 2, 3 and 4; 3 inputs with depth 3; pairwise and unlimited combining",
)
@pytest.mark.parametrize(
    ("writers", "depth", "pairwise"),
    [long(2, 2, True), (2, 2, False), long(2, 3, True), long(3, 3, False), long(2, 4, True)],
)
def test_combining_queue_keeps_every_request(
    tmp_path: Path, writers: int, depth: int, pairwise: bool
) -> None:
    claims = Claims()
    queue = CombiningQueue(LINK, Rules(OPERATIONS), writers=writers, depth=depth, pairwise=pairwise)
    queue_claims(claims, queue, pairwise)
    assert claims.hold(tmp_path, 3, inductive=True)


class ChangingQueue(CombiningQueue):
    """Shows work that is not settled: an operand changes in view."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.o.payload.operand[0].eq(self.combined.any())
        return m


def test_proofs_find_a_queue_whose_head_changes(tmp_path: Path) -> None:
    claims = Claims()
    queue = ChangingQueue(LINK, Rules(OPERATIONS), writers=2, depth=2, pairwise=True)
    queue_claims(claims, queue, True)
    assert not claims.hold(tmp_path, 4)


class Sides(NamedTuple):
    """A switch of two inputs and two outputs as the proof sees it.

    Attributes
    ----------
    link : MemoryLink
    way : Callable[[int, Value], Value]
        The tag of a request behind the switch, from its input and its tag before it.
    asked : Callable[[Value], Value]
        The output that a tag before the switch asks for.
    legal : Callable[[Value], Value]
        Whether a tag may come.
    """

    link: MemoryLink
    way: Callable[[int, Value], Value]
    asked: Callable[[Value], Value]
    legal: Callable[[Value], Value]


BOX = Sides(LINK, lambda p, tag: Const(p, 1), lambda tag: tag[0], lambda tag: Const(1))
"""A box: the digit of the tag names the output, and then the input."""

FAR = MemoryLink(tag=3, identity=1, address=1, width=1, operations=OPERATIONS)
ROUTER = Sides(
    FAR, lambda p, tag: Cat(tag[0], Const(p, 1), tag[1]), lambda tag: tag[0], lambda tag: ~tag[2]
)
"""A router, whose modules 0 and 1 are at outputs 0 and 1: requests come from other routers, with a
way of one digit, which the second digit must leave room for."""


def box_claims(claims: Claims, box: CombiningSwitch, sides: Sides = BOX) -> None:
    """Each request is in exactly one place until it is answered, once, with its own tag; and while
    the ends do their part, all that is in the box and the memories moves towards its end.

    Processors send any requests for any words, under identities that are free. Memories take
    requests when they like, and answer each of them once, with any value, in any order.
    """
    m, both, link = claims.m, range(2), sides.link
    bits = link.tag
    inside = claims.inside("box", box)
    names = [(p, x) for p in both for x in both]
    if isinstance(box, CombiningRouter):
        for i in both:
            m.d.comb += box.exits[i].eq(1 << box.tag[i])
    else:
        m.d.comb += box.later.eq(0)  # one stage: no bit of the tag leads on
    awaited = {name: Signal(name=f"awaited_{name[0]}_{name[1]}") for name in names}
    went = {name: Signal(bits, name=f"went_{name[0]}_{name[1]}") for name in names}

    def behind(p: int, x: int) -> Value:
        """What a request is called behind the box: its tag and identity."""
        return Cat(sides.way(p, went[p, x]), Const(x, 1))

    active = []
    for p, port in enumerate(box.i):
        valid, take = claims.free(1, f"valid_{p}"), claims.free(1, f"take_{p}")
        request, reply = port.request, port.reply
        payload = claims.free(link.request_layout.size, f"payload_{p}")
        m.d.comb += [request.valid.eq(valid), request.payload.eq(payload), reply.ready.eq(take)]
        claims.assume(request.payload.operation < len(OPERATIONS))
        claims.assume(sides.legal(request.payload.tag))
        active += [~valid, take]
        for x in both:
            claims.claim(sides.legal(went[p, x]))
            asked = valid & (request.payload.identity == x)
            claims.assume(~asked | ~awaited[p, x])
            answered = reply.valid & (reply.payload.identity == x)
            claims.claim(~answered | (awaited[p, x] & (reply.payload.tag == went[p, x])))
            with m.If(asked & request.ready):
                m.d.sync += [awaited[p, x].eq(1), went[p, x].eq(request.payload.tag)]
            with m.Elif(answered & take):
                m.d.sync += awaited[p, x].eq(0)
    inmem = {}
    for j, port in enumerate(box.o):
        go, offer = claims.free(1, f"go_{j}"), claims.free(1, f"offer_{j}")
        request, reply = port.request, port.reply
        choice = claims.free(2, f"choice_{j}")
        answering = Signal(bits + 1, name=f"answering_{j}")
        m.d.comb += [
            request.ready.eq(go),
            reply.valid.eq(offer),
            reply.payload.tag.eq(answering[:bits]),
            reply.payload.identity.eq(answering[bits]),
            reply.payload.value.eq(claims.free(1, f"value_{j}")),
        ]
        here = []
        for number, (p, x) in enumerate(names):
            inmem[j, p, x] = present = Signal(name=f"in_memory_{j}_{p}_{x}")
            here.append(present)
            this = choice == number
            with m.If(this):
                m.d.comb += answering.eq(behind(p, x))
            claims.assume(~(offer & this) | present)
            sent = request.valid & (
                Cat(request.payload.tag, request.payload.identity) == behind(p, x)
            )
            with m.If(sent & go):
                m.d.sync += present.eq(1)
            with m.Elif(offer & reply.ready & this):
                m.d.sync += present.eq(0)
        active += [go, offer | ~Cat(here).any()]

    # Where a request can be: in a queue, in a memory, in a record, or as a reply in a queue.
    queued, recorded, replied = {}, {}, {}
    for j in both:
        level = inside[f"requests_{j}.level"]
        claims.claim(level <= box.depth)
        slots = [(inside[f"requests_{j}.name_{slot}"], level > slot) for slot in range(box.depth)]
        for name, used in slots:
            claims.claim(~used | Cat(name == behind(p, x) for p, x in names).any())
        for p, x in names:
            queued[j, p, x] = [used & (name == behind(p, x)) for name, used in slots]
    for p in both:
        queue = f"replies_{p}."
        level, size = inside[queue + "level"], box.depth + 1
        head = Cat(inside[queue + "head_bank"], inside[queue + "head_row"])
        tail = Cat(inside[queue + "tail_bank"], inside[queue + "tail_row"])
        claims.claim(level <= size)
        claims.claim((head + level - tail)[:2] == 0)
        rows = Array(inside[f"{queue}bank_{n % 2}.row_{n // 2}"] for n in range(4))
        entries = [(rows[(head + n)[:2]], level > n) for n in range(size)]
        for x in both:
            replied[p, x] = [used & (entry[bits] == x) for entry, used in entries]
            for entry, used in entries:
                claims.claim(~(used & (entry[bits] == x)) | (entry[:bits] == went[p, x]))
        for j in both:
            for row in range(box.wait):
                wait = f"wait_{p}_{j}."
                used, key = inside[wait + "used"][row], inside[f"{wait}key_{row}"]
                record = inside[f"{wait}records.row_{row}"]
                second = record[-1]
                for x in both:
                    recorded.setdefault((j, p, x), []).append(used & (second == x))
                    if bits > 1:
                        # What is left of the way is kept, and the module is that of the reply.
                        kept = record[-2] == went[p, x][1]
                        claims.claim(~(used & (second == x)) | kept)
                # The request that continues is still on its way.
                claims.claim(~used | Cat(key == behind(q, y) for q, y in names).any())
                for q, y in names:
                    ahead = Cat(*queued[j, q, y], inmem[j, q, y]).any()
                    claims.claim(~(used & (key == behind(q, y))) | ahead)
    work = 0
    for p, x in names:
        places = list(replied[p, x])
        work += sum(replied[p, x])
        for j in both:
            inner = [*queued[j, p, x], inmem[j, p, x], *recorded[j, p, x]]
            claims.claim(~Cat(inner).any() | (sides.asked(went[p, x]) == j))
            places += inner
            work += 4 * sum(queued[j, p, x]) + 3 * inmem[j, p, x] + 2 * sum(recorded[j, p, x])
        claims.claim(sum(places) == awaited[p, x])

    # All that is left gets less, in every cycle in which no request comes and nothing is held up.
    before = claims.past(work)
    calm = claims.past(Cat(active).all())
    claims.claim(~claims.began | ~calm | (before == 0) | (work < before))


@pytest.mark.long
@proves(
    CombiningBox,
    says="Each request is in exactly one place until it is answered. It is answered once, with "
    "its own tag. There is no deadlock inside: as long as no request comes, replies are taken, "
    "and memory accepts and answers, all that is inside comes nearer to its end in every cycle.",
    sizes="2 x 2 boxes of depth 2, wait buffers of 1 and 2 records; load, store, fetch-and-add, "
    "fetch-and-store",
)
@pytest.mark.parametrize(
    ("merge", "wait"),
    [long("pairwise", 1), ("unlimited", 1), long("pairwise", 2), long("unlimited", 2)],
)
def test_box_answers_every_request_once_for_ever(tmp_path: Path, merge: str, wait: int) -> None:
    """2 x 2 boxes of depth 2, with loads, stores and fetch-and-adds to two words per output."""
    claims = Claims()
    box_claims(claims, CombiningBox(LINK, radix=2, depth=2, wait=wait, merge=merge))
    assert claims.hold(tmp_path, 3, inductive=True)


ENDS = (InputChannel((0, 0)), InputChannel((1, 0)))
CROSS = RouterShape(ENDS, (OutputChannel((0, 0), (0, 1)), OutputChannel((1, 0), (0, 1))))


@pytest.mark.long
@proves(
    CombiningRouter,
    says="Each request is in exactly one place until it is answered. It is answered once, with "
    "its own tag, so that the reply goes back the way that the request has come. There is no "
    "deadlock inside, in the sense of `CombiningBox`.",
    sizes="2 inputs and 2 outputs, depth 2, wait buffers of 1 record, ways of two digits; load, "
    "store, fetch-and-add, fetch-and-store",
)
@pytest.mark.parametrize("merge", [long("pairwise"), "unlimited"])
def test_router_answers_every_request_once_for_ever(tmp_path: Path, merge: str) -> None:
    """Routers of depth 2 between two others, with modules behind both."""
    claims = Claims()
    router = CombiningRouter(FAR, CROSS, module=1, depth=2, wait=1, merge=merge)
    box_claims(claims, router, ROUTER)
    assert claims.hold(tmp_path, 3, inductive=True)


class Forgetful(CombiningRouter):
    """Gives a second reply the way of the first one."""

    def _second(self, j: int, rest: Value, tag: Value) -> Value:
        return Cat(tag[: self.module], tag[self.module + 1 :])


@pytest.mark.long
def test_proofs_find_a_way_that_is_not_kept(tmp_path: Path) -> None:
    claims = Claims()
    box_claims(claims, Forgetful(FAR, CROSS, module=1, depth=2, wait=1), ROUTER)
    assert not claims.hold(tmp_path, 6)


class Confused(WaitBuffer):
    """Returns a record with another identity than the one that was stored."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        stored = m.submodules.records.read_port(domain="comb")
        m.d.comb += [stored.addr.eq(0), self.found.identity.eq(~stored.data.identity)]
        return m


@pytest.mark.long
def test_proofs_find_a_record_of_another_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switch_module, "WaitBuffer", Confused)
    claims = Claims()
    box_claims(claims, CombiningBox(LINK, radix=2, depth=2, wait=1))
    assert not claims.hold(tmp_path, 6)
