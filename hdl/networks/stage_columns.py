"""Columns of boxes linked according to a wiring plan, as in all multistage networks."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..fabric.cell import Cell, CellType
from ..fabric.fabric import Fabric, Scope
from ..fabric.pins import Pin, Pins
from ..graphs.plans.multistage import MultistagePlan
from ..graphs.plans.redundant_paths import RedundantPathPlan

__all__ = ["Columns", "place_columns"]


class Columns(NamedTuple):
    """The free ends of the columns.

    Attributes
    ----------
    inputs : list[Pin]
        By source, those of the first boxes.
    outputs : list[Pin]
        By sink, those of the last boxes.
    """

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
    cells: list[str] = []
    # For each line, by its label after the last column: the box that drives it, and which output.
    driving = np.zeros((2, plan.sources), np.int64)
    for s in range(last + 1):
        before, cells = cells, [f"{name}_{s}_{x}" for x in range(plan.columns[s])]
        fabric.place_all(
            [
                Cell(cell, boxes[s], straps(s, x), title=f"{within}stage {s}, box {x}")
                for x, cell in enumerate(cells)
            ]
        )
        lines = driving.shape[1]
        reached = plan.port(s, plan.relabel(s, np.arange(lines)))
        ports = np.stack([np.broadcast_to(each, lines) for each in reached])
        if s == 0:
            inputs = [*_pins(cells, "i", ports, ends).each()]
        else:
            # Wires are numbered stage by stage: a million at once take no longer than a thousand.
            drivers = _pins(before, "o", driving, lanes)
            receivers = _pins(cells, "i", ports, lanes)
            if link is not None:
                wires = zip(drivers.each(), receivers.each())
                drivers = Pins.of([_through(fabric, link, lanes, *wire) for wire in wires])
            fabric.link_all(drivers, receivers)
        driving = np.zeros((2, len(cells) * plan.outputs[s]), np.int64)
        every = np.arange(len(cells))
        for output in range(plan.outputs[s]):
            leaving = np.broadcast_to(plan.line(s, every, np.array(output)), len(cells))
            driving[:, leaving] = every, np.full_like(every, output)
    outputs = np.zeros((2, plan.sinks), np.int64)
    outputs[:, plan.relabel(last + 1, np.arange(driving.shape[1]))] = driving
    return Columns(inputs, [*_pins(cells, "o", outputs, ends).each()])


def _pins(cells: Sequence[str], way: str, ports: np.ndarray, count: int) -> Pins:
    """So many pins of each of some ports, given by a row of boxes and one of their ports."""
    box, port = ports
    number = (port[:, None] * count + np.arange(count)).reshape(-1)
    paths = [(way, each) for each in range(number.max() + 1)]
    return Pins(cells, paths, np.repeat(box, count), number)


def _through(fabric: Fabric | Scope, link: CellType, lanes: int, driver: Pin, receiver: Pin) -> Pin:
    """Lead a wire to an input of a box through the link before it; return what drives the input."""
    port, channel = divmod(int(receiver.path[1]), lanes)
    name = f"link_{receiver.cell}_{port}"
    if channel == 0:
        fabric.place(Cell(name, link, title=f"link to {receiver.cell}"))
    fabric.link(driver, Pin(name, ("i", channel)))
    fabric.link(Pin(receiver.cell, ("freed", receiver.path[1])), Pin(name, ("freed", channel)))
    if link.parameters["guarded"]:
        fabric.link(Pin(name, ("open", channel)), Pin(driver.cell, ("open", *driver.path[1:])))
    return Pin(name, ("o", channel))
