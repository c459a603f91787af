"""Fan-out and fan-in of one terminal with all others, on seven networks of equal wires (2.1).

A pattern with a high fan-out has one sender and many destinations, one with a high fan-in the
inverse: a broadcast and a reduction. They are performed one message after the other (`direct`), by
copies in log N rounds as on the Connection Machine (4.2: `tree`), by the fastest of all algorithms
of terminals, and by routers that copy and merge the packets of a group.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....hdl.catalogue.catalogue import build
from ....hdl.networks.packet_network import PacketNetwork
from ...run.collective import NETWORK
from ...run.collective_run import run_collective
from ..item import Item, Options, Row
from ..panels import Lines, Panel
from . import SOURCE

__all__ = ["FAN_LENGTHS", "FAN_SIZES"]

_WIDTH = 32
"""Width of a link of the mesh in bits; links of others have as many wires in all."""

_FLITS = 16
"""Most flits of a packet."""

_BITS = (64, 512, 4096)
_USUAL = 512


@dataclass(frozen=True)
class _Kind:
    """A network in several sizes: its name, the words for `build`, and those for groups."""

    name: str
    sizes: tuple[str, ...]
    groups: bool = True


_KINDS = (
    _Kind("mesh", ("mesh k=4 n=2", "mesh k=8 n=2", "mesh k=16 n=2")),
    _Kind("torus", ("torus k=4 n=2", "torus k=8 n=2", "torus k=16 n=2")),
    _Kind("hypercube", ("hypercube n=4", "hypercube n=6", "hypercube n=8")),
    _Kind("fat tree", ("fat-tree k=4 n=2", "fat-tree k=4 n=3", "fat-tree k=4 n=4")),
    _Kind("dragonfly", ("dragonfly h=1", "dragonfly h=2")),
    _Kind(
        "hierarchical",
        ("bh-bh dimension=4 cluster=2", "bh-bh dimension=6", "bh-bh dimension=8 cluster=4"),
    ),
    _Kind(
        "omega",
        tuple(f"omega ports={ports} switch=wormhole" for ports in (16, 64, 256)),
        groups=False,
    ),
)

_QUICK = (
    _Kind("mesh", ("mesh k=3 n=1",) * 2),
    _Kind("omega", ("omega ports=4 switch=wormhole",) * 2, groups=False),
)


def _network(words: str, wires: int, groups: bool) -> PacketNetwork:
    """A network whose links between switches have so many wires in all."""
    counts = build(words).link_counts
    assert counts is not None
    more = " group_entries=1" if groups else ""
    network = build(f"{words} length={_FLITS} payload={max(1, wires // counts.total)}{more}")
    assert isinstance(network, PacketNetwork)
    return network


def _wires(network: str) -> int:
    counts = build(network).link_counts
    assert counts is not None
    return _WIDTH * counts.total


def _measured(network: PacketNetwork, bits: int, options: Options) -> Iterator[Row]:
    width = network.packet["payload"].width
    flits = -(-bits // width)
    for fan, kind in (("out", "broadcast"), ("in", "reduce")):
        run = run_collective(network, kind, flits=flits, engine=options.engine)
        own = {name: cycles for name, cycles in run.tried.items() if name != NETWORK}
        best = min(own, key=lambda name: own[name])
        groups = run.tried.get(NETWORK)
        yield {
            "terminals": network.ports,
            "fan": fan,
            "bits": bits,
            "width": width,
            "flits": flits,
            "direct": own["direct"],
            "tree": own["tree"],
            "best": own[best],
            "algorithm": best,
            "measured": groups,
            "predicted": run.bound,
            "gain": groups and own[best] / groups,
        }


def _by_length(options: Options) -> Iterator[Row]:
    kinds = _QUICK if options.quick else _KINDS
    wires = _wires(kinds[0].sizes[1])
    for kind in kinds:
        network = _network(kind.sizes[1], wires, kind.groups)
        for bits in (64,) if options.quick else _BITS:
            for row in _measured(network, bits, options):
                yield {"network": kind.name, **row}


def _by_size(options: Options) -> Iterator[Row]:
    kinds = _QUICK if options.quick else _KINDS
    for kind in kinds:
        for size, words in enumerate(kind.sizes[: 1 if options.quick else None]):
            # Wires for each size are those of the mesh of this size.
            network = _network(words, _wires(kinds[0].sizes[size]), kind.groups)
            for row in _measured(network, 64 if options.quick else _USUAL, options):
                yield {"network": kind.name, **row}


_COLUMNS = (
    "network | terminals = N : , | fan | bits : , | width = wires of a link | flits : ,"
    " | direct = one by one : , | tree = copies : , | best = best of terminals : ,"
    " | algorithm = by | measured = network : , | predicted = at least : , | gain = times : .2f"
)

_PANEL = Panel(
    "bits",
    [
        Lines("measured", "-o", "{network}"),
        Lines("best", "--s", lambda row: "" if row["measured"] else f"{row['network']}, terminals"),
    ],
    ["network"],
    title="fan-{fan}",
    xlabel="bits",
    ylabel="cycles",
    by="fan",
    size=(5, 4.4),
    xlog=2,
    ylog=10,
    ticks=True,
)

_NOTES = (
    "A broadcast from terminal 0 to all others (out), and the sum of all at terminal 0 (in). "
    "Cycles until the last flit has arrived; every word was checked. Links between switches have "
    "as many wires in all as those of the mesh, with links of 32, and a flit has as many bits as "
    "its link.",
    "One by one: a message for each. Copies: in log N rounds, as on the Connection Machine (4.2). "
    "Best: the fastest of direct, tree, ring, halving and schedule. Network: routers copy and "
    "merge packets of a group (boxes of the omega network don't). Times: best / network. At "
    "least: what distances and links allow.",
    "In the picture: solid lines by the network, dashed lines by its terminals.",
)

FAN_LENGTHS = Item(
    "stanfill-fan-lengths",
    "Fan-out and fan-in on seven networks of 64 terminals and equal wires, by length",
    f"{SOURCE}, 2.1",
    columns=_COLUMNS,
    rows=_by_length,
    draw=_PANEL,
    notes=_NOTES,
    ignores=("cycles", "seed"),
)

FAN_SIZES = Item(
    "stanfill-fan-sizes",
    "Fan-out and fan-in of 512 bits on seven networks of equal wires, by size",
    f"{SOURCE}, 2.1",
    columns=_COLUMNS,
    rows=_by_size,
    draw=replace(_PANEL, x="terminals", xlabel="N, terminals"),
    notes=_NOTES,
    ignores=("cycles", "seed"),
)
