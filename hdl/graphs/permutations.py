"""The permutations that parallel programs need most (Siegel et al., section V), and others.

Each function returns, for N = `ports` terminals, a list whose element X is the terminal that X
sends to. They raise ValueError if N or a parameter does not fit; the message says what is allowed.

`tornado` and `neighbor` are for addresses of several digits (Dally and Towles, "Principles and
Practices of Interconnection Networks", 2004, section 3.2).
"""

import math
import random
from collections.abc import Callable, Sequence

from ..fabric.checks import check_integer, check_several
from ..fabric.errors import InvalidValue
from .address_codes import AddressCode

__all__ = [
    "PERMUTATIONS",
    "Permutation",
    "bit_reversal",
    "check_permutation",
    "complement",
    "cyclic_shift",
    "delta_shift",
    "identity",
    "lambda_map",
    "neighbor",
    "perfect_shuffle",
    "random_permutation",
    "segment_bit_reversal",
    "segment_shuffle",
    "tornado",
    "transpose",
]

Permutation = Sequence[int | None]
"""The output that each input sends to; None for an input that sends nothing."""


def check_permutation(destinations: Permutation, ports: int) -> None:
    """Raise ValueError if this is not a permutation, full or partial, of `ports` terminals."""
    destinations = check_several("Permutation", destinations, "destinations")
    if len(destinations) != ports:
        raise InvalidValue(f"Permutation must have {ports} destinations, not {len(destinations)}")
    seen = set()
    for destination in destinations:
        if destination is None:
            continue
        check_integer("Destination", destination, 0, ports - 1)
        if destination in seen:
            raise InvalidValue(f"Destination {destination} must be given only once")
        seen.add(destination)


def _bits(ports: int) -> int:
    """n of N = 2^n."""
    if ports < 2 or ports & (ports - 1):
        raise InvalidValue(f"Ports of this permutation must be a power of two, not {ports}")
    return ports.bit_length() - 1


def identity(ports: int) -> list[int]:
    """X to X: every box straight."""
    return list(range(ports))


def complement(ports: int) -> list[int]:
    """X to N - 1 - X: all bits inverted."""
    return list(range(ports))[::-1]


def perfect_shuffle(ports: int) -> list[int]:
    """The bits of X rotated by one place to the left."""
    n = _bits(ports)
    return [(x << 1 | x >> n - 1) & ports - 1 for x in range(ports)]


def bit_reversal(ports: int) -> list[int]:
    """The bits of X in reverse order."""
    n = _bits(ports)
    return [int(f"{x:0{n}b}"[::-1], 2) for x in range(ports)]


def transpose(ports: int) -> list[int]:
    """A matrix stored by rows to one stored by columns.

    The matrix is square if the number of ports is. Otherwise it has twice as many rows as columns,
    and the ports are 2^n: the bits of X rotated by n/2, rounded down.
    """
    columns = math.isqrt(max(ports, 0))
    if columns < 2 or columns**2 != ports:
        if ports < 2 or ports & (ports - 1):
            raise InvalidValue(
                f"Ports of a transpose must be a square or a power of two, not {ports}"
            )
        columns = 1 << (ports.bit_length() - 1) // 2
    rows = ports // columns
    return [x % columns * rows + x // columns for x in range(ports)]


def cyclic_shift(ports: int, k: int) -> list[int]:
    """X to X + k modulo N."""
    return [(x + k) % ports for x in range(ports)]


def lambda_map(ports: int, j: int, k: int) -> list[int]:
    """X to jX + k modulo N: rows, columns and diagonals of matrices. j and N share no factor."""
    if math.gcd(j, ports) != 1:
        raise InvalidValue(f"Factor j of lambda must have no common factor with {ports}, not {j}")
    return [(j * x + k) % ports for x in range(ports)]


def delta_shift(ports: int, j: int, k: int) -> list[int]:
    """A cyclic shift by k inside each segment of 2^j terminals, 0 <= j <= n."""
    _check_segment("delta", ports, j)
    low = (1 << j) - 1
    return [x & ~low | (x + k) & low for x in range(ports)]


def segment_shuffle(ports: int, j: int) -> list[int]:
    """A perfect shuffle inside each segment of 2^j terminals, 1 <= j <= n."""
    return _in_segments("segment-shuffle", perfect_shuffle, ports, j)


def segment_bit_reversal(ports: int, j: int) -> list[int]:
    """The lowest j bits of X in reverse order, 1 <= j <= n."""
    return _in_segments("segment-bit-reversal", bit_reversal, ports, j)


def tornado(code: AddressCode) -> list[int]:
    """X to X + ceil(k/2) - 1 modulo k in each digit, for digits of base k: almost half way around
    each ring of a torus.

    Binary addresses count as one digit, with k = N; with k = 2, X would send to itself.
    """
    return _shifted_digits(code, lambda k: (k + 1) // 2 - 1)


def neighbor(code: AddressCode) -> list[int]:
    """X to X + 1 modulo k in each digit, for digits of base k: one step in each dimension.

    Binary addresses count as one digit, with k = N.
    """
    return _shifted_digits(code, lambda k: 1)


def _shifted_digits(code: AddressCode, shift: Callable[[int], int]) -> list[int]:
    if code.radix == 2:
        return cyclic_shift(code.count, shift(code.count))
    return [
        code.join([(digit + shift(k)) % k for digit, k in zip(code.split(x), code.radices)])
        for x in range(code.count)
    ]


def random_permutation(ports: int, seed: int) -> list[int]:
    """A random permutation, the same on every machine for the same seed, which is at least 0."""
    if seed < 0:
        raise InvalidValue(f"Seed of randperm must not be negative, not {seed}")
    chance = random.Random(seed)
    draws = [chance.random() for _ in range(ports)]
    return sorted(range(ports), key=draws.__getitem__)


def _in_segments(name: str, function: Callable[[int], list[int]], ports: int, j: int) -> list[int]:
    _check_segment(name, ports, j, 1)
    inside = function(1 << j)
    return [x - x % len(inside) + inside[x % len(inside)] for x in range(ports)]


def _check_segment(name: str, ports: int, j: int, least: int = 0) -> None:
    n = _bits(ports)
    if j not in range(least, n + 1):
        raise InvalidValue(f"Exponent j of {name} must be from {least} to {n}, not {j}")


PERMUTATIONS: dict[str, tuple[Callable[..., list[int]], tuple[str, ...]]] = {
    "identity": (identity, ()),
    "complement": (complement, ()),
    "perfect-shuffle": (perfect_shuffle, ()),
    "bit-reversal": (bit_reversal, ()),
    "transpose": (transpose, ()),
    "shift": (cyclic_shift, ("K",)),
    "lambda": (lambda_map, ("J", "K")),
    "delta": (delta_shift, ("J", "K")),
    "segment-shuffle": (segment_shuffle, ("J",)),
    "segment-bit-reversal": (segment_bit_reversal, ("J",)),
}
"""For each permutation, by name: the function, and the names of its parameters."""
