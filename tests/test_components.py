# amaranth: UnusedElaboratable=no
"""What every component must do, whatever it is for: a new one is tested from its row on."""

from pathlib import Path

import pytest
from components import KINDS, PARAMETERS, cell_type
from long_runs import long
from multicube.hdl import write_verilog
from multicube.hdl.fabric.errors import InvalidType, InvalidValue
from proof_table import NOT_PROVED
from random_modules import lock_step, results, side_by_side
from verilog_tools import assert_lint_free

SEED = 45
CELLS = [name for name in PARAMETERS if name not in ("ClockCrossing", "Traversal")]
"""Those that can be cells in one clock domain; the parameters of one can't be hashed."""

UNCHECKED = {
    *("LeastDelayDetour", "MaskGuard", "MemoryPartitionInterface", "PayloadPart", "Processor"),
    *("RandomDetour", "RouteTable", "Traversal", "WindowAges"),
}
"""Parts that only networks and benches make, with numbers that these have checked."""

SHAPES = {"key", "record", "reply", "shape", "word"}
INTEGERS = [
    (name, parameter)
    for name, given in PARAMETERS.items()
    for parameter, value in given.items()
    if type(value) is int and parameter not in SHAPES and name not in UNCHECKED
]


def test_every_component_has_a_row() -> None:
    """But for those that are only bases of others."""
    bases = {name for name in KINDS if "it has no hardware" in NOT_PROVED.get(name, "")}
    assert PARAMETERS.keys() == KINDS.keys() - bases


@pytest.mark.parametrize(("name", "parameter"), INTEGERS)
def test_refuses_what_is_no_number(name: str, parameter: str) -> None:
    """One line that ends with what was given: of another type, or below the range."""
    for value, error in (("2", InvalidType), (2.5, InvalidType), (-1, InvalidValue)):
        with pytest.raises(error) as refusal:
            KINDS[name](**{**PARAMETERS[name], parameter: value})
        said = str(refusal.value)
        assert "\n" not in said
        assert said.endswith(f"not {value!r}"), said


@pytest.mark.parametrize("part", [0, *map(long, range(1, 4))])
def test_engines_agree(part: int) -> None:
    """Random bits at all inputs: every output of every component, in every cycle, on both."""
    fabric = side_by_side([cell_type(name) for name in CELLS[part::4]])
    lock_step(fabric, results(fabric), SEED, 20)


@pytest.mark.long
def test_verilog(tmp_path: Path) -> None:
    """The linter has nothing to say, though a port of `OutputOwners` is a keyword, `inside`."""
    path = tmp_path / "network.v"
    write_verilog(side_by_side([cell_type(name) for name in CELLS]), path)
    assert_lint_free([path])
