"""Pictures of networks, read back from what stands on the axes."""

import itertools
import json
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from command_line import Call
from long_runs import long
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from multicube.hdl import Network, build, multistage_plan
from multicube.hdl.fabric.diagram import Diagram
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.graph import Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.graphs.plans.multistage import MultistagePlan
from multicube.hdl.graphs.plans.named_plans import PLANS
from multicube.hdl.networks.graph_layout import graph_diagram
from multicube.hdl.networks.plan_diagram import plan_diagram, plan_path
from multicube.sim.report.diagram_figure import (
    HIGHLIGHT,
    Marks,
    diagram_figure,
    draw_box,
    draw_diagram,
)
from multicube.sim.report.drawing import caption, draw, save_figure

Segment = tuple[tuple[float, float], ...]


def drawn(diagram: Diagram, marks: Marks | None = None, **options: bool) -> Axes:
    axes = Figure().subplots()
    draw_diagram(diagram, axes, marks, **options)  # type: ignore[arg-type]
    return axes


def test_draw_returns_its_figure(tmp_path: Path) -> None:
    figure = draw("cube ports=4")
    assert isinstance(figure, Figure)
    written = draw("cube ports=4", tmp_path / "a.svg")
    assert (tmp_path / "a.svg").exists()
    assert len(figure.axes[0].collections) == len(written.axes[0].collections) > 0


def lines(axes: Axes, colour: str | None = None) -> list[Segment]:
    """The lines of a colour, or all, from left to right."""
    return sorted(
        tuple(map(tuple, stroke.tolist()))
        for each in axes.collections
        if isinstance(each, LineCollection)
        and (colour is None or to_hex(each.get_color()[0]) == to_hex(colour))
        for stroke in each.get_segments()
    )


def polygons(axes: Axes, colour: str, *, corners: int) -> int:
    """The nodes (four corners) or arrows (three) of a colour."""
    return sum(
        len(path.vertices) == corners + 1
        for each in axes.collections
        if isinstance(each, PolyCollection) and to_hex(each.get_facecolor()[0]) == to_hex(colour)
        for path in each.get_paths()
    )


def words(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def plan_marks(plan: MultistagePlan, *pairs: tuple[int, int]) -> tuple[Diagram, Marks]:
    diagram = plan_diagram(plan)
    return diagram, Marks.paths(diagram, partial(plan_path, plan), pairs)


# Wiring plans.


@pytest.mark.parametrize("pair", [(8, 0), (0, 8), (-1, 0)])
def test_marks_reject_terminals(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"^Address must be from 0 to 7, not (8|-1)$"):
        plan_marks(multistage_plan("cube", 8), pair)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("ports", "radix"), [(8, 2), (9, 3), long(16, 4)])
@pytest.mark.parametrize("name", PLANS)
def test_path_is_one_line_from_source_to_destination(name: str, ports: int, radix: int) -> None:
    """Whatever the labels say: on paper, wires and connections must join."""
    plan = multistage_plan(name, ports, radix)
    for source, destination in itertools.product((0, 1, ports - 2), (0, ports - 1)):
        chain = lines(drawn(*plan_marks(plan, (source, destination))), HIGHLIGHT)
        assert len(chain) == 2 * len(plan.stages) + 1
        assert chain[0][0] == (0, -source)
        assert chain[-1][1][1] == -destination
        for before, after in itertools.pairwise(chain):
            assert before[1] == pytest.approx(after[0])


def test_each_line_is_drawn_once() -> None:
    wires = lines(drawn(plan_diagram(multistage_plan("omega", 16))), "black")
    assert len(wires) == 16 * 5
    # No two begin or end at the same place.
    assert len({start for start, _ in wires}) == len({end for _, end in wires}) == 16 * 5


def test_labels() -> None:
    names = ("stage 2", "stage 1", "stage 0")
    axes = drawn(plan_diagram(multistage_plan("cube", 8), stage_names=names))
    shown = words(axes)
    for line in range(8):
        # Beside the outputs of three boxes, and with the number at both ends.
        assert shown.count(f"{line:03b}") == 3
        assert shown.count(f"{line}  {line:03b}") == shown.count(f"{line:03b}  {line}") == 1
    heads = {text.get_text(): text.get_position()[0] for text in axes.texts}
    assert heads["stage 2"] < heads["stage 1"] < heads["stage 0"]
    assert words(drawn(plan_diagram(multistage_plan("cube", 8)), names=False)) == []


@pytest.mark.long
def test_labels_drop_out_where_there_is_no_room() -> None:
    few, many = (
        diagram_figure(build(words).diagram).axes[0] for words in ("cube ports=8", "cube ports=512")
    )
    assert len(few.texts) > len(many.texts) == 9  # the names of the stages


@pytest.mark.parametrize("words", ["benes", "cm-star", "cube-connected-cycles", "lens"])
def test_names_are_in_their_boxes(words: str) -> None:
    """Long ones, which were too small to read or were left out, are in several lines."""
    diagram = build(words).diagram
    axes = diagram_figure(diagram).axes[0]
    axes.figure.draw_without_rendering()
    shown = {text.get_position(): text for text in axes.texts}
    for node in diagram.nodes:
        text = shown[node.x, node.y]
        assert text.get_text().replace("\n", " ") == node.label
        box = text.get_window_extent().transformed(axes.transData.inverted())
        assert abs(box.x1 + box.x0 - 2 * node.x) + box.width <= node.width
        assert abs(box.y1 + box.y0 - 2 * node.y) + box.height <= 1.05 * node.height


@pytest.mark.parametrize("name", [" ", "a-name-with-hyphens of-several words"])
def test_names_of_own_nodes(name: str) -> None:
    """Lines begin at words alone, as on live pages; there may be none."""
    diagram = graph_diagram(ListedGraph(2, [Link(0, 0, 1, 0), Link(1, 0, 0, 0)], names=[name, "b"]))
    shown = [text.get_text() for text in diagram_figure(diagram).axes[0].texts]
    assert {text.replace("\n", " ") for text in shown} == {name, "b"}


def test_dilated_lines_are_double_between_stages() -> None:
    diagram = plan_diagram(multistage_plan("cube", 4), links=2)
    assert len(lines(drawn(diagram), "black")) == 4 + 2 * 4 + 4


def test_copies_share_the_terminals() -> None:
    axes = drawn(plan_diagram(multistage_plan("cube", 4), copies=2))
    first, second = lines(axes, "black"), lines(axes, "C0")
    assert len(first) == len(second) == 4 * 3
    starts = [{start for start, _ in wires if start[0] == 0} for wires in (first, second)]
    ends = [{end for _, end in wires if end[0] == 9} for wires in (first, second)]
    assert starts[0] == starts[1]
    assert ends[0] == ends[1]
    assert len(starts[0]) == len(ends[0]) == 4


def test_box_with_connections() -> None:
    axes = Figure().subplots()
    draw_box(axes, 0, (0, -0.7), {(0, 1): "C1"})
    (line,) = axes.lines
    assert line.get_xydata().tolist() == [[0, 0], [1, -0.7]]


def test_texts_in_boxes() -> None:
    diagram = plan_diagram(multistage_plan("cube", 4))
    axes = drawn(diagram, Marks(lines={Pin("box_0_0", ("o", 0)): "C4"}, texts={"box_1_1": "B"}))
    assert len(lines(axes, "C4")) == 1
    assert words(axes).count("B") == 1


# Graphs.


def test_two_way_links_are_one_line_and_others_have_arrows() -> None:
    for network, pairs, arrows in (("torus k=4 n=2", 32, 0), ("ring k=4 n=2", 32, 32)):
        axes = drawn(build(network).diagram)
        inside = [line for line in lines(axes) if len(line) > 2 or line[0][0] != line[1][0]]
        assert len(lines(axes)) == pairs + 16  # those of terminals too
        assert len(inside) >= pairs // 2
        assert polygons(axes, "black", corners=3) + polygons(axes, "0.5", corners=3) == arrows


def test_terminals_and_channels() -> None:
    given = [Link(0, 0, 1, 0, channels=3), Link(1, 0, 0, 0, channels=2), Link(1, 1, 2, 0)]
    diagram = graph_diagram(ListedGraph(3, given, [0, 0, 0, 0, 2], ["a", "b", "c"]))
    axes = drawn(diagram)
    assert sorted(words(axes)) == sorted(["3/2", "a", "0-3", "b", "c", "4"])
    assert polygons(axes, "black", corners=3) == 1
    assert polygons(axes, "#cfe2f3", corners=4) == 2  # nodes with terminals
    assert caption(diagram) == (
        "3 nodes, 2 links, 5 terminals (numbers in blue), "
        "virtual channels (if several) on the links"
    )


def test_a_path_is_highlighted(tmp_path: Path) -> None:
    network = build("torus k=4 n=2")
    axes = drawn(network.diagram, Marks.paths(network.diagram, network.path, [(0, 6)]))
    assert len(lines(axes, HIGHLIGHT)) == 3 + 2
    assert polygons(axes, HIGHLIGHT, corners=3) == 3
    for name in ("a.svg", "b.svg"):
        draw("torus k=4 n=2", tmp_path / name, paths=[(0, 6)])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_tree_of_a_group_is_highlighted(call: Call, tmp_path: Path) -> None:
    """A mesh of nine, from the middle: eight links to the others, nine to terminals, or from them,
    and one from the root, or to it."""
    network = build("mesh k=3 n=2")
    copies, merges = network.group_pins(4, range(9))
    for pins in (copies, merges):
        axes = drawn(network.diagram, Marks.links(network.diagram, pins))
        assert len(lines(axes, HIGHLIGHT)) == 8 + 9 + 1
    assert (
        call("draw", "mesh", "k=3", "--group", "4:all", "-o", str(tmp_path / "a.svg")).status == 0
    )
    both = call("draw", "mesh", "k=3", "--group", "4:0", "--path", "0:1", "-o", "-")
    assert (both.status, both.err) == (
        2,
        "multicube: A path and the tree of a group can't be shown together\n",
    )
    assert call("draw", "cube", "--group", "1:all", "-o", "-").status == 2


def test_names_are_not_formulas(tmp_path: Path) -> None:
    diagram = graph_diagram(ListedGraph(2, [Link(0, 0, 1, 0)], names=["$a^$", "<c>"]))
    save_figure(diagram_figure(diagram), tmp_path / "names.svg")
    assert (tmp_path / "names.svg").stat().st_size > 0


# The use of links.


@pytest.mark.parametrize("words", ["cube ports=8", "torus k=3 n=2", "combining ports=4"])
def test_colours_and_widths_are_ordered_by_use(words: str) -> None:
    network = build(words)
    links = sorted({line.link for line in network.diagram.lines} & used(network))
    heat = {link: number / len(links) for number, link in enumerate(links)}
    axes = Figure().subplots()
    draw_diagram(network.diagram, axes, heat=heat)
    found = []
    for each in axes.collections:
        if isinstance(each, LineCollection) and to_hex(each.get_color()[0]) != to_hex("0.8"):
            red, green, blue = to_rgb(each.get_color()[0])
            light = 0.299 * red + 0.587 * green + 0.114 * blue
            found.append((each.get_linewidths()[0], light, len(each.get_segments())))
    assert sum(count for *_, count in found) == len(
        [line for line in network.diagram.lines if line.link in heat]
    )
    found.sort()
    lights = [light for _, light, _ in found]
    assert lights == sorted(lights, reverse=True)
    assert lights[-1] < 0.2 < 0.7 < lights[0]


def used(network: Network) -> set[str]:
    return {wire.link for wire in network.wires.values()}


@pytest.mark.long
def test_heat_of_a_run(call: Call) -> None:
    words = ["cube", "ports=4"]
    outcome = call("sim", *words, "--cycles", "50", "--load", "0.5", "--json")
    result = json.loads(outcome.out)
    assert set(result["links"]) == used(build("cube ports=4"))
    Path("result.json").write_text(outcome.out)
    assert call("draw", *words, "--heat", "result.json", "-o", "a.svg").status == 0
    text = Path("a.svg").read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    bad = call("draw", "cube", "ports=8", "--heat", "result.json", "-o", "b.svg")
    assert (bad.status, bad.out) == (2, "")
    assert "Result in result.json is of cube ports=4" in bad.err
    assert len(bad.err.splitlines()) == 1
    for links in ({"node 5": 0.1}, {next(iter(result["links"])): "much"}):
        Path("odd.json").write_text(json.dumps({**result, "links": links}))
        assert call("draw", *words, "--heat", "odd.json", "-o", "b.svg").status == 2
    assert not Path("b.svg").exists()


# Files.


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        save_figure(diagram_figure(plan_diagram(multistage_plan("omega", 8))), tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert text == (tmp_path / "b.svg").read_text()


def test_no_half_written_file(tmp_path: Path) -> None:
    figure = diagram_figure(plan_diagram(multistage_plan("omega", 4)))
    with pytest.raises(ValueError, match=r"must end in \.svg, \.png, \.pdf$"):
        save_figure(figure, tmp_path / "a.steam")
    with pytest.raises(ValueError, match="there is no folder"):
        save_figure(figure, tmp_path / "no" / "a.svg")
    with pytest.raises(ValueError, match=r"^Address must be from 0 to 7, not 8$"):
        draw("cube ports=8", tmp_path / "b.svg", paths=[(0, 8)])
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.parametrize("words", ["cube ports=1024", "torus k=32", "hypercube n=10", "dcsh k=32"])
def test_large_networks(words: str, tmp_path: Path) -> None:
    network = build(words)
    draw(network, tmp_path / "a.png", paths=[(0, 1023)])
    assert np.isfinite([line.points[0] for line in network.diagram.lines]).all()
