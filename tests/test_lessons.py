"""Lessons: each is for a network that exists, and what it says is so."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from browser import Tab, needs_chromium
from command_line import Call
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.partitions import Partition
from multicube.sim.live import LivePage, lesson_names, lesson_network
from multicube.sim.live.lessons import lessons_for


@pytest.mark.parametrize("name", lesson_names())
def test_lessons_are_for_networks_that_exist(name: str) -> None:
    network = lesson_network(name)
    about = LivePage(network, lesson=name).lessons[name]
    names = {node.name for node in network.diagram.nodes}
    names |= {line.link for line in network.diagram.lines}
    for step in about["steps"]:
        assert step["text"]
        assert {*step.get("break", ()), step.get("select", next(iter(names)))} <= names


def test_view_help_lists_the_lessons(call: Call) -> None:
    shown = call("view", "--help").out
    for name in lesson_names():
        assert f"  {name} " in shown


def test_commands_of_lessons_are_commands(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a lesson prints is run as it stands; `view` chooses a name, and prints it."""
    monkeypatch.setattr(LivePage, "html", "<html>")
    text = files("multicube.sim.live").joinpath("lessons.json").read_text(encoding="utf-8")
    commands = set(re.findall(r"`multicube (view [^`]*)`", text))
    assert commands
    for command in commands:
        done = call(*command.split())
        assert done.status == 0
        assert Path(done.out.split(":")[0]).read_text() == "<html>"
    assert call("view", "--lesson", "partition").out.startswith("partition.html: cube, ")


def test_lessons_lead_to_lessons() -> None:
    for name in lesson_names():
        about = lessons_for(lesson_network(name))[name]
        assert about["next"]
        assert {*about["next"]} <= {*lesson_names()} - {name}


def test_the_sets_of_the_partition_lesson() -> None:
    """The halves share no link; the sets of its last step do, and the library refuses them."""
    network = lesson_network("partition")
    steps = lessons_for(network)["partition"]["steps"]
    refused = [*map(int, steps[-1]["setting"]["pattern"].split(","))]

    def links(sources: Sequence[int], targets: Callable[[int], Iterable[int]]) -> set[Pin]:
        return {pin for x in sources for to in targets(x) for pin in network.path(x, to)}

    low, high = range(4), range(4, 8)
    assert not links(low, lambda _: low) & links(high, lambda _: high)
    ring, other = [0, 1, 2, 4], [3, 5, 6, 7]
    assert {refused[x] for x in ring} == {*ring}
    assert links(ring, lambda x: [refused[x]]) & links(other, lambda x: [refused[x]])
    with pytest.raises(ValueError, match="agree in some bits"):
        Partition.of_members(8, [ring, other])


@needs_chromium
@pytest.mark.long
@pytest.mark.parametrize("name", ["extra-stage", "around-a-dead-link"])
def test_a_step_is_the_same_on_the_way_back(chromium: Any, tmp_path: Path, name: str) -> None:
    """The links that a later step breaks work again, and the tables that it writes are gone."""
    LivePage(lesson_network(name), lesson=name).save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    found = tab.do(
        """async () => {
            const found = [];
            for (const at of [1, 2, 1]) {
                await multicube.lessons.show(at);
                multicube.pause();
                await multicube.restart();
                await multicube.advance(500);
                await multicube.followAny();
                const { drawing, moment, worms } = multicube;
                found.push([[...drawing.dead], moment.counters.delivered, worms !== null]);
            }
            return found;
        }"""
    )
    tab.close()
    assert found[0] == found[2] != found[1]
    ways = name == "around-a-dead-link"  # with other tables worms have other ways
    assert [each[2] for each in found] == [ways, False, ways]


@needs_chromium
@pytest.mark.long
def test_new_tables_lead_around_the_dead_link(chromium: Any, tmp_path: Path) -> None:
    page = LivePage(lesson_network("around-a-dead-link"), lesson="around-a-dead-link")
    page.save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    found = []
    for step in range(3):
        found.append(
            tab.do(
                """async (step) => {
                    await multicube.lessons.show(step);
                    multicube.pause();
                    await multicube.ask("advance", { cycles: 1500 });
                    await multicube.change({ load: 0 });
                    await multicube.advance(1000);
                    return [multicube.drawing.dead.size > 0, multicube.statistics.inside];
                }""",
                step,
            )
        )
    tab.close()
    assert [dead for dead, _ in found] == [False, True, True]
    assert found[0][1] == found[2][1] == 0 < found[1][1]


@needs_chromium
@pytest.mark.long
def test_combining_on_and_off_side_by_side(chromium: Any, tmp_path: Path, call: Call) -> None:
    path = tmp_path / "pair.html"
    assert call("view", "--lesson", "combining-on-and-off", "-o", str(path)).status == 0
    outer = chromium.new_page(viewport={"width": 1280, "height": 860})
    outer.goto(path.as_uri())
    outer.wait_for_function("document.documentElement.dataset.ready === 'true'")
    outer.evaluate(
        """async () => {
            const [left] = pages;
            await left.queue;
            await left.lessons.show(1);
            left.setSpeed(9);
        }"""
    )
    outer.wait_for_function("pages.every((page) => page.moment.cycle > 2500)")
    outer.evaluate("() => pages[1].pause()")  # to either of them
    outer.wait_for_function("pages.every(({ running }) => !running)")
    outer.wait_for_function("pages[0].moment.cycle === pages[1].moment.cycle")
    outer.wait_for_timeout(300)
    on, off = outer.evaluate(
        """() => pages.map(({ moment: { counters, cycle }, setting }) =>
            ({ ...counters, ...setting, cycle }))"""
    )
    outer.close()
    assert on["cycle"] == off["cycle"] > 2500
    assert (on["pattern"], on["share"]) == (off["pattern"], off["share"]) == ("hotspot", 0.25)
    assert on["generated"] - off["generated"] == 0
    assert on["delivered"] > 1.1 * off["delivered"]
    # One module serves a request per cycle: at most 1 / (1 + 15 h) for each, with h as drawn.
    assert off["delivered"] / off["cycle"] / 16 <= 1 / (1 + 15 * 0.24)


_BOXES = """async (step) => {
    await multicube.lessons.show(step);
    multicube.pause();
    const { drawing } = multicube;
    drawing.boxesSince = -Infinity;
    const colours = [], stroke = drawing.context.stroke;
    drawing.context.stroke = function () {
        colours.push(this.strokeStyle);
        stroke.call(this);
    };
    drawing.paintBoxes();
    delete drawing.context.stroke;
    const before = multicube.moment;
    await multicube.advance(400);
    return {
        boxes: [...drawing.boxes].map(([index, pairs]) => [drawing.nodes[index].name, pairs]),
        colours, dead: drawing.colours.dead,
        delivered: multicube.moment.counters.delivered - before.counters.delivered,
        refused: [...multicube.moment.refused].map((count, n) => count - before.refused[n]),
        latency: multicube.statistics.latency,
    };
}"""


@needs_chromium
def test_a_benes_network_being_set(chromium: Any, tmp_path: Path, call: Call) -> None:
    """The boxes are set as the command says, and no packet waits. With boxes that are straight,
    links that two packets want are marked, and carry one of them in each cycle."""
    page = LivePage(lesson_network("benes-looping"), lesson="benes-looping")
    page.save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    tab.do("() => multicube.pause()")
    itself, looping, straight = (tab.do(_BOXES, step) for step in (0, 2, 3))
    tab.do("async () => { await multicube.lessons.show(2); await multicube.restart(); }")
    tab.do("() => multicube.advance(100)")  # a reset keeps the settings
    assert sum(tab.do("() => [...multicube.moment.refused]")) == 0
    tab.do("async () => { await multicube.lessons.open(''); await multicube.advance(200); }")
    assert tab.do("() => multicube.drawing.boxes.size") == 0
    assert sum(tab.do("() => [...multicube.moment.refused]")) > 0
    tab.close()
    assert itself["boxes"] == itself["colours"] == []
    assert sum(itself["refused"]) > 0
    assert itself["latency"] > 2 * 5
    told = call("permute", "benes", "ports=8", "bit-reversal", "--json").record
    settings = {
        f"node {box} of stage {stage}": sorted([entry, exit_] for exit_, entry in enumerate(own))
        for stage, column in enumerate(told["settings"])
        for box, own in enumerate(column)
    }
    assert dict(looping["boxes"]) == settings
    assert looping["delivered"] == 8 * 400
    assert looping["latency"] == 5
    assert sum(looping["refused"]) == 0
    assert looping["dead"] not in looping["colours"]
    # Straight through two stages; the others replace the bits of the line, from the highest on.
    lines = [[x & 3 | to & 4, x & 1 | to & 6, to] for x, to in enumerate(told["destinations"])]
    wanted = Counter((stage, own[stage]) for own in lines for stage in range(3))
    assert straight["colours"].count(straight["dead"]) == len(
        {(stage, line & ~(4 >> stage)) for (stage, line), count in wanted.items() if count > 1}
    )
    assert straight["delivered"] == 4 * 400
