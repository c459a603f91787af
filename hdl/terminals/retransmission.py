"""A network interface that sends packets until they are acknowledged."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Meter
from ..fabric.checks import check_integer, check_power_of_two
from ..fabric.errors import InvalidValue
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.clearing import Clearing
from ..primitives.random_bits import RandomBits
from ..primitives.round_robin import RoundRobin
from ..primitives.routing_tags import TagEncoder

__all__ = ["LONGEST_WAIT", "RetransmissionInterface", "acknowledged", "clearing_cycles"]

_OWED = 16
"""Acknowledgements that wait to be sent. A distributed memory has 16 rows, needed or not."""

_DOUBLINGS = 4
"""How often the wait for an acknowledgement is doubled at most."""

LONGEST_WAIT = 2 << _DOUBLINGS
"""A bound on this wait, as a multiple of the shortest delay."""


def acknowledged(packet: Packet, address: int) -> Packet:
    """The layout of a packet inside a network whose packets are acknowledged.

    Above the payload is the `source`, an address code of `address` bits, the `turn`, and whether it
    is an `acknowledgement`. All flits of a packet have the same.
    """
    fields = {"payload": packet.members["payload"], "source": address}
    layout = data.StructLayout({**fields, "turn": 1, "acknowledgement": 1})
    return Packet(packet.members["tag"], layout, flits=packet.flits)


def clearing_cycles(packet: Packet, tags: TagScheme) -> int:
    """Cycles for which interfaces of these parameters clear their turns after a reset."""
    return 1 << _turn_bits(packet, tags)


def _turn_bits(packet: Packet, tags: TagScheme) -> int:
    """The width of the widest number of a turn."""
    return max(packet.members["tag"], tags.code.width)


class _Kept:
    """The packets that an interface keeps, one in each place.

    Attributes
    ----------
    busy, due, turn : Signal
        For each place: whether it has a packet, whether this is to be sent, and its turn.
    tag : list[Signal]
        For each place.
    newest, fresh : Signal
        The place of the newest packet, one bit each; the same only until that may be sent.
    filling : Signal
        The newest packet has not arrived completely.
    stored : Signal
        Its flits so far.
    clearing : Clearing
        Of the memories of turns.
    turns : Memory
        For each tag, the turn of the next packet.
    flits : Memory
        The flits of each place.
    """

    def __init__(
        self,
        places: int,
        width: int,
        longest: int,
        clearing: Clearing,
        turns: Memory,
        flits: Memory,
    ) -> None:
        names = ("busy", "due", "turn", "newest", "fresh")
        self.busy, self.due, self.turn, self.newest, self.fresh = (
            Signal(places, name=name) for name in names
        )
        self.tag = [Signal(width, name=f"tag_{place}") for place in range(places)]
        self.filling = Signal(name="filling")
        self.stored = Signal(range(longest + 1), name="stored")
        self.clearing = clearing
        self.turns = turns
        self.flits = flits


class RetransmissionInterface(wiring.Component):
    """Keeps the packets of a terminal until they are acknowledged, and sends them again until then;
    acknowledges packets for this terminal, and passes each once.

    The network may lose packets as a whole, acknowledgements too. It must keep the order of packets
    of one source and destination. Then each packet arrives once, and in order.

    *Protocol*: between each source and destination, the alternating bit of Bartlett, Scantlebury
    and Wilkinson (1969). A packet carries its `turn`. The destination passes a packet if its turn
    is the one that it expects next from this source, and discards it as a repetition if not. It
    acknowledges both, by a packet of one flit with the same turn. The source accepts the next
    packet to this destination from its memory when the last one is acknowledged. Packets to
    `window` different destinations are under way at the same time.

    *Sending*: a packet is written to a free place, and sent from there two cycles later, while the
    rest of it still arrives. From its tail on, the source waits `delay` to 2 `delay` - 1 cycles, at
    random, and sends it again. The wait is random because packets that met in a deadlock would
    otherwise meet in the same one again. It is doubled with every packet that is sent again, up to
    16 times as long, and halved with every one that is acknowledged, because a network that is full
    of repetitions would deliver little else. If the wait was too short, since the packet is only
    slow, the repetition is discarded at its destination.

    *Receiving* never waits for sending: acknowledgements wait in a queue of 16 places, and one that
    finds it full is dropped, which is as if the network had lost it. So the network can always get
    rid of packets that have arrived, as long as the terminal takes what is for it.

    *Reset*: all interfaces of a network are reset together with it. The turns are in memories,
    which a reset does not reach, so these are cleared (`Clearing`): for one cycle per possible tag,
    from the second cycle of the reset on, `i.ready` and `came.ready` are 0. An interface that has
    had no packets before has nothing to clear, and works at once.

    `sent` comes from registers and memories, and `i.ready` from registers. `o` depends
    combinationally on `came`, and `came.ready` on `came` and `o.ready`.

    Parameters
    ----------
    packet : Packet
        With flits, as the terminal sees it.
    tags : TagScheme
        How its tags are made, for those of acknowledgements.
    window : int
        Packets that are kept, at least 1.
    longest : int
        Flits of the longest packet.
    delay : int
        Fewest cycles before a packet is sent again: a power of two, at least 2.

    Members
    -------
    address : In(width)
        Address code of this terminal. Constant.
    seed : In(32)
        Seed of the random waits, as in `RandomBits`. Constant.
    i : In(stream.Signature(packet))
        From the terminal.
    o : Out(stream.Signature(packet))
        To the terminal.
    sent : Out(stream.Signature(acknowledged(packet)))
        To the network.
    came : In(stream.Signature(acknowledged(packet)))
        From the network.
    resent : Out(window)
        For each place, that its packet is to be sent again.
    repeated : Out(1)
        A repetition is discarded here.
    """

    meters = (Meter("resent", "resent", "pulses"), Meter("repeated", "repeated", "pulses"))

    def __init__(
        self, packet: Packet, tags: TagScheme, *, window: int, longest: int, delay: int
    ) -> None:
        self.window = check_integer("Window", window, 1)
        self.longest = check_integer("Greatest length", longest, 1)
        self.delay = check_integer("Delay", delay, 2)
        check_power_of_two("Delay", delay)
        if not packet.flits:
            raise InvalidValue("Packet must have flits")
        self.packet = packet
        self.tags = tags
        self.inner = acknowledged(packet, tags.code.width)
        outside, inside = stream.Signature(packet), stream.Signature(self.inner)
        super().__init__(
            {
                "address": In(tags.code.width),
                "seed": In(32),
                "i": In(outside),
                "o": Out(outside),
                "sent": Out(inside),
                "came": In(inside),
                "resent": Out(window),
                "repeated": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        clearing = Clearing(m, "clearing", _turn_bits(self.packet, self.tags))
        self._send(m, clearing, self._receive(m, clearing))
        return m

    def _tag(self, m: Module, name: str, destination: Value) -> Value:
        """The tag of a packet from this terminal."""
        m.submodules[name] = encoder = TagEncoder(self.tags)
        m.d.comb += [encoder.source.eq(self.address), encoder.destination.eq(destination)]
        return encoder.tag

    def _receive(self, m: Module, clearing: Clearing) -> ArrivalQueue:
        """Pass what is new; returns the queue of acknowledgements."""
        came, header = self.came, self.came.payload.payload
        m.submodules.expected = expected = Memory(shape=1, depth=1 << len(header.source), init=[])
        update = expected.write_port()
        now = expected.read_port(domain="comb")
        owed = ArrivalQueue(
            data.StructLayout({"source": len(header.source), "turn": 1}), depth=_OWED
        )
        m.submodules.owed = owed
        new = Signal()
        ends = Signal()
        m.d.comb += [
            now.addr.eq(header.source),
            new.eq(~header.acknowledgement & (header.turn == now.data)),
            self.o.valid.eq(came.valid & new & ~clearing.active),
            self.o.payload.tag.eq(came.payload.tag),
            self.o.payload.payload.eq(header.payload),
            self.o.payload.last.eq(came.payload.last),
            came.ready.eq((self.o.ready | (came.valid & ~new)) & ~clearing.active),
            ends.eq(came.valid & came.ready & came.payload.last & ~header.acknowledgement),
            self.repeated.eq(ends & ~new),
            owed.i[0].valid.eq(ends),
            owed.i[0].payload.source.eq(header.source),
            owed.i[0].payload.turn.eq(header.turn),
        ]
        clearing.write(update, ends, header.source, ~header.turn)
        return owed

    def _store(self, m: Module, kept: _Kept) -> tuple[Value, Value]:
        """Write packets to free places.

        Returns which packet begins to be due, and its turn. The newest packet waits for that until
        no other one to its destination is under way.
        """
        places, width = range(self.window), self.packet.members["tag"]
        entry = Signal(range(self.window))
        newest = Signal(range(self.window))
        fresh = Signal()
        for place in reversed(places):
            with m.If(~kept.busy[place]):
                m.d.comb += entry.eq(place)
        with m.If(kept.filling):
            m.d.comb += entry.eq(newest)
        room = (self.longest - 1).bit_length()
        write = kept.flits.write_port()
        m.d.comb += [
            self.i.ready.eq(kept.filling | (~fresh & ~kept.busy.all() & ~kept.clearing.active)),
            write.en.eq(self.i.valid & self.i.ready),
            write.addr.eq(Cat(Mux(kept.filling, kept.stored, 0)[:room], entry)),
            write.data.eq(self.i.payload),
            kept.newest.eq(Cat(newest == place for place in places)),
            kept.fresh.eq(Mux(fresh, kept.newest, 0)),
        ]

        tag = Signal(width)
        for place in places:
            with m.If(kept.newest[place]):
                m.d.comb += tag.eq(kept.tag[place])
        others = Cat(each == tag for each in kept.tag) & kept.busy & ~kept.newest
        next_ = kept.turns.read_port(domain="comb")
        m.d.comb += next_.addr.eq(tag)
        begins = Mux(others.any(), 0, kept.fresh)
        with m.If(~others.any()):
            m.d.sync += fresh.eq(0)
        with m.If(write.en):
            m.d.sync += [
                kept.filling.eq(~self.i.payload.last),
                kept.stored.eq(Mux(kept.filling, kept.stored + 1, 1)),
            ]
            with m.If(~kept.filling):
                m.d.sync += [newest.eq(entry), fresh.eq(1)]
                m.d.sync += kept.busy.bit_select(entry, 1).eq(1)
                m.d.sync += Cat(kept.tag).word_select(entry, width).eq(self.i.payload.tag)
        return begins, next_.data

    def _choose(self, m: Module, kept: _Kept, owed: ArrivalQueue) -> tuple[Value, Value]:
        """Send acknowledgements, or else packets that are due, in turn and each to its end.

        Returns which packet is being sent, and whether its tail leaves.
        """
        places, room = range(self.window), (self.longest - 1).bit_length()
        m.submodules.choice = choice = RoundRobin(self.window)
        sending = Signal()
        chosen = Signal(self.window)
        index = Signal(range(self.longest))
        current = Signal(self.window)
        number = Signal(range(self.window))
        ack = Signal()
        present = Signal()
        ends = Signal()
        read = kept.flits.read_port(domain="comb")
        own, head = self.sent.payload.payload, owed.o
        m.d.comb += [
            ack.eq(head.valid & ~sending),
            choice.request.eq(Mux(ack, 0, kept.due)),
            choice.taken.eq(~sending),
            current.eq(Mux(sending, chosen, choice.granted)),
            *(
                number[bit].eq(Cat(current[p] for p in places if p >> bit & 1).any())
                for bit in range(len(number))
            ),
            read.addr.eq(Cat(index[:room], number)),
            present.eq(~(current & kept.newest).any() | ~kept.filling | (index < kept.stored)),
            self.sent.valid.eq(ack | (current.any() & present)),
            head.ready.eq(ack & self.sent.ready),
            own.source.eq(self.address),
            own.acknowledgement.eq(ack),
            ends.eq(~ack & self.sent.valid & self.sent.ready & read.data.last),
        ]
        with m.If(ack):
            m.d.comb += [
                self.sent.payload.tag.eq(self._tag(m, "back", head.payload.source)),
                self.sent.payload.last.eq(1),
                own.turn.eq(head.payload.turn),
            ]
        with m.Else():
            m.d.comb += [
                self.sent.payload.tag.eq(read.data.tag),
                self.sent.payload.last.eq(read.data.last),
                own.payload.eq(read.data.payload),
                own.turn.eq((kept.turn & current).any()),
            ]
        m.d.sync += [sending.eq(current.any() & ~ends), chosen.eq(current)]
        with m.If(~ack & self.sent.valid & self.sent.ready):
            m.d.sync += index.eq(Mux(read.data.last, 0, index + 1))
        return current, ends

    def _acknowledged(self, m: Module, kept: _Kept, current: Value) -> Value:
        """Which packet an acknowledgement says to have arrived.

        One that comes while its packet is being sent again is ignored: this repetition has one too.
        """
        header = self.came.payload.payload
        tag = self._tag(m, "from", header.source)
        matches = Cat(each == tag for each in kept.tag) & ~(
            kept.turn ^ header.turn.replicate(self.window)
        )
        arrived = Signal(self.window)
        m.d.comb += arrived.eq(
            Mux(
                self.came.valid & header.acknowledgement,
                matches & kept.busy & ~kept.fresh & ~current,
                0,
            )
        )
        kept.clearing.write(kept.turns.write_port(), arrived.any(), tag, ~header.turn)
        return arrived

    def _send(self, m: Module, clearing: Clearing, owed: ArrivalQueue) -> None:
        """Send acknowledgements, and packets until they are acknowledged."""
        width, room = self.packet.members["tag"], (self.longest - 1).bit_length()
        m.submodules.turns = turns = Memory(shape=1, depth=1 << width, init=[])
        m.submodules.flits = flits = Memory(shape=self.packet, depth=self.window << room, init=[])
        kept = _Kept(self.window, width, self.longest, clearing, turns, flits)
        begins, turn = self._store(m, kept)
        current, ends = self._choose(m, kept, owed)
        arrived = self._acknowledged(m, kept, current)

        m.submodules.random = random = RandomBits(self.delay.bit_length() - 1)
        m.d.comb += random.seed.eq(self.seed)
        doublings = Signal(range(_DOUBLINGS + 1))
        with m.If(self.resent.any() & ~arrived.any() & (doublings != _DOUBLINGS)):
            m.d.sync += doublings.eq(doublings + 1)
        with m.Elif(arrived.any() & ~self.resent.any() & (doublings != 0)):
            m.d.sync += doublings.eq(doublings - 1)
        for place in range(self.window):
            # How long it still waits for its acknowledgement, if it does.
            waits = Signal(name=f"waits_{place}")
            left = Signal(range(LONGEST_WAIT * self.delay), name=f"left_{place}")
            m.d.comb += self.resent[place].eq(waits & (left == 0))
            m.d.sync += left.eq(left - 1)
            with m.If(begins[place]):
                m.d.sync += [kept.due[place].eq(1), kept.turn[place].eq(turn)]
            with m.If(self.resent[place]):
                m.d.sync += [waits.eq(0), kept.due[place].eq(1)]
            with m.If(ends & current[place]):
                m.d.sync += [kept.due[place].eq(0), waits.eq(1)]
                m.d.sync += left.eq(Cat(random.value, 1) << doublings)
            with m.If(arrived[place]):
                m.d.sync += [kept.busy[place].eq(0), kept.due[place].eq(0), waits.eq(0)]
