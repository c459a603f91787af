"""Figure 11: LR ratios of BH/BH and BH/CCC by the number of parallel links."""

from collections.abc import Iterator, Sequence

from ...theory.hierarchical import Rates, TwoLevel
from ..item import Item, Options, Row, finite, grouped
from ..panels import Lines, Panel, Plot, dots
from . import SOURCE
from .delays_on_rtl import Measurement, measured
from .fig10 import (
    ALPHA,
    LENGTH,
    PUBLISHED,
    TIME,
    group_of,
    joining_loads,
    point_of,
    rates_of,
    simulated_networks,
)
from .two_levels import colour_of, like

__all__ = ["FIG11"]

_FACTORS = {"BH/BH": (1, 2, 3), "BH/CCC": (2, 3, 4, 5)}
"""Numbers of parallel links that are simulated: those about the best."""


def _true_delay(network: TwoLevel, rates: Rates) -> float:
    """The delay with the loads that the links of level 2 have."""
    without = Rates(rates.arrival, rates.cluster, float("inf"))
    total = network.delay(ALPHA, without)
    for links, load in joining_loads(network, rates).values():
        time = 1 / (rates.joining - load) if load < rates.joining else float("inf")
        total += (1 - ALPHA) * links * time
    return total


def _row(network: TwoLevel, factor: int, found: Measurement | None, options: Options) -> Row:
    """The LR ratio by formula, by the loads of the graph, and on RTL. All have the formula for the
    reference."""
    other, rates = like(network), rates_of(factor)
    base, scale = other.delay(ALPHA, rates_of(1)), network.links(factor) / other.links()
    measured = None if found is None else found.delay
    ci99 = None if found is None else found.ci99
    return group_of(network, options) | {
        "replication": factor,
        "delay": finite(network.delay(ALPHA, rates)),
        "ratio": finite(scale * network.delay(ALPHA, rates) / base),
        "true_ratio": finite(scale * _true_delay(network, rates) / base),
        "measured": measured,
        "ci99": ci99,
        "measured_ratio": measured and scale * measured / base,
        "ratio_ci99": ci99 and scale * ci99 / base,
    }


def _rows(options: Options) -> Iterator[Row]:
    networks = simulated_networks(options)
    simulated = [(network, factor) for network in networks for factor in _FACTORS[network.name]]
    found = dict(zip(simulated, measured([point_of(*each) for each in simulated], options)))
    for network in (*PUBLISHED, *networks):
        for factor in range(1, 7 if options.quick else 17):
            yield _row(network, factor, found.get((network, factor)), options)


def _best(name: str, nodes: int, rows: Sequence[Row]) -> str:
    """Which number of parallel links has the smallest LR ratio."""
    best = {}
    for key in ("ratio", "true_ratio", "measured_ratio"):
        own = [row for row in rows if row[key] is not None]
        if own:
            best[key] = min(own, key=lambda row: row[key])["replication"]
    text = (
        f"{name}, {nodes:,} nodes: smallest with {best['ratio']} parallel links by the formula, "
        f"with {best['true_ratio']} by the loads of the graph"
    )
    measured = best.get("measured_ratio")
    return f"{text}, with {measured} on RTL." if measured else f"{text}."


def _notes(rows: Sequence[Row], options: Options) -> Iterator[str]:
    for (name, nodes), own in grouped(rows, "network", "nodes").items():
        yield _best(name, nodes, own)
    yield (
        f"RTL: geometric lengths of {LENGTH} flits on average, "
        f"{options.window_words(f'windows of {TIME}')}, one seed; a link that stands for r "
        "parallel ones is r times as fast, as in the formula. The reference of all is the "
        "formula for the hypercube."
    )


FIG11 = Item(
    "dandamudi-fig11",
    "LR ratios of BH/BH and BH/CCC by the number of parallel links, by formula and on RTL",
    f"{SOURCE}, section IV-A",
    columns="network | nodes = N : , | replication = mu_NCL / mu_CL | delay = R, printed : .4f"
    " | ratio = LR ratio, printed : .4f | true_ratio = loads of the graph : .4f"
    " | measured = R, RTL : .4f | ci99 = ± 99 % : .4f"
    " | measured_ratio = LR ratio, RTL : .4f | ratio_ci99 = ± 99 % : .4f",
    rows=_rows,
    draw=Plot(
        [
            Panel(
                "replication",
                [
                    Lines("ratio", "-", "{network}"),
                    Lines("true_ratio", "--"),
                    dots(y="measured_ratio", error="ratio_ci99", look={"markersize": 3}),
                    lambda axes, rows: axes.title.set_fontsize("small"),
                ],
                ["network"],
                title="{sizes}",
                xlabel="parallel links, mu_NCL / mu_CL",
                ylabel="LR ratio to the hypercube BH",
                ylim=(0, 1),
                colour=colour_of,
            )
        ],
        by="sizes",
        size=(5.1, 4.4),
        title="lines: printed formulas; dashes: loads of the graphs; dots: RTL",
    ),
    notes=_notes,
    parallel=True,
)
