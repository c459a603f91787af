"""Amounts of data as packets: what the readers of traces have in common."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from ...hdl.fabric.checks import check_field, check_kind, check_limit, check_number
from ...hdl.fabric.errors import InvalidValue

__all__ = ["Scale"]

MOST_PACKETS = 2**20
"""Most packets that a trace becomes."""


@dataclass(frozen=True)
class Scale:
    """How bytes and nanoseconds of a trace are converted to flits and cycles.

    Attributes
    ----------
    flit_bytes : int
        Bytes that a flit carries, 1 to 2^20.
    longest : int
        Most flits of a packet.
    cycle_ns : float
        Nanoseconds of a cycle, from 0.001 to 1,000,000.

    Raises
    ------
    TypeError, ValueError
        If a field has a value that is not allowed.

    Examples
    --------
    >>> from multicube.sim import Scale
    >>> scale = Scale(flit_bytes=8, longest=4)
    >>> scale.packets(40), scale.cycles(2.5)
    ([4, 1], 3)
    """

    flit_bytes: int = 16
    longest: int = 1
    cycle_ns: float = 1

    def __post_init__(self) -> None:
        check_field(self, "flit_bytes", "Bytes of a flit", 1, 2**20)
        check_field(self, "longest", "Longest packet", 1)
        if not 0.001 <= check_number("Nanoseconds of a cycle", self.cycle_ns) <= 1e6:
            raise InvalidValue(
                f"Nanoseconds of a cycle must be from 0.001 to 1000000, not {self.cycle_ns:g}"
            )

    @classmethod
    def given(cls, scale: "Scale | None") -> "Scale":
        """The scale, or that of 16 bytes and a nanosecond if there is none.

        Parameters
        ----------
        scale : Scale or None
            The scale.

        Returns
        -------
        Scale
            It, or the default.

        Raises
        ------
        TypeError
            If it is no `Scale`.
        """
        if scale is None:
            return cls()
        check_kind("Scale", scale, cls, "a Scale")
        return scale

    def packets(self, size: int) -> list[int]:
        """The lengths of the packets that carry so many bytes, in flits; at least one packet.

        Parameters
        ----------
        size : int
            Bytes.

        Returns
        -------
        list[int]
            Flits of each packet.

        Raises
        ------
        ValueError
            If they are too many.
        """
        flits = max(1, -(-size // self.flit_bytes))
        check_limit("Packets of a message", -(-flits // self.longest), MOST_PACKETS)
        whole, rest = divmod(flits, self.longest)
        return [self.longest] * whole + ([rest] if rest else [])

    def cycles(self, nanoseconds: float) -> int:
        """The cycles of a time, of which a part counts as a whole one.

        Parameters
        ----------
        nanoseconds : float
            The time in nanoseconds.

        Returns
        -------
        int
            Cycles.
        """
        # As they are written: 0.7 is a little less in floating point, and 7 / 0.7 more than 10.
        return ceil(Fraction(str(nanoseconds)) / Fraction(str(self.cycle_ns)))
