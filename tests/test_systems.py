"""The words of docs/systems.md build what the papers name; or there is a reason why not."""

import re
from typing import NamedTuple

import pytest
from multicube.hdl import FAMILIES, build
from multicube.hdl.catalogue.catalogue import find
from page_code import ROOT


class Row(NamedTuple):
    """A row of a table: what is named and where, the words that build it, and what is said."""

    named: str
    place: str
    words: str
    said: str


ROWS = [
    Row(*(cell.strip() for cell in line.strip("|").replace("\\|", "/").split("|")))
    for line in (ROOT / "docs" / "systems.md").read_text().splitlines()
    if re.match(r"\| (?!named|-)", line)
]
BUILT = {row.words.strip("`"): row.said for row in ROWS if row.words.startswith("`")}


def of_the_catalogue(words: str) -> str:
    """What the catalogue says of the values that are chosen; of the network, if these are only
    numbers."""
    family = find(words.split()[0])
    known = {about.name: about for about in family.parameters}
    meanings, numbers = [], []
    for word in words.split()[1:]:
        name, value = word.split("=", 1)
        about = known[name]
        if value in about.meanings:
            meanings.append(about.meanings[value].partition(" (takes ")[0])
        elif about.description.startswith("1: "):
            numbers.append(about.description.removeprefix("1: "))
        elif about.default in (0, 1):
            numbers.append(f"{value} {re.split('[:,]', about.description)[0]}")
    return "; ".join([*(meanings or [family.description]), *numbers])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("words", BUILT)
def test_words_build_a_network(words: str) -> None:
    """And the page says of it what the catalogue says."""
    assert build(words).family == find(words.split()[0]).name
    assert BUILT[words] == of_the_catalogue(words)


def test_all_else_has_a_reason() -> None:
    assert all(row.said.startswith("not built: ") for row in ROWS if not row.words)
    assert all(row.named and row.place for row in ROWS)


def test_all_machines_are_there() -> None:
    presets = {family.name for family in FAMILIES.values() if family.preset is not None}
    assert presets <= {words.split()[0] for words in BUILT}
