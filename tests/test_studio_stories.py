"""Whole stories of the workbench in Chromium, as a user lives them."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import needs_chromium
from command_line import Call
from multicube.hdl.graphs.graph_file import read_graph
from served_studio import Served, served_studio

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with served_studio() as found:
        yield found


class Opened:
    """Opens pages of the workbench; whatever they complain of is an error."""

    def __init__(self, chromium: Any, address: str) -> None:
        self.chromium, self.address = chromium, address
        self.errors: list[str] = []

    def __call__(self, **options: Any) -> Any:
        view = {"viewport": {"width": 1280, "height": 860}, "accept_downloads": True} | options
        page = self.chromium.new_page(**view)
        page.set_default_timeout(300_000)  # machines are busy
        page.on("console", lambda told: self._told(told.type, told.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(self.address)
        page.wait_for_function("document.documentElement.dataset.ready === 'true'")
        return page

    def _told(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.errors.append(text)


@pytest.fixture
def opened(chromium: Any, served: Served) -> Iterator[Opened]:
    found = Opened(chromium, served.address)
    yield found
    assert found.errors == []


@pytest.fixture
def page(opened: Opened) -> Iterator[Any]:
    page = opened()
    yield page
    page.close()


def _choose(page: Any, network: str, **parameters: object) -> None:
    page.select_option("#network", network)
    for name, value in parameters.items():
        page.fill(f"#parameters input[name={name}]", str(value))
    page.click("#show")


def _done(page: Any) -> Any:
    """Wait for all that a network is shown with; return the frame in which it runs."""
    page.wait_for_function("studio.shown?.complete")
    return page.frames[1]


def _options(page: Any, **options: object) -> None:
    """Fill the options of a sweep."""
    page.evaluate("() => { document.getElementById('sweep-options').open = true; }")
    for name, value in options.items():
        page.fill(f"#sweep-options input[name={name}]", str(value))


def _swept(page: Any) -> list[dict[str, Any]]:
    """The curves, when all sweeps have ended."""
    states = "studio.curves.curves.map(({ state }) => state)"
    page.wait_for_function(
        f"{states}.every((state) => ['done', 'failed', 'cancelled'].includes(state))"
    )
    return page.evaluate("() => studio.curves.curves")


@needs_chromium
def test_a_graph_is_drawn_with_the_keyboard_alone(page: Any, tmp_path: Path) -> None:
    """Nodes, links and terminals; what is drawn is the graph of the file."""
    page.focus("#draw")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "sketch-node"
    page.focus("#sketch-canvas")
    for key in ("n", "n", "n", "n"):
        page.keyboard.press(key)

    def focus(node: int) -> None:
        page.focus(f"#sketch-canvas [data-what=nodes][data-index='{node}']")

    for one, other in ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (2, 0)):
        focus(one)
        page.keyboard.press("l")
        focus(other)
        page.keyboard.press("Enter")
    assert page.text_content("#sketch-says") == "Nodes 2 and 0 are linked already."
    focus(1)
    page.keyboard.press("+")
    focus(2)
    page.keyboard.press("-")
    page.keyboard.press("ArrowRight")
    page.focus("#sketch-canvas [data-what=links][data-index='4']")
    page.keyboard.press("Delete")
    focus(3)
    label = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert label == "Node 3, 1 terminal, linked to 2, 0"
    path = tmp_path / "drawn.json"
    path.write_text(page.evaluate("() => studio.sketch.file().text()"))
    graph = read_graph(str(path))
    pairs = {(link.node, link.peer) for link in graph.links()}
    ring = {(0, 1), (1, 2), (2, 3), (3, 0)}
    assert pairs == ring | {(peer, node) for node, peer in ring}
    assert list(graph.homes) == [0, 1, 1, 3]
    focus(3)
    page.keyboard.press("Delete")
    assert page.locator("#sketch-canvas [data-what=links]").count() == 2


@needs_chromium
def test_a_graph_is_drawn_with_mouse_and_finger(opened: Opened) -> None:
    """A press in an empty place adds a node, dragging moves it, and buttons link."""
    page = opened(viewport={"width": 390, "height": 844}, has_touch=True)
    page.click("#draw")
    canvas = page.locator("#sketch-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    places = [(60, 60), (250, 70), (150, 200)]
    for x, y in places[:2]:
        page.mouse.click(box["x"] + x, box["y"] + y)
    page.touchscreen.tap(box["x"] + places[2][0], box["y"] + places[2][1])
    nodes = page.locator("#sketch-canvas [data-what=nodes]")
    assert nodes.count() == 3
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 100, box["y"] + 90, steps=4)
    page.mouse.up()
    scale = 360 / box["width"]
    moved = page.evaluate("() => { const [{ x, y }] = studio.sketch.nodes; return [x, y]; }")
    assert moved == pytest.approx([100 * scale, 90 * scale], abs=2)
    page.click("#sketch-link")
    nodes.nth(1).click()
    assert page.locator("#sketch-canvas [data-what=links]").count() == 1
    nodes.nth(2).tap()
    page.tap("#sketch-delete")
    assert nodes.count() == 2
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.close()


@needs_chromium
@pytest.mark.long
def test_story_with_the_keyboard_alone(page: Any, call: Call, tmp_path: Path) -> None:
    """Choose, drawing, verdict, run, sweep, and take away; all numbers are the command's."""
    page.focus("#network")
    page.keyboard.type("omega")
    page.focus("#parameters input[name=ports]")
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    frame = _done(page)
    assert page.text_content("#verdict").startswith("Free of deadlock")
    frame.focus("#canvas")
    for _ in range(3):
        frame.locator("#canvas").press(".")
    frame.wait_for_function("multicube.moment.cycle === 3")
    frame.locator("#canvas").press("]")
    frame.locator("#canvas").press(" ")
    frame.wait_for_function("multicube.moment.cycle > 10")
    frame.locator("#canvas").press(" ")
    _options(page, loads="0.2,0.4", cycles=1000, seed=2)
    page.focus("#sweep")
    page.keyboard.press("Enter")
    page.wait_for_function("studio.work.running.size > 0")
    [curve] = _swept(page)
    words = ["omega", "ports=8", "--loads=0.2,0.4", "--cycles=1000", "--seed=2"]
    result = call("sweep", *words, "--json").record
    measured = [(point["offered_load"], point["latency"]["mean"]) for point in result["points"]]
    assert [(point["load"], point["latency"]) for point in curve["points"]][1:] == measured
    rows = page.locator("#numbers tr").all_text_contents()
    assert len(rows) == 3
    assert rows[1].startswith("omega ports=80.2")
    for which in ("latency", "throughput"):
        plot = page.locator(f"#plots [data-which={which}]")
        assert plot.locator(".point").count() == 3
    formula = page.locator("#plots [data-which=latency] .formula").get_attribute("d")
    assert formula.count("L") == 2
    link = page.locator("#files a", has_text="Verilog")
    with page.expect_download() as waiting:
        link.focus()
        page.keyboard.press("Enter")
    assert call("export", "omega", "ports=8", "-o", str(tmp_path / "own.v")).status == 0
    assert Path(waiting.value.path()).read_text() == (tmp_path / "own.v").read_text()


@needs_chromium
@pytest.mark.long
def test_story_of_a_deadlock(page: Any, call: Call) -> None:
    """The verdict is that of the command, and the cycle is marked in the drawing."""
    words = ["torus", "k=5", "n=2", "channels=1", "allow_deadlock=1"]
    _choose(page, "torus", k=5, n=2, channels=1, allow_deadlock=1)
    frame = _done(page)
    found = call("deadlock", *words, "--json")
    assert found.status == 1
    cycle = json.loads(found.out)["cycle"]
    assert page.text_content("#verdict").startswith(f"It can deadlock: {len(cycle) - 1} channels")
    marked = frame.evaluate(
        "() => multicube.drawing.marked.map((n) => ABOUT.bench.channels.name[n])"
    )
    assert marked == cycle
    page.fill("#parameters input[name=channels]", "2")
    page.fill("#parameters input[name=allow_deadlock]", "")
    page.click("#show")
    frame = _done(page)
    assert page.text_content("#verdict").startswith("Free of deadlock")
    assert frame.evaluate("() => multicube.drawing.marked") == []


@needs_chromium
@pytest.mark.long
def test_story_of_a_run(page: Any, call: Call) -> None:
    """The network that runs there has the numbers of the command."""
    _choose(page, "omega", ports=8)
    frame = _done(page)
    found = frame.evaluate(
        """async () => {
            const { laboratory } = multicube;
            return (await laboratory.measure([0.3], { warmup: 200, cycles: 500 }))[0];
        }"""
    )
    words = "--load 0.3 --seed 1 --warmup 200 --cycles 500 --json"
    result = call("sim", "omega", "ports=8", *words.split()).record
    assert found["latency"] == result["latency"]["mean"]
    assert found["throughput"] == result["throughput"]


@needs_chromium
@pytest.mark.long
def test_story_of_taking_away(page: Any, call: Call, tmp_path: Path) -> None:
    """What is taken away is what the command writes, which stands beside it."""
    _choose(page, "ring", k=4)
    _done(page)
    for text, suffix in (("Verilog", ".v"), ("SVG", ".svg"), ("page", ".html")):
        link = page.locator("#files a", has_text=re.compile(f"^{text}$"))
        with page.expect_download() as waiting:
            link.click()
        command = link.get_attribute("title").split()
        path = tmp_path / f"own{suffix}"
        assert command[0] == "multicube"
        assert call(*command[1:-1], str(path)).status == 0
        assert Path(waiting.value.path()).read_text() == path.read_text()
    assert page.text_content("#command") == "multicube view ring k=4 -o network.html"


@needs_chromium
@pytest.mark.long
def test_story_of_bad_input_that_is_corrected(page: Any, call: Call) -> None:
    """An error is the line of the command; the next try is as if there had been none."""
    _choose(page, "torus", k=1)
    page.wait_for_selector("#error:not(:empty)")
    line = call("draw", "torus", "k=1", "-o", "x.svg").err.strip()
    assert page.text_content("#error") == line
    page.fill("#parameters input[name=k]", "3")
    page.click("#show")
    _done(page)
    assert page.text_content("#error") == ""
    assert page.text_content("#command") == "multicube view torus k=3 -o network.html"
    _options(page, loads="2")
    page.click("#sweep")
    page.wait_for_selector("#error:not(:empty)")
    line = call("sweep", "torus", "k=3", "--loads=2", "--json").err.strip()
    assert page.text_content("#error") == line


@needs_chromium
@pytest.mark.long
def test_story_of_a_graph_file(page: Any, call: Call, tmp_path: Path) -> None:
    """A file that is chosen is drawn and runs; a bad one gets the line of the command; and one that
    is drawn by hand goes the same way."""
    path = tmp_path / "square.json"
    text = json.dumps({"nodes": 4, "links": [[0, 1], [1, 2], [2, 3], [3, 0]]})
    path.write_text(text)
    page.set_input_files("#file", str(path))
    frame = _done(page)
    assert frame.evaluate("() => multicube.drawing.nodes.length") == 4
    assert page.text_content("#command") == "multicube view graph file=square.json -o network.html"
    with page.expect_download() as waiting:
        page.click("#files a:has-text('graph file')")
    assert Path(waiting.value.path()).read_text() == text
    path.write_text("{")
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#error:not(:empty)")
    assert page.text_content("#error").startswith("multicube: ")
    page.click("#draw")
    for _ in range(3):
        page.click("#sketch-node")
    page.click("#sketch-use")  # no node is linked
    drawn = tmp_path / "drawn.json"
    drawn.write_text(page.evaluate("() => studio.sketch.file().text()"))
    line = call("draw", "graph", f"file={drawn}", "-o", "x.svg").err.strip()
    wanted = line.replace(str(drawn), "drawn.json")
    page.wait_for_function(
        "(wanted) => document.getElementById('error').textContent === wanted", arg=wanted
    )
    nodes = page.locator("#sketch-canvas [data-what=nodes]")
    for one, other in ((0, 1), (1, 2), (2, 0)):
        nodes.nth(one).click()
        page.click("#sketch-link")
        nodes.nth(other).click()
    page.click("#sketch-use")
    frame = _done(page)
    assert page.text_content("#error") == ""
    assert page.text_content("#command") == "multicube view graph file=drawn-2.json -o network.html"
    assert frame.evaluate("() => multicube.drawing.nodes.map(({ label }) => label)") == [*"012"]
    assert page.text_content("#verdict").startswith("Free of deadlock")
    frame.evaluate("() => multicube.advance(200)")
    assert frame.evaluate("() => multicube.moment.counters.delivered") > 0


@needs_chromium
@pytest.mark.long
def test_story_of_stopping(page: Any) -> None:
    """A sweep that is stopped keeps the points that it had, and something else can be done."""
    page.select_option("#network", "omega")
    page.fill("#parameters input[name=ports]", "32")
    _options(page, cycles=20000)
    page.click("#sweep")
    page.wait_for_function("studio.curves.curves[0]?.points.length > 0")
    far = page.text_content("#work-list .far")
    assert re.match(r"\d+ of \d+ loads, ", far)
    page.click("#work-list button")
    [curve] = _swept(page)
    assert curve["state"] == "cancelled"
    assert curve["points"]
    assert "stopped" in page.text_content("#legend")
    assert page.is_hidden("#work")
    _choose(page, "ring", k=4)
    _done(page)
    page.select_option("#network", "ring")
    _options(page, loads="0.1", cycles=200)
    page.click("#sweep")
    first, second = _swept(page)
    assert first["points"] == curve["points"]
    assert len(second["points"]) == 2
    page.click("#legend button >> nth=0")
    assert page.locator("#legend li").count() == 1


@needs_chromium
@pytest.mark.long
def test_story_of_a_phone_and_a_keyboard(opened: Opened) -> None:
    page = opened(viewport={"width": 390, "height": 844}, has_touch=True)
    page.focus("#network")
    page.keyboard.type("ring")
    for _ in ("the file", "by hand", "the summary", "the first parameter"):
        page.keyboard.press("Tab")
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    _done(page)
    assert page.text_content("#command") == "multicube view ring k=4 -o network.html"
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.close()


@needs_chromium
@pytest.mark.long
def test_command_that_compares_is_for_a_shell(page: Any) -> None:
    """Traffic of classes has a semicolon, and names of files may have a quote. A network that was
    refused is not compared."""
    names, traffic = ["torus k=4 classes=2", "graph file=it's.json"], "uniform@3; tornado"
    page.evaluate(
        """async ([names, traffic]) => {
            studio.work.run = async () => { throw new Error("refused"); };
            await studio.curves.sweep("torus k=1", { options: {} }).catch(() => null);
            studio.work.run = async () => null;
            for (const name of names) studio.curves.sweep(name, { options: { traffic } });
        }""",
        [names, traffic],
    )
    line = page.text_content("#compare-command")
    assert shlex.split(line) == [
        *("multicube", "compare", *names, f"--traffic={traffic}", "-o", "all.svg")
    ]


@needs_chromium
def test_a_network_has_a_curve_for_each_traffic(page: Any) -> None:
    found = page.evaluate(
        """async () => {
            studio.work.run = async () => null;
            for (const traffic of [undefined, "tornado", "uniform", "tornado"])
                await studio.curves.sweep("ring", { options: traffic ? { traffic } : {} });
            return studio.curves.curves.map(({ name }) => name); }"""
    )
    assert found == ["ring", "ring, tornado", "ring, uniform"]
    assert page.locator("#compare").is_hidden()  # it compares networks under one traffic


@needs_chromium
def test_numbers_say_what_is_undecided_and_what_is_predicted(page: Any) -> None:
    page.evaluate(
        """async () => {
            const point = (saturated, throughput, latency) => ({
                load: 0.5, throughput: 0.4, latency: 9, saturated,
                predicted: { throughput, latency },
            });
            const points = [point(false, 0.3, null), point(null, null, 8), point(true, null, null)];
            const record = { state: "done", points, files: [], seconds: 1 };
            studio.work.run = async (kind, request, { seen }) => seen(record);
            await studio.curves.sweep("ring", { options: {} });
        }"""
    )
    rows = page.locator("#numbers tr").all()
    assert [row.locator("td").all_text_contents()[2:] for row in rows] == [
        ["0.4", "0.3", "9", "", ""],
        ["0.4", "", "9", "8", "undecided"],
        ["0.4", "", "9", "", "saturated"],
    ]


@needs_chromium
@pytest.mark.long
def test_ten_tabs_at_once(opened: Opened) -> None:
    """Each has its own network and its own sweep: nothing is lost, and nothing mixed."""
    pages = {k: opened() for k in range(3, 13)}
    for k, page in pages.items():
        _choose(page, "ring", k=k, n=1)
        _options(page, loads="0.2", cycles=200, seed=k)
        page.click("#sweep")
    for k, page in pages.items():
        page.wait_for_function("studio.shown?.complete")
        frame = page.frames[1]
        assert frame.evaluate("() => multicube.drawing.nodes.length") == k
        assert page.text_content("#command") == f"multicube view ring k={k} n=1 -o network.html"
    for k, page in pages.items():
        [curve] = _swept(page)
        assert curve["name"] == f"ring k={k} n=1"
        assert f"ring k={k} n=1 " in curve["task"]["command"]
        result = page.evaluate(
            "async ({ key }) => (await fetch(`tasks/${key}/files/sweep.json`)).json()",
            curve["task"],
        )
        assert result["parameters"]["k"] == k
        assert {point["seed"] for point in result["points"]} == {k}
        latencies = [point["latency"]["mean"] for point in result["points"]]
        assert [point["latency"] for point in curve["points"]][1:] == latencies
        assert page.text_content("#error") == ""
        page.close()
