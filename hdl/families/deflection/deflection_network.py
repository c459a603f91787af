# amaranth: UnusedElaboratable=no
"""A torus without queues, whose routers deflect packets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from amaranth.hdl import ShapeLike

from ...fabric.cell import Cell, CellType
from ...fabric.errors import InvalidValue
from ...fabric.fabric import Fabric, Scope
from ...fabric.layout import Layout
from ...fabric.parameter_fields import integer
from ...fabric.parameters import Parameters
from ...fabric.payload_shape import payload_shape
from ...fabric.pins import Pin
from ...fabric.wires import Lane
from ...links.packet import Packet
from ...networks.family import Family, Group
from ...networks.graph_layout import graph_layout
from ...networks.network_records import LinkCounts, Readings, Terminals, Window
from ...networks.packet_network import PacketNetwork
from ..torus.torus_graph import Torus
from .deflection_router import DeflectionRouter

__all__ = ["FAMILIES", "DeflectionParameters", "DeflectionTorus"]


@dataclass(frozen=True, eq=False)
class DeflectionParameters(Parameters):
    """The parameters of `DeflectionTorus`."""

    k: int | str = integer(
        4, "nodes per dimension, or sizes of both", least=2, form="AxB", title="Radix k"
    )
    payload: ShapeLike = payload_shape()


class DeflectionTorus(PacketNetwork):
    """Two dimensions of one-way rings, of bufferless routers: after Hoplite (Kapre, Gray, 2015).

    Node v is the cell `router_{v}`, a `DeflectionRouter`, which says how packets move and why they
    arrive. Packets are single words. A packet over h links takes h + 2 cycles if it is not
    deflected. Packets of one flow may overtake each other.

    Attributes
    ----------
    relation : Torus
        The graph, and the paths of packets that are not deflected.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)
    """

    parameters_type = DeflectionParameters
    parameters: DeflectionParameters
    family = "deflection"
    relation: Torus
    ordered = False

    def _set_up(self) -> None:
        k = self.parameters.k
        if isinstance(k, str) and k.count("x") != 1:
            raise InvalidValue(f"Radix k must be a number, or two sizes such as 8x4, not {k!r}")
        self.relation = Torus(k, 2, directions=1, channels=1)
        self.ports = self.relation.nodes
        self.tags = self.relation.tags
        self.stages = self.relation.diameter + 1
        self.zero_load_cycles = self.stages + 1

    def statistics(self, readings: Readings, window: Window) -> dict[str, Any]:
        """As in `Network`.

        `deflections` and `missed_exits` are numbers of the window: how often a packet was deflected
        to the first ring, and how often one arrived while its terminal refused the last.
        """
        return {
            name: sum(counts["measured"] for counts in readings[meter].values())
            for name, meter in (("deflections", "deflected"), ("missed_exits", "missed"))
        }

    @staticmethod
    def statistics_lines(statistics: Mapping[str, Any]) -> list[str]:
        return [
            f"{statistics['deflections']} deflections, {statistics['missed_exits']} missed exits"
        ]

    @property
    def link_counts(self) -> LinkCounts:
        return LinkCounts(sum(1 for _ in self.relation.links()), self.relation.bisection)

    @property
    def sphere(self) -> int:
        """The nodes of a ring of the second dimension."""
        return self.relation.sizes[0]

    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        plan = self.relation
        type_ = CellType(DeflectionRouter, packet=packet or self.packet, digit=plan.code.digit_bits)
        for node in range(plan.nodes):
            digits = [(at + 1) % size for at, size in zip(plan.code.split(node), plan.sizes)]
            beyond = plan.code.join(digits)
            straps = {"address": plan.code.encode(node), "beyond": plan.code.encode(beyond)}
            fabric.place(Cell(f"router_{node}", type_, straps, title=f"node {plan.name(node)}"))
        for link in plan.links():
            fabric.link(
                Pin(f"router_{link.node}", ("o_link", link.port)),
                Pin(f"router_{link.peer}", ("i_link", link.peer_port)),
            )
        cells = [f"router_{node}" for node in range(plan.nodes)]
        return Terminals(
            [Pin(cell, ("i",)) for cell in cells], [Pin(cell, ("o",)) for cell in cells]
        )

    @property
    def layout(self) -> Layout:
        return graph_layout(
            self.relation.graph,
            lambda link: [Pin(f"router_{link.node}", ("o_link", link.port))],
            lambda node: f"router_{node}",
        )

    def _path(self, source: int, destination: int) -> list[Pin]:
        """As in `Network`; the path of a packet that is not deflected."""
        *hops, last = self.relation.path(source, destination)
        links = [Pin(f"router_{hop.node}", ("o_link", hop.port)) for hop in hops]
        return [*links, Pin(f"router_{last.node}", ("o",))]

    def lane(self, output: Pin) -> Lane:
        """As in `Network`."""
        if output.path[0] != "o_link":
            return Lane()
        return Lane("+x" if output.path[1] == 0 else "+y")

    def channels(self, source: int, destination: int) -> NoReturn:
        """Raise ValueError: a deflected packet goes around a ring that others use."""
        raise InvalidValue(
            "A network that deflects packets, around rings of others, can't be partitioned"
        )

    def moves(self, destination: int) -> NoReturn:
        """Raise ValueError: packets are deflected, and don't wait for a link."""
        raise InvalidValue("A network that deflects packets has no channels that they wait for")


FAMILIES = (
    Family(
        "deflection",
        "a torus of one-way rings without queues, which deflects packets that meet (Hoplite)",
        DeflectionTorus,
        Group.DEFLECTION,
        example={"k": 3},
        aliases=("hoplite",),
    ),
)
