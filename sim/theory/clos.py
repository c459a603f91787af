"""Crosspoints of nonblocking Clos networks (Clos, 1953)."""

from collections.abc import Sequence

from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.errors import InvalidValue

__all__ = ["clos_crosspoints", "divisions"]


def clos_crosspoints(terminals: int, boxes: Sequence[int] = (), *, strict: bool = True) -> int:
    """The crosspoints of a Clos network of 2 s + 1 stages, if s sizes of boxes are given.

    The first stage has boxes of `boxes[0]` terminals. Each middle box is replaced by a network of
    the other sizes. Without any it is a crossbar.

    Parameters
    ----------
    terminals : int
        N.
    boxes : Sequence[int]
        For each outer stage, from outside: the terminals n of a box, which divide those of its
        network.
    strict : bool
        Whether it is strictly nonblocking, with 2 n - 1 middle networks, or only rearrangeable,
        with n.

    Raises
    ------
    ValueError
        If a size does not divide the terminals of its network.

    Examples
    --------
    1,000 terminals: a crossbar, three stages, and five with boxes of the cube root of N:

    >>> clos_crosspoints(1000), clos_crosspoints(1000, [20]), clos_crosspoints(1000, [10, 10])
    (1000000, 175500, 146300)
    """
    terminals = check_integer("Terminals", terminals, 1)
    if not boxes:
        return terminals * terminals
    n = check_integer("Terminals of a box", boxes[0], 1)
    if terminals % n:
        raise InvalidValue(f"Terminals of a box must divide {terminals}, not {n}")
    middles = 2 * n - 1 if strict else n
    outer = 2 * terminals * middles
    return outer + middles * clos_crosspoints(terminals // n, boxes[1:], strict=strict)


def divisions(terminals: int, stages: int) -> list[tuple[int, ...]]:
    """All sizes of boxes that `clos_crosspoints` accepts for an odd number of stages; no size is 1
    or that of the whole network.

    Raises
    ------
    ValueError
        If the number of stages is even.
    """
    if check_integer("Stages", stages, 1) % 2 == 0:
        raise InvalidValue(f"Stages must be odd, not {stages}")
    if stages == 1:
        return [()]
    return [
        (n, *inner)
        for n in range(2, terminals)
        if terminals % n == 0
        for inner in divisions(terminals // n, stages - 2)
    ]
