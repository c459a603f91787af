"""What a paused page shows is one moment: the engine's state after as many clock edges."""

from collections.abc import Sequence
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any

import pytest
from browser import Tab, needs_chromium
from long_runs import long
from multicube.hdl import build
from multicube.hdl.fabric.diagram import End, Line
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.routing.deadlock import dependencies
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.live import LivePage, lesson_network

STEPS = 50

NETWORKS = [
    "omega ports=8",
    long("ring k=4 length=1:3"),
    long("combining ports=4"),
    long("torus k=4 n=2 channels=1 allow_deadlock=1 length=4 depth=2"),
    long("mesh k=3 n=2"),
    long("cube ports=8 switch=wormhole length=3"),
    long("cube ports=8 extra_stage=1"),
    long("connection-machine n=3"),
    long("benes ports=8"),
    long("crossbar ports=4"),
    long("dcsh k=3 n=2 length=2"),
    long("deflection k=3"),
    long("hierarchical"),
    long("connection-machine n=4"),
    long("combining ports=8"),
    long("processor-memory ports=4"),
    long("cube ports=8 switch=circuit length=3"),
    long("benes ports=8 spread=fixed"),
    long("psnn n=3"),
]

_RECORD = """async (steps) => {
    const drawing = multicube.drawing, records = [];
    let squares = 0, ring = null;
    const fill = drawing.context.fillRect, paint = drawing.paintQueues, circle = drawing.ring;
    drawing.paintQueues = function (levels) {
        squares = 0;
        this.context.fillRect = () => { squares++; };
        paint.call(this, levels);
        this.context.fillRect = fill;
    };
    drawing.ring = function (place, radius) { ring = place; circle.call(this, place, radius); };
    const near = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by) < 0.01;
    const home = (at) => {
        switch (at.what) {
            case "link": return drawing.lines[drawing.lineOf[at.channel]].points[0];
            case "slot": return drawing.slotAt(at.queue, at.slot);
            default: {
                const { x, y } = drawing[at.what === "node" ? "nodes" : "terminals"][at.index];
                return [x, y];
            }
        }
    };
    for (let n = 0; n < steps; n++) {
        await multicube.advance(1);
        const { followed } = multicube;
        if (!followed || followed.done !== undefined && followed.done < multicube.moment.cycle - 2)
            await multicube.followAny();
        multicube.show();
        ring = null;
        drawing.stale = true;
        const { moment, followed: now } = multicube;
        drawing.paint(moment, 1, (flit) => multicube.colourOf(flit), now, false);
        const marked = [...document.querySelectorAll("#inspector .tag span")]
            .findIndex((each) => each.className === "next");
        records.push({
            cycle: Number(document.getElementById("cycle").textContent),
            inside: Number(document.getElementById("t-inside").textContent),
            delivered: moment.counters.delivered,
            dots: drawing.dots.map(({ flit }) => flit.channel),
            starts: drawing.dots.every(({ flit: { line }, place }) =>
                near(place, drawing.at(line.points[0]))),
            squares, levels: [...moment.levels], use: [...moment.use], wait: [...moment.wait],
            followed: now && {
                key: now.key, at: now.at, done: now.done ?? null, hop: now.hop, marked,
                way: now.way.map(({ channel, since, crossed }) => [channel, since, crossed]),
                shown: document.querySelectorAll("#way li").length,
                ring: ring !== null && near(ring, drawing.at(home(now.at))),
                node: now.at?.what === "slot" ? drawing.nodeOfQueue[now.at.queue] : now.at?.index,
                port: now.at?.what === "slot" ? drawing.queues[now.at.queue][2].port : null,
            },
        });
    }
    return records;
}"""

_QUEUES = """() => multicube.drawing.queues.map(([, , { name, kind }, cell], number) =>
    [cell, name, kind, multicube.drawing.nodes.some(({ slots }) =>
        slots?.some(({ queue }) => queue.number === number))])"""


class Cycle:
    """What the links of a page do in a cycle of the engine."""

    def __init__(self, engine: CompiledEngine, page: LivePage) -> None:
        bench = page.bench
        self.valid: list[int] = []
        self.crosses: list[int] = []
        self.packets: dict[int, dict[str, int]] = {}
        for number, output in enumerate(bench.channels):
            valid, ready = (engine.get(pin) for pin in bench.handshake(output))
            if valid:
                self.valid.append(number)
                payload = engine.get(Pin(output.cell, (*output.path, "payload")))
                layout = bench.layouts[bench.layout_of[number]]
                fields = {name: payload >> at & (1 << width) - 1 for name, at, width in layout}
                # A packet inside a larger record has its plain names too.
                plain = {name.partition(".")[2]: value for name, value in fields.items()}
                self.packets[number] = plain | fields
            if valid and ready:
                self.crosses.append(number)

    def key(self, channel: int) -> object:
        """As the page names packets."""
        packet = self.packets[channel]
        if "payload.birth" in packet:
            return (packet["payload.source"] << 32) + packet["payload.birth"]
        if "payload.sender" in packet:
            return f"message {packet['payload.identity']} of {packet['payload.sender']}"
        if "address" in packet:
            return f"request {packet['identity']} for {packet['address']}"
        return f"reply {packet['identity']}"

    def goes(self, page: LivePage, channel: int) -> str:
        """The digits of a request's tag from the one that the last box has read, whose output it
        is; those after them have become its way back."""
        packet = self.packets[channel]
        if "address" not in packet:
            return ""
        digits = len(page.bench.tags()["widths"])  # of one bit
        passed = page.bench.hops[channel]
        read = str(page.bench.channels[channel].path[1]) if passed else ""
        return read + f"{packet['tag']:0{digits}b}"[: digits - passed]


@needs_chromium
@pytest.mark.parametrize("words", NETWORKS)
def test_a_paused_frame_is_the_state_after_so_many_edges(
    chromium: Any, tmp_path: Path, words: str
) -> None:
    page = LivePage(build(words), load=0.3, seed=7)
    page.save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    records = tab.do(_RECORD, STEPS)
    queues = tab.do(_QUEUES)
    tab.close()
    cycles: list[Cycle] = []
    with CompiledEngine(page.bench.fabric) as engine:
        engine.set("send", 1)
        engine.set("measure", 1)
        for record in records:
            cycles.append(Cycle(engine, page))
            engine.step(1)
            now = Cycle(engine, page)
            assert record["cycle"] == len(cycles)
            assert record["dots"] == now.valid
            assert record["starts"]
            entered, left = _passed(page, cycles)
            assert record["delivered"] == left
            assert record["inside"] == entered - left
            levels = [
                level
                if kind == "WaitBuffer"
                else engine.signal(cell, f"{name}.level" if name else "level")
                for (cell, name, kind, _), level in zip(queues, record["levels"])
            ]
            assert record["levels"] == levels
            slots = [slotted for _, _, _, slotted in queues]
            if all(slotted or cell in page.bench.fabric.sources for cell, _, _, slotted in queues):
                assert record["squares"] == sum(map(int.__mul__, levels, slots))
            if record["followed"]:
                _check_followed(page, record["followed"], cycles, now)
    _check_colours(page, records, cycles)


def _passed(page: LivePage, cycles: Sequence[Cycle]) -> tuple[int, int]:
    """How many packets have entered the network, and how many have left it."""
    entries = {
        n for line, numbers in page.bench.lines if line.source.what == "terminal" for n in numbers
    }
    exits = {
        n for line, numbers in page.bench.lines if line.target.what == "terminal" for n in numbers
    }
    entered = left = 0
    begun: dict[int, bool] = {}
    for cycle in cycles:
        for channel in cycle.crosses:
            last = cycle.packets[channel].get("last", 1)
            if channel in entries:
                entered += not begun.get(channel, False)
                begun[channel] = not last
            left += channel in exits and last
    return entered, left


def _check_followed(
    page: LivePage, followed: dict[str, Any], cycles: Sequence[Cycle], now: Cycle
) -> None:
    """Where the followed packet has been and is, from the handshakes of the engine alone."""
    ends = {n: line for line, numbers in page.bench.lines for n in numbers}
    assert followed["ring"]
    key, at = followed["key"], followed["at"]
    if not followed["way"]:
        assert at["what"] == "slot"
        return
    first, begun, _ = followed["way"][0]
    way: dict[int, int] = {}
    done, to = None, ""
    for number, cycle in enumerate(cycles[begun:], begun):
        named = [channel for channel in cycle.crosses if cycle.key(channel) == key]
        if first in named and not way:
            to = cycle.goes(page, first)
        named = [channel for channel in named if to.endswith(cycle.goes(page, channel))]
        while following := [
            channel
            for channel in named
            if channel == first or ends[channel].source in [ends[each].target for each in way]
        ]:
            channel = following[0]
            named.remove(channel)
            way.setdefault(channel, number)
            if _is_end(page, ends[channel]) and cycle.packets[channel].get("last", 1):
                done = number
        if done is not None:
            break
    crossed = [[each, number] for each, _, number in followed["way"] if number is not None]
    assert crossed == [list(step) for step in way.items()]
    assert followed["shown"] == len(followed["way"])
    assert followed["done"] == done
    end = ends[[*way][-1]].target if way else None
    here = [
        n for n in now.valid if now.key(n) == key and (not way or to.endswith(now.goes(page, n)))
    ]
    ahead = [n for n in here if end and ends[n].source == end]
    if done is not None:
        assert End(**at) == end
    elif ahead or not way:
        assert at["what"] == "link"
        assert at["channel"] in (ahead or here)
    elif end and end.what == "node":
        assert at["what"] in ("slot", "node")
        assert end == End("node", followed["node"])
    elif at["what"] == "link":  # the header has been delivered, and the others follow
        assert at["channel"] in here
    tags = page.bench.tags()
    if not tags or not tags["rotates"] or done is not None or ends[first].source.what == "node":
        return
    path = [*way, *ahead]
    if page.network.parameters.get("switch") == "circuit":  # all of a path in one cycle
        assert at["what"] == "link"
        passed_boxes = page.bench.hops[at["channel"]]
    elif at["what"] == "link":
        passed_boxes = path.index(at["channel"]) if way else 0
    else:
        passed_boxes = len(way) - (not (followed["port"] or "").startswith("o"))
    stages = len(tags["widths"])
    assert followed["hop"] == passed_boxes
    assert followed["marked"] == (passed_boxes if passed_boxes < stages else -1)


def _is_end(page: LivePage, line: Line) -> bool:
    """Whether packets are others behind it: a message becomes a request there, or a reply."""
    ends = ("memory_module", "memory_end", "processor_end")
    nodes = page.network.diagram.nodes
    return line.target.what == "terminal" or nodes[line.target.index].kind in ends


def _check_colours(
    page: LivePage, records: Sequence[dict[str, Any]], cycles: Sequence[Cycle]
) -> None:
    """In each cycle a line keeps a share of its use, and gets the rest from what crossed."""
    keep = exp(-1 / 24)
    for index, (_, numbers) in enumerate(page.bench.lines):
        use = wait = 0.0
        for record, cycle in zip(records, cycles):
            crossed = sum(n in cycle.crosses for n in numbers)
            refused = sum(n in cycle.valid and n not in cycle.crosses for n in numbers)
            use = use * keep + (1 - keep) * min(1, crossed)
            wait = wait * keep + (1 - keep) * min(1, refused / max(1, len(numbers)))
            assert record["use"][index] == pytest.approx(use, abs=1e-5)
            assert record["wait"][index] == pytest.approx(wait, abs=1e-5)


@needs_chromium
def test_worms_hold_what_their_tails_have_not_left(chromium: Any, tmp_path: Path) -> None:
    """A worm holds each channel that its header has crossed, or is offered on, until its tail
    crosses it."""
    page = LivePage(lesson_network("torus-deadlock"), load=0.1, seed=1)
    page.save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    shown = tab.do(
        """async () => {
            const found = [];
            for (let n = 0; n < 70; n++) {
                await multicube.advance(1);
                const worms = [...multicube.worms.byKey.values()];
                found.push(worms.map(({ key, holds }) => [key, holds]));
            }
            return found;
        }"""
    )
    tab.close()
    held: dict[object, set[int]] = {}
    whole = 0
    with CompiledEngine(page.bench.fabric) as engine:
        engine.set("send", 1)
        engine.set("measure", 1)
        for worms in shown:
            cycle = Cycle(engine, page)
            for channel in cycle.crosses:
                own = held.setdefault(cycle.key(channel), set())
                if cycle.packets[channel]["last"]:
                    own.remove(channel)
                    whole += 1
                else:
                    own.add(channel)
            engine.step(1)
            now = Cycle(engine, page)
            for key, holds in worms:
                claimed = {n for n in now.valid if now.key(n) == key} - held[key]
                assert held[key] <= {*holds} <= held[key] | claimed
    assert whole > 100


@pytest.mark.long
@needs_chromium
def test_a_deadlock_is_marked_worm_by_worm(chromium: Any, tmp_path: Path) -> None:
    """The page's cycle of worms is one of channels that the routing allows, and stands still."""
    network = lesson_network("torus-deadlock")
    page = LivePage(network, load=0.2, seed=1)
    page.save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    found = tab.do(
        """async () => {
            await multicube.advance(900);
            multicube.show();
            const told = { title: document.querySelector("#deadlock h2").textContent };
            told.cycle = multicube.worms.cycle.map(({ source, to, holds, waits, flits, sent }) =>
                ({ source, to, holds, waits, sent, lie: flits.map(({ channel }) => channel) }));
            await multicube.followWorm(multicube.worms.cycle[0]);
            told.followed = document.getElementById("inspector").textContent;
            return told;
        }"""
    )
    tab.close()
    cycle = found["cycle"]
    assert found["title"] == f"Deadlock: {len(cycle)} worms wait for each other"
    assert f"Packet {cycle[0]['source']} → {cycle[0]['to']}" in found["followed"]
    assert f"Waits for packet {cycle[1]['source']} → {cycle[1]['to']}" in found["followed"]
    channels = page.bench.channels
    waits = dependencies(map(network.moves, range(network.sinks)))
    for worm, other in pairwise([*cycle, cycle[0]]):
        wanted = channels[worm["waits"]["channel"]]
        path = [Pin(f"source_{worm['source']}", ("o",)), *network.path(worm["source"], worm["to"])]
        end = path.index(wanted)
        assert [channels[n] for n in worm["holds"]] == path[end - len(worm["holds"]) : end]
        assert wanted in waits[channels[worm["holds"][-1]]]
        assert worm["waits"]["channel"] in other["holds"]
    with CompiledEngine(page.bench.fabric) as engine:
        engine.set("send", 1)
        engine.set("measure", 1)
        engine.step(900)
        for _ in range(50):
            now = Cycle(engine, page)
            assert not set(now.crosses) & {n for worm in cycle for n in worm["holds"]}
            engine.step(1)


@needs_chromium
@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        "torus k=4 n=2 length=6",
        "mesh k=4 n=2 switching=cut-through length=4",
        "mesh k=4 n=2 switching=store-and-forward length=4",
        "omega ports=8 switch=wormhole length=4",
    ],
)
def test_worms_that_only_wait_are_no_deadlock(chromium: Any, tmp_path: Path, words: str) -> None:
    LivePage(build(words), load=0.6, seed=3).save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    waiting, cycles = tab.do(
        """async () => {
            let waiting = 0, cycles = 0;
            for (let n = 0; n < 400; n++) {
                await multicube.advance(1);
                const { byKey, cycle } = multicube.worms;
                waiting += [...byKey.values()].filter(({ waits }) => waits).length;
                cycles += cycle.length;
            }
            return [waiting, cycles];
        }"""
    )
    tab.close()
    assert waiting > 1000
    assert cycles == 0
