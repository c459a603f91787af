"""The wiring plans of multistage networks that have names in the literature."""

from collections.abc import Callable, Sequence

from ...fabric.checks import check_word
from ...fabric.errors import InvalidValue
from .multistage import Digits, MultistagePlan, Stage
from .stage_radices import stage_radices

__all__ = ["ALIASES", "PLANS", "delta_plan", "multistage_plan"]


def _identity(n: int) -> Digits:
    return tuple(range(n))


def _rotated(n: int, low: int, by: int) -> Digits:
    """The lowest `low` digits rotated by `by` positions towards the top; the others unchanged."""
    return tuple((j - by) % low if j < low else j for j in range(n))


def _swapped(n: int, a: int, b: int) -> Digits:
    digits = list(range(n))
    digits[a], digits[b] = digits[b], digits[a]
    return tuple(digits)


def _generalized_cube(n: int) -> tuple[list[Stage], Digits]:
    return [Stage(_identity(n), digit) for digit in reversed(range(n))], _identity(n)


def _indirect_cube(n: int) -> tuple[list[Stage], Digits]:
    return [Stage(_identity(n), digit) for digit in range(n)], _identity(n)


def _omega(n: int) -> tuple[list[Stage], Digits]:
    return [Stage(_rotated(n, n, 1), 0)] * n, _identity(n)


def _flip(n: int) -> tuple[list[Stage], Digits]:
    unshuffle = _rotated(n, n, -1)
    return [Stage(_identity(n) if s == 0 else unshuffle, 0) for s in range(n)], unshuffle


def _baseline(n: int) -> tuple[list[Stage], Digits]:
    later = [Stage(_rotated(n, n - s, -1), 0) for s in range(n - 1)]
    return [Stage(_identity(n), 0), *later], _identity(n)


def _butterfly(n: int) -> tuple[list[Stage], Digits]:
    later = [Stage(_swapped(n, 0, n - 1 - s), 0) for s in range(n - 1)]
    return [Stage(_identity(n), 0), *later], _identity(n)


PLANS: dict[str, tuple[Callable[[int], tuple[list[Stage], Digits]], str]] = {
    "cube": (
        _generalized_cube,
        "Generalized Cube: boxes join lines that differ in one digit, the highest first",
    ),
    "omega": (_omega, "a perfect shuffle of all lines in front of every stage"),
    "baseline": (_baseline, "each stage halves the network: inverse shuffles of ever fewer digits"),
    "indirect-cube": (_indirect_cube, "a Generalized Cube with the lowest digit first"),
    "butterfly": (
        _butterfly,
        "b-ary n-fly: digit 0 trades places with each other digit, the highest first",
    ),
    "flip": (_flip, "inverse omega: an inverse shuffle behind every stage"),
}
"""For each plan, by name: its stages as a function of n, and its description."""


ALIASES: dict[str, str] = {
    "generalized-cube": "cube",
    "multistage-cube": "cube",
    "multistage-shuffle-exchange": "omega",
    "bidelta": "omega",
    "indirect-binary-n-cube": "indirect-cube",
    "fly": "butterfly",
}
"""Other names in the literature for the same wiring, by name."""


def multistage_plan(name: str, ports: int, radix: int | str = 2) -> MultistagePlan:
    """The wiring plan of a multistage network.

    Parameters
    ----------
    name : str
        "cube", "omega", "baseline", "indirect-cube", "butterfly" or "flip".
    ports : int
        Number of inputs and of outputs: a power of the radix (at least the radix itself), or the
        product of the radices.
    radix : int or str
        Inputs and outputs of a box, at least 2; or those of the boxes of each stage, in the order
        in which a packet meets them, such as "4x4x8"; or "4+" for 4 x 4 boxes, and smaller ones in
        the last stage if ports is no power of 4.

    Returns
    -------
    MultistagePlan
        Stages, boxes, and the lines between them.

    Raises
    ------
    TypeError, ValueError
        If there is no such plan, or the numbers do not fit.

    Examples
    --------
    >>> from multicube.hdl import multistage_plan
    >>> plan = multistage_plan("omega", 24, "2x3x4")
    >>> plan.columns
    (12, 8, 6)
    >>> [hop.output for hop in plan.path(0, 23)]
    [1, 2, 3]
    """
    radices = stage_radices(ports, radix)
    return delta_plan(name, radices, radices)


def delta_plan(name: str, inputs: Sequence[int], outputs: Sequence[int]) -> MultistagePlan:
    """The wiring plan of a delta network: stages of boxes that need not be square.

    Parameters
    ----------
    name : str
        One of `PLANS`.
    inputs, outputs : Sequence[int]
        Those of a box of each stage, in the order in which a packet meets them.

    Returns
    -------
    MultistagePlan
        Stages, boxes, and the lines between them.

    Raises
    ------
    ValueError
        If there is no such wiring, or not as many numbers of inputs as of outputs.

    Examples
    --------
    >>> from multicube.hdl.graphs.plans.named_plans import delta_plan
    >>> plan = delta_plan("omega", (4, 4), (3, 3))
    >>> plan.sources, plan.columns, plan.sinks
    (16, (4, 3), 9)
    """
    check_word("Wiring", name, PLANS)
    if len(inputs) != len(outputs):
        raise InvalidValue(
            f"Stages must have inputs and outputs, not {len(inputs)} inputs and "
            f"{len(outputs)} outputs"
        )
    columns, exit_ = PLANS[name][0](len(inputs))
    return MultistagePlan(name, tuple(inputs), tuple(columns), exit_, tuple(outputs))
