"""Whether F and D predict performance: measured times beside them, and rank correlations.

The paper's claim (section 5.4) is that F and D suffice to tell how fast a network communicates. It
is measured here on the paper's nine networks of three sizes: with its own nodes, whose controllers
send one word and receive one in a step (`measured_steps`), and with routers that use all links at
once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from scipy.stats import bootstrap, rankdata

from ....hdl.catalogue.catalogue import find
from ....hdl.graphs.graph import Graph
from ....hdl.networks.packet_network import PacketNetwork
from ...run.messages import Copies, Message
from ...run.messenger import Messenger
from ...run.simulation import simulate
from ..item import Item, Options, Row
from . import SOURCE
from .measured_steps import StepMeasurement, measured_rows, measured_steps, middle

__all__ = ["PREDICTION", "Correlation", "correlation", "network_of"]

_CYCLES = 1000
_WIDEST = 63
"""Most links of a node for which the network of full routers is built: the next size has 255. The
tables of its routers would give 256 outputs for each of 256 inputs, and a cell of Amaranth's
netlists has fewer bits than these 65,536 and the other inputs."""

_MEASURED = {
    "broadcast": ("controller: broadcast", "steps"),
    "hardest": ("controller: worst permutation", "steps"),
    "random": ("controller: random permutation", "steps"),
    "copies": ("routers: broadcast by copies", "cycles"),
    "one_to_all": ("routers: one to all", "cycles"),
    "all_to_one": ("routers: all to one", "cycles"),
    "router_hardest": ("routers: that worst permutation", "cycles"),
    "router_random": ("routers: that random permutation", "cycles"),
    "interval": ("routers: cycles per packet, saturated", "cycles"),
}
_PREDICTORS = {
    "fan_out": "F",
    "published": "D printed",
    "disconnectivity": "D",
    "looseness": "L",
    "diameter": "d",
}


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation.

    Attributes
    ----------
    points : int
    coefficient : float
    low, high : float
        The 95 % confidence interval, by the bootstrap.
    """

    points: int
    coefficient: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.coefficient:.2f} ({self.low:.2f} to {self.high:.2f})"


def correlation(x: Sequence[float], y: Sequence[float], seed: int = 1) -> Correlation:
    """The rank correlation of pairs of numbers, and how sure it is.

    Examples
    --------
    >>> correlation(range(20), [n**3 for n in range(20)]).coefficient
    1.0
    """

    pairs = np.asarray(x, float), np.asarray(y, float)
    found = float(_coefficients(*pairs))
    if abs(found) > 1 - 1e-12:  # So has each sample.
        return Correlation(len(pairs[0]), *[float(round(found))] * 3)
    interval = bootstrap(
        pairs, _coefficients, paired=True, n_resamples=999, method="percentile", rng=seed
    ).confidence_interval
    return Correlation(len(pairs[0]), found, float(interval.low), float(interval.high))


def _coefficients(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
    """Correlations of ranks, of many samples; 0 if one side is all the same."""
    ranks = [rankdata(values, axis=axis) for values in (x, y)]
    apart = [each - each.mean(axis=axis, keepdims=True) for each in ranks]
    scale = np.sqrt((apart[0] ** 2).sum(axis=axis) * (apart[1] ** 2).sum(axis=axis))
    products = (apart[0] * apart[1]).sum(axis=axis)
    return np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)


def _routers(one: StepMeasurement, options: Options) -> dict[str, float | None]:
    """The same network with full routers: cycles of the same patterns, and per packet."""
    graph = one.network.graph
    if max(len(graph.leaving(node)) for node in range(graph.nodes)) > _WIDEST:
        return dict.fromkeys(list(_MEASURED)[3:])
    nodes, root = one.nodes, one.network.found.fan_out.source
    others = [node for node in range(nodes) if node != root]
    network = network_of(one.network.family, graph)
    messenger = Messenger(network, depth=nodes, engine=options.engine, threads=1)

    def cycles(pairs: Iterator[tuple[int, int]]) -> int:
        return messenger.send([Message(source, to, 1) for source, to in pairs]).cycles

    # The hardware is the same for both, but for the payload: a source's time stamp.
    saturated = simulate(
        network,
        load=1.0,
        cycles=options.cycles or _CYCLES,
        seed=options.seed,
        engine=options.engine,
        threads=1,
    ).throughput
    return {
        "copies": messenger.copy([Copies(root, others, 1)]).cycles,
        "one_to_all": cycles((root, node) for node in others),
        "all_to_one": cycles((node, root) for node in others),
        "router_hardest": cycles(iter(enumerate(one.hardest.destinations))),
        "router_random": cycles(iter(enumerate(one.random.destinations))),
        "interval": 1 / saturated,
    }


def network_of(family: str, graph: Graph) -> PacketNetwork:
    """The network of the catalogue with this graph, and with the routing that it has there."""
    found = find(family)
    names = {parameter.name for parameter in found.parameters}
    described = asdict(graph)  # type: ignore[call-overload]
    network = found.build(**{name: described[name] for name in described.keys() & names})
    assert isinstance(network, PacketNetwork)
    return network


def _row(dimensions: int, number: int, options: Options) -> Row:
    one = measured_steps(dimensions, number, options)
    found = one.network.found
    return {
        "network": one.name,
        "nodes": one.nodes,
        "fan_out": middle(found.fan_out.time),
        "published": one.printed_disconnectivity,
        "disconnectivity": middle(found.disconnectivity),
        "looseness": middle(found.looseness),
        "diameter": found.graph.diameter,
        "broadcast": one.broadcast.steps,
        "random": one.random_run.steps,
        "hardest": one.hardest_run.steps,
        **_routers(one, options),
    }


def _pairs(rows: Sequence[Row], predictor: str, measured: str) -> tuple[list[float], list[float]]:
    known = [row for row in rows if row[measured] is not None]
    return [row[predictor] for row in known], [row[measured] for row in known]


def _rows(options: Options) -> list[Row]:
    return [row | {"seed": options.seed} for row in measured_rows(_row, options)]


def _notes(rows: Sequence[Row], options: Options) -> tuple[str, ...]:
    notes = []
    for measured, (title, _) in _MEASURED.items():
        words = (
            f"{name} {correlation(*_pairs(rows, predictor, measured), options.seed)}"
            for predictor, name in _PREDICTORS.items()
        )
        notes.append(f"{title}: {', '.join(words)}")
    return (
        "Bcast, rand., worst: steps with controllers, as in ginosar-steps. Then cycles with "
        "full routers, packets of one flit: copies (a broadcast in software, in rounds that "
        "double the copies), one message from one node to each, and back, the same two "
        "permutations, and cycles between packets of a terminal at full load, uniform traffic.",
        f"No full routers where a node has more than {_WIDEST} links: one of 255 is too wide "
        "for a netlist of Amaranth.",
        "Spearman's rank correlation over all networks and sizes, with its 95 % confidence "
        "interval (bootstrap):",
        *notes,
    )


_MARKS = ("oC0", "sC1", "^C2")

_SHOWN = (
    ("fan_out", "broadcast"),
    ("fan_out", "copies"),
    ("fan_out", "one_to_all"),
    ("disconnectivity", "hardest"),
    ("disconnectivity", "router_hardest"),
    ("disconnectivity", "interval"),
)


def _draw(rows: Sequence[Row]) -> Figure:
    figure = Figure(figsize=(11, 7), layout="constrained")
    groups = sorted({1 << row["nodes"].bit_length() - (row["nodes"] & 1 == 0) for row in rows})
    for axes, (predictor, measured) in zip(figure.subplots(2, 3).flat, _SHOWN):
        title, unit = _MEASURED[measured]
        for mark, group in zip(_MARKS, groups):
            own = [row for row in rows if abs(row["nodes"] - group) <= 1]
            axes.plot(
                *_pairs(own, predictor, measured), mark, label=f"N = {group}", alpha=0.7, ls=""
            )
        found = correlation(*_pairs(rows, predictor, measured), rows[0]["seed"])
        axes.set_title(f"{title}\nrank correlation {found}", fontsize="small")
        axes.set(xscale="log", yscale="log", xlabel=_PREDICTORS[predictor], ylabel=unit)
        span = [max(0.01, min(row[predictor] for row in rows)), max(row[predictor] for row in rows)]
        axes.plot(span, span, ":k", linewidth=0.8, label="equal")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    figure.draw_without_rendering()  # The places of all points must be known.
    for axes, (predictor, measured) in zip(figure.axes, _SHOWN):
        if measured in ("hardest", "interval"):
            _name(axes, rows, predictor, measured)
    return figure


_PLACES = (
    (-4, 4, "right", "bottom"),
    (4, -4, "left", "top"),
    (4, 4, "left", "bottom"),
    (-4, -4, "right", "top"),
    (0, 8, "center", "bottom"),
    (0, -8, "center", "top"),
    (4, 16, "left", "bottom"),
    (4, -16, "left", "top"),
)
"""Where a name may be: offsets from its point in printer's points, and alignments."""


def _name(axes: Any, rows: Sequence[Row], predictor: str, measured: str) -> None:
    """The networks' names at the points of the largest size, where they cover no other name or
    point; networks at the same point share a text."""
    most = max(row["nodes"] for row in rows)
    names: dict[tuple[float, float], list[str]] = {}
    for row in rows:
        if row["nodes"] >= most - 1 and row[measured] is not None:
            names.setdefault((row[predictor], row[measured]), []).append(row["network"])
    taken = [Bbox.from_extents(*at - 3, *at + 3) for at in axes.transData.transform([*names])]
    for point, own in names.items():
        for *offset, across, along in _PLACES:
            text = axes.annotate(
                ", ".join(own),
                point,
                fontsize=6,
                xytext=offset,
                textcoords="offset points",
                ha=across,
                va=along,
            )
            box = text.get_window_extent()
            ends = axes.bbox.contains(*box.min) and axes.bbox.contains(*box.max)
            if ends and not box.count_overlaps(taken):
                taken.append(box)
                break
            text.remove()


PREDICTION = Item(
    "ginosar-prediction",
    "Whether F and D predict performance: measured with controllers and with full routers",
    f"{SOURCE}, 5.4 and 6",
    columns="network | nodes = N | fan_out = F : .4g | published = D print : .4g"
    " | disconnectivity = D : .4g | looseness = L : .4g | diameter = d"
    " | broadcast = bcast | random = rand. | hardest = worst | copies"
    " | one_to_all = 1 to all | all_to_one = all to 1 | router_random = rand."
    " | router_hardest = worst | interval = packet : .3g",
    rows=_rows,
    draw=_draw,
    notes=_notes,
    parallel=True,
)
