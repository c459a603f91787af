"""Columns of boxes linked according to a wiring plan, as in all multistage networks."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from ..core.fabric import Cell, CellType, Fabric, Pin, Scope
from ..topology.multistage import MultistagePlan
from ..topology.redundant_paths import RedundantPathPlan

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
    dilation: int = 1,
    straps: Callable[[int, int], Mapping[str, int]] = lambda stage, box: {},
) -> Columns:
    """Place and link the boxes of a plan; box x of stage s is the cell `{name}_{s}_{x}`.

    Parameters
    ----------
    fabric : Fabric
    plan : MultistagePlan or RedundantPathPlan
    boxes : Sequence[CellType]
        Type of the boxes of each stage. They have interfaces `i` and `o`, arrays with one element
        per link: box port p is elements p * d to p * d + d - 1, where d is the dilation inside the
        network, and 1 at the terminals.
    name : str
        Prefix of the cells' names.
    within : str
        Beginning of the cells' titles, which go on with stage and box.
    dilation : int
        Number of links that replace each link between two stages.
    straps : Callable
        The straps of each box, by stage and number.
    """
    last = len(plan.stages) - 1
    inputs: list[Pin] = []
    # For each line, by its label after the last column: the pins that drive it.
    drivers: list[list[Pin]] = []
    for s in range(last + 1):
        for x in range(plan.columns[s]):
            title = f"{within}stage {s}, box {x}"
            fabric.place(Cell(f"{name}_{s}_{x}", boxes[s], straps(s, x), title=title))
        for label in range(len(drivers) if s else plan.sources):
            box, port = plan.port(s, plan.relabel(s, label))
            if s == 0:
                inputs.append(Pin(f"{name}_0_{box}", ("i", port)))
                continue
            for link, driver in enumerate(drivers[label]):
                fabric.link(driver, Pin(f"{name}_{s}_{box}", ("i", port * dilation + link)))
        links = 1 if s == last else dilation
        leaving = {}
        for x, port in product(range(plan.columns[s]), range(plan.outputs[s])):
            ends = range(port * links, (port + 1) * links)
            leaving[plan.line(s, x, port)] = [Pin(f"{name}_{s}_{x}", ("o", end)) for end in ends]
        drivers = [leaving[label] for label in range(len(leaving))]
    outputs: list[Pin] = [Pin(None, ())] * plan.sinks
    for label, (driver,) in enumerate(drivers):
        outputs[plan.relabel(last + 1, label)] = driver
    return Columns(inputs, outputs)
