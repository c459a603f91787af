# amaranth: UnusedElaboratable=no
"""Packets through a flip network under central control: one permutation after the other."""

from dataclasses import dataclass, replace

from amaranth.hdl import Module, ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Cell, CellType
from ...fabric.diagram import Node, Port
from ...fabric.fabric import Fabric, Scope
from ...fabric.layout import Layout, Route
from ...fabric.parameter_fields import integer, word
from ...fabric.parameters import Parameters
from ...fabric.payload_shape import payload_shape
from ...fabric.pins import Pin
from ...graphs.plans.named_plans import PLANS, multistage_plan
from ...links.packet import Packet
from ...networks.family import Family, Group
from ...networks.network_records import Terminals
from ...networks.packet_network import PacketNetwork
from ...networks.stage_layout import Part, stage_layout
from ...primitives.arrival_queue import ArrivalQueue
from ...primitives.interchange_box import BoxState, InterchangeBox
from .stage_controlled import place_stage_controlled

__all__ = [
    "FAMILIES",
    "Sequencer",
    "StageSequencedNetwork",
    "StageSequencedParameters",
    "StreamBox",
    "TagGate",
    "TagRegister",
]

# The test bench reports a network as stuck if it delivers nothing for 1,000 cycles.
_MOST_PORTS = 512


class Sequencer(wiring.Component):
    """The central controller: a counter that steps through all settings of the stages.

    Parameters
    ----------
    stages : int

    Members
    -------
    control : Out(stages)
        0 in the first cycle after reset, then 1, and 0 again after 2^stages - 1.
    """

    def __init__(self, stages: int) -> None:
        super().__init__({"control": Out(stages)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.control.eq(self.control + 1)
        return m


class TagGate(wiring.Component):
    """A register for one packet, whose payload leaves when its tag is the setting of the network.

    `o` comes from the register and `control`; `i.ready` depends combinationally on `o.ready` and
    `control`. `o` is valid for one cycle at a time, taken or not: behind the gate, an offer need
    not stay until it is taken, because the network's setting does not stay.

    Parameters
    ----------
    packet : Packet

    Members
    -------
    control : In(n)
        As wide as the tag.
    i : In(stream.Signature(packet))
    o : Out(stream.Signature(payload of the packet))
    """

    def __init__(self, packet: Packet) -> None:
        self.packet = packet
        super().__init__(
            {
                "control": In(packet.members["tag"]),
                "i": In(stream.Signature(packet)),
                "o": Out(stream.Signature(packet.members["payload"])),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.register = register = ArrivalQueue(self.packet, depth=1, refill=True)
        wiring.connect(m, wiring.flipped(self.i), register.i[0])
        waiting = register.o
        match = waiting.payload.tag == self.control
        m.d.comb += [
            self.o.payload.eq(waiting.payload.payload),
            self.o.valid.eq(waiting.valid & match),
            waiting.ready.eq(self.o.ready & match),
        ]
        return m


class TagRegister(wiring.Component):
    """A register for one packet, made from a payload and the setting with which it arrived.

    `o` comes from the register; `i.ready` depends combinationally on `o.ready`.

    Parameters
    ----------
    packet : Packet

    Members
    -------
    control : In(n)
        As wide as the tag.
    i : In(stream.Signature(payload of the packet))
    o : Out(stream.Signature(packet))
    """

    def __init__(self, packet: Packet) -> None:
        self.packet = packet
        super().__init__(
            {
                "control": In(packet.members["tag"]),
                "i": In(stream.Signature(packet.members["payload"])),
                "o": Out(stream.Signature(packet)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.register = register = ArrivalQueue(self.packet, depth=1, refill=True)
        entry = register.i[0]
        m.d.comb += [
            entry.payload.tag.eq(self.control),
            entry.payload.payload.eq(self.i.payload),
            entry.valid.eq(self.i.valid),
            self.i.ready.eq(entry.ready),
        ]
        wiring.connect(m, wiring.flipped(self.o), register.o)
        return m


class StreamBox(wiring.Component):
    """Two interchange boxes under one control: for payloads, and for `ready` in return.

    Straight and exchange connect the ports equally in both directions. The broadcast states do not,
    and are not for use with this box. Combinational.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    state : In(BoxState)
        STRAIGHT or EXCHANGE.
    i : In(stream.Signature(shape)).array(2)
    o : Out(stream.Signature(shape)).array(2)
    """

    def __init__(self, shape: ShapeLike) -> None:
        self.shape = shape
        link = stream.Signature(shape)
        super().__init__({"state": In(BoxState), "i": In(link).array(2), "o": Out(link).array(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offer = data.StructLayout({"valid": 1, "payload": self.shape})
        m.submodules.forward = forward = InterchangeBox(2, offer)
        m.submodules.backward = backward = InterchangeBox(2, 1)
        m.d.comb += [forward.state.eq(self.state), backward.state.eq(self.state)]
        for port in range(2):
            m.d.comb += [
                forward.i[port].valid.eq(self.i[port].valid),
                forward.i[port].payload.eq(self.i[port].payload),
                self.o[port].valid.eq(forward.o[port].valid),
                self.o[port].payload.eq(forward.o[port].payload),
                backward.i[port].eq(self.o[port].ready),
                self.i[port].ready.eq(backward.o[port]),
            ]
        return m


@dataclass(frozen=True, eq=False)
class StageSequencedParameters(Parameters):
    """The parameters of `StageSequencedNetwork`."""

    ports: int = integer(32, "terminals, a power of two", least=2, most=_MOST_PORTS)
    wiring: str = word("flip", "wiring plan", tuple(PLANS))
    payload: ShapeLike = payload_shape()


class StageSequencedNetwork(PacketNetwork):
    """A flip network that carries packets: a counter sets its stages to all 2^n settings in turn.

    The counter goes 0, 1, ..., N - 1, one permutation per cycle; N = 2^n = `ports`. A packet waits
    in a register at its input for the cycle whose permutation leads to its destination: the cycle
    whose number is its XOR tag. In that cycle it passes all stages, into a register at its output.
    Packets never conflict, no box makes a decision, and the boxes carry no tags: the setting is the
    tag. If the output's register is full and is not emptied in that cycle, the packet waits for the
    next turn.

    A packet whose cycle comes at once takes 2 cycles. If outputs are ready and destinations are
    uniform, every packet spends S cycles in the register of its input, where S is 1 to N with equal
    probability, independent of the past. So the saturation throughput is 2 / (N + 1) packets per
    terminal per cycle. At load p the mean latency is that of a queue with this service and
    Bernoulli arrivals: 1 + (N + 1) / 2 + p (N^2 - 1) / (6 - 3 p (N + 1)) cycles. A terminal that
    always sends to the same destination gets 1 / N packets per cycle.

    `o` comes from registers. `i[*].ready` depends combinationally on `o[*].ready`, through n boxes.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)
    """

    parameters_type = StageSequencedParameters
    parameters: StageSequencedParameters
    family = "stage-sequenced"
    ordered = True
    isolates = True
    zero_load_cycles = 2

    def _set_up(self) -> None:
        given = self.parameters
        self.plan = self.wiring_plan = multistage_plan(given.wiring, given.ports)
        self.ports = given.ports
        self.stages = len(self.plan.stages)
        self.tags = self.plan.tags("xor")

    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        packet = packet or self.packet
        fabric.place(Cell("sequencer", CellType(Sequencer, stages=self.stages)))
        control = Pin("sequencer", ("control",))
        box = CellType(StreamBox, shape=packet.members["payload"])
        # A tag has the digit of stage 0 on top.
        columns = place_stage_controlled(fabric, self.plan, box, control, range(self.stages)[::-1])
        ends = CellType(TagGate, packet=packet), CellType(TagRegister, packet=packet)
        for line, (entry, exit_) in enumerate(zip(columns.inputs, columns.outputs)):
            gate = fabric.place(Cell(f"gate_{line}", ends[0]))
            register = fabric.place(Cell(f"register_{line}", ends[1]))
            fabric.link(control, Pin(gate.name, ("control",)))
            fabric.link(control, Pin(register.name, ("control",)))
            fabric.link(Pin(gate.name, ("o",)), entry)
            fabric.link(exit_, Pin(register.name, ("i",)))
        return Terminals(
            [Pin(f"gate_{line}", ("i",)) for line in range(self.ports)],
            [Pin(f"register_{line}", ("o",)) for line in range(self.ports)],
        )

    @property
    def layout(self) -> Layout:
        """The sequencer is above the terminals' registers, the controls above the stages."""
        above = {"sequencer", "controls"}
        layout = stage_layout([Part(self.plan)], self.fabric, above=above)
        columns = [caption.x for caption in layout.captions]
        gates, registers = (
            next(node.x for node in layout.nodes if node.cells == (cell,))
            for cell in ("gate_0", "register_0")
        )
        top, wide = 2.4, columns[-1] - columns[0] + 2
        ports = tuple(
            Port(Pin("controls", ("state", s)), x, top - 0.4) for s, x in enumerate(columns)
        )
        nodes = [
            Node("sequencer", ("sequencer",), gates, top, 2, 0.8, "sequencer", "sequencer"),
            Node(
                "controls",
                ("controls",),
                sum(columns) / self.stages,
                top,
                wide,
                0.8,
                "controls",
                "controls",
                ports,
            ),
        ]
        over = ((registers, top + 0.8),)
        routes = {
            Pin(f"register_{line}", ("control",)): Route(((gates, top + 0.8), *over))
            for line in range(self.ports)
        }
        return replace(layout, nodes=[*layout.nodes, *nodes], routes={**layout.routes, **routes})

    def joins_switches(self, output: Pin) -> bool:
        kind, *numbers = str(output.cell).split("_")
        return kind == "box" and int(numbers[0]) < self.stages - 1

    def _path(self, source: int, destination: int) -> list[Pin]:
        boxes = [
            Pin(f"box_{hop.stage}_{hop.box}", ("o", hop.output))
            for hop in self.plan.path(source, destination)
        ]
        return [Pin(f"gate_{source}", ("o",)), *boxes, Pin(f"register_{destination}", ("o",))]


FAMILIES = (
    Family(
        "stage-sequenced",
        "one control per stage; a sequencer sets one permutation after the other",
        StageSequencedNetwork,
        Group.CENTRAL,
        example={"ports": 8},
    ),
)
