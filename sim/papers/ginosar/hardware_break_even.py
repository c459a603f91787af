"""Break-even points of hypercube and PSNN: by formula, by the graph, and by hardware.

The paper (section 7) compares products of cost and time: C, F C, D C and L C, with alpha = 1/2. For
hardware, C is the area of a node on an ECP5 in place of its number of links; F is the measured
steps of a broadcast; and D is the cycles per packet of saturated routers, or the measured steps of
a permutation with communication controllers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator
from tqdm import tqdm

from ....hdl.catalogue.catalogue import build
from ....hdl.fabric.cell import CellType
from ....hdl.fabric.fabric import Fabric
from ....hdl.graphs.permutations import (
    bit_reversal,
    complement,
    cyclic_shift,
    perfect_shuffle,
    random_permutation,
    transpose,
)
from ....hdl.networks.routed import RoutedNetwork
from ....hdl.routers.communication_controller import CommunicationController
from ...measure.break_even import break_even
from ...measure.result import Result
from ...measure.worst_permutation import link_uses, most_loaded_link, worst_permutation
from ...run.progress import phase
from ...run.run import Run
from ...run.simulation import simulate_runs
from ...synthesis.measurement import Setup
from ...synthesis.node_area import areas_of, mean_area
from ...theory.static_comparison import Range
from ...theory.static_formulas import Size
from ...theory.static_networks import NETWORKS
from ...workload.traffic import pattern
from ..item import Item, Options, Row, throughput_of
from ..panels import plain_numbers
from . import SOURCE
from .measured_steps import measure_steps
from .nine_networks import measured, three

__all__ = ["SILICON", "Measures", "Saturation", "Way"]

_PAIR = {"Hypercube": "hypercube n={n} routing=ecube", "PSNN": "psnn n={n}"}
"""The networks as the paper calls them, and how they are built with routers."""
_HARDWARE = "payload=32 depth=4"
_FLAGS = "-nowidelut"
_ROUTERS = 6
"""The largest n with routers: those of PSNN have more channels the larger it is."""
_LARGEST, _QUICK = 8, 3
"""The largest n of all, and that of a quick run."""
_UNKNOWN = (nan, nan)
_CYCLES, _WARMUP = 4000, 1000
_SAMPLES = 2
"""Nodes of the commonest shape that are synthesised."""
_PRODUCTS = {"C": None, "F C": 1.0, "D C": 0.0, "L C": 0.5}
"""The products, and alpha of each; None for C alone."""

_WAYS = (
    "formula",
    "graph",
    "router tables",
    "router flip-flops",
    "router tables, uniform",
    "up-down tables",
    "controller tables",
)
"""Where C, F and D come from."""


@dataclass(frozen=True)
class Measures:
    """C, F and D of a network in one way, each as two bounds, which are equal if it is known."""

    cost: Range
    fan_out: Range
    disconnectivity: Range

    def product(self, alpha: float | None) -> Range:
        """C times L with this alpha, or C alone."""
        if alpha is None:
            return self.cost
        low, high = (
            cost * ((alpha * fan_out if alpha else 0) + ((1 - alpha) * apart if alpha < 1 else 0))
            for cost, fan_out, apart in zip(self.cost, self.fan_out, self.disconnectivity)
        )
        return low, high


Way = dict[tuple[str, str, int], Measures]
"""By way, network and n."""


def _exactly(value: float) -> Range:
    return value, value


def _sizes(options: Options) -> range:
    return range(3, (_QUICK if options.quick else _LARGEST) + 1)


# --- Formulas and graphs -----------------------------------------------------------------------


def _formula(name: str, n: int) -> Measures:
    """Table II as printed."""

    def value(measure: str) -> Range:
        known = NETWORKS[name].table_2[measure].value
        assert known is not None
        return _exactly(known(Size(1 << n)))

    return Measures(value("C"), value("F"), value("D"))


def _graph(name: str, n: int, options: Options) -> Measures:
    ranges = measured(*three(n)[name], options).found.ranges()
    return Measures(ranges["C"], ranges["F"], ranges["D"])


# --- Hardware ----------------------------------------------------------------------------------


def _controllers(degrees: Sequence[int], setup: Setup) -> dict[int, int]:
    """Tables of a controller, by its number of links."""
    fabrics = {
        str(links): Fabric.alone(CellType(CommunicationController, word=32, links=links))
        for links in degrees
    }
    return {int(links): area.tables for links, area in areas_of(fabrics, setup).items()}


def _permutations(network: RoutedNetwork, seed: int) -> dict[str, list[int]]:
    """The permutations that are tried, by name."""
    ports = network.ports
    uses = link_uses(network.relation)
    named: dict[str, list[int]] = {"most loaded link": worst_permutation(uses)}
    for name, function in (
        ("complement", complement),
        ("bit reversal", bit_reversal),
        ("shuffle", perfect_shuffle),
        ("transpose", transpose),
    ):
        named[name] = list(function(ports))
    named["shift by N/2"] = cyclic_shift(ports, ports // 2)
    for number in range(2):
        named[f"random, seed {seed + number}"] = random_permutation(ports, seed + number)
    return named


@dataclass(frozen=True)
class Saturation:
    """Accepted packets per terminal per cycle, offered one in each cycle.

    Attributes
    ----------
    uniform, worst : Result
    name : str
        The permutation of least throughput, of those tried.
    load : int
        Its paths over its most loaded link.
    """

    uniform: Result
    worst: Result
    name: str
    load: int

    @staticmethod
    def cycles(result: Result) -> Range:
        """Cycles per packet of a terminal, as the 99 % confidence interval."""
        rate, off = throughput_of(result), result.throughput_ci99 or 0.0
        return 1 / (rate + off), 1 / max(rate - off, 1e-9)


def _saturation(network: RoutedNetwork, options: Options) -> Saturation:
    named = _permutations(network, options.seed)
    cycles = options.cycles or (400 if options.quick else _CYCLES)
    runs = [
        Run(pattern(traffic, network.ports), 1.0, cycles=cycles, warmup=_WARMUP, seed=options.seed)
        for traffic in ("uniform", *named.values())
    ]
    uniform, *others = simulate_runs(network, runs, engine=options.engine)
    found = dict(zip(named, others))
    worst = min(found, key=lambda name: found[name].throughput)
    load = most_loaded_link(link_uses(network.relation), named[worst])
    return Saturation(uniform, found[worst], worst, load)


def _routers(
    title: str, words: str, options: Options, setup: Setup
) -> tuple[dict[str, Measures], str]:
    """The ways of full routers but for F, and further facts in words."""
    network = build(f"{words} {_HARDWARE}")
    assert isinstance(network, RoutedNetwork)
    with phase(f"simulating {title}", options.progress):
        speed = _saturation(network, options)
    with phase(f"synthesising {title}", options.progress):
        area = mean_area(network.fabric, setup, 1 if options.quick else _SAMPLES, options.seed)
    tables, registers = ((area[f].low, area[f].high) for f in ("tables", "flip_flops"))
    worst, uniform = map(Saturation.cycles, (speed.worst, speed.uniform))
    channels = max(link.channels for link in network.relation.graph.links())
    count = "1 channel" if channels == 1 else f"{channels} channels"
    facts = f"{count} a link, routers: {speed.name} ({speed.load} paths over a link)"
    return {
        "router tables": Measures(tables, _UNKNOWN, worst),
        "router flip-flops": Measures(registers, _UNKNOWN, worst),
        "router tables, uniform": Measures(tables, _UNKNOWN, uniform),
    }, facts


def _hardware(options: Options, bar: tqdm) -> Iterator[tuple[str, int, dict[str, Measures], str]]:
    """For each network and n: its measures in all ways of hardware, and further facts in words."""
    setup = Setup("ecp5-85k", 0, _FLAGS, 600.0)
    graphs = {(name, n): three(n)[name] for n in _sizes(options) for name in _PAIR}
    degrees = {
        key: [len(graph.leaving(node)) for node in range(graph.nodes)]
        for key, (_, graph) in graphs.items()
    }
    with phase("synthesising controllers", options.progress):
        controllers = _controllers(sorted({d for own in degrees.values() for d in own}), setup)
    for (name, n), (family, graph) in graphs.items():
        title = f"{name} of {1 << n} nodes"
        with phase(f"steps of {title}", options.progress):
            steps = measure_steps(name, measured(family, graph, options), options)
        fan_out = _exactly(steps.broadcast.steps)
        cost = _exactly(sum(controllers[d] for d in degrees[name, n]) / graph.nodes)
        ways = {"controller tables": Measures(cost, fan_out, _exactly(steps.hardest_run.steps))}
        words = f"controllers: {steps.hardest.name}"
        if n <= _ROUTERS:
            built = _PAIR[name].format(n=n)
            routers, more = _routers(title, built, options, setup)
            routers["up-down tables"] = routers["router tables"]
            words = f"{more}; {words}"
            if name == "PSNN":
                others, more = _routers(title, f"{built} routing=up-down", options, setup)
                routers["up-down tables"] = others["router tables"]
                words = f"{words}; up-down: {more}"
            ways |= {way: replace(own, fan_out=fan_out) for way, own in routers.items()}
        bar.update()
        yield name, n, ways, words


def _ratio(pair: dict[str, Measures], alpha: float | None) -> Range:
    """The product of PSNN over that of the hypercube."""
    ours, others = pair["PSNN"].product(alpha), pair["Hypercube"].product(alpha)
    return ours[0] / others[1], ours[1] / others[0]


def _shown(range_: Range, form: str = ".3g") -> str:
    low, high = (format(value, form) for value in range_)
    return low if low == high else f"{low}-{high}"


def _break_even(rows: Sequence[dict[str, Any]], way: str, product: str) -> str:
    """From which N on the product of PSNN is the smaller one, in words."""
    own = [row for row in rows if row["way"] == way]
    sizes = [row["nodes"] for row in own]

    def words(bound: str) -> str:
        ratios = [row[f"{product} {bound}"] for row in own]
        size = break_even(sizes, ratios)
        if size is None:
            return f"none up to {sizes[-1]}"
        return f"below {sizes[0]}" if max(ratios) < 1 else f"{size:.0f}"

    first, last = words("low"), words("high")
    return first if first == last else f"{first} to {last}"


def _rows(options: Options) -> list[Row]:
    known: Way = {}
    facts: list[str] = []
    hidden = None if options.progress else True
    with tqdm(total=2 * len(_sizes(options)), unit="networks", disable=hidden) as bar:
        for name, n, ways, words in _hardware(options, bar):
            facts.append(f"{name}, N = {1 << n}: {words}.")
            known |= {(way, name, n): own for way, own in ways.items()}
            known["formula", name, n] = _formula(name, n)
            known["graph", name, n] = _graph(name, n, options)
    return [
        _row(way, n, {name: known[way, name, n] for name in _PAIR}) | {"facts": facts}
        for way in _WAYS
        for n in sorted({n for one, _, n in known if one == way})
    ]


def _row(way: str, n: int, pair: dict[str, Measures]) -> Row:
    row: Row = {"way": way, "nodes": 1 << n}
    for name, key in (("Hypercube", "hc"), ("PSNN", "ps")):
        own = pair[name]
        row[f"{key}_c"] = _shown(own.cost, ".4g")
        row[f"{key}_f"] = _shown(own.fan_out)
        row[f"{key}_d"] = _shown(own.disconnectivity)
    for product, alpha in _PRODUCTS.items():
        low, high = _ratio(pair, alpha)
        row[f"{product} low"], row[f"{product} high"] = low, high
        row[product] = _shown((low, high), ".2f")
    return row


_PRINTED = {"C": "16", "F C": "256", "D C": "none", "L C": "between 128 and 256"}
_STYLES = ("-k", "ok", "sC3", "vC1", "^C0", "PC4", "DC2")


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(10, 8), layout="constrained")
    grid = figure.subplots(2, 2)
    every = sorted({row["nodes"] for row in rows})
    titles: dict[str, str] = {
        "C": "cost of a node: C",
        "F C": "broadcasts: F C",
        "D C": "permutations: D C",
        "L C": "both: L C, alpha = 1/2",
    }
    for axes, product in zip(grid.flat, _PRODUCTS):
        for way, style in zip(_WAYS, _STYLES):
            own = [row for row in rows if row["way"] == way]
            if product in ("C", "F C") and way.endswith("uniform"):
                continue  # Only D differs.
            sizes = [row["nodes"] for row in own]
            low, high = ([row[f"{product} {bound}"] for row in own] for bound in ("low", "high"))
            middle = [(a * b) ** 0.5 for a, b in zip(low, high)]
            colour = "black" if style.endswith("k") else style[1:]
            line = style if way == "formula" else f"-{style}"
            axes.plot(sizes, middle, line, ms=5, lw=1, label=way)
            axes.vlines(sizes, low, high, color=colour, lw=2.5, alpha=0.4)
        axes.axhline(1, color="grey", lw=1, ls="--")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlim(min(every) / 1.4, max(every) * 1.4)
        axes.xaxis.set_major_locator(FixedLocator(every))
        axes.yaxis.set_major_locator(LogLocator(base=2, subs=(1, 1.25, 1.5)))
        plain_numbers(axes.xaxis, axes.yaxis)
        axes.set_title(titles[product])
        axes.grid(alpha=0.3)
    for axes in grid[1]:
        axes.set_xlabel("nodes N")
    for axes in grid[:, 0]:
        axes.set_ylabel("PSNN / hypercube")
    handles, labels = grid[1, 1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    return figure


SILICON = Item(
    "ginosar-silicon",
    "Break-even points of hypercube and perfect shuffle, by formula, graph and hardware",
    f"{SOURCE}, 7",
    columns="way | nodes = N | hc_c = HC C | hc_f = HC F | hc_d = HC D | ps_c = PSNN C"
    " | ps_f = PSNN F | ps_d = PSNN D | C = C ratio | F C = F C ratio | D C = D C ratio"
    " | L C = L C ratio",
    rows=_rows,
    draw=_draw,
    notes=lambda rows, options: (
        "Ratio: product of PSNN over that of the hypercube; below 1 PSNN is the better one. "
        "L = F/2 + D/2.",
        "Formula: Table II. Graph: computed, with bounds. Routers: C is 4-input tables or "
        "flip-flops of a node with its table (ECP5, payload of 32 bits, queues of 4), F the "
        "measured steps of a broadcast by controllers, D cycles per packet at full load, with "
        "the worst permutation tried or uniform traffic. The hypercube has e-cube, PSNN "
        "layered routing, or up-down with one channel a link. Controllers: tables of a "
        "communication controller of 32 bits, and steps of the worst permutation found.",
        "Ranges: bounds; different nodes of a shape; 99 % confidence of throughput.",
        "Worst permutations, of all that were tried:",
        *rows[0]["facts"],
        "From which N on PSNN is the better one:",
        *(
            f"{product}: printed {_PRINTED[product]}; "
            + "; ".join(f"{way} {_break_even(rows, way, product)}" for way in _WAYS)
            + "."
            for product in _PRODUCTS
        ),
    ),
)
