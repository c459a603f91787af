"""Packets sent one at a time through a network with a broken link: predicted and measured."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations

import numpy as np

from ...hdl.bench import bench_for
from ...hdl.fabric.pins import Pin
from ...hdl.graphs.graph import Channel
from ...hdl.graphs.routing.relation import Relation
from ...hdl.networks.packet_network import PacketNetwork
from ..engines.engine_selection import open_engines
from ..measure.path_shares import PathShares
from ..workload.faults import cut
from ..workload.trace import Trace, TracePacket

__all__ = ["QuietPaths", "delivered_in_turn", "pins_of"]

End = tuple[int, int]


class QuietPaths:
    """The paths of packets that meet no other packet, whose headers take the first free channel.

    Parameters
    ----------
    relation : Relation
        Headers carry their destination only.
    """

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self._known: dict[tuple[int, Channel | None, int], list[Channel]] = {}

    def _choices(self, node: int, came: Channel | None, destination: int) -> list[Channel]:
        place = node, came if self.relation.looks_back else None, destination
        if place not in self._known:
            self._known[place] = self.relation.choices(*place)
        return self._known[place]

    def path(self, source: int, destination: int, broken: End | None = None) -> list[End] | None:
        """The links of a path, by the node and the port that they leave; or None if its packet
        waits for the broken link for ever.

        A header takes a broken link only if it has no other choice. It does not see broken links
        further ahead.
        """
        graph = self.relation.graph
        node, came, taken = graph.homes[source], None, []
        while choices := self._choices(node, came, destination):
            sound = (channel for channel in choices if channel[:2] != broken)
            came = next(sound, None)
            if came is None:
                return None
            taken.append((came.node, came.port))
            node = graph.link_of(came).peer
        return taken

    def users(self) -> dict[End, list[tuple[int, int]]]:
        """For each link, the pairs of different terminals whose packets use it if all are sound."""
        found: dict[End, list[tuple[int, int]]] = {}
        for source, destination in permutations(range(self.relation.ports), 2):
            for end in self.path(source, destination) or ():
                found.setdefault(end, []).append((source, destination))
        return found

    def arriving(
        self, pairs: Iterable[tuple[int, int]], broken: End, depth: int
    ) -> list[tuple[int, int]]:
        """Those of the packets that arrive if they are sent one after the other.

        A packet that waits for ever keeps a place in a queue. Those that come into this queue wait
        behind it, and when all places of it are taken, headers no longer choose its channel; or
        already when one is taken, if it is no escape channel.

        Parameters
        ----------
        pairs : Iterable[tuple[int, int]]
            Source and destination of each packet, of one flit, in order.
        broken : tuple[int, int]
            The dead link, by the node and the port that it leaves.
        depth : int
            Packets that a queue holds.
        """
        relation, found = self.relation, []
        graph = relation.graph
        # By the channel that leads to a queue, or by the terminal, whose own queue has no end.
        waiting: Counter[Channel | int] = Counter()
        for source, destination in pairs:
            node, came = graph.homes[source], None
            queue: Channel | int = source
            while choices := self._choices(node, came, destination):
                free = (
                    channel
                    for channel in choices
                    if channel[:2] != broken
                    and waiting[channel] < (depth if relation.is_escape(channel) else 1)
                )
                came = None if waiting[queue] else next(free, None)
                if came is None:
                    break
                queue, node = came, graph.link_of(came).peer
            if choices or waiting[queue]:
                waiting[queue] += 1
            else:
                found.append((source, destination))
        return found


def pins_of(network: PacketNetwork, relation: Relation, shares: PathShares, end: End) -> set[Pin]:
    """The outputs that drive a link: one for each of its channels that a packet may take.

    Parameters
    ----------
    network : PacketNetwork
    relation : Relation
        That of the network, or one whose paths have the same links in the same order.
    shares : PathShares
        Those of a relation whose packets may use the link.
    end : tuple[int, int]
        The link, by the node and the port that it leaves.
    """
    known = network.relation is not None
    found: set[Pin] = set()
    users = shares.links[shares.ends.index(end)]
    for source, destination in np.argwhere(users).tolist():
        if known:
            channels = relation.reached(source, destination)
            pins = list(network.channels(source, destination))
        else:
            channels = relation.path(source, destination)
            pins = network.path(source, destination)
        assert len(channels) == len(pins)
        found |= {pin for channel, pin in zip(channels, pins) if channel[:2] == end}
        if len(found) == relation.graph.by_output[end].channels:
            break
    return found


def delivered_in_turn(
    network: PacketNetwork,
    pairs: Sequence[tuple[int, int]],
    broken: Iterable[Pin],
    engine: str = "auto",
) -> int:
    """How many packets arrive of those sent one after the other, each after the last has arrived.

    Parameters
    ----------
    network : PacketNetwork
        Its packets take at most `zero_load_cycles` and a few more if they never wait.
    pairs : Sequence[tuple[int, int]]
        Source and destination of each packet, in order.
    broken : Iterable[Pin]
        Links that are dead, as in `workload.faults.cut`.
    engine : str
    """
    apart = network.zero_load_cycles + 4
    packets = (TracePacket(number * apart, *pair) for number, pair in enumerate(pairs))
    trace = Trace("in turn", tuple(packets))
    bench = bench_for(network, trace.sources(network), bins=2)
    (stepper,) = open_engines(engine, [cut(bench, broken)])
    with stepper:
        stepper.set("send", 1)
        stepper.step((len(pairs) + 4) * apart)
        return sum(stepper.read(bench.sinks, "delivered"))
