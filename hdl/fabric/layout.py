"""From the places that a network states to its diagram."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import hypot

from .diagram import Caption, Diagram, End, Line, Node, Point, Terminal
from .fabric import Fabric
from .pins import Pin
from .wires import Wire, streams

__all__ = ["Layout", "Route", "arranged", "connected"]

_APART = 0.3
"""Distance between parallel lines, as a share of the width of the smaller node."""

_STUB = 0.35
"""Length of the lines of terminals that have no place of their own, as a share of a node's height.
"""


@dataclass(frozen=True)
class Route:
    """How a line leads to its other end, if not straight: see `Line`.

    Attributes
    ----------
    points : tuple[Point, ...]
        Between its two ends.
    cut : int
        So many of these points come before the gap, if there is one.
    label : str
    """

    points: tuple[Point, ...] = ()
    cut: int | None = None
    label: str = ""

    @property
    def back(self) -> "Route":
        """The way in the opposite direction."""
        cut = None if self.cut is None else len(self.points) - self.cut
        return Route(self.points[::-1], cut, self.label)


@dataclass(frozen=True)
class Layout:
    """What a network states of its own drawing.

    Cells that no node stands for belong to the node that they are linked to. Terminals that have no
    place are below their nodes.

    Attributes
    ----------
    nodes : Sequence[Node]
        The boxes and routers that are drawn, with their places.
    terminals : Sequence[Terminal]
        With their place; None if all are at their nodes.
    routes : Mapping[Pin, Route]
        By driver or by receiver. Other lines are straight.
    captions : Sequence[Caption]
        Texts beside them.
    unit : float
        As in `Diagram`.
    labels : Mapping[int, str]
        The labels of terminals that have no place.
    carried : Mapping[Pin, Pin]
        Wires without a handshake of their own that lead the flits of a link on: the driver of this
        link, by their driver.
    """

    nodes: Sequence[Node]
    terminals: Sequence[Terminal] = ()
    routes: Mapping[Pin, Route] = field(default_factory=dict)
    captions: Sequence[Caption] = ()
    unit: float = 1.0
    labels: Mapping[int, str] | None = None
    carried: Mapping[Pin, Pin] = field(default_factory=dict)


def arranged(title: str, fabric: Fabric, layout: Layout, wires: Mapping[Pin, Wire]) -> Diagram:
    """The diagram of a fabric.

    Parameters
    ----------
    title : str
    fabric : Fabric
        Its terminals are the elements of arrays of ports of its boundary, `i` and `o` in networks.
        Other ports of the boundary are not shown.
    layout : Layout
    wires : Mapping[Pin, Wire]
        The names of the links, by driver.
    """
    nodes = _with_all_cells(fabric, layout.nodes)
    links = [link for link in streams(fabric).each() if all(map(_is_shown, link))]
    used = {pin for link in links for pin in link}
    others = [link for link in fabric.links if link[0] not in used and link[1] not in used]
    return connected(title, replace(layout, nodes=nodes), links, wires, others)


def _is_shown(pin: Pin) -> bool:
    return pin.cell is not None or (len(pin.path) > 1 and isinstance(pin.path[1], int))


def _with_all_cells(fabric: Fabric, nodes: Sequence[Node]) -> list[Node]:
    """The nodes, each with the cells that no node stands for and that are linked to it first."""
    owner = {cell: index for index, node in enumerate(nodes) for cell in node.cells}
    found = [list(node.cells) for node in nodes]
    waiting = [(a.cell, b.cell) for a, b in fabric.links if a.cell and b.cell]
    changed = True
    while changed:
        changed, later = False, []
        for a, b in waiting:
            if (a in owner) == (b in owner):
                later += [] if a in owner else [(a, b)]
                continue
            known, new = (a, b) if a in owner else (b, a)
            owner[new] = owner[known]
            found[owner[known]].append(new)
            changed = True
        waiting = later
    return [replace(node, cells=tuple(own)) for node, own in zip(nodes, found)]


def connected(
    title: str,
    layout: Layout,
    links: Iterable[tuple[Pin, Pin]],
    wires: Mapping[Pin, Wire],
    others: Iterable[tuple[Pin, Pin]] = (),
) -> Diagram:
    """The diagram of nodes that stand for all cells, and of the links between their pins.

    Parameters
    ----------
    title : str
    layout : Layout
    links : Iterable[tuple[Pin, Pin]]
        Drivers and receivers. Links inside a node are not shown.
    wires : Mapping[Pin, Wire]
        The names of the links, by driver.
    others : Iterable[tuple[Pin, Pin]]
        Other wires, in any order of the ends; shown where no link joins the two nodes.
    """
    links, others = list(links), list(others)
    ends = _Ends(layout, links)
    joined: dict[tuple, list[tuple[Pin, Pin]]] = defaultdict(list)
    carried = [(a, b) for a, b in others if a in layout.carried]
    for driver, receiver in (*links, *carried):
        source, target = ends.end(driver), ends.end(receiver)
        if source != target:
            driver = layout.carried.get(driver, driver)
            name = wires[driver].link if driver in wires else driver
            joined[name, source, target].append((driver, receiver))
    ways = {
        key: layout.routes.get(pairs[0][0]) or layout.routes.get(pairs[0][1], Route())
        for key, pairs in joined.items()
    }
    counts = Counter((*key[1:], ways[key].points) for key in joined)
    ranks: Counter[tuple] = Counter()
    lines = []
    for key, pairs in joined.items():
        _, source, target = key
        drivers, receivers = zip(*pairs)
        route = ways[key]
        same, opposite = (source, target, route.points), (target, source, route.back.points)
        parallel = max(counts[same], counts[opposite]) if route.cut is None else 1
        points = ends.points(drivers[0], receivers[0], route.points, ranks[same], parallel)
        ranks[same] += 1
        wire = wires.get(drivers[0])
        lines.append(
            Line(
                link=wire.link if wire else "",
                drivers=drivers,
                receivers=receivers,
                source=source,
                target=target,
                points=points,
                cut=0 if route.cut is None else route.cut + 1,
                label=route.label,
            )
        )
    linked = {frozenset((source, target)) for _, source, target in joined}
    for driver, receiver in others:
        if not (ends.knows(driver) and ends.knows(receiver)):
            continue
        source, target = ends.end(driver), ends.end(receiver)
        if source != target and frozenset((source, target)) not in linked:
            linked.add(frozenset((source, target)))
            way = layout.routes.get(receiver, Route()).points
            points = ends.points(driver, receiver, way, 0, 1)
            lines.append(Line("", (driver,), (receiver,), source, target, points, kind="control"))
    return Diagram(
        title,
        tuple(layout.nodes),
        tuple(lines),
        tuple(ends.terminals),
        tuple(layout.captions),
        layout.unit,
    )


class _Ends:
    """Where lines begin and end."""

    def __init__(self, layout: Layout, links: Sequence[tuple[Pin, Pin]]) -> None:
        self.nodes = layout.nodes
        self.owner = {cell: index for index, node in enumerate(self.nodes) for cell in node.cells}
        self.ports = {port.pin: (port.x, port.y) for node in self.nodes for port in node.ports}
        self.terminals = list(layout.terminals)
        self.at = {pin: i for i, each in enumerate(self.terminals) for pin in each.pins}
        self._add_terminals(links, layout.labels or {})

    def _add_terminals(self, links: Sequence[tuple[Pin, Pin]], labels: Mapping[int, str]) -> None:
        """Those that have no place: below their node, from the right to the left."""
        homes: dict[tuple[int, int], list[Pin]] = defaultdict(list)
        for ends in links:
            for pin, other in (ends, ends[::-1]):
                outer = Pin(None, pin.path[:2])
                if pin.cell is None and outer not in self.at:
                    own = homes[self.owner[str(other.cell)], int(pin.path[1])]
                    own += [] if outer in own else [outer]
        shared: dict[int, list[int]] = defaultdict(list)
        for home, number in homes:
            shared[home].append(number)
        for (home, number), pins in sorted(homes.items()):
            node, count = self.nodes[home], len(shared[home])
            # A single one is beside the middle, where a line may come from below.
            place = 0.75 if count == 1 else (shared[home].index(number) + 1) / (count + 1)
            x = node.x + (place - 0.5) * node.width
            y = node.y - node.height / 2 - _STUB * node.height
            label = labels.get(number, str(number))
            self.terminals.append(Terminal(number, x, y, tuple(pins), label))
            self.at |= dict.fromkeys(pins, len(self.terminals) - 1)

    def knows(self, pin: Pin) -> bool:
        return pin.cell in self.owner if pin.cell else Pin(None, pin.path[:2]) in self.at

    def end(self, pin: Pin) -> End:
        if pin.cell is None:
            return End("terminal", self.at[Pin(None, pin.path[:2])])
        return End("node", self.owner[pin.cell])

    def _place(self, pin: Pin) -> Point | None:
        """The fixed place of a line's end, if it has one."""
        if pin.cell is None:
            terminal = self.terminals[self.end(pin).index]
            return terminal.x, terminal.y
        for length in range(len(pin.path), 0, -1):
            if (place := self.ports.get(Pin(pin.cell, pin.path[:length]))) is not None:
                return place
        return None

    def points(
        self, driver: Pin, receiver: Pin, between: Sequence[Point], rank: int, parallel: int
    ) -> tuple[Point, ...]:
        """The points of a line, the `rank`th of so many parallel ones."""
        first, last = self._place(driver), self._place(receiver)
        source, target = self.end(driver), self.end(receiver)
        start = first or self._centre(source)
        finish = last or self._centre(target)
        if not (first or last) and parallel > 1:
            away = self._away(source, target, rank, parallel)
            start, *between, finish = _beside((start, *between, finish), away)
        if source.what == "terminal" and not last:
            finish = self._opposite(source, start, finish)
        if target.what == "terminal" and not first:
            start = self._opposite(target, finish, start)
        if first is None:
            start = self._edge(source, start, between[0] if between else finish)
        if last is None:
            finish = self._edge(target, finish, between[-1] if between else start)
        return tuple((round(x, 6), round(y, 6)) for x, y in (start, *between, finish))

    def _opposite(self, terminal: End, outside: Point, centre: Point) -> Point:
        """The point of a node's middle line from which a straight line leads to a terminal."""
        below = self.terminals[terminal.index].side in ("below", "above")
        return (outside[0], centre[1]) if below else (centre[0], outside[1])

    def _centre(self, end: End) -> Point:
        node = self.nodes[end.index]
        return node.x, node.y

    def _away(self, source: End, target: End, rank: int, parallel: int) -> float:
        """How far a line is from the middle of all parallel ones, to the left."""
        nodes = [self.nodes[end.index] for end in (source, target)]
        room = min(min(node.width, node.height) for node in nodes)
        away = (rank - (parallel - 1) / 2) * min(_APART, 0.9 / parallel) * room
        # The same side for both directions.
        return -away if source.index > target.index else away

    def _edge(self, end: End, inside: Point, outside: Point) -> Point:
        """Where a line from a point inside a node leaves it."""
        node = self.nodes[end.index]
        across, up = outside[0] - inside[0], outside[1] - inside[1]
        if abs(outside[0] - inside[0]) < 1e-9 and abs(up) < 1e-9:
            return inside
        share = []
        for way, middle, at, size in (
            (across, node.x, inside[0], node.width),
            (up, node.y, inside[1], node.height),
        ):
            if way:
                edge = middle + (size / 2 if way > 0 else -size / 2)
                share.append(max((edge - at) / way, 0.0))
        along = min(share)
        return inside[0] + along * across, inside[1] + along * up


def _beside(points: Sequence[Point], away: float) -> list[Point]:
    """A line at the left of another one, as seen in its direction."""
    ways = []
    for (x0, y0), (x1, y1) in pairwise(points):
        length = hypot(x1 - x0, y1 - y0) or 1.0
        ways.append(((x1 - x0) / length, (y1 - y0) / length))
    found = []
    for (x, y), (ax, ay), (bx, by) in zip(points, [ways[0], *ways], [*ways, ways[-1]]):
        share = away / (1 + ax * bx + ay * by)
        found.append((x - share * (ay + by), y + share * (ax + bx)))
    return found
