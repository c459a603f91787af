# amaranth: UnusedElaboratable=no
"""Boxes whose links are bundles of lanes, against models written from their documentation."""

import random
from typing import Any

import pytest
from driving import exercise, transport
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.boxes import InputQueuedSwitch, OutputQueuedSwitch
from multicube.hdl.boxes.circuit_copies import CircuitDistributor, CircuitMerger
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.lane_queue import LaneQueue
from multicube.sim import simulate as simulate_network
from refusals import refusals

TAG = 2
LAYOUT = Packet(TAG, 20)


class LaneQueueModel:
    """A list, and the packet that each lane has shown in vain."""

    def __init__(self, writers: int, lanes: int, depth: int, *, refill: bool) -> None:
        self.depth, self.refill, self.writers = depth, refill, writers
        self.queue: list[int] = []
        self.kept: list[int | None] = [None] * lanes
        self.turn = 0

    def shown(self) -> list[int | None]:
        heads = iter([*self.queue, *[None] * len(self.kept)])
        return [next(heads) if kept is None else kept for kept in self.kept]

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        before, shown = len(self.queue), self.shown()
        del self.queue[: self.kept.count(None)]
        self.kept = [None if taken else word for word, taken in zip(shown, ready)]
        room = self.depth - (len(self.queue) if self.refill else before)
        accepted = [False] * self.writers
        for i in [*range(self.turn, self.writers), *range(self.turn)]:
            if offered[i] is not None and room > 0:
                accepted[i] = True
                room -= 1
                self.queue.append(offered[i])
        self.turn = (self.turn + sum(accepted)) % self.writers
        return accepted, shown


class OutputModel:
    """A `LaneQueueModel` at each output of a 2 x 2 box."""

    def __init__(self, inputs: int, lanes: int, depth: int) -> None:
        self.queues = [LaneQueueModel(inputs, lanes, depth, refill=depth == 1) for _ in range(2)]
        self.lanes = lanes

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        accepted, shown = [False] * len(offered), []
        for j, queue in enumerate(self.queues):
            own = [word if word is not None and word >> 1 & 1 == j else None for word in offered]
            got, out = queue.cycle(own, ready[j * self.lanes : (j + 1) * self.lanes])
            accepted = [a or b for a, b in zip(accepted, got)]
            shown += [None if word is None else rotated(word) for word in out]
        return accepted, shown


def modelled_throughput(ports: int, lanes: int, depth: int, cycles: int, seed: int) -> float:
    """A network of `OutputModel` whose sources always have a packet, with uniform traffic."""
    generator = random.Random(seed)
    plan = multistage_plan("cube", ports, 2)
    last = len(plan.stages) - 1
    digits = [[hop.output for hop in plan.path(0, d)] for d in range(ports)]
    links = [1, *[lanes] * last, 1]  # in each bundle before stage s
    boxes = [
        [OutputModel(2 * links[s], links[s + 1], depth) for _ in range(ports // 2)]
        for s in range(last + 1)
    ]
    waiting = [generator.randrange(ports) for _ in range(ports)]
    arrived = 0
    for cycle in range(2 * cycles):
        # What each line carries after each stage, as destinations.
        lines: list[list[list[int | None]]] = [[[d] for d in waiting]]
        for s in range(last + 1):
            row = []
            for label in range(ports):
                box, port = plan.port(s, label)
                shown = boxes[s][box].queues[port].shown()
                row.append([None if word is None else word >> 2 for word in shown])
            lines.append(row)
        ready = [[True] for _ in range(ports)]
        for s in range(last, -1, -1):
            entry = {plan.port(s, plan.relabel(s, label)): label for label in range(ports)}
            exit_ = {plan.port(s, label): label for label in range(ports)}
            before = [[False]] * ports
            for x, box in enumerate(boxes[s]):
                sources = [entry[x, port] for port in range(2)]
                offered = [
                    None if d is None else d << 2 | digits[d][s] << 1
                    for label in sources
                    for d in lines[s][label]
                ]
                taken = [flag for port in range(2) for flag in ready[exit_[x, port]]]
                accepted, _ = box.cycle(offered, taken)
                for number, label in enumerate(sources):
                    before[label] = accepted[number * links[s] : (number + 1) * links[s]]
            ready = before
        for source, (taken,) in enumerate(ready):
            if taken:
                waiting[source] = generator.randrange(ports)
        if cycle >= cycles:
            arrived += sum(d is not None for (d,) in lines[-1])
    return arrived / cycles / ports


@pytest.mark.long
@pytest.mark.parametrize(("ports", "lanes", "depth"), [(8, 2, 1), long(16, 2, 4), long(16, 4, 2)])
def test_dilated_networks_carry_what_their_model_does(ports: int, lanes: int, depth: int) -> None:
    network = MultistageNetwork(ports, dilation=lanes, depth=depth)
    result = simulate_network(network, load=1.0, cycles=3000, warmup=500, seed=3)
    expected = modelled_throughput(ports, lanes, depth, 1000, 3)
    print(f"measured {result.throughput:.4f} +- {result.throughput_ci99:.4f}, model {expected:.4f}")
    assert abs(result.throughput - expected) < result.throughput_ci99 + 0.02 * expected
    single = modelled_throughput(ports, 1, depth, 500, 3)
    assert result.throughput > 1.1 * single


class InputModel:
    """A list at each input link; the lanes of an output choose one after the other, in turn, and
    stick to their choice."""

    def __init__(self, inputs: int, lanes: int, depth: int) -> None:
        self.queues: list[list[int]] = [[] for _ in range(inputs)]
        self.depth, self.lanes = depth, lanes
        self.first = [0] * (2 * lanes)
        self.kept: list[int | None] = [None] * (2 * lanes)

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        inputs = len(self.queues)
        shown: list[int | None] = [None] * (2 * self.lanes)
        popped = [False] * inputs
        busy = {i for i in self.kept if i is not None}
        for link in range(2 * self.lanes):
            choices = [*range(self.first[link], inputs), *range(self.first[link])]
            kept = self.kept[link]
            for i in choices if kept is None else [kept]:
                queue = self.queues[i]
                free = kept is not None or i not in busy
                if queue and queue[0] >> 1 & 1 == link // self.lanes and free:
                    busy.add(i)
                    shown[link] = rotated(queue[0])
                    popped[i] = ready[link]
                    self.kept[link] = None if ready[link] else i
                    self.first[link] = (i + ready[link]) % inputs
                    break
        accepted = [False] * inputs
        for i, queue in enumerate(self.queues):
            room = len(queue) - (popped[i] and self.depth == 1) < self.depth
            if popped[i]:
                queue.pop(0)
            if offered[i] is not None and room:
                accepted[i] = True
                queue.append(offered[i])
        return accepted, shown


def rotated(word: int) -> int:
    """As the next stage sees it: the two bits of the tag exchanged."""
    return word >> 2 << 2 | (word & 1) << 1 | word >> 1 & 1


def follow(dut: Any, model: Any, seed: int, cycles: int) -> None:
    """Lock-step, with random waits on both sides."""
    generator = random.Random(seed)
    print("seed", seed)
    numbers = iter(range(1 << 18))

    def word(port: int, cycle: int) -> int | None:
        load = 0.95 if cycle % 100 < 60 else 0.2
        if generator.random() >= load:
            return None
        return next(numbers) << 2 | generator.randrange(4)

    eager = [generator.choice((0.3, 0.7, 1.0)) for _ in dut.o]
    trace = transport(
        dut, cycles=cycles, offer=word, ready=lambda port, cycle: generator.random() < eager[port]
    )
    moved = 0
    for number, cycle in enumerate(trace):
        accepted, shown = model.cycle(cycle.offered, cycle.ready)
        assert cycle.shown == shown, number
        entered = [i for i, _ in cycle.entered()]
        assert entered == [i for i, yes in enumerate(accepted) if yes], number
        moved += len(cycle.moved())
    assert moved > cycles // 4


@pytest.mark.one_in(2)
@pytest.mark.parametrize("refill", [True, False], ids=["refill", "none"])
@pytest.mark.parametrize(
    ("writers", "lanes", "depth"),
    [(4, 2, 4), (2, 4, 1), long(2, 2, 1), (3, 2, 2), long(8, 4, 4), long(1, 1, 3)],
)
def test_lane_queue_is_its_model(writers: int, lanes: int, depth: int, refill: bool) -> None:
    dut = LaneQueue(LAYOUT, writers=writers, lanes=lanes, depth=depth, refill=refill)
    model = LaneQueueModel(writers, lanes, depth, refill=refill)
    follow(dut, model, writers * 10 + lanes, 300)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("switch", "model"), [(OutputQueuedSwitch, OutputModel), (InputQueuedSwitch, InputModel)]
)
@pytest.mark.parametrize(
    ("before", "after", "depth"),
    [(2, 2, 3), (1, 2, 1), long(1, 3, 2), long(3, 3, 4), long(2, 4, 1)],
)
def test_dilated_box_is_its_model(
    switch: type, model: type, before: int, after: int, depth: int
) -> None:
    dut = switch(LAYOUT, radix=2, depth=depth, dilation_in=before, dilation_out=after)
    follow(dut, model(2 * before, after, depth), before * 10 + after, 300)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("policy", ["hold", "drop", "modified-hold"])
def test_merger_of_circuits_serves_one_after_the_other(policy: str) -> None:
    """No circuit without a gap before it, none is taken from its owner, and who is refused waits
    or is rejected, by the policy."""
    limit = 3
    dut = CircuitMerger(Packet(1, 4), 3, policy=policy, hold_limit=limit)
    generator = random.Random(5)
    print("seed 5")
    served: list[int] = []

    async def testbench(ctx: Any) -> None:
        asking, waited = [False] * 3, [0] * 3
        owner: int | None = None
        for _ in range(500):
            for c, port in enumerate(dut.i):
                asking[c] = generator.random() < (0.9 if asking[c] else 0.3)
                ctx.set(port.request, asking[c])
                ctx.set(port.payload.payload, c)
            ctx.set(dut.o.grant, ctx.get(dut.o.request))
            granted = [c for c, port in enumerate(dut.i) if ctx.get(port.grant)]
            gone = [bool(ctx.get(port.reject)) for port in dut.i]
            if owner is None:
                assert len(granted) == any(asking)
                served.extend(granted)
            else:
                assert granted == ([owner] if asking[owner] else [])
            if granted:
                assert ctx.get(dut.o.payload.payload) == granted[0]
            for c in range(3):
                refused = asking[c] and c not in granted
                late = policy == "drop" or (policy != "hold" and waited[c] == limit)
                assert gone[c] == (refused and late)
                waited[c] = waited[c] + 1 if refused and not gone[c] else 0
                asking[c] = asking[c] and not gone[c]
            owner = granted[0] if granted else None
            await ctx.tick()

    exercise(dut, testbench)
    assert min(served.count(c) for c in range(3)) > 8


def test_distributor_of_circuits_keeps_to_its_choice() -> None:
    dut = CircuitDistributor(Packet(1, 4), 3)
    generator = random.Random(6)
    print("seed 6")
    chosen: list[int] = []

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.seed, 77)
        before: list[int] = []
        for cycle in range(600):
            ctx.set(dut.i.request, cycle > 20 and generator.random() < 0.7)
            for port in dut.o:
                ctx.set(port.grant, ctx.get(port.request))
            asked = [c for c, port in enumerate(dut.o) if ctx.get(port.request)]
            assert len(asked) == ctx.get(dut.i.request) == ctx.get(dut.i.grant)
            if before and asked:
                assert asked == before
            elif asked:
                chosen.extend(asked)
            before = asked
            await ctx.tick()

    exercise(dut, testbench)
    assert min(chosen.count(c) for c in range(3)) > len(chosen) / 5


test_rejects = refusals(
    lambda make: make(),
    (lambda: LaneQueue(1, writers=0, lanes=1, depth=1), "Writers must be at least 1, not 0"),
    (lambda: LaneQueue(1, writers=1, lanes=0, depth=1), "Lanes must be at least 1, not 0"),
    (lambda: LaneQueue(1, writers=1, lanes=1, depth=0), "Depth must be at least 1, not 0"),
    (lambda: CircuitMerger(LAYOUT, 0), "Copies must be at least 1, not 0"),
    (lambda: CircuitDistributor(LAYOUT, 0), "Copies must be at least 1, not 0"),
    (
        lambda: CircuitMerger(LAYOUT, 2, policy="keep"),
        "Policy must be one of hold, drop, modified-hold, not 'keep'",
    ),
    (
        lambda: InputQueuedSwitch(LAYOUT, radix=2, depth=1, dilation_in=0),
        "Dilation must be at least 1, not 0",
    ),
)
