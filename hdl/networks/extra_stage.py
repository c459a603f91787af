"""The Extra Stage Cube: a cube network that works on with any one box or link broken."""

from typing import Any, NamedTuple

from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Component, In, Out

from ..checks import check_integer
from ..fabric import Cell, CellType, Fabric, FabricComponent, Pin
from ..interfaces.extra_stage import AvoidedLines, Bypass, PathEnd, PathSelector, widened
from ..interfaces.parity import PARITIES, place_parity, protected
from ..packet import Packet
from ..switches import InputQueuedSwitch, OutputQueuedSwitch
from ..topology.extra_stage import (
    Configuration,
    ExtraStagePlan,
    extra_stage_plan,
    parse_faults,
)
from ..topology.tags import Routing
from .network import Network, Terminals

__all__ = [
    "Controls",
    "ExtraStageCube",
    "Kind",
    "ReconfigurableExtraStageCube",
    "controls",
    "place_choice",
    "place_stages",
]

SWITCHES: dict[str, type[Component]] = {
    "input-queued": InputQueuedSwitch,
    "output-queued": OutputQueuedSwitch,
}


class Kind(NamedTuple):
    """A kind of link: `stream.Signature`, or `CircuitLink` with its reply."""

    link: type[wiring.Signature] = stream.Signature
    reply: ShapeLike | None = None


STREAM = Kind()


class Controls(NamedTuple):
    """How the network is set: constants, or pins that tell."""

    bypass_extra: int | Pin
    bypass_last: int | Pin
    avoid: int | Pin


def controls(plan: ExtraStagePlan, configuration: Configuration) -> Controls:
    """The constants that set a network like this."""
    lines = AvoidedLines(plan.last).const(
        {
            "label": configuration.label,
            "care": configuration.care,
            "destination": configuration.destination,
        }
    )
    return Controls(configuration.bypass_extra, configuration.bypass_last, lines.as_bits())


def _place(fabric: Fabric, name: str, type_: CellType, **settings: int | Pin) -> None:
    """Add a cell some of whose inputs are constant, and others driven by pins."""
    pins = {port: value for port, value in settings.items() if isinstance(value, Pin)}
    straps = {port: int(value) for port, value in settings.items() if port not in pins}
    fabric.place(Cell(name, type_, straps))
    for port, pin in pins.items():
        fabric.link(pin, Pin(name, (port,)))


def place_stages(
    fabric: Fabric,
    plan: ExtraStagePlan,
    box: CellType,
    packet: Packet,
    controls: Controls,
    kind: Kind = STREAM,
) -> tuple[list[Pin], list[Pin]]:
    """Place the boxes of an Extra Stage Cube, and the bypasses of its first and its last stage.

    Box x of stage s is the cell `box_{s}_{x}`; the bypass of a line is `bypass_{s}_{line}`.

    Parameters
    ----------
    fabric : Fabric
    plan : ExtraStagePlan
    box : CellType
        With arrays `i` and `o` of two links.
    packet : Packet
        That of the boxes: `widened`.
    controls : Controls
    kind : Kind
        That of the boxes' links.

    Returns
    -------
    inputs, outputs : list[Pin]
        Links by terminal.
    """
    bypass = CellType(Bypass, packet=packet, **kind._asdict())
    inputs: list[Pin] = []
    outputs: list[Pin] = []
    for s in range(len(plan.stages)):
        for x in range(plan.boxes):
            fabric.place(Cell(f"box_{s}_{x}", box))
        places = [plan.port(s, line) for line in range(plan.ports)]
        entries = [Pin(f"box_{s}_{x}", ("i", port)) for x, port in places]
        exits = [Pin(f"box_{s}_{x}", ("o", port)) for x, port in places]
        if s in (0, plan.last):
            setting = controls.bypass_last if s else controls.bypass_extra
            for line in range(plan.ports):
                name = f"bypass_{s}_{line}"
                _place(fabric, name, bypass, bypass=setting)
                fabric.link(Pin(name, ("entry",)), entries[line])
                fabric.link(exits[line], Pin(name, ("exit",)))
                entries[line], exits[line] = Pin(name, ("i",)), Pin(name, ("o",))
        if s == 0:
            inputs = entries
        for driver, entry in zip(outputs, entries):
            fabric.link(driver, entry)
        outputs = exits
    return inputs, outputs


def place_choice(
    fabric: Fabric,
    packet: Packet,
    routing: Routing,
    controls: Controls,
    inputs: list[Pin],
    outputs: list[Pin],
    kind: Kind = STREAM,
) -> tuple[list[Pin], list[Pin]]:
    """Place what chooses the paths, and makes and ends the tags, at each terminal.

    The cells are `select_{terminal}` and `end_{terminal}`.

    Parameters
    ----------
    fabric : Fabric
    packet : Packet
        As the terminals see it.
    routing : "destination" or "xor"
    controls : Controls
    inputs, outputs : list[Pin]
        The network's links of `widened(packet)`, by terminal.
    kind : Kind
        That of the links.

    Returns
    -------
    inputs, outputs : list[Pin]
        Links of `packet`, by terminal.
    """
    parameters = {"packet": packet, "routing": routing, **kind._asdict()}
    selector = CellType(PathSelector, **parameters)
    end = CellType(PathEnd, **parameters)
    terminals = range(len(inputs))
    for terminal in terminals:
        first, last = f"select_{terminal}", f"end_{terminal}"
        _place(fabric, first, selector, address=terminal, **controls._asdict())
        fabric.place(Cell(last, end))
        fabric.link(Pin(first, ("o",)), inputs[terminal])
        fabric.link(outputs[terminal], Pin(last, ("i",)))
    return (
        [Pin(f"select_{terminal}", ("i",)) for terminal in terminals],
        [Pin(f"end_{terminal}", ("o",)) for terminal in terminals],
    )


class ExtraStageCube(Network):
    """A Generalized Cube with an extra stage, n + 1 stages of 2 x 2 packet switches.

    It is set for the faults it is told of: see `topology.extra_stage`. An unhindered packet takes
    n cycles while a stage is bypassed, and n + 1 while all are in use. The packets between two
    terminals all take one path, and keep their order.

    Parameters
    ----------
    ports : int
        Terminals, a power of two.
    switch : "input-queued" or "output-queued"
    depth : int
        Packets that fit into each queue, at least 1.
    payload : ShapeLike
        Shape of the payload, or its width in bits.
    routing : "destination" or "xor"
        What the terminals' tags hold: those of the Generalized Cube, of n digits.
    broadcast : int
        1 to give every packet a broadcast mask beside its tag.
    parity : "none", "packet" or "byte"
        Whether packets carry parity inside the network; damaged ones are then discarded, and
        counted, instead of delivered.
    faults : str
        What to avoid, as `topology.extra_stage.parse_faults` reads it: `box:1:3`.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)

    Attributes
    ----------
    plan : ExtraStagePlan
    configuration : Configuration
    box : CellType
        Of all boxes.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above, or the faults are more than the network tolerates.
    """

    def __init__(
        self,
        ports: int = 8,
        *,
        switch: str = "output-queued",
        depth: int = 4,
        payload: ShapeLike = 16,
        routing: Routing = "destination",
        broadcast: int = 0,
        parity: str = "none",
        faults: str = "",
    ) -> None:
        self.plan = extra_stage_plan(ports)
        self.tags = self.plan.tags(routing)
        if switch not in SWITCHES:
            raise ValueError(f"Switch must be one of {', '.join(SWITCHES)}, not {switch!r}")
        check_integer("Depth", depth, 1)
        if isinstance(payload, int):
            check_integer("Payload", payload, 1)
        check_integer("Broadcast", broadcast, 0, 1)
        if parity not in ("none", *PARITIES):
            raise ValueError(f"Parity must be one of none, {', '.join(PARITIES)}, not {parity!r}")
        self.configuration = self.plan.configure(parse_faults(faults))
        self.parameters: dict[str, Any] = {
            "ports": ports,
            "switch": switch,
            "depth": depth,
            "payload": payload,
            "routing": routing,
            "broadcast": broadcast,
            "parity": parity,
            "faults": faults,
        }
        self.family = "extra-stage-cube"
        self.ports = ports
        self.radix = 2
        self.packet = Packet(self.plan.last, payload, broadcast=bool(broadcast))
        self.stages = len(self.plan.path(0, 0, self.configuration))
        self.ordered = True
        self.drops = parity != "none"
        inner = widened(self.packet)
        self._boxes_packet = inner if parity == "none" else protected(inner, parity)
        self.box = CellType(
            SWITCHES[switch], packet=self._boxes_packet, radix=2, depth=depth, routing=routing
        )
        super().__init__()

    def place(self, fabric: Fabric) -> Terminals:
        return self.place_controlled(fabric, controls(self.plan, self.configuration))

    def place_controlled(self, fabric: Fabric, controls: Controls) -> Terminals:
        """Add this network to a fabric as `place` does, but set in another way."""
        ends = place_stages(fabric, self.plan, self.box, self._boxes_packet, controls)
        corrupted: list[Pin] = []
        if self.parameters["parity"] != "none":
            parity = self.parameters["parity"]
            *ends, corrupted = place_parity(fabric, widened(self.packet), parity, *ends)
        ends = place_choice(fabric, self.packet, self.tags.routing, controls, *ends)
        return Terminals(*ends, corrupted)

    def path(self, source: int, destination: int) -> list[Pin]:
        return [
            Pin(f"box_{hop.stage}_{hop.box}", ("o", hop.output))
            for hop in self.plan.path(source, destination, self.configuration)
        ]


class ReconfigurableExtraStageCube(FabricComponent):
    """An Extra Stage Cube that is told at run time what to avoid, by ports common to all of it.

    Parameters
    ----------
    network : ExtraStageCube
        Its `faults` don't matter.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)
    bypass_extra, bypass_last : In(1)
        Not both 1.
    avoid : In(AvoidedLines(n))
        As `controls` gives these three for a `Configuration`. They may change only while the
        network is empty.
    corrupted : Out(1).array(ports)
        Only if the network has parity: a damaged packet for this terminal is discarded.
    """

    def __init__(self, network: ExtraStageCube) -> None:
        self.network = network
        link = stream.Signature(network.packet)
        members = {
            "i": In(link).array(network.ports),
            "o": Out(link).array(network.ports),
            "bypass_extra": In(1),
            "bypass_last": In(1),
            "avoid": In(AvoidedLines(network.plan.last)),
        }
        if network.parameters["parity"] != "none":
            members["corrupted"] = Out(1).array(network.ports)
        fabric = Fabric(members)
        pins = Controls(*(Pin(None, (name,)) for name in Controls._fields))
        terminals = network.place_controlled(fabric, pins)
        for index, (entry, exit_) in enumerate(zip(terminals.inputs, terminals.outputs)):
            fabric.link(Pin(None, ("i", index)), entry)
            fabric.link(exit_, Pin(None, ("o", index)))
        for index, pin in enumerate(terminals.drops):
            fabric.link(pin, Pin(None, ("corrupted", index)))
        super().__init__(fabric)
