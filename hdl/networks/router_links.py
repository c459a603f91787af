# amaranth: UnusedElaboratable=no
"""The links between the routers of a network: wires, or cells if they take several cycles."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..fabric.cell import Cell, CellType
from ..fabric.fabric import Fabric, Scope
from ..fabric.pins import Pin
from ..graphs.graph import Channel, Graph, Link
from ..graphs.routing.relation import Relation
from ..links.packet import Packet
from ..primitives.link_end import LinkEnd
from ..routers.credit_link import CreditLink
from ..switch.shape import RouterShape, space_needed
from .router_parameters import RouterParameters

__all__ = ["RouterLinks", "link_ends", "link_name", "spare_links"]


def link_name(link: Link) -> str:
    """The cell of a link of several cycles."""
    return f"link_{link.node}_{link.port}"


def link_ends(shapes: Sequence[RouterShape], link: Link) -> list[tuple[int, int]]:
    """For each channel of a link, the output that it leaves, and the input that it enters.

    Parameters
    ----------
    shapes : Sequence[RouterShape]
        The shapes of all routers.
    link : Link
        The link, between two routers.

    Returns
    -------
    list[tuple[int, int]]
        Numbers of outputs of one router, and of inputs of the other.
    """
    sender, receiver = shapes[link.node], shapes[link.peer]
    return [
        (sender.output((link.port, c)), receiver.input((link.peer_port, c)))
        for c in range(link.channels)
    ]


def spare_links(graph: Graph, shapes: Sequence[RouterShape]) -> Iterable[Link]:
    """Links from a node to itself, for the ports that lead nowhere; nothing takes them."""
    linked = set(graph.by_output)
    entered = {(link.peer, link.peer_port) for link in graph.by_output.values()}
    for node, shape in enumerate(shapes):
        outputs = Counter(one.end[0] for one in shape.outputs if not one.is_terminal)
        inputs = dict.fromkeys(one.end[0] for one in shape.inputs if not one.is_terminal)
        leaving = [port for port in outputs if (node, port) not in linked]
        coming = [port for port in inputs if (node, port) not in entered]
        for port, peer_port in zip(leaving, coming):
            yield Link(node, port, node, peer_port, outputs[port], graph.latency)


@dataclass(frozen=True)
class RouterLinks:
    """Places links between routers.

    Parameters
    ----------
    relation : Relation
        The graph, and where its packets go.
    shapes : Sequence[RouterShape]
        The shapes of all routers.
    given : RouterParameters
        The parameters of the network.
    longest : int
        Most flits of a packet.
    """

    relation: Relation
    shapes: Sequence[RouterShape]
    given: RouterParameters
    longest: int

    def place(self, fabric: Fabric | Scope, packet: Packet, link: Link) -> None:
        """The wires of a link; if it takes several cycles, a cell."""
        given = self.given
        sender, receiver = self.shapes[link.node], self.shapes[link.peer]
        here, there, name = f"router_{link.node}", f"router_{link.peer}", link_name(link)
        guarded = sender.guarded_outputs(given.switch)
        ends = link_ends(self.shapes, link)
        waits = tuple(c for c, (output, _) in enumerate(ends) if output in guarded)
        if link.latency > 1:
            kind = CellType(
                CreditLink,
                packet=packet,
                channels=link.channels,
                latency=link.latency,
                depth=given.depth,
                guarded=waits,
                needed=space_needed(given.switch, given.depth, self.longest),
                levels=self.relation.senses,
            )
            title = f"link to node {self.relation.graph.name(link.peer)}"
            fabric.place(Cell(name, kind, title=title))
        for c, (output, entry) in enumerate(ends):
            leaves, comes = Pin(here, ("o", output)), Pin(there, ("i", entry))
            if link.latency > 1:
                freed = receiver.credited_inputs.index(entry)
                fabric.link(leaves, Pin(name, ("i", c)))
                fabric.link(Pin(name, ("o", c)), comes)
                fabric.link(Pin(there, ("freed", freed)), Pin(name, ("freed", c)))
            elif self._is_unused(Channel(link.node, link.port, c)):
                end = f"end_{link.node}_{output}"
                fabric.place(Cell(end, CellType(LinkEnd, shape=packet)))
                fabric.link(leaves, Pin(end, ("i",)))
                fabric.link(Pin(end, ("o",)), comes)
            else:
                fabric.link(leaves, comes)
            if given.pipeline:
                freed = receiver.credited_inputs.index(entry)
                credit = sender.link_outputs.index(output)
                fabric.link(Pin(there, ("freed", freed)), Pin(here, ("credit", credit)))
            elif c in waits:
                opened = Pin(name, ("open", waits.index(c)))
                if link.latency == 1:
                    space = receiver.guarded_inputs(given.switch).index(entry)
                    opened = Pin(there, ("space", space))
                fabric.link(opened, Pin(here, ("open", guarded.index(output))))

    def _is_unused(self, channel: Channel) -> bool:
        """Whether a channel must not be linked, since with refill paths could lead around it."""
        return self.given.refill == "yes" and not self.relation.carries(channel)
