"""Wishbone (B4)."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..operations.bus_operations import check_data_bits

__all__ = ["Wishbone"]


class Wishbone(wiring.Signature):
    """A Wishbone bus, as an initiator sees it. The members are those of amaranth-soc's signature.

    Parameters
    ----------
    address : int
        Width of an address in bits; addresses count words.
    data : int
        Width of a word: 8, 16, 32 or 64 bits. Each byte has a bit in `sel`.

    bursts : bool
        Whether there are the tags of registered feedback, `cti` and `bte`.

    Members
    -------
    adr : Out(address)
    dat_w : Out(data)
    dat_r : In(data)
    sel : Out(data // 8)
    cyc, stb, we : Out(1)
    ack, err : In(1)
    cti : Out(3)
    bte : Out(2)
    """

    def __init__(self, *, address: int, data: int, bursts: bool = False) -> None:
        self.address = address
        self.bursts = bursts
        self.data = check_data_bits(data)
        super().__init__(
            {
                "adr": Out(address),
                "dat_w": Out(data),
                "dat_r": In(data),
                "sel": Out(data // 8),
                "cyc": Out(1),
                "stb": Out(1),
                "we": Out(1),
                "ack": In(1),
                "err": In(1),
                **({"cti": Out(3), "bte": Out(2)} if bursts else {}),
            }
        )
