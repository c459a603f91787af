"""How exported Verilog describes what differs between targets: memories, resets, first values."""

from dataclasses import dataclass

from ..fabric.checks import check_flag, check_word

__all__ = ["MEMORIES", "RESETS", "Style"]

MEMORIES = {
    "inline": "arrays of registers in the modules of cells",
    "modules": "modules of their own, one for each number and kind of ports",
    "gated": "the same, with a gate of the clock for each row",
    "external": "instances of such modules, which are yours",
}
"""What memories can be, in words."""

RESETS = {"sync": "synchronous", "async-low": "asynchronous, active low"}
"""What resets can be, in words."""


@dataclass(frozen=True)
class Style:
    """What differs between targets in exported Verilog.

    Parameters
    ----------
    memories : str
        One of `MEMORIES`. All but "inline" are modules of their own if they can be written; tables,
        memories of one row, and those with contents stay in the modules of cells.
    reset : str
        One of `RESETS`.
    initial : bool
        Whether registers and memories have values before the first reset, by `initial`, as in an
        FPGA. Without it, tables are logic.
    """

    memories: str = "inline"
    reset: str = "sync"
    initial: bool = True

    def __post_init__(self) -> None:
        check_word("Memories", self.memories, MEMORIES)
        check_word("Reset", self.reset, RESETS)
        check_flag("Initial", self.initial)

    @property
    def reset_name(self) -> str:
        """Name of the reset in the modules of cells."""
        return "rst" if self.reset == "sync" else "rst_n"
