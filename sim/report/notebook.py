"""What a notebook shows of networks, results and sweeps: tables and pictures, as HTML."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from io import StringIO
from typing import Any

from matplotlib.figure import Figure

from ...hdl.catalogue.catalogue import build
from ...hdl.fabric.errors import MulticubeError
from ...hdl.networks.network import Network
from ...hdl.support.counted import counted
from ..measure.comparison import Comparison
from ..measure.curve import Sweep
from ..measure.latency import Latency
from ..measure.result import Result
from ..run.record import changes
from ..workload.pattern import short_name
from .drawing import network_figure
from .look import Look
from .plot import comparison_figure

__all__ = ["network_html", "result_html", "sweep_html"]

_MOST_TERMINALS = 256
"""Most terminals of a network that is drawn; a drawing of more takes seconds."""

_MOST_LINES = 4096


def network_html(network: Network) -> str:
    """The parameters of a network, and its drawing if it is not too large."""
    plain = network.parameters.plain()
    rows = [
        (about.name, network.parameters[about.name], about.description)
        for about in network.parameters.described()
        if about.listed and network.parameters[about.name] != plain.get(about.name)
    ]
    ends = {"sources": network.sources, "sinks": network.sinks}
    if network.sources == network.sinks:
        ends = {f"{network.terminal_kind}s": network.sources}
    head = ", ".join(f"{count} {name}" for name, count in ends.items())
    head += f"; an unblocked header takes at most {counted(network.zero_load_cycles, 'cycle')}"
    return _block(network.family, head, _table(("parameter", "value", ""), rows), _drawn(network))


def result_html(result: Result) -> str:
    """The numbers of a run, and a drawing with the links coloured by use."""
    rows = [
        ("offered load", f"{result.offered_load:g}", "packets per terminal per cycle"),
        ("throughput", _with_interval(result), "packets per terminal per cycle"),
        ("mean latency", str(result.latency), "cycles"),
        ("latency p50, p95, p99, max", _percentiles(result.latency), "cycles"),
        ("predicted latency", _number(result.predicted["latency_mean"]), "cycles"),
        ("generated, delivered", f"{result.generated:,}, {result.delivered:,}", "packets"),
        ("dropped, corrupted", f"{result.dropped:,}, {result.corrupted:,}", "packets"),
        ("window", f"{result.cycles:,}", f"cycles, after {result.warmup:,}"),
    ]
    head = f"{short_name(result.traffic)} traffic, seed {result.seed}; {result.verdict}"
    picture = ""
    ends = max(map(len, result.terminals.values()), default=0)
    if ends <= _MOST_TERMINALS and result.links:
        try:
            network = build(result.network, **result.parameters)
            changed = changes(result.run, {"network_digest": network.digest})
            picture = "" if changed else _drawn(network, result.links)
        except MulticubeError:  # of a network that can't be built again from words
            picture = ""
    return _block(result.network, head, _table(("", "", ""), rows), picture)


def sweep_html(sweep: Sweep) -> str:
    """A table of the points of a sweep, and their plot."""
    names = ("load", "throughput", "mean latency", "p95", "p99", "predicted latency", "verdict")
    rows = [
        (
            f"{point.offered_load:g}",
            _with_interval(point),
            str(point.latency),
            _number(point.latency.p95),
            _number(point.latency.p99),
            _number(point.predicted["latency_mean"]),
            point.verdict.partition(":")[0],
        )
        for point in sweep.points
    ]
    head = f"{short_name(sweep.traffic)} traffic: rates in packets per terminal per cycle, "
    head += "latencies in cycles"
    plot = _svg(comparison_figure(Comparison([sweep]))) if sweep.points else ""
    return _block(str(sweep.network), head, _table(names, rows), plot)


def _drawn(network: Network, heat: Mapping[str, float] | None = None) -> str:
    size = max(network.sources, network.sinks)
    if size > _MOST_TERMINALS or len(network.diagram.lines) > _MOST_LINES:
        return "<p>Too large to be drawn here; <code>multicube.draw</code> draws it to a file.</p>"
    return _svg(network_figure(network, heat=heat))


def _svg(figure: Figure) -> str:
    """A figure as an element that fits its place."""
    text = StringIO()
    with Look(text=True).applied():
        figure.savefig(text, format="svg", metadata={"Date": None})
    element = text.getvalue().partition("<svg ")[2]
    style = "max-width: 100%; height: auto; background: white"
    return f'<svg role="img" style="{style}" {element}'


def _block(title: str, head: str, *parts: str) -> str:
    return f"<div><p><b>{escape(title)}</b>: {escape(head)}</p>{''.join(parts)}</div>"


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    def row(cells: Sequence[Any], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"

    head = f"<thead>{row(names, 'th')}</thead>" if any(names) else ""
    return f"<table>{head}<tbody>{''.join(row(each, 'td') for each in rows)}</tbody></table>"


def _with_interval(result: Result) -> str:
    interval = result.throughput_ci99
    return f"{result.throughput:.4f}" + ("" if interval is None else f" ± {interval:.4f}")


def _percentiles(latency: Latency) -> str:
    return ", ".join(_number(each) for each in (latency.p50, latency.p95, latency.p99, latency.max))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}".removesuffix(".00")
