"""Which channel of a link uses its wires."""

from collections.abc import Sequence
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Signal, Value

from ..primitives.class_arbiter import ClassArbiter
from ..primitives.round_robin import RoundRobin

__all__ = ["Wires", "shared_wires"]


class Wires(NamedTuple):
    """The wires of a link, for each of its channels.

    Attributes
    ----------
    taken : list[Value]
        Whether it uses them; at most one does.
    free : list[Value]
        Whether it would, if it has a flit and its receiver is ready: by a shorter path.
    """

    taken: list[Value]
    free: list[Value]


def shared_wires(
    m: Module,
    link: int,
    channels: Sequence[tuple[Value, Value]],
    *,
    refill: bool = False,
    arbiter: ClassArbiter | None = None,
) -> Wires:
    """Which channel of a link uses the wires in this cycle: in turn, if several could.

    Parameters
    ----------
    m : Module
        Where the logic is added.
    link : int
        The number of the link, for names.
    channels : Sequence[tuple[Value, Value]]
        For each channel, whether it has a flit, and whether its receiver is ready.
    refill : bool
        Whether the first of two channels must not wait for the second one's `ready`.
    arbiter : ClassArbiter, optional
        What chooses instead, if the channels are of several classes of messages.
    """
    if len(channels) == 1:
        return Wires([Const(1)], [Const(1)])
    goes = [offered & ready for offered, ready in channels]
    if arbiter is not None:
        granted = arbiter.grant(m, f"turn_{link}", goes)
        return Wires(granted, granted)
    if len(channels) > 2:
        m.submodules[f"turn_{link}"] = turns = RoundRobin(len(goes))
        m.d.comb += [turns.request.eq(Cat(goes)), turns.taken.eq(1)]
        return Wires(list(turns.granted), list(turns.granted))
    turn = Signal(name=f"turn_{link}")
    first, second = (Signal(name=f"{name}_{link}") for name in ("first", "second"))
    yields = turn & goes[1]
    if refill:
        # Nothing was sent to a ready receiver, so it is still ready.
        sure = Signal(name=f"sure_{link}")
        m.d.sync += sure.eq(channels[1][1] & ~second)
        yields = turn & sure & channels[1][0]
    m.d.comb += [first.eq(goes[0] & ~yields), second.eq(goes[1] & ~first)]
    m.d.sync += turn.eq(first | turn & ~second)
    return Wires([first, second], [~yields, ~(goes[0] & ~turn)])
