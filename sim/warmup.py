"""When a simulated network has become steady."""

from collections.abc import Sequence

import numpy as np

__all__ = ["MAXIMUM", "MINIMUM", "is_settled"]

MINIMUM = 8
MAXIMUM = 80
"""Fewest and most samples to judge by."""


def is_settled(population: Sequence[int]) -> bool:
    """Whether the number of packets in the system has left its start behind.

    By the marginal standard error rule (MSER) of White: cut off as many of the first samples as
    make the confidence interval of the mean of the others smallest. If that is at most a third of
    all, the rest is steady. Latency and population go together (Little's law), so a population
    that no longer drifts stands for latencies that don't.

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
    return int(np.argmin(errors)) <= count // 3
