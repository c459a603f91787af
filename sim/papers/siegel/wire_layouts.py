"""Area and longest wire of networks on a grid of wires (Siegel et al., IX).

The paper's claims: a multistage cube has an area of order N^2, the wire crossings in front of its
i-th stage are about 1/2^(i-1) of those in front of the first, its longest wires are of order N, and
there is a layout of the same area whose wires are all of order N / log N at most.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from math import comb, log2
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tqdm import tqdm

from ....hdl.families.cube_connected_cycles_graph import CubeConnectedCycles
from ....hdl.families.hypercube.hypercube_graph import RoutedHypercube
from ....hdl.families.single_stage.single_stage_graph import Lambda, ManYo
from ....hdl.families.torus.torus_graph import Torus
from ....hdl.graphs.plans.multistage import MultistagePlan
from ....hdl.graphs.plans.named_plans import multistage_plan
from ...layout import Layout
from ...layout.placements import (
    folded,
    rows_and_columns,
    short_wires,
    stages,
    straight_paths,
    wrapped_stages,
)
from ...report.layout_drawing import draw_layout
from ..item import Item, Options, Row, deviation, grouped
from ..panels import Lines, Panel, having
from . import SOURCE

__all__ = ["CROSSINGS", "ENTRIES", "LAYOUT", "ORDERS", "Entry", "crossings"]

ORDERS: dict[str, Callable[[int], float]] = {
    "1": lambda terminals: 1,
    "N": float,
    "N / log N": lambda terminals: terminals / log2(terminals),
    "N^2": lambda terminals: terminals**2,
    "(N / log N)^2": lambda terminals: (terminals / log2(terminals)) ** 2,
}
"""How areas and wires may grow with the number of terminals N."""

_SMALLEST_FITTED = 64
"""Fewest terminals of the networks to which growth is fitted."""
_QUICK = 256
"""Most terminals in quick runs."""


def _cube(n: int) -> MultistagePlan:
    return multistage_plan("cube", 2**n)


def _hypercube(n: int) -> Layout:
    """The lower half of the dimensions along rows, the others along columns."""
    half = (n + 1) // 2
    return rows_and_columns(RoutedHypercube(n), lambda node: (node % 2**half, node >> half))


def _torus(half: int) -> Layout:
    """Both dimensions folded."""
    size = 2**half
    at = folded(size)
    return rows_and_columns(Torus(size, 2), lambda node: (at[node % size], at[node // size]))


def _man_yo(m: int) -> Layout:
    graph = ManYo(m)
    return wrapped_stages(graph, graph.stage)


def _lambda(m: int) -> Layout:
    graph = Lambda(m)
    return wrapped_stages(graph, graph.stage)


def _cycles(n: int) -> Layout:
    """A column for each position in the rings."""
    return wrapped_stages(CubeConnectedCycles(n), lambda node: node % n)


class Entry(NamedTuple):
    """A network that is laid out.

    Attributes
    ----------
    name : str
    terminals : callable
        Its processors N, as a function of its size.
    layout : callable
        Its layout, as a function of its size.
    sizes : Sequence[int]
    drawn : int
        The size that is drawn.
    area, longest : str
        How area and longest wire grow: one of `ORDERS`.
    """

    name: str
    terminals: Callable[[int], int]
    layout: Callable[[int], Layout]
    sizes: Sequence[int]
    drawn: int
    area: str
    longest: str


def _power(n: int) -> int:
    return 2**n


def _nodes(m: int) -> int:
    return m * 2 ** (m - 1)


def _plain(n: int) -> Layout:
    return stages(_cube(n))


def _short(n: int) -> Layout:
    return short_wires(_cube(n))


_EVEN = range(4, 13, 2)
_AREA, _WIRE = "(N / log N)^2", "N / log N"

ENTRIES = (
    Entry("cube, as drawn", _power, _plain, _EVEN, 6, "N^2", "N"),
    Entry("cube, short wires", _power, _short, _EVEN, 6, "N^2", _WIRE),
    Entry("hypercube", _power, _hypercube, _EVEN, 6, "N^2", "N"),
    Entry("torus", lambda half: 4**half, _torus, range(2, 7), 3, "N", "1"),
    Entry("MAN-YO", _nodes, _man_yo, range(4, 11), 5, _AREA, _WIRE),
    Entry("Lambda", _nodes, _lambda, range(4, 11), 5, _AREA, _WIRE),
    Entry("CCC", lambda n: n * 2**n, _cycles, range(3, 10), 4, _AREA, _WIRE),
)


def _layouts(options: Options) -> Iterator[Row]:
    cases = [
        (network, size)
        for network in ENTRIES
        for size in network.sizes
        if not options.quick or network.terminals(size) <= _QUICK
    ]
    hidden = None if options.progress else True
    for network, size in tqdm(cases, unit="layouts", disable=hidden, leave=False):
        terminals, layout = network.terminals(size), network.layout(size)
        longest = layout.longest.length
        yield {
            "network": network.name,
            "terminals": terminals,
            "width": layout.width,
            "height": layout.height,
            "area": layout.area,
            "area_ratio": layout.area / ORDERS[network.area](terminals),
            "longest": longest,
            "longest_ratio": longest / ORDERS[network.longest](terminals),
            "mean": layout.wire_length / len(layout.wires),
        }


def _exponent(terminals: Sequence[int], values: Sequence[float]) -> float:
    """The power of N that fits these values best."""
    return float(np.polyfit(np.log(terminals), np.log(values), 1)[0])


def _growth(network: Entry, rows: Sequence[dict[str, Any]]) -> str:
    """The fitted growth of a network's area and longest wire, beside that of their orders."""
    large = [row for row in rows if row["terminals"] >= _SMALLEST_FITTED]
    terminals = [row["terminals"] for row in large]
    words = []
    for what, name, order in (
        ("area", "area", network.area),
        ("longest", "longest wire", network.longest),
    ):
        found = _exponent(terminals, [row[what] for row in large])
        exact = _exponent(terminals, [ORDERS[order](each) for each in terminals])
        words.append(f"{name} {found:.2f} ({order}: {exact:.2f})")
    return f"{network.name}: {', '.join(words)}"


def _notes(rows: Sequence[Row], options: Options) -> tuple[str, ...]:
    fits = "; ".join(map(_growth, ENTRIES, grouped(rows, "network").values()))
    return (
        "Grid lines one unit apart, horizontal and vertical wires on two layers, a wire for "
        "each direction of a link. Longest, mean: lengths of wires. CCC: cube-connected "
        "cycles.",
        f"Powers of N fitted for N >= {_SMALLEST_FITTED}, and in parentheses the order by "
        f"which the table divides, with the power that fits it at the same sizes: {fits}.",
    )


def _draw(rows: Sequence[Row]) -> Figure:
    figure = Figure(figsize=(13, 13), layout="constrained")
    places = list(figure.subplots(3, 3).flat)
    for network, axes in zip(ENTRIES, places):
        layout = network.layout(network.drawn)
        draw_layout(layout, axes)
        axes.set_title(
            f"{network.name}, N = {network.terminals(network.drawn)}\n{layout.width} x "
            f"{layout.height}, longest wire {layout.longest.length}",
            fontsize="medium",
        )
    for what, axes in zip(("area", "longest"), places[len(ENTRIES) :]):
        _growth_panel(what).draw(axes, rows)
    return figure


def _growth_panel(what: str) -> Panel:
    """Area or longest wire of all networks, beside their orders of growth."""
    entries = {entry.name: entry for entry in ENTRIES}

    def scaled_order(axes: Axes, rows: Sequence[Row]) -> None:
        for number, ((name,), own) in enumerate(grouped(rows, "network").items()):
            order = ORDERS[getattr(entries[name], what)]
            sizes = [row["terminals"] for row in own]
            scale = own[-1][what] / order(sizes[-1])
            heights = [scale * order(size) for size in sizes]
            axes.plot(sizes, heights, f":C{number}", linewidth=1)

    return Panel(
        "terminals",
        [Lines(what, "o-", "{network}"), scaled_order],
        ["network"],
        title="dotted: the orders of growth",
        xlabel="N (terminals)",
        ylabel="area" if what == "area" else "longest wire",
        xlog=10,
        ylog=10,
        legend={"fontsize": "x-small"},
    )


LAYOUT = Item(
    "siegel-layout",
    "Area and longest wire of networks on a grid of wires, and a layout without long wires",
    f"{SOURCE}, IX",
    columns="network | terminals = N : , | width : , | height : , | area : ,"
    " | area_ratio = / order : .2f | longest : , | longest_ratio = / order : .2f"
    " | mean : ,.1f",
    rows=_layouts,
    draw=_draw,
    notes=_notes,
    ignores=("cycles", "engine", "seed"),
)

_CROSSED = (16, 1024)
"""Terminals of the networks whose crossings are counted: those of figure 4, and many."""


def crossings(before: Sequence[int], after: Sequence[int]) -> int:
    """How many pairs of straight lines cross, if line i leads from `before[i]` to `after[i]`.

    >>> crossings([0, 1, 2, 3], [0, 2, 1, 3])
    1
    """
    passed: list[int] = []
    count = 0
    for _, end in sorted(zip(before, after)):
        count += len(passed) - bisect_right(passed, end)
        insort(passed, end)
    return count


def _shuffled(ports: int, parts: int) -> int:
    """Crossings of a perfect shuffle, or of its inverse, in each of so many equal parts."""
    return parts * comb(ports // parts // 2, 2)


def _predicted(wiring: str, ports: int, stage: int) -> int:
    """Crossings behind a stage, counted from 1; behind stage 0 are the wires from the inputs.

    Behind a stage, its pairs of lines are taken apart: an inverse shuffle in each of its parts. In
    front of a stage of the Generalized Cube, a shuffle makes pairs; the parts of a baseline network
    have their pairs already.
    """
    behind = _shuffled(ports, 2 ** (stage - 1)) if stage else 0
    return behind + (_shuffled(ports, 2**stage) if wiring == "cube" and 2**stage < ports else 0)


def _crossings(options: Options) -> Iterator[Row]:
    sizes = _CROSSED[:1] if options.quick else _CROSSED
    for wiring, ports in product(("cube", "baseline"), sizes):
        plan = multistage_plan(wiring, ports)
        # The place of each line in a column.
        places = [
            [node * plan.radix + port for node, port in column] for column in straight_paths(plan)
        ]
        before = None
        for stage, (here, there) in enumerate(pairwise(places)):
            found, predicted = crossings(here, there), _predicted(wiring, ports, stage)
            yield {
                "wiring": wiring,
                "ports": ports,
                "stage": stage,
                "counted": found,
                "predicted": predicted,
                "deviation": deviation(found, predicted),
                "share": found / ports**2,
                "ratio": found / before if before else None,
            }
            before = found


_PANEL = Panel(
    "stage",
    [
        Lines("share", "o-", "{wiring}"),
        Lines(
            lambda row: lambda stage: 2.0 ** (-2 - stage),
            "--",
            "1/8, halved from stage to stage",
            grid=lambda row: range(1, row["ports"].bit_length() - 1),
            only=having(wiring="baseline"),
            look={"color": "grey"},
        ),
    ],
    ["wiring"],
    title="N = {ports:,}",
    xlabel="wires behind stage (0: behind the inputs)",
    ylabel="crossings / N²",
    ylog=10,
    size=(6.5, 4.4),
)


def _draw_crossings(rows: Sequence[Row]) -> Figure:
    """The largest networks, where wires cross."""
    largest = max(row["ports"] for row in rows)
    return _PANEL([row for row in rows if row["ports"] == largest and row["counted"]])


CROSSINGS = Item(
    "siegel-crossings",
    "Wire crossings of a multistage cube, stage by stage",
    f"{SOURCE}, IX",
    columns="wiring | ports = N : , | stage = behind stage | counted = crossings : ,"
    " | predicted = formula : , | deviation : +.1% | share = / N^2 : .4f"
    " | ratio = / the one before : .3f",
    rows=_crossings,
    draw=_draw_crossings,
    notes=(
        "Stages are counted from 1 at the inputs; behind stage 0 are the wires from the "
        "inputs. Formula: 2^(i-1) parts of stage i, with (N / 2^i) (N / 2^i - 1) / 2 crossings "
        "each in front of its boxes (cube only) and as many behind them.",
    ),
    ignores=("cycles", "engine", "seed"),
)
