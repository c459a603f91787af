"""A number that is known exactly, or between two bounds, each with the method that gave it."""

import math
from dataclasses import dataclass, replace

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
    def range(self) -> tuple[float, float]:
        """Both bounds."""
        return self.lower, self.upper

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

    def times(self, factor: float) -> "Bounds":
        """This number times a positive factor."""
        return replace(self, lower=self.lower * factor, upper=self.upper * factor)
