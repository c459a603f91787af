"""A network interface that sends packets until they are acknowledged."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..core.checks import check_integer
from ..core.errors import InvalidValue
from ..core.fabric import Meter
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.packet import Packet, TagEncoder
from ..primitives.random_bits import RandomBits
from ..primitives.round_robin import RoundRobin
from ..topology.tags import TagScheme

__all__ = ["LONGEST_WAIT", "RetransmissionInterface", "acknowledged"]

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

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    meters = (Meter("resent", "resent", "pulses"), Meter("repeated", "repeated", "pulses"))

    def __init__(
        self, packet: Packet, tags: TagScheme, *, window: int, longest: int, delay: int
    ) -> None:
        self.window = check_integer("Window", window, 1)
        self.longest = check_integer("Greatest length", longest, 1)
        self.delay = check_integer("Delay", delay, 2)
        if delay & (delay - 1):
            raise InvalidValue(f"Delay must be a power of two, not {delay}")
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
        self._send(m, self._receive(m))
        return m

    def _tag(self, m: Module, name: str, destination: Value) -> Value:
        """The tag of a packet from this terminal."""
        m.submodules[name] = encoder = TagEncoder(self.tags)
        m.d.comb += [encoder.source.eq(self.address), encoder.destination.eq(destination)]
        return encoder.tag

    def _receive(self, m: Module) -> ArrivalQueue:
        """Pass what is new; returns the queue of acknowledgements."""
        came, header = self.came, self.came.payload.payload
        m.submodules.expected = expected = Memory(shape=1, depth=1 << len(header.source), init=[])
        update, now = expected.write_port(), expected.read_port(domain="comb")
        owed = ArrivalQueue(
            data.StructLayout({"source": len(header.source), "turn": 1}), depth=_OWED
        )
        m.submodules.owed = owed
        new, ends = Signal(), Signal()
        m.d.comb += [
            now.addr.eq(header.source),
            new.eq(~header.acknowledgement & (header.turn == now.data)),
            self.o.valid.eq(came.valid & new),
            self.o.payload.tag.eq(came.payload.tag),
            self.o.payload.payload.eq(header.payload),
            self.o.payload.last.eq(came.payload.last),
            came.ready.eq(self.o.ready | ~new),
            ends.eq(came.valid & came.ready & came.payload.last & ~header.acknowledgement),
            self.repeated.eq(ends & ~new),
            update.en.eq(ends),
            update.addr.eq(header.source),
            update.data.eq(~header.turn),
            owed.i[0].valid.eq(ends),
            owed.i[0].payload.source.eq(header.source),
            owed.i[0].payload.turn.eq(header.turn),
        ]
        return owed

    def _send(self, m: Module, owed: ArrivalQueue) -> None:
        """Send acknowledgements, and packets until they are acknowledged."""
        places, width = range(self.window), self.packet.members["tag"]
        # For each place: whether it has a packet; whether this is to be sent, or waits for its
        # acknowledgement, and how long still; its tag and turn.
        busy, due, waits, turn = (
            Signal(self.window, name=name) for name in ("busy", "due", "waits", "turn")
        )
        tag = [Signal(width, name=f"tag_{place}") for place in places]
        left = [Signal(range(LONGEST_WAIT * self.delay), name=f"left_{place}") for place in places]
        m.submodules.turns = turns = Memory(shape=1, depth=1 << width, init=[])
        toggle, next_ = turns.write_port(), turns.read_port(domain="comb")

        # The newest packet. It is `fresh` until no other one to its destination is under way.
        newest, fresh, filling = Signal(range(self.window)), Signal(), Signal()
        stored = Signal(range(self.longest + 1))
        is_newest = Cat(newest == place for place in places)
        its_tag = Signal(width)
        other = Cat(tag[place] == its_tag for place in places) & busy & ~is_newest
        for place in places:
            with m.If(is_newest[place]):
                m.d.comb += its_tag.eq(tag[place])
        m.d.comb += next_.addr.eq(its_tag)
        alone = Signal()
        m.d.comb += alone.eq(fresh & ~other.any())
        with m.If(alone):
            m.d.sync += fresh.eq(0)

        # A packet is written to the first free place.
        room = (self.longest - 1).bit_length()
        flits = Memory(shape=self.packet, depth=self.window << room, init=[])
        m.submodules.flits = flits
        write, read = flits.write_port(), flits.read_port(domain="comb")
        entry = Signal(range(self.window))
        for place in reversed(places):
            with m.If(~busy[place]):
                m.d.comb += entry.eq(place)
        with m.If(filling):
            m.d.comb += entry.eq(newest)
        m.d.comb += [
            self.i.ready.eq(filling | (~fresh & ~busy.all())),
            write.en.eq(self.i.valid & self.i.ready),
            write.addr.eq(Cat(Mux(filling, stored, 0)[:room], entry)),
            write.data.eq(self.i.payload),
        ]
        with m.If(write.en):
            m.d.sync += [filling.eq(~self.i.payload.last), stored.eq(Mux(filling, stored + 1, 1))]
            with m.If(~filling):
                m.d.sync += [newest.eq(entry), fresh.eq(1), busy.bit_select(entry, 1).eq(1)]
                m.d.sync += Cat(tag).word_select(entry, width).eq(self.i.payload.tag)

        # What is sent: an acknowledgement, or else a packet that is due, in turn. A packet is then
        # sent to its end.
        m.submodules.choice = choice = RoundRobin(self.window)
        sending, chosen, index = Signal(), Signal(self.window), Signal(range(self.longest))
        current, number = Signal(self.window), Signal(range(self.window))
        ack, stays = Signal(), Signal()
        moves = self.sent.valid & self.sent.ready
        own, head = self.sent.payload.payload, owed.o
        m.d.comb += [
            ack.eq(head.valid & ~sending),
            choice.request.eq(due),
            choice.taken.eq(~sending & ~ack),
            current.eq(Mux(sending, chosen, choice.granted)),
            *(
                number[bit].eq(Cat(current[p] for p in places if p >> bit & 1).any())
                for bit in range(len(number))
            ),
            read.addr.eq(Cat(index[:room], number)),
            stays.eq(current.any() & (((current & is_newest) == 0) | ~filling | (index < stored))),
            self.sent.valid.eq(ack | stays),
            head.ready.eq(ack & self.sent.ready),
            own.source.eq(self.address),
            own.acknowledgement.eq(ack),
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
                own.turn.eq((turn & current).any()),
            ]
            m.d.sync += [sending.eq(current.any()), chosen.eq(current)]
        ended = Signal()
        m.d.comb += ended.eq(moves & ~ack & read.data.last)
        with m.If(moves & ~ack):
            m.d.sync += index.eq(Mux(read.data.last, 0, index + 1))
        with m.If(ended):
            m.d.sync += sending.eq(0)

        # An acknowledgement that comes while its packet is being sent again is ignored: this
        # repetition has one too.
        came, header = self.came, self.came.payload.payload
        back = self._tag(m, "from", header.source)
        sent = Signal(self.window)
        m.d.comb += [
            sent.eq(
                Cat(
                    busy[place] & (tag[place] == back) & (turn[place] == header.turn)
                    for place in places
                )
                & ~Mux(ack, 0, current)
                & ~Mux(fresh, is_newest, 0)
                & (came.valid & header.acknowledgement).replicate(self.window)
            ),
            toggle.en.eq(sent.any()),
            toggle.addr.eq(back),
            toggle.data.eq(~header.turn),
        ]

        m.submodules.random = random = RandomBits(self.delay.bit_length() - 1)
        m.d.comb += random.seed.eq(self.seed)
        doublings = Signal(range(_DOUBLINGS + 1))
        with m.If(self.resent.any() & ~sent.any() & (doublings != _DOUBLINGS)):
            m.d.sync += doublings.eq(doublings + 1)
        with m.Elif(sent.any() & ~self.resent.any() & (doublings != 0)):
            m.d.sync += doublings.eq(doublings - 1)
        for place in places:
            m.d.comb += self.resent[place].eq(waits[place] & (left[place] == 0))
            m.d.sync += left[place].eq(left[place] - 1)
            with m.If(alone & is_newest[place]):
                m.d.sync += [due[place].eq(1), turn[place].eq(next_.data)]
            with m.If(self.resent[place]):
                m.d.sync += [waits[place].eq(0), due[place].eq(1)]
            with m.If(ended & current[place]):
                m.d.sync += [due[place].eq(0), waits[place].eq(1)]
                m.d.sync += left[place].eq(Cat(random.value, 1) << doublings)
            with m.If(sent[place]):
                m.d.sync += [busy[place].eq(0), due[place].eq(0), waits[place].eq(0)]
