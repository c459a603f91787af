"""The switching modes of a multistage network: the boxes of each, and the parameters it accepts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from ...boxes import InputQueuedSwitch, OutputQueuedSwitch
from ...boxes.circuit import POLICIES, CircuitBox
from ...boxes.circuit_terminals import CircuitInitiator, CircuitResponder
from ...boxes.rejecting_wormhole import RejectingWormholeSwitch
from ...boxes.unbuffered import UnbufferedSwitch
from ...boxes.wormhole import CutThroughSwitch, WormholeSwitch
from ...core.checks import check_integer
from ...core.errors import InvalidValue
from ...core.fabric import CellType
from ...primitives.packet import Packet
from ...terminals.resubmission import Acceptor, Resubmitter
from ...terminals.retry import RetryInterface, RetryReceiver
from ...topology.tags import TagScheme
from ..network import Theory

if TYPE_CHECKING:
    from .parameters import MultistageParameters

__all__ = ["DEEPEST", "QUEUES", "REFILLS", "SWITCHES", "Ends", "Switching"]

REFILLS = ("auto", "yes", "no")
"""Whether a slot of a queue that is freed in a cycle can be filled in the same cycle."""

QUEUES = ("input", "crosspoint")
"""Where a cut-through switch has its queues."""

DEEPEST = 2**16
"""Largest number of packets or flits that fit into a queue."""

Ends = tuple[tuple[str, CellType], tuple[str, CellType]]
"""Name and type of the cells before the first boxes, and of those behind the last ones."""


class Switching:
    """A switching mode of a multistage network.

    Attributes
    ----------
    name, description : str
    flits : bool
        Whether packets can have several flits.
    depth : int or None
        The depth of its queues if it is fixed; None if there is a choice.
    policies : tuple[str, ...]
        The policies that it can have; the first is the default.
    options : frozenset[str]
        The parameters of `OPTIONS`, which not all switches have, that it accepts.
    resubmit : int
        Default of the parameter, for the policies that drop.
    parity : bool
        Whether packets of one flit can carry parity.
    circuits : bool
        Whether links are those of circuits, on which outputs may follow inputs within a cycle.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    flits: ClassVar[bool] = False
    depth: ClassVar[int | None] = None
    policies: ClassVar[tuple[str, ...]] = ("hold",)
    options: ClassVar[frozenset[str]] = frozenset()
    resubmit: ClassVar[int] = 0
    parity: ClassVar[bool] = True
    circuits: ClassVar[bool] = False

    def own_depth(self, longest: int) -> int:
        """The depth for "auto", if packets have at most `longest` flits."""
        return 4 if self.depth is None else self.depth

    def resolve_depth(self, depth: int | Literal["auto"], longest: int) -> int:
        """The depth of the queues: the given one, or the default of the switch.

        Raises
        ------
        TypeError, ValueError
            If the switch can't have this depth.
        """
        if depth == "auto":
            return self.own_depth(longest)
        if self.depth is None:
            depth = check_integer("Depth", depth, 1, DEEPEST)
        elif depth != self.depth:
            raise InvalidValue(f"Depth of switch {self.name} must be {self.depth}, not {depth}")
        return depth

    def has_flits(self, longest: int) -> bool:
        """Whether words are flits, with a bit that marks the last, for packets of this length."""
        return self.flits

    def rejects(self, policy: str, broadcast: int) -> bool:
        """Whether packets can be dropped, or rejected and sent again."""
        return policy != "hold"

    def boxes(
        self, given: "MultistageParameters", packet: Packet, radices: Sequence[int]
    ) -> Sequence[CellType]:
        """The type of the boxes of each stage, for packets as the boxes see them."""
        types = {radix: self.box(given, packet, radix) for radix in radices}
        return [types[radix] for radix in radices]

    def box(self, given: "MultistageParameters", packet: Packet, radix: int) -> CellType:
        """The type of a box of this radix, if it is the same in all stages."""
        raise NotImplementedError

    def ends(
        self, given: "MultistageParameters", packet: Packet, tags: TagScheme, stages: int
    ) -> Ends | None:
        """The network interfaces that the boxes need at the terminals, if any.

        `packet` is the layout at the terminals, `stages` the number of boxes on a path.
        """
        return None

    def keeps_order(self, given: "MultistageParameters") -> bool:
        """Whether packets of a flow stay in order in one copy of the network."""
        return True

    def theory(self, given: "MultistageParameters", radices: Sequence[int]) -> Theory | None:
        """The formula for a network of these boxes, or None; `radices` are those on a path."""
        return None


def _common(given: "MultistageParameters", packet: Packet, radix: int) -> dict[str, object]:
    return {"packet": packet, "radix": radix, "routing": given.routing}


class Unbuffered(Switching):
    name = "unbuffered"
    description = "one register per link; packets that lose a conflict are dropped"
    depth = 1
    policies = ("drop",)
    options = frozenset({"dilation", "replication", "resubmit", "broadcast"})

    def boxes(
        self, given: "MultistageParameters", packet: Packet, radices: Sequence[int]
    ) -> Sequence[CellType]:
        stages = len(radices)
        return [
            CellType(
                UnbufferedSwitch,
                **_common(given, packet, radix),
                dilation_in=1 if stage == 0 else given.dilation,
                dilation_out=1 if stage == stages - 1 else given.dilation,
                reject=stages if given.resubmit else 0,
            )
            for stage, radix in enumerate(radices)
        ]

    def ends(
        self, given: "MultistageParameters", packet: Packet, tags: TagScheme, stages: int
    ) -> Ends | None:
        if not given.resubmit:
            return None
        first = CellType(Resubmitter, packet=packet, stages=stages, delay=given.resubmit)
        return ("resubmitter", first), ("acceptor", CellType(Acceptor, packet=packet))

    def keeps_order(self, given: "MultistageParameters") -> bool:
        return not given.resubmit

    def theory(self, given: "MultistageParameters", radices: Sequence[int]) -> Theory:
        size = {"radices": tuple(radices)}
        if given.resubmit:
            return Theory("resubmission", {**size, "delay": given.resubmit})
        return Theory(
            "unbuffered", {**size, "dilation": given.dilation, "replication": given.replication}
        )


_QUEUED = frozenset({"replication", "broadcast", "refill", "extra_stage"})


class InputQueued(Switching):
    name = "input-queued"
    description = "a queue of packets at each input"
    options = _QUEUED
    component: ClassVar[type] = InputQueuedSwitch

    def box(self, given: "MultistageParameters", packet: Packet, radix: int) -> CellType:
        return CellType(self.component, **_common(given, packet, radix), **given.queue)


class SingleBuffered(InputQueued):
    name = "single-buffered"
    description = "room for one packet at each input"
    depth = 1


class OutputQueued(InputQueued):
    name = "output-queued"
    description = "a queue of packets at each output, which accepts all arrivals at once"
    component = OutputQueuedSwitch

    def theory(self, given: "MultistageParameters", radices: Sequence[int]) -> Theory | None:
        if given.replication > 1:
            return None
        size = {"radices": tuple(radices), "depth": given.depth}
        return Theory("buffered", size)


class Wormhole(Switching):
    name = "wormhole"
    description = "a queue of flits at each input; a blocked packet waits wherever its flits are"
    flits = True
    parity = False
    policies = ("hold", "drop")
    options = frozenset({"replication", "resubmit", "refill", "broadcast"})
    resubmit = 16

    def box(self, given: "MultistageParameters", packet: Packet, radix: int) -> CellType:
        if given.policy == "drop":
            return CellType(RejectingWormholeSwitch, **_common(given, packet, radix))
        return CellType(WormholeSwitch, **_common(given, packet, radix), **given.queue)

    def ends(
        self, given: "MultistageParameters", packet: Packet, tags: TagScheme, stages: int
    ) -> Ends | None:
        if given.policy == "hold":
            return None
        size = {"length_max": given.lengths[1], "delay": given.resubmit, "stages": stages}
        return (
            ("retry", CellType(RetryInterface, packet=packet, **size)),
            ("receiver", CellType(RetryReceiver, packet=packet)),
        )


class CutThrough(Switching):
    name = "cut-through"
    description = "like wormhole, but a blocked packet is buffered whole where its header waits"
    flits = True
    parity = False
    options = frozenset({"replication", "queues", "broadcast"})

    def own_depth(self, longest: int) -> int:
        return max(4, 2 * longest)

    def box(self, given: "MultistageParameters", packet: Packet, radix: int) -> CellType:
        size = {"depth": given.depth, "length": given.lengths[1]}
        return CellType(
            CutThroughSwitch, queues=given.queues, **_common(given, packet, radix), **size
        )

    def theory(self, given: "MultistageParameters", radices: Sequence[int]) -> Theory | None:
        shortest, longest = given.lengths
        if given.queues != "crosspoint" or given.replication > 1 or shortest < longest:
            return None
        size = {"radices": tuple(radices), "depth": given.depth, "length": longest}
        return Theory("crosspoints", size)


class Circuit(Switching):
    name = "circuit"
    description = "no storage: a path is set up, held for a packet, and released"
    flits = True
    depth = 0
    policies = POLICIES
    options = frozenset({"resubmit", "extra_stage", "broadcast"})
    resubmit = 8
    circuits = True

    def has_flits(self, longest: int) -> bool:
        return longest > 1

    def rejects(self, policy: str, broadcast: int) -> bool:
        return policy != "hold" or broadcast > 0

    def box(self, given: "MultistageParameters", packet: Packet, radix: int) -> CellType:
        limit = given.hold_limit if given.policy == "modified-hold" else 1
        return CellType(
            CircuitBox, policy=given.policy, hold_limit=limit, **_common(given, packet, radix)
        )

    def ends(
        self, given: "MultistageParameters", packet: Packet, tags: TagScheme, stages: int
    ) -> Ends:
        return (
            ("initiator", CellType(CircuitInitiator, packet=packet, delay=given.resubmit)),
            ("responder", CellType(CircuitResponder, packet=packet, tags=tags)),
        )


SWITCHES: dict[str, Switching] = {
    switching.name: switching
    for switching in (
        Unbuffered(),
        SingleBuffered(),
        InputQueued(),
        OutputQueued(),
        Wormhole(),
        CutThrough(),
        Circuit(),
    )
}
"""The kinds of switch that a multistage network can be made of, by name."""
