"""Columns of boxes linked according to a wiring plan, as in all multistage networks."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..core.fabric import Cell, CellType, Fabric, Pin, Scope
from ..topology.multistage import MultistagePlan
from ..topology.redundant_paths import RedundantPathPlan

__all__ = ["Columns", "place_columns"]


class Columns(NamedTuple):
    """The free ends of the columns: by terminal, the pins of the first and of the last boxes."""

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
        for label in range(plan.ports):
            box, port = plan.port(s, plan.relabel(s, label))
            if s == 0:
                inputs.append(Pin(f"{name}_0_{box}", ("i", port)))
                continue
            for link, driver in enumerate(drivers[label]):
                fabric.link(driver, Pin(f"{name}_{s}_{box}", ("i", port * dilation + link)))
        links = 1 if s == last else dilation
        drivers = []
        for label in range(plan.ports):
            box, port = plan.port(s, label)
            ends = range(port * links, (port + 1) * links)
            drivers.append([Pin(f"{name}_{s}_{box}", ("o", end)) for end in ends])
    outputs: list[Pin] = [Pin(None, ())] * plan.ports
    for label, (driver,) in enumerate(drivers):
        outputs[plan.relabel(last + 1, label)] = driver
    return Columns(inputs, outputs)
