"""Detects when a simulated network has reached a steady state."""

from collections.abc import Sequence

import numpy as np

__all__ = ["DOUBLINGS", "MAXIMUM", "MINIMUM", "is_settled"]

MINIMUM = 8
MAXIMUM = 80
"""Fewest and most samples to decide by."""

DOUBLINGS = 2
"""How many times the interval of samples is doubled if they don't decide."""

_DRIFT = 0.1
"""Fraction of the mean by which steady samples may drift, besides what chance explains."""


def is_settled(values: Sequence[float]) -> bool:
    """Whether the number of packets in the system, or their mean latency, has become steady.

    Uses the marginal standard error rule (MSER) of White: remove as many of the first samples as
    minimises the confidence interval of the mean of the rest. The rest are steady if at most a
    third of the samples is removed and their regression line is level, that is, rises or falls by
    at most a tenth of their mean plus two standard errors.

    Parameters
    ----------
    values : Sequence[float]
        Samples at equal intervals, from the first cycle on.
    """
    count = len(values)
    if count < MINIMUM:
        return False
    samples = np.asarray(values, float)
    errors = [np.var(samples[cut:]) / (count - cut) for cut in range(max(1, count - MINIMUM // 2))]
    cut = int(np.argmin(errors))
    return cut <= count // 3 and _is_level(samples[cut:])


def _is_level(samples: np.ndarray) -> bool:
    """Whether the regression line through the samples is level, within the limits of chance."""
    count = len(samples)
    time = np.arange(count) - (count - 1) / 2
    spread = (time**2).sum()
    slope = (time * samples).sum() / spread
    residuals = samples - samples.mean() - slope * time
    error = np.sqrt((residuals**2).sum() / (count - 2) / spread)
    return bool(abs(slope) * count <= _DRIFT * samples.mean() + 2 * error * count)
