"""Figures 4 and 5 of Siegel et al.: one network used as several independent ones.

The 2^s terminals of a part agree in n - s address bits. The boxes that it uses in the stages of
these bits are set to straight, and its mask M has zeros there.
"""

from collections.abc import Iterable

from ...hdl.fabric.fabric import Pin
from ...hdl.graphs.partitions import Partition, Subnetwork, effective_tag
from ...hdl.graphs.plans.multistage import MultistagePlan, multistage_plan
from ...hdl.graphs.tags import Routing
from ...hdl.networks.stage_layout import plan_diagram
from ..report.drawing import Marks, diagram_figure
from .item import Column, Item, Options, PaperResult
from .siegel_structure import SOURCE, stage_names

__all__ = ["ITEMS"]

_PORTS = 16

_COLOURS = ("C0", "C1", "C2", "C3")


def _reached(plan: MultistagePlan, subnetwork: Subnetwork, routing: Routing) -> set[int]:
    """All outputs reached from all members of a subnetwork, with the effective tags of all tags."""
    tags = plan.tags(routing)
    return {
        tags.destination(effective_tag(tags, subnetwork.mask, source, tag), source)
        for source in subnetwork.members
        for tag in range(plan.ports)
    }


def _marks(plan: MultistagePlan, partition: Partition, names: str) -> Marks:
    """The lines of each subnetwork in its colour, and its letter or straight lines in its boxes."""
    lines, connections, texts = {}, {}, {}
    for name, colour, subnetwork in zip(names, _COLOURS, partition.subnetworks):
        for line in subnetwork.members:
            lines[Pin(None, ("i", line))] = colour
            for s, stage in enumerate(plan.stages):
                box, port = plan.port(s, line)
                cell = f"box_{s}_{box}"
                lines[Pin(cell, ("o", port))] = colour
                if subnetwork.mask >> stage.digit & 1:
                    texts[cell] = name
                else:
                    connections[Pin(cell, ("i", port)), Pin(cell, ("o", port))] = colour
    return Marks(lines, connections, texts=texts)


def _partitioned(names: str, partition: Partition) -> PaperResult:
    plan = multistage_plan("cube", _PORTS)
    bits = plan.code.width
    rows = []
    for name, subnetwork in zip(names, partition.subnetworks):
        fixed = [str(i) for i in reversed(range(bits)) if not subnetwork.mask >> i & 1]
        row = {
            "name": name,
            "members": _listed(subnetwork.members),
            "straight": ", ".join(fixed),
            "mask": f"{subnetwork.mask:0{bits}b}",
            "tried": subnetwork.size * plan.ports,
        }
        for routing in ("xor", "destination"):
            row[routing] = _listed(_reached(plan, subnetwork, routing))
        rows.append(row)
    marks = _marks(plan, partition, names)
    return PaperResult(
        columns=(
            Column("name", "part"),
            Column("members"),
            Column("straight", "stages straight"),
            Column("mask", "mask M"),
            Column("tried", "inputs x tags tried"),
            Column("xor", "reached, XOR tags"),
            Column("destination", "reached, destination tags"),
        ),
        rows=rows,
        draw=lambda: diagram_figure(plan_diagram(plan, stage_names=stage_names(plan)), marks),
        notes=(
            "Every input of a part tries every tag; its effective tag leads only to members:",
            "E = T M for XOR tags, E = D M + S (not M) for destination tags.",
        ),
    )


def _listed(terminals: Iterable[int]) -> str:
    """Terminals as text, with consecutive ones as ranges."""
    low, *_, high = terminals = sorted(terminals)
    whole = terminals == list(range(low, high + 1))
    return f"{low} to {high}" if whole else ", ".join(map(str, terminals))


def figure_4(options: Options) -> PaperResult:
    """Halves A and B, divided by the high-order bit."""
    return _partitioned("AB", Partition.of_bits(_PORTS, [{3: 0}, {3: 1}]))


def figure_5(options: Options) -> PaperResult:
    """A as before; the other half divided again into C and D, by bit n - 2."""
    parts = [{3: 0}, {3: 1, 2: 0}, {3: 1, 2: 1}]
    return _partitioned("ACD", Partition.of_bits(_PORTS, parts))


ITEMS = (
    Item(
        "siegel-fig4",
        "The multistage cube for N = 16 as two partitions of eight",
        f"{SOURCE}, III-D",
        figure_4,
    ),
    Item(
        "siegel-fig5",
        "The multistage cube for N = 16 as partitions of eight, four and four",
        f"{SOURCE}, III-D",
        figure_5,
    ),
)
