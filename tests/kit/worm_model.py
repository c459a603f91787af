"""A model of networks of wormhole routers in plain Python, flit by flit and cycle by cycle.

It is written from the words of `WormRouter` and `CreditLink`, not from their code, and takes only
the graph and `Relation.route` from the library.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from multicube.hdl.graphs.graph import Channel
from multicube.hdl.graphs.routing.relation import Relation


class Flit(NamedTuple):
    """A flit of a packet: its source, destination, number at this source, and place in it."""

    source: int
    destination: int
    number: int
    index: int
    last: bool


class Moved(NamedTuple):
    """A flit that left a node in a cycle: by a channel of a link, or to a terminal."""

    cycle: int
    channel: Channel
    flit: Flit


@dataclass
class Turns:
    """Who is served in turn: the first at or after the one that follows who was served last."""

    next: int = 0

    def serve(self, wanting: Sequence[int]) -> int:
        chosen = min((one for one in wanting if one >= self.next), default=min(wanting))
        self.next = chosen + 1
        return chosen


@dataclass
class Queue:
    """What has arrived at a node by a channel, or from a terminal, and the sender's credits."""

    came: Channel | None
    free: int
    flits: deque[Flit] = field(default_factory=deque)
    worm: Channel | None = None
    """The channel that the worm at its head holds."""


class WormModel:
    """Routers with queues of `depth` flits, a decision time of one cycle, and no refill."""

    def __init__(self, relation: Relation, depth: int) -> None:
        self.relation, self.graph, self.depth = relation, relation.graph, depth
        self.cycle = 0
        self.queues: dict[Channel, Queue] = {}
        # The queues of each node: by port and channel of their input, then those of terminals.
        inputs: list[list[tuple[tuple[int, int, int], Queue]]] = [
            [] for _ in range(self.graph.nodes)
        ]
        for link in self.graph.links():
            for channel in link.each_channel():
                self.queues[channel] = Queue(channel, depth)
                inputs[link.peer].append(
                    ((0, link.peer_port, channel.number), self.queues[channel])
                )
        self.sources = []
        for exit_ in self.graph.exits:
            self.sources.append(Queue(None, depth))
            inputs[exit_.node].append(((1, -exit_.port, 0), self.sources[-1]))
        self.inputs = [[queue for _, queue in sorted(own, key=lambda i: i[0])] for own in inputs]
        self.exits = dict(zip(self.graph.exits, range(len(self.graph.exits))))
        self.arbiters: dict[Channel, Turns] = {}
        self.wires: dict[tuple[int, int], Turns] = {}
        self.later: dict[int, list[Callable[[], None]]] = {}

    def step(
        self, offered: Sequence[Flit | None], ready: Sequence[bool]
    ) -> tuple[list[bool], list[Moved]]:
        """One cycle: whether each terminal's flit is taken, and all flits that leave nodes."""
        accepted = []
        for flit, source in zip(offered, self.sources):
            accepted.append(flit is not None and source.free > 0)
            if flit is not None and accepted[-1]:
                self._send(flit, source, 1)
        moved: list[Moved] = []
        for node in range(self.graph.nodes):
            moved += self._step_node(node, ready)
        self.cycle += 1
        for happens in self.later.pop(self.cycle, []):
            happens()
        return accepted, moved

    def _send(self, flit: Flit, queue: Queue, latency: int) -> None:
        queue.free -= 1
        self._after(latency, lambda: queue.flits.append(flit))

    def _after(self, cycles: int, happens: Callable[[], None]) -> None:
        self.later.setdefault(self.cycle + cycles, []).append(happens)

    def _is_ready(self, channel: Channel, ready: Sequence[bool]) -> bool:
        if channel in self.exits:
            return ready[self.exits[channel]]
        return self.queues[channel].free > 0

    def _step_node(self, node: int, ready: Sequence[bool]) -> list[Moved]:
        queues = self.inputs[node]
        held = {queue.worm for queue in queues} - {None}
        # What each header requests.
        wanted: dict[Channel, list[int]] = {}
        for number, queue in enumerate(queues):
            if queue.flits and queue.worm is None:
                flit = queue.flits[0]
                choices = list(self.relation.route(node, queue.came, flit.destination))
                for channel in choices or [self.graph.exits[flit.destination]]:
                    if channel not in held and self._may_enter(channel):
                        wanted.setdefault(channel, []).append(number)
        # What it is granted, and what it takes of that.
        granted: dict[int, list[Channel]] = {}
        for channel, numbers in wanted.items():
            winner = self.arbiters.setdefault(channel, Turns()).serve(numbers)
            granted.setdefault(winner, []).append(channel)
        for number, channels in granted.items():
            queues[number].worm = min(
                channels,
                key=lambda channel: (
                    not self._is_ready(channel, ready),
                    self._is_escape(channel),
                    channel,
                ),
            )
        # The worms that can go on; one for each link.
        going: dict[tuple[int, int], dict[int, Queue]] = {}
        for queue in queues:
            if queue.flits and queue.worm is not None and self._is_ready(queue.worm, ready):
                wires = going.setdefault((queue.worm.node, queue.worm.port), {})
                wires[queue.worm.number] = queue
        moved = []
        for wires, able in going.items():
            queue = able[self.wires.setdefault(wires, Turns()).serve(list(able))]
            moved.append(self._go(queue))
        return moved

    def _is_escape(self, channel: Channel) -> bool:
        return channel in self.exits or self.relation.is_escape(channel)

    def _may_enter(self, channel: Channel) -> bool:
        """A channel that is no escape channel, only while the queue behind it is empty."""
        return self._is_escape(channel) or self.queues[channel].free == self.depth

    def _go(self, queue: Queue) -> Moved:
        flit, channel = queue.flits.popleft(), queue.worm
        assert channel is not None
        back = 1 if queue.came is None else self.graph.link_of(queue.came).latency

        def credit() -> None:
            queue.free += 1

        self._after(back, credit)
        if channel not in self.exits:
            self._send(flit, self.queues[channel], self.graph.link_of(channel).latency)
        if flit.last:
            queue.worm = None
        return Moved(self.cycle, channel, flit)
