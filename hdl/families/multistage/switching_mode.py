"""What a multistage network asks about the kind of its switches."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from ...fabric.cell import CellType
from ...fabric.checks import check_integer, check_kind, shown
from ...fabric.errors import InvalidValue
from ...graphs.plans.multistage import MultistagePlan
from ...graphs.tags import TagScheme
from ...links.packet import Packet
from ...networks.network_records import Theory
from ...switch.entry import InputQueue
from ...switch.exit import Exit
from ...switch.grant import Grant
from ...switch.route import DigitRoute
from ...switch.shape import RouterShape
from ...switch.switch import Switch
from ...terminals.replication import Distributor, Merger

if TYPE_CHECKING:
    from .multistage_parameters import StageParameters
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .multistage_parameters import StageParameters

__all__ = ["DEEPEST", "Ends", "SwitchingMode"]

Ends = tuple[tuple[str, CellType], tuple[str, CellType]]
"""Name and type of the cells before the first boxes, and of those behind the last ones."""

DEEPEST = 2**16
"""Largest number of packets or flits that fit into a queue."""


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
        places = places_of(given, plan)
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
        return InputQueue(int(given.depth), refills(given, 1))

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


def places_of(given: "StageParameters", plan: MultistagePlan) -> list[Place]:
    """The place of the boxes of each stage: at the terminals there is a link for each class."""
    last = len(plan.stages) - 1
    inside = [given.lanes] * last
    ends = given.classes
    sides = zip(plan.radices, plan.outputs, [ends, *inside], [*inside, ends])
    return [Place(*each, stage == 0, stage == last) for stage, each in enumerate(sides)]


def box_parameters(given: "StageParameters", packet: Packet, place: Place) -> dict[str, object]:
    outputs = {} if place.outputs == place.radix else {"outputs": place.outputs}
    return {"packet": packet, "radix": place.radix, "routing": given.routing, **outputs}


def refills(given: "StageParameters", full: int) -> bool:
    """Whether a slot freed in a cycle can be filled in it: by default, at the depth `full`."""
    if given.channels * given.classes > 1 or given.latency > 1:
        return False
    return given.depth == full if given.refill == "auto" else given.refill == "yes"
