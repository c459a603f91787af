"""The example that compares shortest paths, Valiant's routing and UGAL."""

from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner
from modules import load_example


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_example("minimal_valiant_ugal")


@pytest.mark.parametrize(
    ("name", "links", "uniform", "worst"),
    [
        # Four terminals of a switch share a link up, one of them not needing it.
        ("fat-tree", 2 * 3 / 4, 1, (3 * 1 / 3 + 1) / 4),
        ("hyperx", 2 * 3 / 4, 1, 1 / 4),
        ("dragonfly", 8 / 9 * (1 + 2 * 3 / 4) + 1 / 9 * 3 / 4, 1, 1 / 8),
        ("torus", 2, 1, 1 / 3),
        # Of 8 x 8 pairs, 15 use the link from node 3 to 4: from 1, 2, 3 to 4, ..., 7 and 0 to 4.
        ("express-mesh", None, 8 / 15, None),
    ],
)
def test_theory(
    example: ModuleType, name: str, links: float | None, uniform: float, worst: float | None
) -> None:
    """Counted by hand."""
    theory = example.theory_of(name, example.network_of(name, "own").relation)
    assert sorted(theory.permutation) == list(range(len(theory.permutation)))
    assert theory.uniform == pytest.approx(uniform)
    if links is not None:
        assert theory.links == pytest.approx(links)
    if worst is not None:
        assert theory.worst == pytest.approx(worst)


@pytest.mark.parametrize("name", ["kautz", "de-bruijn"])
def test_worst_permutation(example: ModuleType, name: str) -> None:
    """No better than the uniform traffic's share, and worse than the identity."""
    theory = example.theory_of(name, example.network_of(name, "own").relation)
    assert sorted(theory.permutation) == list(range(len(theory.permutation)))
    assert theory.worst < theory.uniform / 2


@pytest.mark.long
def test_valiants_routing_and_ugal_cross_shortest_paths(
    example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a torus, under the tornado and under uniform traffic."""
    monkeypatch.chdir(tmp_path)
    words = ["torus", "--cycles", "2000", "-o", "torus.svg"]
    done = CliRunner().invoke(example.main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "<svg" in (tmp_path / "torus.svg").read_text()
    theory = example.theory_of("torus", example.network_of("torus", "own").relation)
    curves = example.measured("torus", theory, 2000)
    most = {key: max(curve.throughputs) for key, curve in curves.items()}
    assert most["uniform", "own"] > most["uniform", "valiant"]
    assert most["worst", "valiant"] > most["worst", "own"]
