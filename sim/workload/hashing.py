"""Random hash functions, which spread the addresses of a shared memory over its modules."""

from dataclasses import dataclass

import numpy as np

from ...hdl.fabric.checks import check_integer

__all__ = ["PRIME", "PolynomialHash", "random_hash"]

PRIME = 2**31 - 1
"""Addresses are below it."""


@dataclass(frozen=True)
class PolynomialHash:
    """A polynomial in the address, modulo the prime 2^31 - 1 and then modulo the modules.

    With d random coefficients, the modules of any d addresses are independent, and equally likely
    but for the remainder of the prime (M. N. Wegman and J. L. Carter, 1981). Order log N of them
    are enough for a shared memory (A. R. Karlin and E. Upfal, 1986: reference 105 of Siegel et
    al.).

    Attributes
    ----------
    coefficients : tuple[int, ...]
        From the constant one on, each from 0 to the prime less 1.
    modules : int

    Examples
    --------
    >>> [PolynomialHash((1, 3), 4)(address) for address in range(5)]
    [1, 0, 3, 2, 1]
    """

    coefficients: tuple[int, ...]
    modules: int

    def __call__(self, address: int) -> int:
        """The module of an address."""
        value = 0
        for coefficient in reversed(self.coefficients):
            value = (value * address + coefficient) % PRIME
        return value % self.modules


def random_hash(modules: int, degree: int, random: np.random.Generator) -> PolynomialHash:
    """A polynomial with random coefficients.

    Parameters
    ----------
    modules : int
        At least 1.
    degree : int
        At least 0.
    random : numpy.random.Generator
    """
    modules = check_integer("Modules", modules, 1, PRIME)
    degree = check_integer("Degree", degree, 0)
    return PolynomialHash(tuple(random.integers(0, PRIME, degree + 1).tolist()), modules)
