"""The messages that the nodes of a hypercube store and send."""

from collections.abc import Iterable, Sequence

from amaranth.hdl import Const, ShapeLike, Value
from amaranth.lib import data

__all__ = ["Message", "Slot", "chosen", "earliest", "ones"]


class Message(data.StructLayout):
    """A message on its way between nodes.

    `relative` is the exclusive or of the address of the current node and that of the destination: a
    1 for every dimension that the message still has to cross. `processor` is the receiving
    processor at the destination, if nodes have several. `born` is the step in which it was
    injected, modulo 2^age, if priority depends on age.

    Parameters
    ----------
    dimensions : int
        Width of `relative`.
    processor_bits, age : int
        Widths of `processor` and `born`; a field of width 0 is absent.
    payload : ShapeLike
    """

    def __init__(self, dimensions: int, processor_bits: int, age: int, payload: ShapeLike) -> None:
        super().__init__(
            {
                "relative": dimensions,
                **({"processor": processor_bits} if processor_bits else {}),
                **({"born": age} if age else {}),
                "payload": payload,
            }
        )


class Slot(data.StructLayout):
    """A place for a message, with a bit that says whether there is one."""

    def __init__(self, message: Message) -> None:
        super().__init__({"valid": 1, "message": message})


def earliest(wanting: Value, before: Sequence[Value]) -> list[Value]:
    """The one of the `wanting` candidates that comes before all others of them, one flag each.

    Bit j of `before[i]` says that candidate j comes before candidate i.
    """
    return [want & ~(wanting & before[i]).any() for i, want in enumerate(wanting)]


def chosen(flags: Sequence[Value], values: Sequence[Value]) -> Value:
    """The value whose flag is 1; zero if there is none. At most one flag may be 1."""
    result: Value = Const(0)
    for flag, value in zip(flags, map(Value.cast, values)):
        result |= value & flag.replicate(len(value))
    return result


def ones(flags: Iterable[Value]) -> Value:
    """The number of flags that are 1, by a tree of adders."""
    sums: list[Value] = list(flags) or [Const(0)]
    while len(sums) > 1:
        pairs = zip(sums[::2], sums[1::2])
        sums = [a + b for a, b in pairs] + sums[len(sums) & ~1 :]
    return sums[0]
