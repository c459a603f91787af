"""Configurations of BookSim2 as networks, traffic and runs of this library."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...hdl.fabric.checks import check_integer, check_word
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import is_natural
from ...hdl.networks.network import Network
from ..measure.result import Result
from ..workload.booksim_config import BookSimConfig, listed
from ..workload.traffic import Pattern, in_bursts, pattern
from .booksim_topologies import TOPOLOGIES, packet_length

__all__ = ["Counterpart", "booksim_counterpart", "booksim_results"]

MOST_PAIRS = 2**16
"""Most pairs of terminals whose path is followed for the mean number of hops."""


@dataclass(frozen=True)
class Counterpart:
    """What stands for a configuration of BookSim2.

    Attributes
    ----------
    network : Network
    traffic : Pattern
        Terminals have the numbers of this library.
    load : float
        Packets per terminal per cycle.
    seed : int
    hops : float
        Mean number of routers on a path, as BookSim2 counts.
    cycles_per_hop : int
        Cycles that a header takes in each of BookSim2's routers, besides the link.
    limit : int
        Most cycles of the window, as BookSim2 gives up after so many.
    notes : Sequence[tuple[str, str]]
        What the configuration says that is left out, and why.
    """

    network: Network
    traffic: Pattern
    load: float
    seed: int
    hops: float
    cycles_per_hop: int
    limit: int
    notes: Sequence[tuple[str, str]]

    @property
    def further_cycles(self) -> float:
        """By how many cycles BookSim2's mean latency at zero load is longer: those in its routers,
        and two for the links of the terminals."""
        return self.hops * self.cycles_per_hop + 2


def booksim_counterpart(config: BookSimConfig, folder: Path) -> Counterpart:
    """What stands for a configuration of BookSim2.

    Parameters
    ----------
    config : BookSimConfig
    folder : Path
        Where the configuration is: names of files are seen from there.

    Raises
    ------
    ValueError
        If there is no such topology, routing, traffic or injection process here.
    """
    notes = list(config.without_counterpart())
    check_word("topology", config["topology"], TOPOLOGIES)
    network, place, further = TOPOLOGIES[config["topology"]](config, folder)
    notes += further
    if config.integer("buf_size") > 0:
        notes.append((f"buf_size={config['buf_size']}", "shared buffers: vc_buf_size counts"))
    traffic = _placed(_traffic(config, network.ports), place)
    if config["traffic"].startswith("randperm"):
        notes.append(("traffic=randperm", "this seed gives another permutation"))
    length = packet_length(config)
    load = config.number("injection_rate")
    if config.integer("injection_rate_uses_flits"):
        load /= length
    found = _process(config, pattern(traffic, network.ports), load)
    found.check(network)
    found.check_load(load)
    return Counterpart(
        network,
        found,
        load,
        config.integer("seed"),
        _mean_hops(network, found),
        config.cycles_per_hop,
        config.most_cycles,
        notes,
    )


# Topologies. Each gives the network, the terminal here of each node there, and notes.


# Traffic, in the numbers of BookSim2's nodes.


def _traffic(config: BookSimConfig, ports: int) -> Any:
    """A text that means the same here, a list of destinations, or a matrix."""
    name, words, config = _called(config, "traffic")
    none = InvalidValue(f"traffic={config['traffic']} has no counterpart here for {ports} nodes")
    if len(words) > {"hotspot": 2, "background": 1}.get(name, 0):
        raise none
    k, n, xr = (check_integer(each, config.integer(each), 1, 2**16) for each in ("k", "n", "xr"))
    size = k * xr
    nodes = np.arange(ports)
    bits = ports.bit_length() - 1
    if name in ("bitcomp", "bitrev", "shuffle", "transpose") and (
        ports != 1 << bits or (name == "transpose" and bits % 2)
    ):
        raise none
    if name in ("uniform", "bitcomp", "bitrev", "shuffle", "transpose", "diagonal", "asymmetric"):
        return name
    if name == "randperm":
        return f"randperm:{config.integer('perm_seed')}"
    if name in ("tornado", "neighbor") and size**n <= ports:
        shift = (size + 1) // 2 - 1 if name == "tornado" else 1
        found = np.zeros(ports, int)
        for digit in range(n):
            offset = size**digit
            found += offset * ((nodes // offset + shift) % size)
        return found.tolist()
    if name == "hotspot":
        spots = _listed(f"Node of {name}", words[:1], ports - 1)
        rates = _listed(f"Rate of {name}", words[1:2], 2**31 - 1) or [1]
        if not spots:
            raise InvalidValue("traffic=hotspot must name its nodes: hotspot({{3,5}})")
        row = np.zeros(ports)
        for place, spot in enumerate(spots):
            row[spot] += rates[min(place, len(rates) - 1)]
        return np.tile(row, (ports, 1))
    if name == "background":
        row = np.ones(ports)
        row[_listed(f"Node of {name}", words[:1], ports - 1)] = 0
        return np.tile(row, (ports, 1))
    if name == "bad_dragon":
        group = 2 * k**2
        beyond = (nodes - (nodes[:, None] // group + 1) * group) % ports
        return ((group - 1 - beyond) // ports + 1).astype(float)
    if name == "badperm_yarc":
        if (size - 1) * size + (ports - 1) // size >= ports:
            raise none
        column = nodes - nodes[:, None] // size
        return ((column >= 0) & (column < size**2) & (column % size == 0)).astype(float)
    if name == "taper64" and ports == 64:
        steps = [8 * up + across for up in (-1, 0, 1) for across in (-1, 0, 1)]
        near = sum(np.roll(np.eye(64), step, axis=1) for step in steps)
        return near / 18 + 1 / 128
    raise none


def _listed(what: str, words: Sequence[str], most: int) -> list[int]:
    """The integers of a list that is the only word, from 0 to the most."""
    found = [each for word in words for each in listed(word)]
    for each in found:
        if not is_natural(each) or int(each) > most:
            raise InvalidValue(f"{what} must be from 0 to {most}, not {each}")
    return list(map(int, found))


_ARGUMENTS = {
    **dict.fromkeys(("tornado", "neighbor", "badperm_yarc", "bad_dragon"), ("k", "n", "xr")),
    "randperm": ("perm_seed",),
    "on_off": ("burst_alpha", "burst_beta", "burst_r1"),
}
"""The parameters that arguments stand for, in their order."""


_ARGUMENT = re.compile(r"[^{},]*|{([^{}]|{[^{}]*})*}")
"""One argument, or a list of several, which may be lists themselves."""


def _called(config: BookSimConfig, parameter: str) -> tuple[str, list[str], BookSimConfig]:
    """What a parameter such as `tornado({8,2})` names, its arguments that stand for no parameters,
    and the configuration with the others."""
    name, _, rest = config[parameter].partition("(")
    text, names = rest.removesuffix(")"), _ARGUMENTS.get(name, ())
    if not _ARGUMENT.fullmatch(text):
        raise InvalidValue(
            f"Arguments of {name} must be one, or a list such as {{8,2}} or {{{{3,5}},{{1,2}}}}, "
            f"not {text}: BookSim2 reads the first alone"
        )
    inner = text[1:-1] if text.startswith("{") else text
    words = [each.strip() for each in re.findall(r"{[^{}]*}|[^{},]+", inner) if each.strip()]
    given = {**config.given, **dict(zip(names, words))}
    return name, words[len(names) :], replace(config, given=given)


def _placed(traffic: Any, place: Sequence[int] | None) -> Any:
    """Traffic of nodes as traffic of the terminals in their places."""
    if place is None:
        return traffic
    known = pattern(traffic, len(place))
    if known.uniform:
        return traffic
    if known.where.matrix is not None:
        moved = np.zeros_like(known.where.matrix)
        moved[np.ix_(place, place)] = known.where.matrix
        return moved
    ends = dict(zip(place, (place[end] for end in known.where.favourites)))
    return [ends[terminal] for terminal in range(len(place))]


def _process(config: BookSimConfig, found: Pattern, rate: float) -> Pattern:
    """The traffic with the bursts of the configuration, at a rate in packets."""
    kind, _, config = _called(config, "injection_process")
    if kind == "bernoulli":
        return found
    if kind != "on_off":
        raise InvalidValue(f"injection_process must be bernoulli or on_off, not {kind}")
    alpha, beta, r1 = (config.number(f"burst_{name}") for name in ("alpha", "beta", "r1"))
    try:
        if alpha < 0:
            alpha = beta * rate / (r1 - rate)
        elif beta < 0:
            beta = alpha * (r1 - rate) / rate
        elif r1 >= 0:
            raise InvalidValue("One of burst_alpha, burst_beta and burst_r1 must be negative")
        times = [f"{1 / beta:.12g}", f"{1 / alpha:.12g}"]
    except ZeroDivisionError:
        raise InvalidValue("burst_alpha, burst_beta and burst_r1 must give bursts") from None
    return in_bursts(found, times)


def _mean_hops(network: Network, traffic: Pattern) -> float:
    """The mean number of routers that packets pass, as BookSim2 counts them.

    Of all pairs of terminals, or of some that are drawn if they are many.
    """
    ports = network.ports
    ends = traffic.destinations(network.code)
    if ends is not None:
        pairs = [(source, end) for source, end in enumerate(ends) if end is not None]
        weights = None
    else:
        pairs = [(source, end) for source in range(ports) for end in range(ports)]
        weights = None if traffic.where.matrix is None else traffic.where.matrix.flatten().tolist()
        if len(pairs) > MOST_PAIRS:
            chosen = random.Random(1).choices(range(len(pairs)), weights, k=MOST_PAIRS)
            pairs, weights = [pairs[number] for number in chosen], None
    hops = [len(network.path(source, end)) for source, end in pairs]
    return float(np.average(hops, weights=weights))


def booksim_results(result: Result, hops: float) -> dict[str, float | None]:
    """The results of a run, in BookSim2's words; terminals are its nodes.

    A latency is None if it is not known, as in a saturated network.
    """
    found: dict[str, float | None] = {
        "Packet latency average": result.latency.mean,
        "Network latency average": result.network_latency.mean,
    }
    for word, counts in (("Injected", "injected"), ("Accepted", "delivered")):
        rates = [count / result.cycles for count in result.terminals[counts]]
        for unit, factor in (("packet", 1.0), ("flit", result.packet_length)):
            for kind, value in (
                ("average", float(np.mean(rates))),
                ("minimum", min(rates)),
                ("maximum", max(rates)),
            ):
                found[f"{word} {unit} rate {kind}"] = factor * value
    return found | {"Packet size average": result.packet_length, "Hops average": hops}
