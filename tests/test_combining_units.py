"""The parts of a combining box against models: what combines, what is recorded, who is answered."""

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.hdl import Value
from driving import exercise
from multicube.hdl.boxes.combining import CombiningBox
from multicube.hdl.boxes.combining.queue import CombiningQueue
from multicube.hdl.boxes.combining.wait_buffer import WaitBuffer
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.combining_rules import Rules
from multicube.hdl.operations.memory import OPERATIONS, Operation, find_operation
from multicube.sim.measure.serial_order import Access, serial_order

LINK = MemoryLink(tag=3, identity=2, address=1, width=4)
ADD, LOAD, STORE = map(find_operation, ("fetch-and-add", "load", "store"))
CODES = {operation: code for code, operation in enumerate(OPERATIONS)}


@dataclass
class Queued:
    """A request in a queue, with the work of those that combined with it."""

    tag: int
    identity: int
    address: int
    operation: Operation
    operand: int
    merged: bool = False

    def payload(self) -> dict[str, int]:
        names = ("tag", "identity", "address", "operand")
        return {name: getattr(self, name) for name in names} | {"operation": CODES[self.operation]}


def random_request(rng: random.Random, operations: tuple[Operation, ...]) -> Queued:
    identity, address = rng.getrandbits(2), rng.getrandbits(1)
    return Queued(rng.getrandbits(3), identity, address, rng.choice(operations), rng.getrandbits(4))


def values(ctx: Any, payload: Any) -> dict[str, int]:
    return {name: ctx.get(Value.cast(payload[name])) for name, _ in payload.shape()}


@pytest.mark.parametrize(
    ("writers", "depth", "pairwise", "later"),
    [(2, 2, True, 0b110), (2, 3, False, 0b101), (3, 4, True, 0b011), (3, 3, False, 0b000)],
)
def test_queue_combines_what_it_should(
    writers: int, depth: int, pairwise: bool, later: int
) -> None:
    """In each cycle: what is shown, what is accepted, what combines and what is then recorded."""
    seed = 1
    print("seed", seed)
    rng = random.Random(seed)
    rules = Rules()
    design = CombiningQueue(LINK, rules, writers=writers, depth=depth, pairwise=pairwise)
    events = {"combined": 0, "head": 0, "tags": 0, "full": 0}

    async def testbench(ctx: Any) -> None:
        queue: list[Queued] = []
        offered: list[Queued | None] = [None] * writers
        ctx.set(design.later, later)
        for cycle in range(240):
            # Now and then all is for one word, so that queues meet requests for their heads.
            busy = cycle // 20 % 2
            for i, port in enumerate(design.i):
                if offered[i] is None and rng.random() < 0.7:
                    offered[i] = random_request(rng, (ADD,) if busy else OPERATIONS)
                ctx.set(port.valid, offered[i] is not None)
                if offered[i] is not None:
                    ctx.set(port.payload, offered[i].payload())
            free = rng.getrandbits(writers) | rng.getrandbits(writers)
            ready = rng.random() < 0.5
            ctx.set(design.free, free)
            ctx.set(design.o.ready, ready)

            assert ctx.get(design.o.valid) == bool(queue)
            if queue:
                assert values(ctx, design.o.payload) == queue[0].payload(), "the head"
            combined = ctx.get(design.combined)
            arrived: list[Queued] = []
            waiting = sum(request is not None for request in offered)
            for i, second in enumerate(offered):
                if second is None:
                    assert not combined >> i & 1
                    continue
                taken = ctx.get(design.i[i].ready)
                alike = [
                    first
                    for first in (*queue[1:], *arrived)
                    if first.address == second.address and not (first.tag ^ second.tag) & later
                ]
                if queue and queue[0].address == second.address and not alike:
                    events["head"] += 1
                near = {(first.tag ^ second.tag) & later for first in (*queue[1:], *arrived)}
                events["tags"] += len(near & {1, 2, 4})
                first = alike[-1] if alike else None
                result = first and rules.combined(first.operation, second.operation)
                combines = bool(result and not first.merged and free >> i & 1)
                assert bool(combined >> i & 1) == combines
                assert taken or not combines
                if not taken:
                    events["full"] += 1
                    assert len(queue) + waiting > depth, "there was room"
                    continue
                offered[i] = None
                if not combines:
                    assert len(queue) + len(arrived) < depth
                    arrived.append(second)
                    continue
                events["combined"] += 1
                assert values(ctx, design.record[i]) == {
                    "tag": first.tag,
                    "identity": first.identity,
                    "operation": CODES[first.operation],
                    "operand": first.operand,
                }
                if first.operation.kind == "load":
                    first.operand = second.operand
                else:
                    first.operand = second.operation.perform(first.operand, second.operand, 4)
                first.operation, first.merged = result, pairwise
            if queue and ready:
                queue.pop(0)
            queue += arrived
            await ctx.tick()

    exercise(design, testbench)
    assert all(count > 5 for name, count in events.items() if later or name != "tags"), events


def test_inputs_of_a_full_queue_take_turns() -> None:
    """No two requests combine, and each place that becomes free goes to another input."""
    design = CombiningQueue(LINK, Rules(policy="none"), writers=3, depth=2, pairwise=True)
    served = [0, 0, 0]

    async def testbench(ctx: Any) -> None:
        for port in design.i:
            ctx.set(port.valid, 1)
        ctx.set(design.o.ready, 1)
        for _ in range(62):
            for i, port in enumerate(design.i):
                served[i] += ctx.get(port.ready)
            await ctx.tick()

    exercise(design, testbench)
    assert max(served) - min(served) <= 1, served


@pytest.mark.parametrize("size", [1, 2, 3])
def test_wait_buffer_finds_each_record_by_its_key(size: int) -> None:
    seed = 2
    print("seed", seed)
    rng = random.Random(seed)
    design = WaitBuffer(2, 8, size=size)
    several = 0

    async def testbench(ctx: Any) -> None:
        nonlocal several
        held: list[tuple[int, int]] = []
        for cycle in range(300):
            wanted = rng.getrandbits(2)
            ctx.set(design.wanted, wanted)
            found = [record for key, record in held if key == wanted]
            several += len(found) > 1
            assert ctx.get(design.free) == (len(held) < size)
            assert ctx.get(design.hit) == bool(found)
            assert ctx.get(design.more) == (len(found) > 1)
            take, store = bool(found) and rng.random() < 0.4, len(held) < size
            record = (rng.getrandbits(2), cycle % 256)
            ctx.set(design.store, store)
            ctx.set(design.take, take)
            ctx.set(design.key, record[0])
            ctx.set(design.record, record[1])
            if found:
                assert ctx.get(design.found) in found
            if take:
                held.remove((wanted, ctx.get(design.found)))
            held += [record] * store
            await ctx.tick()

    exercise(design, testbench)
    assert several > 10 or size == 1


@pytest.mark.parametrize(("merge", "behind"), [("pairwise", 0b010), ("unlimited", 0b011)])
def test_box_answers_each_request_with_its_own_tag(merge: str, behind: int) -> None:
    """A box inside a network: tags have bits of later stages (`behind`), and of earlier ones. The
    values of the replies are those of a serial order."""
    seed = 3
    print("seed", seed)
    rng = random.Random(seed)
    design = CombiningBox(LINK, radix=2, depth=2, wait=2, merge=merge)
    histories = defaultdict(list)

    async def testbench(ctx: Any) -> None:
        words: dict[tuple[int, ...], int] = defaultdict(int)
        awaited: list[dict[int, tuple[Queued, int]]] = [{}, {}]
        offered: list[Queued | None] = [None, None]
        memories: list[list[dict[str, int]]] = [[], []]
        ctx.set(design.later, behind)
        for cycle in range(240):
            for i, port in enumerate(design.i):
                free = set(range(4)) - awaited[i].keys()
                if offered[i] is None and free and cycle < 200:
                    offered[i] = random_request(rng, (ADD, LOAD, STORE))
                    offered[i].identity = rng.choice(sorted(free))
                ctx.set(port.request.valid, offered[i] is not None)
                if offered[i] is not None:
                    ctx.set(port.request.payload, offered[i].payload())
                # Now and then so slowly that there is no room for second replies.
                ctx.set(port.reply.ready, rng.random() < (0.2 if cycle // 40 % 2 else 0.8))
            for j, port in enumerate(design.o):
                ctx.set(port.request.ready, rng.random() < 0.4 or cycle > 200)
                ctx.set(port.reply.valid, bool(memories[j]))
                if memories[j]:
                    ctx.set(port.reply.payload, memories[j][0])
            for i, port in enumerate(design.i):
                if offered[i] is not None and ctx.get(port.request.ready):
                    awaited[i][offered[i].identity] = offered[i], cycle
                    offered[i] = None
                if ctx.get(port.reply.valid & port.reply.ready):
                    reply = values(ctx, port.reply.payload)
                    sent, at = awaited[i].pop(reply["identity"])
                    assert reply["tag"] == sent.tag
                    histories[sent.tag & (0b100 | behind), sent.address].append(
                        Access(i, sent.operation, sent.operand, reply["value"], at, cycle)
                    )
            for j, port in enumerate(design.o):
                if memories[j] and ctx.get(port.reply.ready):
                    del memories[j][0]
                if ctx.get(port.request.valid & port.request.ready):
                    request = values(ctx, port.request.payload)
                    # The tag has moved up by the digit that this box has used.
                    word = (j, request["tag"] >> 1 & behind, request["address"])
                    operation = OPERATIONS[request["operation"]]
                    names = {name: request[name] for name in ("tag", "identity")}
                    memories[j].append({**names, "value": words[word]})
                    words[word] = operation.perform(words[word], request["operand"], 4)
            await ctx.tick()
        assert not any(awaited)
        for (tag, address), history in histories.items():
            final = words[tag >> 2, tag & behind, address]
            history.sort(key=lambda access: access.sent)
            assert serial_order(history, width=4, final=final) is not None

    exercise(design, testbench)
    assert sum(map(len, histories.values())) > 100
