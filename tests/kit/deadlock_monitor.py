"""What happens in the queues of a network's routers, from the flits on its links alone.

It is written from the words of `WormRouter`, not from its code, and predicts when a router discards
a packet. From the queues it also tells whether a packet is in a deadlock: its header waits for a
queue, which waits for a queue, and so on, in a circle.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.graph import Channel
from multicube.hdl.networks.routed import RoutedNetwork

__all__ = ["Monitor"]

Place = tuple[int, int]
"""A node, and the number of an input of its router."""


class Flit(NamedTuple):
    """A flit, as a word, and its fields."""

    word: int
    tag: int
    last: bool


@dataclass
class Queue:
    """What is behind an input of a router.

    `stands` counts the cycles for which its header has been at the head, `output` is held by the
    worm whose header has left, and `swallowed` says that its packet is being discarded.
    """

    came: Channel | None
    flits: deque[Flit] = field(default_factory=deque)
    stands: int = 0
    inside: bool = False
    output: int = -1
    swallowed: bool = False


class Monitor:
    """The routers of a network with `recovery=discard` in an engine, one channel on each link.

    Attributes
    ----------
    discarded : int
        Packets that were discarded.
    true, behind, false : int
        Those in a circle of queues that wait for each other; those that wait for such a circle; and
        all others.
    """

    def __init__(self, network: RoutedNetwork, engine: Any, bench: Any) -> None:
        self.network, self.engine = network, engine
        self.graph, self.relation = network.relation.graph, network.relation
        self.packet = bench.cells["router_0"].type.parameters["packet"]
        self.queues: dict[Place, Queue] = {}
        self.behind_output: dict[Place, Place] = {}
        for link in self.graph.links():
            output = network.shapes[link.node].output((link.port, 0))
            entry = network.shapes[link.peer].input((link.peer_port, 0))
            self.queues[link.peer, entry] = Queue(Channel(link.node, link.port))
            self.behind_output[link.node, output] = link.peer, entry
        for channel in self.graph.entries:
            entry = network.shapes[channel.node].input((channel.port, 0))
            self.queues[channel.node, entry] = Queue(None)
        self.true = self.behind = self.false = self.discarded = 0

    def _pin(self, node: int, *path: Any) -> int:
        return self.engine.get(Pin(f"router_{node}", path))

    def observe(self) -> None:
        """Look at a cycle, before the engine's next step."""
        depth, timeout = self.network.parameters.depth, self.network.parameters.timeout
        moved = {}
        for node, shape in enumerate(self.network.shapes):
            for j in range(len(shape.outputs)):
                if self._pin(node, "o", j, "valid") and self._pin(node, "o", j, "ready"):
                    moved[node, j] = self._pin(node, "o", j, "payload")
        # Whose head each of them was.
        leaves: dict[Place, int] = {}
        for (node, j), word in moved.items():
            mine = [
                place
                for place, queue in self.queues.items()
                if place[0] == node and queue.flits and queue.flits[0].word == word
                if not queue.swallowed and place not in leaves and self._output(place) == j
            ]
            assert len(mine) == 1, (node, j, mine)
            leaves[mine[0]] = j
        begins = []
        for place, queue in self.queues.items():
            shown = self._pin(place[0], "i", place[1], "ready")
            assert shown == (len(queue.flits) < depth), place
            waits = bool(queue.flits) and not queue.inside and not queue.swallowed
            if waits and place not in leaves and queue.came and not self._arrived(place):
                queue.stands += 1
            else:
                queue.stands = 0
            if queue.stands == timeout:
                begins.append(place)
        told = {
            (node, i)
            for node, shape in enumerate(self.network.shapes)
            for i in range(len(shape.inputs))
            if i < sum(not entry.is_terminal for entry in shape.inputs)
            and self._pin(node, "discarded") >> i & 1
        }
        assert told == set(begins)
        self._judge(begins)
        self._advance(leaves, begins)

    def _arrived(self, place: Place) -> bool:
        return self.network.shapes[place[0]].outputs[self._output(place)].is_terminal

    def _output(self, place: Place) -> int:
        """The output that the flit at the head of a queue needs."""
        node, queue = place[0], self.queues[place]
        if queue.inside:
            return queue.output
        to = self.network.tags.code.decode(queue.flits[0].tag)
        ways = list(self.relation.route(node, queue.came, to))
        (channel,) = ways or [self.graph.exits[to]]
        return self.network.shapes[node].output((channel.port, channel.number))

    def _advance(self, leaves: dict[Place, int], begins: list[Place]) -> None:
        arriving = []
        for place, queue in self.queues.items():
            node, entry = place
            if self._pin(node, "i", entry, "valid") and self._pin(node, "i", entry, "ready"):
                word = self._pin(node, "i", entry, "payload")
                view = self.packet.from_bits(word)
                arriving.append((queue, Flit(word, view.tag, bool(view.last))))
        for place, queue in self.queues.items():
            if place in leaves:
                queue.output = leaves[place]
            if place in leaves or (queue.swallowed and queue.flits):
                flit = queue.flits.popleft()
                queue.inside = not flit.last
                queue.swallowed &= not flit.last
        for place in begins:
            self.queues[place].swallowed = True
            self.queues[place].stands = 0
        for queue, flit in arriving:
            queue.flits.append(flit)

    def _judge(self, begins: list[Place]) -> None:
        for place in begins:
            self.discarded += 1
            seen = [place]
            while (after := self._waits_for(seen[-1])) is not None and after not in seen:
                seen.append(after)
            if after is None:
                self.false += 1
            elif after == place:
                self.true += 1
            else:
                self.behind += 1

    def _waits_for(self, place: Place) -> Place | None:
        """The queue whose head must move before that of another one can, or None."""
        node, queue = place[0], self.queues[place]
        if not queue.flits or queue.swallowed:
            return None
        j = self._output(place)
        for other, worm in self.queues.items():
            holds = worm.inside and not worm.swallowed and worm.output == j
            if other != place and other[0] == node and holds:
                return other
        after = self.behind_output.get((node, j))
        full = after is not None and len(self.queues[after].flits) == self.network.parameters.depth
        return after if full else None
