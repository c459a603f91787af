"""The radices of the stages of a multistage network."""

from math import prod

from ...fabric.checks import check_integer, check_limit, check_radix, shown
from ...fabric.errors import InvalidValue
from ...fabric.numerals import is_natural

__all__ = ["parse_radices", "stage_radices"]


_MOST_PORTS = 2**24
"""Most sources or sinks of a plan: more than any network has."""


def parse_radices(text: str) -> tuple[int, ...]:
    """The radices of the stages in a text such as 4x4x8: the first stage's first.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    tuple[int, ...]
        A radix for each stage.

    Raises
    ------
    ValueError
        If the text has another form.

    Examples
    --------
    >>> from multicube.hdl.graphs.plans.stage_radices import parse_radices
    >>> parse_radices("4x4x8")
    (4, 4, 8)
    """
    words = text.split("x")
    if not all(is_natural(word) and int(word) >= 2 for word in words):
        raise InvalidValue(
            f"Radix must be a number of at least 2, or several such as 4x4x8, or 4+, not {text!r}"
        )
    return tuple(map(int, words))


def stage_radices(ports: int, radix: int | str = 2) -> tuple[int, ...]:
    """The radix of each stage.

    Parameters
    ----------
    ports : int
        Number of inputs and of outputs.
    radix : int or str
        Inputs and outputs of all boxes; or those of each stage, such as "4x4x8"; or "4+" for 4 x 4
        boxes, and smaller ones in the last stage.

    Returns
    -------
    tuple[int, ...]
        A radix for each stage, the first one first.

    Raises
    ------
    TypeError, ValueError
        If the number of ports is not the product of the radices.

    Examples
    --------
    >>> from multicube.hdl.graphs.plans.stage_radices import stage_radices
    >>> stage_radices(32, "4+")
    (4, 4, 2)
    """
    if isinstance(radix, str) and radix.endswith("+"):
        return _filled(_checked_ports(ports), *parse_radices(radix[:-1]))
    if isinstance(radix, str) and "x" in radix:
        radices = parse_radices(radix)
        ports = _checked_ports(ports)
        if prod(radices) != ports:
            raise InvalidValue(f"Ports must be {prod(radices)} with radix={radix}, not {ports}")
        return radices
    radices = (check_radix(radix),)
    ports = _checked_ports(ports)
    while prod(radices) < ports:
        radices += radices[:1]
    if prod(radices) != ports:
        raise InvalidValue(f"Ports must be a power of the radix {shown(radix)}, not {ports}")
    return radices


def _checked_ports(ports: object) -> int:
    number = check_integer("Ports", ports, 2)
    check_limit("Ports", number, _MOST_PORTS)
    return number


def _filled(ports: int, radix: int, *others: int) -> tuple[int, ...]:
    """Stages of one radix, and one of a smaller radix if that gives this number of ports."""
    radices: tuple[int, ...] = ()
    while ports % radix == 0:
        radices += (radix,)
        ports //= radix
    if others or ports >= radix:
        raise InvalidValue(
            f"Ports must be a power of {radix}, times a number below {radix}, "
            f"with radix={radix}+, not {prod(radices) * ports}"
        )
    return radices if ports == 1 else (*radices, ports)
