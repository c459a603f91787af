"""The smallest sum of products of a logic function that is not given for all inputs."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Product", "minimal_sum"]


class Product(NamedTuple):
    """A product of inputs and inverted inputs.

    Attributes
    ----------
    ones : int
        A 1 for each input that must be 1; input i is bit i.
    zeros : int
        A 1 for each input that must be 0.
    """

    ones: int
    zeros: int

    @property
    def literals(self) -> int:
        """Inputs of the product."""
        return (self.ones | self.zeros).bit_count()

    def holds(self, inputs: int) -> bool:
        """Whether the product is 1."""
        return not self.ones & ~inputs and not self.zeros & inputs


def minimal_sum(inputs: int, values: Mapping[int, bool]) -> tuple[Product, ...]:
    """A sum of the fewest products that has given values, and of these one of the fewest literals.

    Its terms are prime implicants (Quine, McCluskey). Which of them are chosen is an integer
    program that HiGHS, in scipy, solves exactly.

    Parameters
    ----------
    inputs : int
        Number of inputs. The time grows as 3^inputs; 13 take about a second.
    values : Mapping[int, bool]
        The value of the function for the inputs that matter, as numbers; for all others it may have
        any value.

    Examples
    --------
    >>> minimal_sum(2, {0b00: False, 0b01: True, 0b10: True})
    (Product(ones=1, zeros=0), Product(ones=2, zeros=0))
    """
    # They take long to import, and only this needs them.
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    wanted, banned = np.zeros((2, 1 << inputs), bool)
    for number, value in values.items():
        (wanted if value else banned)[number] = True
    if not wanted.any():
        return ()
    # Along each axis, that is for each input: 0, 1, or either. The last axis is input 0.
    reached, blocked = (each.reshape((2,) * inputs) for each in (wanted, banned))
    for axis in range(inputs):
        reached, blocked = (
            np.concatenate([each, each.any(axis, keepdims=True)], axis)
            for each in (reached, blocked)
        )
    prime = reached & ~blocked
    for axis in range(inputs):
        narrow = (slice(None),) * axis + (slice(2),)
        wide = (slice(None),) * axis + (slice(2, 3),)
        prime[narrow] &= blocked[wide]
    terms = np.argwhere(prime)[:, ::-1]
    points = np.flatnonzero(wanted)[:, None] >> np.arange(inputs) & 1
    covers = np.array([((terms == 2) | (terms == point)).all(1) for point in points], int)
    # One product more costs more than all literals that it may save.
    cost = len(points) * inputs + 1 + (terms != 2).sum(1)
    found = milp(
        cost,
        constraints=LinearConstraint(np.unique(covers, axis=0), lb=1),
        integrality=np.ones(len(terms)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    bits = 1 << np.arange(inputs)
    return tuple(
        sorted(
            Product(int(bits[term == 1].sum()), int(bits[term == 0].sum()))
            for term in terms[found.x > 0.5]
        )
    )
