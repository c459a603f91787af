"""What the bench writes into a packet's payload, so that its arrival can be judged."""

from amaranth.lib import data

__all__ = ["SEQUENCE_BITS", "TIME_BITS", "Stamp"]

SEQUENCE_BITS = 4
TIME_BITS = 20


class Stamp(data.StructLayout):
    """The payload of a packet of the bench.

    `source` (its address code) and `sequence` (number in its flow from this source to one
    destination, modulo 16) identify the packet; `birth` is the cycle in which it came into being,
    and `offered` the cycle in which it reached the head of its source's queue and so the input of
    the network. Both are modulo 2^20: latencies below 1,048,576 cycles are exact.

    Parameters
    ----------
    address : int
        Width of an address code in bits.
    payload : int
        Width of the whole payload, which may be more than the stamp needs.
    """

    def __init__(self, address: int, payload: int = 0) -> None:
        fields = {
            "source": address,
            "sequence": SEQUENCE_BITS,
            "birth": TIME_BITS,
            "offered": TIME_BITS,
        }
        spare = payload - sum(fields.values())
        if spare > 0:
            fields["unused"] = spare
        super().__init__(fields)
