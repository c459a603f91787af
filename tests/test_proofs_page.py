"""The page of proofs says what the tests prove, of every component."""

import math
from pathlib import Path

import proof_table
import pytest
from claims import PROVED
from proof_table import NOT_PROVED, PAGE, PROOFS, components, load, page, proves


@pytest.fixture(scope="module", autouse=True)
def _tests() -> None:
    load()


def test_the_page_is_that_of_the_tests() -> None:
    """If not: `python tests/kit/proof_table.py`."""
    assert PAGE.read_text() == page()


def test_every_component_has_a_row() -> None:
    proved = {part.__name__ for proof in PROOFS.values() for part in proof.components}
    known = [part.__name__ for part in components()]
    assert len(known) == len(set(known)) > 90
    assert [name for name in known if name not in proved and name not in NOT_PROVED] == []
    assert [name for name in (*proved, *NOT_PROVED) if name not in known] == []
    assert all(NOT_PROVED.values())


def test_most_proofs_are_for_ever() -> None:
    """And what is not, is on the page with its number of cycles."""
    bounded = [proof for proof in PROOFS.values() if not math.isinf(proof.cycles)]
    assert len(bounded) < len(PROOFS) / 10
    for proof in bounded:
        assert f" {proof.cycles} cycles " in page()


def test_each_proof_exists() -> None:
    for proof in PROOFS.values():
        file, _, test = proof.test.partition("::")
        assert f"\ndef {test}(" in Path(proof_table.ROOT, "tests", file).read_text()


@pytest.mark.parametrize(
    ("cycles", "found", "message"),
    [
        (math.inf, [math.inf, 8], "of 8 cycles, not inf"),
        (8, [7], "of 7 cycles, not 8"),
        (8, [], "proves nothing"),
    ],
)
def test_a_test_that_proves_less_than_it_says_fails(
    monkeypatch: pytest.MonkeyPatch, cycles: float, found: list[float], message: str
) -> None:
    monkeypatch.setattr(proof_table, "PROOFS", {})

    @proves(says="it", sizes="one", cycles=cycles)
    def weak() -> None:
        PROVED.extend(found)

    with pytest.raises(AssertionError, match=message):
        weak()
