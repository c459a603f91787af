"""The state of a broadcast in a switch while some of its copies still wait."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer, check_radix
from ..links.packet import Packet

__all__ = ["CopyTracker", "ReplicatingQueue"]


class CopyTracker(wiring.Component):
    """Tracks which outputs still need a copy of the packet at an input.

    Copies are taken independently, each when its output is free, and the packet leaves when the
    last copy is taken; if all are taken at once, that is the first cycle. The copies taken earlier
    are recorded in `radix` registers. `left` depends combinationally on `requested` only, and
    `done` on `taken` too, so that no output waits for another one's `ready`.

    Parameters
    ----------
    radix : int
        Number of outputs, at least 2.

    Members
    -------
    valid : In(1)
        There is a packet. It must stay until `done`.
    requested : In(radix)
        Bit j: the packet is for output j. Constant while the packet stays.
    taken : In(radix)
        Bit j: output j takes a copy in this cycle if it is offered one.
    left : Out(radix)
        Bit j: output j is to be offered a copy.
    done : Out(1)
        All copies have been taken by the end of this cycle.
    """

    def __init__(self, radix: int) -> None:
        radix = check_radix(radix)
        self.radix = radix
        super().__init__(
            {
                "valid": In(1),
                "requested": In(radix),
                "taken": In(radix),
                "left": Out(radix),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = Signal(self.radix)
        m.d.comb += [
            self.left.eq(self.requested & ~given),
            self.done.eq((self.left & ~self.taken) == 0),
        ]
        with m.If(self.valid):
            m.d.sync += given.eq(given | self.taken)
            with m.If(self.done):
                m.d.sync += given.eq(0)
        return m


class ReplicatingQueue(wiring.Component):
    """A queue of flits whose first packet is read by several outputs, each at its own pace.

    A slot is free again when all outputs that the packet is for have read it, and the next packet
    is shown when the last of them has read the tail. So an output may be ahead of another one by a
    whole packet. While a packet is first, its flits wait for slots only if it is longer than
    `depth`. With one output a packet leaves as from an `ArrivalQueue`.

    A flit is shown one cycle after it arrived, if no packet is before it. `o[*].valid`, `.payload`
    and `head` depend only on registers, the memory and `wanted`; `i.ready` depends on registers
    and, with `refill`, on `o[*].ready`.

    Parameters
    ----------
    packet : Packet
        With flits.
    readers : int
        Number of outputs, at least 2.
    depth : int
        Flits that fit, at least 1.
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle.

    Members
    -------
    i : In(stream.Signature(packet))
    head : Out(packet)
        The first flit of the first packet, until an output takes it.
    wanted : In(readers)
        Bit j: the packet with this header is for output j. May depend combinationally on `head`.
        A packet for no output stays for ever.
    o : Out(stream.Signature(packet)).array(readers)
    level : Out(range(depth + 1))
        Slots in use.
    freed : Out(1)
        A slot is freed in this cycle.
    done : Out(1)
        The last output that the first packet is for reads its tail in this cycle.
    """

    def __init__(self, packet: Packet, *, readers: int, depth: int, refill: bool = False) -> None:
        readers = check_radix(readers)
        depth = check_integer("Depth", depth, 1)
        self.packet = packet
        self.readers = readers
        self.depth = depth
        self.refill = refill
        ports = stream.Signature(packet)
        super().__init__(
            {
                "i": In(ports),
                "head": Out(packet),
                "wanted": In(readers),
                "o": Out(ports).array(readers),
                "level": Out(range(depth + 1)),
                "freed": Out(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place_bits = (self.depth - 1).bit_length()
        m.submodules.flits = flits = Memory(shape=self.packet, depth=1 << place_bits, init=[])
        write = flits.write_port()
        # One bit more than a place has, so that the end of a full queue is not its base.
        base = Signal(place_bits + 1)
        end = Signal(place_bits + 1)
        entered = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq(self.level != self.depth),
            write.addr.eq(end[:place_bits]),
            write.data.eq(self.i.payload),
            write.en.eq(entered),
        ]
        if self.refill:
            m.d.comb += self.i.ready.eq((self.level != self.depth) | self.freed)
        m.d.sync += [
            end.eq(end + entered),
            base.eq(base + self.freed),
            self.level.eq(self.level + entered - self.freed),
        ]

        # Until an output has taken its header, all stand at the base of the first packet.
        begun = Signal()
        done = self.done
        kept = Signal(self.readers)
        targets = Signal(self.readers)
        m.d.comb += targets.eq(Mux(begun, kept, self.wanted))
        m.d.sync += kept.eq(targets)
        finished = Signal(self.readers)
        finishes = Signal(self.readers)
        takes = Signal(self.readers)
        passed = Signal(self.readers)
        for j, port in enumerate(self.o):
            at = Signal.like(base, name=f"at_{j}")
            read = flits.read_port(domain="comb")
            m.d.comb += [
                read.addr.eq(at[:place_bits]),
                port.payload.eq(read.data),
                port.valid.eq(targets[j] & ~finished[j] & (at != end)),
                takes[j].eq(port.valid & port.ready),
                finishes[j].eq(finished[j] | (takes[j] & port.payload.last)),
                passed[j].eq((at != base) | takes[j]),
            ]
            m.d.sync += at.eq(Mux(done, base + 1, at + takes[j]))
        m.d.comb += [
            self.head.eq(self.o[0].payload),
            self.freed.eq(targets.any() & (targets & ~passed == 0)),
            done.eq(targets.any() & (targets & ~finishes == 0)),
        ]
        m.d.sync += [begun.eq((begun | takes.any()) & ~done), finished.eq(Mux(done, 0, finishes))]
        return m
