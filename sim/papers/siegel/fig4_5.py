"""Figures 4 and 5 of Siegel et al.: one network used as several independent ones.

The 2^s terminals of a part agree in n - s address bits. The boxes that it uses in the stages of
these bits are set to straight, and its mask M has zeros there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from matplotlib.figure import Figure

from ....hdl.fabric.pins import Pin
from ....hdl.graphs.partitions import Partition, Subnetwork, effective_tag
from ....hdl.graphs.plans.multistage import MultistagePlan
from ....hdl.graphs.plans.named_plans import multistage_plan
from ....hdl.graphs.tags import Routing
from ....hdl.networks.plan_diagram import plan_diagram
from ...report.diagram_figure import Marks, diagram_figure
from ..item import Item, Row
from . import SOURCE
from .fig1 import stage_names

__all__ = ["FIG4", "FIG5"]

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


def _listed(terminals: Iterable[int]) -> str:
    """Terminals as text, with consecutive ones as ranges."""
    low, *_, high = terminals = sorted(terminals)
    whole = terminals == list(range(low, high + 1))
    return f"{low} to {high}" if whole else ", ".join(map(str, terminals))


def _rows(names: str, partition: Partition) -> Iterator[Row]:
    plan = multistage_plan("cube", _PORTS)
    width = plan.code.width
    for name, subnetwork in zip(names, partition.subnetworks):
        fixed = [str(i) for i in reversed(range(width)) if not subnetwork.mask >> i & 1]
        yield {
            "name": name,
            "members": _listed(subnetwork.members),
            "straight": ", ".join(fixed),
            "mask": f"{subnetwork.mask:0{width}b}",
            "tried": subnetwork.size * plan.ports,
            "xor": _listed(_reached(plan, subnetwork, "xor")),
            "destination": _listed(_reached(plan, subnetwork, "destination")),
        }


def _partitioned(number: int, title: str, names: str, parts: Sequence[Mapping[int, int]]) -> Item:
    """The parts with these names, each given by bits of its addresses."""
    partition = Partition.of_bits(_PORTS, parts)

    def draw(rows: Sequence[Row]) -> Figure:
        plan = multistage_plan("cube", _PORTS)
        diagram = plan_diagram(plan, stage_names=stage_names(plan))
        return diagram_figure(diagram, _marks(plan, partition, names))

    return Item(
        f"siegel-fig{number}",
        title,
        f"{SOURCE}, III-D",
        columns="name = part | members | straight = stages straight | mask = mask M"
        " | tried = inputs x tags tried | xor = reached, XOR tags"
        " | destination = reached, destination tags",
        rows=lambda options: _rows(names, partition),
        draw=draw,
        notes=(
            "Every input of a part tries every tag; its effective tag leads only to members:",
            "E = T M for XOR tags, E = D M + S (not M) for destination tags.",
        ),
        ignores=("cycles", "engine", "seed"),
    )


FIG4 = _partitioned(
    4, "The multistage cube for N = 16 as two partitions of eight", "AB", [{3: 0}, {3: 1}]
)
FIG5 = _partitioned(
    5,
    "The multistage cube for N = 16 as partitions of eight, four and four",
    "ACD",
    [{3: 0}, {3: 1, 2: 0}, {3: 1, 2: 1}],
)
