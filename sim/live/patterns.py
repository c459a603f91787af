"""The traffic patterns of a page: what each writes to the straps of the sources."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...hdl.bench import SourcePlan
from ...hdl.fabric.errors import MulticubeError
from ...hdl.networks.network import Network
from ..run.run import Run
from ..workload.class_traffic import network_traffic
from ..workload.pattern import Pattern

__all__ = ["page_patterns"]

_OFFERED = (
    "uniform",
    "hotspot:0",
    "identity",
    "complement",
    "perfect-shuffle",
    "bit-reversal",
    "transpose",
    "shift:1",
    "tornado",
    "neighbor",
    "randperm",
)
"""What every page offers, as far as the network allows it."""

_VARYING = ("bias", "favourite", "scope", "quota", "spread")
"""The straps by which patterns differ, besides the load."""


def page_patterns(network: Network, run: Run, others: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The patterns of a page, that of the run first, and others that its lessons use.

    Sources that draw from tables, send in bursts or in a closed loop have other hardware: a page
    with such traffic offers no other.
    """
    first = run.traffic
    assert isinstance(first, Pattern)
    found = [_straps(network, run, first)]
    for text in (*_OFFERED, *others):
        try:
            other = network_traffic(text, network)
            other.check(network)
            if other.parts_in(network) or first.parts_in(network) or other.name == first.name:
                continue
            straps = _straps(network, run, other)
            if straps["name"] not in [each["name"] for each in found]:
                found.append(straps)
        except MulticubeError:  # it has no meaning here
            continue
    return found


def _hot(traffic: Pattern) -> dict[str, Any] | None:
    """A hot spot's share and terminal, which a page can change, and what its word has besides."""
    word, plus, rest = traffic.name.partition("+")
    if word.split(":")[0] != "hotspot" or traffic.where.matrix is not None:
        return None
    return {
        "share": traffic.where.bias,
        "target": traffic.where.favourites[0],
        "rest": f"{plus}{rest}",
    }


def _straps(network: Network, run: Run, traffic: Pattern) -> dict[str, Any]:
    """The straps of all sources; a number stands for a list of equal ones."""
    plan: SourcePlan = replace(run, traffic=traffic).sources(network)
    straps: dict[str, Any] = {}
    for name in _VARYING:
        values = [own[name] for own in plan.straps if name in own]
        if values:
            straps[name] = values[0] if len(set(values)) == 1 else values
    hot = _hot(traffic)
    return {
        "name": traffic.name if hot is None else f"hotspot{hot['rest']}",
        "hot": hot,
        "word": shlex.quote(traffic.name),
        "rates": list(traffic.when.rates),
        "paced": "load" in plan.straps[0] and not traffic.when.quota,
        "hurry": traffic.when.hurry,
        "straps": straps,
    }
