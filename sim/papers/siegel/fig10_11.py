"""Figures 10 and 11: the four-stage MAN-YO network, its loops, and the addresses of its nodes."""

from collections.abc import Iterator

from ....hdl.families.single_stage.single_stage_graph import ManYo, SingleStageCube
from ....hdl.graphs.graph import Channel
from ....hdl.networks.graph_layout import graph_diagram
from ...report.diagram_figure import diagram_figure
from ..item import Item, Options, Row
from . import SOURCE

__all__ = ["DRAWN", "FIG10", "FIG11"]

DRAWN = 4
"""Stages of the networks that are drawn."""


def _printed_peer(graph: SingleStageCube, node: int, loop: int) -> str:
    """The node behind one of the outputs of a node, by the paper's rule (VIII-B).

    The printed stage of the node behind the last stage, 1, is read as 0.
    """
    stage, label = graph.stage(node), graph.name(node).split()[1]
    last = graph.stages - 1
    if stage == last:
        return f"(0) {loop}{label[:-1]}"
    place = last - 1 - stage
    return f"({stage + 1}) {label[:place]}{loop}{label[place + 1 :]}"


def _links(options: Options) -> Iterator[Row]:
    graph = ManYo(DRAWN)
    for node in range(graph.nodes):
        peers = [graph.name(graph.link_of(Channel(node, port)).peer) for port in range(2)]
        printed = [_printed_peer(graph, node, bit) for bit in range(2)]
        row = {"stage": graph.stage(node), "node": graph.name(node)}
        yield row | {"upper": peers[0], "lower": peers[1], "agrees": peers == printed}


FIG10 = Item(
    "siegel-fig10",
    "Four-stage MAN-YO network",
    f"{SOURCE}, VIII-B",
    columns="stage | node | upper = upper output to | lower = lower output to"
    " | agrees = as in paper",
    rows=_links,
    draw=lambda rows: diagram_figure(graph_diagram(ManYo(DRAWN)), names=False),
    notes=(
        "In paper: the rule of VIII-B. The stage of the second node behind the last stage, "
        "printed as 1, is read as 0.",
        "A link that leaves at the right enters at the left, at the same height.",
    ),
    ignores=("cycles", "engine", "seed"),
)


def _loops(options: Options) -> Iterator[Row]:
    graph = ManYo(DRAWN)
    for loop in range(1 << graph.stages):
        row: Row = {"loop": f"{loop:0{graph.stages}b}"}
        node = graph.node(0, loop)
        for stage in range(graph.stages):
            row[f"stage{stage}"] = graph.name(node)
            node = graph.link_of(Channel(node, loop >> stage & 1)).peer
        yield row | {"closes": node == graph.node(0, loop)}


_NODES = " | ".join(f"stage{stage} = stage {stage}" for stage in range(DRAWN))

FIG11 = Item(
    "siegel-fig11",
    "Loops and addresses of a four-stage MAN-YO network",
    f"{SOURCE}, VIII-B",
    columns=f"loop | {_NODES} | closes",
    rows=_loops,
    draw=lambda rows: diagram_figure(graph_diagram(ManYo(DRAWN))),
    notes=(
        "Loop l leaves the node of stage i by output l(i), and so stays on its lines. The "
        "address of a node is its stage, and the bits that its two loops have in common.",
    ),
    ignores=("cycles", "engine", "seed"),
)
