"""The Extra Stage Cube: a cube network that still works with any one box or link broken."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Cell, CellType
from ...fabric.checks import check_kind
from ...fabric.fabric import Fabric, Scope
from ...fabric.fabric_component import FabricComponent
from ...fabric.pins import Pin
from ...graphs.plans.extra_stage import Configuration, ExtraStagePlan
from ...graphs.tags import TagScheme
from ...links.packet import Packet
from ...networks.network import Network
from .extra_stage_cells import AvoidedLines, Bypass, PathEnd, PathSelector

if TYPE_CHECKING:
    from .multistage_network import MultistageNetwork

__all__ = [
    "Controls",
    "Kind",
    "ReconfigurableExtraStageCube",
    "controls",
    "place_choice",
    "place_stages",
]


class Kind(NamedTuple):
    """A kind of link: `stream.Signature`, or `CircuitLink` with its reply."""

    link: type[wiring.Signature] = stream.Signature
    reply: ShapeLike | None = None


STREAM = Kind()


class Controls(NamedTuple):
    """The configuration of the network: constants, or pins that drive it.

    Attributes
    ----------
    bypass_extra, bypass_last : int or Pin
        1 if the boxes of this stage are bypassed.
    avoid : int or Pin
        The lines that packets do not take, as `AvoidedLines`.
    """

    bypass_extra: int | Pin
    bypass_last: int | Pin
    avoid: int | Pin


def controls(plan: ExtraStagePlan, configuration: Configuration) -> Controls:
    """The constants for this configuration."""
    lines = AvoidedLines(plan.code.width).const(
        {
            "label": configuration.label,
            "care": configuration.care,
            "destination": configuration.destination,
        }
    )
    return Controls(configuration.bypass_extra, configuration.bypass_last, lines.as_bits())


def _place(
    fabric: Fabric | Scope, name: str, type_: CellType, title: str = "", **settings: int | Pin
) -> None:
    """Add a cell with some inputs constant, and others driven by pins."""
    pins = {port: value for port, value in settings.items() if isinstance(value, Pin)}
    straps = {port: int(value) for port, value in settings.items() if not isinstance(value, Pin)}
    fabric.place(Cell(name, type_, straps, title=title))
    for port, pin in pins.items():
        fabric.link(pin, Pin(name, (port,)))


def place_stages(
    fabric: Fabric | Scope,
    plan: ExtraStagePlan,
    boxes: Sequence[CellType],
    controls: Controls,
    kind: Kind = STREAM,
) -> tuple[list[Pin], list[Pin]]:
    """Place the boxes of an Extra Stage Cube, and the bypasses of its first and its last stage.

    Box x of stage s is the cell `box_{s}_{x}`; the bypass of a line is `bypass_{s}_{line}`.

    Parameters
    ----------
    fabric : Fabric
    plan : ExtraStagePlan
    boxes : Sequence[CellType]
        The type of the boxes of each stage, with arrays `i` and `o` of links. Packets are
        `widened`.
    controls : Controls
    kind : Kind
        Kind of the boxes' links.

    Returns
    -------
    inputs, outputs : list[Pin]
        Links by terminal.
    """
    digit = {} if plan.code.radix == 2 else {"digit_bits": plan.tags().tag_code.widths[0]}
    bypass = CellType(Bypass, packet=boxes[0].parameters["packet"], **kind._asdict(), **digit)
    inputs: list[Pin] = []
    outputs: list[Pin] = []
    for s in range(len(plan.stages)):
        for x in range(plan.columns[s]):
            fabric.place(Cell(f"box_{s}_{x}", boxes[s], title=f"stage {s}, box {x}"))
        places = [plan.port(s, line) for line in range(plan.ports)]
        entries = [Pin(f"box_{s}_{x}", ("i", port)) for x, port in places]
        exits = [Pin(f"box_{s}_{x}", ("o", port)) for x, port in places]
        if s in (0, plan.last):
            setting = controls.bypass_last if s else controls.bypass_extra
            for line in range(plan.ports):
                name = f"bypass_{s}_{line}"
                _place(fabric, name, bypass, f"stage {s}, bypass {line}", bypass=setting)
                fabric.link(Pin(name, ("entry",)), entries[line])
                fabric.link(exits[line], Pin(name, ("exit",)))
                entries[line], exits[line] = Pin(name, ("i",)), Pin(name, ("o",))
        if s == 0:
            inputs = entries
        for label, driver in enumerate(outputs):
            fabric.link(driver, entries[plan.relabel(s, label)])
        outputs = exits
    last = [plan.relabel(len(plan.stages), label) for label in range(plan.ports)]
    return inputs, [outputs[last.index(terminal)] for terminal in range(plan.ports)]


def place_choice(
    fabric: Fabric | Scope,
    packet: Packet,
    tags: TagScheme,
    controls: Controls,
    inputs: list[Pin],
    outputs: list[Pin],
    kind: Kind = STREAM,
) -> tuple[list[Pin], list[Pin]]:
    """Place the cells at each terminal that choose the paths, and that make and restore the tags.

    The cells are `select_{terminal}` and `end_{terminal}`.

    Parameters
    ----------
    fabric : Fabric
    packet : Packet
        The packet as the terminals see it.
    tags : TagScheme
        The tags that terminals use.
    controls : Controls
    inputs, outputs : list[Pin]
        The network's links of `widened` packets, by terminal.
    kind : Kind
        Kind of the links.

    Returns
    -------
    inputs, outputs : list[Pin]
        Links of `packet`, by terminal.
    """
    digits = {} if tags.code.radix == 2 else {"code": tags.tag_code}
    parameters = {"packet": packet, "routing": tags.routing, **digits, **kind._asdict()}
    selector = CellType(PathSelector, **parameters)
    end = CellType(PathEnd, **parameters)
    terminals = range(len(inputs))
    for terminal in terminals:
        first, last = f"select_{terminal}", f"end_{terminal}"
        address = tags.in_stage_order(tags.code.encode(terminal))
        _place(fabric, first, selector, address=address, **controls._asdict())
        fabric.place(Cell(last, end))
        fabric.link(Pin(first, ("o",)), inputs[terminal])
        fabric.link(outputs[terminal], Pin(last, ("i",)))
    return (
        [Pin(f"select_{terminal}", ("i",)) for terminal in terminals],
        [Pin(f"end_{terminal}", ("o",)) for terminal in terminals],
    )


class ReconfigurableExtraStageCube(FabricComponent):
    """An Extra Stage Cube that is configured at run time, through ports that all its cells share.

    Parameters
    ----------
    network : MultistageNetwork
        With an extra stage; its `faults` are ignored.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)
    bypass_extra, bypass_last : In(1)
        Not both 1.
    avoid : In(AvoidedLines(width of a tag))
        The values that `controls` gives for a `Configuration`. They may change only while the
        network is empty.
    corrupted : Out(1).array(ports)
        Only if the network has parity: a damaged packet for this terminal is discarded.

    Raises
    ------
    TypeError, ValueError
        If the network has no extra stage, or is no multistage network.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.hdl import ReconfigurableExtraStageCube
    >>> network = ReconfigurableExtraStageCube(build("cube", ports=8, extra_stage=1))
    >>> len(network.i)
    8
    """

    def __init__(self, network: "MultistageNetwork") -> None:
        check_kind("Network", network, Network, "a network")
        self.network = network
        link = stream.Signature(network.packet)
        members = {
            "i": In(link).array(network.ports),
            "o": Out(link).array(network.ports),
            "bypass_extra": In(1),
            "bypass_last": In(1),
            "avoid": In(AvoidedLines(network.code.width)),
        }
        if network.parameters.parity != "none":
            members["corrupted"] = Out(1).array(network.ports)
        fabric = Fabric(members)
        pins = Controls(*(Pin(None, (name,)) for name in Controls._fields))
        terminals = network.place_controlled(fabric, pins)
        for index, (entry, exit_) in enumerate(zip(terminals.inputs, terminals.outputs)):
            fabric.link(Pin(None, ("i", index)), entry)
            fabric.link(exit_, Pin(None, ("o", index)))
        for index, (pin, _) in enumerate(fabric.metered().get("corrupted", ())):
            fabric.link(pin, Pin(None, ("corrupted", index)))
        super().__init__(fabric)
