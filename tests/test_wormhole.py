# amaranth: UnusedElaboratable=no
"""The wormhole and cut-through switches against a model written from their documentation."""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.lib.wiring import Component
from driving import transport
from long_runs import long
from multicube.hdl.boxes.wormhole import CutThroughSwitch, WormholeSwitch
from multicube.hdl.links.packet import Packet
from switch_models import sometimes

LONGEST = 5


class Wires:
    """Flits as integers: a tag of two digits, then input, number of the packet and of the flit."""

    def __init__(self, radix: int, routing: str = "destination") -> None:
        self.radix, self.routing = radix, routing
        self.bits = (radix - 1).bit_length()
        self.layout = Packet(2 * self.bits, 16, flits=True)

    def packet(self, input_: int, output: int, number: int, tags: list[int]) -> list[int]:
        """The flits of a packet, one for each element of `tags`: what else the tag fields hold."""
        digit = output ^ input_ if self.routing == "xor" else output
        low = (1 << self.bits) - 1
        flits = []
        for index, tag in enumerate(tags):
            if index == 0:
                tag = digit << self.bits | tag & low
            name = index << 11 | number % 256 << 3 | input_
            last = index == len(tags) - 1
            flits.append(tag | name << 2 * self.bits | last << 2 * self.bits + 16)
        return flits

    def output(self, header: int, input_: int) -> int:
        digit = header >> self.bits & (1 << self.bits) - 1
        return digit ^ input_ if self.routing == "xor" else digit

    def forwarded(self, flit: int) -> int:
        low, high = flit & (1 << self.bits) - 1, flit >> self.bits & (1 << self.bits) - 1
        return flit >> 2 * self.bits << 2 * self.bits | low << self.bits | high

    def last(self, flit: int) -> bool:
        return bool(flit >> 2 * self.bits + 16)

    def name(self, flit: int) -> tuple[int, int, int]:
        """Input, number of the packet, and of the flit in it."""
        name = flit >> 2 * self.bits
        return name & 7, name >> 3 & 255, name >> 11 & 31


class Worms:
    """Random packets of 1 to 5 flits; `offer` gives one after the other, with gaps in between.

    They go to `output`, or to any.
    """

    def __init__(
        self, wires: Wires, seed: int, *, load: float, gaps: float = 0, output: int | None = None
    ) -> None:
        print(f"seed {seed}")
        self.wires, self.load, self.gaps, self.output = wires, load, gaps, output
        self.random = random.Random(seed)
        self.rest: list[list[int]] = [[] for _ in range(wires.radix)]
        self.numbers = [0] * wires.radix

    def offer(self, port: int, cycle: int) -> int | None:
        rest = self.rest[port]
        if rest:
            return None if self.random.random() < self.gaps else rest.pop(0)
        if self.random.random() >= self.load:
            return None
        wires = self.wires
        length = self.random.randint(1, LONGEST)
        tags = [self.random.getrandbits(2 * wires.bits) for _ in range(length)]
        output = self.random.randrange(wires.radix) if self.output is None else self.output
        rest.extend(wires.packet(port, output, self.numbers[port], tags))
        self.numbers[port] += 1
        return rest.pop(0)


class Model:
    """Lists of flits, at each input or (crosspoint) of each input at each output.

    `space` is the room that a header needs.
    """

    def __init__(
        self, wires: Wires, depth: int, refill: bool, space: int = 1, crosspoint: bool = False
    ) -> None:
        self.wires, self.depth, self.refill = wires, depth, refill
        self.space, self.crosspoint = space, crosspoint
        self.queues: dict[tuple, list[int]] = defaultdict(list)
        self.owner: list[int | None] = [None] * wires.radix
        self.first = [0] * wires.radix
        self.arriving: list[int | None] = [None] * wires.radix

    def queue(self, i: int, j: int) -> list[int]:
        return self.queues[i, j] if self.crosspoint else self.queues[i,]

    def asks(self, i: int, j: int) -> bool:
        """Whether there is a header in front of this queue that wants this output."""
        queue = self.queue(i, j)
        if not queue or self.wires.name(queue[0])[2] != 0:
            return False
        return self.crosspoint or self.wires.output(queue[0], i) == j

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        wires, radix = self.wires, self.wires.radix
        shown: list[int | None] = [None] * radix
        before = {key: len(queue) for key, queue in self.queues.items()}
        for j in range(radix):
            if self.owner[j] is None:
                turn = [*range(self.first[j], radix), *range(self.first[j])]
                self.owner[j] = next((i for i in turn if self.asks(i, j)), None)
            i = self.owner[j]
            if i is not None and self.queue(i, j):
                shown[j] = wires.forwarded(self.queue(i, j)[0])
        for j, i in enumerate(self.owner):
            moves = i is not None and shown[j] is not None and ready[j]
            if moves and wires.last(self.queue(i, j).pop(0)):
                self.owner[j] = None
                self.first[j] = (i + 1) % radix
        accepted = [False] * radix
        for i, flit in enumerate(offered):
            if flit is None:
                continue
            header = self.arriving[i] is None
            j = wires.output(flit, i) if header else self.arriving[i]
            queue = self.queue(i, j)
            key = (i, j) if self.crosspoint else (i,)
            level = len(queue) if self.refill else before.get(key, 0)
            if self.depth - level >= (self.space if header else 1):
                accepted[i] = True
                queue.append(flit)
                self.arriving[i] = None if wires.last(flit) else j
        return accepted, shown


def wormhole(wires: Wires, depth: int) -> tuple[Component, Model]:
    dut = WormholeSwitch(wires.layout, radix=wires.radix, depth=depth, routing=wires.routing)
    return dut, Model(wires, depth, depth == 1)


def cut_through(wires: Wires, depth: int, queues: str = "input") -> tuple[Component, Model]:
    """`depth` is beyond the length of a packet."""
    depth += LONGEST
    dut = CutThroughSwitch(
        wires.layout,
        radix=wires.radix,
        depth=depth,
        length=LONGEST,
        routing=wires.routing,
        queues=queues,
    )
    return dut, Model(wires, depth, depth == LONGEST, LONGEST, queues == "crosspoint")


def crosspoint(wires: Wires, depth: int) -> tuple[Component, Model]:
    return cut_through(wires, depth, "crosspoint")


KINDS = [wormhole, cut_through, crosspoint]
CASES = [
    *((wormhole, 2, routing, depth) for routing in ("destination", "xor") for depth in (1, 2, 4)),
    *((wormhole, radix, "destination", 3) for radix in (3, 4)),
    *((cut_through, 2, routing, depth) for routing in ("destination", "xor") for depth in (0, 1)),
    *((cut_through, radix, "destination", 5) for radix in (3, 4)),
    *((crosspoint, 2, "destination", depth) for depth in (0, 1, 5)),
    (crosspoint, 3, "destination", 0),
    (crosspoint, 4, "xor", 3),
]
LARGER = [
    *((wormhole, radix, "destination", depth) for radix in (3, 4) for depth in (1, 16)),
    (wormhole, 8, "destination", 1),
    (wormhole, 8, "xor", 4),
    *((cut_through, radix, "destination", depth) for radix in (3, 4) for depth in (0, 11)),
    (cut_through, 8, "xor", 0),
    *((crosspoint, 3, "destination", depth) for depth in (1, 5)),
    *((crosspoint, 4, "destination", depth) for depth in (0, 1, 5)),
]


def check_worms(wires: Wires, flits: list[int]) -> list[tuple[int, int]]:
    """Check that what crossed a link is packet after packet, each whole; give their names."""
    packets = []
    rest = iter(flits)
    for header in rest:
        input_, number, index = wires.name(header)
        assert index == 0
        flit = header
        while not wires.last(flit):
            flit, index = next(rest), index + 1
            assert wires.name(flit) == (input_, number, index)
        packets.append((input_, number))
    return packets


def follow(dut: Any, wires: Wires, model: Any, seed: int) -> int:
    """Check that a switch does what a model does under random traffic and waits, and that packets
    arrive whole and in order; return how many flits."""
    radix = wires.radix
    worms, waits = Worms(wires, seed, load=0.8), sometimes(seed)

    def offer(port: int, cycle: int) -> int | None:
        worms.gaps = 0.3 if cycle < 100 else 0
        return worms.offer(port, cycle) if cycle < 200 or worms.rest[port] else None

    trace = transport(
        dut,
        cycles=270 + 6 * LONGEST * radix + 6 * dut.depth,
        offer=offer,
        ready=lambda port, cycle: cycle >= 200 or waits(port, cycle),
    )
    sent: dict[tuple[int, int], list[int]] = defaultdict(list)
    received: dict[tuple[int, int], list[int]] = defaultdict(list)
    outputs = [0] * radix
    crossed: list[list[int]] = [[] for _ in range(radix)]
    for number, cycle in enumerate(trace):
        accepted, shown = model.cycle(cycle.offered, cycle.ready)
        assert cycle.shown == shown, number
        for i, flit in enumerate(cycle.offered):
            assert flit is None or cycle.accepted[i] == accepted[i], (number, i)
        for i, flit in cycle.entered():
            if wires.name(flit)[2] == 0:
                outputs[i] = wires.output(flit, i)
            sent[i, outputs[i]].append(wires.forwarded(flit))
        for j, flit in cycle.moved():
            crossed[j].append(flit)
            received[wires.name(flit)[0], j].append(flit)
    for flits in crossed:
        check_worms(wires, flits)
    assert sent == received
    return sum(map(len, sent.values()))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("kind", "radix", "routing", "depth"), [*CASES, *(long(*case) for case in LARGER)]
)
def test_flit_switch_follows_the_model(
    kind: Callable, radix: int, routing: str, depth: int
) -> None:
    """Cycle by cycle under random traffic and waits; packets arrive whole and in order."""
    wires = Wires(radix, routing)
    dut, model = kind(wires, depth)
    assert follow(dut, wires, model, 100 * radix + depth) > 40 * radix


def packets(wires: Wires, order: list[list[int]], length: int) -> list[list[int]]:
    """For each input the flits of packets of one length, one packet to each output of a list."""
    return [
        [
            flit
            for number, output in enumerate(outputs)
            for flit in wires.packet(i, output, number, [0] * length)
        ]
        for i, outputs in enumerate(order)
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("kind", "radix", "routing", "depth", "length"),
    [
        (long if case in LARGER or (case[1] == 4 and length == 2) else pytest.param)(*case, length)
        for case in (*CASES, *LARGER)
        for length in (2, LONGEST)
        # A queue as deep as the longest packet and no deeper stops behind shorter ones.
        if case[0] is wormhole or case[3] > 0 or length == LONGEST
    ],
)
def test_flit_switch_has_full_throughput(
    kind: Callable, radix: int, routing: str, depth: int, length: int
) -> None:
    """Packets that follow each other to ever new outputs leave no cycle without a flit."""
    wires = Wires(radix, routing)
    dut, _ = kind(wires, depth)
    order = [[(i + t * (t + 1) // 2) % radix for t in range(12)] for i in range(radix)]
    flits = packets(wires, order, length)
    trace = transport(
        dut, cycles=12 * length + 1, offer=lambda i, t: flits[i][t] if flits[i][t:] else None
    )
    assert trace[0].shown == [None] * radix
    for number, (before, after) in enumerate(itertools.pairwise(trace)):
        assert all(before.accepted)
        expected: list[int | None] = [None] * radix
        for i, flit in before.entered():
            expected[order[i][number // length]] = wires.forwarded(flit)
        assert after.shown == expected, number


def served(wires: Wires, dut: Component) -> list[int]:
    """Whose packets leave, one after the other, when all inputs want one output that waits."""
    radix = wires.radix
    worms = Worms(wires, radix, load=1, output=radix - 1)
    waits = random.Random(radix)
    trace = transport(
        dut, cycles=200, offer=worms.offer, ready=lambda port, cycle: waits.random() < 0.7
    )
    flits = [flit for cycle in trace for _, flit in cycle.moved()]
    return [wires.name(flit)[0] for flit in flits if wires.last(flit)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radix", [2, 3, 4])
def test_flit_switch_is_fair(kind: Callable, radix: int) -> None:
    """When all inputs want one output, it serves their packets in turn, whatever their length."""
    wires = Wires(radix)
    order = served(wires, kind(wires, 2)[0])
    assert len(order) > 30
    assert order == [number % radix for number in range(len(order))]


@pytest.mark.parametrize("kind", KINDS)
def test_flit_switch_carries_flits_of_one_packet_only_while_it_owns_the_output(
    kind: Callable,
) -> None:
    """A worm with a hole keeps its output: another packet for it waits until the tail has gone."""
    wires = Wires(2)
    dut, _ = kind(wires, 4)
    worm = wires.packet(0, 1, 0, [0, 0, 0])
    other = wires.packet(1, 1, 0, [0])
    times = {(0, 0): worm[0], (0, 5): worm[1], (0, 9): worm[2], (1, 1): other[0]}
    trace = transport(dut, cycles=14, offer=lambda port, cycle: times.get((port, cycle)))
    shown = {number: cycle.shown[1] for number, cycle in enumerate(trace) if cycle.moved()}
    assert shown == {
        number: wires.forwarded(flit)
        for number, flit in zip((1, 6, 10, 11), [*worm, *other], strict=True)
    }


def test_cut_through_switch_lets_a_longer_packet_wait_outside() -> None:
    wires = Wires(2)
    dut = CutThroughSwitch(wires.layout, radix=2, depth=2, length=2)
    flits = wires.packet(0, 1, 0, [0] * 6)
    waiting = iter(flits)
    trace = transport(
        dut,
        cycles=20,
        offer=lambda port, cycle: next(waiting, None) if port == 0 else None,
        ready=lambda port, cycle: cycle > 8,
    )
    moved = [flit for cycle in trace for _, flit in cycle.moved()]
    assert moved == [wires.forwarded(flit) for flit in flits]


def test_flit_switches_keep_their_parameters() -> None:
    packet = Packet(4, 8, flits=True)
    dut: Any = WormholeSwitch(packet, radix=4, depth=3, routing="xor")
    assert (dut.packet, dut.radix, dut.depth, dut.routing) == (packet, 4, 3, "xor")
    assert (dut.refill, dut.digit_bits) == (False, 2)
    assert WormholeSwitch(packet, radix=4, depth=1).refill
    assert WormholeSwitch(packet, radix=4, depth=2, refill=True).refill
    dut = CutThroughSwitch(packet, radix=4, depth=4, length=3, queues="crosspoint")
    assert (dut.depth, dut.length, dut.queues, dut.refill) == (4, 3, "crosspoint", False)
    assert CutThroughSwitch(packet, radix=4, depth=3, length=3).refill


@pytest.mark.parametrize(
    ("switch", "parameters", "error", "message"),
    [
        (WormholeSwitch, {"radix": 1}, ValueError, "Radix must be at least 2, not 1"),
        (WormholeSwitch, {"depth": 0}, ValueError, "Depth must be at least 1, not 0"),
        (WormholeSwitch, {"depth": 1.5}, TypeError, "Depth must be an integer, not 1.5"),
        (
            WormholeSwitch,
            {"routing": "dest"},
            ValueError,
            "Routing must be destination, xor or difference, not 'dest'",
        ),
        (
            WormholeSwitch,
            {"radix": 8},
            ValueError,
            "Tag of a packet must have at least 3 bits for a switch of radix 8, not 2",
        ),
        (WormholeSwitch, {"packet": Packet(2, 8)}, ValueError, "Packet must have flits"),
        (
            CutThroughSwitch,
            {"depth": 3, "length": 4},
            ValueError,
            "Depth must be at least the length of 4 flits, not 3",
        ),
        (CutThroughSwitch, {"length": 0}, ValueError, "Length must be at least 1, not 0"),
        (
            CutThroughSwitch,
            {"length": 1, "queues": "output"},
            ValueError,
            "Queues must be one of input, crosspoint, not 'output'",
        ),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_flit_switch_rejects(
    switch: Any, parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        switch(**{"packet": Packet(2, 8, flits=True), "radix": 2, "depth": 4, **parameters})
