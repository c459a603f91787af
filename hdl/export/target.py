"""What exported Verilog is made for: tables of four or six inputs, or gates."""

from dataclasses import dataclass

from ..fabric.checks import check_word
from ..primitives.multiplexer import (
    CodedMultiplexer,
    MultiplexerForm,
    QuickMultiplexer,
    TreeMultiplexer,
)

__all__ = ["TARGETS", "Target", "find_target"]


@dataclass(frozen=True)
class Target:
    """What Verilog is made for.

    Attributes
    ----------
    name : str
    description : str
        For the header of a file.
    multiplexer : MultiplexerForm or None
        The module that chooses among several words; None to leave it to the tools.
    quick : type or None
        The same, where a short path is worth more tables.
    """

    name: str
    description: str
    multiplexer: MultiplexerForm | None
    quick: type[QuickMultiplexer] | None = None


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target(
            "lut4",
            "tables of 4 inputs, such as ECP5, iCE40 and Gowin",
            CodedMultiplexer,
            QuickMultiplexer,
        ),
        Target("lut6", "tables of 6 inputs, such as 7-series and Cyclone V", TreeMultiplexer),
        Target("asic", "standard cells", None),
    )
}


def find_target(name: str) -> Target:
    """The target with this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    check_word("Target", name, TARGETS)
    return TARGETS[name]
