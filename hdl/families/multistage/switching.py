"""The switching modes of a multistage network: the boxes of each, and the parameters it accepts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amaranth.lib import wiring

from ...boxes import InputQueuedSwitch, OutputQueuedSwitch
from ...boxes.circuit import POLICIES, CircuitBox
from ...boxes.circuit_copies import CircuitDistributor, CircuitMerger
from ...boxes.pipelined_switches import PipelinedFlitSwitch, PipelinedSwitch
from ...boxes.rejecting_wormhole import RejectingWormholeSwitch
from ...boxes.unbuffered import UnbufferedSwitch
from ...boxes.wormhole import CutThroughSwitch, WormholeSwitch
from ...fabric.cell import CellType
from ...graphs.plans.multistage import MultistagePlan
from ...graphs.tags import TagScheme
from ...links.packet import Packet
from ...networks.network_records import Theory
from ...switch.entry import InputQueue
from ...terminals.circuit_terminals import CircuitInitiator, CircuitResponder
from ...terminals.resubmission import Acceptor, Resubmitter
from ...terminals.retry import RetryInterface, RetryReceiver
from .switching_mode import Ends, Place, SwitchingMode, box_parameters, places_of, refills

if TYPE_CHECKING:
    from .multistage_parameters import StageParameters

__all__ = ["LINKS", "MEMORIES", "QUEUES", "REFILLS", "SWITCHES"]

REFILLS = ("auto", "yes", "no")
"""Whether a slot of a queue that is freed in a cycle can be filled in the same cycle."""

QUEUES = ("input", "crosspoint")
"""Where a cut-through switch has its queues."""

LINKS = ("channels", "latency", "decision", "arbiter", "classes")
"""Parameters of boxes that are made as routers are (`SwitchingMode.linked_box`)."""

MEMORIES = {"auto": None, "shared": False, "separate": True}
"""Whether the inputs of an output-queued box have separate memories."""


def _pipelined(
    component: type[wiring.Component],
    given: "StageParameters",
    packet: Packet,
    place: Place,
    **own: int,
) -> CellType:
    """A box with a pipeline; `own` are the parameters that only this component has."""
    size = {"depth": given.depth, "pipeline": given.pipeline, **own}
    return CellType(component, **box_parameters(given, packet, place), **size)


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
                **box_parameters(given, packet, place),
                dilation_in=place.dilation_in,
                dilation_out=place.dilation_out,
                reject=reject,
            )
            for place in places_of(given, plan)
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


class InputQueued(SwitchingMode):
    name = "input-queued"
    description = "a queue of packets at each input"
    rectangular = True
    options = _QUEUED | {"pipeline"} | {*LINKS}

    def box(self, given: "StageParameters", packet: Packet, place: Place) -> CellType:
        common = box_parameters(given, packet, place)
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
        common = {**box_parameters(given, packet, place), **given.queue, **place.lanes}
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
            return CellType(RejectingWormholeSwitch, **box_parameters(given, packet, place))
        return CellType(WormholeSwitch, **box_parameters(given, packet, place), **given.queue)

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
        common = box_parameters(given, packet, place)
        return CellType(CutThroughSwitch, queues=given.queues, **common, **size, **storing)

    def entry(self, given: "StageParameters", place: Place) -> InputQueue:
        full, stores = given.longest, self.stores and not place.first
        return InputQueue(int(given.depth), refills(given, full), full, stores)

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
        common = box_parameters(given, packet, place)
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
