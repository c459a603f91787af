# amaranth: UnusedElaboratable=no
"""The buffered packet switches against models written from their documentation."""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Value
from amaranth.lib import data
from long_runs import long
from multicube.hdl.boxes import BoxState, InputQueuedSwitch, OutputQueuedSwitch
from multicube.hdl.links.packet import Packet
from multicube.hdl.switch import crossing

SWITCHES = [OutputQueuedSwitch, InputQueuedSwitch]
DEPTHS = [1, 2, 3, 4, 8, 32]
VARIANTS = [
    (radix, routing)
    for radix in (2, 3, 4, 8)
    for routing in ("destination", "xor")
    if radix != 3 or routing == "destination"
]
# The routing meets the queues nowhere, so a few depths are enough for the second kind.
CASES = [
    long(radix, routing, depth)
    if radix == 8 or (radix == 4 and depth > 4)
    else (radix, routing, depth)
    for radix, routing in VARIANTS
    for depth in (DEPTHS if routing == "destination" else [1, 3])
]
PAYLOAD = 16


class Wires:
    """Packets of two-digit tags as integers: tag in the low bits, number and input above."""

    def __init__(self, radix: int, routing: str, outputs: int | None = None) -> None:
        self.radix, self.routing, self.outputs = radix, routing, outputs or radix
        self.bits = (self.outputs - 1).bit_length()
        self.layout = Packet(2 * self.bits, PAYLOAD)

    def make(self, input_: int, output: int, later: int, number: int) -> int:
        """A packet that goes to `output`, with the digit `later` for the next stage."""
        digit = output ^ input_ if self.routing == "xor" else output
        return later | digit << self.bits | (number << 3 | input_) << 2 * self.bits

    def output(self, packet: int, input_: int) -> int:
        digit = packet >> self.bits & (1 << self.bits) - 1
        return digit ^ input_ if self.routing == "xor" else digit

    def forwarded(self, packet: int) -> int:
        low, high = packet & (1 << self.bits) - 1, packet >> self.bits & (1 << self.bits) - 1
        return packet >> 2 * self.bits << 2 * self.bits | low << self.bits | high

    def name(self, packet: int) -> tuple[int, int]:
        """Input and number of a packet."""
        name = packet >> 2 * self.bits
        return name & 7, name >> 3


class OutputQueuedModel:
    """A list at each output; arrivals of a cycle enter it in turn."""

    def __init__(self, wires: Wires, depth: int) -> None:
        self.wires, self.depth = wires, depth
        self.refill = depth == 1
        self.queues: list[list[int]] = [[] for _ in range(wires.outputs)]
        self.arrivals = [0] * wires.outputs

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        radix = self.wires.radix
        shown = [queue[0] if queue else None for queue in self.queues]
        accepted = [False] * radix
        for j, queue in enumerate(self.queues):
            pop = bool(queue) and ready[j]
            room = self.depth - len(queue) + (pop and self.refill)
            first = self.arrivals[j] % radix
            for i in [*range(first, radix), *range(first)]:
                packet = offered[i]
                if packet is not None and self.wires.output(packet, i) == j and room > 0:
                    accepted[i] = True
                    room -= 1
                    self.arrivals[j] += 1
                    queue.append(self.wires.forwarded(packet))
            if pop:
                queue.pop(0)
        return accepted, shown


class InputQueuedModel:
    """A list at each input; each output serves the heads in turn and sticks to its choice."""

    def __init__(self, wires: Wires, depth: int) -> None:
        self.wires, self.depth = wires, depth
        self.refill = depth == 1
        self.queues: list[list[int]] = [[] for _ in range(wires.radix)]
        self.first = [0] * wires.outputs

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        radix = self.wires.radix
        shown: list[int | None] = [None] * self.wires.outputs
        popped = [False] * radix
        for j in range(self.wires.outputs):
            for i in [*range(self.first[j], radix), *range(self.first[j])]:
                queue = self.queues[i]
                if queue and self.wires.output(queue[0], i) == j:
                    shown[j] = self.wires.forwarded(queue[0])
                    popped[i] = ready[j]
                    self.first[j] = (i + ready[j]) % radix
                    break
        accepted = [False] * radix
        for i, queue in enumerate(self.queues):
            room = len(queue) - (popped[i] and self.refill) < self.depth
            if popped[i]:
                queue.pop(0)
            if offered[i] is not None and room:
                accepted[i] = True
                queue.append(offered[i])
        return accepted, shown


MODELS = {OutputQueuedSwitch: OutputQueuedModel, InputQueuedSwitch: InputQueuedModel}


def traffic(wires: Wires, seed: int, load: float) -> Callable[[int, int], int | None]:
    """Packets to random outputs."""
    generator = random.Random(seed)
    print(f"seed {seed}")
    numbers: Counter[int] = Counter()

    def offer(port: int, cycle: int) -> int | None:
        if generator.random() >= load:
            return None
        numbers[port] += 1
        output, later = generator.randrange(wires.outputs), generator.randrange(wires.outputs)
        return wires.make(port, output, later, numbers[port])

    return offer


def sometimes(seed: int) -> Callable[[int, int], bool]:
    """Ready seldom for a while, so that queues fill, and often for a while."""
    generator = random.Random(seed)
    return lambda port, cycle: generator.random() < (0.35 if cycle // 50 % 2 else 0.9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("radix", "routing", "depth", "outputs"),
    [
        *(long(*each.values, None) if hasattr(each, "values") else (*each, None) for each in CASES),
        (4, "destination", 3, 3),
        (2, "destination", 1, 5),
        (3, "destination", 2, 5),
        long(8, "destination", 4, 2),
        long(3, "destination", 2, 8),
    ],
)
@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_follows_the_model(
    transport: Callable[..., list],
    switch: type,
    radix: int,
    routing: str,
    depth: int,
    outputs: int | None,
) -> None:
    """Cycle by cycle under random traffic and waits; nothing lost, doubled or out of order."""
    wires = Wires(radix, routing, outputs)
    dut = switch(wires.layout, radix=radix, depth=depth, routing=routing, outputs=outputs)
    model = MODELS[switch](wires, depth)
    busy, waits = traffic(wires, 100 * radix + depth, 0.7), sometimes(depth)
    trace = transport(
        dut,
        cycles=200 + 4 * depth,
        offer=lambda port, cycle: busy(port, cycle) if cycle < 150 else None,
        ready=lambda port, cycle: cycle >= 150 or waits(port, cycle),
    )
    sent: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    received: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for number, cycle in enumerate(trace):
        accepted, shown = model.cycle(cycle.offered, cycle.ready)
        assert cycle.shown == shown, number
        for i, packet in enumerate(cycle.offered):
            assert packet is None or cycle.accepted[i] == accepted[i], (number, i)
        for i, packet in cycle.entered():
            sent[i, wires.output(packet, i)].append(wires.name(packet))
        for j, packet in cycle.moved():
            received[wires.name(packet)[0], j].append(wires.name(packet))
    assert sent == received
    assert sum(map(len, sent.values())) > 30 * min(radix, wires.outputs)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("radix", "routing", "depth"), CASES)
@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_has_full_throughput(
    transport: Callable[..., list], switch: type, radix: int, routing: str, depth: int
) -> None:
    """A new permutation every cycle leaves one cycle later, whole."""
    wires = Wires(radix, routing)
    dut = switch(wires.layout, radix=radix, depth=depth, routing=routing)

    def output(port: int, cycle: int) -> int:
        return (port + cycle * (cycle + 1) // 2) % radix

    trace = transport(
        dut, cycles=40, offer=lambda port, cycle: wires.make(port, output(port, cycle), 1, cycle)
    )
    assert all(all(cycle.accepted) for cycle in trace)
    assert trace[0].shown == [None] * radix
    for number, (before, after) in enumerate(itertools.pairwise(trace)):
        expected = [0] * radix
        for i, packet in before.entered():
            expected[output(i, number)] = wires.forwarded(packet)
        assert after.shown == expected, number


@pytest.mark.parametrize(
    ("radix", "routing"),
    [long(*each) if each[0] == 8 else each for each in VARIANTS],
)
@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_has_one_cycle_of_latency(
    transport: Callable[..., list], switch: type, radix: int, routing: str
) -> None:
    """A packet alone, from every input to every output, is shown there one cycle later."""
    wires = Wires(radix, routing)
    dut = switch(wires.layout, radix=radix, depth=2, routing=routing)
    pairs = list(itertools.product(range(radix), repeat=2))

    def offer(port: int, cycle: int) -> int | None:
        source, output = pairs[cycle // 2]
        return wires.make(port, output, 0, cycle) if port == source and cycle % 2 == 0 else None

    trace = transport(dut, cycles=2 * len(pairs), offer=offer)
    for number, cycle in enumerate(trace):
        expected: list[int | None] = [None] * radix
        if number % 2:
            source, output = pairs[number // 2]
            expected[output] = wires.forwarded(wires.make(source, output, 0, number - 1))
        assert cycle.shown == expected


@pytest.mark.one_in(6)
@pytest.mark.parametrize("radix", [2, 3, 4, 8])
@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_is_fair(transport: Callable[..., list], switch: type, radix: int) -> None:
    """When all inputs want one output, it serves them in turn."""
    wires = Wires(radix, "destination")
    dut = switch(wires.layout, radix=radix, depth=2)
    generator = random.Random(radix)
    print(f"seed {radix}")
    trace = transport(
        dut,
        cycles=100,
        offer=lambda port, cycle: wires.make(port, radix - 1, 0, cycle),
        ready=lambda port, cycle: generator.random() < 0.7,
    )
    served = [wires.name(packet)[0] for cycle in trace for _, packet in cycle.moved()]
    assert len(served) > 50
    assert served == [number % radix for number in range(len(served))]


@pytest.mark.parametrize("radix", [2, 3])
def test_input_queued_switch_passes_every_partial_permutation(
    transport: Callable[..., list], radix: int
) -> None:
    wires = Wires(radix, "destination")
    dut = InputQueuedSwitch(wires.layout, radix=radix, depth=2)
    trace = transport(dut, cycles=900, offer=traffic(wires, radix, 0.45))
    maps = {frozenset((wires.name(packet)[0], j) for j, packet in c.moved()) for c in trace}
    assert len(maps) == {2: 7, 3: 34}[radix]


@pytest.mark.parametrize("radix", [2, 3])
def test_output_queued_switch_takes_every_combination_of_arrivals(
    transport: Callable[..., list], radix: int
) -> None:
    """Whatever the inputs hold is taken in one cycle while there is room: any targets."""
    wires = Wires(radix, "destination")
    dut = OutputQueuedSwitch(wires.layout, radix=radix, depth=32)
    trace = transport(dut, cycles=900, offer=traffic(wires, radix, 0.6))
    combinations = {frozenset((i, wires.output(p, i)) for i, p in c.entered()) for c in trace}
    assert len(combinations) == (radix + 1) ** radix


def test_input_queued_switch_sets_its_box(
    transport: Callable[..., list], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The states of the 2 x 2 box that one-to-one traffic needs are all met."""
    boxes: list[Any] = []
    original = crossing.InterchangeBox

    def recording(*arguments: Any, **options: Any) -> Any:
        boxes.append(original(*arguments, **options))
        return boxes[-1]

    monkeypatch.setattr(crossing, "InterchangeBox", recording)
    wires = Wires(2, "xor")
    dut = InputQueuedSwitch(wires.layout, radix=2, depth=2, routing="xor")
    trace = transport(
        dut, cycles=200, offer=traffic(wires, 3, 0.6), watch=lambda: Value.cast(boxes[-1].state)
    )
    for cycle in trace:
        moved = {(wires.name(packet)[0], j) for j, packet in cycle.moved()}
        if len(moved) == 2:
            straight = moved == {(0, 0), (1, 1)}
            assert BoxState(cycle.watched) == (BoxState.STRAIGHT if straight else BoxState.EXCHANGE)
    states = {BoxState(cycle.watched) for cycle in trace}
    assert {BoxState.STRAIGHT, BoxState.EXCHANGE} <= states


@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_carries_any_payload(simulate: Callable[..., None], switch: type) -> None:
    payload = data.StructLayout({"flag": 1, "value": data.ArrayLayout(4, 2)})
    dut = switch(Packet(1, payload), radix=2, depth=1)

    async def testbench(ctx: Any) -> None:
        value = {"flag": 1, "value": [5, 10]}
        ctx.set(dut.i[0].payload, {"tag": 1, "payload": value})
        ctx.set(dut.i[0].valid, 1)
        await ctx.tick()
        assert ctx.get(dut.o[1].valid)
        shown = dut.o[1].payload.payload
        assert (ctx.get(shown.flag), ctx.get(shown.value[0]), ctx.get(shown.value[1])) == (1, 5, 10)

    simulate(dut, testbench)


@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_keeps_its_parameters(switch: type) -> None:
    packet = Packet(4, 8)
    dut = switch(packet, radix=4, depth=3, routing="xor")
    assert (dut.packet, dut.radix, dut.depth, dut.routing) == (packet, 4, 3, "xor")
    assert (dut.refill, dut.digit_bits) == (False, 2)
    assert switch(packet, radix=4, depth=1).refill


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"radix": 1}, ValueError, "Radix must be at least 2, not 1"),
        ({"radix": "2"}, TypeError, "Radix must be an integer, not '2'"),
        ({"depth": 0}, ValueError, "Depth must be at least 1, not 0"),
        ({"depth": 1.5}, TypeError, "Depth must be an integer, not 1.5"),
        (
            {"routing": "dest"},
            ValueError,
            "Routing must be destination, xor or difference, not 'dest'",
        ),
        (
            {"radix": 3, "routing": "xor"},
            ValueError,
            "XOR tags need a radix that is a power of two, not 3",
        ),
        (
            {"radix": 8},
            ValueError,
            "Tag of a packet must have at least 3 bits for a switch of radix 8, not 2",
        ),
    ],
    ids=lambda value: "-".join(map(str, value.items())) if isinstance(value, dict) else "",
)
def test_packet_switch_rejects(
    switch: type, parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        switch(Packet(2, 8), **{"radix": 2, "depth": 2, **parameters})
