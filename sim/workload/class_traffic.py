"""Traffic of a network whose messages have classes: what each class sends, and how much of it."""

from dataclasses import replace
from typing import Any

import numpy as np

from ...hdl.fabric.checks import check_limit, shown
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import number_of
from ...hdl.networks.network import Network
from .destinations import Destinations, check_spheres, sphere_matrix
from .injection_process import InjectionProcess
from .matrix import MOST_ENTRIES
from .pattern import Pattern, short_name
from .traffic import pattern

__all__ = ["network_traffic"]

_BETWEEN, _SHARE = ";", "@"


def network_traffic(traffic: Any, network: Network) -> Pattern:
    """The traffic pattern of a network, as `pattern` reads it.

    If messages have several classes, a text may say what each class sends: "uniform@3; tornado" is
    uniform traffic of class 0, and tornado traffic of class 1 with a third of its load. Any other
    traffic is that of every class, at equal loads. The load is the mean of all endpoints.

    Parameters
    ----------
    traffic : str, path-like, Sequence, np.ndarray, Callable or Pattern
        For terminals; a pattern may also be for endpoints.
    network : Network
        If it has classes, a network of packets.

    Raises
    ------
    TypeError, ValueError
        As `pattern`; if there are not as many classes, or their traffic does not go together.
    """
    count = network.classes
    if count == 1 or (isinstance(traffic, Pattern) and traffic.terminals == network.sources):
        return pattern(traffic, network.sources, network.sinks)
    terminals = network.sources // count
    words = [traffic] * count
    if isinstance(traffic, str) and _BETWEEN in traffic:
        words = traffic.split(_BETWEEN)
        if len(words) != count:
            raise InvalidValue(
                f"Traffic must be of {count} classes, not of {len(words)}: {short_name(traffic)}"
            )
    parts, shares = zip(*(_with_share(each, terminals) for each in words))
    first = parts[0]
    name = f"{_BETWEEN} ".join(
        part.name + (f"{_SHARE}{share}".removesuffix(".0") if share != 1 else "")
        for part, share in zip(parts, shares)
    )
    if len({*zip(parts, shares)}) == 1:
        name = first.name
    for part in parts:
        if part.flows is not None or part.where.spread:
            raise InvalidValue(f"Traffic {short_name(part.name)} is not for classes of messages")
        if replace(part.when, rates=()) != replace(first.when, rates=()):
            raise InvalidValue(
                f"Classes of messages must have the same bursts, intervals and numbers of packets, "
                f"not {short_name(name)}"
            )
    check_limit("Entries of a traffic matrix", network.sources**2, MOST_ENTRIES)
    matrix = np.zeros((network.sources, network.sources))
    rates = np.zeros(network.sources)
    for own, (part, share) in enumerate(zip(parts, shares)):
        matrix[own::count, own::count] = _weights(part, network)
        rates[own::count] = np.array(part.when.of(terminals)) * share * count / sum(shares)
    when: InjectionProcess = replace(first.when, rates=tuple(rates.tolist()))
    if np.allclose(rates, 1, rtol=0, atol=1e-9):
        when = replace(when, rates=())
    return Pattern(name, Destinations((0,) * network.sources, matrix=matrix), when)


def _with_share(traffic: Any, terminals: int) -> tuple[Pattern, float]:
    """The pattern of a class, and its share of the load."""
    if not isinstance(traffic, str) or _SHARE not in traffic:
        return pattern(traffic.strip() if isinstance(traffic, str) else traffic, terminals), 1.0
    text, _, word = traffic.rpartition(_SHARE)
    try:
        share = number_of(word)
    except ValueError:
        share = 0.0
    if not 0 < share < float("inf"):
        raise InvalidValue(f"Share of a class must be a number above 0, not {shown(word.strip())}")
    return pattern(text.strip(), terminals), share


def _weights(part: Pattern, network: Network) -> np.ndarray:
    """The matrix of a class, a row for each terminal."""
    terminals, where = part.terminals, part.where
    if where.matrix is not None:
        return where.matrix
    everywhere = np.full((terminals, terminals), 1 / terminals)
    if where.local:
        size = where.sphere or network.sphere
        check_spheres(part.name, size, terminals)
        return everywhere if size == terminals else sphere_matrix(where.bias, size, terminals)
    favourites = np.eye(terminals)[list(where.of(network.terminal_code))]
    return where.bias * favourites + (1 - where.bias) * everywhere
