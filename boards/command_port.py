"""The board's end of the protocol: it executes commands, and so controls a test bench."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.crc.catalog import CRC16_IBM_3740
from amaranth.lib.wiring import In, Out

from ..hdl.fabric.checks import check_integer
from .protocol import CRC_BYTES, IDENTITY_BYTES, STATUS_BYTES, SYNC, Command, Refusal
from .uart import UARTReceiver, UARTTransmitter

__all__ = ["ADDRESS_BITS", "WORD_BITS", "CommandPort", "strap_words"]

WORD_BITS = 32
ADDRESS_BITS = 16
COUNTER_BITS = 32
_BODY_BYTES = 5


def strap_words(straps: dict[str, int]) -> dict[str, range]:
    """The words of the board's straps that hold each strap, by its width in bits."""
    words, start = {}, 0
    for name, width in straps.items():
        words[name] = range(start, start - -width // WORD_BITS)
        start = words[name].stop
    return words


class CommandPort(wiring.Component):
    """Receives commands from a serial line, runs a test bench, and reads its counters.

    While the test bench is not running it is paused, so reading and loading take none of its
    cycles. One command is executed at a time; bytes that arrive while the reply is sent are lost.

    Parameters
    ----------
    divisor : int
        Clock cycles per bit of the line.
    straps : tuple[tuple[str, int], ...]
        Names and widths in bits of the inputs of sources that the host sets.
    identity : int
        64 bits that tell the host what is on the board.
    latency : int
        Cycles from `address` to `value`.

    Members
    -------
    rx : In(1)
    tx : Out(1)
    idle : Out(1)
        The port waits for a byte, and none is being sent.
    run : Out(1)
        The test bench advances by one cycle. From a register.
    begun : Out(1)
        The test bench has run a cycle since it was cleared.
    clear : Out(1)
        Parts of the test bench that are enabled go to their reset state.
    load : Out(1)
        The source whose number is `address` is enabled for one cycle.
    send, measure : Out(1)
        Inputs of the test bench.
    address : Out(16)
        Number of the source to load, or address of the byte to read.
    chain : Out(8)
        Zero: the start of the chain of stations.
    value : In(8)
        The byte that was read, from the end of the chain.
    now : In(32)
        Number of cycles that the test bench has run.
    """

    def __init__(
        self, *, divisor: int, straps: tuple[tuple[str, int], ...], identity: int, latency: int
    ) -> None:
        identity = check_integer("Identity", identity, 0, 2 ** (8 * IDENTITY_BYTES) - 1)
        latency = check_integer("Latency", latency, 0)
        self.divisor = divisor
        self.straps = dict(straps)
        self.identity = identity
        self.latency = latency
        super().__init__(
            {
                "rx": In(1),
                "tx": Out(1, init=1),
                "idle": Out(1),
                "run": Out(1),
                "begun": Out(1),
                "clear": Out(1),
                "load": Out(1),
                "send": Out(1),
                "measure": Out(1),
                "address": Out(ADDRESS_BITS),
                "chain": Out(8),
                "value": In(8),
                "now": In(32),
                **{f"strap_{name}": Out(width) for name, width in straps},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UARTReceiver(self.divisor)
        m.submodules.transmitter = transmitter = UARTTransmitter(self.divisor)
        m.submodules.crc = crc = CRC16_IBM_3740(data_width=8).create()
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]
        byte, out = receiver.o.payload, transmitter.i

        frame = Signal(8 * _BODY_BYTES)
        code, argument = frame[:8], frame[8:]
        left = Signal(range(max(STATUS_BYTES, _BODY_BYTES + CRC_BYTES)))
        reply = Signal(8)
        count = Signal(16)
        steps = Signal(COUNTER_BITS)
        wait = Signal(range(self.latency + 1))
        status = Cat(Const(self.identity, 8 * IDENTITY_BYTES), self.now)
        position = Signal(range(STATUS_BYTES))
        m.d.comb += position.eq(STATUS_BYTES - 1 - left)

        m.d.sync += [self.clear.eq(0), self.load.eq(0)]
        with m.If(self.run):
            m.d.sync += self.begun.eq(1)

        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += [receiver.o.ready.eq(1), crc.start.eq(1)]
                m.d.sync += left.eq(_BODY_BYTES + CRC_BYTES - 1)
                with m.If(receiver.o.valid & (byte == SYNC)):
                    m.next = "FRAME"
            with m.State("FRAME"):
                m.d.comb += [receiver.o.ready.eq(1), crc.data.eq(byte)]
                with m.If(receiver.o.valid):
                    m.d.comb += crc.valid.eq(1)
                    m.d.sync += left.eq(left - 1)
                    with m.If(left >= CRC_BYTES):
                        m.d.sync += frame.eq(Cat(frame[8:], byte))
                    with m.If(left == 0):
                        m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += crc.start.eq(1)
                m.d.sync += [reply.eq(code), count.eq(0)]
                m.next = "CODE"
                # A message followed by its own CRC has the CRC 0.
                with m.If(crc.crc != 0):
                    m.d.sync += reply.eq(Refusal.CHECKSUM)
                with m.Else():
                    self._decode(m, code, argument, reply, steps, count)
            with m.State("RUN"):
                m.d.sync += [self.run.eq(1), steps.eq(steps - 1)]
                with m.If(steps == 0):
                    m.d.sync += self.run.eq(0)
                    m.next = "CODE"
            with m.State("CLEAR"):
                m.d.sync += [self.run.eq(0), self.begun.eq(0)]
                m.next = "CODE"
            with m.State("LOAD"):
                m.d.sync += self.load.eq(1)
                m.next = "CODE"
            with m.State("CODE"):
                m.d.comb += [out.valid.eq(1), out.payload.eq(reply)]
                m.d.sync += [left.eq(STATUS_BYTES - 1), wait.eq(self.latency)]
                with m.If(out.ready):
                    m.next = "CRC_HIGH"
                    with m.If(reply == Command.STATUS):
                        m.next = "STATUS"
                    with m.Elif(count != 0):
                        m.next = "WAIT"
            with m.State("STATUS"):
                m.d.comb += [out.valid.eq(1), out.payload.eq(status.word_select(position, 8))]
                with m.If(out.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 0):
                        m.next = "CRC_HIGH"
            with m.State("WAIT"):
                m.d.sync += wait.eq(wait - 1)
                with m.If(wait == 0):
                    m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += [out.valid.eq(1), out.payload.eq(self.value)]
                m.d.sync += wait.eq(self.latency)
                with m.If(out.ready):
                    m.d.sync += [self.address.eq(self.address + 1), count.eq(count - 1)]
                    m.next = "WAIT"
                    with m.If(count == 1):
                        m.next = "CRC_HIGH"
            with m.State("CRC_HIGH"):
                m.d.comb += [out.valid.eq(1), out.payload.eq(crc.crc[8:])]
                with m.If(out.ready):
                    m.next = "CRC_LOW"
            with m.State("CRC_LOW"):
                m.d.comb += [out.valid.eq(1), out.payload.eq(crc.crc[:8])]
                with m.If(out.ready):
                    m.next = "IDLE"
        listening = fsm.ongoing("IDLE") | fsm.ongoing("FRAME")
        m.d.comb += self.idle.eq(listening & out.ready)
        for state in ("CODE", "STATUS", "DATA"):
            with m.If(fsm.ongoing(state)):
                m.d.comb += [crc.data.eq(out.payload), crc.valid.eq(out.ready)]
        return m

    def _decode(
        self, m: Module, code: Value, argument: Value, reply: Signal, steps: Signal, count: Signal
    ) -> None:
        """Execute a valid frame; the next state is CODE unless the command sets another."""
        words = strap_words(self.straps)
        with m.Switch(code):
            with m.Case(Command.STATUS):
                pass
            with m.Case(Command.CLEAR):
                m.d.sync += [self.run.eq(1), self.clear.eq(1)]
                m.next = "CLEAR"
            with m.Case(Command.GATES):
                m.d.sync += Cat(self.send, self.measure).eq(argument)
            with m.Case(Command.LOAD):
                # Cleared first, then enabled for one cycle, so that a source may be loaded again.
                m.d.sync += [self.address.eq(argument), self.clear.eq(1), self.load.eq(1)]
                m.next = "LOAD"
            with m.Case(Command.RUN):
                # A cycle that is more than half of all ahead is one that is past.
                ahead = (argument - self.now)[:COUNTER_BITS]
                with m.If(~ahead[-1]):
                    m.d.sync += steps.eq(ahead)
                    m.next = "RUN"
            with m.Case(Command.READ):
                m.d.sync += [self.address.eq(argument), count.eq(argument[ADDRESS_BITS:])]
            for name, numbers in words.items():
                strap = getattr(self, f"strap_{name}")
                for index, number in enumerate(numbers):
                    with m.Case(Command.STRAP + number):
                        part = strap[index * WORD_BITS : (index + 1) * WORD_BITS]
                        m.d.sync += part.eq(argument)
            with m.Default():
                m.d.sync += reply.eq(Refusal.UNKNOWN)
