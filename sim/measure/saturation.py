"""Decides from a measurement window whether a network was saturated."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .confidence_intervals import ratio_interval

__all__ = ["Balance"]

TOLERANCE = 0.01
"""Fraction of the packets offered that a network may fail to deliver, and is not saturated."""

CERTAIN = 0.05
"""Fraction of the packets offered that must surely be more than what is not delivered, if a network
is to be called not saturated."""

BATCHES = 8
"""The parts of a window are joined to so many, of which the interval of its growth is made."""

LONG = 20
"""A window that is this many times as long as the mean latency is long enough to see growth."""


@dataclass(frozen=True)
class Balance:
    """The packets offered to a network in a window, and those that it did not deliver.

    Attributes
    ----------
    generated : Sequence[float]
        Packets generated in each of some equal parts of the window.
    growth : Sequence[float]
        By how many packets the sources' queues and the network together became fuller in each.
    rejected : int
        Packets that found their source's queue full.
    latency : float or None
        Mean latency of the packets born in the window, in parts of the window.
    """

    generated: Sequence[float]
    growth: Sequence[float]
    rejected: int
    latency: float | None

    @property
    def excess(self) -> float:
        """Fraction of the packets offered by which the queues grew in the second half.

        They also grow while a network that is not saturated is becoming steady, but then ever more
        slowly.
        """
        return self._rate(*self._second_half())[0]

    @property
    def saturated(self) -> bool | None:
        """Whether less was delivered than offered; None if the window does not decide it.

        It was if packets were rejected, or if the growth of the second half exceeds `TOLERANCE` and
        is no chance, by its 99 % confidence interval. It was not if the growth of the whole window
        is surely below `CERTAIN`, and the window is `LONG` latencies long.
        """
        if self.rejected:
            return True
        if not any(self.generated):
            return False
        late, chance = self._rate(*self._second_half())
        if late > max(TOLERANCE, chance):
            return True
        growth, chance = self._rate(self.growth, self.generated)
        long = self.latency is not None and len(self.generated) >= LONG * self.latency
        return False if long and growth + chance <= CERTAIN else None

    def _second_half(self) -> tuple[Sequence[float], Sequence[float]]:
        middle = len(self.generated) // 2
        return self.growth[middle:], self.generated[middle:]

    @staticmethod
    def _rate(growth: Sequence[float], generated: Sequence[float]) -> tuple[float, float]:
        """Growth per packet generated, and half the width of its 99 % confidence interval."""
        total = sum(generated)
        if not total:
            return 0.0, float("inf")
        batches = min(BATCHES, len(growth))
        x, n = (
            [float(part.sum()) for part in np.array_split(np.asarray(values, float), batches)]
            for values in (growth, generated)
        )
        half_width = ratio_interval(x, n)
        return sum(growth) / total, float("inf") if half_width is None else half_width
