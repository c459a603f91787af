"""Destinations drawn from a table in memory, with any probabilities."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..graphs.address_codes import AddressCode
from ..primitives.xoroshiro import Xoroshiro128

__all__ = ["CHANCE_BITS", "check_slots", "draw_destination", "table_row"]

CHANCE_BITS = 24
"""A slot of the table gives its first destination with a probability in steps of 2^-24."""

_MOST_SLOTS = 1 << 64 - CHANCE_BITS


def table_row(code: AddressCode) -> data.StructLayout:
    """A slot of a table: its first destination with probability `chance` / 2^24, else the other.

    With slots of equal probability, this gives any distribution (Walker's alias method).
    """
    return data.StructLayout({"chance": CHANCE_BITS, "first": code.width, "other": code.width})


def check_slots(slots: int) -> int:
    """Check the number of slots of a table: a power of two, or 0 for no table."""
    slots = check_integer("Slots", slots, 0, _MOST_SLOTS)
    if slots & (slots - 1) or slots == 1:
        raise InvalidValue(f"Slots must be 0 or a power of two, at least 2, not {slots}")
    return slots


def draw_destination(
    m: Module, seed: Value, code: AddressCode, slots: int, table: tuple[int, ...]
) -> tuple[Value, Value]:
    """Add a table in the submodule `table` and its own random numbers.

    Returns
    -------
    tuple[Value, Value]
        Whether a destination was drawn, which is so from the third cycle after reset on; and its
        code, a new one in each cycle.
    """
    layout = table_row(code)
    m.submodules.table = memory = Memory(shape=layout.size, depth=slots, init=table)
    m.submodules.table_random = random = Xoroshiro128()
    port = memory.read_port()
    row = data.View(layout, port.data)
    drawn = Signal(name="destination_drawn")
    m.d.comb += [
        random.seed.eq(seed.rotate_left(32)),
        port.addr.eq(random.value[-len(port.addr) :]),
    ]
    m.d.sync += drawn.eq(random.valid)
    return drawn, Mux(random.value[:CHANCE_BITS] < row.chance, row.first, row.other)
