"""The parameters of multistage networks."""

from dataclasses import dataclass, fields
from math import prod
from typing import Any, Literal, cast

from ...boxes.circuit import POLICIES
from ...fabric.checks import check_integer, check_power_of_two
from ...fabric.errors import InvalidValue
from ...fabric.parameter_fields import integer, text, word
from ...graphs.plans.multistage import MultistagePlan
from ...graphs.plans.named_plans import PLANS, multistage_plan
from ...graphs.plans.stage_radices import parse_radices, stage_radices
from ...graphs.tags import ROUTINGS, Routing
from ...networks.flits import flits_of, packet_length
from ...networks.switch_parameters import SwitchParameters
from ...primitives.request_queue import MOST_AHEAD
from ...switch.rules import check_room
from ...terminals.parity import PARITIES, Granularity
from .switching import LINKS, MEMORIES, QUEUES, REFILLS, SWITCHES
from .switching_mode import SwitchingMode

__all__ = ["MOST_PORTS", "MultistageParameters", "StageParameters"]

MOST_PORTS = 2**16

_REDUNDANCY = ("dilation", "replication", "resubmit", "broadcast", "extra_stage")
_OPTIONS = (*_REDUNDANCY, "refill", "queues", "pipeline", "memories", *LINKS)
"""Parameters that not all kinds of switch have."""


def _own(kind: SwitchingMode) -> str:
    """The parameters that only some kinds of switch have, for one kind."""
    policies = [f"policy={'/'.join(kind.policies)}"] if len(kind.policies) > 1 else []
    length = ["length"] if kind.flits else []
    return ", ".join([*policies, *length, *(each for each in _OPTIONS if each in kind.options)])


@dataclass(frozen=True, eq=False, kw_only=True)
class StageParameters(SwitchParameters):
    """The parameters of the boxes of a multistage network, and of the links between them.

    `depth` "auto" is 4, or twice the largest length for cut-through, or the only depth that the
    switch has. With `refill` "auto" a slot freed in a cycle can be filled in the same cycle only at
    depth 1. A `length` in bits becomes one in flits of this payload (`flits_of`).
    """

    switch: str | SwitchingMode = word(
        "output-queued",
        "how a box switches",
        {name: f"{kind.description} (takes {_own(kind)})" for name, kind in SWITCHES.items()},
        objects=(SwitchingMode,),
    )
    depth: int | Literal["auto"] = integer(
        "auto", "packets, or flits, that fit into each queue", least=0, choices=("auto",)
    )
    length: int | str = packet_length(
        "flits of a packet; also geometric:MEAN, or bits:HEADER+LOW:HIGH, for its bits", plain=1
    )
    refill: str = word(
        "auto", "a slot freed in a cycle can be filled in the same one", REFILLS, plain="auto"
    )
    queues: str = word("input", "where a cut-through switch has its queues", QUEUES, plain="input")
    memories: str = word(
        "auto",
        "memories of an output-queued box: separate for each input, or shared, which is smaller in "
        "an FPGA without memories made of tables; auto: separate with 3 to 8 inputs",
        tuple(MEMORIES),
        plain="auto",
    )
    channels: int = integer(
        1, "virtual channels of a link between two stages", least=1, most=8, plain=1
    )
    latency: int = integer(1, "cycles of a link between two stages", least=1, most=2**10, plain=1)

    # What a network has unless it has a parameter for it.
    routing = cast(Any, "destination")
    policy = "auto"
    hold_limit = 1
    dilation = 1
    replication = 1
    resubmit = cast(Any, 0)
    broadcast = 0
    extra_stage = 0
    parity = cast(Any, "none")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._resolve_size()
        self._resolve(length=flits_of(self.length, self.payload))
        switching, switch = self.switching, f"with switch={self.switch}"
        if not switching.flits and self.lengths != (1, 1):
            raise InvalidValue(f"Length must be 1 {switch}, not {self.length}")
        policy = switching.policies[0] if self.policy == "auto" else self.policy
        if policy not in switching.policies:
            allowed = " or ".join(switching.policies)
            raise InvalidValue(f"Policy must be {allowed} {switch}, not {policy}")
        resubmit = self.resubmit
        if resubmit == "auto":
            rejects = switching.rejects(policy, self.broadcast)
            resubmit = switching.resubmit if rejects else 0
        self._resolve(
            depth=switching.resolve_depth(self.depth, self.longest),
            policy=policy,
            resubmit=resubmit,
        )
        plain = self.plain()
        for name in _OPTIONS:
            if name in plain and name not in switching.options:
                self._require(switch, **{name: plain[name]})
        if self.has_links:
            self._check_links()
        if self.pipeline:
            self._check_pipeline()
        if self.memories != "auto" and (self.dilation > 1 or self.depth == 1):
            raise InvalidValue(
                f"Memories must be auto with depth 1 or dilation, not {self.memories}"
            )

    def _resolve_size(self) -> None:
        """Resolve what the size of the network follows from."""
        raise NotImplementedError

    def _check_pipeline(self) -> None:
        """Raise ValueError if a pipelined box can't have the other parameters."""
        self._require(
            f"with pipeline={self.pipeline}",
            dilation=1,
            broadcast=0,
            refill=("no", "auto"),
            policy="hold",
            queues="input",
        )
        check_integer(f"Depth with pipeline={self.pipeline}", self.depth, 2, MOST_AHEAD)

    def _check_links(self) -> None:
        """Raise ValueError if boxes with channels, or links of several cycles, can't have the rest.

        What a header may enter is decided by the sender, who sees the queue behind the link.
        """
        changed = next(name for name in LINKS if self[name] != self.plain()[name])
        self._require(
            f"with {changed}={self[changed]}",
            dilation=1,
            broadcast=0,
            extra_stage=0,
            pipeline=0,
            policy="hold",
            queues="input",
        )
        if self.classes > 1:
            self._require(f"with classes={self.classes}", replication=1)
        if self.channels * self.classes > 1 or self.latency > 1:
            self._require(f"with {changed}={self[changed]}", refill=("no", "auto"))

    @property
    def has_links(self) -> bool:
        """Whether boxes have virtual channels, an arbiter or a decision time, or links several
        cycles."""
        return any(self[name] != self.plain()[name] for name in LINKS)

    @property
    def lanes(self) -> int:
        """Streams of a link between two stages: links of a bundle, or virtual channels of all
        classes."""
        return self.dilation * self.channels * self.classes

    @property
    def plan(self) -> MultistagePlan:
        """The wiring plan, without an extra stage."""
        raise NotImplementedError

    @property
    def rejects(self) -> bool:
        """Whether packets can be dropped, or rejected and sent again."""
        return self.switching.rejects(self.policy, self.broadcast)

    @property
    def switching(self) -> SwitchingMode:
        """The selected switching mode, or the one that was given."""
        return SWITCHES[self.switch] if isinstance(self.switch, str) else self.switch

    @property
    def queue(self) -> dict[str, Any]:
        """The arguments of a switch that describe its queues."""
        refill = {"auto": None, "yes": True, "no": False}[self.refill]
        return {"depth": self.depth, "refill": refill}


_LACKED = ("routing", "policy", "hold_limit", "parity", "faults", *_REDUNDANCY)
StageParameters.of_switch = frozenset((*_LACKED, *(each.name for each in fields(StageParameters))))


@dataclass(frozen=True, eq=False)
class MultistageParameters(StageParameters):
    """The parameters of `MultistageNetwork`.

    `ports` "auto" is the least power of the radix from 8 on, or the product of the radices. Radix
    "4+" is 4 x 4 boxes, and smaller ones in the last stage if `ports` is no power of 4. `resubmit`
    "auto" is 16 for wormhole, 8 for circuit, 0 for unbuffered.
    """

    ports: int | Literal["auto"] = integer(
        "auto",
        "terminals: a power of the radix, or the product of the radices",
        least=2,
        most=MOST_PORTS,
        choices=("auto",),
    )
    radix: int | str = integer(
        2,
        "inputs and outputs of a box, or of the boxes of each stage; 4+: smaller boxes in the last",
        least=2,
        most=64,
        form="AxBxC",
    )
    wiring: str = word("cube", "wiring plan", tuple(PLANS), listed=False)
    routing: Routing = word("destination", "tag scheme", ROUTINGS)
    policy: str = word(
        "auto", "policy for a blocked packet or request", ("auto", *POLICIES), plain="hold"
    )
    hold_limit: int = integer(
        16, "cycles until modified-hold drops a request", least=1, most=2**16, plain=16
    )
    dilation: int = integer(
        1, "links that replace each link between stages", least=1, most=64, plain=1
    )
    replication: int = integer(1, "copies of the network", least=1, most=64, plain=1)
    resubmit: int | Literal["auto"] = integer(
        "auto",
        "longest delay before a dropped packet is sent again; 0: never",
        least=0,
        most=2**16,
        choices=("auto",),
        plain=0,
    )
    broadcast: int = integer(0, "1: packets carry a broadcast mask", least=0, most=1, plain=0)
    extra_stage: int = integer(0, "1: an Extra Stage Cube", least=0, most=1, plain=0)
    parity: Granularity | Literal["none"] = word(
        "none", "parity inside the network", ("none", *PARITIES), plain="none"
    )
    faults: str = text(
        "", "faults that an Extra Stage Cube avoids: box:1:3, link:2:5", "FAULTS", plain=""
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.broadcast:
            self._check_broadcast()
        if self.resubmit:
            self._check_resubmission()
        if self.policy == "drop" and self.switch == "wormhole":
            self._require("with switch=wormhole and policy=drop", replication=1, pipeline=0)
        if self.extra_stage:
            self._require("with extra_stage=1", dilation=1, replication=1)
            if self.broadcast and self.routing == "difference":
                raise InvalidValue("Broadcast must be 0 with extra_stage=1 and routing=difference")
        elif self.faults:
            raise InvalidValue(f"Faults can be avoided only with extra_stage=1, not {self.faults}")
        if self.parity != "none" and not self.switching.parity:
            raise InvalidValue(
                f"Parity needs packets of one flit, or circuits, not switch={self.switch}"
            )

    def _resolve_size(self) -> None:
        """Resolve ports and radix; several equal radices become one."""
        radix = self.radix
        given = parse_radices(str(radix).removesuffix("+"))
        for each in given:
            check_integer("Radix", each, 2, 64)
        if self.ports == "auto":
            # The product of several; otherwise the least power of one from 8 on.
            size = prod(given)
            while len(given) == 1 and size < 8:
                size *= given[0]
            self._resolve(ports=check_integer("Ports", size, 2, MOST_PORTS))
        if isinstance(radix, str):
            radices = stage_radices(int(self.ports), radix)
            several = len(set(radices)) > 1
            self._resolve(radix="x".join(map(str, radices)) if several else radices[0])

    def _check_resubmission(self) -> None:
        """Raise ValueError if dropped packets can't be sent again."""
        resubmit = int(self.resubmit)
        if not self.rejects:
            self._require("with policy=hold", resubmit=0)
        check_power_of_two("Resubmit", resubmit)
        if not self.switching.circuits:
            self._require("with resubmission", broadcast=0)

    def _check_broadcast(self) -> None:
        """Raise ValueError if the switch can't copy packets without loss or deadlock."""
        reason = f"with switch={self.switch} and broadcast=1"
        if self.switching.circuits:
            self._require(reason, dilation=1, replication=1)
            check_integer(f"Resubmit {reason}", self.resubmit, 2)
        if self.switch == "wormhole":
            self._require(reason, policy="hold")
            check_room(int(self.depth), self.longest, "with broadcast=1")

    @property
    def plan(self) -> MultistagePlan:
        """As in `StageParameters`."""
        assert self.ports != "auto"  # resolved
        return multistage_plan(self.wiring, self.ports, self.radix)
