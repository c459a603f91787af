"""The Connection Machine's network: a hypercube of routers (Stanfill, 4)."""

from typing import Literal, NoReturn

from amaranth.hdl import ShapeLike

from ..checks import check_integer, check_limit, check_payload
from ..fabric import Cell, CellType, Fabric, Pin
from ..hypercube.node import HypercubeNode
from ..packet import Packet
from ..topology.hypercube import Hypercube
from .network import PacketNetwork, Terminals

__all__ = ["ConnectionMachine"]

LIMITS = {"n": 16, "processors": 64, "buffers": 64, "age": 48}
"""Largest values; beyond them elaboration takes hours."""


class ConnectionMachine(PacketNetwork):
    """2^n nodes of P processors each, joined as a hypercube.

    The node of address x is the cell `node_{x}`, a `HypercubeNode`; all are of one type. Terminal
    x P + p is processor p of node x. A packet that nothing hinders takes h + 2 cycles, if its
    destination is h wires away, all wires are served in a cycle, and wires carry words. Packets
    of one flow may overtake each other.

    The machine itself: n=12, processors=16, links=serial. With links=word it does the same in the
    same steps, each in one cycle.

    Parameters
    ----------
    n : int
        Dimensions, from 1 to 16.
    processors : int
        P: a power of two, from 1 to 64.
    buffers : int
        Messages that each node can store, from 1 to 64.
    payload : ShapeLike
        Shape of the payload, or its width in bits, from 1 to 4,096.
    schedule : "petit" or "parallel"
        Whether one dimension is served a step, in turn, or all wires in each.
    priority : "oldest" or "fixed"
        Which messages are routed first, and referred last. The oldest first guarantees delivery.
    links : "word" or "serial"
        Whether a message crosses a wire in one cycle, or bit by bit.
    combine : "none", "add", "or", "max" or "overwrite"
        Whether messages to the same terminal that meet in a node become one, and what its payload
        is then. Packets that arrive are then fewer than were sent, and carry other payloads.
    age : int or "auto"
        Width in bits of the step of birth that messages carry with priority "oldest", from 1 to 48.
        "auto" is as many as a message's age can ever need, if processors take what they are offered
        in the step in which they are offered it.

    Attributes
    ----------
    plan : Hypercube
    node : CellType
    step : int
        Cycles of a step.
    served : int
        Wires, of all nodes together, that can take a message in a step.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    family = "connection-machine"
    ordered = False
    consumes_tags = True

    def __init__(
        self,
        n: int = 4,
        *,
        processors: int = 1,
        buffers: int = 4,
        payload: ShapeLike = 16,
        schedule: str = "petit",
        priority: str = "oldest",
        links: str = "word",
        combine: str = "none",
        age: int | Literal["auto"] = "auto",
    ) -> None:
        check_integer("Dimension n", n, 1)
        check_limit("Dimension n", n, LIMITS["n"])
        self.plan = Hypercube(n, processors)
        check_limit("Processors", processors, LIMITS["processors"])
        check_integer("Buffers", buffers, 1)
        check_limit("Buffers", buffers, LIMITS["buffers"])
        check_payload(payload)
        if age != "auto":
            check_integer("Age", age, 1)
            check_limit("Age", age, LIMITS["age"])
        self.parameters = {
            "n": n,
            "processors": processors,
            "buffers": buffers,
            "payload": payload,
            "schedule": schedule,
            "priority": priority,
            "links": links,
            "combine": combine,
            "age": age,
        }
        self.combine = combine
        self.ports = self.plan.terminals
        self.tags = self.plan.tags()
        self.packet = Packet(self.tags.code.width, payload)
        self.node = CellType(
            HypercubeNode,
            packet=self.packet,
            dimensions=n,
            processors=processors,
            buffers=buffers,
            age=longest_life(self.plan, buffers).bit_length() if age == "auto" else age,
            schedule=schedule,
            priority=priority,
            links=links,
            combine=combine,
        )
        self.step = self.node.build().cycles
        self.punctual = schedule == "parallel"
        self.served = self.plan.nodes * (n if schedule == "parallel" else 1)
        self.lengths = (1, 1)
        self.stages = n + 1
        super().__init__()

    @property
    def zero_load_cycles(self) -> int:
        return (self.plan.dimensions + 2) * self.step

    def place(self, fabric: Fabric) -> Terminals:
        for node in range(self.plan.nodes):
            fabric.place(Cell(f"node_{node}", self.node, {"address": node}))
        for node, dimension, other in self.plan.wires():
            fabric.link(
                Pin(f"node_{node}", ("o_wire", dimension)),
                Pin(f"node_{other}", ("i_wire", dimension)),
            )
        nodes = [f"node_{node}" for node in range(self.plan.nodes)]
        places = [self.plan.place(terminal) for terminal in range(self.ports)]
        return Terminals(
            [Pin(f"node_{node}", ("i", processor)) for node, processor in places],
            [Pin(f"node_{node}", ("o", processor)) for node, processor in places],
            crossings=[Pin(node, ("crossed",)) for node in nodes],
            referrals=[Pin(node, ("referred",)) for node in nodes],
            levels=[Pin(node, ("level",)) for node in nodes],
            combined=[Pin(node, ("combined",)) for node in nodes if self.combine != "none"],
        )

    def path(self, source: int, destination: int) -> list[Pin]:
        """As in `Network`; the path of a packet that nothing hinders, if all wires are served."""
        hops = [
            Pin(f"node_{node}", ("o_wire", dimension))
            for node, dimension in self.plan.path(source, destination)
        ]
        node, processor = self.plan.place(destination)
        return [*hops, Pin(f"node_{node}", ("o", processor))]

    def channels(self, source: int, destination: int) -> NoReturn:
        """Raise ValueError: messages that can't go on are referred, over any wire that is free."""
        raise ValueError("A network that refers messages, over any free wire, keeps no partitions")

    def moves(self, destination: int) -> NoReturn:
        """Raise ValueError: messages that can't go on are referred, and don't wait for a wire."""
        raise ValueError("A network that refers messages has no channels that they wait for")


def longest_life(plan: Hypercube, buffers: int) -> int:
    """Steps after which a message has arrived, with priority "oldest"; see `HypercubeNode`.

    Holds if processors take what they are offered in the step in which they are offered it. There
    can be no more messages than slots in buffers and on wires.
    """
    messages = plan.nodes * (buffers + plan.dimensions)
    return (plan.dimensions + 1) * messages + 1
