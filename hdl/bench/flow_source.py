"""A source of several flows: each has a destination, a rate, a length and times of its own."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..primitives.xoroshiro import Xoroshiro128
from .destination_table import CHANCE_BITS, check_slots
from .instruments import COUNT_BITS
from .sender import Order, source_members
from .sources import add_generation, attach_queue

__all__ = ["FlowSource", "flow_entry"]


def flow_entry(packet: Packet, tags: TagScheme, windows: int) -> data.StructLayout:
    """A flow in the table of a `FlowSource`: all zeros is none.

    `window` is 0 for a flow that is always on, else the number of its window, from 1 on.
    """
    order = Order(packet, tags.code)
    return data.StructLayout(
        {
            "exists": 1,
            "destination": order["destination"].width,
            **({"length": order["length"].width} if packet.sized else {}),
            "window": windows.bit_length(),
        }
    )


class FlowSource(wiring.Component):
    """Generates packets of several flows, each with its probability, in the cycles of its window.

    In each cycle a flow, or none, is drawn from a table by the alias method, in which each has its
    rate. If its window is on, a packet of it is generated. New packets wait in a queue in front of
    the network; if it is full, a packet is rejected and counted.

    A *window* is on from one cycle to another of each period. These are cycles in which packets are
    generated: the birth in their stamps.

    Parameters
    ----------
    packet : Packet
        Its payload is a `Stamp`.
    tags : TagScheme
    depth : int
        Number of packets that fit into the queue.
    slots : int
        Slots of the table, a power of two.
    windows : int
        Number of windows, 0 if all flows are always on.
    table : tuple[int, ...]
        The slots, each with a `chance` in steps of 2^-24 in the low bits, and two `flow_entry`:
        with this chance the first, else the other.

    Members
    -------
    address : In(width)
        Address code. Constant.
    seed : In(128)
        Seed of the random numbers; not zero. Constant.
    on, off, period : In(32 * windows)
        Of each window: first cycle, first cycle after it, and cycles after which it begins anew.
        Constant. Not without windows.
    now, open, measure, o, injected, entered, pending
        As in `Sender`. Nothing is generated while `open` is 0.
    generated, rejected : Out(32)
        Number of packets generated, and of those rejected because the queue was full.
    """

    def __init__(
        self,
        packet: Packet,
        tags: TagScheme,
        *,
        depth: int,
        slots: int = 2,
        windows: int = 0,
        lengths: tuple[int, int] = (1, 1),
        geometric: int = 0,
        table: tuple[int, ...] = (),
    ) -> None:
        self.packet = packet
        self.tags = tags
        self.depth = check_integer("Depth", depth, 1)
        self.slots = check_slots(slots)
        self.windows = check_integer("Windows", windows, 0)
        self.table = table
        times = {name: In(COUNT_BITS * windows) for name in ("on", "off", "period")}
        super().__init__(
            {
                **source_members(packet, tags),
                "seed": In(128),
                **(times if windows else {}),
                "generated": Out(COUNT_BITS),
                "rejected": Out(COUNT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        arrival = attach_queue(m, self)
        entry = flow_entry(self.packet, self.tags, self.windows)
        row = data.StructLayout({"chance": CHANCE_BITS, "first": entry, "other": entry})
        m.submodules.table = memory = Memory(shape=row.size, depth=self.slots, init=self.table)
        m.submodules.random = random = Xoroshiro128()
        port = memory.read_port()
        slot = data.View(row, port.data)
        flow = Signal(entry)
        drawn = Signal()
        low = random.value[:CHANCE_BITS]
        m.d.comb += [
            random.seed.eq(self.seed),
            port.addr.eq(random.value[-len(port.addr) :]),
            flow.eq(Mux(low < slot.chance, slot.first, slot.other)),
        ]
        m.d.sync += drawn.eq(random.valid)

        generate = Signal()
        order = arrival.payload
        m.d.comb += [
            generate.eq(self.open & drawn & flow.exists & self._is_on(m, flow.window)),
            order.destination.eq(flow.destination),
        ]
        if self.packet.sized:
            m.d.comb += order.length.eq(flow.length)
        add_generation(m, self, arrival, generate)
        return m

    def _is_on(self, m: Module, window: Value) -> Value:
        """Whether a window is on in the cycle of a birth, which is the next one."""
        on = Signal(1 + self.windows, init=1)
        m.d.comb += on[0].eq(1)
        for number in range(self.windows):
            first, end, period = (
                port.word_select(number, COUNT_BITS) for port in (self.on, self.off, self.period)
            )
            phase = Signal(COUNT_BITS, name=f"phase_{number}")
            following = Signal(COUNT_BITS)
            m.d.comb += [
                following.eq(Mux(phase + 1 == period, 0, phase + 1)),
                on[1 + number].eq((following >= first) & (following < end)),
            ]
            m.d.sync += phase.eq(following)
        return on.bit_select(window, 1)
