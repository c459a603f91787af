# amaranth: UnusedElaboratable=no
"""Parity: tells a packet that was damaged in transit from a good one.

Boxes rotate a packet's tag and change nothing else, so a parity over the whole packet holds on
every link. It is generated once, at the source, and can be checked anywhere. A checker at the
destination passes no damaged packet, even if the damage was to the tag and the packet was
misrouted.
"""

from typing import Literal, get_args

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Cell, CellType, Meter
from ..fabric.checks import check_word
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.pins import Pin
from ..links.packet import Packet

__all__ = [
    "PARITIES",
    "Granularity",
    "ParityChecker",
    "ParityGenerator",
    "parity_of",
    "place_parity",
    "protected",
]

Granularity = Literal["packet", "byte"]
PARITIES: tuple[Granularity, ...] = get_args(Granularity)
"""The scope of a parity bit: the whole packet; or the tag, and each byte of the payload."""


def protected(packet: Packet, parity: Granularity = "packet") -> Packet:
    """The packet as it is inside the network: `parity` is added to the payload.

    Raises
    ------
    ValueError
        If the granularity does not exist.
    """
    check_word("Parity", parity, PARITIES)
    payload = packet.members["payload"]
    bits = 1 if parity == "packet" else 1 + -(-data.Field(payload, 0).width // 8)
    return Packet(
        packet.members["tag"],
        data.StructLayout({"payload": payload, "parity": bits}),
        broadcast=packet.broadcast,
        flits=packet.flits,
    )


_HEADER = ("tag", "mask", "last")


def parity_of(packet: data.View, payload: Value, parity: Granularity) -> Value:
    """The parity bits of a packet: each is even together with its bits."""
    header = Cat(packet[name] for name in packet.shape().members if name in _HEADER)
    if parity == "packet":
        return Cat(header, payload).xor()
    return Cat(header.xor(), *(payload[at : at + 8].xor() for at in range(0, len(payload), 8)))


class ParityGenerator(wiring.Component):
    """Adds the parity to a source's packets. Combinational.

    Parameters
    ----------
    packet : Packet
        With flits, each word of a packet has its own parity.
    parity : "packet" or "byte"
        One bit for the whole word; or one for the tag (with mask and `last`) and one for each byte
        of the payload. Each bit detects every odd number of wrong bits in its scope.

    Members
    -------
    i : In(stream.Signature(packet))
    o : Out(stream.Signature(protected(packet, parity)))
    """

    def __init__(self, packet: Packet, *, parity: Granularity = "packet") -> None:
        self.packet = packet
        self.parity = parity
        super().__init__(
            {
                "i": In(stream.Signature(packet)),
                "o": Out(stream.Signature(protected(packet, parity))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packet, sent = self.i.payload, self.o.payload
        for name in self.packet.members:
            port = sent.payload.payload if name == "payload" else sent[name]
            m.d.comb += port.eq(packet[name])
        payload = Value.cast(packet.payload)
        m.d.comb += [
            sent.payload.parity.eq(parity_of(packet, payload, self.parity)),
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready),
        ]
        return m


class ParityChecker(wiring.Component):
    """Passes packets whose parity is right; accepts, reports and discards the others.

    Combinational. `i.ready` and `corrupted` depend on `i`.

    Parameters
    ----------
    packet, parity
        As in `ParityGenerator`, but with a single flit: when one of several is found to be wrong,
        others may have been delivered.

    Members
    -------
    i : In(stream.Signature(protected(packet, parity)))
    o : Out(stream.Signature(packet))
    corrupted : Out(1)
        A damaged packet is accepted and discarded in this cycle.
    """

    meters = (Meter("corrupted", "corrupted", "pulses"),)

    def __init__(self, packet: Packet, *, parity: Granularity = "packet") -> None:
        if packet.flits:
            raise InvalidValue("Packet must not have flits")
        self.packet = packet
        self.parity = parity
        super().__init__(
            {
                "i": In(stream.Signature(protected(packet, parity))),
                "o": Out(stream.Signature(packet)),
                "corrupted": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        arrived, packet = self.i.payload, self.o.payload
        for name in self.packet.members:
            port = arrived.payload.payload if name == "payload" else arrived[name]
            m.d.comb += packet[name].eq(port)
        sound = Signal()
        payload = Value.cast(arrived.payload.payload)
        m.d.comb += [
            sound.eq(parity_of(arrived, payload, self.parity) == arrived.payload.parity),
            self.o.valid.eq(self.i.valid & sound),
            self.i.ready.eq(self.o.ready | self.corrupted),
            self.corrupted.eq(self.i.valid & ~sound),
        ]
        return m


def place_parity(
    fabric: Fabric | Scope,
    packet: Packet,
    parity: Granularity,
    inputs: list[Pin],
    outputs: list[Pin],
    checker: CellType | None = None,
) -> tuple[list[Pin], list[Pin]]:
    """Place a generator at each input of a network, and a checker at each output.

    The cells are `parity_{terminal}` and `check_{terminal}`.

    Parameters
    ----------
    fabric : Fabric
    packet : Packet
        The packet as the terminals see it.
    parity : "packet" or "byte"
    inputs, outputs : list[Pin]
        The network's streams of `protected(packet, parity)`, by terminal.
    checker : CellType, optional
        The type of the checkers; by default that for packets of one flit. If it has an input
        `connected`, the cells at the outputs have an output of this name.

    Returns
    -------
    inputs, outputs : list[Pin]
        Streams of `packet`, by terminal.
    """
    generator = CellType(ParityGenerator, packet=packet, parity=parity)
    checker = checker or CellType(ParityChecker, packet=packet, parity=parity)
    for terminal, (entry, exit_) in enumerate(zip(inputs, outputs)):
        first = fabric.place(Cell(f"parity_{terminal}", generator)).name
        last = fabric.place(Cell(f"check_{terminal}", checker)).name
        fabric.link(Pin(first, ("o",)), entry)
        fabric.link(exit_, Pin(last, ("i",)))
        if ("connected",) in checker.leaves:
            fabric.link(Pin(exit_.cell, ("connected",)), Pin(last, ("connected",)))
    terminals = range(len(inputs))
    return (
        [Pin(f"parity_{terminal}", ("i",)) for terminal in terminals],
        [Pin(f"check_{terminal}", ("o",)) for terminal in terminals],
    )
