"""The Connection Machine's network: a hypercube of routers (Stanfill, 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from amaranth.hdl import ShapeLike

from ...fabric.cell import Cell, CellType
from ...fabric.errors import InvalidValue
from ...fabric.fabric import Fabric, Scope
from ...fabric.layout import Layout
from ...fabric.parameter_fields import integer, word
from ...fabric.parameters import Parameters
from ...fabric.payload_shape import payload_shape
from ...fabric.pins import Pin
from ...fabric.wires import Lane
from ...graphs.grid import cube_position
from ...links.packet import Packet
from ...networks.family import Family, Group
from ...networks.graph_layout import cells_layout
from ...networks.network_records import LinkCounts, Readings, Terminals, Window
from ...networks.packet_network import PacketNetwork
from ...operations.folds import FOLDS
from .connection_machine_graph import Hypercube
from .hypercube_node import LINKS, SCHEDULES, HypercubeNode
from .seniority import PRIORITIES

__all__ = ["FAMILIES", "ConnectionMachine", "ConnectionMachineParameters"]


@dataclass(frozen=True, eq=False)
class ConnectionMachineParameters(Parameters):
    """The parameters of `ConnectionMachine`. Beyond the limits, elaboration takes hours.

    `priority` "oldest" guarantees delivery. With `combine`, messages to the same terminal that meet
    in a node are merged: fewer messages arrive than were sent, and their payloads differ. `age` is
    the width of the step of injection that messages carry with priority "oldest". "auto" is as many
    bits as the age of a message can ever need, if processors take what they are offered in the step
    in which they are offered it.
    """

    n: int = integer(
        4, "dimension of the hypercube: it has 2^n nodes", least=1, most=16, title="Dimension n"
    )
    processors: int = integer(1, "terminals per node, a power of two", least=1, most=64)
    buffers: int = integer(4, "packets that a node can store", least=1, most=64)
    payload: ShapeLike = payload_shape()
    schedule: str = word(
        "dimension",
        "whether a step serves one dimension, or all; see docs/families/connection-machine.md",
        SCHEDULES,
    )
    priority: str = word("oldest", "which packets are routed first, deflected last", PRIORITIES)
    links: str = word("word", "whether wires carry a packet per cycle, or bit by bit", LINKS)
    combine: str = word(
        "none", "how packets for one processor that meet are merged", ("none", *FOLDS)
    )
    age: int | Literal["auto"] = integer(
        "auto", "width of a packet's step of injection in bits", least=1, most=48, choices=("auto",)
    )


class ConnectionMachine(PacketNetwork):
    """2^n nodes of P processors each, joined as a hypercube.

    The node of address x is the cell `node_{x}`, a `HypercubeNode`; all are of one type. Terminal
    x P + p is processor p of node x. An unblocked packet takes h + 2 cycles if its destination is
    h wires away, all wires are served in each cycle, and wires carry words. Packets of one flow may
    overtake each other.

    Stanfill's machine has n=12 and processors=16. With links=word it takes the same steps as with
    links=serial, of one cycle each.

    Attributes
    ----------
    plan : Hypercube
        The wiring of the nodes.
    node : CellType
        The type of all nodes.
    step : int
        Cycles per step.
    parts : int
        Steps by which the end of a message follows its header.
    served : int
        Number of wires, of all nodes together, that can take a message in a step.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)

    Examples
    --------
    >>> from multicube.hdl import ConnectionMachine
    >>> ConnectionMachine(3, processors=2).ports
    16
    """

    parameters_type = ConnectionMachineParameters
    parameters: ConnectionMachineParameters
    family = "connection-machine"
    ordered = False
    consumes_tags = True
    restarts = False

    def _set_up(self) -> None:
        given = self.parameters
        self.plan = Hypercube(given.n, given.processors)
        self.combine = given.combine
        self.ports = self.plan.terminals
        self.tags = self.plan.tags()
        self.node = self._node(self.packet)
        node = self.node.build()
        self.step, self.parts = node.cycles, node.parts
        self.served = self.plan.nodes * (given.n if given.schedule == "parallel" else 1)
        self.path_is_fixed = given.schedule == "parallel"
        self.stages = given.n + 1
        self.zero_load_cycles = (given.n + 2 + self.parts) * self.step

    def _node(self, packet: Packet) -> CellType:
        given = self.parameters
        longest = longest_life(self.plan, given.buffers).bit_length()
        return CellType(
            HypercubeNode,
            packet=packet,
            dimensions=given.n,
            processors=given.processors,
            buffers=given.buffers,
            age=longest if given.age == "auto" else given.age,
            schedule=given.schedule,
            priority=given.priority,
            links=given.links,
            combine=given.combine,
        )

    def step_of(self, packet: Packet) -> int:
        """Cycles of a step in which packets of this layout cross a wire.

        Parameters
        ----------
        packet : Packet
            The layout.

        Returns
        -------
        int
            Cycles.
        """
        return self._node(packet).build().cycles

    def statistics(self, readings: Readings, window: Window) -> dict[str, Any]:
        """The steps of the routers, and the use of their wires and buffers, in the window.

        `router_steps` is the number of steps of the routers, each of which served one dimension
        (schedule "dimension") or all. `wire_use` is the share of the wires served in them that
        carried a message, `buffer_occupancy` is the number of messages stored in a node, and
        `referred` is the number of deflections in the whole run (Stanfill calls this refer).

        Parameters
        ----------
        readings : Readings
            What the meters count that this network's cells declare.
        window : Window
            The cycles and packets that they were counted in.

        Returns
        -------
        dict[str, Any]
            The four numbers by name.
        """
        # The stamps of the test bench lengthen messages, and so the steps of serial wires.
        cycles, step = window.cycles, self.step_of(window.packet or self.packet)
        crossed = sum(counts["measured"] for counts in readings["crossed"].values())
        return {
            "referred": sum(counts["total"] for counts in readings["referred"].values()),
            "router_steps": -(-cycles // step),
            "wire_use": crossed * step / (self.served * cycles),
            "buffer_occupancy": window.levels(readings["stored"].values()),
        }

    @staticmethod
    def statistics_lines(statistics: Mapping[str, Any]) -> list[str]:
        stored = statistics["buffer_occupancy"]
        return [
            f"routers: {statistics['router_steps']} steps; "
            f"{statistics['wire_use']:.3f} of the wires served carried a message;",
            f"{stored['mean']:.2f} messages per node in buffers, at most {stored['max']}; "
            f"{statistics['referred']} deflections",
        ]

    @property
    def link_counts(self) -> LinkCounts | None:
        """None if links carry single bits."""
        if self.parameters.links != "word":
            return None
        return LinkCounts(self.plan.nodes * self.plan.dimensions, self.plan.nodes)

    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        type_ = self.node if packet is None else self._node(packet)
        for node in range(self.plan.nodes):
            straps = {"address": node}
            fabric.place(Cell(f"node_{node}", type_, straps, title=f"node {node}"))
        for node, dimension, other in self.plan.wires():
            fabric.link(
                Pin(f"node_{node}", ("o_wire", dimension)),
                Pin(f"node_{other}", ("i_wire", dimension)),
            )
        places = [self.plan.place(terminal) for terminal in range(self.ports)]
        return Terminals(
            [Pin(f"node_{node}", ("i", processor)) for node, processor in places],
            [Pin(f"node_{node}", ("o", processor)) for node, processor in places],
        )

    @property
    def layout(self) -> Layout:
        nodes, n = range(self.plan.nodes), self.plan.dimensions
        return cells_layout(
            [str(node) for node in nodes],
            [f"node_{node}" for node in nodes],
            [cube_position(node, n) for node in nodes],
            own=self.plan.processors == 1,
        )

    def _path(self, source: int, destination: int) -> list[Pin]:
        hops = [
            Pin(f"node_{node}", ("o_wire", dimension))
            for node, dimension in self.plan.path(source, destination)
        ]
        node, processor = self.plan.place(destination)
        return [*hops, Pin(f"node_{node}", ("o", processor))]

    def lane(self, output: Pin) -> Lane:
        port, number = output.path
        return Lane(f"dimension {number}") if port == "o_wire" else Lane()

    def channels(self, source: int, destination: int) -> NoReturn:
        raise InvalidValue(
            "A network that deflects messages, over any free wire, can't be partitioned"
        )

    def moves(self, destination: int) -> NoReturn:
        raise InvalidValue("A network that deflects messages has no channels that they wait for")


def longest_life(plan: Hypercube, buffers: int) -> int:
    """Steps within which a message arrives, with priority "oldest"; see `HypercubeNode`.

    Valid if processors take what they are offered in the step in which they are offered it. There
    can't be more messages than slots in buffers and on wires.
    """
    messages = plan.nodes * (buffers + plan.dimensions)
    return (plan.dimensions + 1) * messages + 1


FAMILIES = (
    Family(
        "connection-machine",
        "a hypercube whose routers inject, route, buffer, refer and deliver; 2^n nodes of "
        "processors",
        ConnectionMachine,
        Group.HYPERCUBES,
        example={"n": 3},
    ),
)
