"""Confidence intervals from the parts of a measurement window, or from independent runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["CONFIDENCE", "PARTS", "Estimate", "ratio_estimate", "ratio_interval"]

CONFIDENCE = 0.99

PARTS = 64
"""Parts of a window that are tested for correlation."""

_BATCHES = (8, 16)
"""Batches that the parts are joined to. They are longer than the parts, so if those are
uncorrelated, the batches are so all the more. The wider of both intervals is taken: a window that
ends when its interval is narrow would else end too early where chance makes one of them so."""

_CORRELATED = 1.0
"""Standard errors of the lag-1 autocorrelation above which parts are taken as correlated. Of
independent parts it exceeds it in 16 % of all windows. Such a low limit also finds weak
correlation, which would make the intervals of windows that end early too narrow."""


@dataclass(frozen=True)
class Estimate:
    """A ratio of two sums, such as a mean latency or a rate.

    Attributes
    ----------
    mean : float or None
        None if nothing was counted.
    half_width : float or None
        Half the width of its 99 % confidence interval; None if there are too few batches.
    uncorrelated : bool
        Whether the batches were shown to be uncorrelated. If not, the interval may be too narrow.
    """

    mean: float | None
    half_width: float | None
    uncorrelated: bool

    def within(self, precision: float) -> bool:
        """Whether the interval is valid, and within this fraction of the mean."""
        if self.mean is None or self.half_width is None or not self.uncorrelated:
            return False
        return self.half_width <= precision * abs(self.mean)


def ratio_estimate(
    amounts: Sequence[float], counts: Sequence[float], *, independent: bool = False
) -> Estimate:
    """Estimate sum(amounts) / sum(counts).

    The pairs are those of consecutive parts of one run, which are joined to 8 and to 16 batches. If
    the parts are correlated, pairs of parts are tested. Or they are the pairs of `independent`
    runs, each of which is a batch.
    """
    x, n = np.asarray(amounts, float), np.asarray(counts, float)
    mean = float(x.sum() / n.sum()) if n.sum() else None
    if independent:
        return Estimate(mean, ratio_interval(x, n, least=2), True)
    uncorrelated = _are_uncorrelated(x, n)
    if not uncorrelated and len(x) >= PARTS // 2:
        x, n = _joined(x, len(x) // 2), _joined(n, len(x) // 2)
        uncorrelated = _are_uncorrelated(x, n)
    widths = [
        width
        for batches in _BATCHES
        if (width := ratio_interval(_joined(x, batches), _joined(n, batches))) is not None
    ]
    return Estimate(mean, max(widths, default=None), uncorrelated)


def ratio_interval(
    amounts: Sequence[float] | np.ndarray, counts: Sequence[float] | np.ndarray, least: int = 5
) -> float | None:
    """Half the width of the 99 % confidence interval of sum(amounts) / sum(counts).

    The pairs are independent batches; the estimate is a ratio estimator with Student's t. None for
    fewer than `least` batches, or if nothing was counted.
    """
    x, n = np.asarray(amounts, float), np.asarray(counts, float)
    batches = len(x)
    if batches < least or not n.sum():
        return None
    from scipy.special import stdtrit  # as slow to import as Amaranth

    residuals = _residuals(x, n)
    deviation = np.sqrt((residuals**2).sum() / (batches * (batches - 1))) / n.mean()
    return float(stdtrit(batches - 1, 0.5 + CONFIDENCE / 2) * deviation)


def _residuals(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return x - n * (x.sum() / n.sum())


def _joined(values: np.ndarray, count: int) -> np.ndarray:
    """The sums of `count` groups of consecutive values, or fewer if there are fewer values."""
    groups = np.array_split(values, max(1, min(count, len(values))))
    return np.array([group.sum() for group in groups])


def _are_uncorrelated(x: np.ndarray, n: np.ndarray) -> bool:
    """Whether consecutive pairs vary independently, by their lag-1 autocorrelation."""
    if not n.sum():
        return True
    residuals = _residuals(x, n)
    spread = (residuals**2).sum()
    # Rounding leaves residuals of constant values, which depend on each other.
    if spread <= 1e-18 * (x**2).sum():
        return True
    return bool((residuals[1:] * residuals[:-1]).sum() / spread <= _CORRELATED / len(x) ** 0.5)
