"""The parameters of a network's switches, whether they are boxes or routers."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import ShapeLike

from ..fabric.errors import InvalidValue
from ..fabric.parameters import Parameters, integer, word
from ..fabric.payload_shape import payload_shape
from ..primitives.arbiters import ARBITERS
from .flits import decision_time, packet_length, parse_lengths

__all__ = ["SwitchParameters"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SwitchParameters(Parameters):
    """What all switches have: its words come after those of the network.

    `decision` is D_t of Ould-Khaoua and Sotudeh.
    """

    aliases = {"switching": "switch"}

    switch: str
    decision: int = decision_time("cycles that a switch takes to forward a header over a link")
    arbiter: str = word("round-robin", "how packets share an output", ARBITERS, plain="round-robin")
    pipeline: int = integer(
        0,
        "1: arbitration and switch in cycles of their own, for a faster clock; 2: routes too",
        least=0,
        most=2,
        plain=0,
    )
    payload: ShapeLike = payload_shape()
    length: int | str = packet_length()

    @property
    def lengths(self) -> tuple[int, int]:
        """Fewest and most flits of a packet."""
        return parse_lengths(self.length)

    @property
    def longest(self) -> int:
        """Flits of the longest packet."""
        return self.lengths[1]

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
