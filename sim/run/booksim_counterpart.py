"""Configurations of BookSim2 as networks, traffic and runs of this library."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from ...hdl.catalogue.catalogue import build
from ...hdl.fabric.checks import check_word, shown
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import is_natural
from ...hdl.families.graph_network import GraphNetwork
from ...hdl.graphs.conversion import from_networkx
from ...hdl.graphs.routing.given_routes import GivenRoutes
from ...hdl.networks.network import Network
from ..measure.result import Result
from ..workload.booksim_config import BookSimConfig, listed
from ..workload.traffic import Pattern, in_bursts, pattern

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
    check_word("topology", config["topology"], _TOPOLOGIES)
    network, place, further = _TOPOLOGIES[config["topology"]](config, folder)
    notes += further
    if config.integer("buf_size") > 0:
        notes.append((f"buf_size={config['buf_size']}", "shared buffers: vc_buf_size counts"))
    traffic = _placed(_traffic(config, network.ports), place)
    if config["traffic"].startswith("randperm"):
        notes.append(("traffic=randperm", "this seed gives another permutation"))
    length = _length(config)
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

Built = tuple[Network, Sequence[int] | None, list[tuple[str, str]]]


def _routing(config: BookSimConfig, *known: str) -> str:
    name = config["routing_function"]
    if name not in known:
        raise InvalidValue(
            f"routing_function must be {' or '.join(known)} with topology={config['topology']}, "
            f"not {shown(name)}: others have no counterpart here"
        )
    return name


def _length(config: BookSimConfig) -> int:
    sizes = listed(config["packet_size"])
    if len(sizes) != 1 or not is_natural(sizes[0]):
        raise InvalidValue(f"packet_size must be one number of flits, not {config['packet_size']}")
    return int(sizes[0])


def _common(config: BookSimConfig) -> dict[str, Any]:
    return {"depth": config.integer("vc_buf_size"), "length": _length(config)}


def _one_channel(config: BookSimConfig, has: str) -> list[tuple[str, str]]:
    count = config.integer("num_vcs")
    return [(f"num_vcs={count}", has)] if count > 1 else []


def _torus(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "dim_order")
    return _cube(config, 2 if config.integer("use_noc_latency") else 1)


def _mesh(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "dor", "dim_order")
    return _cube(config, 1)


def _cube(config: BookSimConfig, latency: int) -> Built:
    k, n, channels = (config.integer(name) for name in ("k", "n", "num_vcs"))
    notes = []
    if channels > 16:
        notes.append((f"num_vcs={channels}", "links have at most 16 channels"))
    network = build(
        config["topology"],
        k=k,
        n=n,
        channels=min(channels, 16),
        latency=latency,
        **_common(config),
    )
    return network, None, notes


def _cmesh(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "dor_no_express")
    k, n, c, xr, yr = (config.integer(name) for name in ("k", "n", "c", "xr", "yr"))
    if (n, c, xr, yr) != (2, 4, 2, 2):
        raise InvalidValue("cmesh must have n=2, c=4, xr=2 and yr=2, as in BookSim2")
    latency = 2 if config.integer("use_noc_latency") else 1
    given = nx.DiGraph()
    for node in range(k * k):
        given.add_node(node, terminals=4)
    steps = {}
    for node in range(k * k):
        for step in (1, -1, k, -k):
            if node + step in given and (abs(step) == k or node // k == (node + step) // k):
                steps[node, step] = given.out_degree(node)
                given.add_edge(node, node + step, latency=latency)
    routes: dict[int, dict[int, list[int]]] = {node: {} for node in range(k * k)}
    for node in range(k * k):
        for end in range(k * k):
            across, up = end % k - node % k, end // k - node // k
            step = (across > 0) - (across < 0) or k * ((up > 0) - (up < 0))
            for terminal in range(4 * end, 4 * end + 4):
                if step:
                    routes[node][terminal] = [steps[node, step]]
    network = GraphNetwork(GivenRoutes(from_networkx(given), routes), **_common(config))
    return network, _blocks(k, k, 2, 2), _one_channel(config, "links have one channel")


def _blocks(x: int, y: int, xr: int, yr: int) -> list[int]:
    """The terminal of each node, if nodes are counted across a grid of x xr by y yr nodes, of which
    each router has a block of xr by yr."""
    place = []
    for node in range(x * xr * y * yr):
        up, across = divmod(node, x * xr)
        router = up // yr * x + across // xr
        place.append(router * xr * yr + up % yr * xr + across % xr)
    return place


def _fly(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "dest_tag")
    k, n, length = config.integer("k"), config.integer("n"), _length(config)
    switch = "input-queued" if length == 1 else "wormhole"
    own: dict[str, Any] = {} if length == 1 else {"length": length}
    network = build(
        "butterfly", ports=k**n, radix=k, switch=switch, depth=config.integer("vc_buf_size"), **own
    )
    return network, None, _one_channel(config, "boxes have one queue at each input")


def _fat_tree(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "nca")
    network = build("fat-tree", k=config.integer("k"), n=config.integer("n"), **_common(config))
    return network, None, _one_channel(config, "one channel of each link is enough")


def _flattened(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "ran_min")
    k, n, c, x, y, xr, yr = (config.integer(name) for name in ("k", "n", "c", "x", "y", "xr", "yr"))
    if c != xr * yr or x * y != k**n:
        raise InvalidValue("flatfly must have c = xr yr, and x y = k^n routers")
    network = build("hyperx", k=k, n=n, terminals_per_node=c, **_common(config))
    notes = _one_channel(config, "dimensions are taken in order, on one channel")
    if config.integer("use_noc_latency"):
        notes.append(("use_noc_latency=1", "all links take one cycle"))
    return network, _blocks(x, y, xr, yr), notes


def _dragonfly(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "min")
    if config.integer("n") != 1:
        raise InvalidValue("dragonflynew must have n=1, as in BookSim2")
    k = config.integer("k")
    network = build("dragonfly", p=k, a=2 * k, h=k, latency=100, **_common(config))
    notes = [("topology=dragonflynew", "links in groups take one cycle, there ten")]
    return network, None, notes + _one_channel(config, "each link has the channels it needs")


def _anynet(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "min")
    if not config["network_file"]:
        raise InvalidValue("network_file must be named with topology=anynet")
    from ...hdl.graphs.graph_file import read_graph
    from ...hdl.graphs.routing.relation import Relation

    graph = read_graph(folder / config["network_file"])
    assert not isinstance(graph, Relation)  # lists of anynet hold no routes
    network = GraphNetwork(graph, routing="layered", **_common(config))
    return network, None, _one_channel(config, "links have the channels that layers need")


_TOPOLOGIES: dict[str, Callable[[BookSimConfig, Path], Built]] = {
    "torus": _torus,
    "mesh": _mesh,
    "cmesh": _cmesh,
    "fly": _fly,
    "fattree": _fat_tree,
    "flatfly": _flattened,
    "dragonflynew": _dragonfly,
    "anynet": _anynet,
}


# Traffic, in the numbers of BookSim2's nodes.


def _traffic(config: BookSimConfig, ports: int) -> Any:
    """A text that means the same here, a list of destinations, or a matrix."""
    name, _, rest = config["traffic"].partition("(")
    words = _arguments(rest.removesuffix(")"))
    none = InvalidValue(f"traffic={config['traffic']} has no counterpart here for {ports} nodes")
    if words and name not in ("randperm", "hotspot", "background"):
        raise none
    size = config.integer("k") * config.integer("xr")
    nodes = np.arange(ports)
    if name in ("uniform", "bitcomp", "bitrev", "shuffle", "transpose", "diagonal", "asymmetric"):
        return name
    if name == "randperm":
        return f"randperm:{words[0] if words else config.integer('perm_seed')}"
    if name in ("tornado", "neighbor"):
        shift = (size + 1) // 2 - 1 if name == "tornado" else 1
        found = np.zeros(ports, int)
        for digit in range(config.integer("n")):
            offset = size**digit
            found += offset * ((nodes // offset + shift) % size)
        return found.tolist()
    if name == "hotspot":
        spots = _listed(f"Node of {name}", words[:1], ports - 1)
        rates = _listed(f"Rate of {name}", words[1:2]) or [1]
        if not spots:
            raise InvalidValue("traffic=hotspot must name its nodes: hotspot({3,5})")
        row = np.zeros(ports)
        for place, spot in enumerate(spots):
            row[spot] += rates[min(place, len(rates) - 1)]
        return np.tile(row, (ports, 1))
    if name == "background":
        row = np.ones(ports)
        row[_listed(f"Node of {name}", words[:1], ports - 1)] = 0
        return np.tile(row, (ports, 1))
    if name == "bad_dragon":
        group = 2 * config.integer("k") ** 2
        return (nodes // group == (nodes[:, None] // group + 1) % -(-ports // group)).astype(float)
    if name == "badperm_yarc":
        return ((nodes % size == nodes[:, None] // size) & (nodes // size < size)).astype(float)
    if name == "taper64" and ports == 64:
        steps = [8 * up + across for up in (-1, 0, 1) for across in (-1, 0, 1)]
        near = sum(np.roll(np.eye(64), step, axis=1) for step in steps)
        return near / 18 + 1 / 128
    raise none


def _listed(what: str, words: Sequence[str], most: int | None = None) -> list[int]:
    """The integers of a list that is the only word, from 0 to the most."""
    found = [each for word in words for each in listed(word)]
    for each in found:
        if not is_natural(each) or (most is not None and int(each) > most):
            allowed = "an integer from 0 on" if most is None else f"from 0 to {most}"
            raise InvalidValue(f"{what} must be {allowed}, not {each}")
    return list(map(int, found))


def _arguments(text: str) -> list[str]:
    """Arguments that are separated by commas, but for those inside of braces."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [each.strip() for each in found if each.strip()]


def _placed(traffic: Any, place: Sequence[int] | None) -> Any:
    """Traffic of nodes as traffic of the terminals in their places."""
    if place is None or traffic == "uniform":
        return traffic
    known = pattern(traffic, len(place))
    if known.where.matrix is not None:
        moved = np.zeros_like(known.where.matrix)
        moved[np.ix_(place, place)] = known.where.matrix
        return moved
    ends = dict(zip(place, (place[end] for end in known.where.favourites)))
    return [ends[terminal] for terminal in range(len(place))]


def _process(config: BookSimConfig, found: Pattern, rate: float) -> Pattern:
    """The traffic with the bursts of the configuration, at a rate in packets."""
    kind = config["injection_process"]
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
