"""Live pages in a browser: the network that runs there is the one that the engine runs."""

import base64
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser import Tab, needs_chromium
from command_line import Call, command_refusals
from long_runs import long
from multicube.hdl import GraphNetwork, build
from multicube.hdl.bench import bench_for
from multicube.hdl.catalogue.catalogue import FAMILIES
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.graph import Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.sim import simulate
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.live import LivePage, lesson_network
from multicube.sim.live.page import filled
from multicube.sim.workload.faults import cut, gated
from multicube.sim.workload.pattern import _random_state
from random_cells import fewest_sliced

NETWORKS = ("omega ports=8", "ring k=4 length=1:3", "combining ports=4")

_BYTES = """async () => {
    const tables = await multicube.ask("state");
    return tables.map((table) => {
        let text = "";
        for (const byte of table) text += String.fromCharCode(byte);
        return btoa(text);
    });
}"""


@pytest.fixture(scope="module")
def pages() -> dict[str, LivePage]:
    return {words: LivePage(build(words), load=0.2, seed=7) for words in NETWORKS}


@pytest.fixture(scope="module")
def tabs(
    chromium: Any, pages: dict[str, LivePage], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Tab]]:
    folder = tmp_path_factory.mktemp("pages")
    opened: dict[str, Tab] = {}
    for number, (words, page) in enumerate(pages.items()):
        page.save(folder / f"{number}.html")
        opened[words] = Tab(chromium, folder / f"{number}.html")
    yield opened
    for tab in opened.values():
        tab.close()


def _renew(tab: Tab) -> Tab:
    """A page as it was when it was opened."""
    tab.do(
        """async () => {
            multicube.pause();
            await multicube.mend();
            multicube.select(null);
            Object.assign(multicube.setting, { load: 0.2, pattern: "uniform", seed: 7 });
            multicube.showSetting();
            await multicube.restart();
        }"""
    )
    return tab


@pytest.fixture
def omega(tabs: dict[str, Tab]) -> Tab:
    return _renew(tabs[NETWORKS[0]])


def _set(tab: Tab, selector: str, value: float | str) -> None:
    """Move a control to a value, as a user does, and wait for the engine."""
    tab.page.locator(selector).evaluate(
        """(control, value) => {
            control.value = value;
            control.dispatchEvent(new Event("input"));
            control.dispatchEvent(new Event("change"));
        }""",
        value,
    )
    tab.do("() => multicube.queue")


def _counters(tab: Tab) -> dict[str, int]:
    return tab.do("() => multicube.moment.counters")


@pytest.mark.one_in(2)
@needs_chromium
@pytest.mark.parametrize("words", NETWORKS)
def test_state_is_that_of_the_compiled_engine(
    tabs: dict[str, Tab], pages: dict[str, LivePage], words: str
) -> None:
    tab, fabric = _renew(tabs[words]), pages[words].bench.fabric
    tab.do("() => multicube.advance(333)")
    found = [base64.b64decode(table) for table in tab.do(_BYTES)]
    with fewest_sliced(sys.maxsize), CompiledEngine(fabric) as engine:  # pages have no planes
        engine.set("send", 1)
        engine.set("measure", 1)
        engine.step(333)
        assert engine.get(Pin("timer", ("now",))) == tab.do("() => multicube.moment.cycle") == 333
        tables = engine.save().arrays[0]
    assert [table.tobytes() for table in tables] == found


@pytest.mark.long
@needs_chromium
@pytest.mark.parametrize(
    ("words", "setting", "traffic"),
    [
        (NETWORKS[0], {"pattern": "hotspot", "share": 0.1, "target": 3}, "hotspot:0.1:3"),
        (NETWORKS[1], {"pattern": "tornado"}, "tornado"),
        (NETWORKS[2], {"pattern": "uniform"}, "uniform"),
    ],
)
def test_measured_counters_are_those_of_sim(
    tabs: dict[str, Tab], call: Call, words: str, setting: dict[str, Any], traffic: str
) -> None:
    tab = _renew(tabs[words])
    found = tab.do(
        """async (setting) => {
            Object.assign(multicube.setting, setting, { load: 0.15, seed: 12345678901 % 2 ** 32 });
            const { laboratory } = multicube;
            const [result] = await laboratory.measure([0.15], { warmup: 200, cycles: 900 });
            return { ...result, histogram: [...result.histogram] };
        }""",
        setting,
    )
    options = f"--traffic {traffic} --load 0.15 --seed {12345678901 % 2**32} --warmup 200"
    done = call("sim", *words.split(), *options.split(), "--cycles", "900", "--json")
    result = json.loads(done.out)
    assert found["untimed"] == result["untimed"] == 0
    assert found["throughput"] == result["throughput"]
    assert found["latency"] == result["latency"]["mean"]
    counts = result["latency"]["histogram"]
    assert found["histogram"][: len(counts)] == counts
    assert sum(found["histogram"]) == found["counters"]["timed"] == sum(counts)
    assert found["counters"]["total_max"] == result["latency"]["max"]
    assert tab.text("#command").endswith(f"{options} --cycles 900")


@needs_chromium
def test_a_page_measures_loads_that_its_traffic_can_have(
    chromium: Any, tmp_path: Path, call: Call
) -> None:
    """In bursts a terminal sends at most a part of the time; at intervals, when these say."""
    hot = "hotspot:0.9:1+interval:5"
    for traffic, loads in (("uniform+bursts:4:8", [0.1, 0.33]), (hot, [0.3])):
        LivePage(build("omega ports=4"), traffic=traffic).save(tmp_path / "page.html")
        tab = Tab(chromium, tmp_path / "page.html")
        found = tab.do(
            """async (load) => {
                await multicube.change({ load });
                const { laboratory, setting } = multicube;
                await laboratory.measure([0.1, 0.6, 0.9], { warmup: 0, cycles: 90 });
                const { load: measured, throughput, latency } = laboratory.points.at(-1);
                const command = document.getElementById("command").textContent;
                const loads = laboratory.points.map((point) => point.load);
                return { loads, command, now: setting.load, measured, throughput, latency };
            }""",
            0.9 if len(loads) > 1 else 0.3,
        )
        tab.close()
        assert found["loads"] == loads
        assert found["now"] == found["measured"] == loads[-1]
        assert ("--load" in found["command"]) == (len(loads) > 1)
        _, *line = found["command"].split()
        assert traffic in line
        record = call(*line, "--json").record
        assert record["throughput"] == found["throughput"]
        assert record["latency"]["mean"] == found["latency"]


@needs_chromium
def test_the_header_of_a_worm_may_be_gone(tabs: dict[str, Tab]) -> None:
    """Entries keep those of their last packets: one that waits for longer has none."""
    found = _renew(tabs[NETWORKS[1]]).do(
        """async () => {
            await multicube.change({ load: 1 });
            await multicube.advance(60);
            const { moment, drawing } = multicube;
            return [...moment.headers.keys()].map((key) => {
                const headers = new Map(moment.headers);
                headers.delete(key);
                const without = Object.create(moment, { headers: { value: headers } });
                return new Worms(ABOUT, drawing, without).byKey.size;
            });
        }"""
    )
    assert 0 < min(found) < max(found)


@needs_chromium
def test_a_shell_reads_the_command_of_classes(chromium: Any, tmp_path: Path, call: Call) -> None:
    """Their traffic has a semicolon and spaces."""
    network = build("cube ports=4 classes=2 switch=wormhole")
    LivePage(network, traffic="uniform@3; tornado").save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    found = tab.do(
        """async () => {
            const [result] = await multicube.laboratory.measure([0.2], { warmup: 0, cycles: 90 });
            return { ...result, command: document.getElementById("command").textContent };
        }"""
    )
    tab.close()
    _, *line = shlex.split(found["command"])
    assert "uniform@3; tornado" in line
    assert call(*line, "--json").record["throughput"] == found["throughput"]


@needs_chromium
@pytest.mark.parametrize("load", [long(0.7), long(0.8), 0.95])
def test_page_and_command_agree_in_saturation(omega: Tab, call: Call, load: float) -> None:
    """Both leave out the same packets: those born in the window that did not arrive."""
    found = omega.do(
        """async (load) => {
            Object.assign(multicube.setting, { seed: 5 });
            const { laboratory } = multicube;
            const [result] = await laboratory.measure([load], { warmup: 500, cycles: 1000 });
            return { ...result, histogram: [...result.histogram] };
        }""",
        load,
    )
    words = f"--load {load} --seed 5 --warmup 500 --cycles 1000 --engine compiled"
    done = call("sim", *NETWORKS[0].split(), *words.split(), "--json")
    result = json.loads(done.out)
    counts = result["latency"]["histogram"]
    assert found["histogram"][: len(counts)] == counts
    assert found["saturated"] == bool(result["saturated"])
    assert found["untimed"] == result["untimed"]
    assert (found["untimed"] > 0) == (load > 0.8)
    assert found["latency"] == result["latency"]["mean"]
    assert found["throughput"] == result["throughput"]
    told = call("sim", *NETWORKS[0].split(), *words.split()).out
    line = f"{found['untimed']} packets born in the window did not arrive: latencies leave them out"
    assert (line in told) == (load > 0.8)


@needs_chromium
@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        "torus k=3 n=2 length=4",
        "combining ports=8",
        "dcsh k=3 n=2 length=2",
        "connection-machine n=3",
        "deflection k=3",
        "hierarchical",
        "cube ports=8 switch=unbuffered policy=drop",
        "cube ports=8 switch=circuit length=4",
    ],
)
def test_other_networks_agree_in_saturation(
    chromium: Any, tmp_path: Path, call: Call, words: str
) -> None:
    """As above, at high loads: what the page measures is what its command line gives."""
    LivePage(build(words), load=0.2, seed=5).save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    loads = [0.75, 0.9, 1]
    found = tab.do(
        """async (loads) => {
            const found = [];
            for (const load of loads) {
                const [result] = await multicube.laboratory.measure([load],
                    { warmup: 300, cycles: 600 });
                const command = document.getElementById("command").textContent;
                found.push({ ...result, command, histogram: [...result.histogram] });
            }
            return found;
        }""",
        loads,
    )
    tab.close()
    for load, measured in zip(loads, found):
        program, *line = measured["command"].split()
        assert (program, line[0]) == ("multicube", "sim")
        assert f"--load {load} " in measured["command"]
        result = call(*line, "--engine", "compiled", "--json").record
        counts = result["latency"]["histogram"]
        *bins, last = measured["histogram"]  # all longer ones are in the last bin
        padded = counts + [0] * len(bins)
        assert bins == padded[: len(bins)]
        assert last == sum(padded[len(bins) :])
        assert measured["latency"] == result["latency"]["mean"]
        assert measured["throughput"] == result["throughput"]
        assert measured["untimed"] == result["untimed"]
        assert measured["saturated"] == bool(result["saturated"])


@needs_chromium
def test_seeds_are_those_of_numpy(omega: Tab) -> None:
    cases = [(0, 0), (1, 5), (7, 1023), (2**32 - 1, 65535)]
    found = omega.do("(cases) => cases.map(([seed, key]) => seedWords(seed, key))", cases)
    for (seed, terminal), words in zip(cases, found):
        assert sum(word << 32 * n for n, word in enumerate(words)) == _random_state(seed, terminal)


@pytest.mark.long
@needs_chromium
def test_step_is_one_cycle_and_run_goes_on(omega: Tab) -> None:
    omega.page.click("#step")
    omega.do("() => multicube.stepping")
    assert omega.text("#cycle") == "1"
    omega.page.keyboard.press(".")
    omega.do("() => multicube.stepping")
    assert omega.text("#cycle") == "2"
    _set(omega, "#speed", 12)
    omega.page.click("#run")
    omega.page.wait_for_function("multicube.moment.cycle > 1000")
    omega.page.click("#run")
    omega.do("() => multicube.queue")
    cycle = omega.do("() => multicube.moment.cycle")
    omega.page.wait_for_timeout(100)
    assert omega.do("() => multicube.moment.cycle") == cycle
    omega.page.click("#reset")
    omega.page.wait_for_function("multicube.moment.cycle === 0")


@needs_chromium
def test_the_histogram_has_all_that_has_arrived(omega: Tab) -> None:
    """After a pause and after each step: it is not asked for in each frame of a run."""
    counted = """() => {
        multicube.show();
        const { statistics, moment: { counters } } = multicube;
        return [statistics.histogram.reduce((sum, count) => sum + count, 0), counters.timed];
    }"""
    _set(omega, "#speed", 12)
    omega.page.click("#run")
    omega.page.wait_for_function("multicube.moment.cycle > 1000")
    for control in ("#run", "#step", "#step"):
        omega.page.click(control)
        omega.do("async () => { await multicube.stepping; await multicube.queue; }")
        found, arrived = omega.do(counted)
        assert found == arrived > 1000
    _set(omega, "#speed", 3)


@needs_chromium
def test_no_step_is_lost(omega: Tab) -> None:
    """A press that comes while the packets still move ends that step, and makes the next one."""
    _set(omega, "#speed", 0)
    omega.do(
        """async () => {
            for (let press = 0; press < 10; press++) {
                document.getElementById("step").click();
                await new Promise((done) => setTimeout(done, 60));
            }
            await multicube.stepping;
        }"""
    )
    assert omega.text("#cycle") == "10"
    _set(omega, "#speed", 3)


@needs_chromium
def test_sliders_act_on_the_running_sources(omega: Tab) -> None:
    omega.do("() => multicube.advance(500)")
    before = _counters(omega)
    _set(omega, "#load", 0.85)
    assert omega.text("#load-text") == "0.85"
    omega.do("() => multicube.advance(2000)")
    after = _counters(omega)
    assert omega.do("() => multicube.moment.cycle") == 2500  # it was not restarted
    rate = (after["generated"] - before["generated"]) / 2000 / 8
    assert rate == pytest.approx(0.85, abs=0.02)
    _set(omega, "#load", 0)
    omega.do("() => multicube.advance(400)")
    counters = _counters(omega)
    assert counters["generated"] - counters["rejected"] == counters["delivered"]


@needs_chromium
def test_packets_that_are_sent_again_are_in_the_network(chromium: Any, tmp_path: Path) -> None:
    LivePage(build("gp1000 ports=16"), load=0.05).save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    tab.do("() => multicube.advance(400).then(() => multicube.show())")
    counters = _counters(tab)
    assert counters["meter dropped"] > counters["injected"] > counters["delivered"]
    assert tab.text("#t-inside") == str(counters["injected"] - counters["delivered"])
    tab.close()


@needs_chromium
def test_no_more_is_delivered_than_offered(chromium: Any, tmp_path: Path) -> None:
    """Both are per source, as `sim` has them, also where sinks are fewer."""
    LivePage(build("delta"), load=0.3).save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    tab.do("() => multicube.advance(100).then(() => multicube.show())")
    assert tab.text("#t-delivered") == f"{_counters(tab)['delivered'] / 100 / 16:.3f}"
    tab.close()


@needs_chromium
def test_hot_spot_slider_sends_its_share_to_the_hot_terminal(omega: Tab) -> None:
    _set(omega, "#pattern", "hotspot")
    _set(omega, "#share", 0.5)
    _set(omega, "#target", 6)
    _set(omega, "#load", 0.1)
    omega.do("() => multicube.advance(4000)")
    crossed = omega.do(
        """() => multicube.drawing.lines.filter((line) => line.target[0] === "terminal")
            .map((line) => [multicube.drawing.terminals[line.target[1]].number,
                multicube.moment.crossed[line.channels[0]]])"""
    )
    counts = dict(crossed)
    share = counts[6] / sum(counts.values())
    assert share == pytest.approx(0.5 + 0.5 / 8, abs=0.03)


@needs_chromium
def test_seed_restarts_with_other_packets(omega: Tab) -> None:
    omega.do("() => multicube.advance(100)")
    before = _counters(omega)
    _set(omega, "#seed", 8)
    omega.page.wait_for_function("multicube.moment.cycle === 0")
    omega.do("() => multicube.advance(100)")
    other = _counters(omega)
    assert other != before
    _set(omega, "#seed", 7)
    omega.page.wait_for_function("multicube.moment.cycle === 0")
    omega.do("() => multicube.advance(100)")
    assert _counters(omega) == before


@pytest.mark.long
@needs_chromium
def test_a_followed_packet_takes_the_path_of_its_tag(omega: Tab) -> None:
    network = build(NETWORKS[0])
    for _ in range(4):
        omega.do(
            """async () => {
                do { await multicube.advance(2); }
                while (!multicube.moment.flits.some(({ line }) => line.source[0] === "terminal"));
                await multicube.followAny();
            }"""
        )
        source, destination = map(int, omega.text("#follow-title")[len("Packet ") :].split(" → "))
        digits = omega.page.locator("#inspector .tag span").all_text_contents()
        assert digits == list(f"{destination:03b}")
        for _ in range(40):
            if omega.do("() => multicube.followed.done !== undefined"):
                break
            omega.do("() => multicube.advance(1)")
        ways = omega.do(
            """() => multicube.followed.way.map(({ line }) =>
                ABOUT.bench.channels.name[multicube.drawing.lines[line].channels[0]])"""
        )
        path = [str(pin) for pin in network.path(source, destination)]
        assert ways == [f"source_{source}.o", *path]
        omega.do("() => multicube.show()")
        assert "a latency of" in omega.text("#follow-age")


@needs_chromium
def test_a_broken_link_passes_nothing_until_it_is_mended(omega: Tab) -> None:
    _set(omega, "#load", 0.5)
    omega.do("() => multicube.advance(100)")
    index = omega.do(
        """() => { const index = multicube.drawing.lines.findIndex((line) =>
            line.link === "stage 1, box 2 -> stage 2, box 0");
            multicube.select({ what: "line", index }); return index; }"""
    )
    crossed = "(index) => multicube.moment.crossed[multicube.drawing.lines[index].channels[0]]"
    before = omega.do(crossed, index)
    assert before > 0
    omega.page.click("#break")
    omega.page.wait_for_selector("#broken:not([hidden])")
    counted = "() => multicube.statistics.histogram.reduce((sum, count) => sum + count, 0)"
    assert omega.do(counted) == 0  # since the last change
    omega.do("() => multicube.advance(300)")
    assert omega.do(crossed, index) == before
    omega.do("() => multicube.refresh()")
    assert omega.do(counted) > 0
    full = omega.do("() => multicube.statistics.waiting")
    assert full > 50  # what stands behind it waits in front of the network
    omega.page.click("#mend")
    omega.page.wait_for_selector("#broken", state="hidden")
    assert omega.do(counted) == 0
    omega.do("() => multicube.advance(300)")
    assert omega.do(crossed, index) > before
    assert _counters(omega)["misrouted"] == 0
    omega.do("() => multicube.laboratory.measure([0.1], { warmup: 20, cycles: 50 })")
    assert not omega.do("() => document.getElementById('command').hidden")
    omega.do("(index) => multicube.breakLine(index)", index)
    omega.do(
        """async () => {  // It is mended while the run, in which it is broken, goes on.
            const run = multicube.laboratory.measure([0.1], { warmup: 20, cycles: 50 });
            await multicube.mend();
            await run; }"""
    )
    assert omega.do("() => document.getElementById('command').hidden")
    assert "no command line has these numbers" in omega.text("#command-says")
    _set(omega, "#pattern", "tornado")  # the curve stays, and says what it is of
    omega.do("() => multicube.laboratory.showCurve()")
    assert "measured: uniform, links broken" in omega.text("#curve-text")


@needs_chromium
def test_sources_that_become_full_behind_the_window_are_saturated(omega: Tab) -> None:
    """The page and `sim` say the same of a link that is broken."""
    found = omega.do(
        """async () => {
            const { drawing, laboratory } = multicube, { name } = ABOUT.bench.channels;
            await multicube.breakLine(
                drawing.lines.findIndex(({ channels: [first] }) => name[first] === "source_7.o"));
            const [result] = await laboratory.measure([0.5], { warmup: 50, cycles: 300 });
            return [result.saturated, result.counters.rejected, result.latency]; }"""
    )
    options: dict[str, Any] = {"load": 0.5, "seed": 7, "warmup": 50, "cycles": 300}
    result = simulate(build(NETWORKS[0]), **options, faults=["link:source_7.o"], bins=2048)
    assert result.rejected > 0
    assert found == [result.saturated, result.rejected, result.latency.mean]


@pytest.mark.long
@needs_chromium
def test_a_broken_box_passes_nothing(omega: Tab) -> None:
    _set(omega, "#load", 0.5)
    omega.page.focus("#canvas")
    omega.page.keyboard.press("ArrowRight")
    omega.page.wait_for_selector("#inspector h2")
    name = omega.text("#inspector h2")
    omega.page.keyboard.press("b")
    omega.page.wait_for_selector("#broken:not([hidden])")
    assert omega.text("#broken-text") == "4 broken links"
    omega.do("() => multicube.advance(200)")
    total = omega.do(
        """(name) => {
            const { drawing, moment } = multicube;
            const node = drawing.nodes.find((each) => each.name === name);
            return drawing.linesOf(node).reduce((sum, line) =>
                sum + line.channels.reduce((all, channel) => all + moment.crossed[channel], 0), 0);
        }""",
        name,
    )
    assert total == 0


@needs_chromium
def test_a_selected_box_shows_the_queues_of_its_hardware(
    omega: Tab, pages: dict[str, LivePage]
) -> None:
    omega.do("() => multicube.advance(0)")
    _set(omega, "#load", 0.9)
    omega.do("() => multicube.advance(60)")
    page = LivePage(build(NETWORKS[0]), load=0.9, seed=7)
    with CompiledEngine(page.bench.fabric) as engine:
        engine.set("send", 1)
        engine.set("measure", 1)
        engine.step(60)
        for cell in ("box_0_1", "box_1_0", "box_2_3"):
            look = omega.do("(cell) => multicube.ask('look', cell)", cell)
            for number, queue in enumerate(look["queues"]):
                assert queue["level"] == engine.signal(cell, f"queue_{number}.level")
                assert len(queue["items"]) == queue["level"]
                if queue["level"]:
                    head = sum(word << 32 * n for n, word in enumerate(queue["items"][0]))
                    assert head == engine.get(Pin(cell, ("o", number, "payload")))
    shown = omega.do(
        """async () => {
            const index = multicube.drawing.nodes.findIndex((node) => node.cells[0] === "box_1_0");
            multicube.select({ what: "node", index });
            await multicube.refresh();
            multicube.inspector.show();
            const look = await multicube.ask("look", "box_1_0");
            return [look.queues.map((queue) => `${queue.level} of 4`),
                [...document.querySelectorAll("[data-level]")].map((each) => each.textContent)];
        }"""
    )
    assert shown[0] == shown[1]


@needs_chromium
def test_packets_move_up_in_the_queues_of_a_page(tabs: dict[str, Tab]) -> None:
    """Of four rows each: in a cycle the first may leave, and another one come behind the last."""
    tab = _renew(tabs[NETWORKS[1]])
    _set(tab, "#load", 1)
    seen = tab.do(
        """async () => {
            const seen = [];
            for (let cycle = 0; cycle < 60; cycle++) {
                await multicube.advance(1);
                const look = await multicube.ask("look", "router_1");
                seen.push(look.queues.map((queue) => queue.items));
            }
            return seen;
        }"""
    )
    fullest = 0
    for queue in zip(*seen):
        fullest = max(fullest, *map(len, queue))
        for before, after in pairwise(queue):
            kept = [rest for rest in (before, before[1:]) if after[: len(rest)] == rest]
            assert kept
            assert len(after) <= len(kept[0]) + 1
    assert fullest == 4


@needs_chromium
def test_terminals_have_their_labels_however_large_they_are_drawn(omega: Tab) -> None:
    shown = omega.do(
        """() => [1, 2, 4].map((size) => {
            const { drawing } = multicube, found = [], context = drawing.back.getContext("2d");
            drawing.fit();
            if (size > 1) drawing.zoom(size, 0, 0);
            context.fillText = (text) => found.push(text);
            drawing.paintBack();
            delete context.fillText;
            drawing.fit();
            return drawing.terminals.every(({ label }) => found.includes(label));
        })"""
    )
    assert shown == [True, True, True]


@needs_chromium
def test_the_status_tells_what_is_counted(omega: Tab) -> None:
    omega.do("() => multicube.advance(300)")
    omega.do("() => multicube.step()")
    said = omega.text("#status")
    assert said.startswith("Cycle 301: 0.")
    assert "mean latency" in said


def test_title_is_a_text() -> None:
    """Also that of a graph whose file has another name."""
    title = {"title": "graph file=\udcff.dot"}
    parts = dict.fromkeys(("style", "about", "program", "contents", "worker", "script"), "")
    assert "<title>graph file=?.dot" in filled("page.html", title | parts)


@pytest.mark.long
@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system(chromium: Any, tmp_path: Path, scheme: str, pages: Any) -> None:
    pages[NETWORKS[0]].save(tmp_path / "page.html")
    tab = Tab(
        chromium,
        tmp_path / "page.html",
        color_scheme=scheme,
        viewport={"width": 390, "height": 844},
        has_touch=True,
    )
    assert tab.do("() => document.documentElement.dataset.theme") == scheme
    assert tab.do("() => document.documentElement.scrollWidth <= innerWidth")
    tab.close()


@needs_chromium
@pytest.mark.long
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_a_page(chromium: Any, tmp_path: Path, name: str) -> None:
    network = build(name, **FAMILIES[name].example)
    LivePage(network, load=0.2).save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    tab.do("async () => { for (let n = 0; n < 80; n++) await multicube.advance(1); }")
    tab.do("() => multicube.followAny()")
    tab.do("() => multicube.advance(1)")
    tab.do("() => { multicube.select({ what: 'node', index: 0 }); multicube.show(); }")
    tab.do("() => multicube.queue")
    assert _counters(tab)["delivered"] > 0
    tab.close()


def test_traffic_that_does_not_suit_is_refused_at_once() -> None:
    with pytest.raises(InvalidValue, match="needs a network with broadcast=1"):
        LivePage(build("omega ports=8"), traffic="broadcast:0.2")
    with pytest.raises(InvalidValue, match="Lesson omega-routing has traffic of its own, not uni"):
        LivePage(build("omega ports=8"), "uniform+bursts:4:8", lesson="omega-routing")


test_view_refuses = command_refusals(
    "",
    (["view"], "A network or --lesson must be given"),
    (["view", "--lesson", "none", "-o", "page.html"], "Lesson must be one of omega-routing,"),
    (["view", "cube", "ports=8", "--lesson", "combining", "-o", "p.html"], "is not for cube"),
    (
        ["view", "--lesson", "partition", "--load", "0.1", "-o", "p.html"],
        "A lesson takes no --load: it has its own",
    ),
    (["view", "cube", "--traffic", "one-each", "-o", "p.html"], "must go on for ever"),
    (["view", "cube", "--seed", "4294967296", "-o", "p.html"], "from 0 to 4294967295"),
    part=True,
)


def test_a_closed_gate_is_a_dead_link(pages: dict[str, LivePage]) -> None:
    """The page's own component for dead links does what that for faults does."""
    page = pages[NETWORKS[1]]
    bench = bench_for(page.network, page.run.sources(page.network), bins=16)
    output = Pin("router_2", ("o", 1))
    fabric, gates = gated(bench, [output, Pin("router_0", ("o", 0))])
    gate = fabric.cells[gates[output]]
    fabric.cells[gate.name] = replace(gate, straps={"dead": 1})
    found = []
    for each in (fabric, cut(bench, [output]), bench):
        with CompiledEngine(each) as engine:
            engine.set("send", 1)
            engine.step(400)
            found.append([engine.read(bench.sinks, name) for name in ("delivered", "latency_sum")])
    assert found[0] == found[1] != found[2]


@pytest.mark.long
@needs_chromium
def test_the_page_runs_in_the_frame_of_a_notebook(
    chromium: Any, pages: dict[str, LivePage], tmp_path: Path
) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html><body>{pages[NETWORKS[0]]._repr_html_()}</body>")
    outer = chromium.new_page()
    outer.goto(path.as_uri())
    inner = outer.frames[1]
    inner.wait_for_function("document.documentElement.dataset.ready === 'true'")
    inner.evaluate("() => multicube.advance(50)")
    assert inner.text_content("#title") == "omega"
    assert inner.evaluate("() => multicube.moment.counters.delivered") > 0
    outer.close()


def test_notebooks_show_the_page(pages: dict[str, LivePage]) -> None:
    shown = pages[NETWORKS[0]]._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert shown.count("<") == 2  # the frame's own tags: the page in it is escaped


NAMED = ["<!--<script>", "</script><b>&amp;", "<!--worker-->"]


def named_page() -> LivePage:
    links = [Link(0, 0, 1, 0), Link(1, 0, 0, 0), Link(1, 1, 2, 0), Link(2, 0, 1, 1)]
    return LivePage(GraphNetwork(graph=ListedGraph(3, links, names=NAMED)))


class Scripts(HTMLParser):
    """The elements `script` of a page, and their text."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str | None, str] = {}
        self.current: str | None = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.current = dict(attrs).get("id")

    def handle_data(self, text: str) -> None:
        if self.current != "":
            self.texts[self.current] = self.texts.get(self.current, "") + text

    def handle_endtag(self, tag: str) -> None:
        self.current = ""


@pytest.mark.long
def test_names_of_nodes_may_be_tags() -> None:
    """A "<" in JSON in a page is written as an escape: "<!--<script>" would hide the end tag."""
    scripts = Scripts()
    scripts.feed(named_page().html)
    assert set(scripts.texts) == {"about", "program", "contents", "worker", None}
    assert "<" not in scripts.texts["about"]
    told = json.dumps(json.loads(scripts.texts["about"]), ensure_ascii=False)
    assert all(json.dumps(name)[1:-1] in told for name in NAMED)


@pytest.mark.long
@needs_chromium
def test_a_page_with_tags_as_names_runs(chromium: Any, tmp_path: Path) -> None:
    named_page().save(tmp_path / "named.html")
    tab = Tab(chromium, tmp_path / "named.html")
    tab.do("() => multicube.advance(50)")
    assert tab.do("() => multicube.moment.counters.delivered") > 0
    tab.close()


@pytest.mark.long
@needs_chromium
def test_a_phone_shows_tag_drawing_and_heading(
    chromium: Any, tmp_path: Path, pages: dict[str, LivePage]
) -> None:
    pages[NETWORKS[0]].save(tmp_path / "page.html")
    view = {"width": 390, "height": 844}
    tab = Tab(chromium, tmp_path / "page.html", viewport=view, has_touch=True)
    tab.do("async () => { await multicube.advance(30); await multicube.followAny(); }")
    boxes = [
        tab.page.locator(each).bounding_box() for each in ("#title", "#lesson", "#strip", "#canvas")
    ]
    title, lesson, strip, canvas = boxes
    assert title["y"] + title["height"] <= lesson["y"]
    assert strip["y"] + strip["height"] <= view["height"]
    assert canvas["height"] > 250
    left = tab.do(
        """() => { const { drawing } = multicube, paint = drawing.context;
            for (const each of drawing.terminals) each.label = "15  1111";
            drawing.fit();
            paint.font = `${drawing.letter ?? 12}px monospace`;
            return drawing.terminals.map((each) => { const [x] = drawing.at([each.x, each.y]);
                const room = each.side === "left" ? x : drawing.wide - x;
                return room - 6 - paint.measureText(each.label).width; }); }"""
    )
    assert 0 <= min(left) < 20
    assert (
        tab.page.locator("#strip .tag span").all_text_contents()
        == tab.page.locator("#inspector .tag span").all_text_contents()
    )
    tab.do("() => multicube.laboratory.measure([0.1, 0.2], { warmup: 50, cycles: 100 })")
    tab.do("() => { document.getElementById('measured').open = true; }")
    assert "--load 0.2" in tab.text("#command")
    rows = tab.do(
        """() => [...document.querySelectorAll("#command .word")]
            .map((word) => word.getClientRects().length)"""
    )
    assert set(rows) == {1}  # no word is broken
    assert tab.do(
        """() => { const box = document.querySelector(".scroll");
            return box.scrollHeight <= box.clientHeight; }"""
    )
    tab.close()


@pytest.mark.long
@needs_chromium
def test_an_embedded_page_leaves_the_wheel_and_the_theme_to_the_page_around_it(
    chromium: Any, pages: dict[str, LivePage], tmp_path: Path
) -> None:
    path = tmp_path / "around.html"
    frame = pages[NETWORKS[0]]._repr_html_()
    path.write_text(
        "<!DOCTYPE html><body style='background: #111; height: 4000px'>"
        f"<div style='height: 100px'></div>{frame}</body>"
    )
    outer = chromium.new_page(viewport={"width": 1200, "height": 900})
    outer.goto(path.as_uri())
    inner = outer.frames[1]
    inner.wait_for_function("document.documentElement.dataset.ready === 'true'")
    assert inner.evaluate("() => document.documentElement.dataset.theme") == "dark"
    outer.evaluate("() => { document.body.style.background = '#fff'; }")
    inner.wait_for_function("document.documentElement.dataset.theme === 'light'")
    scale = "() => multicube.drawing.view.sx"
    whole = inner.evaluate(scale)
    box = inner.locator("#canvas").bounding_box()
    outer.mouse.move(box["x"] + 200, box["y"] + 200)
    outer.mouse.wheel(0, 120)
    outer.wait_for_function("scrollY > 0")
    assert inner.evaluate(scale) == whole
    outer.evaluate("() => scrollTo(0, 0)")
    outer.wait_for_function("scrollY === 0")
    outer.mouse.click(box["x"] + 5, box["y"] + 5)
    outer.mouse.wheel(0, -120)
    inner.wait_for_function("(whole) => multicube.drawing.view.sx > whole", arg=whole)
    for _ in range(4):
        outer.mouse.wheel(0, 120)
    inner.wait_for_function("(whole) => multicube.drawing.view.sx === whole", arg=whole)
    assert outer.evaluate("() => scrollY") == 0
    assert (
        inner.evaluate("() => getComputedStyle(document.querySelector('#canvas')).touchAction")
        == "pan-y"
    )
    outer.close()


@pytest.mark.long
@needs_chromium
def test_the_address_asks_for_the_drawing_alone_and_for_running(
    chromium: Any, pages: dict[str, LivePage], tmp_path: Path
) -> None:
    """As on the first page of the documentation; who wants no motion gets none."""
    pages[NETWORKS[0]].save(tmp_path / "page.html")
    address = (tmp_path / "page.html").as_uri()
    for motion in ("no-preference", "reduce"):
        page = chromium.new_page(reduced_motion=motion)
        page.goto(f"{address}#run&plain")
        page.wait_for_function("document.documentElement.dataset.ready === 'true'")
        shown = [page.is_visible(each) for each in ("header", "aside", "#canvas", "#run")]
        assert shown == [False, False, True, True]
        assert page.evaluate("() => multicube.running") == (motion == "no-preference")
        if motion == "no-preference":
            page.wait_for_function("multicube.moment.cycle > 2")
        page.close()


@pytest.mark.long
@needs_chromium
def test_values_of_fetch_and_add_are_those_of_the_hardware(chromium: Any, tmp_path: Path) -> None:
    """Requests in queues, what wait buffers keep, words of memory, and what processors get back."""
    page = LivePage(lesson_network("fetch-and-add"), traffic="hotspot:0.5:0", load=0.4, seed=3)
    page.save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    box = page.network.diagram.nodes[5].cells[0]
    shown = tab.do(
        """async () => {
            Object.assign(multicube.setting, { pattern: "hotspot", share: 0.5, target: 0 });
            await multicube.restart();
            const texts = (inside, what) => [...inside.querySelectorAll(what)]
                .map((each) => each.textContent);
            const slots = () => [...document.querySelectorAll("#inspector .slots")]
                .map((each) => texts(each, "button"));
            const found = [];
            for (let cycle = 0; cycle < 30; cycle++) {
                await multicube.advance(1);
                multicube.select({ what: "node", index: 5 });
                await multicube.refresh();
                multicube.show();
                const queues = slots();
                const memory = multicube.drawing.nodes.findIndex(({ name }) => name === "memory 0");
                multicube.select({ what: "node", index: memory });
                await multicube.refresh();
                multicube.show();
                found.push({ queues, word: document.getElementById("words-of-memory").textContent,
                    hot: multicube.moment.flits.filter((flit) => multicube.colourOf(flit) ===
                        multicube.drawing.colours.hot).map(({ channel }) => channel),
                    replies: texts(document, "#reply-list li") });
            }
            return found;
        }"""
    )
    tab.close()
    nodes = page.network.diagram.nodes
    [memory] = [node.cells[0] for node in nodes if node.name == "memory 0"]
    ends = {number: line for line, numbers in page.bench.lines for number in numbers}
    replies: list[str] = []
    kept = sums = hot = 0
    with CompiledEngine(page.bench.fabric) as engine:
        engine.set("send", 1)
        engine.set("measure", 1)
        for cycle, now in enumerate(shown):
            replies = [*reversed(_replies(page, engine, cycle)), *replies][:24]
            engine.step(1)
            assert now["replies"] == replies
            assert int(now["word"].split()[0]) == engine.memory(memory, "words")[0]
            texts = []
            for output in range(2):
                texts.append([])
                for slot in range(engine.signal(box, f"requests_{output}.level")):
                    work = engine.signal(box, f"requests_{output}.work_{slot}")
                    address = engine.signal(box, f"requests_{output}.address_{slot}")
                    merged = work >> 12
                    texts[-1].append(f"F&A({address}, {work >> 4 & 255})" + " sum" * merged)
                    sums += merged
            for pair in ("0_0", "1_0", "0_1", "1_1"):
                used = engine.signal(box, f"wait_{pair}.used")
                rows = enumerate(engine.memory(box, f"wait_{pair}.records"))
                texts.append([f"F&A {row >> 4 & 255} kept" for n, row in rows if used >> n & 1])
                kept += len(texts[-1])
            assert now["queues"][:6] == texts
            for number in now["hot"]:
                assert _field(page, engine, number, "address") == 0
                end = ends[number].target
                name = nodes[end.index].name if end.what == "node" else ""
                assert not name.startswith("memory") or name == "memory 0"
                hot += name == "memory 0"
    assert 0 not in (sums, kept, hot)


def _field(page: LivePage, engine: CompiledEngine, number: int, name: str) -> int:
    """A field of what a link of the page carries."""
    output = page.bench.channels[number]
    layout = page.bench.layouts[page.bench.layout_of[number]]
    at, width = next((at, width) for each, at, width in layout if each == name)
    payload = engine.get(Pin(output.cell, (*output.path, "payload")))
    return payload >> at & ((1 << width) - 1)


def _replies(page: LivePage, engine: CompiledEngine, cycle: int) -> list[str]:
    """What processors get in this cycle."""
    found = []
    for line, numbers in page.bench.lines:
        for number in numbers if line.target.what == "terminal" else ():
            handshake = page.bench.handshake(page.bench.channels[number])
            if all(map(engine.get, handshake)):
                processor = page.network.diagram.terminals[line.target.index].number
                value = _field(page, engine, number, "value")
                found.append((number, f"cycle {cycle}: processor {processor} got {value}"))
    return [text for _, text in sorted(found)]
