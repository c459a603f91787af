"""A number that is known exactly, or between two bounds, each with the method that gave it."""

import math
from dataclasses import dataclass

__all__ = ["Bounds"]


@dataclass(frozen=True)
class Bounds:
    """A number between two bounds; it is exact if they are equal.

    Attributes
    ----------
    lower, upper : float
    lower_method, upper_method : str
        What proves the bound, in a few words.

    Examples
    --------
    >>> found = Bounds(6, 8, "spectral", "Kernighan-Lin")
    >>> found.exact, str(found)
    (None, '6 to 8')
    """

    lower: float
    upper: float
    lower_method: str
    upper_method: str

    @property
    def exact(self) -> float | None:
        """The number, if it is known."""
        return self.lower if self.lower == self.upper else None

    @property
    def middle(self) -> float:
        """The mean of both bounds, to draw a point between them."""
        return (self.lower + self.upper) / 2

    def __str__(self) -> str:
        low, high = (f"{value:.6g}" for value in (self.lower, self.upper))
        return low if low == high else f"{low} to {high}"

    def below(self, dividend: float) -> "Bounds":
        """A dividend over this number, which must not be 0.

        An infinite upper bound follows from a lower bound of 0.
        """
        return Bounds(
            dividend / self.upper if self.upper else math.inf,
            dividend / self.lower if self.lower else math.inf,
            self.upper_method,
            self.lower_method,
        )
