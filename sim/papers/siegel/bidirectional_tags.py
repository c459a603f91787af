"""Destination tags in both directions, and what they say about a network (Siegel et al., IX).

The paper: a network of 2 x 2 boxes in which the same tag leads to a destination from every source,
and back to a source from every destination, is isomorphic to the multistage cube. Here all networks
of log N stages are tried for N = 4 and 8, and the wirings of the library for larger N.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from ....hdl.graphs.plans.multistage import MultistagePlan
from ....hdl.graphs.plans.named_plans import PLANS, multistage_plan
from ..item import Item, Options, Row
from . import SOURCE

__all__ = ["TAGS", "Shape", "Table"]

Table = npt.NDArray[np.int64]


# --- The wirings of the library ------------------------------------------------------------------


def _walks(plan: MultistagePlan) -> Iterator[tuple[int, int, tuple[int, ...], tuple[int, ...]]]:
    """Source, destination, and the outputs and inputs of the boxes between them, for all ways."""
    last = len(plan.stages)
    for source in range(plan.ports):
        for outputs in product(*map(range, plan.radices)):
            hops = plan.route(source, outputs)
            line = plan.line(last - 1, hops[-1].box, outputs[-1])
            yield source, plan.relabel(last, line), outputs, tuple(hop.input for hop in hops)


def _wiring(name: str, radix: int, stages: int) -> dict[str, Any]:
    """A wiring of the library: whether a terminal has one tag, whoever sends to it."""
    plan = multistage_plan(name, radix**stages, radix)
    walks = [*_walks(plan)]
    forward = len({(target, outputs) for _, target, outputs, _ in walks}) == plan.ports
    backward = len({(source, inputs) for source, _, _, inputs in walks}) == plan.ports
    assert len({walk[:2] for walk in walks}) == len(walks) == plan.ports**2
    found: dict[str, Any] = {"network": name, "radix": radix, "ports": plan.ports, "networks": 1}
    found |= {"forward": int(forward), "backward": int(backward), "both": int(forward & backward)}
    same = None
    if radix == 2 and plan.ports in _ALL:
        same = int(_shape(_links(plan)) == _shape(_links(multistage_plan("cube", plan.ports))))
    return found | {"kinds": 1, "cube": same}


# --- All networks of 2 x 2 boxes -----------------------------------------------------------------

_ALL = (4, 8)
"""Ports of the networks of which there are few enough to try them all."""


def _gaps(boxes: int) -> tuple[Table, Table]:
    """All wirings between two stages, but for the names of the boxes of the second.

    For each, the box to which output j = 2 box + port of the first stage leads, and the box from
    which input i of the second stage comes. The boxes of the second stage are numbered in the order
    in which outputs lead to them.
    """
    ahead, back = [], []
    for wiring in permutations(range(2 * boxes)):
        reached = [line // 2 for line in wiring]
        if [*dict.fromkeys(reached)] == [*range(boxes)]:
            ahead.append(reached)
            back.append([wiring.index(line) // 2 for line in range(2 * boxes)])
    return np.array(ahead), np.array(back)


def _by_tags(*gaps: Table) -> npt.NDArray[np.bool_]:
    """Whether a tag leads to the same box from all boxes, and each tag to another box.

    A tag has a bit per gap; the last bit, for the port of the box at the end, is left out. Each of
    `gaps` has one wiring or several, for one network or several.
    """
    boxes, networks = gaps[0].shape[1] // 2, max(map(len, gaps))
    reached = np.broadcast_to(np.arange(boxes), (networks, boxes))
    for gap in gaps:
        lines = (2 * reached[..., None] + np.arange(2)).reshape(networks, -1)
        reached = np.take_along_axis(np.broadcast_to(gap, (networks, 2 * boxes)), lines, 1)
    tags = reached.reshape(networks, boxes, -1)
    same = (tags == tags[:, :1]).all(axis=(1, 2))
    different = (np.sort(tags[:, 0], axis=1) == np.arange(tags.shape[2])).all(axis=1)
    return np.asarray(same & different)


def _links(plan: MultistagePlan) -> list[Table]:
    """The number of links between each box of a stage and each of the next."""
    matrices = []
    for stage in range(len(plan.stages) - 1):
        matrix = np.zeros((plan.boxes, plan.boxes), np.int64)
        for line in range(plan.ports):
            after = plan.relabel(stage + 1, line)
            matrix[plan.port(stage, line)[0], plan.port(stage + 1, after)[0]] += 1
        matrices.append(matrix)
    return matrices


def _counted(gap: Table) -> Table:
    """The same of a wiring of `_gaps`."""
    boxes = len(gap) // 2
    matrix = np.zeros((boxes, boxes), np.int64)
    np.add.at(matrix, (np.repeat(np.arange(boxes), 2), gap), 1)
    return matrix


Shape = tuple[tuple[int, ...], ...]


def _shape(matrices: Sequence[Table]) -> Shape:
    """A form that two networks share if and only if they are isomorphic, stage by stage.

    It is the least of all namings: the boxes of all stages but the last are renamed in every way,
    and those of the last are sorted.
    """
    orders = [list(order) for order in permutations(range(len(matrices[0])))]
    shapes = []
    for names in product(orders, repeat=len(matrices)):
        inner = [
            tuple(matrix[np.ix_(rows, columns)].ravel().tolist())
            for matrix, rows, columns in zip(matrices, names, names[1:])
        ]
        last = sorted(matrices[-1][names[-1]].T.tolist())
        shapes.append((*inner, tuple(count for column in last for count in column)))
    return min(shapes)


def _every_network(ports: int) -> list[dict[str, Any]]:
    """All networks of log N stages: those with tags forward, backward, and both."""
    ahead, back = _gaps(ports // 2)
    chosen: dict[str, list[tuple[int, ...]]] = {"forward": [], "backward": [], "both": []}
    firsts = [None] if ports == 4 else [*range(len(ahead))]
    for first in firsts:
        fixed = [] if first is None else [first]
        forward = _by_tags(*(ahead[[gap]] for gap in fixed), ahead)
        backward = _by_tags(back, *(back[[gap]] for gap in fixed))
        kept = {"forward": forward, "backward": backward, "both": forward & backward}
        for name, which in kept.items():
            seconds = map(int, np.flatnonzero(which))
            chosen[name] += [(*fixed, second) for second in seconds]
    known: dict[bytes, Shape] = {}
    cube = _shape(_links(multistage_plan("cube", ports)))
    total = len(ahead) * len(firsts)
    row: dict[str, Any] = {"radix": 2, "ports": ports, "networks": total}
    rows = []
    for name, networks in chosen.items():
        kinds: dict[Shape, int] = {}
        for network in networks:
            matrices = [_counted(ahead[gap]) for gap in network]
            key = b"".join(matrix.tobytes() for matrix in matrices)
            if key not in known:
                known[key] = _shape(matrices)
            kinds[known[key]] = kinds.get(known[key], 0) + 1
        found = {"network": f"all, tags {name}", name: len(networks), "kinds": len(kinds)}
        rows.append(row | found | {"cube": kinds.get(cube, 0)})
    return rows


def _rows(options: Options) -> Iterator[Row]:
    for ports in _ALL[: 1 if options.quick else None]:
        yield from _every_network(ports)
    sizes = [(2, 2), (2, 3)] if options.quick else [*((2, n) for n in range(2, 7)), (3, 3), (4, 3)]
    for name, size in product(PLANS, sizes):
        yield _wiring(name, *size)


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    sizes = [n for n in _ALL if any(r["ports"] == n and r["networks"] > 1 for r in rows)]
    figure = Figure(figsize=(4.8 * len(sizes), 3.8), layout="constrained")
    for axes, ports in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes):
        own = [row for row in rows if row["ports"] == ports and row["networks"] > 1]
        names = ["forward", "backward", "both"]
        counts = [row[name] for row, name in zip(own, names)]
        bars = axes.bar(names, counts, color="C0", label="networks with tags")
        labels = [f"{count:,}\n{row['kinds']} different" for row, count in zip(own, counts)]
        axes.bar_label(bars, labels, fontsize="small")
        cubes = [row["cube"] for row in own]
        axes.bar(names, cubes, width=0.5, color="C1", label="of these multistage cubes")
        axes.set_yscale("log")
        axes.set(
            ylabel="networks",
            ylim=(1, 20 * max(counts)),
            title=f"N = {ports}: {own[0]['networks']:,} networks",
        )
        axes.legend(fontsize="small")
    return figure


TAGS = Item(
    "siegel-tags",
    "Networks with destination tags forward and backward",
    f"{SOURCE}, IX",
    columns="network | radix = k | ports = N | networks : , | forward = tags forward : ,"
    " | backward : , | both : , | kinds = different : , | cube = cubes : ,",
    rows=_rows,
    draw=_draw,
    notes=(
        "Forward: one tag leads to a terminal from all sources. Backward: one tag leads "
        "back to a source from all destinations.",
        "All: every wiring between log N stages of 2 x 2 boxes, but for the names of boxes and "
        "terminals. Different: not isomorphic. Cubes: isomorphic to the multistage cube.",
    ),
    ignores=("cycles", "engine", "seed"),
)
