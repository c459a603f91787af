"""Wiring plans as diagrams, without hardware."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..fabric.cell import Cell
from ..fabric.diagram import Diagram
from ..fabric.layout import connected
from ..fabric.pins import Pin, Pins
from ..fabric.wires import Wire
from ..graphs.plans.multistage import MultistagePlan
from .stage_columns import place_columns
from .stage_layout import Part, stage_layout

__all__ = ["plan_diagram", "plan_path"]


@dataclass
class _Wiring:
    """In place of a fabric: only the links between boxes."""

    links: list[tuple[Pin, Pin]] = field(default_factory=list)

    def place_all(self, cells: Sequence[Cell]) -> None:
        pass

    def link(self, a: Pin, b: Pin) -> None:
        self.links.append((a, b))

    def link_all(self, a: Pins, b: Pins) -> None:
        self.links += zip(a.each(), b.each())


def plan_diagram(
    plan: MultistagePlan,
    *,
    links: int = 1,
    copies: int = 1,
    stage_names: Sequence[str] | None = None,
) -> Diagram:
    """The diagram of a wiring plan.

    Parameters
    ----------
    plan : MultistagePlan
    links : int
        Links for each line between two stages: the d of a d-dilated network.
    copies : int
        Copies of the network between the same terminals: the d of a d-replicated one. The boxes of
        copy c are `box_{c}_{stage}_{box}`.
    stage_names : Sequence[str], optional
        In the order in which a packet meets them; as `stage_layout` names them if not given.
    """
    names = ["box"] if copies == 1 else [f"box_{copy}" for copy in range(copies)]
    wiring: Any = _Wiring()
    for name in names:
        boxes: Any = [None] * len(plan.stages)
        ends = place_columns(wiring, plan, boxes, name=name, lanes=links)
        for way, pins in zip("io", ends):
            for number, pin in enumerate(pins):
                outer = Pin(None, (way, number))
                wiring.link(*((outer, pin) if way == "i" else (pin, outer)))
    parts = [Part(plan, name, links, copy) for copy, name in enumerate(names)]
    layout = stage_layout(parts, stage_names=stage_names)
    wires = {driver: Wire(f"{driver} -> {receiver}") for driver, receiver in wiring.links}
    if copies > 1:
        wires = {driver: wire for driver, wire in wires.items() if driver.cell}
    return connected(plan.name, layout, wiring.links, wires)


def plan_path(plan: MultistagePlan, source: int, destination: int) -> list[Pin]:
    """The outputs of the boxes between two terminals of a plan."""
    return [
        Pin(f"box_{hop.stage}_{hop.box}", ("o", hop.output))
        for hop in plan.path(source, destination)
    ]
