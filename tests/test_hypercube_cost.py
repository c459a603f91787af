# amaranth: UnusedElaboratable=no
"""What nodes of hypercubes have to store, in the netlist, by the example and in the document."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from modules import load_example

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "design" / "hypercube-cost.md"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_example("hypercube_cost")


@pytest.mark.long
def test_netlists_have_the_registers_of_the_formula(
    example: ModuleType, netlist_storage: Callable[..., dict[str, tuple]]
) -> None:
    """No bit more, and none less."""
    names = [
        "parallel",
        "dimension, fixed",
        "serial",
        "dimension, serial",
        "buffers 1",
        "processors 2",
    ]
    parts = {name: example.PARTS[name]() for name in names}
    found = netlist_storage({name: part.type.build() for name, part in parts.items()})
    assert found == {name: tuple(example.storage(part)) for name, part in parts.items()}


def test_registers_in_the_document(example: ModuleType) -> None:
    """The table names each part, and says of each node what it has to store."""
    header, *rows = re.findall(r"^\| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    column = header.split(" | ").index("stored")
    table = {cells[0]: cells for row in rows if (cells := row.split(" | "))[0] in example.PARTS}
    assert list(table) == list(example.PARTS)
    for name, part in example.PARTS.items():
        stored = example.storage(part())
        if stored is not None:
            assert int(table[name][column].replace(",", "")) == stored.registers, name
