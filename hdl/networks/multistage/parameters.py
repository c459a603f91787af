"""The parameters of multistage networks."""

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from amaranth.hdl import ShapeLike

from ...boxes.circuit import POLICIES
from ...fabric.checks import check_integer
from ...fabric.errors import InvalidValue
from ...fabric.parameters import Parameters, integer, text, word
from ...fabric.payload_shape import payload_shape
from ...graphs.plans import multistage
from ...graphs.plans.multistage import MultistagePlan, parse_radices, stage_radices
from ...graphs.tags import ROUTINGS, Routing
from ...primitives.request_queue import MOST_AHEAD
from ...switch.rules import check_room
from ...terminals.parity import PARITIES, Granularity
from ..flits import flits_of, packet_length, parse_lengths
from .switching import MEMORIES, QUEUES, REFILLS, SWITCHES, Switching

__all__ = ["MOST_PORTS", "OPTIONS", "MultistageParameters"]

MOST_PORTS = 2**16

OPTIONS = (
    *("dilation", "replication", "resubmit", "broadcast", "refill", "queues", "extra_stage"),
    *("pipeline", "memories"),
)
"""Parameters that not all kinds of switch have."""


def _own(kind: Switching) -> str:
    """The parameters that only some kinds of switch have, for one kind."""
    policies = [f"policy={'/'.join(kind.policies)}"] if len(kind.policies) > 1 else []
    length = ["length"] if kind.flits else []
    return ", ".join([*policies, *length, *(each for each in OPTIONS if each in kind.options)])


@dataclass(frozen=True, eq=False)
class MultistageParameters(Parameters):
    """The parameters of `MultistageNetwork`.

    `depth` "auto" is 4, or twice the largest length for cut-through, or the only depth that the
    switch has; `resubmit` "auto" is 16 for wormhole, 8 for circuit, 0 for unbuffered. With `refill`
    "auto" a slot freed in a cycle can be filled in the same cycle only at depth 1. `ports` "auto"
    is the least power of the radix from 8 on, or the product of the radices. Radix "4+" is 4 x 4
    boxes, and smaller ones in the last stage if `ports` is no power of 4. A `length` in bits
    becomes one in flits of this payload (`flits_of`).
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
        "inputs and outputs of a box, or of those of each stage; 4+: smaller ones in the last",
        least=2,
        most=64,
        form="AxBxC",
    )
    wiring: str = word("cube", "wiring plan", tuple(multistage.PLANS), listed=False)
    switch: str = word(
        "output-queued",
        "how a box switches",
        {name: f"{kind.description} (takes {_own(kind)})" for name, kind in SWITCHES.items()},
    )
    depth: int | Literal["auto"] = integer(
        "auto", "packets, or flits, that fit into each queue", least=0, choices=("auto",)
    )
    payload: ShapeLike = payload_shape()
    routing: Routing = word("destination", "tag scheme", ROUTINGS)
    length: int | str = packet_length(
        "flits of a packet; also geometric:MEAN, or bits:HEADER+LOW:HIGH, for its bits", plain=1
    )
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
    pipeline: int = integer(
        0,
        "stages in a box beside its queues, for a faster clock: 1 for its switch, 2 for its "
        "arbiters or routes too",
        least=0,
        most=2,
        plain=0,
    )
    extra_stage: int = integer(0, "1: an Extra Stage Cube", least=0, most=1, plain=0)
    parity: Granularity | Literal["none"] = word(
        "none", "parity inside the network", ("none", *PARITIES), plain="none"
    )
    faults: str = text(
        "", "faults that an Extra Stage Cube avoids: box:1:3, link:2:5", "FAULTS", plain=""
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._resolve_size()
        self._resolve(length=flits_of(self.length, self.payload))
        switching = self.switching
        if not switching.flits and self.lengths != (1, 1):
            raise InvalidValue(f"Length must be 1 with switch={self.switch}, not {self.length}")
        policy = switching.policies[0] if self.policy == "auto" else self.policy
        if policy not in switching.policies:
            allowed = " or ".join(switching.policies)
            raise InvalidValue(f"Policy must be {allowed} with switch={self.switch}, not {policy}")
        resubmit = self.resubmit
        if resubmit == "auto":
            rejects = switching.rejects(policy, self.broadcast)
            resubmit = switching.resubmit if rejects else 0
        self._resolve(
            depth=switching.resolve_depth(self.depth, self.lengths[1]),
            policy=policy,
            resubmit=resubmit,
        )
        if self.broadcast:
            self._check_broadcast()
        self._check_options(resubmit)
        if self.pipeline:
            self._check_pipeline()
        if self.memories != "auto" and (self.dilation > 1 or self.depth == 1):
            raise InvalidValue(
                f"Memories must be auto with depth 1 or dilation, not {self.memories}"
            )
        self._check_redundancy()
        if self.parity != "none" and not switching.parity:
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

    def _check_options(self, resubmit: int) -> None:
        """Raise ValueError if an option is not compatible with the switch or resubmission."""
        plain = self.plain()
        changed = [name for name in OPTIONS if self[name] != plain[name]]
        for name in changed:
            if name not in self.switching.options:
                raise InvalidValue(
                    f"Parameter {name} must be {plain[name]} with switch={self.switch}, "
                    f"not {self[name]}"
                )
        if "resubmit" in changed:
            if not self.rejects:
                raise InvalidValue(
                    f"Parameter resubmit must be 0 with policy=hold, not {self.resubmit}"
                )
            if resubmit & resubmit - 1:
                raise InvalidValue(f"Resubmit must be a power of two, not {self.resubmit}")
            if "broadcast" in changed and not self.switching.circuits:
                raise InvalidValue("Parameter broadcast must be 0 with resubmission, not 1")
        if "replication" in changed and self.policy == "drop" and self.switch == "wormhole":
            raise InvalidValue(
                f"Parameter replication must be 1 with switch={self.switch} and policy=drop, "
                f"not {self.replication}"
            )

    def _check_pipeline(self) -> None:
        """Raise ValueError if a pipelined box can't have the other parameters."""
        for name in ("dilation", "broadcast", "refill", "policy", "queues"):
            allowed = ("auto", "no") if name == "refill" else (self.plain()[name],)
            if self[name] not in allowed:
                raise InvalidValue(
                    f"{name.capitalize()} must be {allowed[-1]} with pipeline={self.pipeline}, "
                    f"not {self[name]}"
                )
        check_integer(f"Depth with pipeline={self.pipeline}", self.depth, 2, MOST_AHEAD)

    def _check_broadcast(self) -> None:
        """Raise ValueError if the switch can't copy packets without loss or deadlock."""
        for name in ("dilation", "replication"):
            if self.switching.circuits and self[name] > 1:
                raise InvalidValue(
                    f"{name.capitalize()} must be 1 with switch={self.switch} and broadcast=1, "
                    f"not {self[name]}"
                )
        if self.switching.circuits and int(self.resubmit) < 2:
            raise InvalidValue(
                f"Resubmit must be at least 2 with switch={self.switch} and broadcast=1, "
                f"not {self.resubmit}"
            )
        if self.switch == "wormhole" and self.policy == "drop":
            raise InvalidValue("Policy must be hold with switch=wormhole and broadcast=1, not drop")
        if self.switch == "wormhole":
            check_room(int(self.depth), self.lengths[1], "with broadcast=1")

    def _check_redundancy(self) -> None:
        """Raise ValueError if an extra stage, or its faults, are not compatible with the rest."""
        if self.extra_stage and self.broadcast and self.routing == "difference":
            raise InvalidValue("Broadcast must be 0 with extra_stage=1 and routing=difference")
        if self.faults and not self.extra_stage:
            raise InvalidValue(f"Faults can be avoided only with extra_stage=1, not {self.faults}")
        for name in ("dilation", "replication"):
            if self.extra_stage and self[name] > 1:
                raise InvalidValue(
                    f"{name.capitalize()} must be 1 with extra_stage=1, not {self[name]}"
                )

    @property
    def plan(self) -> MultistagePlan:
        """The wiring plan, without an extra stage."""
        assert self.ports != "auto"  # resolved
        return multistage.multistage_plan(self.wiring, self.ports, self.radix)

    @property
    def rejects(self) -> bool:
        """Whether packets can be dropped, or rejected and sent again."""
        return self.switching.rejects(self.policy, self.broadcast)

    @property
    def switching(self) -> Switching:
        """The selected switching mode."""
        return SWITCHES[self.switch]

    @property
    def lengths(self) -> tuple[int, int]:
        """Fewest and most flits of a packet."""
        return parse_lengths(self.length)

    @property
    def queue(self) -> dict[str, Any]:
        """The arguments of a switch that describe its queues."""
        refill = {"auto": None, "yes": True, "no": False}[self.refill]
        return {"depth": self.depth, "refill": refill}
