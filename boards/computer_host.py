"""Programs on a parallel computer on a board, by its serial line."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..hdl.computer.address_map import CONSOLE_ROWS
from ..hdl.fabric.checks import check_integer
from ..hdl.fabric.errors import InvalidValue
from ..hdl.networks.network import Network
from ..sim.computer.compilation import compile_program
from ..sim.computer.computer_run import CoresRun, computer_of, cores_run
from ..sim.computer.console import Console
from ..sim.computer.defaults import STACK_BYTES
from ..sim.computer.program_faults import fault_of, not_ended
from ..sim.computer.program_image import ProgramImage
from .computer_board import CONSOLE, ComputerBoard
from .host import BoardReader, Line

__all__ = ["ComputerEngine", "Loaded", "computer_board", "read_program"]


class Loaded(NamedTuple):
    """A board with a parallel computer, and the program that is in it."""

    board: ComputerBoard
    image: ProgramImage


def computer_board(
    program: str | Path,
    network: Network,
    *,
    divisor: int,
    stack: int = STACK_BYTES,
    defines: Sequence[str] = (),
) -> Loaded:
    """The board whose cores run a program in C. Parameters as of `run_computer`."""
    image = compile_program(program, defines=defines, stack=stack)
    computer = computer_of(network, image, stack, readable=True)
    return Loaded(ComputerBoard(computer, divisor=divisor), image)


class ComputerEngine(BoardReader[ComputerBoard]):
    """A parallel computer on a board, which runs by itself: what its nodes say can be read.

    Parameters
    ----------
    line : Line
    board : ComputerBoard
        The design on the board.

    Attributes
    ----------
    cycle : int
        Cycles that the board had run when it was last asked.

    Raises
    ------
    BoardError
        If the board does not answer or holds another design.
    """

    def __init__(self, line: Line, board: ComputerBoard) -> None:
        super().__init__(line, board, "a computer other than this one with its program")

    def refresh(self) -> None:
        """Read anew from now on."""
        self._bytes.clear()
        self.cycle = self._now()

    def memory(self, cell: str, name: str, run: int = 0) -> list[int]:
        """The rows of a node's console that it has written."""
        address, size = self.board.places[cell, CONSOLE]
        (rows,) = self.read([cell], "printed")
        read = self._read(range(address, address + size * min(rows, CONSOLE_ROWS)))
        return [int.from_bytes(read[at : at + size], "little") for at in range(0, len(read), size)]


def read_program(line: Line, loaded: Loaded, *, cycles: int) -> CoresRun:
    """Wait until all cores of a board have ended, and read what they say.

    Raises
    ------
    ValueError
        If a core printed more words than a board keeps, or `cycles` is not positive.
    ProgramFault
        If a core came to an exception, or the program has not ended after so many cycles.
    """
    cycles = check_integer("Cycles", cycles, 1)
    board, image = loaded
    nodes, console = board.computer.nodes, Console(board.computer.nodes)
    with ComputerEngine(line, board) as engine:
        while True:
            engine.refresh()
            if (fault := fault_of(engine, console, image)) is not None:
                raise fault
            if all(engine.read(nodes, "done")):
                _check_printed(engine.read(nodes, "printed"))
                console.read(engine)
                return cores_run(engine, board.computer, console)
            if engine.cycle >= cycles:
                raise not_ended(engine, console, image)


def _check_printed(printed: Sequence[int]) -> None:
    for core, words in enumerate(printed):
        if words > CONSOLE_ROWS:
            raise InvalidValue(
                f"Core {core} printed {words} words, but a board keeps {CONSOLE_ROWS}"
            )
