"""The host's end of a serial line: a board as another engine of the simulator."""

import time
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

from ..hdl.bench import Bench
from ..hdl.fabric.cell import Cell
from ..hdl.fabric.checks import check_integer
from ..hdl.fabric.errors import InvalidValue, MulticubeError
from ..hdl.fabric.pins import Pin
from .bench_top import PRIVATE_STRAPS, BoardBench
from .command_port import ADDRESS_BITS, WORD_BITS
from .computer_board import ComputerBoard
from .protocol import (
    CRC_BYTES,
    FRAME_BYTES,
    IDENTITY_BYTES,
    STATUS_BYTES,
    Command,
    Refusal,
    crc,
    frame,
)

__all__ = ["BoardEngine", "BoardError", "BoardReader", "Line", "open_line"]

Design = TypeVar("Design", BoardBench, ComputerBoard)

_ATTEMPTS = 3
_QUIET = 0.1
"""Seconds without a byte after which a wrong reply counts as complete."""

_LONGEST_READ = 1024
"""Bytes per reply: longer ones would take too long."""

_PATIENCE = 8 * _LONGEST_READ
"""Most bytes of a wrong reply: more than any board of ours has to say, however slowly it comes."""

_SETTLE = 5000
"""Cycles after which a network that receives no packets is empty."""

_FIRST_PIECE = 1000
"""Cycles of the first run command; they grow while commands take less than `_SHORT` seconds."""

_SHORT = 0.1


class BoardError(MulticubeError, ValueError):
    """A board that does not answer, or is not the requested one.

    Examples
    --------
    >>> from multicube.boards.host import open_line
    >>> open_line("/dev/none", baud=115200)
    Traceback (most recent call last):
    ...
    multicube.boards.host.BoardError: Port /dev/none can't be opened: ...
    """


class Line:
    """Commands over a serial line, each repeated until there is a valid reply.

    Parameters
    ----------
    port : serial.Serial
        With a read time-out.
    """

    def __init__(self, port: Any) -> None:
        self.port = port
        self._timeout = port.timeout

    def ask(self, command: int, argument: int = 0, size: int = 0) -> bytes:
        """The `size` bytes of the board's reply to a command.

        Raises
        ------
        BoardError
            If it does not reply, or does not know the command.
        """
        said = b""
        for _ in range(_ATTEMPTS):
            self.port.write(frame(command, argument))
            said = self.port.read(1 + CRC_BYTES)  # refusals have no data
            if said[:1] == bytes([command]):
                said += self.port.read(size)
                body, check = said[:-CRC_BYTES], said[-CRC_BYTES:]
                if len(body) == 1 + size and check == crc(body).to_bytes(CRC_BYTES, "big"):
                    return body[1:]
            elif said[:1] == bytes([Refusal.UNKNOWN]):
                raise BoardError(f"The board does not know the command {command:#04x}")
            self._flush()
        if said:
            raise BoardError(
                f"No valid reply from {self.port.port}: was the board built by multicube?"
            )
        raise BoardError(f"No reply from {self.port.port}: is the board programmed and connected?")

    def _flush(self) -> None:
        """Complete an unfinished frame, so that the board waits for a new one."""
        self.port.write(bytes(FRAME_BYTES))
        self.port.timeout = _QUIET
        count = 0
        while said := self.port.read(_LONGEST_READ):
            count += len(said)
            if count > _PATIENCE:
                raise BoardError(
                    f"Port {self.port.port} never stops sending: was the board built by multicube?"
                )
        self.port.timeout = self._timeout

    def close(self) -> None:
        self.port.close()


def open_line(name: str, *, baud: int, timeout: float = 5) -> Line:
    """The line at a serial port.

    Parameters
    ----------
    name : str
        The name of the port, such as /dev/ttyUSB0.
    baud : int
        The rate of the line in baud.
    timeout : float
        Seconds to wait for an answer.

    Returns
    -------
    Line
        The open line.

    Raises
    ------
    BoardError
        If the port does not exist, or pyserial is missing.
    ValueError
        If the rate is not positive.
    """
    baud = check_integer("Baud", baud, 1)  # 0 hangs up
    try:
        import serial
    except ImportError:
        raise BoardError("Serial ports need pyserial: pip install 'multicube[boards]'") from None
    try:
        port = serial.Serial(name, baud, timeout=timeout, write_timeout=timeout, exclusive=True)
        return Line(port)
    except (serial.SerialException, ValueError, OSError, OverflowError) as error:
        raise BoardError(f"Port {name} can't be opened: {error}") from None


class BoardReader(Generic[Design]):
    """A design on a board whose outputs can be read.

    Parameters
    ----------
    line : Line
        The serial line to the board.
    board
        The design.
    other : str
        What the board may hold in its place.

    Raises
    ------
    BoardError
        If the board does not answer or holds another design.
    """

    name = "board"
    runs = 1

    def __init__(self, line: Line, board: Design, other: str) -> None:
        self.line = line
        self.board: Design = board
        self.cycle = 0
        self._bytes: dict[range, bytes] = {}
        if self._status()[:IDENTITY_BYTES] != board.identity:
            raise BoardError(
                f"The board holds {other}, or one built with other parameters or options, "
                "or by another version of multicube"
            )

    def _status(self) -> bytes:
        return self.line.ask(Command.STATUS, size=STATUS_BYTES)

    def _now(self) -> int:
        return int.from_bytes(self._status()[IDENTITY_BYTES:], "little")

    def get(self, pin: Pin, run: int = 0) -> int:
        """A counter of the test bench.

        Raises
        ------
        ValueError
            If the board can't read it.
        """
        counter = pin.cell, pin.path[0]
        if counter not in self.board.places:
            raise InvalidValue(f"Pin {pin} can't be read from this board")
        address, size = self.board.places[counter]
        block = next(block for block in self.board.blocks if address in block)
        if block not in self._bytes:
            self._bytes[block] = self._read(block)
        start = address - block.start
        return int.from_bytes(self._bytes[block][start : start + size], "little")

    def _read(self, block: range) -> bytes:
        parts = []
        for start in block[::_LONGEST_READ]:
            size = min(_LONGEST_READ, block.stop - start)
            parts.append(self.line.ask(Command.READ, start | size << ADDRESS_BITS, size))
        return b"".join(parts)

    def read(self, cells: Sequence[str], port: str, run: int = 0) -> list[int]:
        """The values of one counter in each of several cells."""
        return [self.get(Pin(cell, (port,))) for cell in cells]

    def close(self) -> None:
        """Close the line."""
        self.line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class BoardEngine(BoardReader[BoardBench]):
    """A test bench on a board. Implements `Engine` with one run.

    The test bench is paused during reading and setting: the values read are those that any engine
    of the simulator would show in this cycle.

    Parameters
    ----------
    line : Line
        The serial line to the board.
    board : BoardBench
        The design on the board.
    bench : Bench
        The test bench of the run: its straps are loaded into the board's sources.

    Raises
    ------
    BoardError
        If the board does not answer or holds another design.
    ValueError
        If the test bench is not for this board.
    """

    def __init__(self, line: Line, board: BoardBench, bench: Bench) -> None:
        super().__init__(line, board, f"a network other than {board.network.family}")
        self._gates = {"send": 0, "measure": 0}
        self._piece = _FIRST_PIECE
        if now := self._now():
            # Packets of an earlier run must arrive first, because memories can't be cleared.
            self._gate()
            line.ask(Command.RUN, (now + _SETTLE) % 2**32)
        self._load(bench)

    def _load(self, bench: Bench) -> None:
        """Load the straps into all sources, and the seed and favourite into each."""
        if bench.cells[bench.sources[0]].straps.get("quota") and "quota" not in self.board.straps:
            raise InvalidValue(
                "Traffic with a fixed number of packets needs a board built for it (finite)"
            )
        sources = [bench.cells[name] for name in bench.sources]
        if (
            any(cell.contents or not self._is_as_built(cell) for cell in sources)
            or len({cell.straps["load"] for cell in sources}) > 1
        ):
            raise InvalidValue(
                "Traffic on a board must have the same load at all terminals, no bursts, no "
                "interval, and no matrix"
            )
        # Each is a cycle of the reset.
        for _ in range(self.board.network.reset_cycles):
            self.line.ask(Command.CLEAR)
        self._gate()
        for terminal, name in enumerate(bench.sources):
            straps = bench.cells[name].straps
            for strap, words in self.board.straps.items():
                if terminal == 0 or strap in PRIVATE_STRAPS:
                    for index, word in enumerate(words):
                        part = straps[strap] >> WORD_BITS * index & (1 << WORD_BITS) - 1
                        self.line.ask(Command.STRAP + word, part)
            self.line.ask(Command.LOAD, terminal)

    def _is_as_built(self, source: Cell) -> bool:
        """Whether the straps of a source that the board can't change are those of the board."""
        fixed = {name: x for name, x in source.straps.items() if name not in self.board.straps}
        return fixed == dict(self.board.bench.cells[source.name].straps)

    def _gate(self) -> None:
        self.line.ask(Command.GATES, self._gates["send"] | self._gates["measure"] << 1)

    def step(self, cycles: int) -> None:
        """Run the test bench for some cycles.

        Raises
        ------
        ValueError
            If the run becomes longer than the board can count.
        """
        cycles = check_integer("Cycles", cycles, 0)
        longest = 2**self.board.instruments.counter_bits - 1
        target = self.cycle + cycles
        if target > longest:
            raise InvalidValue(f"A run on this board has at most {longest} cycles, drain included")
        self._bytes.clear()
        while self.cycle < target:
            # The board replies when it is done: run in pieces, so that Ctrl-C and time-outs work.
            start, piece = time.perf_counter(), min(self._piece, target - self.cycle)
            self.line.ask(Command.RUN, self.cycle + piece)
            self.cycle += piece
            if time.perf_counter() - start < _SHORT:
                self._piece = max(self._piece, 2 * piece)
        now = self._now()
        if now != self.cycle:
            raise BoardError(f"The board has run {now} cycles instead of {self.cycle}")

    def set(self, port: str, value: int, run: int | None = None) -> None:
        """Set `send` or `measure`."""
        self._gates[port] = value
        self._gate()

    def memory(self, cell: str, name: str, run: int = 0) -> list[int]:
        """Not available on a board."""
        raise InvalidValue(f"Memory {name} can't be read from a board")

    def memory_sum(self, cells: Sequence[str], name: str, run: int = 0) -> list[int]:
        """A histogram of two bins: zero cycles, which is empty, and all other latencies."""
        return [0, sum(self.read(cells, "timed"))]
