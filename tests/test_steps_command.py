"""`multicube steps`, the search for hard permutations, and rank correlations."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from multicube.hdl import build
from multicube.hdl.fabric.errors import InvalidValue, MulticubeError
from multicube.hdl.graphs.schedules.communication_steps import Transfer, check_delivery
from multicube.hdl.graphs.schedules.permutation_steps import StepRouter
from multicube.sim.command.steps import steps
from multicube.sim.measure.hardest_permutation import candidates, hardest_permutation
from multicube.sim.papers.ginosar import measured_steps
from multicube.sim.papers.ginosar.measured_steps import measured_rows
from multicube.sim.papers.ginosar.nine_networks import nine_graphs
from multicube.sim.papers.ginosar.rank_correlation import correlation, network_of
from multicube.sim.papers.item import Options
from multicube.sim.run.workers import Job
from refusals import refusals
from scipy.stats import spearmanr


def call(words: str) -> str:
    result = CliRunner().invoke(steps, words.split(), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_broadcast() -> None:
    assert (
        call("star nodes=6 broadcast")
        .splitlines()[-1]
        .startswith("5 steps on the hardware (no schedule has fewer); 5 words")
    )


def test_terminals_elsewhere_are_refused(tmp_path: Path) -> None:
    """A permutation is of terminals, and steps are between nodes: these must be the same."""
    nodes = [{"id": node, "terminals": [home]} for node, home in enumerate((1, 0, 2))]
    path = tmp_path / "turned.json"
    path.write_text(json.dumps({"nodes": nodes, "links": [[0, 1], [1, 2]]}), "utf-8")
    with pytest.raises(InvalidValue, match="3 terminals and 3 nodes"):
        call(f"graph file={path} 2,1,0")


def test_permutation_as_json() -> None:
    record: dict[str, Any] = json.loads(call("hypercube n=3 bit-reversal --json"))
    assert record["steps"] == len(record["schedule"]) >= record["least"]
    graph = build("hypercube", n=3).relation.graph
    transfers = [[Transfer(*each) for each in step] for step in record["schedule"]]
    check_delivery(graph, transfers, [0, 4, 2, 6, 1, 5, 3, 7])


test_refused = refusals(
    lambda words: call(words),
    ("cube ports=8 broadcast", "Network must be one of nodes and links..."),
    ("fat-tree broadcast", "Network must have one terminal at each node..."),
    ("star nodes=6 uniform", "Task must be broadcast, concentration, or a permutation..."),
    ("ring k=4 identity", "Task identity moves no word: each is where it is to be..."),
    ("mesh k=2 n=1 x,1", "Task x,1 moves no word: each is where it is to be..."),
    ("ring k=4 concentration", "Links must be two-way for a concentration..."),
    ("mesh k=2 broadcast --operation max", "Task broadcast takes no --operation: it combines..."),
    ("mesh k=2 broadcast --tries 0", "Task broadcast takes no --tries: its schedule is..."),
    error=InvalidValue,
)


def test_hard_permutations() -> None:
    """All candidates are permutations; nodes of a half all go to the other; the hardest is as hard
    as any of them."""
    graph = build("torus", k=4, n=2).relation.graph
    router, side = StepRouter(graph, [range(8)]), range(8)
    found = dict(candidates(router, side))
    assert {"complement", "transpose", "farthest", "halves", "random-1"} <= set(found)
    assert all(sorted(each) == list(range(16)) for each in found.values())
    assert all((node in side) != (to in side) for node, to in enumerate(found["halves"]))
    totals = {
        name: sum(router.distances[to][node] for node, to in enumerate(each))
        for name, each in found.items()
    }
    assert max(totals.values()) == totals["farthest"]
    hardest = hardest_permutation(router, side, changes=5)
    check_delivery(graph, hardest.schedule, hardest.destinations)
    assert hardest.steps >= max(len(router.schedule(each, tries=16)) for each in found.values())


def test_correlation() -> None:
    """As SciPy has it."""
    rng = random.Random(4)
    x = rng.sample(range(1000), 30)
    y = [each + rng.randrange(600) for each in x]
    found = correlation(x, y)
    assert found.coefficient == pytest.approx(spearmanr(x, y).statistic)
    assert found.low < found.coefficient < found.high < 1
    assert correlation(x, [-each for each in x]).coefficient == -1


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.long)])
def test_routers_are_in_the_same_graph(dimensions: int) -> None:
    """The network of the catalogue has the links whose measures are found."""
    for family, graph in nine_graphs(dimensions):
        network = network_of(family, graph)
        assert network.family == family
        assert network.relation is not None
        links, own = (
            sorted((link.node, link.peer) for link in each.links())
            for each in (graph, network.relation.graph)
        )
        assert own == links


def some_row(dimensions: int, number: int, options: Options) -> dict[str, Any]:
    return {"nodes": 4**dimensions, "number": number}


def test_an_interrupted_item_shows_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are in the order of the paper, though measured in another; those missing are
    named."""

    def finished(jobs: Sequence[Job], most: int) -> Iterator[tuple[int, Any]]:
        order = [*range(len(jobs))]
        random.Random(3).shuffle(order)
        for job in order[:most]:
            function, arguments, _ = jobs[job]
            yield job, function(*arguments)
        if most < len(jobs):
            raise KeyboardInterrupt

    def rows(most: int) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        monkeypatch.setattr(measured_steps, "finished", lambda jobs, _: finished(jobs, most))
        options = Options()
        return measured_rows(some_row, options), options.missing()

    whole, notes = rows(27)
    assert notes == ()
    assert whole == [{"nodes": n, "number": i} for n in (16, 64, 256) for i in range(9)]
    part, (note,) = rows(25)
    assert len(part) == 25
    assert [each for each in whole if each in part] == part
    assert note.startswith("Not measured, as the run or a process of it was ended: ")
    assert note.count(" of ") == 2 + 1
    with pytest.raises(KeyboardInterrupt):
        rows(2)
    monkeypatch.setattr(measured_steps, "finished", lambda jobs, _: iter(()))
    with pytest.raises(MulticubeError, match=r"^Not measured, as the run or a process of it was"):
        measured_rows(some_row, Options())
