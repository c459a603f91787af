"""Proves or refutes claims in a Verilog module, by Yosys and ABC."""

import math
from contextlib import suppress

from ...hdl.fabric.errors import InvalidValue, MulticubeError
from ...hdl.support.children import scratch_folder
from ..synthesis.tools import ToolTimeout, run_yosys

__all__ = [
    "GATES",
    "INDUCTION",
    "SCRIPTS",
    "SEARCH",
    "Unproved",
    "prove_for_ever",
    "prove_inductive",
    "search_files",
]

GATES = """
prep -flatten -top {top}
memory_map
async2sync
chformal -lower
opt -full
dffunmap
"""
"""The commands of Yosys that all proofs begin with: a module with claims as gates."""

INDUCTION = """
simplemap
opt_clean
select -assert-min 1 t:$assert
sat -tempinduct -maxsteps {steps} -prove-asserts -set-assumes -verify
"""
"""Then those of a proof by induction."""

SEARCH = """
select -assert-min 1 t:$assert
setundef -undriven -anyseq
techmap
simplemap
aigmap
opt_clean
delete -output o:*
write_aiger -zinit -I -B top.aig
design -reset
read_rtlil other.il
abc -script prove.abc
"""
"""Or those of a search by ABC, with the files of `search_files`."""

# A register that two blocks assign may have any value: what is claimed of it holds for nothing.
_READ = (
    "read_verilog -formal -sv top.v\nhierarchy -top {top}\nproc\ncheck -assert"
    + GATES
    + "setundef -init -zero\n"
)

# ABC is part of Yosys, which calls it for a module of its own; ABC's script reads the other one.
_OTHER = """
module \\other
wire input 1 \\a
wire input 2 \\b
wire output 3 \\o
cell $_AND_ \\and
connect \\A \\a
connect \\B \\b
connect \\Y \\o
end
end
"""

_ABC = """
read_aiger top.aig
fold
strash
{command}
write_status status.txt
"""

SCRIPTS = (_READ, INDUCTION, SEARCH, _OTHER, _ABC)
"""What the tools have to do, whatever the claims are."""


def search_files(command: str) -> dict[str, str]:
    """The files beside a search with a command of ABC, whose result is then in `status.txt`."""
    return {"other.il": _OTHER, "prove.abc": _ABC.format(command=command)}


class Unproved(MulticubeError):
    """Claims do not hold, or no proof was found in time."""


def prove_for_ever(text: str, top: str, limit: float) -> float:
    """Prove claims in all runs from reset (property directed reachability); returns infinity."""
    return _search(text, top, f"pdr -T {limit:.0f}", limit)


def _search(text: str, top: str, command: str, limit: float) -> float:
    with scratch_folder() as folder:
        (folder / "top.v").write_text(text, "utf-8")
        for name, content in search_files(command).items():
            (folder / name).write_text(content, "utf-8")
        status = folder / "status.txt"
        # Yosys misses the gates that ABC would give back, and fails.
        with suppress(InvalidValue):
            run_yosys((_READ + SEARCH).format(top=top), folder, limit + 60)
        if not status.exists():
            raise Unproved("Yosys can't read the claims")
        word, cycle, *_ = status.read_text("utf-8").split()
    if word == "snl_UNSAT":
        return math.inf
    if word == "snl_SAT":
        raise Unproved(f"a run of {int(cycle) + 1} cycles breaks a claim")
    raise Unproved(f"no proof was found in {limit:g} s")


def _induction(top: str, steps: int) -> str:
    return (_READ + "setundef -undriven -anyseq" + INDUCTION).format(top=top, steps=steps)


def prove_inductive(text: str, top: str, steps: int, limit: float) -> float:
    """Prove claims by induction over some cycles; returns infinity."""
    with scratch_folder() as folder:
        (folder / "top.v").write_text(text, "utf-8")
        try:
            run_yosys(_induction(top, steps), folder, limit)
        except ToolTimeout:
            raise Unproved(f"no proof was found in {limit:g} s") from None
        except MulticubeError as error:
            if "proof did fail" in str(error).lower() or "didn't" in str(error):
                raise Unproved("a claim is not inductive") from None
            raise
    return math.inf
