"""Columns of boxes linked according to a wiring plan, as in all multistage networks."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..fabric.fabric import Cell, CellType, Fabric, Pin, Pins, Scope
from ..graphs.plans.multistage import MultistagePlan
from ..graphs.plans.redundant_paths import RedundantPathPlan

__all__ = ["Columns", "place_columns"]


class Columns(NamedTuple):
    """The free ends of the columns: by source those of the first boxes, by sink of the last."""

    inputs: list[Pin]
    outputs: list[Pin]


def place_columns(
    fabric: Fabric | Scope,
    plan: MultistagePlan | RedundantPathPlan,
    boxes: Sequence[CellType],
    *,
    name: str = "box",
    within: str = "",
    lanes: int = 1,
    ends: int = 1,
    link: CellType | None = None,
    straps: Callable[[int, int], Mapping[str, int]] = lambda stage, box: {},
) -> Columns:
    """Place and link the boxes of a plan; box x of stage s is the cell `{name}_{s}_{x}`.

    Parameters
    ----------
    fabric : Fabric
    plan : MultistagePlan or RedundantPathPlan
    boxes : Sequence[CellType]
        Type of the boxes of each stage. They have interfaces `i` and `o`, arrays with one element
        per lane: box port p is elements p * d to p * d + d - 1, where d is `lanes` inside the
        network, and `ends` at the terminals.
    name : str
        Prefix of the cells' names.
    within : str
        Beginning of the cells' titles, which go on with stage and box.
    lanes : int
        Streams between two stages for each line: links of a bundle, or channels of a link.
    ends : int
        Streams of a terminal each way: endpoints of its classes of messages.
    link : CellType, optional
        The type of the links between two stages (`CreditLink`), if they are cells: the one
        before input p of box x is `link_{name}_{s}_{x}_{p}`.
    straps : Callable
        The straps of each box, by stage and number.
    """
    last = len(plan.stages) - 1
    inputs: list[Pin] = []
    # For each line, by its label after the last column: the pins that drive it.
    drivers: list[list[Pin]] = [[]] * plan.sources
    for s in range(last + 1):
        cells = [f"{name}_{s}_{x}" for x in range(plan.columns[s])]
        for x, cell in enumerate(cells):
            title = f"{within}stage {s}, box {x}"
            fabric.place(Cell(cell, boxes[s], straps(s, x), title=title))
        # Wires are numbered stage by stage: a million at once take no longer than a thousand.
        before, lines = len(drivers), plan.relabel(s, np.arange(len(drivers)))
        reached = zip(*(_listed(each, before) for each in plan.port(s, lines)))
        if s == 0:
            inputs = [
                Pin(cells[box], ("i", port * ends + own))
                for box, port in reached
                for own in range(ends)
            ]
        else:
            wires = [
                (driver, cells[box], ("i", lane))
                for driving, (box, port) in zip(drivers, reached)
                for lane, driver in enumerate(driving, port * lanes)
            ]
            if link is not None:
                wires = [_through(fabric, link, lanes, *wire) for wire in wires]
            fabric.link_all(
                Pins.of([driver for driver, _, _ in wires]),
                Pins([cell for _, cell, _ in wires], [path for _, _, path in wires]),
            )
        links = ends if s == last else lanes
        drivers = [[]] * (len(cells) * plan.outputs[s])
        for port in range(plan.outputs[s]):
            paths = [("o", end) for end in range(port * links, (port + 1) * links)]
            leaving = plan.line(s, np.arange(len(cells)), np.array(port))
            for cell, label in zip(cells, _listed(leaving, len(cells))):
                drivers[label] = [Pin(cell, path) for path in paths]
    outputs: list[Pin] = [Pin(None, ())] * (plan.sinks * ends)
    sinks = plan.relabel(last + 1, np.arange(len(drivers)))
    for sink, driving in zip(_listed(sinks, len(drivers)), drivers):
        outputs[sink * ends : (sink + 1) * ends] = driving
    return Columns(inputs, outputs)


def _through(
    fabric: Fabric | Scope, link: CellType, lanes: int, driver: Pin, cell: str, path: tuple
) -> tuple[Pin, str, tuple]:
    """Lead a wire to input `path` of a box through the link before it; return the rest of it."""
    port, channel = divmod(path[1], lanes)
    name = f"link_{cell}_{port}"
    if channel == 0:
        fabric.place(Cell(name, link, title=f"link to {cell}"))
    fabric.link(driver, Pin(name, ("i", channel)))
    fabric.link(Pin(cell, ("freed", path[1])), Pin(name, ("freed", channel)))
    if link.parameters["guarded"]:
        fabric.link(Pin(name, ("open", channel)), Pin(driver.cell, ("open", *driver.path[1:])))
    return Pin(name, ("o", channel)), cell, path


def _listed(numbers: np.ndarray, count: int) -> list[int]:
    """The numbers as a list; there is only one if all are alike."""
    return np.broadcast_to(numbers, count).tolist()
