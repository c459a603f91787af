"""The parameters of networks of routers, and what a routing allows them to be."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..fabric.errors import InvalidValue
from ..fabric.parameter_fields import integer, word
from ..graphs.graph import Channel
from ..graphs.routing.deadlock import dependency_cycle
from ..graphs.routing.relation import Relation
from ..operations.folds import REDUCTIONS, fold_of
from ..primitives.arbiters import check_arbiter
from ..switch.merge import Groups
from ..switch.rules import check_room
from ..switch.selection import SELECTIONS, Selection
from ..switch.shape import SWITCHINGS, RouterShape, Switching
from .flits import flit_queue, queue_refill
from .recovery import RECOVERIES
from .switch_parameters import SwitchParameters

__all__ = ["RouterParameters"]

_SWITCHES = SWITCHINGS | {
    "packet": "packets are single words, which wait at outputs and hold a link for their length"
}


@dataclass(frozen=True, eq=False, kw_only=True)
class RouterParameters(SwitchParameters):
    """The parameters that all networks of worm routers have.

    With cut-through and store-and-forward switching, `depth` must be at least the length of the
    longest packet. With packet switching, `depth` counts packets.
    """

    switch: Switching = word("wormhole", "when a header may leave a router", _SWITCHES)
    depth: int = flit_queue()
    refill: str = queue_refill()
    selection: Selection = word(
        "first-free",
        "which of several permitted channels a packet takes",
        SELECTIONS,
        plain="first-free",
    )
    allow_deadlock: int = integer(
        0, "1: build it even if its routing can deadlock", least=0, most=1
    )
    recovery: str = word("none", "what ends a deadlock", RECOVERIES, plain="none")
    timeout: int = integer(
        16,
        "with recovery: cycles that a header waits until it is discarded",
        least=2,
        most=2**12,
        plain=16,
    )
    window: int = integer(
        4,
        "with recovery: packets that a terminal keeps until acknowledged",
        least=1,
        most=64,
        plain=4,
    )

    group_entries: int = integer(
        0,
        "entries of each router's table of groups: multicasts and reductions; 0: none",
        least=0,
        most=256,
        plain=0,
    )
    reduction: Any = word(
        "add",
        "with group_entries: how routers merge values that meet",
        {"none": "they merge none", **REDUCTIONS},
        objects=(type,),
        plain="add",
    )
    patience: int = integer(
        256,
        "with group_entries: cycles after which a waiting value reports the missing ones",
        least=1,
        most=2**16,
        plain=256,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.switch not in ("wormhole", "packet"):
            check_room(self.depth, self.longest, f"with switch={self.switch}")

    @property
    def holds_links(self) -> bool:
        """Whether packets are single words that hold a link for their length."""
        return self.switch == "packet"

    @property
    def grouped(self) -> Groups | None:
        """What routers do for groups of terminals."""
        return (
            Groups(self.group_entries, self.reduction, self.patience)
            if self.group_entries
            else None
        )

    @property
    def recovers(self) -> bool:
        """Whether packets that a router discards are sent again."""
        return self.recovery == "discard"

    @property
    def selects(self) -> bool:
        """Whether a packet is sent to one of several channels when it arrives at a router."""
        return self.selection != "first-free"

    def check(self, relation: Relation, shapes: Sequence[RouterShape]) -> None:
        """Raise ValueError if a routing, and the routers that it needs, do not allow a value."""
        if self.group_entries:
            self.check_groups(relation)
        if self.recovers:
            self.check_recovery(relation)
        if self.refill == "yes":
            self.check_refill(relation, shapes)
        check_arbiter(self.inner_arbiter, max(shape.most_inputs for shape in shapes))
        if self.selects and not relation.choice:
            raise InvalidValue(
                "Selection must be first-free if packets have no choice of channels, "
                f"not {self.selection!r}"
            )
        slowest = relation.graph.longest_interval
        if self.holds_links:
            self.check_packet_switching(relation)
        elif slowest > 1:
            raise InvalidValue(
                f"Interval must be 1 unless switch is packet, not {slowest} with "
                f"switch={self.switch}"
            )
        elif self.pipeline:
            self.check_pipeline(relation)

    def check_classes(self, relation: Relation) -> None:
        """What is not there for several classes."""
        reason = f"with classes={self.classes}"
        self._require(
            reason,
            group_entries=0,
            recovery="none",
            switch=("wormhole", "cut-through", "store-and-forward"),
        )
        if relation.rewritable:
            raise InvalidValue(f"Tables must be fixed {reason}, not rewritable")
        if relation.phases is not None:
            raise InvalidValue(
                f"Classes must be 1 if packets go by way of intermediate terminals, "
                f"not {self.classes}"
            )

    def check_recovery(self, relation: Relation) -> None:
        """Packets that are sent again need a network that keeps the order of the others."""
        if self.holds_links:
            raise InvalidValue(f"Recovery must be none with switch=packet, not {self.recovery}")
        if not relation.ordered:
            raise InvalidValue(
                "Recovery must be none if packets may overtake each other, as with "
                f"a choice of channels, not {self.recovery}"
            )
        least = self.longest + self.decision
        if self.timeout < least:
            raise InvalidValue(
                f"Timeout must be at least {least}, the longest packet and the decision time, "
                f"not {self.timeout}"
            )

    def check_groups(self, relation: Relation) -> None:
        """What a packet of a group can't pass, or what does not keep several exits for it."""
        self._require(
            f"with group_entries={self.group_entries}",
            decision=1,
            refill="no",
            pipeline=0,
            selection="first-free",
            recovery="none",
            switch=("wormhole", "cut-through", "store-and-forward"),
        )
        if relation.phases is not None:
            raise InvalidValue(
                f"Group entries must be 0 if packets go by way of intermediate terminals, "
                f"not {self.group_entries}"
            )
        if self.grouped is not None and self.grouped.merges:
            fold_of(self.reduction, self.payload)
        if self.group_entries > 1 << relation.tags.code.width:
            raise InvalidValue(
                f"Group entries must be at most {1 << relation.tags.code.width}, as many as there "
                f"are tags, not {self.group_entries}"
            )

    def check_packet_switching(self, relation: Relation) -> None:
        """Packets that are single words need links of one channel, and the plain router."""
        if relation.rewritable:
            raise InvalidValue("Tables must be fixed with switch=packet, not rewritable")
        self._require(
            "with switch=packet", decision=1, refill="no", pipeline=0, arbiter="round-robin"
        )
        if relation.phases is not None:
            raise InvalidValue("Routing with switch=packet must have no intermediate terminals")
        if (channels := max((link.channels for link in relation.graph.links()), default=1)) > 1:
            raise InvalidValue(
                f"Links must have one channel with switch=packet, not {channels} "
                "(routing=minimal channels=1 allow_deadlock=1 needs no more)"
            )
        if relation.graph.latency > 1:
            raise InvalidValue(
                f"Latency must be 1 with switch=packet, not {relation.graph.latency}"
            )
        if relation.choice and not self.selects:
            raise InvalidValue(
                "Selection must not be first-free with switch=packet if packets have a choice "
                "of channels"
            )

    def check_pipeline(self, relation: Relation) -> None:
        """What needs to know in the same cycle what the router behind a link does."""
        self._require(
            f"with pipeline={self.pipeline}",
            decision=1,
            refill="no",
            selection="first-free",
            recovery="none",
            switch=("wormhole", "cut-through"),
        )
        if relation.rewritable:
            raise InvalidValue(f"Tables must be fixed with pipeline={self.pipeline}")
        if relation.senses:
            raise InvalidValue(
                "Pipeline must be 0 if terminals look at the queues of their router, "
                f"not {self.pipeline}"
            )
        if relation.graph.latency > 1:
            raise InvalidValue(
                f"Latency must be 1 with pipeline={self.pipeline}, not {relation.graph.latency}"
            )
        if relation.choice and self.pipeline == 1:
            raise InvalidValue(
                f"Pipeline must be 0 or 2 if packets have a choice of channels, not {self.pipeline}"
            )

    def check_refill(self, relation: Relation, shapes: Sequence[RouterShape]) -> None:
        """With refill, a queue's `ready` depends on those of the queues behind its exits."""
        if relation.choice:
            raise InvalidValue("Refill must be no if packets have a choice of channels, not 'yes'")
        waits: dict[Channel, set[Channel]] = {}
        for link in relation.graph.links():
            if link.channels > 2:
                raise InvalidValue("Refill must be no with more than 2 channels a link, not 'yes'")
            shape = shapes[link.peer]
            for channel in link.each_channel():
                entry = shape.input((link.peer_port, channel.number))
                if link.latency == 1 and relation.carries(channel):
                    ends = [one.end for one in shape.outputs if entry in one.inputs]
                    # The second channel of a link waits for its first one too.
                    after = {Channel(link.peer, p, c) for p, top in ends for c in range(top + 1)}
                    waits[channel] = {one for one in after if one.port >= 0}
        carried = {channel: after & waits.keys() for channel, after in waits.items()}
        if cycle := dependency_cycle(carried):
            raise InvalidValue(
                "Refill must be no, not 'yes': a combinational path would lead around a cycle of "
                f"{len(cycle) - 1} channels"
            )


RouterParameters.of_switch = frozenset(each.name for each in fields(RouterParameters))
