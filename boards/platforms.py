"""The boards that tops are made for: their features, and the parts of a test bench that fit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ..hdl.fabric.checks import check_integer, check_word
from ..hdl.fabric.errors import InvalidValue
from .bench_top import Instruments
from .protocol import BAUD

__all__ = ["BOARDS", "Board", "find_board"]


@dataclass(frozen=True)
class Board:
    """A board of amaranth-boards.

    Attributes
    ----------
    name : str
    module, platform : str
        Where amaranth-boards defines it.
    clock : int
        Clock of the board, in Hz.
    instruments : Instruments
        The instruments that fit beside a network of the intended size.
    divide : int
        The test bench's clock is the board's divided by this, by a PLL.
    uart : Mapping[str, Any], optional
        Pins of the serial line, if the board has no chip for it.
    tools : str
        `ecp5` or `ice40` for the open tools; empty for a vendor's tools, which need a plan.
    """

    name: str
    module: str
    platform: str
    clock: int
    instruments: Instruments = field(default_factory=Instruments)
    divide: int = 1
    uart: Mapping[str, Any] | None = None
    tools: str = "ecp5"

    def divisor(self, baud: int = BAUD) -> int:
        """Cycles of the test bench's clock per bit of the serial line.

        Raises
        ------
        ValueError
            If the clock is too slow, or the division is not within 2 %.
        """
        baud = check_integer("Baud", baud, 1)
        clock = self.clock / self.divide
        divisor = round(clock / baud) if baud < clock else 1
        if divisor < 4 or abs(clock / baud / divisor - 1) > 0.02:
            raise InvalidValue(
                f"Baud must divide {self.name}'s clock of {clock / 1e6:g} MHz, and be at most a "
                f"quarter of it, not {baud}"
            )
        return divisor

    def make(self) -> Any:
        """A new platform of amaranth-boards.

        Raises
        ------
        ValueError
            If amaranth-boards is not installed.
        """
        try:
            module = import_module(f"amaranth_boards.{self.module}")
        except ModuleNotFoundError:
            raise InvalidValue(
                "Boards need amaranth-boards: pip install 'multicube[boards]'"
            ) from None
        return getattr(module, self.platform)()


_SMALL = Instruments(2, 12, flows=False, network_latency=False, links=False, finite=False)
_LARGE = Instruments(16, 14, flows=False, network_latency=False, links=False, finite=False)
_WHOLE = Instruments(source_depth=64)

BOARDS = {
    board.name: board
    for board in (
        Board("ulx3s-85f", "ulx3s", "ULX3S_85F_Platform", 25_000_000, _LARGE),
        Board("ecpix5-85f", "ecpix5", "ECPIX585Platform", 100_000_000, _WHOLE, divide=4),
        Board(
            "orangecrab-85f",
            "orangecrab_r0_2",
            "OrangeCrabR0_2_85FPlatform",
            48_000_000,
            _WHOLE,
            uart={"rx": "0", "tx": "1", "conn": ("io", 0), "attrs": {"IO_TYPE": "LVCMOS33"}},
        ),
        Board("icebreaker", "icebreaker", "ICEBreakerPlatform", 12_000_000, _SMALL, tools="ice40"),
        Board(
            "ice40-hx8k-evn",
            "ice40_hx8k_b_evn",
            "ICE40HX8KBEVNPlatform",
            12_000_000,
            _SMALL,
            tools="ice40",
        ),
        Board("arty-a7-35", "arty_a7", "ArtyA7_35Platform", 100_000_000, _WHOLE, 4, tools=""),
    )
}


def find_board(name: str) -> Board:
    """The board with this name.

    Raises
    ------
    ValueError
        If there is no such board.
    """
    check_word("Board", name, BOARDS)
    return BOARDS[name]
