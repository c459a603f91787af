# amaranth: UnusedElaboratable=no
"""Interfaces that send packets again: nothing is lost, repeated or overtaken, whatever is dropped.

The network between them is a model in Python: it keeps the order of each pair of terminals, delays
packets, and drops those that it is told to drop.
"""

import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from amaranth.lib.wiring import In, Out
from long_runs import long
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.address_codes import AddressCode
from multicube.hdl.graphs.tags import TagScheme, address_tags
from multicube.hdl.links.packet import Packet
from multicube.hdl.terminals.retransmission import RetransmissionInterface, acknowledged
from multicube.sim.engines.compiled import CompiledEngine
from refusals import refusals

SEED = 21
BITS = 2
XOR = TagScheme("xor", AddressCode(2, BITS), tuple(range(BITS)), tuple(range(BITS)))
"""Tags that are the difference of the two addresses, as in hypercubes."""


class Sent(NamedTuple):
    """A packet: its destination, its number in its flow, and its flits."""

    destination: int
    number: int
    length: int


def fabric_of(
    terminals: int, tags: TagScheme, window: int, longest: int, delay: int
) -> tuple[Fabric, Packet]:
    """Interfaces whose streams are all at the boundary."""
    packet = Packet(tags.code.width, 12, flits=True)
    kind = CellType(
        RetransmissionInterface,
        packet=packet,
        tags=tags,
        window=window,
        longest=longest,
        delay=delay,
    )
    inner = acknowledged(packet, tags.code.width)
    streams = {"i": (In, packet), "o": (Out, packet), "sent": (Out, inner), "came": (In, inner)}
    ports = {}
    for terminal, (name, (flow, shape)) in itertools.product(range(terminals), streams.items()):
        ports[f"{name}_{terminal}_valid"] = flow(1)
        ports[f"{name}_{terminal}_payload"] = flow(shape)
        ports[f"{name}_{terminal}_ready"] = flow(1).flip()
    fabric = Fabric(ports)
    for terminal in range(terminals):
        straps = {"address": terminal, "seed": 77 + terminal}
        cell = fabric.place(Cell(f"interface_{terminal}", kind, straps)).name
        for name, leaf in itertools.product(streams, ("valid", "payload", "ready")):
            fabric.link(Pin(None, (f"{name}_{terminal}_{leaf}",)), Pin(cell, (name, leaf)))
    return fabric, packet


@dataclass
class World:
    """Interfaces, their terminals, and the network between them.

    `drop(source, destination)` says whether the next packet is lost, `late()` for how many cycles
    it is under way, and `pauses()` whether a terminal or link does nothing in this cycle.
    """

    engine: CompiledEngine
    packet: Packet
    tags: TagScheme
    terminals: int
    drop: Callable[[int, int], bool]
    late: Callable[[], int]
    pauses: Callable[[], bool]
    offers: list[deque[int]] = field(default_factory=list)
    arrived: dict[tuple[int, int], list[Sent]] = field(default_factory=dict)
    crossing: list[list[int]] = field(default_factory=list)
    coming: list[deque[int]] = field(default_factory=list)
    pairs: dict[tuple[int, int], deque[tuple[int, list[int]]]] = field(default_factory=dict)
    held: dict[tuple[str, int], bool] = field(default_factory=dict)
    body: list[int] = field(default_factory=list)
    sent: int = 0
    lost: int = 0
    cycle: int = 0

    def __post_init__(self) -> None:
        self.inner = acknowledged(self.packet, self.tags.code.width)
        self.offers = [deque() for _ in range(self.terminals)]
        self.crossing = [[] for _ in range(self.terminals)]
        self.coming = [deque() for _ in range(self.terminals)]
        self.body = [0] * self.terminals

    def offer(self, source: int, sent: Sent) -> None:
        size = 1 << self.tags.code.width
        for index in range(sent.length):
            fields = {
                "tag": index % size if index else self.tags.tag(source, sent.destination),
                "payload": source << 10 | sent.number % 64 << 4 | sent.length,
                "last": index == sent.length - 1,
            }
            self.offers[source].append(self.packet.const(fields).as_value().value)

    def _get(self, name: str, terminal: int, leaf: str) -> int:
        return self.engine.get(Pin(None, (f"{name}_{terminal}_{leaf}",)))

    def _set(self, name: str, terminal: int, leaf: str, value: int) -> None:
        self.engine.set(f"{name}_{terminal}_{leaf}", value)

    def step(self) -> None:
        """One cycle."""
        readies = []
        for at in range(self.terminals):
            for name, queue in (("i", self.offers[at]), ("came", self.coming[at])):
                # What is offered stays.
                shown = bool(queue) and (self.held.get((name, at), False) or not self.pauses())
                self._set(name, at, "valid", shown)
                self._set(name, at, "payload", queue[0] if queue else 0)
            ready = not self.pauses(), not self.pauses()
            self._set("o", at, "ready", ready[0])
            self._set("sent", at, "ready", ready[1])
            readies.append(ready)
        for at, (takes, carries) in enumerate(readies):
            for name, queue in (("i", self.offers[at]), ("came", self.coming[at])):
                valid = self._get(name, at, "valid")
                taken = valid and self._get(name, at, "ready")
                self.held[name, at] = bool(valid and not taken)
                if taken:
                    queue.popleft()
            if takes and self._get("o", at, "valid"):
                self._arrive(at, self.packet.from_bits(self._get("o", at, "payload")))
            if carries and self._get("sent", at, "valid"):
                self._carry(at, self._get("sent", at, "payload"))
        for (_, destination), packets in self.pairs.items():
            while packets and packets[0][0] <= self.cycle:
                self.coming[destination] += packets.popleft()[1]
        self.engine.step(1)
        self.cycle += 1

    def _arrive(self, at: int, flit: Any) -> None:
        """Flits of a packet come together, and in order."""
        source, number, length = flit.payload >> 10, flit.payload >> 4 & 63, flit.payload & 15
        if self.body[at]:
            assert flit.tag == self.body[at] % (1 << self.tags.code.width)
        self.body[at] += 1
        assert flit.last == (self.body[at] == length)
        if flit.last:
            self.body[at] = 0
            self.arrived.setdefault((source, at), []).append(Sent(at, number, length))

    def _carry(self, source: int, flit: int) -> None:
        self.crossing[source].append(flit)
        view = self.inner.from_bits(flit)
        if not view.last:
            return
        flits, self.crossing[source] = self.crossing[source], []
        tag = self.inner.from_bits(flits[0]).tag
        (destination,) = (to for to in range(self.terminals) if self.tags.tag(source, to) == tag)
        self.sent += 1
        if self.drop(source, destination):
            self.lost += 1
            return
        packets = self.pairs.setdefault((source, destination), deque())
        after = packets[-1][0] if packets else 0
        packets.append((max(after, self.cycle + self.late()), flits))

    @property
    def idle(self) -> bool:
        queues = (*self.offers, *self.coming, *self.pairs.values())
        return not any(queues) and not any(self.crossing)


@contextmanager
def world(
    terminals: int, tags: TagScheme, window: int, longest: int, delay: int, **network: Any
) -> Iterator[World]:
    fabric, packet = fabric_of(terminals, tags, window, longest, delay)
    with CompiledEngine(fabric) as engine:
        yield World(engine, packet, tags, terminals, **network)


def flows(packets: list[tuple[int, Sent]]) -> dict[tuple[int, int], list[Sent]]:
    """The packets of each source and destination, in order."""
    found: dict[tuple[int, int], list[Sent]] = {}
    for source, sent in packets:
        found.setdefault((source, sent.destination), []).append(sent)
    return found


@pytest.mark.parametrize(
    ("tags", "window", "longest", "losses", "slow"),
    [
        (address_tags(AddressCode(2, BITS)), 3, 5, 0.3, 6),
        long(XOR, 4, 4, 0.5, 40),
        long(address_tags(AddressCode(2, BITS)), 1, 1, 0.4, 3),
        long(address_tags(AddressCode(2, BITS)), 2, 3, 0.0, 200),
        long(XOR, 8, 1, 0.2, 1),
    ],
)
def test_each_packet_arrives_once_and_in_order(
    tags: TagScheme, window: int, longest: int, losses: float, slow: int
) -> None:
    """Random losses, delays and pauses; repetitions that were not needed, too."""
    print("seed", SEED)
    generator = random.Random(SEED)
    numbers = itertools.count()
    packets = [
        (
            generator.randrange(4),
            Sent(generator.randrange(4), next(numbers) % 64, generator.randint(1, longest)),
        )
        for _ in range(80)
    ]
    with world(
        4,
        tags,
        window,
        longest,
        16,
        drop=lambda source, destination: generator.random() < losses,
        late=lambda: generator.randint(1, slow),
        pauses=lambda: generator.random() < 0.2,
    ) as tried:
        for source, sent in packets:
            tried.offer(source, sent)
        while sum(map(len, tried.arrived.values())) < len(packets) or not tried.idle:
            tried.step()
            assert tried.cycle < 60_000
        # What is still sent again does not arrive again.
        for _ in range(1000):
            tried.step()
        assert tried.arrived == flows(packets)
        assert tried.lost > 0 or not losses
        if slow > 32:
            assert tried.sent - tried.lost > 2 * len(packets), "some were sent without need"


@pytest.mark.parametrize("choices", [4, long(9)])
def test_all_patterns_of_losses(choices: int) -> None:
    """Whichever of the next packets are lost, acknowledgements and repetitions among them: three
    packets there and one back arrive. One pattern begins where the one before it has ended."""
    left: deque[bool] = deque()

    def drop(source: int, destination: int) -> bool:
        return left.popleft() if left else False

    tags = address_tags(AddressCode(2, 1))
    numbers = itertools.count()
    with world(2, tags, 2, 2, 4, drop=drop, late=lambda: 3, pauses=lambda: False) as tried:
        for pattern in itertools.product((False, True), repeat=choices):
            # What the pattern before has sent too often is over.
            while not tried.idle:
                tried.step()
            for _ in range(150):
                tried.step()
            assert tried.idle
            left.extend(pattern)
            tried.arrived = {}
            packets = [(source, Sent(1 - source, next(numbers) % 64, 2)) for source in (0, 0, 0, 1)]
            for source, sent in packets:
                tried.offer(source, sent)
            start = tried.cycle
            while sum(map(len, tried.arrived.values())) < len(packets) or left:
                tried.step()
                assert tried.cycle < start + 3000, pattern
            assert tried.arrived == flows(packets), pattern


def test_arrivals_wait_while_turns_are_cleared() -> None:
    """After a reset, packets come to an interface that has had some before from one that has not,
    which can send at once."""
    tags = address_tags(AddressCode(2, 4))
    with world(
        3, tags, 2, 1, 8, drop=lambda *pair: False, late=lambda: 1, pauses=lambda: False
    ) as tried:
        before = [(0, Sent(1, number, 1)) for number in range(3)]
        for source, sent in before:
            tried.offer(source, sent)
        for _ in range(60):
            tried.step()
        assert tried.arrived == flows(before)
        tried.engine.reset()
        tried.arrived = {}
        after = [(source, Sent(1, 7, 1)) for source in (2, 0)]
        for source, sent in after:
            tried.offer(source, sent)
        arrivals = []
        for _ in range(60):
            tried.step()
            arrivals.append(len(tried.arrived))
        assert tried.arrived == flows(after)
        assert arrivals.index(1) >= 15, "there are 16 turns"


def test_latency_and_waits() -> None:
    """A packet is sent two cycles after it was offered, and again 8 to 15 cycles after its tail,
    then after up to twice as many cycles each time, until it waits sixteen times as long."""
    times = []
    tags = address_tags(AddressCode(2, 1))
    with world(
        2, tags, 1, 1, 8, drop=lambda *pair: True, late=lambda: 1, pauses=lambda: False
    ) as tried:
        tried.offer(0, Sent(1, 5, 1))
        while len(times) < 12:
            before = tried.sent
            tried.step()
            if tried.sent > before:
                times.append(tried.cycle - 1)
    assert times[0] == 2
    waits = [after - before for before, after in itertools.pairwise(times)]
    for number, wait in enumerate(waits):
        growth = 1 << min(number, 4)
        assert 8 * growth < wait <= 16 * growth + 1
    assert len(set(waits[5:])) > 1, "the waits are random"


test_interface_rejects = refusals(
    lambda options: RetransmissionInterface(
        **{"packet": Packet(2, 8, flits=True), "tags": XOR, "window": 2, "longest": 4, "delay": 8}
        | options
    ),
    ({"window": 0}, "Window must be at least 1, not 0"),
    ({"longest": 0}, "Greatest length must be at least 1, not 0"),
    ({"delay": 1}, "Delay must be at least 2, not 1"),
    ({"delay": 24}, "Delay must be a power of two, not 24"),
    ({"packet": Packet(2, 8)}, "Packet must have flits"),
)
