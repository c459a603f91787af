"""The node models of Ginosar and Egozi: the adopted one, and those that they reject."""

import networkx as nx
import pytest
from multicube.hdl.families.hypercube.hypercube_graph import RoutedHypercube
from multicube.hdl.families.perfect_shuffle_graph import ShuffleNearestNeighbor
from multicube.hdl.families.star_graph import Star
from multicube.hdl.families.tree_graph import Tree
from multicube.sim.papers import Options
from multicube.sim.papers.ginosar.node_models import MODELS, divided_fan_out


@pytest.mark.parametrize("divided", [True, False])
def test_broadcasts_on_all_links(divided: bool) -> None:
    """By networkx: the longest of the shortest ways, whose links take as long as the slower end has
    links, or all alike."""
    for graph in (RoutedHypercube(3), Star(6), Tree(8), ShuffleNearestNeighbor(4)):
        plain = nx.Graph((link.node, link.peer) for link in graph.links())
        plain.remove_edges_from(list(nx.selfloop_edges(plain)))
        for one, other in plain.edges:
            links = max(plain.degree(one), plain.degree(other))
            plain.edges[one, other]["weight"] = links if divided else 1
        lengths = dict(nx.all_pairs_dijkstra_path_length(plain))
        longest = max(max(own.values()) for own in lengths.values())
        assert divided_fan_out(graph, divided=divided) == longest


@pytest.mark.long
def test_node_models() -> None:
    """Of the hypercube F is n; and what no permutation can beat."""
    for row in MODELS.run(Options(quick=True)).rows:
        assert row["tied"] == row["adopted"] / 2
        assert row["link_limited"] <= row["adopted"]
        assert row["link_limited"] <= row["divided"] <= row["links"] * row["link_limited"]
        assert row["link_cycles"] < row["divided_cycles"]
        if row["network"] == "Hypercube":
            assert (row["adopted"], row["divided"], row["link_limited"]) == (3, 9, 3)
