"""`multicube steps`, the search for hard permutations, and rank correlations."""

import doctest
import json
import random
from typing import Any

import pytest
from click.testing import CliRunner
from multicube.hdl import build
from multicube.hdl.core.errors import InvalidValue
from multicube.hdl.routing.communication_steps import Transfer, check_delivery
from multicube.hdl.routing.permutation_steps import StepRouter
from multicube.sim.command.steps import steps
from multicube.sim.measure.hardest_permutation import candidates, hardest_permutation
from multicube.sim.papers import ginosar_prediction
from multicube.sim.papers.ginosar_prediction import correlation
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


def test_permutation_as_json() -> None:
    record: dict[str, Any] = json.loads(call("hypercube n=3 bit-reversal --json"))
    assert record["steps"] == len(record["schedule"]) >= record["least"]
    graph = build("hypercube", n=3).relation.graph
    transfers = [[Transfer(*each) for each in step] for step in record["schedule"]]
    check_delivery(graph, transfers, [0, 4, 2, 6, 1, 5, 3, 7])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cube ports=8 broadcast", "Network must be one of nodes and links"),
        ("fat-tree broadcast", "Network must have one terminal at each node"),
        ("star nodes=6 uniform", "Task must be broadcast, concentration, or a permutation"),
        ("ring k=4 concentration", "Links must be two-way for a concentration"),
    ],
)
def test_refused(words: str, message: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{message}"):
        call(words)


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


def test_doctest() -> None:
    assert doctest.testmod(ginosar_prediction).failed == 0
