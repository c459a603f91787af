"""The contents of a packet's payload on the test bench, which let the sink check its arrival."""

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from ..networks.packet_network import PacketNetwork
from .instruments import latency_kinds

__all__ = [
    "LONG_TIME_BITS",
    "MOST_FOLLOWED",
    "SEQUENCE_BITS",
    "STAMP_SUM_BITS",
    "TIME_BITS",
    "Stamp",
    "stamp_for",
]

SEQUENCE_BITS = 4
LONG_SEQUENCE_BITS = 24
"""Width of sequence numbers where any number of packets of a flow may be missing."""

TIME_BITS = 20
"""Width of the times in stamps: enough for runs of fewer than 2^20 cycles."""

LONG_TIME_BITS = 32
"""Width of the times in longer runs: that of the cycle number."""

STAMP_SUM_BITS = 64

MOST_FOLLOWED = 2**13
"""Largest number of terminals whose flows are followed: each terminal has a row per flow."""


class Stamp(data.StructLayout):
    """The payload of a packet on the test bench.

    `source` (its address code) and `sequence` (its number in the flow from this source to one
    destination, modulo 2^`sequence`) identify the packet. `birth` is the cycle in which it was
    generated, and `offered` the cycle in which it reached the head of its source's queue and so the
    input of the network. Both are modulo 2^`time`: latencies are exact in runs of fewer cycles.
    Without `offered` there are no latencies within the network, only total ones. Without sequence
    numbers flows can't be followed; sources and sinks then add up all stamps (`stamp_sum`, modulo
    2^64), and both sums must be equal. `length` is the number of flits, if packets have several;
    each flit carries the same stamp. `destination` (an address code) is present if the tag does not
    contain it at the output. `message` is the number of a message at its destination, if messages
    wait for each other. `word` is what the packet carries, if it carries anything; each flit has
    its own, and it is not part of the `identity`.

    Parameters
    ----------
    address : int
        Width of an address code in bits.
    payload : int
        Width of the whole payload, which may be more than the stamp needs.
    sequence : int
        Width of a sequence number, 0 for none. 4 is enough if at most 7 packets of a flow can be
        missing.
    length : int
        Width of `length`, 0 if every packet is one flit.
    destination : bool
        Whether there is a destination.
    time : int
        Width of `birth` and `offered`.
    offered : bool
        Whether there is an `offered`.
    message : int
        Width of `message`, 0 for none.
    word : int
        Width of `word`, 0 for none.

    Attributes
    ----------
    followed : bool
        Whether there are sequence numbers.
    kinds : tuple[str, ...]
        The kinds of latency that can be measured: `total`, and `network` if there is an `offered`.
    time : int
    """

    def __init__(
        self,
        address: int,
        payload: int = 0,
        *,
        sequence: int = SEQUENCE_BITS,
        length: int = 0,
        destination: bool = False,
        time: int = TIME_BITS,
        offered: bool = True,
        message: int = 0,
        word: int = 0,
    ) -> None:
        fields = {
            "source": address,
            **({"sequence": sequence} if sequence else {}),
            "birth": time,
            **({"offered": time} if offered else {}),
        }
        if length:
            fields["length"] = length
        if destination:
            fields["destination"] = address
        if message:
            fields["message"] = message
        if word:
            fields["word"] = word
        spare = payload - sum(fields.values())
        if spare > 0:
            fields["unused"] = spare
        self.followed = sequence > 0
        self.kinds = latency_kinds(offered)
        self.time = time
        super().__init__(fields)

    def identity(self, stamp: data.View) -> Value:
        """What all flits of a packet have in common."""
        return Cat(stamp[name] for name in self.members if name != "word")


def stamp_for(
    network: PacketNetwork,
    *,
    time: int = TIME_BITS,
    flows: bool = True,
    losses: bool = False,
    offered: bool = True,
    message: int = 0,
    word: int = 0,
) -> Stamp:
    """The stamp for a network: wide enough for the packets that it can lose, and for its lengths.

    A network that drops packets, or lets them overtake each other, needs longer sequence numbers.
    So does any in which faults cause `losses`. One that broadcasts needs numbers that count all
    packets of a source. In the largest networks flows are not followed, unless some packets may be
    missing or arrive several times; nor are they if `flows` is false.
    """
    if not flows:
        sequence = 0
    elif network.packet.broadcast or network.drops:
        sequence = LONG_SEQUENCE_BITS
    elif max(network.sources, network.sinks) > MOST_FOLLOWED:
        sequence = 0
    elif losses:
        sequence = LONG_SEQUENCE_BITS
    else:
        sequence = SEQUENCE_BITS if network.ordered else 12
    return Stamp(
        max(network.tags.source_code.width, network.tags.code.width),
        network.packet["payload"].width,
        sequence=sequence,
        length=network.lengths[1].bit_length() if network.packet.flits else 0,
        destination=network.consumes_tags,
        time=time,
        offered=offered,
        message=message,
        word=word,
    )
