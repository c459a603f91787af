"""The parameters of a network's switches, whether they are boxes or routers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import ShapeLike

from ..fabric.errors import InvalidValue
from ..fabric.parameter_fields import integer, text, word
from ..fabric.parameters import Parameters
from ..fabric.payload_shape import payload_shape
from ..primitives.arbiters import ARBITERS
from ..primitives.class_arbiter import CLASS_ARBITERS, ClassArbiter, parse_weights
from .channel_model import FAIR
from .flits import decision_time, packet_length, parse_lengths

__all__ = ["MOST_CLASSES", "SwitchParameters"]

MOST_CLASSES = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class SwitchParameters(Parameters):
    """What all switches have: its words come after those of the network.

    `decision` is D_t of Ould-Khaoua and Sotudeh.
    """

    aliases = {"switching": "switch"}

    switch: Any
    decision: int = decision_time("cycles that a switch takes to forward a header over a link")
    arbiter: str = word(
        "round-robin", "how packets share an output", ARBITERS | CLASS_ARBITERS, plain="round-robin"
    )
    classes: int = integer(
        1,
        "classes of messages, each with endpoints and channels of its own",
        least=1,
        most=MOST_CLASSES,
        plain=1,
    )
    weights: str = text(
        "",
        "with arbiter=weighted: the shares of the classes in a link, in flits",
        "WEIGHT:WEIGHT",
        plain="",
    )
    pipeline: int = integer(
        0,
        "1: arbitration and switch each in a cycle of its own, for a faster clock; 2: routes too",
        least=0,
        most=2,
        plain=0,
    )
    payload: ShapeLike = payload_shape()
    length: int | str = packet_length()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arbiter in CLASS_ARBITERS:
            if self.classes == 1:
                raise InvalidValue(
                    f"Classes must be at least 2 with arbiter={self.arbiter}, not {self.classes}"
                )
            self._require(f"with arbiter={self.arbiter}", pipeline=0, refill=("no", "auto"))
        if self.arbiter == "weighted":
            given = self.weights or ":".join(map(str, range(self.classes, 0, -1)))
            self._resolve(weights=":".join(map(str, parse_weights(given, self.classes))))
        elif self.weights:
            raise InvalidValue(
                f"Weights must be left out unless arbiter=weighted, not {self.weights!r} with "
                f"arbiter={self.arbiter}"
            )

    @property
    def between(self) -> ClassArbiter | None:
        """What chooses between classes on a link, if they do not go in turn."""
        if self.arbiter not in CLASS_ARBITERS:
            return None
        weights = parse_weights(self.weights, self.classes) if self.weights else ()
        return ClassArbiter(self.classes, weights)

    @property
    def inner_arbiter(self) -> str:
        """What chooses between packets of one class."""
        return "round-robin" if self.between else self.arbiter

    @property
    def lengths(self) -> tuple[int, int]:
        """Fewest and most flits of a packet."""
        return parse_lengths(self.length)

    @property
    def longest(self) -> int:
        """Flits of the longest packet."""
        return self.lengths[1]

    def check_bounded(self, plain: Mapping[str, Any], switches: Sequence[str]) -> None:
        """Raise ValueError if it takes other values for a latency to have a bound."""
        reason = "for a bound on latency"
        self._require(reason, switch=tuple(switches), arbiter=(*FAIR, *CLASS_ARBITERS), **plain)

    @property
    def header_cycles(self) -> int:
        """Cycles of a header at the head of a queue, at least."""
        return self.decision + (self.pipeline + 1 if self.pipeline else 0)

    @property
    def full_rate_depth(self) -> int:
        """Fewest places of a queue that takes a flit in every cycle without refill."""
        return max(2, self.pipeline + 1)

    def link_cycles(self, latency: int) -> int:
        """Of a link of this latency, or of one behind which places are in use as long."""
        # Between switches in stages they are taken again after 4 or 5 cycles.
        return 3 if self.pipeline else latency

    def _require(self, reason: str, **values: Any) -> None:
        """Raise ValueError unless fields have these values, or one of several.

        `reason` is the end of the message up to the value: "with pipeline=1".
        """
        for name, allowed in values.items():
            allowed = allowed if isinstance(allowed, tuple) else (allowed,)
            if (value := getattr(self, name)) not in allowed:
                title = name.capitalize().replace("_", " ")
                which = " or ".join(map(str, allowed))
                raise InvalidValue(f"{title} must be {which} {reason}, not {value}")
