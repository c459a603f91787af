"""When a simulated network has become steady."""

from collections.abc import Sequence

import numpy as np

__all__ = ["MAXIMUM", "MINIMUM", "is_settled"]

MINIMUM = 8
MAXIMUM = 80
"""Fewest and most samples to judge by."""

_DRIFT = 0.1
"""Share of the mean by which steady samples may drift, besides what chance explains."""


def is_settled(population: Sequence[int]) -> bool:
    """Whether the number of packets in the system has left its start behind.

    By the marginal standard error rule (MSER) of White: cut off as many of the first samples as
    make the confidence interval of the mean of the others smallest. If that is at most a third of
    all, and the others lie on no slope (their regression line rises or falls by at most a tenth of
    their mean and two standard errors), they are steady. Latency and population go together
    (Little's law), so a population that no longer drifts stands for latencies that don't.

    Parameters
    ----------
    population : Sequence[int]
        Sampled at equal distances from the first cycle on.
    """
    count = len(population)
    if count < MINIMUM:
        return False
    samples = np.asarray(population, float)
    errors = [np.var(samples[cut:]) / (count - cut) for cut in range(max(1, count - MINIMUM // 2))]
    cut = int(np.argmin(errors))
    return cut <= count // 3 and _is_level(samples[cut:])


def _is_level(samples: np.ndarray) -> bool:
    """Whether the regression line through samples is level, as far as chance lets one tell."""
    count = len(samples)
    time = np.arange(count) - (count - 1) / 2
    spread = (time**2).sum()
    slope = (time * samples).sum() / spread
    residuals = samples - samples.mean() - slope * time
    error = np.sqrt((residuals**2).sum() / (count - 2) / spread)
    return bool(abs(slope) * count <= _DRIFT * samples.mean() + 2 * error * count)
