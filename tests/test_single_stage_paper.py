"""Figures 10 to 14 of Siegel et al., and the LSSN beside baseline networks."""

from typing import Any

import pytest
from multicube.hdl.families.single_stage.routing_ring import routing_ring
from multicube.hdl.families.single_stage.single_stage_graph import Lambda, LoopSwitching
from multicube.sim.papers import Options, find_item
from multicube.sim.papers.siegel.fig14 import loop_resultant, ring_steps


def rows(name: str) -> list[dict[str, Any]]:
    return list(find_item(name).run(Options(quick=True)).rows)


def test_links_are_those_of_the_rule() -> None:
    found = rows("siegel-fig10")
    assert len(found) == 32
    assert all(row["agrees"] for row in found)
    assert {row["node"]: (row["upper"], row["lower"]) for row in found}["(3) 110"] == (
        *("(0) 011", "(0) 111"),
    )


def test_nodes_have_the_bits_that_their_loops_share() -> None:
    found = rows("siegel-fig11")
    assert [row["loop"] for row in found] == [f"{loop:04b}" for loop in range(16)]
    for row in found:
        bits = row["loop"]
        for stage in range(4):
            assert row[f"stage{stage}"] == f"({stage}) {bits[: 3 - stage]}{bits[4 - stage :]}"
        assert row["closes"]


@pytest.mark.parametrize("stages", [3, 5])
def test_paths_on_the_ring(stages: int) -> None:
    """The pointer moves one stage a step, and the bit of a stage changes only there, to 0."""
    graph = Lambda(stages)
    for destination in range(graph.nodes):
        for source in range(0, graph.nodes, 7):
            steps = list(ring_steps(graph, source, destination))
            bits = loop_resultant(graph, graph.loops(source)[0], destination)
            for number, step in enumerate(steps):
                stage = graph.stage(step.node)
                changed = {i for i in range(stages) if step.resultant[~i] != bits[~i]}
                assert changed <= {stage}
                # In its own stage, which a packet leaves by either loop, the bit may be anything.
                if stage not in (graph.stage(source), graph.stage(destination)):
                    assert step.resultant[~stage] == "0" or step.backward is None
                bits = step.resultant
                if step.backward is None:
                    assert number == len(steps) - 1
                    break
                after = (stage + (-1 if step.backward else 1)) % stages
                assert graph.stage(steps[number + 1].node) == after
            assert steps[-1].node == destination
            assert set(steps[-1].resultant) <= {"0", "x"}
            difference = (graph.stage(destination) - graph.stage(source)) % stages
            first = loop_resultant(graph, graph.loops(source)[0], destination).replace("x", "0")
            turned = routing_ring(stages).turned(int(first, 2), graph.stage(source))
            assert len(steps) - 1 == routing_ring(stages).distance(difference, turned)


@pytest.mark.long
def test_distances_of_packets() -> None:
    """Counted by hand for one-way links: 2^d up to m - 1 links, then 2^(m-1) - 2^(d-m)."""
    found = rows("siegel-fig12")
    m = 5
    expected = [2**d if d < m else 2 ** (m - 1) - 2 ** (d - m) for d in range(1, 2 * m - 1)]
    assert [row["graph"] for row in found] == [row["measured"] for row in found] == expected
    both_ways = rows("siegel-fig13")
    assert all(row["agrees"] for row in both_ways)
    assert sum(row["measured"] for row in both_ways) == sum(expected) == 79


@pytest.mark.long
def test_path_of_a_packet() -> None:
    found = rows("siegel-fig14")
    assert all(row["agrees"] for row in found)
    assert [row["direction"] for row in found] == ["back", *["forward"] * 2, "back", "arrived"]


@pytest.mark.long
def test_request_intervals() -> None:
    found = {(row["network"], row["interval"]): row for row in rows("siegel-lssn")}
    graph = LoopSwitching(4)
    mean = (
        sum(graph.distances[there][here] for there in graph.homes for here in graph.homes) / 64**2
    )
    # A packet that never waits takes a cycle for each link, and one to leave; or one a stage.
    for name, alone in (("baseline 16", 4), ("LSSN 64", mean + 1), ("baseline 64", 6)):
        rare, often = found[name, 64], found[name, 0]
        assert rare["throughput"] / int(name.split()[1]) == pytest.approx(1 / 65, rel=0.15)
        assert alone - 0.1 < rare["delay"] < alone + 0.4
        assert often["throughput"] < 0.7 * int(name.split()[1])
        assert often["delay"] > 3 * alone
    # A packet takes `mean` of 64 links: these limit the throughput.
    assert found["LSSN 64", 0]["throughput"] < 64 / mean
    small, lssn, large = (
        found[name, 0]["throughput"] for name in ("baseline 16", "LSSN 64", "baseline 64")
    )
    assert small < lssn < 1.4 * small
    assert 0.2 < lssn / large < 0.4
