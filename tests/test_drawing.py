"""Drawings of multistage networks, read back from what stands on the axes."""

import itertools
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from long_runs import long
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from multicube.hdl import multistage_plan
from multicube.hdl.topology.multistage import PLANS
from multicube.sim.report.drawing import (
    HIGHLIGHT,
    Marks,
    draw_box,
    draw_multistage,
    multistage_figure,
    save_figure,
)

Segment = tuple[tuple[float, float], tuple[float, float]]


def _segments(axes: Axes, colour: str) -> list[Segment]:
    """Straight lines of a colour, from left to right."""
    return sorted(
        tuple(zip(line.get_xdata(), line.get_ydata()))
        for line in axes.lines
        if to_hex(line.get_color()) == to_hex(colour)
    )


def _words(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_marks_of_a_path() -> None:
    # Siegel et al., Fig. 2: links 110, 010, 000, 000; exchange, exchange, straight.
    marks = Marks.paths(multistage_plan("cube", 8), [(6, 0)])
    assert set(marks.lines) == {(0, 0b110), (1, 0b010), (2, 0), (3, 0)}
    assert set(marks.connections) == {(0, 2, 1, 0), (1, 0, 1, 0), (2, 0, 0, 0)}
    assert {*marks.lines.values(), *marks.connections.values()} == {HIGHLIGHT}


@pytest.mark.parametrize("pair", [(8, 0), (0, 8), (-1, 0)])
def test_marks_reject_terminals(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"^Address must be from 0 to 7, not (8|-1)$"):
        Marks.paths(multistage_plan("cube", 8), [pair])


@pytest.mark.parametrize(("ports", "radix"), [(8, 2), (9, 3), long(16, 4)])
@pytest.mark.parametrize("name", PLANS)
def test_path_is_one_line_from_source_to_destination(name: str, ports: int, radix: int) -> None:
    """Whatever the labels say: on paper, wires and connections must join."""
    plan = multistage_plan(name, ports, radix)
    for source, destination in itertools.product((0, 1, ports - 2), (0, ports - 1)):
        axes = Figure().subplots()
        draw_multistage(plan, axes, Marks.paths(plan, [(source, destination)]))
        chain = _segments(axes, HIGHLIGHT)
        assert len(chain) == 2 * len(plan.stages) + 1
        assert chain[0][0] == (0, -source)
        assert chain[-1][1][1] == -destination
        for before, after in itertools.pairwise(chain):
            assert before[1] == pytest.approx(after[0])


@pytest.mark.parametrize("name", PLANS)
def test_each_line_is_drawn_once(name: str) -> None:
    plan = multistage_plan(name, 16)
    axes = Figure().subplots()
    draw_multistage(plan, axes)
    wires = _segments(axes, "black")
    assert len(wires) == 16 * 5
    # No two begin or end at the same place.
    assert len({start for start, _ in wires}) == len({end for _, end in wires}) == 16 * 5
    assert sum(isinstance(patch, Rectangle) for patch in axes.patches) == 4 * 8


def test_labels() -> None:
    axes = Figure().subplots()
    draw_multistage(multistage_plan("cube", 8), axes, stage_names=("stage 2", "stage 1", "stage 0"))
    words = _words(axes)
    for line in range(8):
        # Beside the outputs of three boxes, and with the number at both ends.
        assert words.count(f"{line:03b}") == 3
        assert words.count(f"{line}  {line:03b}") == words.count(f"{line:03b}  {line}") == 1
    heads = {text.get_text(): text.get_position()[0] for text in axes.texts}
    assert heads["stage 2"] < heads["stage 1"] < heads["stage 0"]


def test_dilated_lines_are_double_between_stages() -> None:
    axes = Figure().subplots()
    draw_multistage(multistage_plan("cube", 4), axes, links=2)
    assert len(_segments(axes, "black")) == 4 + 2 * 4 + 4


def test_copies_share_the_terminals() -> None:
    axes = Figure().subplots()
    draw_multistage(multistage_plan("cube", 4), axes, copies=2)
    first, second = _segments(axes, "black"), _segments(axes, "C0")
    assert len(first) == len(second) == 4 * 3
    for wires in (first, second):
        assert len({start for start, _ in wires}) == 12
    starts = [{start for start, _ in wires if start[0] == 0} for wires in (first, second)]
    ends = [{end for _, end in wires if end[0] == 9} for wires in (first, second)]
    assert starts[0] == starts[1]
    assert ends[0] == ends[1]
    assert len(starts[0]) == len(ends[0]) == 4
    assert len(axes.patches) == 2 * 4


def test_box_with_text() -> None:
    axes = Figure().subplots()
    draw_box(axes, 0, (0, -0.7), connections={(0, 1): "C1"}, face="C2", text="A")
    assert _words(axes) == ["A"]
    assert _segments(axes, "C1") == [((0, 0), (1, -0.7))]
    assert to_hex(axes.patches[0].get_facecolor()) == to_hex("C2")


def test_marks_on_boxes() -> None:
    plan = multistage_plan("cube", 4)
    axes = multistage_figure(plan, Marks(faces={(1, 0): "C4"}, texts={(0, 1): "B"})).axes[0]
    faces = [to_hex(patch.get_facecolor()) for patch in axes.patches]
    assert faces.count(to_hex("C4")) == 1
    assert _words(axes).count("B") == 1


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        save_figure(multistage_figure(multistage_plan("omega", 8)), tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert text == (tmp_path / "b.svg").read_text()


def test_no_half_written_file(tmp_path: Path) -> None:
    figure = multistage_figure(multistage_plan("omega", 4))
    with pytest.raises(ValueError, match=r"must end in \.svg, \.png, \.pdf$"):
        save_figure(figure, tmp_path / "a.steam")
    with pytest.raises(ValueError, match="there is no folder"):
        save_figure(figure, tmp_path / "no" / "a.svg")
    assert not list(tmp_path.iterdir())
