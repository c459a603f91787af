# amaranth: UnusedElaboratable=no
"""A node of a parallel computer: a core, its copy of the program, its own memory, its devices."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer, check_power_of_two
from ..links.message_ports import MessagePorts
from ..links.wishbone_bus import Wishbone
from .address_map import CONSOLE_ROWS, DEVICES, LOCAL, PROGRAM, SHARED_BITS, WINDOW_BITS, Device
from .minerva_core import Core, minerva

__all__ = ["COUNTERS", "ComputerNode", "console_layout"]

COUNTERS = (
    "instructions",
    "wait_fetch",
    "wait_local",
    "wait_load",
    "wait_store",
    "wait_update",
    "wait_message",
)
"""Counts of a node: instructions that it ended, and cycles in which it waited, by cause."""

_ADDRESS_BITS = 30
"""Of a bus whose addresses count words."""


def console_layout() -> data.StructLayout:
    """A row of the console: what was printed, whether as a number, and in which cycle."""
    return data.StructLayout({"value": 32, "number": 1, "cycle": 31})


class ComputerNode(wiring.Component):
    """A core that runs a program from its own memory, and reaches the shared memory by a bus.

    An instruction is fetched in two cycles, or three after a jump: the memory shows the next one
    ahead. An access to the own memory or a device takes two cycles.

    The node halts when the program writes to the device `EXIT`, or at an exception, such as an
    access outside of all memory; `done` is then 1, and nothing changes any more.

    In each cycle an instruction ends, or the core waits for one cause: an access to shared memory
    that loads, stores or updates a word, its own memory or devices, a message, or else the fetch of
    an instruction; or its pipeline fills after a jump, or because an instruction takes longer.

    Parameters
    ----------
    program_rows, local_rows : int
        Words of program and of own memory: powers of two.
    program, local : tuple[int, ...]
        Their initial contents.
    readable : bool
        Whether the console can be read from outside.

    Members
    -------
    number, count : In(16)
        Which core this is, and how many there are. Constant.
    now : In(32)
        Number of this cycle.
    bus : Out(Wishbone(address=29, data=32))
        To the shared memory: 26 bits of a word's number, and above them the window, which says what
        a write does (`ALL_WINDOWS`). `err` is an access outside.
    messages : Out(MessagePorts())
    pc : Out(32)
        Address of the instruction that comes to its end.
    last_pc : Out(32)
        Address of the last instruction that ended without an exception.
    done, trapped : Out(1)
        The core has ended; by an exception.
    ended : Out(32)
        In which cycle.
    result : Out(32)
        What the program wrote to `EXIT`, or the exception's cause.
    fault : Out(32)
        After an exception: its value, such as the address of an access.
    printed : Out(32)
        Words printed.
    address : In(16)
        Only if `readable`: a byte of the console, whose rows have eight.
    row : Out(64)
        Only if `readable`: the row that has this byte, one cycle later.
    instructions, wait_fetch, wait_local, wait_load, wait_store, wait_update, wait_message : Out(32)

    Attributes
    ----------
    program, local, console : Memory
        Submodules of these names. Rows of the console, a ring, are `console_layout()`.
    """

    def __init__(
        self,
        *,
        program_rows: int,
        local_rows: int,
        program: tuple[int, ...] = (),
        local: tuple[int, ...] = (),
        readable: bool = False,
    ) -> None:
        self.readable = readable
        for name, rows in (("Program rows", program_rows), ("Local rows", local_rows)):
            check_power_of_two(name, check_integer(name, rows, 16))
        super().__init__(
            {
                "number": In(16),
                "count": In(16),
                "now": In(32),
                "bus": Out(Wishbone(address=SHARED_BITS + WINDOW_BITS, data=32)),
                "messages": Out(MessagePorts()),
                "pc": Out(32),
                "last_pc": Out(32),
                "done": Out(1),
                "trapped": Out(1),
                "ended": Out(32),
                "result": Out(32),
                "fault": Out(32),
                "printed": Out(32),
                **{name: Out(32) for name in COUNTERS},
                **({"address": In(16), "row": Out(64)} if readable else {}),
            }
        )
        self.program = Memory(shape=32, depth=program_rows, init=program)
        self.local = Memory(shape=32, depth=local_rows, init=local)
        self.console = Memory(shape=console_layout(), depth=CONSOLE_ROWS, init=[])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.program = self.program
        m.submodules.local = self.local
        m.submodules.console = self.console
        self._destination = Signal(32, name="destination")
        core = minerva(PROGRAM)
        m.submodules.core = core.logic
        with m.If(core.valid & ~self.done):
            m.d.sync += self.pc.eq(core.pc)
        with m.If(core.retired & ~self.done):
            m.d.sync += self.last_pc.eq(core.end_pc)
        if self.readable:
            shown = self.console.read_port()
            m.d.comb += [shown.addr.eq(self.address[3:]), self.row.eq(shown.data)]
        self._fetch(m, core)
        self._access(m, core)
        self._end(m, core)
        self._count(m, core)
        return m

    def _fetch(self, m: Module, core: Core) -> None:
        """Instructions come from the program, the one after the last a cycle sooner."""
        bus = core.ibus
        read = self.program.read_port()
        shown = Signal(_ADDRESS_BITS)
        known = Signal()
        hit = Signal()
        row = Signal(_ADDRESS_BITS)
        m.d.comb += [
            hit.eq(known & (shown == bus.adr)),
            row.eq(bus.adr + (bus.ack | bus.err)),
            read.en.eq(bus.cyc),
            read.addr.eq(row),
            bus.dat_r.eq(read.data),
            bus.ack.eq(bus.cyc & bus.stb & hit & self._is_program(bus.adr) & ~self.done),
            bus.err.eq(bus.cyc & bus.stb & hit & ~self._is_program(bus.adr) & ~self.done),
        ]
        with m.If(bus.cyc):
            m.d.sync += [shown.eq(row), known.eq(1)]

    def _is_program(self, address: Value) -> Value:
        return _within(address, PROGRAM, self.program.depth)

    def _access(self, m: Module, core: Core) -> None:
        """Loads and stores, by their address."""
        bus, shared = core.dbus, self.bus
        begins = Signal()
        answered = Signal()
        in_program = Signal()
        in_local = Signal()
        in_device = Signal()
        is_shared = Signal()
        m.d.comb += [
            in_program.eq(self._is_program(bus.adr) & ~bus.we),
            in_local.eq(_within(bus.adr, LOCAL, self.local.depth)),
            in_device.eq(_within(bus.adr, DEVICES, 1 << (len(Device) - 1).bit_length())),
            is_shared.eq(bus.adr[-1]),
            begins.eq(bus.cyc & bus.stb & ~answered & ~self.done),
        ]
        ready, refused = self._messages(m, core, begins & in_device)
        here = in_program | in_local | (in_device & ~refused)
        wrong = Signal()
        failed = Signal()
        m.d.comb += wrong.eq(begins & ~here & ~is_shared)
        m.d.sync += [answered.eq(begins & here & ready), failed.eq(wrong & ~failed)]

        constants = self.program.read_port()
        words = self.local.read_port()
        write = self.local.write_port(granularity=8)
        m.d.comb += [
            constants.addr.eq(bus.adr),
            words.addr.eq(bus.adr),
            write.addr.eq(bus.adr),
            write.data.eq(bus.dat_w),
            write.en.eq(Mux(begins & in_local & bus.we, bus.sel, 0)),
            shared.cyc.eq(bus.cyc & is_shared & ~self.done),
            shared.stb.eq(bus.stb & is_shared & ~self.done),
            shared.we.eq(bus.we),
            shared.sel.eq(bus.sel),
            shared.dat_w.eq(bus.dat_w),
            shared.adr.eq(bus.adr),
            bus.ack.eq((answered & bus.cyc) | shared.ack),
            bus.err.eq(failed | shared.err),
        ]
        with m.If(is_shared):
            m.d.comb += bus.dat_r.eq(shared.dat_r)
        with m.Elif(in_program):
            m.d.comb += bus.dat_r.eq(constants.data)
        with m.Elif(in_local):
            m.d.comb += bus.dat_r.eq(words.data)
        with m.Else(), m.Switch(bus.adr[:4]):
            for device, value in self._readable().items():
                with m.Case(device):
                    m.d.comb += bus.dat_r.eq(value)
        self._devices(m, bus.adr[:4], begins & in_device & bus.we, bus.dat_w)

    def _readable(self) -> dict[int, Value]:
        return {
            Device.NUMBER: self.number,
            Device.COUNT: self.count,
            Device.CYCLE: self.now,
            Device.RECEIVE: self._received,
            Device.SENDER: self._sender,
            Device.ARRIVED: self.messages.arrived,
        }

    def _messages(self, m: Module, core: Core, begins: Value) -> tuple[Value, Value]:
        """Send and receive; whether an access to a device ends, and whether it can't be."""
        bus, ports = core.dbus, self.messages
        self._received, self._sender = Signal(32, name="received"), Signal(16, name="sender")
        device = bus.adr[:4]
        ready = Signal(init=1)
        refused = Signal()
        m.d.comb += [ports.destination.eq(self._destination), ports.sent.eq(bus.dat_w)]
        with m.If(begins & bus.we & (device == Device.SEND)):
            m.d.comb += [
                refused.eq(self._destination >= self.count),
                ports.sends.eq(~refused),
                ready.eq(ports.taken),
            ]
        with m.If(begins & ~bus.we & (device == Device.RECEIVE)):
            m.d.comb += [ports.takes.eq(1), ready.eq(ports.arrived)]
            m.d.sync += [self._received.eq(ports.received), self._sender.eq(ports.sender)]
        return ready, refused

    def _devices(self, m: Module, device: Value, written: Value, value: Value) -> None:
        """What a write to a device does."""
        row = self.console.write_port()
        prints = device.matches(Device.PRINT_CHARACTER, Device.PRINT_INTEGER)
        m.d.comb += [
            row.addr.eq(self.printed),
            row.data.value.eq(value),
            row.data.number.eq(device == Device.PRINT_INTEGER),
            row.data.cycle.eq(self.now),
            row.en.eq(written & prints),
        ]
        with m.If(row.en):
            m.d.sync += self.printed.eq(self.printed + 1)
        with m.If(written & (device == Device.DESTINATION)):
            m.d.sync += self._destination.eq(value)
        with m.If(written & (device == Device.EXIT)):
            m.d.sync += [self.done.eq(1), self.ended.eq(self.now), self.result.eq(value)]

    def _end(self, m: Module, core: Core) -> None:
        """Halt at an exception."""
        with m.If(core.trapped & ~self.done):
            m.d.sync += [
                self.done.eq(1),
                self.trapped.eq(1),
                self.ended.eq(self.now),
                self.pc.eq(core.end_pc),
                self.result.eq(core.cause),
                self.fault.eq(core.value),
            ]

    def _count(self, m: Module, core: Core) -> None:
        """Count instructions, and the cycles in which none ends, each for one cause at most."""
        bus = core.dbus
        waits = bus.cyc & bus.stb & ~bus.ack & ~core.retired
        window = bus.adr[SHARED_BITS:-1].any()
        events: dict[str, Value] = {"instructions": core.retired}
        remote = waits & self.bus.cyc
        events["wait_update"] = remote & window
        events["wait_store"] = remote & ~window & bus.we
        events["wait_load"] = remote & ~window & ~bus.we
        message = _within(bus.adr, DEVICES, 16) & bus.adr[:4].matches(Device.SEND, Device.RECEIVE)
        events["wait_message"] = waits & message
        events["wait_local"] = waits & ~self.bus.cyc & ~message
        events["wait_fetch"] = ~bus.cyc & core.ibus.cyc & ~core.ibus.ack & ~core.retired
        for name, event in events.items():
            counter = getattr(self, name)
            m.d.sync += counter.eq(counter + (event & ~self.done))


def _within(address: Value, first: int, rows: int) -> Value:
    """Whether the address of a word is in a region of so many words, a power of two of them."""
    bits = (rows - 1).bit_length()
    return address[bits:] == Const(first >> 2 + bits, _ADDRESS_BITS - bits)
