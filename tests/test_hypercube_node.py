# amaranth: UnusedElaboratable=no
"""The Connection Machine's router against a plain model of it, cycle by cycle."""

import functools
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from long_runs import long
from multicube.hdl.bench import MessageBench, PacketBench
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.connection_machine.connection_machine_network import (
    ConnectionMachine,
    longest_life,
)
from multicube.hdl.operations.folds import Fold
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.run import Run
from multicube.sim.workload.destinations import Destinations
from multicube.sim.workload.injection_process import InjectionProcess
from multicube.sim.workload.traffic import Pattern, pattern

KINDS = list(itertools.product(("parallel", "dimension"), ("oldest", "fixed")))

FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda first, second: (first + second) % 256,
    "or": lambda first, second: first | second,
    "max": max,
    "overwrite": lambda first, second: second,
}
"""What becomes of two values of 8 bits, the second of which is from the younger message."""

LIST = 25
"""Messages that each source has to send, in tests with combining."""


@dataclass
class Message:
    """A packet on its way; `tag` is its destination, the node above the processor."""

    tag: int
    payload: int
    relative: int
    processor: int
    born: int

    @property
    def rank(self) -> tuple[int, int]:
        """What decides between messages: the lowest comes first."""
        return self.born, -self.tag


@dataclass
class Node:
    address: int
    slots: list[Message | None]
    arrived: list[Message | None]
    outputs: list[Message | None]
    first: int = 0
    ready: list[bool] = field(default_factory=list)
    crossed: int = 0
    referred: int = 0
    combined: int = 0


class Machine:
    """All nodes, a step at a time.

    Parameters
    ----------
    n, processors, buffers : int
    in_turn, oldest : bool
    fold : Callable, optional
        Makes one payload of two, if messages are combined.
    """

    def __init__(
        self,
        n: int,
        processors: int,
        buffers: int,
        *,
        in_turn: bool,
        oldest: bool,
        fold: Callable[[int, int], int] | None = None,
    ) -> None:
        self.n = n
        self.processors = processors
        self.in_turn = in_turn
        self.oldest = oldest
        self.fold = fold
        self.time = 0
        self.lives: list[int] = []
        arrivals = 1 if in_turn else n
        self.nodes = [
            Node(address, [None] * buffers, [None] * arrivals, [None] * processors)
            for address in range(1 << n)
        ]

    def step(
        self, offered: Sequence[Sequence[tuple[int, int] | None]], taken: Sequence[Sequence[bool]]
    ) -> None:
        """One step: `offered` are tags and payloads by node and processor.

        Afterwards each node's `ready`, `crossed`, `referred` and `combined` are of this step; all
        else is what it is in the next one.
        """
        served = [self.time % self.n] if self.in_turn else list(range(self.n))
        sent = [self._step(*given, served) for given in zip(self.nodes, offered, taken)]
        for node in self.nodes:
            node.arrived = [sent[node.address ^ 1 << k].get(k) for k in served]
        self.time += 1

    def idle(self, taken: Sequence[Sequence[bool]]) -> None:
        """A cycle between two steps."""
        for node, flags in zip(self.nodes, taken):
            node.ready = [False] * self.processors
            node.crossed = node.referred = node.combined = 0
            for processor, flag in enumerate(flags):
                if flag:
                    node.outputs[processor] = None

    def messages(self) -> list[Message]:
        """All that are in buffers or on wires."""
        return [
            message
            for node in self.nodes
            for message in (*node.slots, *node.arrived)
            if message is not None
        ]

    def _step(
        self,
        node: Node,
        offered: Sequence[tuple[int, int] | None],
        taken: Sequence[bool],
        served: Sequence[int],
    ) -> dict[int, Message]:
        """What a node sends, by dimension."""
        places = [*node.slots, *node.arrived]
        here = [(place, message) for place, message in enumerate(places) if message is not None]
        if self.oldest:
            here.sort(key=lambda item: (*item[1].rank, item[0]))

        # Combine: each second one to the same destination vanishes into the one before it.
        groups: dict[int, list[tuple[int, Message]]] = {}
        for item in here if self.fold else ():
            groups.setdefault(item[1].tag, []).append(item)
        node.combined = 0
        for group in groups.values():
            for first, second in zip(group[::2], group[1::2]):
                assert self.fold is not None
                first[1].payload = self.fold(first[1].payload, second[1].payload)
                here.remove(second)
                node.combined += 1

        # Deliver.
        for processor, flag in enumerate(taken):
            if flag:
                node.outputs[processor] = None
        left = []
        for place, message in here:
            if message.relative == 0 and node.outputs[message.processor] is None:
                node.outputs[message.processor] = message
                self.lives.append(self.time - message.born)
                continue
            left.append((place, message))

        # Route.
        sent: dict[int, Message] = {}
        for k in served:
            for item in left:
                if item[1].relative >> k & 1:
                    sent[k] = item[1]
                    left.remove(item)
                    break

        # Refer.
        excess = sorted(left[len(node.slots) :], key=lambda item: item[0])
        left = left[: len(node.slots)]
        free = [k for k in served if k not in sent]
        assert len(excess) <= len(free), "a node has overflowed"
        for k, (_, message) in zip(free, excess):
            sent[k] = message
        for k, message in sent.items():
            message.relative ^= 1 << k
        node.crossed = len(sent)
        node.referred = len(excess)

        # Buffer.
        slots: list[Message | None] = [None] * len(node.slots)
        arriving = []
        for place, message in sorted(left, key=lambda item: item[0]):
            if place < len(slots):
                slots[place] = message
            else:
                arriving.append(message)
        empty = [index for index, message in enumerate(slots) if message is None]
        for message in arriving:
            slots[empty.pop(0)] = message

        # Inject.
        order = [(node.first + p) % self.processors for p in range(self.processors)]
        waiting = [p for p in order if offered[p] is not None]
        node.ready = [waiting[: len(empty)].count(p) == 1 for p in range(self.processors)]
        if len(waiting) > len(empty):
            node.first = waiting[len(empty)]
        for p in sorted(waiting[: len(empty)]):
            offer = offered[p]
            assert offer is not None
            tag, payload = offer
            goal, processor = divmod(tag, self.processors)
            message = Message(tag, payload, goal ^ node.address, processor, self.time)
            slots[empty.pop(0)] = message
        node.slots = slots
        return sent


class Comparison:
    """A network and its model, in lock step.

    Attributes
    ----------
    referred : int
        Messages referred so far.
    fullest : int
        The most messages that a node's buffers held.
    slowest : int
        The most steps for which the messages that come first in the machine stayed as many.
    """

    def __init__(self, bench: PacketBench | MessageBench) -> None:
        network = bench.network
        given = network.parameters
        self.network = network
        self.bench = bench
        self.engine = CompiledEngine([self.bench], threads=1)
        self.model = Machine(
            given["n"],
            given["processors"],
            given["buffers"],
            in_turn=given["schedule"] == "dimension",
            oldest=given["priority"] == "oldest",
            fold=FOLDS.get(given["combine"]),
        )
        self.tag_bits = network.tags.code.width
        # The stamps of a bench of packets lengthen messages, and so the steps of serial wires.
        packet = bench.packet if isinstance(bench, PacketBench) else network.packet
        self.step_cycles = network.step_of(packet)
        self.referred = self.combined = self.fullest = self.slowest = 0
        self._first: tuple[tuple[int, int], int] | None = None
        self._since = 0

    def _stream(self, node: Node, side: str) -> list[tuple[int, int] | None]:
        """Tag and payload of what is offered at the streams between a node and its processors."""
        seen: list[tuple[int, int] | None] = []
        for p in range(self.network.parameters["processors"]):
            pin = Pin(f"node_{node.address}", (side, p))
            word = self.engine.get(Pin(pin.cell, (*pin.path, "payload")))
            offer = word % (1 << self.tag_bits), word >> self.tag_bits
            seen.append(offer if self.engine.get(Pin(pin.cell, (*pin.path, "valid"))) else None)
        return seen

    def run(self, cycles: int) -> None:
        for cycle in range(self.engine.cycle, self.engine.cycle + cycles):
            nodes = self.model.nodes
            for node in nodes:
                shown = [m and (m.tag, m.payload) for m in node.outputs]
                assert self._stream(node, "o") == shown, f"node {node.address}, cycle {cycle}"
            levels = [sum(m is not None for m in node.slots) for node in nodes]
            names = [f"node_{node.address}" for node in nodes]
            assert self.engine.read(names, "level") == levels
            self.fullest = max(self.fullest, *levels)

            offered = [self._stream(node, "i") for node in nodes]
            taken = [[m is not None for m in node.outputs] for node in nodes]
            if cycle % self.step_cycles == self.step_cycles - 1:
                self._watch()
                self.model.step(offered, taken)
            else:
                self.model.idle(taken)
            for node, offers in zip(nodes, offered):
                for p, offer in enumerate(offers):
                    if offer is not None:
                        pin = Pin(f"node_{node.address}", ("i", p, "ready"))
                        assert self.engine.get(pin) == node.ready[p], f"{pin}, cycle {cycle}"
            assert self.engine.read(names, "crossed") == [node.crossed for node in nodes]
            assert self.engine.read(names, "referred") == [node.referred for node in nodes]
            if self.model.fold:
                assert self.engine.read(names, "combined") == [node.combined for node in nodes]
            self.referred += sum(node.referred for node in nodes)
            self.combined += sum(node.combined for node in nodes)
            self.engine.step(1)

    def _watch(self) -> None:
        """Note for how long the messages that come first have been as many."""
        ranks = [message.rank for message in self.model.messages()]
        first = (min(ranks), ranks.count(min(ranks))) if ranks else None
        if first != self._first or first is None:
            self._first, self._since = first, self.model.time
        self.slowest = max(self.slowest, self.model.time - self._since + 1)

    def drain(self, cycles: int) -> None:
        """See that all that was sent arrives."""
        self.run(cycles)
        assert not self.model.messages()
        delivered = sum(self.engine.read(self.bench.sinks, "delivered"))
        injected = sum(self.engine.read(self.bench.sources, "injected"))
        assert delivered + self.combined == injected > 0


def begun(network: ConnectionMachine, traffic: Pattern) -> Comparison:
    """A network whose terminals send as much as it takes, before its first cycle."""
    comparison = Comparison(PacketBench(network, Run(traffic, 1.0).sources(network), bins=64))
    comparison.engine.set("send", 1)
    return comparison


def compare(network: ConnectionMachine, traffic: Pattern, *, steps: int, drain: int) -> Comparison:
    """A network under full load for some steps, and for as many more as it takes to drain it."""
    comparison = begun(network, traffic)
    comparison.run(steps * comparison.step_cycles)
    comparison.engine.set("send", 0)
    comparison.drain(drain * comparison.step_cycles)
    for wrong in ("misrouted", "duplicated"):
        assert not any(comparison.engine.read(comparison.bench.sinks, wrong))
    return comparison


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "processors", "buffers", "schedule", "priority"),
    [
        (2, 2, 1, "parallel", "oldest"),
        (2, 2, 1, "dimension", "fixed"),
        long(4, 1, 1, "dimension", "oldest"),
        long(2, 2, 1, "parallel", "fixed"),
        long(2, 2, 1, "dimension", "oldest"),
        long(2, 4, 3, "parallel", "oldest"),
        long(4, 1, 1, "parallel", "fixed"),
        long(3, 4, 3, "parallel", "oldest"),
        long(3, 4, 3, "parallel", "fixed"),
        long(3, 4, 3, "dimension", "fixed"),
        long(3, 4, 3, "dimension", "oldest"),
        long(4, 1, 1, "parallel", "oldest"),
        long(4, 1, 1, "dimension", "fixed"),
    ],
)
def test_every_cycle_is_the_models(
    n: int, processors: int, buffers: int, schedule: str, priority: str
) -> None:
    """Uniform traffic, as much as the network takes, and few buffers."""
    network = ConnectionMachine(
        n, processors=processors, buffers=buffers, schedule=schedule, priority=priority
    )
    comparison = compare(network, pattern("uniform", network.ports), steps=150, drain=100)
    assert comparison.fullest == buffers
    # Of two dimensions, served in turn, the next one is always the one that a message has left.
    if buffers == 1 and (n > 2 or schedule == "parallel"):
        assert comparison.referred > 0


@pytest.mark.parametrize(
    ("n", "schedule", "priority"),
    [long(2, "parallel", "oldest"), long(3, "parallel", "fixed"), long(3, "dimension", "oldest")],
)
def test_serial_wires(n: int, schedule: str, priority: str) -> None:
    network = ConnectionMachine(
        n, processors=2, buffers=1, schedule=schedule, priority=priority, links="serial"
    )
    traffic = pattern("uniform", network.ports)
    comparison = compare(network, traffic, steps=20, drain=20)
    assert comparison.referred > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        ("hot", "dimension"),
        *(
            long(*case)
            for case in (
                ("all-to-one", "parallel"),
                ("all-to-one", "dimension"),
                ("hot", "parallel"),
                ("uniform", "parallel"),
                ("uniform", "dimension"),
            )
        ),
    ],
)
def test_the_first_message_always_advances(name: str, schedule: str) -> None:
    """What guarantees delivery: every n + 1 steps one of those that come first is delivered."""
    network = ConnectionMachine(3, processors=1, buffers=1, schedule=schedule)
    bias = {"all-to-one": 1.0, "hot": 0.5, "uniform": 0.0}[name]
    traffic = Pattern(name, Destinations((5,) * network.ports, bias), InjectionProcess(quota=40))
    comparison = compare(network, traffic, steps=600, drain=100)
    assert sum(comparison.engine.read(comparison.bench.sinks, "delivered")) == 40 * network.ports
    assert comparison.slowest <= network.plan.dimensions + 1
    assert max(comparison.model.lives) <= longest_life(network.plan, 1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("combine", "parameters"),
    [
        long("or", {"n": 4, "buffers": 3, "schedule": "dimension"}),
        ("overwrite", {"n": 3, "buffers": 2}),
        ("add", {"n": 2, "buffers": 1, "schedule": "dimension", "links": "serial"}),
        *(
            long(*case)
            for case in (
                ("add", {"n": 3, "processors": 2, "buffers": 1, "schedule": "parallel"}),
                ("max", {"n": 2, "processors": 4, "schedule": "parallel", "priority": "fixed"}),
                ("overwrite", {"n": 3, "processors": 2, "buffers": 5, "priority": "fixed"}),
            )
        ),
    ],
)
def test_every_cycle_with_combining(combine: str, parameters: dict[str, int | str]) -> None:
    """As many messages as the network takes, more and more of them to one processor."""
    network = ConnectionMachine(**parameters, combine=combine, payload=8)
    bench = MessageBench(network, Fold(combine, 8), depth=LIST)
    comparison = Comparison(bench)
    engine, rng = comparison.engine, random.Random(combine)
    row = bench.row
    folded: list[list[int]] = [[] for _ in range(network.ports)]
    for number in range(LIST):
        for port in range(network.ports):
            hot = rng.random() < number / LIST
            destination = 1 if hot else rng.randrange(network.ports)
            value = rng.randrange(256)
            folded[destination].append(value)
            bits = 1 | destination << row["destination"].offset | value << row["value"].offset
            engine.set(f"row_{port}", bits)
        engine.step(1)
    for port in range(network.ports):
        engine.set(f"row_{port}", 0)
    # The model has to begin in the same step.
    comparison.model.time = engine.cycle // network.step
    engine.set("send", 1)
    while sum(engine.read(bench.sources, "injected")) < LIST * network.ports:
        comparison.run(network.step)
    comparison.drain((2 * network.ports + 20) * network.step)
    assert (
        sum(engine.read(list(bench.meters["combined"].values()), "total"))
        == comparison.combined
        > 0
    )
    if combine != "overwrite":
        expected = [functools.reduce(FOLDS[combine], values) for values in folded]
        assert engine.read(bench.sinks, "value") == expected


# To whom each node sends all the time: others are then always in the way of some message.
CIRCLING = {"parallel": (7, 1, 1, 0, 3, 5, 3, 5), "dimension": (3, 6, 7, 5, 6, 5, 6, 6)}


def circling(schedule: str, priority: str) -> Comparison:
    """All terminals send as much as the network takes, each to one other."""
    network = ConnectionMachine(3, buffers=1, schedule=schedule, priority=priority)
    return begun(network, Pattern("circling", Destinations(CIRCLING[schedule], 1)))


def whole_state(comparison: Comparison) -> tuple[Any, list[int | None]]:
    """All on which the future depends if every source sends to one terminal only, and by their
    payloads the messages in all places."""
    model = comparison.model
    places = [m for node in model.nodes for m in (*node.slots, *node.arrived, *node.outputs)]
    sources = [comparison._stream(node, "i")[0] for node in model.nodes]
    offered = [offer and offer[0] for offer in sources]
    state = [m and (m.tag, m.relative) for m in places], offered, model.time % model.n
    return state, [m and m.payload for m in places]


@pytest.mark.parametrize("schedule", [long("parallel"), "dimension"])
def test_with_fixed_priorities_a_message_may_circle_for_ever(schedule: str) -> None:
    """The machine comes back to the same state with the same message in the same place, after more
    steps than any message would live with the oldest first. Once the others stop, it arrives."""
    comparison = circling(schedule, "fixed")
    comparison.run(30)
    begin, (state, places) = comparison.model.time, whole_state(comparison)
    assert state[1] == list(CIRCLING[schedule])
    delivered, referred = len(comparison.model.lives), comparison.referred
    steps = longest_life(comparison.network.plan, 1)
    comparison.run(steps)

    def same() -> bool:
        later, now = whole_state(comparison)
        return later == state and any(a is not None and a == b for a, b in zip(places, now))

    while not same():
        assert comparison.model.time < begin + 3 * steps
        comparison.run(1)
    assert len(comparison.model.lives) > delivered
    assert comparison.referred - referred >= steps // 2
    comparison.engine.set("send", 0)
    comparison.drain(50)


@pytest.mark.parametrize("schedule", [long("parallel"), "dimension"])
def test_with_the_oldest_first_none_does(schedule: str) -> None:
    """The same traffic."""
    comparison = circling(schedule, "oldest")
    comparison.run(200)
    assert max(comparison.model.lives) <= longest_life(comparison.network.plan, 1)
    comparison.engine.set("send", 0)
    comparison.drain(100)
