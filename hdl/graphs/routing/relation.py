"""Routing relations: the channels that a header may take next, in any graph.

A relation is plain data, without hardware. From it follow the paths of packets, the turns for which
routers need wires, their tables, and the proof that worms can't deadlock
(`graphs.routing.deadlock`).
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Literal

from ...fabric.checks import check_kind, shown
from ...fabric.errors import InvalidType, InvalidValue
from ..address_codes import AddressCode
from ..graph import Channel, Graph, Turn
from ..tags import TagScheme, address_tags
from .survey import survey

__all__ = ["Detour", "Relation", "RoutedGraph"]

Detour = Literal["random", "least-delay"]
"""How a packet's intermediate terminal is chosen where it enters: at random, or so only if that
seems to take less time than to go directly."""


class Relation(ABC):
    """Which channels a header may take next.

    A header that may take several channels requests all of them. Of those that it gets, it takes
    one whose receiver is ready, if there is any; preferably one that is no escape channel; and the
    one with the lowest port and number of these.

    A header may wait for an *escape* channel; it may enter any other channel only while the queue
    behind it is empty (or, with cut-through, while its whole packet fits there). If not all
    channels are escape channels, `route` must offer at least one that is (Duato, 1993:
    `graphs.routing.deadlock`).

    Attributes
    ----------
    graph : Graph
        The nodes, links and terminals between which it leads.
    ordered : bool
        Whether packets of one source and destination stay in order: true if `route` never offers
        more than one channel.
    looks_back : bool
        Whether `route` depends on `came`. If not, it is asked only once per node and header.
    deadlock_free : bool
        Whether it is known to be free of deadlock in any size. If not, it is examined when a
        network is built.
    choice : bool
        Whether `route` may offer more than one channel; by default, if packets are not `ordered`.
    equal_choices : bool
        Whether the choices of any two headers in a node, if they have several, are the same or have
        no channel in common. Then an arbiter that grants an output to a header which takes another
        one stays at this header, and so the arbiters of a node do not all grant the same header for
        ever (McKeown, 1999).
    layers : int
        Virtual layers that packets are distributed over, each of which is free of deadlock.
    phases : tuple[Relation, Relation] or None
        If packets go by way of an intermediate terminal: the relations to it, and from there on
        (`graphs.routing.valiant`).
    detour : Detour
        How this terminal is chosen.
    rewritable : bool
        Whether the tables of routers may be replaced while the network runs, so that inputs must
        not share them (`graphs.routing.rewritable`).
    """

    layers: int = 1
    phases: "tuple[Relation, Relation] | None" = None
    detour: ClassVar[Detour] = "random"
    ordered: bool = True
    looks_back: bool = True
    deadlock_free: bool = False
    equal_choices: bool = False
    rewritable: ClassVar[bool] = False

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph that packets are routed in."""

    @abstractmethod
    def route(self, node: int, came: Channel | None, destination: int) -> Iterable[Channel]:
        """The channels that a header in a node may take next; none if it leaves for its terminal.

        It is asked only about headers that can be there: so `came` tells what the header did
        before, such as the virtual layer that it is in.

        Parameters
        ----------
        node : int
        came : Channel or None
            The channel by which it arrived; None if it comes from a terminal of this node.
        destination : int
            The terminal; or, in a relation that redefines `headers`, one of those.
        """

    def is_escape(self, channel: Channel) -> bool:
        """Whether a channel is an escape channel; all are, unless headers have a choice."""
        return True

    def weight(self, channel: Channel, destination: int) -> int:
        """How often packets for a terminal should take a channel that `route` offers, in proportion
        to the others that it offers: by default all are alike."""
        return 1

    def headers(self, destination: int) -> Sequence[int]:
        """What the header of a packet for a terminal may carry: by default only the terminal.

        A relation with more, such as an intermediate node, numbers the headers for all terminals.
        """
        return (destination,)

    @property
    def tags(self) -> TagScheme:
        """How a header's tag is computed; by default it is the number of the terminal."""
        count = len(self.graph.homes)
        bits = (count - 1).bit_length()
        return address_tags(AddressCode(2, bits) if count == 1 << bits else AddressCode(count, 1))

    # What follows from it.

    @property
    def choice(self) -> bool:
        """Whether `route` may offer more than one channel."""
        return not self.ordered

    @property
    def senses(self) -> bool:
        """Whether terminals look at the queues behind the links of their node."""
        return self.phases is not None and self.detour == "least-delay"

    @property
    def ports(self) -> int:
        """Number of terminals."""
        return len(self.graph.homes)

    @property
    def sinks(self) -> int:
        """Number of terminals that receive: all."""
        return self.ports

    def choices(self, node: int, came: Channel | None, header: int) -> list[Channel]:
        """What `route` offers, each channel once, in order of preference.

        Raises
        ------
        TypeError, ValueError
            If it offers no channels but something else, or several although there is no `choice`.
        """
        offered = self.route(node, came, header)
        if not hasattr(offered, "__iter__"):  # much faster than to ask whether it is Iterable
            raise InvalidType(f"Route must be an iterable of channels, not {shown(offered)}")
        found = list(offered)
        for channel in found:
            check_kind("Channel of a route", channel, Channel, "a Channel")
        if len(found) > 1:
            found = sorted(set(found), key=lambda channel: (self.is_escape(channel), channel))
        if len(found) > 1 and not self.choice:
            raise InvalidValue(
                "Ordered must be False in a routing that offers several channels, "
                f"as at node {self.graph.name(node)}: {shown(found)}"
            )
        return found

    def path(self, source: int, destination: int) -> list[Channel]:
        """The channels that a packet takes if all are free; the last one leads to its terminal.

        Raises
        ------
        ValueError
            If it does not arrive.
        """
        graph = self.graph
        (header, *_) = self.headers(destination)
        node, came = graph.homes[source], None
        taken: dict[Channel, None] = {}
        while nexts := self.choices(node, came, header):
            came = nexts[0]
            if came in taken:
                raise InvalidValue(
                    f"Packet from terminal {source} to {destination} goes in a circle "
                    f"through node {graph.name(node)}"
                )
            taken[came] = None
            node = graph.link_of(came).peer
        if node != graph.exit_homes[destination]:
            raise InvalidValue(
                f"Packet from terminal {source} to {destination} "
                f"finds no way at node {graph.name(node)}"
            )
        return [*taken, graph.exits[destination]]

    @cached_property
    def lengths(self) -> list[list[int]]:
        """For each source and destination, the number of links on `path`."""
        terminals = range(self.ports)
        return [[len(self.path(source, to)) - 1 for to in terminals] for source in terminals]

    def moves(self, destination: int) -> Mapping[Channel, list[Channel]]:
        """As `graphs.routing.deadlock` needs them: for each channel that a header for a terminal
        may use, the channels that it may take next, in order of preference; None for its last
        channel."""
        exit_ = self.graph.exits[destination]
        found: dict[Channel, list[Channel]] = {exit_: []}
        for header in self.headers(destination):
            for _, came, nexts in self.steps(header):
                if came is not None:
                    known = found.setdefault(came, [])
                    known += [c for c in nexts or [exit_] if c not in known]
        return found

    def steps(
        self, header: int, starts: Iterable[int] | None = None
    ) -> Iterator[tuple[int, Channel | None, list[Channel]]]:
        """Every node and arriving channel at which a header can be, and `choices` there.

        Headers come from some nodes, by default from all that have terminals.

        Raises
        ------
        ValueError
            If a channel does not exist.
        """
        graph, by_output = self.graph, self.graph.by_output
        seen: set[Channel] = set()
        known: dict[int, list[Channel]] = {}
        if starts is None:
            starts = (node for node, own in enumerate(graph.terminals) if own)
        waiting: list[tuple[int, Channel | None]] = [(node, None) for node in starts]
        while waiting:
            node, came = waiting.pop()
            if self.looks_back or node not in known:
                known[node] = self.choices(node, came, header)
                for channel in known[node]:
                    if channel not in seen:
                        seen.add(channel)
                        link = by_output.get((channel.node, channel.port))
                        if (
                            link is None
                            or channel.node != node
                            or not 0 <= channel.number < link.channels
                        ):
                            raise InvalidValue(
                                f"Packet can't leave node {graph.name(node)} by {channel}: "
                                "there is no such channel"
                            )
                        waiting.append((link.peer, channel))
            yield node, came, known[node]

    def reached(self, source: int, destination: int) -> list[Channel]:
        """All channels that a packet between two terminals may use."""
        start = self.graph.homes[source]
        found: dict[Channel, None] = {}
        for header in self.headers(destination):
            for _, _, nexts in self.steps(header, (start,)):
                found |= dict.fromkeys(nexts)
        return [*found, self.graph.exits[destination]]

    def without(self, dead: Collection[tuple[int, int]]) -> "Relation":
        """The same routing in the graph without dead links, for the same routers.

        Parameters
        ----------
        dead : Collection[tuple[int, int]]
            The links, by the node and the port that they leave. Both directions are avoided.

        Raises
        ------
        ValueError
            If it is not `rewritable`, a terminal can't be reached, or more channels are needed than
            there are.
        """
        raise InvalidValue("Tables of this routing can't be replaced in a run")

    def turns(self) -> Mapping[int, Collection[Turn]]:
        """For each node, the ways through it that a header can take.

        Looks at every header. A relation of a large graph that knows its turns redefines this.
        """
        return survey(self).turns

    def carries(self, channel: Channel) -> bool:
        """Whether any packet takes a channel. Looks at every header, as `turns`."""
        end = channel.port, channel.number
        return any(turn.output == end for turn in survey(self).turns[channel.node])

    @property
    def diameter(self) -> int:
        """Links on the longest path that a packet takes if all are free.

        Looks at every header, as `turns`.
        """
        return survey(self).diameter

    def deadlock(self) -> Sequence[Channel] | None:
        """A cycle of channels on which worms may wait for each other, or None.

        Looks at every header, as `turns`; and not at all if it is known to be `deadlock_free`.
        """
        return None if self.deadlock_free else survey(self).cycle


class RoutedGraph(Graph, Relation):
    """A graph that defines its own routing: a subclass defines `nodes`, `links` and `route`.

    Examples
    --------
    A ring of links in one direction. Packets go around from the node of their source; the last link
    back to node 0 is left by channel 1 only, so that the channels do not wait in a cycle (Dally and
    Seitz, 1987):

    >>> class Ring(RoutedGraph):
    ...     nodes = 4
    ...     def links(self):
    ...         return [Link(node, 0, (node + 1) % 4, 0, channels=2) for node in range(4)]
    ...     def route(self, node, came, destination):
    ...         if node != destination:
    ...             yield Channel(node, 0, int(destination < node))
    >>> from multicube.hdl.graphs.graph import Channel, Link
    >>> ring = Ring()
    >>> [(channel.node, channel.number) for channel in ring.path(2, 1)[:-1]]
    [(2, 1), (3, 1), (0, 0)]
    >>> ring.deadlock()
    """

    @property
    def graph(self) -> Graph:
        return self
