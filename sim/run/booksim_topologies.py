"""The networks that are the counterparts of topologies of BookSim2."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from ...hdl.catalogue.catalogue import build
from ...hdl.fabric.checks import shown
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import is_natural
from ...hdl.families.graph_network import GraphNetwork
from ...hdl.graphs.conversion import from_networkx
from ...hdl.graphs.routing.given_routes import GivenRoutes
from ...hdl.networks.network import Network
from ..workload.booksim_config import BookSimConfig, listed

__all__ = ["TOPOLOGIES", "packet_length"]


Built = tuple[Network, Sequence[int] | None, list[tuple[str, str]]]


def _routing(config: BookSimConfig, *known: str) -> str:
    name = config["routing_function"]
    if name not in known:
        raise InvalidValue(
            f"routing_function must be {' or '.join(known)} with topology={config['topology']}, "
            f"not {shown(name)}: others have no counterpart here"
        )
    return name


def packet_length(config: BookSimConfig) -> int:
    sizes = listed(config["packet_size"])
    if len(sizes) != 1 or not is_natural(sizes[0]):
        raise InvalidValue(f"packet_size must be one number of flits, not {config['packet_size']}")
    return int(sizes[0])


def _common(config: BookSimConfig) -> dict[str, Any]:
    return {"depth": config.integer("vc_buf_size"), "length": packet_length(config)}


def _one_channel(config: BookSimConfig, has: str) -> list[tuple[str, str]]:
    count = config.integer("num_vcs")
    return [(f"num_vcs={count}", has)] if count > 1 else []


def _wire_cycles(config: BookSimConfig) -> int:
    """Cycles of the links that have those of long wires in BookSim2 unless the file says no."""
    return 2 if config.integer("use_noc_latency") == 1 else 1


def _torus(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "dim_order")
    return _cube(config, _wire_cycles(config))


def _mesh(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "dor", "dim_order")
    return _cube(config, 1)


def _cube(config: BookSimConfig, latency: int) -> Built:
    k, n, channels = (config.integer(name) for name in ("k", "n", "num_vcs"))
    notes = []
    if channels > 16:
        notes.append((f"num_vcs={channels}", "links have at most 16 channels"))
    network = build(
        config["topology"], k=k, n=n, channels=min(channels, 16), latency=latency, **_common(config)
    )
    return network, None, notes


def _cmesh(config: BookSimConfig, folder: Path) -> Built:
    _routing(config, "dor_no_express")
    k, n, c, xr, yr = (config.integer(name) for name in ("k", "n", "c", "xr", "yr"))
    if (n, c, xr, yr) != (2, 4, 2, 2):
        raise InvalidValue("cmesh must have n=2, c=4, xr=2 and yr=2, as in BookSim2")
    latency = _wire_cycles(config)
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
    k, n, length = config.integer("k"), config.integer("n"), packet_length(config)
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
    if _wire_cycles(config) > 1:
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
    file = folder.absolute() / config["network_file"]
    network = build("graph", file=str(file), routing="layered", **_common(config))
    return network, None, _one_channel(config, "links have the channels that layers need")


TOPOLOGIES: dict[str, Callable[[BookSimConfig, Path], Built]] = {
    "torus": _torus,
    "mesh": _mesh,
    "cmesh": _cmesh,
    "fly": _fly,
    "fattree": _fat_tree,
    "flatfly": _flattened,
    "dragonflynew": _dragonfly,
    "anynet": _anynet,
}
