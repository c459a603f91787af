"""Stanfill's survey of networks (section 3) as one table: cost, time of permutations, faults."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import isqrt
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from scipy.stats import t as student

from ....hdl.catalogue.catalogue import build
from ....hdl.families.clos.clos_graph import Clos
from ....hdl.families.fat_tree.fat_tree_graph import FatTree
from ....hdl.families.hypercube.hypercube_graph import RoutedHypercube
from ....hdl.families.leiserson_fat_tree_graph import LeisersonFatTree
from ....hdl.graphs.permutations import (
    bit_reversal,
    complement,
    cyclic_shift,
    perfect_shuffle,
    random_permutation,
    transpose,
)
from ....hdl.graphs.plans.multistage_graph import MultistageGraph
from ....hdl.graphs.plans.named_plans import multistage_plan
from ....hdl.graphs.routing.relation import Relation
from ....hdl.networks.packet_network import PacketNetwork
from ...measure.path_shares import PathShares, path_shares
from ...measure.worst_permutation import heavy_permutations
from ...run.run import Run
from ...run.simulation import whole_runs
from ...run.single_faults import QuietPaths, delivered_in_turn, pins_of
from ...workload.traffic import pattern
from ..item import Item, Options
from . import SOURCE

__all__ = ["ENTRIES", "SURVEY", "Cost", "Entry", "costs", "relation_of"]

_SIZES = (16, 64, 256)
"""Sizes for which the formulas of the costs are compared with the descriptions."""
_RANDOM = 32
"""Random permutations."""
_HEAVY = 12
"""Links from whose worst permutations the search goes on."""
_ROUNDS = 2
"""Rounds of changes to the slowest permutations found."""
_CHANGED = 48
"""Changed permutations of a round."""
_CONFIDENCE = 0.99

Cost = Callable[[int], int]


def _log(terminals: int) -> int:
    return terminals.bit_length() - 1


@dataclass(frozen=True)
class Entry:
    """A network of the survey.

    Attributes
    ----------
    name, section : str
    words : callable
        Its description for N terminals, in the words of `build`.
    wires, crosspoints : tuple[str, callable]
        The formula of the costs, as text and as a function of its terminals: see `costs`.
    cost, time : str
        What the paper says of their growth; empty if nothing.
    description : callable or None
        The relation of its packets for N terminals; by default that of the network.
    quiet : callable or None
        The relation of packets that never wait, if that is another.
    """

    name: str
    section: str
    words: Callable[[int], str]
    wires: tuple[str, Cost]
    crosspoints: tuple[str, Cost]
    cost: str = ""
    time: str = ""
    description: Callable[[int], Relation] | None = None
    quiet: Callable[[int], Relation] | None = None


_DOUBLING: dict[str, Any] = {
    "section": "3.8",
    "wires": ("2 N (log N - 1)", lambda n: 2 * n * (_log(n) - 1)),
    "crosspoints": ("5 N^2 - 8 N", lambda n: 5 * n**2 - 8 * n),
    "cost": "N log N",
    "time": "log N",
}

_HYPERCUBE: dict[str, Any] = {
    "section": "3.10",
    "wires": ("N log N", lambda n: n * _log(n)),
    "crosspoints": ("N (log N + 1)^2", lambda n: n * (_log(n) + 1) ** 2),
    "cost": "N log N",
    "time": "log N",
}

ENTRIES = (
    Entry(
        *("bus", "3.2", "bus ports={}".format),
        wires=("1", lambda n: 1),
        crosspoints=("2 N", lambda n: 2 * n),
    ),
    Entry(
        *("crossbar", "3.3", "crossbar ports={}".format),
        wires=("0", lambda n: 0),
        crosspoints=("N^2", lambda n: n**2),
        cost="N^2",
        time="constant",
        description=lambda n: MultistageGraph(multistage_plan("cube", n, n)),
    ),
    Entry(
        *("Clos", "3.4", lambda n: "clos n={0} m={0} r={0}".format(isqrt(n))),
        wires=("2 N", lambda n: 2 * n),
        crosspoints=("3 N^1.5", lambda n: 3 * n * isqrt(n)),
        cost="far below N^2",
        time="constant",
        description=lambda n: Clos(isqrt(n), isqrt(n), isqrt(n)),
    ),
    Entry(
        *("one-way ring", "3.5", "ring k={} n=1".format),
        wires=("N", lambda n: n),
        crosspoints=("4 N", lambda n: 4 * n),
        time="N",
    ),
    Entry(
        *("mesh", "3.6", lambda n: f"mesh k={isqrt(n)} n=2"),
        wires=("4 (N - sqrt N)", lambda n: 4 * (n - isqrt(n))),
        crosspoints=("25 N - 36 sqrt N + 8", lambda n: 25 * n - 36 * isqrt(n) + 8),
        time="many nodes between",
    ),
    Entry(
        *("torus", "3.6", lambda n: f"torus k={isqrt(n)} n=2"),
        wires=("4 N", lambda n: 4 * n),
        crosspoints=("25 N", lambda n: 25 * n),
        time="many nodes between",
    ),
    Entry(
        *("tree", "3.7", lambda n: f"tree nodes={n - 1}"),
        wires=("2 N - 2", lambda n: 2 * n - 2),
        crosspoints=("10 N - 13", lambda n: 10 * n - 13),
        cost="N",
        time="bound by the root",
    ),
    Entry(
        "fat tree, doubling",
        words=lambda n: f"leiserson-fat-tree levels={_log(n)}",
        description=lambda n: LeisersonFatTree(2, _log(n)),
        **_DOUBLING,
    ),
    Entry(
        "fat tree, doubling, any wire",
        words=lambda n: f"leiserson-fat-tree levels={_log(n)} parallel=any",
        description=lambda n: LeisersonFatTree(2, _log(n), parallel="any"),
        **_DOUBLING,
    ),
    Entry(
        *("fat tree, 2-ary", "3.8", lambda n: f"fat-tree k=2 n={_log(n)}"),
        wires=("2 N (log N - 1)", lambda n: 2 * n * (_log(n) - 1)),
        crosspoints=("8 N log N - 6 N", lambda n: 8 * n * _log(n) - 6 * n),
        cost="N log N",
        time="log N",
        description=lambda n: FatTree(2, _log(n)),
    ),
    Entry(
        *("omega", "3.9", "omega ports={}".format),
        wires=("N (log N - 1)", lambda n: n * (_log(n) - 1)),
        crosspoints=("2 N log N", lambda n: 2 * n * _log(n)),
        cost="N log N",
        time="log N",
        description=lambda n: MultistageGraph(multistage_plan("omega", n)),
    ),
    Entry("hypercube, e-cube", words=lambda n: f"hypercube n={_log(n)}", **_HYPERCUBE),
    Entry(
        "hypercube, adaptive",
        words=lambda n: f"hypercube n={_log(n)} routing=adaptive",
        **_HYPERCUBE,
    ),
    Entry(
        "Connection Machine",
        words=lambda n: f"connection-machine n={_log(n)} schedule=parallel",
        description=lambda n: RoutedHypercube(_log(n), "adaptive"),
        quiet=lambda n: RoutedHypercube(_log(n), "ecube"),
        **_HYPERCUBE,
    ),
)
"""The networks of section 3, and variants of them."""


def _built(words: str) -> PacketNetwork:
    network = build(words)
    assert isinstance(network, PacketNetwork)
    return network


def relation_of(entry: Entry, terminals: int) -> Relation:
    """The routing of an entry, and its graph, for N terminals."""
    if entry.description is not None:
        return entry.description(terminals)
    relation = _built(entry.words(terminals)).relation
    assert relation is not None
    return relation


def costs(relation: Relation) -> tuple[int, int, int]:
    """Wires, switches, and crosspoints of a network.

    Wires are the links between switches, each direction counted, without the lines of terminals. A
    switch of i inputs and o outputs, those of its terminals included, has i o crosspoints.
    """
    graph = relation.graph
    inputs = [*map(len, graph.terminals)]
    outputs = [*map(len, graph.exit_terminals)]
    for node, _ in graph.by_output:
        outputs[node] += 1
    for link in graph.by_output.values():
        inputs[link.peer] += 1
    crosspoints = sum(i * o for i, o in zip(inputs, outputs))
    return len(graph.by_output), graph.nodes, crosspoints


def fits(entry: Entry, relation: Relation) -> bool:
    """Whether the formulas of an entry are exact for a relation of it."""
    wires, _, crosspoints = costs(relation)
    ports = relation.ports
    return (wires, crosspoints) == (entry.wires[1](ports), entry.crosspoints[1](ports))


# Permutations.


def _named(terminals: int) -> dict[str, list[int]]:
    found = {
        "reversal": [*reversed(range(terminals))],
        "shift by 1": cyclic_shift(terminals, 1),
        "shift by N/2": cyclic_shift(terminals, terminals // 2),
        "shift by N - 1": cyclic_shift(terminals, terminals - 1),
    }
    if terminals & (terminals - 1) == 0:
        found["complement"] = complement(terminals)
        found["bit reversal"] = bit_reversal(terminals)
        found["perfect shuffle"] = perfect_shuffle(terminals)
        if _log(terminals) % 2 == 0:
            found["transpose"] = transpose(terminals)
    return found


@dataclass(frozen=True)
class _Trial:
    """A network of the survey, on which permutations are timed."""

    network: PacketNetwork
    options: Options

    def times(self, permutations: Sequence[Sequence[int]]) -> list[int]:
        """Cycles from the one in which all packets are offered until the last one arrives."""
        ports = self.network.ports
        runs = [
            Run(pattern("one-each:" + ",".join(map(str, one)), ports), seed=self.options.seed)
            for one in permutations
        ]
        results = whole_runs(
            self.network, runs, engine=self.options.engine, bins=2, progress=self.options.progress
        )
        assert all(result.delivered == ports for result in results)
        return [int(result.latency.max or 0) for result in results]

    @property
    def _random(self) -> list[tuple[int, ...]]:
        count, first = (8 if self.options.quick else _RANDOM), self.options.seed
        ports = self.network.ports
        return [tuple(random_permutation(ports, first + number)) for number in range(count)]

    def mean(self) -> float:
        """Mean time of random permutations."""
        return fmean(self.times(self._random))

    def random_and_worst(self, shares: PathShares) -> dict[str, Any]:
        """Mean time of random permutations, half of its confidence interval, and the longest time
        of the worst permutation found, and its index.

        Random ones, named ones, and those that load a link most are timed. Then destinations of the
        slowest ones are exchanged at random, in rounds.
        """
        quick = self.options.quick
        chance = np.random.default_rng(self.options.seed)
        tried = {tuple(one): name for name, one in _named(self.network.ports).items()}
        for heavy in heavy_permutations(shares.links, 2 if quick else _HEAVY):
            tried.setdefault(tuple(heavy), "heaviest link")
        for one in self._random:
            tried.setdefault(one, "random")
        times = dict(zip(tried, self.times([*tried])))
        for _ in range(1 if quick else _ROUNDS):
            slowest = sorted(times, key=lambda one: -times[one])[:4]
            changed: dict[tuple[int, ...], str] = {}
            for number in range(4 if quick else _CHANGED):
                old = slowest[number % len(slowest)]
                new = list(old)
                for _ in range(1 + number % 3):
                    a, b = chance.choice(len(new), 2, replace=False)
                    new[a], new[b] = new[b], new[a]
                if tuple(new) not in tried:
                    changed[tuple(new)] = tried[old].removesuffix(", changed") + ", changed"
            times |= zip(changed, self.times([*changed]))
            tried |= changed
        # Of equals the first, so a named one.
        found = max(times, key=lambda one: times[one])
        random = [times[one] for one in self._random]
        spread = np.std(random, ddof=1) / len(random) ** 0.5
        return {
            "random": fmean(random),
            "random_half": float(student.ppf(0.5 + _CONFIDENCE / 2, len(random) - 1) * spread),
            "worst": times[found],
            "which": tried[found],
        }


# Faults.


@dataclass(frozen=True)
class _Faults:
    """One broken link at a time, with one packet at a time."""

    network: PacketNetwork
    relation: Relation
    quiet: Relation
    shares: PathShares

    @cached_property
    def stranded(self) -> Mapping[tuple[int, int], list[tuple[int, int]]]:
        """For each link, the pairs whose packets do not arrive: a header does not see a broken
        link until it comes to it."""
        paths = QuietPaths(self.quiet)
        sees = self.quiet is self.relation
        return {
            end: [pair for pair in pairs if not sees or paths.path(*pair, broken=end) is None]
            for end, pairs in paths.users().items()
        }

    def worst(self, engine: str) -> dict[str, float]:
        """The share of pairs stranded by a link, each alone, in the mean and at worst; and the
        share of the packets between all pairs that a dead link keeps, predicted and measured.

        This is the link that strands most. Packets are sent one after the other.
        """
        ports = self.network.ports
        pairs = [*permutations(range(ports), 2)]
        counts = [len(self.stranded.get(end, ())) for end in self.shares.ends]
        end = self.shares.ends[int(np.argmax(counts))]
        lost = set(self.stranded[end])
        # Those that may wait for ever come last, since they block others.
        order = [pair for pair in pairs if pair not in lost] + sorted(lost)
        expected = len(pairs) - len(lost)
        if self.quiet is self.relation and self.relation.choice:
            depth = self.network.parameters["depth"]
            expected = len(QuietPaths(self.relation).arriving(order, end, depth))
        pins = pins_of(self.network, self.quiet, self.shares, end)
        arrived = delivered_in_turn(self.network, order, pins, engine)
        return {
            "stranded_mean": float(np.mean(counts)) / len(pairs),
            "stranded": len(lost) / len(pairs),
            "predicted": 1 - expected / len(pairs),
            "measured": 1 - arrived / len(pairs),
        }


# The table.


def _row(entry: Entry, options: Options) -> dict[str, Any]:
    small, terminals = (4, 16) if options.quick else (16, 64)
    network = _built(entry.words(terminals))
    relation = relation_of(entry, terminals)
    quiet = relation if entry.quiet is None else entry.quiet(terminals)
    shares = path_shares(relation)
    wires, switches, crosspoints = costs(relation)
    row = {
        "network": entry.name,
        "section": entry.section,
        "terminals": network.ports,
        "wires": wires,
        "wires_formula": entry.wires[0],
        "switches": switches,
        "crosspoints": crosspoints,
        "crosspoints_formula": entry.crosspoints[0],
        "exact": all(fits(entry, relation_of(entry, size)) for size in _SIZES),
        "cost_published": entry.cost or None,
        "diameter": relation.diameter,
        "random_before": _Trial(_built(entry.words(small)), options).mean(),
        **_Trial(network, options).random_and_worst(shares),
        "time_published": entry.time or None,
        "cut_switch": float(shares.cut_by_nodes.max()),
        "cut_switch_mean": float(shares.cut_by_nodes.mean()),
    }
    if wires:
        row["cut"] = float(shares.cut_by_links.max())
        row["cut_mean"] = float(shares.cut_by_links.mean())
        row |= _Faults(network, relation, quiet, shares).worst(options.engine)
    return row


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    for number, row in enumerate(rows):
        colour = f"C{number % 10}"
        marker = "osD^vPX8*<>hpd"[number]
        cost = row["crosspoints"]
        axes.plot([cost, cost], [row["random"], row["worst"]], color=colour, linewidth=1)
        axes.plot(cost, row["random"], marker, color=colour, label=row["network"])
        axes.plot(cost, row["worst"], marker, color=colour, markerfacecolor="white")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="crosspoints",
        ylabel="cycles until the last packet arrives",
        title=f"filled: random permutations; open: the worst found (N = {rows[0]['terminals']})",
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize="small")
    return figure


SURVEY = Item(
    "stanfill-survey",
    "All networks of the survey: cost, time of permutations, and sensitivity to faults",
    f"{SOURCE}, 3",
    columns="network | terminals = N | wires | wires_formula = formula | switches"
    " | crosspoints = points : , | crosspoints_formula = formula | exact"
    " | cost_published = paper | diameter = links | random_before = N/4 : .1f"
    " | random : .1f | random_half = +- : .1f | worst | which | time_published = paper"
    " | cut = link : .2% | cut_mean = mean : .2% | cut_switch = switch : .1%"
    " | cut_switch_mean = mean : .1% | stranded : .2% | stranded_mean = mean : .2%"
    " | predicted = kept : .2% | measured : .2%",
    rows=lambda options: [_row(entry, options) for entry in ENTRIES],
    draw=_draw,
    notes=lambda rows, options: (
        "N terminals. Wires: links between switches, each direction counted. Points: "
        "crosspoints, inputs times outputs of all switches. Exact: both formulas are right for "
        f"N = {', '.join(map(str, _SIZES))} (log to base 2). Paper: what it says of growth.",
        "One packet of one flit from every terminal, all in the same cycle: cycles until the "
        "last arrives. Links: on the longest path. N/4: mean of random permutations with a "
        "quarter of the terminals. Random: mean of "
        f"{8 if options.quick else _RANDOM} ones, with its {_CONFIDENCE:.0%} interval. Worst: "
        "the slowest permutation found.",
        "Link, switch: share of the pairs of different terminals that lose all their paths if "
        "one breaks, at worst and in the mean.",
        "Stranded: share of the pairs whose packets, each alone in the network, do not arrive, "
        "since a header sees a broken link only when it comes to it: at worst and in the mean. "
        "Kept: the same of packets sent one after the other, predicted and measured with a "
        "dead link in the RTL: when queues before it are full, headers go other ways.",
    ),
    ignores=("cycles",),
)
