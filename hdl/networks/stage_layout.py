"""The layout of networks of stages: columns of boxes, with their ports at both sides."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ..fabric.cell import Cell
from ..fabric.diagram import Caption, Node, Port, Side, Terminal
from ..fabric.fabric import Fabric
from ..fabric.layout import Layout, Route
from ..fabric.pins import Pin
from ..graphs.address_codes import AddressCode
from ..graphs.plans.multistage import MultistagePlan
from ..graphs.plans.redundant_paths import RedundantPathPlan

__all__ = ["Part", "stage_layout"]

_STEP = 3.0
"""Distance between small stages, in units of the distance between lines."""

_SLOPE = 10
"""Most lines per unit of the distance between stages, so that lines are not too steep."""

_PORTS = 0.7
"""Distance between the ports of a box."""

_BUNDLE = 0.14
"""Distance between the links of a bundle."""

_INTERFACE = 1.6, 0.6
"""Width and height of a cell at a terminal."""

_GAP = 0.8
"""Distance between such a cell and what is beside it."""

_UNIT = 1.8
"""Lines per inch."""


_Facing = tuple[list[Pin], list[Pin]]
"""Pins of a cell beside the boxes: those that face them, and those that face away."""


@dataclass(frozen=True)
class Part:
    """The boxes of a plan, as a part of a network.

    Attributes
    ----------
    plan : MultistagePlan or RedundantPathPlan
    name : str
        Box x of stage s is the cell `{name}_{s}_{x}`.
    lanes : int
        Links of a line between two stages.
    copy : int
        Its number among copies of a network between the same terminals.
    mirrored : bool
        Whether packets pass it from the right to the left.
    bypassed : Collection[int]
        Stages whose lines each have a cell `bypass_{s}_{line}`.
    ends : int
        Links of a terminal each way: endpoints of its classes of messages.
    """

    plan: MultistagePlan | RedundantPathPlan
    name: str = "box"
    lanes: int = 1
    copy: int = 0
    mirrored: bool = False
    bypassed: Collection[int] = ()
    ends: int = 1


def stage_layout(
    parts: Sequence[Part],
    fabric: Fabric | None = None,
    *,
    stage_names: Sequence[str] | None = None,
    above: Collection[str] = (),
) -> Layout:
    """The layout of a network of stages.

    Sources are at the left, and sinks at the right. Parts are below each other, and the terminals
    spread over the height of all of them. Cells at the left of all boxes, or at the right, are in
    columns of their own.

    Parameters
    ----------
    parts : Sequence[Part]
        All have as many stages and boxes.
    fabric : Fabric, optional
        The network; if not given, there are only boxes.
    stage_names : Sequence[str], optional
        From the left to the right; "stage 0", "stage 1", ... if not given, with the numbers of
        papers on cubes where those are others.
    above : Collection[str]
        Cells that have another place.
    """
    frame = _Frame(parts, fabric)
    nodes = [node for part in range(len(parts)) for node in frame.boxes(part)]
    behind = _links_behind(fabric) if fabric else {}
    nodes = [_with_links(node, behind) for node in nodes]
    depth = {"left": 0, "right": 0}
    terminals: list[Terminal] = []
    if fabric is None:
        terminals = frame.plan_terminals()
    else:
        for side, columns in _outside(fabric, nodes, above).items():
            depth[side] = len(columns)
            links = _facing(fabric, columns, above)
            for rank, cells in enumerate(columns):
                nodes += frame.column(side, rank, cells, links)
        terminals = frame.terminals(fabric, depth)
    plan = parts[0].plan
    names = stage_names or _stage_names(plan)
    captions = [Caption(text, frame.x(s), 0.8) for s, text in enumerate(names)]
    routes = {
        behind.get(pin, pin): Route(label=text) for part in parts for pin, text in _labels(part)
    }
    return Layout(nodes, terminals, routes, captions, _UNIT)


def _stage_names(plan: MultistagePlan | RedundantPathPlan) -> list[str]:
    names = [f"stage {s}" for s in range(len(plan.stages))]
    numbers = plan.cube_numbers if isinstance(plan, MultistagePlan) else None
    if numbers is None or numbers == tuple(range(len(numbers))):
        return names
    return [f"{name} (cube {number})" for name, number in zip(names, numbers)]


class _Frame:
    """The places of columns and rows."""

    def __init__(self, parts: Sequence[Part], fabric: Fabric | None) -> None:
        self.parts = parts
        self.cells = fabric.cells if fabric else {}
        plan = parts[0].plan
        lines = _lines(plan)
        self.step = max(_STEP, lines / _SLOPE)
        self.scale = max(1.0, self.step / (4 * _STEP))
        self.stages = len(plan.stages)
        boxes = lines * len(parts) + len(parts) - 1
        crowd = max((len(own) for own in _terminals(fabric).values()), default=0) if fabric else 0
        self.height = max(boxes, crowd)
        """Of all parts, in units."""
        self.pitch = self.height / boxes

    def x(self, column: float) -> float:
        """The middle of a stage."""
        return (column + 1) * self.step

    def y(self, rank: int, count: int) -> float:
        """The place of one of several things that spread over the whole height."""
        return 0.5 - (rank + 0.5) * self.height / count

    def boxes(self, number: int) -> Iterable[Node]:
        part = self.parts[number]
        lines = _lines(part.plan)
        for stage, boxes in enumerate(part.plan.columns):
            x = self.x(self.stages - 1 - stage if part.mirrored else stage)
            for box in range(boxes):
                down = number * (lines + 1) + (box + 0.5) * lines / boxes
                yield self.box(part, stage, box, x, 0.5 - down * self.pitch)

    def box(self, part: Part, stage: int, box: int, x: float, y: float) -> Node:
        """A box, with the bypasses of its lines."""
        plan, cell, last = part.plan, f"{part.name}_{stage}_{box}", len(part.plan.stages) - 1
        width = max(1.0, self.step / 4)
        inputs = plan.radices[stage] if isinstance(plan, MultistagePlan) else plan.outputs[stage]
        cells, ports = [cell], []
        for side, count in (("i", inputs), ("o", plan.outputs[stage])):
            at = x + width / 2 * (-1 if (side == "i") != part.mirrored else 1)
            links = part.ends if stage == (0 if side == "i" else last) else part.lanes
            for port in range(count):
                middle = y - (port - (count - 1) / 2) * _PORTS
                for link in range(links):
                    height = middle - (link - (links - 1) / 2) * _BUNDLE
                    pin = Pin(cell, (side, port * links + link))
                    if stage in part.bypassed:
                        pin = Pin(f"bypass_{stage}_{plan.line(stage, box, port)}", (side,))
                        cells += [] if pin.cell in cells else [str(pin.cell)]
                    ports.append(Port(pin, at, height))
        tall = max(port.y for port in ports) - min(port.y for port in ports) + 0.6
        title = self.cells[cell].title if self.cells else f"stage {stage}, box {box}"
        return Node(title, tuple(cells), x, y, width, tall, "box", "", tuple(ports), part.copy)

    def column(
        self, side: str, rank: int, cells: Sequence[Cell], links: Mapping[str, _Facing]
    ) -> Iterable[Node]:
        """Cells at one side, of which those of rank 0 are next to the boxes.

        `links` are the pins of each cell that face the boxes, and those that face the terminals.
        """
        wide, high = _INTERFACE
        wide *= self.scale
        away = wide / 2 + rank * (wide + _GAP * self.scale)
        x = -away if side == "left" else self.x(self.stages) + away
        high = min(high, 0.8 * self.height / len(cells))
        for index, cell in enumerate(cells):
            y, kind = self.y(index, len(cells)), cell.type.name
            ports = []
            for pins, ahead in zip(links[cell.name], (True, False)):
                at = x + wide / 2 * (1 if (side == "left") == ahead else -1)
                for place, pin in enumerate(pins):
                    ports.append(
                        Port(pin, at, y + ((len(pins) - 1) / 2 - place) * high / len(pins))
                    )
            yield Node(cell.title, (cell.name,), x, y, wide, high, kind, cell.title, tuple(ports))

    def terminals(self, fabric: Fabric, depth: dict[str, int]) -> list[Terminal]:
        """Those of a fabric, beside its outermost columns."""
        found = []
        wide = (_INTERFACE[0] + _GAP) * self.scale
        codes = self._codes()
        for (way, kind), pins in _terminals(fabric).items():
            side: Side = "left" if way == "i" else "right"
            away = wide * depth[side]
            x = -away if side == "left" else self.x(self.stages) + away
            for number, pin in enumerate(pins):
                label = _label(number, codes.get(way), side, len(pins))
                y = self.y(number, len(pins))
                found.append(Terminal(number, x, y, (pin,), label, side, kind))
        return found

    def plan_terminals(self) -> list[Terminal]:
        """Those of a plan alone."""
        found = []
        sides: tuple[tuple[str, Side, float], ...] = (
            ("i", "left", 0.0),
            ("o", "right", self.x(self.stages)),
        )
        for way, side, x in sides:
            code = self._codes()[way]
            for number in range(code.count):
                label = _label(number, code, side, code.count)
                pins = (Pin(None, (way, number)),)
                found.append(Terminal(number, x, self.y(number, code.count), pins, label, side))
        return found

    def _codes(self) -> dict[str, AddressCode]:
        """The codes of the numbers of sources and sinks."""
        plan = self.parts[0].plan
        if isinstance(plan, MultistagePlan):
            return {"i": plan.source_code, "o": plan.code}
        return {"i": plan.code, "o": plan.code}


def _lines(plan: MultistagePlan | RedundantPathPlan) -> int:
    """The number of lines where they are most."""
    if isinstance(plan, MultistagePlan):
        return max(code.count for code in (plan.source_code, *plan.leaving))
    return plan.ports


def _terminals(fabric: Fabric) -> dict[tuple[str, str], list[Pin]]:
    """The pins of the terminals: of the sending ones, and of the receiving ones."""
    found: dict[str, list[Pin]] = {}
    for path in fabric.boundary:
        if path[0] in ("i", "o"):
            pin = Pin(None, path[:2])
            own = found.setdefault(str(path[0]), [])
            if pin not in own[-1:]:
                own.append(pin)
    kind = "terminal" if "o" in found else "processor"
    return {(way, kind): pins for way, pins in found.items()}


def _label(number: int, code: AddressCode | None, side: str, count: int) -> str:
    if code is None or code.count != count:
        return str(number)
    words = [str(number), digits(code, number)]
    return "  ".join(dict.fromkeys(words if side == "left" else words[::-1]))


def digits(code: AddressCode, label: int) -> str:
    """The digits of a label, the most significant first."""
    return "".join(map(str, reversed(code.split(label))))


def _labels(part: Part) -> Iterable[tuple[Pin, str]]:
    """The labels of the lines behind each stage."""
    plan = part.plan
    if not isinstance(plan, MultistagePlan):
        return
    last = len(plan.stages) - 1
    for stage, boxes in enumerate(plan.columns):
        links = part.ends if stage == last else part.lanes
        for box in range(boxes):
            for port in range(plan.outputs[stage]):
                line = plan.line(stage, box, port)
                pin = Pin(f"{part.name}_{stage}_{box}", ("o", port * links))
                if stage in part.bypassed:
                    pin = Pin(f"bypass_{stage}_{line}", ("o",))
                yield pin, digits(plan.leaving[stage], line)


def _outside(
    fabric: Fabric, boxes: Sequence[Node], above: Collection[str]
) -> dict[str, list[list[Cell]]]:
    """The columns of cells at the left and at the right of the boxes, the next ones first."""
    side: dict[Pin, str] = {}
    for node in boxes:
        side |= {port.pin: "left" if port.x < node.x else "right" for port in node.ports}
    known: set[str | None] = {*above, *(cell for node in boxes for cell in node.cells)}
    links = [(a, b) for a, b in fabric.links if a.cell and b.cell]
    links += [(b, a) for a, b in links]
    found: dict[str, list[list[Cell]]] = {"left": [], "right": []}
    sides: dict[str | None, str] = {}
    while True:
        fresh: dict[str | None, str] = {}
        for a, b in links:
            if b.cell not in known and (at := side.get(a) or sides.get(a.cell)):
                fresh.setdefault(b.cell, at)
        if not fresh:
            return found
        known |= fresh.keys()
        sides |= fresh
        cells = [cell for cell in fabric.cells.values() if cell.name in fresh]
        for at, columns in found.items():
            own = sorted((c for c in cells if fresh[c.name] == at), key=lambda c: c.type.name)
            columns += [list(group) for _, group in groupby(own, lambda c: c.type.name)]


def _links_behind(fabric: Fabric) -> dict[Pin, Pin]:
    """The output of the cell that is a link, by the output of the box before it."""
    return {
        driver: Pin(receiver.cell, ("o", *receiver.path[1:]))
        for driver, receiver in fabric.links
        if receiver.cell and fabric.cells[receiver.cell].type.auxiliary and receiver.path[0] == "i"
    }


def _with_links(node: Node, behind: Mapping[Pin, Pin]) -> Node:
    """A box with the links behind it, whose lines begin at its own ports."""
    links = [(behind[port.pin], port) for port in node.ports if port.pin in behind]
    cells = dict.fromkeys(pin.cell for pin, _ in links if pin.cell)
    ports = tuple(port._replace(pin=pin) for pin, port in links)
    return replace(node, cells=(*node.cells, *cells), ports=(*node.ports, *ports))


def _facing(
    fabric: Fabric, columns: Sequence[Sequence[Cell]], above: Collection[str]
) -> dict[str, _Facing]:
    """For each cell beside the boxes: its pins that face them, and those that face away."""
    ranks = {cell.name: rank for rank, own in enumerate(columns) for cell in own}
    found: dict[str, _Facing] = {cell: ([], []) for cell in ranks}
    for a, b in fabric.links:
        for pin, other in ((a, b), (b, a)):
            if pin.cell in ranks and other.cell not in above:
                outer = other.cell is None or ranks.get(other.cell, -1) > ranks[pin.cell]
                found[pin.cell][outer].append(pin)
    return found
