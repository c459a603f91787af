"""The switching modes of a multistage network: the boxes of each, and the parameters it accepts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from amaranth.lib import wiring

from ...boxes import InputQueuedSwitch, OutputQueuedSwitch
from ...boxes.circuit import POLICIES, CircuitBox
from ...boxes.circuit_copies import CircuitDistributor, CircuitMerger
from ...boxes.pipelined_switches import PipelinedFlitSwitch, PipelinedSwitch
from ...boxes.rejecting_wormhole import RejectingWormholeSwitch
from ...boxes.unbuffered import UnbufferedSwitch
from ...boxes.wormhole import CutThroughSwitch, WormholeSwitch
from ...fabric.cell import CellType
from ...fabric.checks import check_integer, check_kind, shown
from ...fabric.errors import InvalidValue
from ...graphs.plans.multistage import MultistagePlan
from ...graphs.tags import TagScheme
from ...links.packet import Packet
from ...networks.network import Theory
from ...switch.entry import InputQueue
from ...switch.exit import Exit
from ...switch.grant import Grant
from ...switch.route import DigitRoute
from ...switch.shape import RouterShape
from ...switch.switch import Switch
from ...terminals.circuit_terminals import CircuitInitiator, CircuitResponder
from ...terminals.replication import Distributor, Merger
from ...terminals.resubmission import Acceptor, Resubmitter
from ...terminals.retry import RetryInterface, RetryReceiver

if TYPE_CHECKING:
    from .multistage_parameters import StageParameters

__all__ = ["DEEPEST", "LINKS", "MEMORIES", "QUEUES", "REFILLS", "SWITCHES", "Ends", "SwitchingMode"]

REFILLS = ("auto", "yes", "no")
"""Whether a slot of a queue that is freed in a cycle can be filled in the same cycle."""

QUEUES = ("input", "crosspoint")
"""Where a cut-through switch has its queues."""

LINKS = ("channels", "latency", "decision", "arbiter", "classes")
"""Parameters of boxes that are made as routers are (`SwitchingMode.linked_box`)."""

MEMORIES = {"auto": None, "shared": False, "separate": True}
"""Whether the inputs of an output-queued box have separate memories."""

DEEPEST = 2**16
"""Largest number of packets or flits that fit into a queue."""

Ends = tuple[tuple[str, CellType], tuple[str, CellType]]
"""Name and type of the cells before the first boxes, and of those behind the last ones."""


class SwitchingMode:
    """A switching mode of a multistage network.

    Attributes
    ----------
    name, description : str
        The value of the parameter `switch`, and what it means in a line.
    flits : bool
        Whether packets can have several flits.
    depth : int or None
        The depth of its queues if it is fixed; None if there is a choice.
    policies : tuple[str, ...]
        The policies that it can have; the first is the default.
    options : frozenset[str]
        The parameters that not all switches have and that it accepts.
    resubmit : int
        Default of the parameter, for the policies that drop.
    parity : bool
        Whether packets can carry parity.
    circuits : bool
        Whether links are those of circuits, on which outputs may follow inputs within a cycle.
    rectangular : bool
        Whether the component of its boxes takes another number of `outputs` than of inputs.
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
    rectangular: ClassVar[bool] = False

    def __str__(self) -> str:
        return self.name

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
            raise InvalidValue(
                f"Depth of switch {self.name} must be {self.depth}, not {shown(depth)}"
            )
        return depth

    def has_flits(self, longest: int) -> bool:
        """Whether words are flits, with a bit that marks the last, for packets of this length."""
        return self.flits

    def rejects(self, policy: str, broadcast: int) -> bool:
        """Whether packets can be dropped, or rejected and sent again."""
        return policy != "hold"

    def boxes(
        self, given: "StageParameters", packet: Packet, plan: MultistagePlan
    ) -> Sequence[CellType]:
        """The type of the boxes of each stage, for packets as the boxes see them."""
        places = _places(given, plan)
        box = self.linked_box if given.has_links else self.box
        types = {place: box(given, packet, place) for place in places}
        for type_ in types.values():
            check_kind(f"Box of switch {self.name}", type_, CellType, "a CellType")
        return [types[place] for place in places]

    def box(self, given: "StageParameters", packet: Packet, place: "Place") -> CellType:
        """The type of a box, which is the same for all places that are equal."""
        raise NotImplementedError

    def linked_box(self, given: "StageParameters", packet: Packet, place: "Place") -> CellType:
        """A box with virtual channels, an arbiter or a decision time, or links of several cycles.

        Over such a link the sender must know that a whole packet has room, if that is required.
        """
        entry, exit_ = self.entry(given, place), Exit(arbiter=given.between)
        if entry.room > 1 and given.latency > 1:
            exit_ = replace(exit_, switching="cut-through", longest=entry.room)
            entry = replace(entry, room=1)
        return CellType(
            Switch,
            packet=packet,
            shape=RouterShape.of_stage(
                place.radix,
                place.outputs,
                channels=(place.dilation_in, place.dilation_out),
                credits=given.latency > 1 and not place.first,
                last=place.last,
                classes=given.classes,
            ),
            route=DigitRoute(
                place.outputs,
                given.routing,
                place.dilation_out,
                (given.classes - 1).bit_length() if place.last else 0,
            ),
            entry=entry,
            grant=Grant(given.inner_arbiter, given.decision),
            exit=exit_,
        )

    def entry(self, given: "StageParameters", place: "Place") -> InputQueue:
        """The queues of a `linked_box`."""
        return InputQueue(int(given.depth), _refills(given, 1))

    def ends(
        self, given: "StageParameters", packet: Packet, tags: TagScheme, stages: int
    ) -> Ends | None:
        """The network interfaces that the boxes need at the terminals, if any.

        `packet` is the layout at the terminals, `stages` the number of boxes on a path.
        """
        return None

    def copies(self, given: "StageParameters", packet: Packet) -> tuple[CellType, CellType]:
        """What connects a terminal to the copies of a network: a random choice, and a merger.

        With the policy drop, a terminal takes one of several packets that arrive at once, and drops
        the others; if not, they wait.
        """
        kind: dict[str, Any] = {"packet": packet, "copies": given.replication}
        kind |= {"verdicts": True} if given.resubmit else {}
        merging = "fair" if given.policy == "hold" else "drop"
        return CellType(Distributor, **kind), CellType(Merger, policy=merging, **kind)

    def keeps_order(self, given: "StageParameters") -> bool:
        """Whether packets of a flow stay in order in one copy of the network."""
        return True

    def header_cycles(self, given: "StageParameters", stages: int) -> int:
        """Most cycles of an unhindered header in that many boxes, and in their interfaces."""
        return stages * (1 + given.pipeline)

    def theory(self, given: "StageParameters", radices: Sequence[int]) -> Theory | None:
        """The formula for a network of these boxes, or None; `radices` are those on a path."""
        return None


class Place(NamedTuple):
    """What the boxes of a stage have to know: their radix, how many links a bundle has, or channels
    a link, and whether terminals are before or behind them."""

    radix: int
    outputs: int
    dilation_in: int
    dilation_out: int
    first: bool
    last: bool

    @property
    def lanes(self) -> dict[str, int]:
        """The arguments of a box that has bundles of links; none for one with single links."""
        if self.dilation_in == self.dilation_out == 1:
            return {}
        return {"dilation_in": self.dilation_in, "dilation_out": self.dilation_out}


def _places(given: "StageParameters", plan: MultistagePlan) -> list[Place]:
    """The place of the boxes of each stage: at the terminals there is a link for each class."""
    last = len(plan.stages) - 1
    inside = [given.lanes] * last
    ends = given.classes
    sides = zip(plan.radices, plan.outputs, [ends, *inside], [*inside, ends])
    return [Place(*each, stage == 0, stage == last) for stage, each in enumerate(sides)]


def _common(given: "StageParameters", packet: Packet, place: Place) -> dict[str, object]:
    outputs = {} if place.outputs == place.radix else {"outputs": place.outputs}
    return {"packet": packet, "radix": place.radix, "routing": given.routing, **outputs}


def _pipelined(
    component: type[wiring.Component],
    given: "StageParameters",
    packet: Packet,
    place: Place,
    **own: int,
) -> CellType:
    """A box with a pipeline; `own` are the parameters that only this component has."""
    size = {"depth": given.depth, "pipeline": given.pipeline, **own}
    return CellType(component, **_common(given, packet, place), **size)


class Unbuffered(SwitchingMode):
    name = "unbuffered"
    description = "one register per link; packets that lose a conflict are dropped"
    depth = 1
    policies = ("drop",)
    rectangular = True
    options = frozenset({"dilation", "replication", "resubmit", "broadcast"})

    def boxes(
        self, given: "StageParameters", packet: Packet, plan: MultistagePlan
    ) -> Sequence[CellType]:
        reject = len(plan.stages) if given.resubmit else 0
        return [
            CellType(
                UnbufferedSwitch,
                **_common(given, packet, place),
                dilation_in=place.dilation_in,
                dilation_out=place.dilation_out,
                reject=reject,
            )
            for place in _places(given, plan)
        ]

    def ends(
        self, given: "StageParameters", packet: Packet, tags: TagScheme, stages: int
    ) -> Ends | None:
        if not given.resubmit:
            return None
        first = CellType(Resubmitter, packet=packet, stages=stages, delay=given.resubmit)
        return ("resubmitter", first), ("acceptor", CellType(Acceptor, packet=packet))

    def keeps_order(self, given: "StageParameters") -> bool:
        return not given.resubmit

    def theory(self, given: "StageParameters", radices: Sequence[int]) -> Theory:
        size = {
            **{"radices": tuple(radices), "dilation": given.dilation},
            **{"replication": given.replication},
        }
        if given.resubmit:
            return Theory("resubmission", {**size, "delay": given.resubmit})
        return Theory("unbuffered", size)


_QUEUED = frozenset({"dilation", "replication", "broadcast", "refill", "extra_stage"})


def _refills(given: "StageParameters", full: int) -> bool:
    """Whether a slot freed in a cycle can be filled in it: by default, at the depth `full`."""
    if given.channels * given.classes > 1 or given.latency > 1:
        return False
    return given.depth == full if given.refill == "auto" else given.refill == "yes"


class InputQueued(SwitchingMode):
    name = "input-queued"
    description = "a queue of packets at each input"
    rectangular = True
    options = _QUEUED | {"pipeline"} | {*LINKS}

    def box(self, given: "StageParameters", packet: Packet, place: Place) -> CellType:
        common = _common(given, packet, place)
        if given.pipeline:
            return _pipelined(PipelinedSwitch, given, packet, place)
        return CellType(InputQueuedSwitch, **common, **given.queue, **place.lanes)

    def keeps_order(self, given: "StageParameters") -> bool:
        return given.dilation * given.channels == 1


class SingleBuffered(InputQueued):
    name = "single-buffered"
    description = "room for one packet at each input"
    options = _QUEUED
    depth = 1


class OutputQueued(InputQueued):
    name = "output-queued"
    description = "a queue of packets at each output, which accepts all arrivals at once"
    options = _QUEUED | {"memories"}

    def box(self, given: "StageParameters", packet: Packet, place: Place) -> CellType:
        common = {**_common(given, packet, place), **given.queue, **place.lanes}
        if given.memories != "auto":
            common["separate"] = MEMORIES[given.memories]
        return CellType(OutputQueuedSwitch, **common)

    def theory(self, given: "StageParameters", radices: Sequence[int]) -> Theory | None:
        if given.replication > 1 or given.dilation > 1:
            return None
        size = {"radices": tuple(radices), "depth": given.depth}
        return Theory("buffered", size)


class _Flits(SwitchingMode):
    """Switches for packets of several flits."""

    flits = True
    parity = False
    rectangular = True

    def keeps_order(self, given: "StageParameters") -> bool:
        return given.channels == 1

    def header_cycles(self, given: "StageParameters", stages: int) -> int:
        return stages * (given.pipeline + 2 if given.pipeline else 1)


class Wormhole(_Flits):
    name = "wormhole"
    description = "a queue of flits at each input; a blocked packet waits wherever its flits are"
    policies = ("hold", "drop")
    options = frozenset({"replication", "resubmit", "refill", "broadcast", "pipeline"}) | {*LINKS}
    resubmit = 16

    def box(self, given: "StageParameters", packet: Packet, place: Place) -> CellType:
        if given.pipeline:
            return _pipelined(PipelinedFlitSwitch, given, packet, place)
        if given.policy == "drop":
            return CellType(RejectingWormholeSwitch, **_common(given, packet, place))
        return CellType(WormholeSwitch, **_common(given, packet, place), **given.queue)

    def ends(
        self, given: "StageParameters", packet: Packet, tags: TagScheme, stages: int
    ) -> Ends | None:
        if given.policy == "hold":
            return None
        size = {"length_max": given.lengths[1], "delay": given.resubmit, "stages": stages}
        return (
            ("retry", CellType(RetryInterface, packet=packet, **size)),
            ("receiver", CellType(RetryReceiver, packet=packet)),
        )

    def header_cycles(self, given: "StageParameters", stages: int) -> int:
        interface = 0 if given.policy == "hold" else 1
        return super().header_cycles(given, stages) + interface


class CutThrough(_Flits):
    name = "cut-through"
    description = "like wormhole, but a blocked packet is buffered whole where its header waits"
    options = frozenset({"replication", "queues", "broadcast", "pipeline"}) | {*LINKS}
    stores = False

    def own_depth(self, longest: int) -> int:
        return max(4, 2 * longest)

    def box(self, given: "StageParameters", packet: Packet, place: Place) -> CellType:
        if given.pipeline:
            return _pipelined(PipelinedFlitSwitch, given, packet, place, room=given.lengths[1])
        size = {"depth": given.depth, "length": given.longest}
        # A source holds its packets whole, so the boxes of the first stage need not wait for them.
        storing = {"store": True} if self.stores and not place.first else {}
        common = _common(given, packet, place)
        return CellType(CutThroughSwitch, queues=given.queues, **common, **size, **storing)

    def entry(self, given: "StageParameters", place: Place) -> InputQueue:
        full, stores = given.longest, self.stores and not place.first
        return InputQueue(int(given.depth), _refills(given, full), full, stores)

    def theory(self, given: "StageParameters", radices: Sequence[int]) -> Theory | None:
        shortest, longest = given.lengths
        if given.queues != "crosspoint" or given.replication > 1 or shortest < longest:
            return None
        size = {"radices": tuple(radices), "depth": given.depth, "length": longest}
        return Theory("crosspoints", size)


class StoreAndForward(CutThrough):
    name = "store-and-forward"
    description = "a packet is stored whole before its header goes on"
    options = CutThrough.options - {"pipeline"}
    stores = True

    def theory(self, given: "StageParameters", radices: Sequence[int]) -> Theory | None:
        theory = super().theory(given, radices)
        return theory and Theory(theory.model, {**theory.arguments, "cut_through": False})


def _blocking(given: "StageParameters") -> dict[str, Any]:
    """What happens to circuit requests that are refused."""
    limit = given.hold_limit if given.policy == "modified-hold" else 1
    return {"policy": given.policy, "hold_limit": limit}


class Circuit(SwitchingMode):
    name = "circuit"
    description = "no storage: a path is set up, held for a packet, and released"
    flits = True
    depth = 0
    policies = POLICIES
    options = frozenset({"dilation", "replication", "resubmit", "extra_stage", "broadcast"})
    resubmit = 8
    circuits = True

    def has_flits(self, longest: int) -> bool:
        return longest > 1

    def rejects(self, policy: str, broadcast: int) -> bool:
        return policy != "hold" or broadcast > 0

    def header_cycles(self, given: "StageParameters", stages: int) -> int:
        return stages + 1  # the request passes a box a cycle, and then the header passes all

    def box(self, given: "StageParameters", packet: Packet, place: Place) -> CellType:
        common = _common(given, packet, place)
        return CellType(CircuitBox, **_blocking(given), **common, **place.lanes)

    def copies(self, given: "StageParameters", packet: Packet) -> tuple[CellType, CellType]:
        kind = {"packet": packet, "copies": given.replication}
        merger = CellType(CircuitMerger, **_blocking(given), **kind)
        return CellType(CircuitDistributor, **kind), merger

    def ends(self, given: "StageParameters", packet: Packet, tags: TagScheme, stages: int) -> Ends:
        # A request that damage to its tag led astray is reported like other damage.
        reports = {"reports": True} if given.parity != "none" and not given.resubmit else {}
        return (
            ("initiator", CellType(CircuitInitiator, packet=packet, delay=given.resubmit)),
            ("responder", CellType(CircuitResponder, packet=packet, tags=tags, **reports)),
        )


SWITCHES: dict[str, SwitchingMode] = {
    switching.name: switching
    for switching in (
        Unbuffered(),
        SingleBuffered(),
        InputQueued(),
        OutputQueued(),
        Wormhole(),
        CutThrough(),
        StoreAndForward(),
        Circuit(),
    )
}
"""The kinds of switch that a multistage network can be made of, by name."""
