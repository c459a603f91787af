"""The router of static networks: worms that hold outputs, virtual channels, and shared links."""

from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..primitives.class_arbiter import ClassArbiter
from ..switch.entry import InputQueue
from ..switch.exit import Exit
from ..switch.grant import Grant
from ..switch.merge import Groups
from ..switch.route import RouteLogic
from ..switch.rules import check_room
from ..switch.selection import Selection
from ..switch.shape import RouterShape, Switching
from ..switch.switch import Switch

__all__ = ["WormRouter", "check_worms"]


def check_worms(packet: Packet, tag: int, network: str) -> None:
    """Raise ValueError if packets have no flits, or their tag does not fit a network."""
    if not packet.flits:
        raise InvalidValue("Packet must have flits")
    if packet.members["tag"] != tag:
        raise InvalidValue(
            f"Tag of a packet must have {tag} bits in a {network}, not {packet.members['tag']}"
        )


class WormRouter(Switch):
    """A queue of flits at each input, and each output held by one worm at a time.

    Inputs and outputs are virtual channels of links, and terminals; `shape` lists them. A header
    leaves one cycle after it arrived, if no flit is before it and an output that it requests is
    free. This output belongs to the worm until its tail has passed, and can take the next header in
    the cycle after it. An arbiter at each output chooses among the worms. Headers do not change.

    The outputs that a header may take are computed when it arrives, and are stored with it in the
    queue. So this logic is on the path into the queue's memory, and not on the longer path out of
    it, through the arbiters and back to the queues. They are computed by `logic`, or looked up in
    a table outside, by the port `tag` (combinationally, in the same cycle). With `single`,
    gates that are `quick` are behind the queue, and nothing is stored.

    *Choice*: a header that may take several outputs requests all of them. Of those granted in the
    same cycle, it takes one whose receiver is ready, if there is any; preferably not an escape
    channel; and the lowest of these. The others are unused in this cycle, and their arbiters
    advance to the next worm. (With round-robin arbiters and a `shape` with equal choices they stay,
    since otherwise all of them would choose the same worm in every cycle.) A header may enter a
    channel that is no escape channel only while the queue behind it is empty, so that no header
    waits in it behind another worm.

    *Selection*: other than with "first-free", one of these outputs is selected already when the
    header arrives; it is on the path into the queue too (`Selector`).

    *Switching*: with "wormhole" a header leaves as soon as the output is free; with "cut-through"
    only while its whole packet fits into the queue behind the link; with "store-and-forward" only
    when, in addition, its whole packet is in this queue. For the latter two, channels that are no
    escape channels need not be empty.

    *Decision time* (Ould-Khaoua and Sotudeh, III, D_t): a header that continues over a link leaves
    `decision` cycles after it arrived, if no flit is before it and the output is free. The decision
    is made while it is at the head of its queue, for one header at a time at each input, while
    other worms may use the output. No decision is needed at the destination: there a header leaves
    one cycle after it arrived, which is the cycle of its own flit. So over h links an unblocked
    packet of B flits takes h D_t + B cycles, as in equation (3), from the cycle in which its header
    is offered to the cycle in which its tail is taken.

    Outputs that are channels of one link share its wires: one flit per cycle, in turn if several
    have a flit that can go. So `valid` of such a channel is 1 only if `ready` is.

    *Discarding*: with a `timeout`, a header that came over a link and has not moved for so many
    cycles is taken to be in a deadlock. The router takes back the output that it may have been
    granted, and swallows its packet, one flit per cycle as they come, until the tail; so everything
    behind it can move. Nothing of this packet has left the router, so a packet is discarded as a
    whole or not at all. A header that is at its destination is never discarded, because a terminal
    takes what arrives; nor is one that comes from a terminal, because it holds no link. Somebody
    else must send the packet again (`terminals.retransmission`).

    Only the turns that `shape` names have wires.

    `i[*].ready` depends only on registers, so that no combinational path leads around a cycle of
    nodes; hence a queue of depth 1 has half the throughput. `o[*].valid` and `.payload` depend on
    registers and memories; if channels share wires, or headers have a choice, also on `o[*].ready`.
    `space` and `freed` depend on registers and, for `freed`, on `o[*].ready`.

    *With `refill`* a queue accepts a flit in the cycle in which its head leaves, so depth 1 has the
    full throughput, as wormhole theory assumes. `i[p].ready` then depends on `o[q].ready` where a
    worm can turn from p to q: these paths follow the channel dependencies, which have no cycle if
    the routing is free of deadlock. A link's first channel must not wait for the second one's
    `ready`, which may depend on it. It gives way in its turn only if the second was ready in the
    cycle before and sent nothing, since then it still is. Headers must not have a choice, and a
    link has at most two channels.

    Parameters
    ----------
    packet, shape, logic, selection, weights
        As in `RoutedSwitch`. Packets have flits.
    depth : int
        Flits that fit into each queue, at least 1. With wormhole switching packets may be longer.
    decision : int
        Decision time in cycles, at least 1.
    switching : "wormhole", "cut-through" or "store-and-forward"
    longest : int
        Flits of the longest packet; not for wormhole switching.
    arbiter : str
        One of `primitives.arbiters.ARBITERS`.
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle.
    levels : bool
        Whether it has outputs for the numbers of flits in its queues.
    timeout : int
        Cycles after which a header that does not move is discarded with its packet; 0 for never.
    single : bool
        Whether all packets have one flit. Then nothing remembers worms, and `last` is not looked
        at: it is 1 at all outputs.
    between : ClassArbiter, optional
        Which of several classes of messages uses the wires of a link.
    groups : Groups, optional
        As in `Switch`. Multicasts are copied at once with wormhole switching, and otherwise in
        passes.

    Members
    -------
    address, seed, i, o, tag, exits, open, space, freed, level, discarded, group, copies,
    mergeable, merged, row, late, late_group
        As in `Switch`.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        logic: RouteLogic | None = None,
        depth: int,
        decision: int = 1,
        switching: Switching = "wormhole",
        longest: int = 1,
        arbiter: str = "round-robin",
        refill: bool = False,
        levels: bool = False,
        selection: Selection = "first-free",
        weights: int = 1,
        timeout: int = 0,
        single: bool = False,
        groups: Groups | None = None,
        between: ClassArbiter | None = None,
    ) -> None:
        if switching != "wormhole":
            check_room(depth, longest, f"with {switching} switching")
        if not packet.flits:
            raise InvalidValue("Packet must have flits")
        if packet.broadcast:
            raise InvalidValue("Packet of several flits must not have a broadcast mask")
        super().__init__(
            packet,
            shape,
            route=logic,
            entry=InputQueue(
                depth,
                refill=refill,
                store=switching == "store-and-forward",
                replay=groups is not None and switching != "wormhole",
            ),
            grant=Grant(arbiter, decision, selection, weights, timeout),
            exit=Exit(switching=switching, longest=longest, arbiter=between),
            single=single,
            levels=levels,
            groups=groups,
        )
