# amaranth: UnusedElaboratable=no
"""Models of the switches that queue whole packets, and these packets as integers."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from driving import Cycle
from multicube.hdl.links.packet import Packet

__all__ = [
    "InputQueuedModel",
    "OutputQueuedModel",
    "Wires",
    "follow",
    "pass_whole",
    "permutations",
    "sometimes",
    "traffic",
]

PAYLOAD = 20


class Wires:
    """Packets as integers: a tag of two digits in the low bits, as much mask if there are
    broadcasts, then input and number."""

    def __init__(
        self, radix: int, routing: str, outputs: int | None = None, *, broadcast: bool = False
    ) -> None:
        self.radix, self.routing, self.outputs = radix, routing, outputs or radix
        self.bits = (self.outputs - 1).bit_length()
        self.broadcast, self.digits = broadcast, 4 if broadcast else 2
        self.layout = Packet(2 * self.bits, PAYLOAD, broadcast=broadcast)

    def make(self, input_: int, output: int, number: int, *, later: int = 1, mask: int = 0) -> int:
        """A packet to `output`, with `mask`. The next stage's digit is `later`, its mask any."""
        digit = output ^ input_ if self.routing == "xor" else output
        fields = [later, digit, number % self.outputs, mask][: self.digits]
        name = number << 3 | input_
        return sum(x << at * self.bits for at, x in enumerate([*fields, name]))

    def _fields(self, packet: int) -> list[int]:
        low = (1 << self.bits) - 1
        return [packet >> at * self.bits & low for at in range(self.digits)]

    def to(self, packet: int, input_: int) -> list[int]:
        """The outputs of a packet of this input."""
        _, digit, _, mask = [*self._fields(packet), 0, 0][:4]
        if self.routing == "xor":
            digit ^= input_
        return [j for j in range(self.outputs) if (j ^ digit) & ~mask == 0]

    def output(self, packet: int, input_: int) -> int:
        """The only output of a packet of this input."""
        (found,) = self.to(packet, input_)
        return found

    def forwarded(self, packet: int) -> int:
        """The packet behind this stage: the digits of tag and mask have changed places."""
        fields = self._fields(packet)
        for at, field in enumerate(fields):
            packet ^= (field ^ fields[at ^ 1]) << at * self.bits
        return packet

    def name(self, packet: int) -> tuple[int, int]:
        """Input and number of a packet."""
        name = packet >> self.digits * self.bits
        return name & 7, name >> 3


class OutputQueuedModel:
    """A list at each output; arrivals of a cycle enter it in turn, each copy when it has room."""

    def __init__(self, wires: Wires, depth: int) -> None:
        self.wires, self.depth = wires, depth
        self.queues: list[list[int]] = [[] for _ in range(wires.outputs)]
        self.arrivals = [0] * wires.outputs
        self.given: list[set[int]] = [set() for _ in range(wires.radix)]

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        """Of each input, whether its packet is accepted; and the packet at each output."""
        radix = self.wires.radix
        shown = [queue[0] if queue else None for queue in self.queues]
        wanted = [
            set() if packet is None else set(self.wires.to(packet, i)) - self.given[i]
            for i, packet in enumerate(offered)
        ]
        for j, queue in enumerate(self.queues):
            pop = bool(queue) and ready[j]
            room = self.depth - len(queue) + (pop and self.depth == 1)
            first = self.arrivals[j] % radix
            for i in [*range(first, radix), *range(first)]:
                if j in wanted[i] and room > 0:
                    wanted[i].remove(j)
                    self.given[i].add(j)
                    room -= 1
                    self.arrivals[j] += 1
                    queue.append(self.wires.forwarded(offered[i]))
            if pop:
                queue.pop(0)
        accepted = [packet is not None and not wants for packet, wants in zip(offered, wanted)]
        self.given = [set() if done else given for done, given in zip(accepted, self.given)]
        return accepted, shown


class InputQueuedModel:
    """A list at each input; each output serves, in turn, the heads that still owe it a copy, and
    sticks to its choice."""

    def __init__(self, wires: Wires, depth: int) -> None:
        self.wires, self.depth = wires, depth
        self.queues: list[list[int]] = [[] for _ in range(wires.radix)]
        self.first = [0] * wires.outputs
        self.given: list[set[int]] = [set() for _ in range(wires.radix)]

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        """Of each input, whether its packet is accepted; and the packet at each output."""
        radix = self.wires.radix
        shown: list[int | None] = [None] * self.wires.outputs
        wanted = [
            set(self.wires.to(queue[0], i)) - self.given[i] if queue else set()
            for i, queue in enumerate(self.queues)
        ]
        for j in range(self.wires.outputs):
            for i in [*range(self.first[j], radix), *range(self.first[j])]:
                if j in wanted[i]:
                    shown[j] = self.wires.forwarded(self.queues[i][0])
                    if ready[j]:
                        wanted[i].remove(j)
                        self.given[i].add(j)
                    self.first[j] = (i + ready[j]) % radix
                    break
        accepted = [False] * radix
        for i, queue in enumerate(self.queues):
            popped = bool(queue) and not wanted[i]
            room = len(queue) - (popped and self.depth == 1) < self.depth
            if popped:
                queue.pop(0)
                self.given[i] = set()
            if offered[i] is not None and room:
                accepted[i] = True
                queue.append(offered[i])
        return accepted, shown


def traffic(wires: Wires, seed: int, load: float) -> Callable[[int, int], int | None]:
    """Packets with random digits; with broadcasts half of them have a random mask, too."""
    generator = random.Random(seed)
    print(f"seed {seed}")
    numbers: Counter[int] = Counter()

    def offer(port: int, cycle: int) -> int | None:
        if generator.random() >= load:
            return None
        numbers[port] += 1
        output, later = generator.randrange(wires.outputs), generator.randrange(wires.outputs)
        masked = wires.broadcast and generator.random() < 0.5
        mask = generator.randrange(wires.radix) if masked else 0
        return wires.make(port, output, numbers[port], later=later, mask=mask)

    return offer


def sometimes(seed: int) -> Callable[[int, int], bool]:
    """Ready seldom for a while, so that queues fill, and often for a while."""
    generator = random.Random(seed)
    return lambda port, cycle: generator.random() < (0.35 if cycle // 50 % 2 else 0.9)


def follow(
    trace: Sequence[Cycle], wires: Wires, model: Any, seen: Callable[[], None] = lambda: None
) -> int:
    """Check that a switch does what a model does, and that nothing is lost, doubled or out of
    order; return how many packets were delivered. `seen` is called in each cycle of the model."""
    sent: dict[tuple[int, int], list] = {}
    received: dict[tuple[int, int], list] = {}
    for number, cycle in enumerate(trace):
        accepted, shown = model.cycle(cycle.offered, cycle.ready)
        seen()
        assert cycle.shown == shown, number
        for i, packet in enumerate(cycle.offered):
            assert packet is None or cycle.accepted[i] == accepted[i], (number, i)
        for i, packet in cycle.entered():
            for j in wires.to(packet, i):
                sent.setdefault((i, j), []).append(wires.name(packet))
        for j, packet in cycle.moved():
            received.setdefault((wires.name(packet)[0], j), []).append(wires.name(packet))
    assert sent == received
    return sum(map(len, sent.values()))


def permutations(wires: Wires) -> Callable[[int, int], int]:
    """Packets for other outputs in each cycle, all for different ones."""
    return lambda port, cycle: wires.make(
        port, (port + cycle * (cycle + 1) // 2) % wires.radix, cycle
    )


def pass_whole(trace: Sequence[Cycle], wires: Wires, late: int) -> None:
    """Check that what the inputs offer is at the outputs so many cycles later, all of it."""
    assert all(all(cycle.accepted) for cycle in trace)
    assert all(cycle.shown == [None] * wires.outputs for cycle in trace[:late])
    for number, (before, after) in enumerate(zip(trace, trace[late:])):
        entered = before.entered()
        expected = {wires.output(packet, i): wires.forwarded(packet) for i, packet in entered}
        assert dict(enumerate(after.shown)) == expected, number
