"""Several load sweeps side by side: what rates are divided by, labels, figures and files."""

import csv
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from command_line import Call, command_refusals
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from multicube.hdl import Network, build
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.fabric.wires import streams
from multicube.sim import Result, Sweep, compare, sweep
from multicube.sim.command.result_tables import print_comparison
from multicube.sim.command.shared_arguments import chosen_loads
from multicube.sim.measure.comparison import Comparison, distinct_labels, rate_factor
from multicube.sim.report.look import Look
from multicube.sim.report.plot import comparison_figure
from multicube.sim.report.save import save_comparison
from multicube.sim.run import comparing
from multicube.sim.run.sweeps import PlannedSweep, planned
from refusals import refusals

SHORT = {"cycles": 100, "warmup": 20, "bins": 16, "source_depth": 4, "engine": "amaranth"}


def _wires(network: Network, owner: Callable[[str], int]) -> set[tuple[int, int, int]]:
    """The links between nodes in the fabric, each once, whatever its virtual channels."""
    found = set()
    for driver, receiver in network.fabric.links:
        if driver.cell is None or receiver.cell is None:
            continue
        ends = owner(driver.cell), owner(receiver.cell)
        if ends[0] != ends[1] and driver.path[0] in ("o", "o_wire"):
            found.add((*ends, 0))
    return found


def _number(cell: str) -> int:
    return int(cell.rpartition("_")[2])


DIRECT = [
    *("torus k=4 n=2", "torus k=4 n=1", "torus k=2 n=3", "mesh k=4 n=2", "mesh k=2 n=3"),
    *("ring k=4 n=2", "ring k=6 n=1", "torus k=8 n=1"),
    *("hypercube n=4", "hypercube n=3 routing=adaptive", "connection-machine n=3 processors=2"),
]


@pytest.mark.parametrize("text", DIRECT)
def test_links_and_bisection_are_those_of_the_fabric(text: str) -> None:
    """Counted on the fabric; the bisection is the least of all ways to halve the nodes."""
    network = build(text)
    links = _wires(network, _number)
    nodes = sorted({end for link in links for end in link[:2]})
    cuts = []
    for half in itertools.combinations(nodes[1:], len(nodes) // 2 - 1):
        inside = {nodes[0], *half}
        cuts.append(sum((a in inside) != (b in inside) for a, b, _ in links))
    assert network.link_counts == (len(links), min(cuts))


def test_a_channel_of_a_hypermesh_is_one_link() -> None:
    network = build("dcsh k=4 n=2")
    channels = [cell for cell in network.fabric.cells if cell.startswith("channel_")]
    # Each node's channel of the highest dimension has receivers on both sides of the middle.
    assert network.link_counts == (len(channels), 16)
    assert build("dcsh k=3").link_counts.bisection is None
    assert build("torus k=3").link_counts == (36, None)


def test_channels_with_wires_of_their_own_are_links() -> None:
    """Routers that combine share no wires between channels: two of each link of a ring of four."""
    network = build("combining-graph network=torus:k=4,n=1")
    requests = [
        driver
        for driver, receiver in streams(network.fabric).each()
        if str(driver.cell).startswith("router_") and str(receiver.cell).startswith("router_")
        if driver.path[-1] == "request"
    ]
    assert network.link_counts == (len(requests), 2 * 4)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("bus ports=4", 1),
        ("spanning-bus-hypercube k=4 n=1", 1),
        ("spanning-bus-hypercube k=3", 6),
        ("spanning-bus-hypercube k=3 routing=layered", 6),
        ("spanning-bus-hypercube k=3 cluster=crossbar", 36),  # a link of each node to each crossbar
        ("dual-bus-hypercube k=2 n=3", 8),
        ("lens stages=2", 4),
    ],
)
def test_a_bus_is_one_link(text: str, links: int) -> None:
    """However many nodes it has, which all hear what one of them sends."""
    assert build(text).link_counts.total == links


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("cube ports=8", 16),
        ("omega ports=16 radix=4", 16),
        ("cube ports=8 switch=unbuffered dilation=2", 32),
        ("cube ports=8 replication=3", 48),
        ("cube ports=8 extra_stage=1", 24),
    ],
)
def test_links_of_multistage_networks_are_between_stages(text: str, links: int) -> None:
    assert build(text).link_counts == (links, None)


def test_factors() -> None:
    assert rate_factor(build("combining"), "terminal") == 1
    # 16 terminals send packets of 2 to 4 flits over 64 links, 16 of them across the middle.
    torus = build("torus k=4 n=2 length=2:4")
    assert rate_factor(torus, "wire") == 16 * 3 / 64
    assert rate_factor(torus, "bisection") == 16 * 3 / 16


test_factors_that_are_not_known = refusals(
    lambda text, per: rate_factor(build(text), per),
    ("cube", "bisection", "The bisection of cube ... is not known: compare per terminal..."),
    ("combining", "wire", "The number of links between switches of combining ... is not known..."),
    ("cube ports=4 radix=4", "wire", "The number of links between switches of cube..."),
    ("connection-machine links=serial", "wire", "...is not known..."),
    ("cube", "wires", "Per must be one of ..., not 'wires'; did you mean 'wire'..."),
    error=InvalidValue,
)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["cube ports=4", "omega ports=4"], ["cube", "omega"]),
        (["cube depth=2", "cube depth=8"], ["cube depth=2", "cube depth=8"]),
        (
            ["cube ports=4", "cube", "torus k=2"],
            ["cube ports=4", "cube ports=8", "torus channels=2 (4 terminals)"],
        ),
        (["cube", "hypercube n=3"], ["cube", "hypercube"]),
        (["cube depth=2", "hypercube n=3"], ["cube depth=2", "hypercube depth=4"]),
    ],
)
def test_labels_have_the_words_that_differ(texts: list[str], labels: list[str]) -> None:
    sweeps = [Sweep(build(text), "uniform", [], None) for text in texts]
    assert distinct_labels(sweeps) == labels


def test_compare_plans_each_network_as_sweep_does(
    sweeps: list[Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[PlannedSweep] = []

    def measure(plan: PlannedSweep, **_: Any) -> Sweep:
        plans.append(plan)
        return replace(sweeps[0], network=plan.network)

    monkeypatch.setattr(comparing, "measured", measure)
    networks = ["cube ports=4 depth=1", build("cube", ports=4, depth=4)]
    words = {"traffic": "diagonal", "unit": "flits", "seed": 7, "bins": 8}
    found = compare(networks, [0.5, 0.2], per="wire", **words)
    assert [str(each.network) for each in found.sweeps] == [
        str(build(networks[0])),
        str(networks[1]),
    ]
    for plan, network in zip(plans, networks):
        alone = planned(
            build(network) if isinstance(network, str) else network, [0.5, 0.2], **words
        )
        assert (plan.loads, plan.bins) == (alone.loads, 8) == ((0.2, 0.5), 8)
        assert plan.run_at(0.2) == alone.run_at(0.2)
    assert found.labels == ("cube depth=1", "cube depth=4")
    assert [each["label"] for each in found.to_json()["sweeps"]] == [*found.labels]
    assert (found.per, found.partial) == ("wire", False)
    small = ["cube ports=2", "omega ports=2"]
    assert compare(small, [0.5], labels=["a", "b"]).labels == ("a", "b")
    assert compare(small, [0.5]).labels == tuple(small)


def test_compare_checks_all_networks_before_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "measured", lambda *_, **__: pytest.fail("it has run"))
    for networks, options, message in (
        (["cube", "dragonfly"], {"traffic": "transpose"}, "dragonfly: Ports of a transpose must"),
        (["cube", "mesh"], {"traffic": "uniform+bursts:20:60"}, "cube: Load, which is the mean"),
        (["mesh", "cube"], {"operations": ("all",)}, "mesh: Operations and history are for"),
        (["cube", build("combining")], {"per": "wire"}, "combining ports=8...: The number of"),
        (["cube", 3], {}, "3: Network must be a network, not 3"),
        ([], {}, "Networks must be given, at least one"),
        (["cube"], {"labels": ["a", "b"]}, "Labels must be 1, one for each network, not 2"),
        (["cube"], {"clip": 1}, "cube: Clip must be"),
    ):
        with pytest.raises((ValueError, TypeError), match=f"^{message}".replace("...", ".*")):
            compare(networks, [0.2, 0.9], **options)


def test_loads_are_clipped_on_request() -> None:
    plan = planned(build("cube"), [0.1, 0.3, 0.9], clip=True, traffic="uniform+bursts:20:60")
    assert plan.loads == (0.1, 0.25)
    assert planned(build("cube"), [0.1, 0.9], clip=True).loads == (0.1, 0.9)
    assert chosen_loads(None, False)["clip"]
    assert not chosen_loads("0.1", False)["clip"]


def test_an_interrupted_comparison_keeps_what_is_whole(
    sweeps: list[Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(plan: PlannedSweep, **_: Any) -> Sweep:
        if plan.network.family == "mesh":
            raise KeyboardInterrupt
        return sweeps[0]

    monkeypatch.setattr(comparing, "measured", measure)
    found = compare(["cube", "mesh", "torus"], [0.2])
    assert (found.labels, found.partial) == (("cube",), True)
    with pytest.raises(KeyboardInterrupt):
        compare(["mesh", "cube"], [0.2])


def test_labels_name_traffic_if_it_differs() -> None:
    sweeps = [Sweep(build("cube"), name, [], None) for name in ("uniform", "transpose")]
    assert distinct_labels(sweeps) == ["cube uniform", "cube transpose"]


@pytest.fixture(scope="module")
def sweeps() -> list[Sweep]:
    quick = {"refine": False, "processes": 1, **SHORT}
    return [sweep(f"cube ports=4 depth={depth}", [0.2, 1.0], **quick) for depth in (1, 4)]


def _dots(axes: Axes) -> list[tuple[float, float, str]]:
    """Load, height and marker of each point."""
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]), line.get_marker())
        for line in axes.lines
        if len(line.get_xdata()) == 1
    ]


@pytest.mark.long
def test_every_point_is_in_the_picture(sweeps: list[Sweep]) -> None:
    slow = sweeps[0].points[1]
    slow = replace(slow, saturated=True, latency=replace(slow.latency, mean=9999.0))
    first = replace(sweeps[0], points=[sweeps[0].points[0], slow])
    figure = comparison_figure(Comparison([first, sweeps[1]]))
    latency, throughput = figure.axes
    top = latency.get_ylim()[1]
    assert len(_dots(latency)) == len(_dots(throughput)) == 4
    assert all(0 <= height <= top for _, height, _ in _dots(latency))
    assert [dot[:2] for dot in _dots(latency) if "uparrow" in dot[2]] == [(1.0, top)]
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[:2] == ["cube depth=1", "cube depth=4"]
    assert {"saturated", "latency beyond the range", "offered load"} <= set(words)
    # Colour is not all that tells curves apart.
    first_line, second_line = figure.legends[0].get_lines()[:2]
    assert first_line.get_marker() != second_line.get_marker()
    assert first_line.get_linestyle() != second_line.get_linestyle()


def test_rates_of_the_picture_are_converted(sweeps: list[Sweep]) -> None:
    # Four links between two stages, and four terminals: a factor of 1; two replicas halve it.
    twice = [replace(each, network=build("cube ports=4 replication=2")) for each in sweeps]
    plain, halved = (
        _dots(comparison_figure(Comparison(each, per="wire")).axes[1]) for each in (sweeps, twice)
    )
    assert [(2 * load, 2 * rate) for load, rate, _ in halved] == [dot[:2] for dot in plain]
    assert plain[0][:2] == (0.2, sweeps[0].points[0].throughput)


@pytest.mark.long
def test_rates_of_the_picture_are_in_flits(tmp_path: Path) -> None:
    """Packets of three flits in the mean; loads asked for in flits are at their own numbers."""
    curve = sweep(
        "torus k=2 length=2:4", [0.3, 0.6], unit="flits", refine=False, processes=1, **SHORT
    )
    dots = _dots(comparison_figure(Comparison([curve], unit="flits")).axes[1])
    assert [load for load, _, _ in dots] == pytest.approx([0.3, 0.6])
    assert [rate for _, rate, _ in dots] == [point.throughput_flits for point in curve.points]
    label = comparison_figure(Comparison([curve], unit="flits")).axes[1].get_xlabel()
    assert label == "offered load\n(flits per terminal per cycle)"
    save_comparison(Comparison([curve], unit="flits"), tmp_path / "flits.json")
    record = json.loads((tmp_path / "flits.json").read_text())
    assert record["unit"] == "flits per terminal per cycle"
    assert [each["rate_factor"] for each in record["sweeps"]] == [3.0]
    message = r"^Unit must be one of packets, flits, not 'bits'; did you mean 'flits'\?$"
    with pytest.raises(InvalidValue, match=message):
        comparison_figure(Comparison([curve], unit="bits"))


def test_intervals_end_at_the_edge_and_the_legend_says_so(sweeps: list[Sweep]) -> None:
    first, last = sweeps[0].points
    wide = replace(last, saturated=False, latency=replace(last.latency, mean=4.0, ci99=90.0))
    narrow = replace(first, saturated=False, latency=replace(first.latency, mean=4.0, ci99=0.1))

    def drawn(points: list[Result]) -> tuple[Axes, list[str], list[list[float]]]:
        figure = comparison_figure(Comparison([replace(sweeps[0], points=points)]))
        axes = figure.axes[0]
        (bars,) = axes.containers[0].lines[2]
        texts = [text.get_text() for text in figure.legends[0].get_texts()]
        return axes, texts, [segment[:, 1].tolist() for segment in bars.get_segments()]

    axes, texts, ends = drawn([narrow, wide])
    assert ends == [pytest.approx([3.9, 4.1]), pytest.approx([0, axes.get_ylim()[1]])]
    assert "interval cut off" in texts
    assert "interval cut off" not in drawn([narrow])[1]


def test_letters_of_a_pdf_are_not_of_type_3(sweeps: list[Sweep], tmp_path: Path) -> None:
    """Publishers refuse those; Type 42 is embedded TrueType."""
    save_comparison(Comparison(sweeps), tmp_path / "all.pdf")
    found = re.findall(rb"/FontFile2|/Subtype /Type3", (tmp_path / "all.pdf").read_bytes())
    assert set(found) == {b"/FontFile2"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("words", "inches"),
    [({"width": "column"}, 3.5), ({"width": "page"}, 7.16), ({"size": (5, 2)}, 5)],
)
def test_figures_have_the_size_asked_for(
    words: dict[str, Any], inches: float, sweeps: list[Sweep], tmp_path: Path
) -> None:
    look = Look(**words, text=True)
    save_comparison(Comparison(sweeps, ["cube a", "cube b"]), tmp_path / "all.svg", look)
    root = ElementTree.parse(tmp_path / "all.svg").getroot()
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(72 * inches)
    texts = {"".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"cube a", "cube b", "mean latency (cycles)"} <= texts


def test_style_and_title(sweeps: list[Sweep]) -> None:
    figure = comparison_figure(Comparison(sweeps), Look(title="Mine", style="dark_background"))
    assert figure.get_suptitle() == "Mine"
    assert figure.get_facecolor()[:3] == (0, 0, 0)
    assert comparison_figure(Comparison(sweeps), Look(title="")).get_suptitle() == ""


test_look_rejects = refusals(
    lambda words: Look(**words),
    ({"size": (0, 3)}, "Size must be width and height from 1 to 100 inches, not 0,3"),
    ({"size": (3,)}, "Size must be width and height ..., not 3"),
    ({"size": (3, 2), "width": "page"}, "Size must not be given beside width page"),
    ({"width": "half"}, "Width must be one of column, page, not 'half'"),
    ({"style": "no.such"}, "Style must be a file of ... or one of ..., not 'no.such'"),
    error=InvalidValue,
)


def test_a_style_is_one_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.mplstyle"
    path.write_text("font.size: 7\n")
    Look(style=str(path))
    path.write_text("font.size: 7\nint main(void) { return 0; }\n")
    with pytest.raises(InvalidValue, match=r"^Style must be a file of matplotlib's parameters or"):
        Look(style=str(path))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("given", [{"size": (3, 2)}, {"width": "page"}, {"style": "ggplot"}])
def test_given_axes_keep_their_size_and_style(given: Any, sweeps: list[Sweep]) -> None:
    axes = Figure().subplots()
    with pytest.raises(InvalidValue, match=r"^(Size|Width|Style) must not be given with axes: "):
        sweeps[0].plot(axes, **given)


def test_a_figure_of_its_own_is_of_both(sweeps: list[Sweep]) -> None:
    with pytest.raises(InvalidValue, match=r"^Of must not be given without axes: a new figure"):
        Comparison(sweeps).plot(of="throughput")


def test_plots_on_axes_that_are_given(sweeps: list[Sweep]) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert sweeps[0].plot(left) is figure
    assert Comparison(sweeps, ["a", "b"]).plot(right, of="throughput", title="T") is figure
    assert [height for _, height, _ in _dots(left)] == [
        min(point.latency.mean, left.get_ylim()[1]) for point in sweeps[0].points
    ]
    assert _dots(right)[0][:2] == (0.2, sweeps[0].points[0].throughput)
    assert {"a", "b"} <= {*right.get_legend_handles_labels()[1]}
    assert (left.get_ylabel(), right.get_title()) == ("mean latency (cycles)", "T")
    assert len(sweeps[0].plot(width="column").axes) == 2


def test_frames_have_parameters_and_percentiles(sweeps: list[Sweep]) -> None:
    frame = Comparison(sweeps).to_frame(percentiles=[10, 50, 99.9])
    assert frame["depth"].tolist() == [1, 1, 4, 4]
    assert frame["label"].tolist()[::2] == ["cube depth=1", "cube depth=4"]
    assert frame["latency_p50"].tolist() == [p.latency.p50 for s in sweeps for p in s.points]
    for number, point in enumerate(sweeps[0].points):
        latencies = np.repeat(np.arange(len(point.latency.histogram)), point.latency.histogram)
        for name, share in (("latency_p10", 0.1), ("latency_p99.9", 0.999)):
            assert frame[name][number] == np.quantile(latencies, share, method="inverted_cdf")
    assert frame["seed"].tolist() == [1] * 4
    with pytest.raises(InvalidValue, match=r"^Percentile must be from 0 to 100, not 101$"):
        sweeps[0].to_frame([101])


def test_rates_per_link_are_in_flits_whatever_the_unit() -> None:
    torus = build("torus k=4 n=2 length=2:4")
    assert rate_factor(torus, "terminal", "flits") == 3
    for unit in ("packets", "flits"):
        assert rate_factor(torus, "wire", unit) == 16 * 3 / 64
    assert rate_factor(torus, "wire", packet_length=6) == 16 * 6 / 64


@pytest.mark.long
def test_files_hold_all_sweeps(sweeps: list[Sweep], tmp_path: Path) -> None:
    save_comparison(Comparison(sweeps), tmp_path / "all.csv")
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert {row["label"] for row in rows} == {*Comparison(sweeps).labels}
    assert [row["network"] for row in rows] == ["cube"] * 4
    assert ["depth=1" in row["parameters"].split() for row in rows] == [True, True, False, False]
    assert [float(row["offered_load"]) for row in rows] == [0.2, 1.0] * 2
    save_comparison(Comparison(sweeps, per="wire"), tmp_path / "all.json")
    record = json.loads((tmp_path / "all.json").read_text())
    assert record["per"] == "wire"
    assert [each["rate_factor"] for each in record["sweeps"]] == [1.0, 1.0]
    assert [len(each["points"]) for each in record["sweeps"]] == [2, 2]
    for ending, start in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        save_comparison(Comparison(sweeps), tmp_path / f"all.{ending}")
        assert (tmp_path / f"all.{ending}").read_bytes().startswith(start)


def test_the_table_tells_the_highest_throughput_from_the_sustained(
    sweeps: list[Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    first, last = sweeps[0].points
    points = [
        replace(first, throughput=0.19, saturated=True),
        replace(last, throughput=0.07, saturated=True),
    ]
    print_comparison(Comparison([replace(sweeps[0], points=points)], unit="flits"))
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│ cube")]
    cells = [cell.strip() for cell in row.split("│")]
    assert cells[3:6] == ["0.0000 to 0.2000", "0.1900", "0.0700"]


@pytest.mark.long
def test_command_draws_as_it_is_told(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--loads", "0.2", "--cycles", "30", "--warmup", "0", "--bins", "16"]
    words += ["--processes", "1"]
    look = ["--width", "column", "--title", "Two boxes", "--text", "-o", "a.svg"]
    labels = ["--label", "mine", "--label", "its"]
    assert call("compare", "cube ports=2", "omega ports=2", *words, *labels, *look).status == 0
    text = (tmp_path / "a.svg").read_text()
    assert all(f">{each}<" in text for each in ("mine", "its", "Two boxes"))
    assert call("sweep", "cube", "ports=2", *words, *look).status == 0
    assert ">Two boxes<" in (tmp_path / "a.svg").read_text()
    refused = call("sweep", "cube", "ports=2", "--title", "x")
    assert (refused.status, refused.out) == (2, "")
    assert "--title is for a picture: write one with -o FILE.svg" in refused.err


def test_command(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--loads", "0.2,0.4", "--cycles", "60", "--warmup", "0", "--bins", "16"]
    words += ["--source-depth", "4", "--processes", "1", "--per", "wire"]
    status, out, err = call("compare", "cube ports=4", "Torus k=2", *words, "-o", "all.csv")
    assert (status, err) == (0, "")
    assert "rates in flits per link per cycle" in out
    assert out.endswith("wrote all.csv\n")
    assert max(map(len, out.splitlines())) <= 80
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + 4
    status, out, err = call("compare", "cube ports=4", *words, "--json")
    assert (status, err) == (0, "")
    assert [each["network"] for each in json.loads(out)["sweeps"]] == ["cube"]


@pytest.mark.long
def test_command_in_flits(call: Call) -> None:
    """The table converts the saturation throughput as the file does."""
    words = ["--loads", "1", "--cycles", "60", "--warmup", "0", "--bins", "16", "--no-refine"]
    words += ["--source-depth", "4", "--engine", "amaranth", "--processes", "1", "--unit", "flits"]
    words = ["compare", "mesh k=2 length=4", *words]
    status, out, err = call(*words)
    assert (status, err) == (0, "")
    assert "rates in flits per terminal per cycle" in out
    record = json.loads(call(*words, "--json")[1])
    (curve,) = record["sweeps"]
    assert (record["unit"], curve["rate_factor"]) == ("flits per terminal per cycle", 4)
    assert curve["points"][0]["offered_load"] == 0.25
    for kind in ("saturation", "sustained"):
        assert f"{4 * curve[f'{kind}_throughput']:.4f}" in out
    assert " 0.0000 to " in out


test_command_refuses_before_any_run = command_refusals(
    "compare",
    (["cube", "tours"], "not 'tours'; did you mean 'torus'?"),
    (["cube ports=8", "dragonfly", "--traffic", "transpose"], "dragonfly: Ports of a transpose"),
    (["cube", "cube ports=4", "--traffic", "1,0,3,2"], "cube: Traffic must have 8 dest"),
    (["cube", "torus", "--operations", "all"], "cube: Operations and history are for"),
    (["cube", "--label", "a", "--label", "b"], "Labels must be 1, one for each network, not 2"),
    (["cube", "torus", "--per", "bisection"], "The bisection of cube"),
    (["cube", "-o", "a.gif"], "Output a.gif must end in"),
    (["cube", "--loads", "2"], "Load must be"),
    ([], "Missing argument"),
    part=True,
)


def test_rates_are_of_requests_where_there_is_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """As a sweep of such a network says."""
    memory, packets = (
        Sweep(build(name, ports=4), "uniform", [], None) for name in ("combining", "cube")
    )
    for sweeps, rated in (([memory], "requests"), ([packets, memory], "packets or requests")):
        print_comparison(Comparison(sweeps))
        assert f"; rates in {rated} per terminal per cycle, " in capsys.readouterr().out
