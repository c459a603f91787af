"""The formulas of Ginosar and Egozi against what graphs have."""

import pytest
from command_line import Call
from multicube.hdl import build
from multicube.sim.measure.graph_measures import communication_measures
from multicube.sim.theory.static_comparison import compared
from multicube.sim.theory.static_families import static_network
from multicube.sim.theory.static_formulas import Size, looseness
from multicube.sim.theory.static_networks import NETWORKS

RIGHT = [
    *("complete nodes=16", "complete nodes=9", "ring k=8 n=1", "ring k=8 n=1 directions=2"),
    *("ring k=7 n=1 directions=2", "torus k=4 n=2", "star nodes=9", "tree nodes=15"),
    *("hypercube n=4", "chordal-ring nodes=16", "chordal-ring nodes=18", "star nodes=2"),
    *("chordal-ring nodes=16 chords=2", "chordal-ring nodes=25 chords=2"),
]


@pytest.mark.parametrize("words", RIGHT)
def test_corrected_formulas_are_right(words: str) -> None:
    """Those of d, F, D and C; for odd N, too."""
    built = build(words, allow_deadlock=1)
    assert built.relation is not None
    known = static_network(built.family, built.parameters)
    assert known is not None
    network, size = known
    ranges = communication_measures(built.relation.graph).ranges()
    for measure in "dFDC":
        formula = network.exact.get(measure)
        if formula is not None and (best := formula.best(size)) is not None:
            assert ranges[measure] == (pytest.approx(best), pytest.approx(best)), measure


@pytest.mark.parametrize("bits", [2, 3, 4, 5])
def test_corrected_distance_of_psnn(bits: int) -> None:
    built = build(f"psnn n={bits}", allow_deadlock=1)
    assert built.relation is not None
    (found, _) = communication_measures(built.relation.graph).ranges()["d"]
    assert NETWORKS["PSNN"].exact["d"].best(Size(1 << bits)) == found


def test_deviations() -> None:
    network, size = static_network("hypercube", build("hypercube n=4").parameters) or (None, None)
    assert network is not None
    assert size == Size(16)
    ranges = {"d": (4, 4), "F": (5, 8), "D": (1, 3), "C": (2, 2)}
    found = {row.measure: row.deviation for row in compared(network, size, ranges)}
    assert found == {"d": 0, "F": pytest.approx(-0.2), "D": None, "C": 1, "L": None, "LC": None}


def test_disconnectivity_of_a_small_shuffle_is_that_of_the_text() -> None:
    """Section 7: it is 2 for n = 3 and 4, and n/2 for n >= 4."""
    value = NETWORKS["PSNN"].table_2["D"].value
    assert value is not None
    assert [value(Size(1 << n)) for n in (3, 4, 5, 6)] == [2, 2, 2.5, 3]


def test_looseness() -> None:
    assert (looseness(4, 2), looseness(4, 2, 1), looseness(4, 2, 0)) == (3, 4, 2)
    with pytest.raises(ValueError, match=r"^Alpha must be from 0 to 1, not 2$"):
        looseness(4, 2, 2)


def test_networks_that_are_not_the_papers() -> None:
    others = ("mesh k=4", "torus k=4x8", "kautz d=2 n=3", "chordal-ring nodes=16 chord=5")
    for words in (*others, "chordal-ring nodes=18 chords=2"):
        built = build(words, allow_deadlock=1)
        assert static_network(built.family, built.parameters) is None, words


def test_command(call: Call) -> None:
    outcome = call("measure", "psnn", "n=3", "--alpha", "1")
    assert (outcome.status, outcome.err) == (0, "")
    assert "(alpha 1)" in outcome.out
    assert "2 log N - 1 (Table A)" in outcome.out
    record = call("measure", "hypercube", "n=3", "--json").record
    assert record["fan_out"]["exact"] == len(record["fan_out"]["steps"]) == 3
    assert (record["bisection"]["exact"], record["stated_bisection"]) == (4, 4)
    assert {row["measure"] for row in record["formulas"]} == {"d", "F", "D", "L", "C", "LC"}
    refused = call("measure", "hypercube", "n=3", "--alpha", "2")
    assert (refused.status, refused.err) == (2, "multicube: Alpha must be from 0 to 1, not 2.0\n")
