"""Trees of groups of terminals, on all graphs of the library."""

from collections import Counter

import pytest
from example_networks import example
from multicube.hdl import FAMILIES, build
from multicube.hdl.graphs.routing.group_tree import GroupTree, group_tree
from multicube.hdl.graphs.routing.relation import Relation
from refusals import refusals


def relations() -> list[str]:
    names = [name for name, family in FAMILIES.items() if family.preset is None]
    return [
        name
        for name in names
        if (relation := example(name).relation) is not None and relation.phases is None
    ]


def delivered(tree: GroupTree, start: int) -> Counter[int]:
    """How often each terminal gets a multicast from a node on: entries are followed as routers
    do."""
    graph, found = tree.graph, Counter[int]()
    waiting, steps = [start], 0
    terminals = {exit_: terminal for terminal, exit_ in enumerate(graph.exits)}
    while waiting:
        steps += 1
        assert steps <= graph.nodes, "a copy goes in a circle"
        for channel in tree.nodes[waiting.pop()].exits:
            if channel.port < 0:
                found[terminals[channel]] += 1
            else:
                waiting.append(graph.link_of(channel).peer)
    return found


def merged(tree: GroupTree, last: int) -> Counter[int]:
    """How often the value of each terminal is in what leaves a node, by what routers wait for."""
    graph = tree.graph
    entries = {entry: terminal for terminal, entry in enumerate(graph.entries)}

    def values(node: int) -> Counter[int]:
        found = Counter[int]()
        for child in tree.nodes[node].children:
            if child.port < 0:
                found[entries[child]] += 1
            else:
                assert tree.nodes[child.node].onward == child
                found += values(child.node)
        return found

    return values(last)


@pytest.mark.parametrize("name", relations())
def test_trees_reach_each_member_once_and_merge_each_once(name: str) -> None:
    relation = example(name).relation
    assert isinstance(relation, Relation)
    end = relation.ports - 1
    for root in (0, relation.ports // 2, end):
        for members in (range(relation.ports), [end, 1], [root]):
            tree = group_tree(relation, root, members)
            once = Counter(dict.fromkeys(members, 1))
            graph = tree.graph
            home, last = graph.homes[root], graph.exit_homes[root]
            assert delivered(tree, home) == once
            assert merged(tree, last) == once
            assert tree.nodes[last].onward == graph.exits[root]
            both = [node for node, part in tree.nodes.items() if part.exits and part.children]
            turns = {node for node in both if delivered(tree, node) == merged(tree, node) == once}
            assert tree.turn in turns if turns else tree.turn is None
            assert tree.turn == home or home != last
            assert all(relation.is_escape(one) for one in tree.copied if one.port >= 0)


@pytest.mark.parametrize(
    ("words", "root", "members"), [("lens", 0, [2, 7]), ("hexa-mesh", 10, [3, 12, 15, 17, 18])]
)
def test_searched_ways_pass_no_node_twice(words: str, root: int, members: list[int]) -> None:
    """What was left of a circle was a branch that led nowhere."""
    relation = build(words).relation
    assert relation is not None
    tree = group_tree(relation, root, members)
    links = [channel for channel in tree.copied if channel.port >= 0]
    assert all(tree.nodes[tree.graph.link_of(channel).peer].exits for channel in links)


def test_tree_of_a_mesh_is_that_of_its_relation() -> None:
    relation = build("mesh", k=8).relation
    assert relation is not None
    tree = group_tree(relation, 0, range(64))
    paths = {channel for to in range(64) for channel in relation.path(0, to)}
    assert set(tree.copied) == paths
    assert tree.depth == tree.height == 14
    assert set(tree.merged) == {
        channel for source in range(64) for channel in relation.path(source, 0)[:-1]
    }


test_group_tree_refuses = refusals(
    lambda root, members: group_tree(build("mesh", k=3).relation, root, members),
    (9, [1], "Root of a group must be from 0 to 8, not 9"),
    (0, [], "Group must have at least one member"),
    (0, [1, 10], "Member of a group must be from 0 to 8, not 10"),
    (0, ["a"], TypeError, "Member of a group must be an integer, not 'a'"),
)
