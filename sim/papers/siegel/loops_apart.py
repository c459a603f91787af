"""Single-stage cubes: deadlock, and partitions by stages that do not exchange (VIII-E, VIII-F)."""

from collections.abc import Iterator

import networkx as nx

from ....hdl.families.single_stage.single_stage_graph import (
    Lambda,
    LoopSwitching,
    ManYo,
    SingleStageCube,
)
from ....hdl.graphs.routing.survey import survey
from ..item import Item, Options, Row
from ..panels import Lines, Panel
from . import SOURCE

__all__ = ["APART"]


def _parts(graph: SingleStageCube, straight: int) -> list[int]:
    """The nodes of each part of the network, if the first stages only pass packets straight on.

    A node in such a stage belongs to the parts of both of its loops, and counts for neither.
    """
    loops = nx.Graph()
    for node in range(graph.nodes):
        one, other = graph.loops(node)
        loops.add_nodes_from((one, other))
        if graph.stage(node) >= straight:
            loops.add_edge(one, other)
    parts = [set(part) for part in nx.connected_components(loops)]
    return [
        sum(
            graph.stage(node) >= straight and graph.loops(node)[0] in part
            for node in range(graph.nodes)
        )
        for part in parts
    ]


def _rows(options: Options) -> Iterator[Row]:
    for family, type_ in {"man-yo": ManYo, "lssn": LoopSwitching, "lambda": Lambda}.items():
        for stages in (3,) if options.quick else (3, 4, 5):
            plan, alone = type_(stages), type_(stages, channels=1)
            channels = max(link.channels for link in plan.links())
            cycles = [len(survey(graph).cycle or ()) for graph in (alone, plan)]
            for straight in range(stages):
                sizes = _parts(plan, straight)
                yield {
                    "network": family,
                    "stages": stages,
                    "waiting": cycles[0],
                    "channels": channels,
                    "left": cycles[1],
                    "straight": straight,
                    "published": 1 << straight,
                    "measured": len(sizes),
                    "nodes": sizes[0],
                    "equal": len(set(sizes)) == 1,
                }


APART = Item(
    "siegel-loops",
    "Single-stage cubes: deadlock, and partitions by stages that do not exchange",
    f"{SOURCE}, VIII-E and VIII-F",
    columns="network | stages = m | waiting = cycle with 1 channel | channels"
    " | left = cycle with these | straight = stages straight | published = parts, paper"
    " | measured = parts | nodes = nodes of each | equal",
    rows=_rows,
    draw=Panel(
        "straight",
        [Lines("measured", "o", "{network}"), Lines("published", "-", look={"color": "grey"})],
        ["network"],
        title="m = {stages}",
        xlabel="stages that only pass packets straight on",
        ylabel="parts",
        ylog=2,
        ticks=True,
        by="stages",
    ),
    notes=(
        "Cycle: channels that can wait for each other (VIII-E), with one channel on each link, and "
        "with those that these networks have by default.",
        "Parts (VIII-F): the paper has 2^r for r stages that do not exchange. Nodes in such stages "
        "are not counted. The others of a part are as many as the nodes of a network of m - r "
        "stages; its links pass the straight nodes on their way.",
    ),
    ignores=("cycles", "engine", "seed"),
)
