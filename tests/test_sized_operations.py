# amaranth: UnusedElaboratable=no
"""Operations on double words, half-words and bytes, as in the Ultracomputer (Siegel et al., VII-F).

The model is a list of bytes (quarters of a word), written here once more without the library.
"""

import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from amaranth.hdl import Value
from driving import evaluate, exercise
from long_runs import long
from multicube.hdl import CombiningNetwork
from multicube.hdl.boxes.combining.queue import CombiningQueue
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.combining_rules import Rules
from multicube.hdl.operations.memory import OPERATION_SETS, OPERATIONS, Operation, find_operation
from multicube.hdl.operations.operation_unit import Combiner, OperationUnit
from multicube.hdl.terminals.memory_module import MemoryModule
from multicube.sim import Pause, Request, run_programs
from multicube.sim import simulate as measure
from multicube.sim.measure.serial_order import Access, serial_order

SETS = OPERATION_SETS["ultracomputer-sizes"]
ADD_HALF = Operation("fetch-and-add-half", lambda x, e: x + e, size=0.5)
MIN_BYTE = Operation("fetch-and-min-byte", min, ones=lambda x, e: (x < e, ~(x < e)), size=0.25)
EVERY = (*SETS, ADD_HALF, MIN_BYTE, Operation("fetch-and-store-double", lambda _, e: e, size=2))
FEW = tuple(op for op in SETS if op.name in ("load", "fetch-and-add", "load-double", "store-byte"))
SEED = 11


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def changed(name: str, x: int, e: int, bits: int) -> int:
    """The new value of a part of so many bits."""
    base = name
    for size in ("-double", "-half", "-byte"):
        base = base.removesuffix(size)
    return {
        "load": x,
        "store": e,
        "fetch-and-store": e,
        "fetch-and-add": (x + e) % (1 << bits),
        "fetch-and-min": x if signed(x, bits) < signed(e, bits) else e,
        "fetch-and-or": x | e,
        "fetch-and-and": x & e,
        "fetch-and-store-if-zero": e if x == 0 else x,
        "fetch-and-store-if-nonnegative": e if signed(x, bits) >= 0 else x,
    }[base]


class Bytes:
    """A row of memory: eight bytes of so many bits, the lowest first."""

    def __init__(self, byte: int, value: int) -> None:
        self.byte = byte
        self.held = [value >> byte * at & (1 << byte) - 1 for at in range(8)]

    def perform(self, operation: Operation, first: int, operand: int) -> int:
        """Perform an operation from a byte on; return what was there."""
        count = int(4 * operation.size)
        assert first % count == 0
        old = sum(self.held[first + at] << at * self.byte for at in range(count))
        new = changed(operation.name, old, operand, count * self.byte)
        for at in range(count):
            self.held[first + at] = new >> at * self.byte & (1 << self.byte) - 1
        return old

    @property
    def value(self) -> int:
        return sum(byte << at * self.byte for at, byte in enumerate(self.held))


def parts(operation: Operation) -> range:
    """The bytes of a row at which an operation may begin."""
    return range(0, 8, int(4 * operation.size))


def bits(operation: Operation, row: int) -> int:
    return int(row * operation.size / 2)


# Units


def test_the_ultracomputers_operations() -> None:
    """All those that VII-F names, and which of them combine in the network."""
    names = {operation.name for operation in SETS}
    combining = {"load", "load-double", "store", "store-double", "fetch-and-store"}
    combining |= {"fetch-and-store-if-zero", "fetch-and-store-if-nonnegative", "fetch-and-add"}
    combining |= {"fetch-and-or", "fetch-and-and"}
    assert names == combining | {"store-half", "store-byte"}
    pairs = {(a.name, b.name) for a, b, _ in Rules(SETS, "ultracomputer").pairs()}
    assert {a for a, b in pairs if a == b} == combining
    sizes = {operation.name: operation.size for operation in SETS}
    for policy in ("ultracomputer", "all"):
        for first, second, result in Rules(EVERY, policy).pairs():
            assert first.size == second.size == result.size
    assert all(sizes[a] == sizes[b] for a, b in pairs)


def test_units_take_parts() -> None:
    """All operations, values and operands; other bits of the inputs do not matter."""
    width = 8
    unit = OperationUnit(EVERY, width)
    rng = random.Random(SEED)

    async def testbench(ctx: Any) -> None:
        for code, operation in enumerate(EVERY):
            size = bits(operation, width)
            values = [(x, e) for x in range(1 << size) for e in range(1 << size)]
            ctx.set(unit.operation, code)
            for x, e in values if size < width else rng.sample(values, 200):
                noise = rng.randrange(256) >> size << size
                ctx.set(unit.x, x | noise)
                ctx.set(unit.operand, e | rng.randrange(256) >> size << size)
                got = ctx.get(unit.result) & (1 << size) - 1
                assert got == changed(operation.name, x, e, size), (operation, x, e)

    evaluate(unit, testbench)


def test_combined_requests_do_what_two_do() -> None:
    """All pairs, for all values of parts of up to four bits, and some of eight."""
    width = 8
    rules = Rules(EVERY, "all")
    combiner = Combiner(rules, width)
    rng = random.Random(SEED)

    async def testbench(ctx: Any) -> None:
        for (a, first), (b, second) in itertools.product(enumerate(EVERY), repeat=2):
            ctx.set(combiner.first, a)
            ctx.set(combiner.second, b)
            result = rules.combined(first, second)
            assert ctx.get(combiner.possible) == (result is not None)
            assert first.size == second.size or result is None
            if result is None:
                continue
            assert EVERY[ctx.get(combiner.operation)] == result
            size = bits(first, width)
            most = 1 << size
            for e1, e2, x in [[rng.randrange(most) for _ in range(3)] for _ in range(20)]:
                ctx.set(combiner.first_operand, e1 | rng.randrange(256) >> size << size)
                ctx.set(combiner.second_operand, e2 | rng.randrange(256) >> size << size)
                operand = ctx.get(combiner.operand) % most
                middle = changed(first.name, x, e1, size)
                after = changed(second.name, middle, e2, size)
                assert changed(result.name, x, operand, size) == after, (first, second, e1, e2)
                if second.replies and result.replies:
                    assert first.perform(x, e1, size) == middle

    evaluate(combiner, testbench)


def test_memory_performs_operations_on_all_parts() -> None:
    link = MemoryLink(tag=1, address=1 + 3, width=16, operations=EVERY)
    assert link.part_bits == 3
    rng = random.Random(SEED)
    start = [rng.randrange(1 << 16) for _ in range(2)]
    design = MemoryModule(link, words=tuple(start))
    rows = [Bytes(2, value) for value in start]
    request, reply = design.i.request, design.i.reply
    codes = {operation: code for code, operation in enumerate(EVERY)}
    jobs = [(row, op, part) for row in (0, 1) for op in EVERY for part in parts(op)] * 2

    async def testbench(ctx: Any) -> None:
        ctx.set(reply.ready, 1)
        ctx.set(request.valid, 1)
        rng.shuffle(jobs)
        for row, operation, part in jobs:
            operand = rng.randrange(1 << 16)
            ctx.set(
                request.payload,
                {"address": row << 3 | part, "operation": codes[operation], "operand": operand},
            )
            await ctx.tick()
            size = bits(operation, 16)
            old = rows[row].perform(operation, part, operand % (1 << size))
            assert ctx.get(Value.cast(reply.payload.value)) % (1 << size) == old
        ctx.set(request.valid, 0)
        await ctx.tick()
        held = [ctx.get(design.words.data[row]) for row in (0, 1)]
        assert held == [row.value for row in rows]

    exercise(design, testbench)


OVERTAKING = [  # byte and operation of each request, and how many combine
    ("4 store", "0 store-double", "4 store", 0),
    ("4 store", "0 load-double", "4 store", 0),
    ("4 store", "5 store-byte", "4 store", 0),
    ("3 store-byte", "0 load", "3 store-byte", 0),
    ("4 store", "4 store", "0 load-double", 1),
    ("0 load-double", "4 store", "4 store", 1),
    ("0 store", "0 store-byte", "4 store", 0),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("case", OVERTAKING, ids=lambda case: ", ".join(case[:3]))
def test_none_overtakes_another_that_it_overlaps(
    case: tuple[str, str, str, int], together: int
) -> None:
    """Requests for one row of a queue whose head waits, one per cycle or two."""
    link = MemoryLink(tag=1, identity=3, address=1 + 3, width=8, operations=EVERY)
    queue = CombiningQueue(link, Rules(EVERY, "all"), writers=2, depth=8, pairwise=False)
    codes = {operation.name: code for code, operation in enumerate(EVERY)}
    # Those of another row leave first, so that none of these is the head.
    *requests, combined = case
    jobs = [(int(at), name) for at, name in map(str.split, ("8 load", "8 store", *requests))]
    seen: list[str] = []

    async def testbench(ctx: Any) -> None:
        count = 0
        ctx.set(queue.free, 3)
        for at in range(0, len(jobs), together):
            for port in range(2):
                given = jobs[at : at + together][port : port + 1]
                ctx.set(queue.i[port].valid, len(given))
                for address, name in given:
                    request = {"address": address, "operation": codes[name]}
                    ctx.set(queue.i[port].payload, request)
            count += ctx.get(queue.combined).bit_count()
            await ctx.tick()
        for port in range(2):
            ctx.set(queue.i[port].valid, 0)
        ctx.set(queue.o.ready, 1)
        while ctx.get(queue.o.valid):
            seen.append(EVERY[ctx.get(Value.cast(queue.o.payload.operation))].name)
            await ctx.tick()
        # Two in one cycle may combine with the other row's first.
        assert count - combined in (0, together == 2)

    exercise(queue, testbench)
    if not combined:
        assert seen[-3:] == [name for _, name in jobs[-3:]]


# Networks


SMALL: dict[str, Any] = {"ports": 2, "rows": 4, "width": 4, "depth": 2, "wait": 2}


def request(operation: Operation, first: int, operand: int, row: int = 0) -> Request:
    """The request for a row's byte."""
    count = int(4 * operation.size)
    within = first % 4 // count if operation.size < 1 else 0
    return Request(operation, 2 * row + first // 4, operand, within)


@pytest.mark.long
@pytest.mark.parametrize("hashing", ["none", long("polynomial")])
@pytest.mark.parametrize("engine", ["compiled", long("amaranth")])
def test_one_processor_against_the_model(engine: str, hashing: str) -> None:
    """All operations on all parts of all rows, in some order, with replies and final words."""
    network = CombiningNetwork(**SMALL, operations=EVERY, hashing=hashing)
    rng = random.Random(SEED)
    start = {word: rng.randrange(16) for word in range(8)}
    rows = [Bytes(1, start[2 * row] | start[2 * row + 1] << 4) for row in range(4)]
    jobs = [(row, op, part) for row in range(4) for op in EVERY for part in parts(op)]
    rng.shuffle(jobs)

    def program() -> Iterator[Any]:
        for row, operation, part in jobs:
            operand = rng.randrange(1 << bits(operation, 8))
            reply = yield request(operation, part, operand, row)
            old = rows[row].perform(operation, part, operand)
            assert reply == (old if operation.replies else None)

    run = run_programs(network, [program()], memory=start, engine=engine)
    assert run.memory == [value for row in rows for value in (row.value & 15, row.value >> 4)]
    assert run.serializable


ROUND = 30
"""Cycles of a round: more than four requests one after another take."""


def rounds(jobs: Sequence[Any], number: int, start: Sequence[int], seen: dict) -> Iterator[Any]:
    """In each round one of two requests that the processors send in the same cycle; number 0
    also stores the row before, and loads it afterwards."""
    begin = yield Pause(0)
    for turn, job in enumerate(jobs):
        if number == 0:
            yield Request("store-double", 0, start[turn])
        now = yield Pause(0)
        yield Pause(begin + turn * ROUND + 9 - now)
        seen[turn, number] = yield request(*job[number])
        now = yield Pause(0)
        yield Pause(begin + turn * ROUND + 19 - now)
        if number == 0:
            seen[turn, "after"] = yield Request("load-double", 0)
        now = yield Pause(0)
        yield Pause(begin + (turn + 1) * ROUND - now)


@pytest.mark.long
@pytest.mark.parametrize(
    ("engine", "policy", "bytes_"),
    [
        ("compiled", "all", (0, 1, 4)),
        long("compiled", "all", range(8)),
        long("compiled", "ultracomputer", range(8)),
        long("amaranth", "all", range(8)),
    ],
)
def test_two_at_once_against_the_model(engine: str, policy: str, bytes_: Sequence[int]) -> None:
    """All pairs of operations and parts that meet in a box: one of both orders explains them."""
    network = CombiningNetwork(**SMALL, operations=EVERY, combine=policy)
    rng = random.Random(SEED)
    simple = [op for op in EVERY if op.size != 1 or op.name in ("load", "store", "fetch-and-add")]
    starts = [(op, part) for op in simple for part in parts(op) if part in bytes_]
    jobs = [
        [(op, part, rng.randrange(1 << bits(op, 8))) for op, part in pair]
        for pair in itertools.product(starts, repeat=2)
    ]
    start = [rng.randrange(256) for _ in jobs]
    seen: dict[Any, Any] = {}
    programs = [rounds(jobs, number, start, seen) for number in range(2)]
    run = run_programs(network, programs, engine=engine)
    assert run.cycles == len(jobs) * ROUND
    for turn, job in enumerate(jobs):
        outcomes = []
        for order in ((0, 1), (1, 0)):
            row = Bytes(1, start[turn])
            replies: dict[int, int | None] = {}
            for number in order:
                old = row.perform(*job[number])
                replies[number] = old if job[number][0].replies else None
            outcomes.append((replies[0], replies[1], row.value))
        assert (seen[turn, 0], seen[turn, 1], seen[turn, "after"]) in outcomes, (job, start[turn])
    # Those that the rules combine do, in the one stage; the others do not.
    rules = Rules(EVERY, policy)
    expected = sum(a[1] == b[1] and rules.combined(a[0], b[0]) is not None for a, b in jobs)
    assert run.combined == [expected]
    assert expected >= 20


@pytest.mark.long
@pytest.mark.parametrize(
    "parameters",
    [
        {"operations": FEW},
        long({"operations": EVERY}),
        long({"operations": "ultracomputer-sizes"}),
        long({"ports": 4, "operations": EVERY, "merge": "unlimited"}),
        long({"ports": 4, "operations": EVERY, "radix": 4, "processors_per_port": 2}),
        long({"ports": 4, "paths": 2, "operations": EVERY}),
        long({"ports": 4, "operations": EVERY, "queues": "input", "combine": "none"}),
        long({"ports": 4, "operations": EVERY, "hashing": "polynomial", "lengths": "2:4"}),
    ],
    ids=lambda given: "-".join(
        f"{name} {len(value) if name == 'operations' else value}" for name, value in given.items()
    ),
)
@pytest.mark.parametrize("engine", ["compiled", long("amaranth")])
def test_random_runs_are_serial(parameters: dict[str, Any], engine: str) -> None:
    """Overlapping operations of several sizes, of which each processor has many unanswered."""
    network = CombiningNetwork(**{**SMALL, "depth": 4, **parameters})
    result = measure(
        network,
        engine=engine,
        **{"traffic": "hotspot:0.6:0", "load": 0.7, "cycles": 150, "seed": SEED, "bins": 64},
        operations=("all",),
    )
    assert result.serializable
    if network.parameters.combine != "none":
        assert sum(result.statistics["combined"]) > 0.01


# The search for a serial order


def explained(history: list[Access], value: int, final: int) -> bool:
    """Whether some order does, of all that there are."""
    for order in itertools.permutations(range(len(history))):
        kept = all(
            order.index(a) < order.index(b)
            for a in range(len(history))
            for b in range(a + 1, len(history))
            if history[a].processor == history[b].processor
        )
        row = Bytes(1, value)
        fits = kept
        for number in order if kept else ():
            access = history[number]
            reply = row.perform(access.operation, access.offset, access.operand)
            fits = fits and access.reply in (None, reply)
        if fits and row.value == final:
            return True
    return False


def test_orders_of_parts_against_all_permutations() -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    found = [0, 0]
    names = ("load", "store", "fetch-and-add", "load-double", "store-double", "store-byte")
    kinds = [*(find_operation(name, EVERY) for name in names), ADD_HALF, MIN_BYTE]
    for _ in range(400):
        row = Bytes(1, rng.randrange(256))
        start, history = row.value, []
        for _ in range(4):
            operation = rng.choice(kinds)
            first = rng.choice(parts(operation)[:2])
            size = bits(operation, 8)
            operand = rng.randrange(1 << size)
            reply = row.perform(operation, first, operand)
            if rng.random() < 0.1:
                reply = rng.randrange(1 << size)
            known = reply if operation.replies else None
            part = (first, size) if size < 8 else (0, 0)
            history.append(
                Access(rng.randrange(3), operation, operand, known, offset=part[0], bits=part[1])
            )
        rng.shuffle(history)
        final = row.value if rng.random() < 0.7 else row.value ^ 1 << rng.randrange(8)
        expected = explained(history, start, final)
        order = serial_order(history, width=8, initial=start, final=final)
        assert (order is not None) == expected, (start, history, final)
        found[expected] += 1
    assert min(found) > 50


# Refusals


def _tried(*requests: Request) -> None:
    network = CombiningNetwork(**SMALL, operations="ultracomputer-sizes", combine="none")

    def program() -> Iterator[Any]:
        yield from requests

    run_programs(network, [program()], engine="amaranth")


REJECTED: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Operation("inc", lambda x, e: x + 1, kind="loads"),
        "Kind must be one of update, load, store, not 'loads'; did you mean 'load'?",
    ),
    (
        lambda: Operation("load-triple", lambda x, e: x, kind="load", size=3),
        "Size must be 0.25, 0.5, 1 or 2 words, not 3",
    ),
    (
        lambda: MemoryLink(tag=1, address=4, width=12, operations=SETS),
        "Width of a row must be a multiple of 8 for store-byte, not 12",
    ),
    (
        lambda: MemoryLink(tag=1, address=3, width=8, operations=SETS),
        "Address must have more bits than the 3 of a part, not 3",
    ),
    (
        lambda: CombiningNetwork(4, rows=3, operations=SETS),
        "Rows must be even for double words, not 3",
    ),
    (
        lambda: CombiningNetwork(4, width=6, operations=SETS),
        "Width of a row must be a multiple of 8 for store-byte, not 12",
    ),
    (
        lambda: _tried(Request("load-double", 3)),
        "Processor 0: Word of load-double must be even, not 3",
    ),
    (
        lambda: _tried(Request("store-byte", 3, 1, 4)),
        "Processor 0: Part of store-byte must be from 0 to 3, not 4",
    ),
    (
        lambda: _tried(Request("store", 3, 1, 1)),
        "Processor 0: Part of store must be from 0 to 0, not 1",
    ),
    (
        lambda: _tried(Request("store-half", 3, 4)),
        "Processor 0: Operand must be from -2 to 3, not 4",
    ),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("make", "message"), REJECTED, ids=[m for _, m in REJECTED])
def test_rejects(make: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        make()


def test_words_alone_need_no_parts() -> None:
    assert MemoryLink(tag=1, address=1, width=5, operations=OPERATIONS).part_bits == 0
