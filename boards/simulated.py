# amaranth: UnusedElaboratable=no
"""A simulated board: its serial line is a pseudo-terminal."""

import os
import select
import sys
import threading
from types import TracebackType

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..hdl.fabric.cell import Cell, CellType
from ..hdl.fabric.fabric import Fabric
from ..hdl.fabric.pins import Pin
from ..hdl.support.pseudo_terminals import no_pseudo_terminals
from ..sim.engines.engine_selection import open_engines
from .computer_board import BoardDesign
from .uart import UARTReceiver, UARTTransmitter

__all__ = ["SimulatedBoard"]

_ROWS = 1024
_ROUND = 64
"""Simulated cycles between two polls of the line."""

_LONGEST_ROUND = 1 << 14

_ADAPTER = "serial_adapter"

_LOOK_SECONDS = 0.1
"""How long the board waits for bytes before it checks whether it is to be closed."""


class SerialAdapter(wiring.Component):
    """The far end of the board's line: it sends bytes, and stores received bytes in a ring.

    Parameters
    ----------
    divisor : int
        Clock cycles per bit.

    Members
    -------
    rx, tx : In(1), Out(1)
    i : In(stream.Signature(8))
        Bytes to be sent.
    count : Out(32)
        Number of bytes received: byte n is in row n modulo 1024.
    """

    def __init__(self, divisor: int) -> None:
        self.divisor = divisor
        super().__init__(
            {"rx": In(1), "tx": Out(1, init=1), "i": In(stream.Signature(8)), "count": Out(32)}
        )
        self.received = Memory(shape=8, depth=_ROWS, init=[])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UARTReceiver(self.divisor)
        m.submodules.transmitter = transmitter = UARTTransmitter(self.divisor)
        m.submodules.received = self.received
        write = self.received.write_port()
        wiring.connect(m, wiring.flipped(self.i), transmitter.i)
        m.d.comb += [
            self.tx.eq(transmitter.tx),
            receiver.rx.eq(self.rx),
            receiver.o.ready.eq(1),
            write.addr.eq(self.count),
            write.data.eq(receiver.o.payload),
            write.en.eq(receiver.o.valid),
        ]
        m.d.sync += self.count.eq(self.count + receiver.o.valid)
        return m


class SimulatedBoard:
    """A board in the simulator, and the pseudo-terminal that is its serial line.

    The bits on the line are simulated too. Time advances only while a command is executed. In a
    `with` block a thread serves the line.

    Parameters
    ----------
    board : BoardDesign
        The design on the board.
    engine : str
        One of `sim.engines.engine_selection.ENGINES`.

    Attributes
    ----------
    path : str
        Name of the pseudo-terminal.
    """

    def __init__(self, board: BoardDesign, *, engine: str = "auto") -> None:
        self._byte_cycles = 10 * board.divisor + 4
        (self._engine,) = open_engines(engine, [_with_adapter(board)])
        self._seen = 0
        self._master, self._slave, self.path = _serial_line()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self) -> None:
        """Answer until the board is closed."""
        while not self._closing.is_set():
            readable, _, _ = select.select([self._master], [], [], _LOOK_SECONDS)
            if readable:
                for byte in os.read(self._master, _ROWS):
                    self._send(byte)
                self._work()

    def _send(self, byte: int) -> None:
        self._engine.set("payload", byte)
        self._engine.set("valid", 1)
        self._engine.step(1)
        self._engine.set("valid", 0)
        self._engine.step(self._byte_cycles)

    def _work(self) -> None:
        """Step until the board waits for a byte, and forward its replies."""
        cycles = _ROUND
        while not self._engine.get(Pin(None, ("idle",))) and not self._closing.is_set():
            self._engine.step(cycles)
            # While the board sends nothing, the test bench is running.
            cycles = _ROUND if self._pass_on() else min(2 * cycles, _LONGEST_ROUND)
        # The adapter receives the last bit a little later.
        self._engine.step(self._byte_cycles)
        self._pass_on()

    def _pass_on(self) -> bool:
        """Forward new bytes from the board; return whether there were any."""
        count = self._engine.get(Pin(_ADAPTER, ("count",)))
        if count == self._seen:
            return False
        rows = self._engine.memory(_ADAPTER, "received")
        os.write(self._master, bytes(rows[each % _ROWS] for each in range(self._seen, count)))
        self._seen = count
        return True

    def close(self) -> None:
        """Stop serving, and close the pseudo-terminal."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        os.close(self._slave)
        os.close(self._master)
        self._engine.close()

    def __enter__(self) -> "SimulatedBoard":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _with_adapter(board: BoardDesign) -> Fabric:
    """A board with an adapter on its line."""
    fabric = Fabric({"valid": In(1), "payload": In(8), "idle": Out(1)})
    for cell in board.cells.values():
        fabric.place(cell)
    fabric.place(Cell(_ADAPTER, CellType(SerialAdapter, divisor=board.divisor)))
    line = {Pin(None, ("rx",)): Pin(_ADAPTER, ("tx",)), Pin(None, ("tx",)): Pin(_ADAPTER, ("rx",))}
    for receiver, driver in board.drivers.items():
        fabric.link(line.get(driver, driver), line.get(receiver, receiver))
    fabric.link(Pin(None, ("valid",)), Pin(_ADAPTER, ("i", "valid")))
    fabric.link(Pin(None, ("payload",)), Pin(_ADAPTER, ("i", "payload")))
    return fabric


def _serial_line() -> tuple[int, int, str]:
    """A new pseudo-terminal: its ends, and the name of the second one."""
    if sys.platform == "win32":
        raise no_pseudo_terminals("A simulated board")
    import tty

    master, slave = os.openpty()
    tty.setraw(slave)
    return master, slave, os.ttyname(slave)
