# amaranth: UnusedElaboratable=no
"""The queue with several inputs, against a list."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from amaranth.hdl import Cat, Value
from amaranth.lib import data
from driving import Cycle, exercise, transport
from long_runs import long
from multicube.hdl.primitives import arrival_queue as arrival_queue_module
from multicube.hdl.primitives.arrival_queue import ArrivalQueue

WRITERS = [1, 2, 3, 4, long(8), 9]
DEPTHS = [1, 2, 4, 3, 8, long(32)]


class Model:
    """What the queue's documentation promises, cycle by cycle."""

    def __init__(self, writers: int, depth: int, refill: bool) -> None:
        self.writers, self.depth, self.refill = writers, depth, refill
        self.waiting: list[int] = []
        self.arrivals = 0

    def cycle(self, offered: list[int | None], ready: bool) -> tuple[list[bool], int | None]:
        """Which inputs are accepted, and what the output shows."""
        shown = self.waiting[0] if self.waiting else None
        pop = shown is not None and ready
        level = len(self.waiting) - (pop and self.refill)
        accepted = [False] * self.writers
        arriving = []
        first = self.arrivals % self.writers
        for i in [*range(first, self.writers), *range(first)]:
            if offered[i] is not None and level + len(arriving) < self.depth:
                accepted[i] = True
                arriving.append(offered[i])
        self.waiting = self.waiting[pop:] + arriving
        self.arrivals += len(arriving)
        return accepted, shown


def offers(seed: int, load: float) -> Callable[[int, int], int | None]:
    """Distinct payloads: the input in the low three bits, a number above."""
    generator = random.Random(seed)
    print(f"seed {seed}")
    numbers: dict[int, int] = {}

    def offer(port: int, cycle: int) -> int | None:
        if generator.random() >= load:
            return None
        numbers[port] = numbers.get(port, -1) + 1
        return numbers[port] << 3 | port

    return offer


def sometimes(seed: int, rate: float) -> Callable[[int, int], bool]:
    generator = random.Random(seed)
    return lambda port, cycle: generator.random() < rate


def random_trace(queue: ArrivalQueue, watched: Value) -> list[Cycle]:
    """What a queue does in 300 cycles of random arrivals and waits."""
    depth = queue.depth
    offer, ready = offers(depth, 0.6), sometimes(depth, 0.7)
    return transport(queue, cycles=300, offer=offer, ready=ready, watch=lambda: watched)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("refill", [False, True], ids=["plain", "refill"])
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("writers", WRITERS)
def test_arrival_queue_follows_the_model(writers: int, depth: int, refill: bool) -> None:
    """Every accepted arrival leaves once, in the promised order, under random waits."""
    queue = ArrivalQueue(16, writers=writers, depth=depth, refill=refill)
    model = Model(writers, depth, refill)
    # The queue runs empty and full in turn.
    phases = sometimes(depth, 0.95), sometimes(writers, 0.3)
    trace = transport(
        queue,
        cycles=320,
        offer=offers(1000 * depth + 10 * writers + refill, min(0.7, 1.4 / writers)),
        ready=lambda port, cycle: phases[cycle // 80 % 2](port, cycle),
        watch=lambda: queue.level,
    )
    levels = set()
    for number, cycle in enumerate(trace):
        levels.add(cycle.watched)
        assert cycle.watched == len(model.waiting), number
        accepted, shown = model.cycle(cycle.offered, cycle.ready[0])
        assert [shown] == cycle.shown, number
        for i, payload in enumerate(cycle.offered):
            assert payload is None or accepted[i] == cycle.accepted[i], (number, i)
    assert {0, depth} <= levels


@pytest.mark.parametrize("refill", [False, True], ids=["plain", "refill"])
@pytest.mark.parametrize("depth", [1, 2])
def test_arrival_queue_shows_what_will_be_first(depth: int, refill: bool) -> None:
    queue = ArrivalQueue(16, depth=depth, refill=refill, ahead=True)
    trace = random_trace(queue, Cat(queue.coming, queue.moves))
    for before, after in pairwise(trace):
        [first], moves, coming = after.shown, before.watched >> 16, before.watched & 0xFFFF
        assert first is None or first == (coming if moves else before.shown[0])


def test_arrival_queue_of_memories_shows_only_what_is_first() -> None:
    for arguments in ({"depth": 3}, {"depth": 2, "writers": 2}):
        with pytest.raises(ValueError, match="ahead must have one input and a depth of at most 2"):
            ArrivalQueue(16, ahead=True, **arguments)


@pytest.mark.parametrize("depth", [2, 4, 16])
@pytest.mark.parametrize("writers", [2, 4])
def test_separate_memories_change_no_cycle(writers: int, depth: int) -> None:
    traces = []
    for separate in (False, True):
        queue = ArrivalQueue(16, writers=writers, depth=depth, separate=separate)
        trace = random_trace(queue, queue.level)
        traces.append([(c.offered, c.accepted, c.shown, c.watched) for c in trace])
    assert traces[0] == traces[1]


@pytest.mark.parametrize(("writers", "depth"), [(1, 1), (2, 4), (3, 3), (8, 32)])
def test_arrival_queue_has_one_cycle_of_latency(writers: int, depth: int) -> None:
    queue = ArrivalQueue(16, writers=writers, depth=depth)
    trace = transport(
        queue,
        cycles=4 * writers,
        offer=lambda port, cycle: 100 + cycle if cycle == 4 * port else None,
    )
    assert [cycle.shown[0] for cycle in trace] == [
        99 + cycle if cycle % 4 == 1 else None for cycle in range(4 * writers)
    ]


@pytest.mark.parametrize("writers", WRITERS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_arrival_queue_has_full_throughput(writers: int, depth: int) -> None:
    """One packet a cycle while every input always offers; depth 1 needs `refill`."""
    queue = ArrivalQueue(16, writers=writers, depth=depth, refill=depth == 1)
    trace = transport(queue, cycles=60, offer=offers(1, 1.0))
    assert all(cycle.shown[0] is not None for cycle in trace[1:])


def test_arrival_queue_of_depth_one_without_refill_has_half_the_throughput() -> None:
    queue = ArrivalQueue(16, depth=1)
    trace = transport(queue, cycles=60, offer=offers(1, 1.0))
    assert [cycle.shown[0] is not None for cycle in trace] == [False, True] * 30


@pytest.mark.parametrize("writers", [2, 3, 4, 8])
def test_arrival_queue_takes_all_inputs_at_once(writers: int) -> None:
    queue = ArrivalQueue(16, writers=writers, depth=4 * writers)
    trace = transport(queue, cycles=4, offer=offers(2, 1.0), ready=lambda port, cycle: False)
    assert [sum(cycle.accepted) for cycle in trace] == [writers] * 4


@pytest.mark.one_in(2)
@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("writers", [2, 3, 4, 8])
def test_arrival_queue_bounds_overtaking(writers: int, depth: int) -> None:
    """An input that waits is overtaken at most writers - 1 times."""
    queue = ArrivalQueue(16, writers=writers, depth=depth)
    trace = transport(
        queue, cycles=400, offer=offers(writers * depth, 0.5), ready=sometimes(depth, 0.5)
    )
    overtaken = [0] * writers
    longest = 0
    for cycle in trace:
        taken = [payload is not None and ok for payload, ok in zip(cycle.offered, cycle.accepted)]
        for i, payload in enumerate(cycle.offered):
            if payload is None or taken[i]:
                overtaken[i] = 0
            else:
                overtaken[i] += sum(taken)
                longest = max(longest, overtaken[i])
    assert longest == writers - 1


def test_arrival_queue_reaches_the_states_of_its_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every input's packets are carried into every bank."""
    boxes: list[Any] = []
    original = arrival_queue_module.InterchangeBox

    def recording(*arguments: Any) -> Any:
        boxes.append(original(*arguments))
        return boxes[-1]

    monkeypatch.setattr(arrival_queue_module, "InterchangeBox", recording)
    queue = ArrivalQueue(16, writers=4, depth=8)
    trace = transport(
        queue,
        cycles=400,
        offer=offers(5, 0.2),
        watch=lambda: Cat(*boxes[-1].select, boxes[-1].enable),
    )
    pairs = set()
    for cycle in trace:
        for bank in range(4):
            if cycle.watched >> 8 + bank & 1:
                pairs.add((bank, cycle.watched >> 2 * bank & 3))
    assert len(pairs) == 16


def test_arrival_queue_carries_any_shape() -> None:
    layout = data.StructLayout({"low": 3, "high": 5})
    queue = ArrivalQueue(layout, writers=2, depth=2)
    values = [{"low": 5, "high": 17}, {"low": 2, "high": 30}]

    async def testbench(ctx: Any) -> None:
        ctx.set(Cat(port.valid for port in queue.i), 0b11)
        for port, value in zip(queue.i, values):
            ctx.set(port.payload, value)
        await ctx.tick()
        ctx.set(Cat(port.valid for port in queue.i), 0)
        ctx.set(queue.o.ready, 1)
        for value in values:
            assert ctx.get(queue.o.valid)
            assert {name: ctx.get(queue.o.payload[name]) for name in value} == value
            await ctx.tick()
        assert not ctx.get(queue.o.valid)

    exercise(queue, testbench)


def test_arrival_queue_keeps_its_parameters() -> None:
    queue = ArrivalQueue(8, writers=3, depth=5, refill=True)
    assert (queue.shape, queue.writers, queue.depth, queue.refill) == (8, 3, 5, True)
    assert len(queue.level) == 3


@pytest.mark.parametrize("word", ["Writers", "Depth"])
@pytest.mark.parametrize("value", ["2", 2.5, None, False])
def test_arrival_queue_rejects_a_wrong_type(word: str, value: object) -> None:
    with pytest.raises(TypeError, match=rf"^{word} must be an integer, not {value!r}$"):
        ArrivalQueue(8, **{"depth": 2, word.lower(): value})


@pytest.mark.parametrize("word", ["Writers", "Depth"])
@pytest.mark.parametrize("value", [-1, 0])
def test_arrival_queue_rejects_a_number_below_one(word: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"^{word} must be at least 1, not {value}$"):
        ArrivalQueue(8, **{"depth": 2, word.lower(): value})
