"""Live pages of designs of one's own: fabrics of any cells, with the signals that they name."""

import sys
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from browser import Tab, browser, needs_chromium
from command_line import Call
from multicube.hdl import build
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.live import Design, DesignPage, LivePage, LivePair, lesson_network
from multicube.sim.live.design_page import own_design
from multicube.sim.live.patterns import page_patterns

OWN = """
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.diagram import Node
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.layout import Layout
from multicube.hdl.fabric.pins import Pin
from multicube.sim.live import Design


class Counter(wiring.Component):
    def __init__(self):
        super().__init__({"step": In(8), "o": Out(stream.Signature(16))})

    def elaborate(self, platform):
        m = Module()
        total = Signal(16)
        m.d.comb += [self.o.valid.eq(self.step != 0), self.o.payload.eq(total)]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += total.eq(total + self.step)
        return m


class Adder(wiring.Component):
    def __init__(self):
        super().__init__({"i": In(stream.Signature(16)), "sum": Out(40)})

    def elaborate(self, platform):
        m = Module()
        taken = Signal(3)
        m.d.sync += taken.eq(taken + 1)
        m.d.comb += self.i.ready.eq(taken != 3)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += self.sum.eq(self.sum + self.i.payload)
        return m


def fabric():
    made = Fabric({"step": In(8), "sum": Out(40)})
    made.place(Cell("counter", CellType(Counter)))
    made.place(Cell("adder", CellType(Adder)))
    made.link(Pin(None, ("step",)), Pin("counter", ("step",)))
    made.link(Pin("counter", ("o",)), Pin("adder", ("i",)))
    made.link(Pin("adder", ("sum",)), Pin(None, ("sum",)))
    return made


def design():
    layout = Layout([Node("count", ("counter",), 0, 0), Node("add", ("adder",), 3, 1)])
    return Design(fabric(), "own", layout, [("counter", "total"), ("adder", "taken")])


def leaves():
    raise SystemExit(0)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


@needs_chromium
def test_a_design_of_own_cells_runs_as_in_the_engine(own: Path, call: Call) -> None:
    """What the page shows of its signals and outputs, and of its link, is the engine's state."""
    assert call("view", "own.py:design").out.startswith("design.html: own, ")
    with browser() as chromium:
        tab = Tab(chromium, own.parent / "design.html")
        shown = tab.do(
            """async () => {
                const field = document.getElementById("input-step");
                const found = [];
                for (const step of [0, 7, 200, 7]) {
                    field.value = step;
                    field.dispatchEvent(new Event("change"));
                    await multicube.queue;
                    for (let cycle = 0; cycle < 8; cycle++) {
                        await multicube.advance(1);
                        multicube.show();
                        found.push([...document.querySelectorAll("[data-signal]")]
                            .map((each) => [each.dataset.signal, Number(each.textContent)])
                            .concat([["crossed", multicube.moment.crossed[0]]]));
                    }
                }
                return found;
            }"""
        )
        nodes = tab.do("() => multicube.drawing.nodes.map(({ name, x, y }) => [name, x, -y])")
        cards = tab.do(
            """() => [...document.querySelectorAll("aside > section")]
                .filter((each) => !each.hidden).map(({ id }) => id)"""
        )
        tab.close()
    assert nodes == [["count", 0, 0], ["add", 3, 1]]
    assert cards == ["design"]
    crossed = 0
    with CompiledEngine(own_design("own.py:fabric")) as engine:
        for number, now in enumerate(shown):
            engine.set("step", [0, 7, 200, 7][number // 8])
            handshake = [engine.get(Pin("counter", ("o", name))) for name in ("valid", "ready")]
            crossed += all(handshake)
            engine.step(1)
            assert dict(now) == {
                "counter.total": engine.signal("counter", "total"),
                "adder.taken": engine.signal("adder", "taken"),
                "sum": engine.get(Pin(None, ("sum",))),
                "crossed": crossed,
            }
    assert dict(shown[-1])["sum"] > 2**10


class _Sums(wiring.Component):
    step: In(60)
    sum: Out(100)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.sync += self.sum.eq(self.sum + (self.step << 40))
        return m


@needs_chromium
def test_wide_values_are_exact(tmp_path: Path) -> None:
    """Inputs, outputs, and words of memory."""
    fabric = Fabric({"step": In(60), "sum": Out(100)})
    fabric.place(Cell("sums", CellType(_Sums)))
    fabric.link(Pin(None, ("step",)), Pin("sums", ("step",)))
    fabric.link(Pin("sums", ("sum",)), Pin(None, ("sum",)))
    DesignPage(Design(fabric, "sums")).save(tmp_path / "sums.html")
    words = LivePage(build("combining ports=2 width=64"), load=0.5)
    words.save(tmp_path / "words.html")
    with browser() as chromium:
        tab = Tab(chromium, tmp_path / "sums.html")
        tab.page.fill("#input-step", str(2**58 + 1))
        tab.page.press("#input-step", "Tab")
        tab.do("() => multicube.advance(2).then(() => multicube.show())")
        assert tab.text("[data-signal=sum]") == str(2 * (2**58 + 1) << 40)
        tab.page.fill("#input-step", str(2**70))
        tab.page.press("#input-step", "Tab")
        assert tab.page.input_value("#input-step") == str(2**60 - 1)
        tab.close()
        tab = Tab(chromium, tmp_path / "words.html")
        shown = tab.do(
            """async () => {
                const index = multicube.drawing.nodes.findIndex(({ name }) => name === "memory 0");
                await multicube.advance(25);
                await multicube.advance(1);
                multicube.select({ what: "node", index });
                await multicube.refresh();
                multicube.show();
                return document.getElementById("words-of-memory").textContent;
            }"""
        )
        tab.close()
    with CompiledEngine(words.bench.fabric) as engine:
        engine.set("send", 1)
        engine.step(26)
        nodes = words.network.diagram.nodes
        [memory] = [node.cells[0] for node in nodes if node.name == "memory 0"]
        first = engine.memory(memory, "words")[:8]
        assert shown.split() == [str(each) for each in first]
        assert max(first) > 2**53


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["own.py:nothing"], "File own.py defines no 'nothing'"),
        (["own.py:Out"], "File own.py: TypeError"),
        (["none.py:design"], "none.py"),
        (["own.py:design", "k=3"], "A design of a file takes no parameters or lessons"),
        (["own.py:Layout"], "File own.py: TypeError"),
        (["own.py:leaves"], "File own.py: SystemExit: 0"),
        (["own.py:fabric", "--load", "0.5"], "A design that is no network takes no --load"),
        (["cube", "ports=2", "--beside", "ports=6"], "Ports must be a power of the radix 2, not 6"),
        (["cube", "ports=2", "--beside", "ports=4"], "must have as many terminals, not 2 and 4"),
        (["cube", "ports=2", "--beside", "dept=2"], "Parameter of cube must be one of"),
    ],
)
def test_view_refuses_designs(own: Path, call: Call, words: list[str], message: str) -> None:
    done = call("view", *words)
    assert done.status == 2
    assert message in done.err
    assert [each.name for each in own.parent.iterdir() if each.suffix == ".html"] == []


def test_a_file_may_import_those_beside_it_and_print(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own.rename("beside_own_file.py")
    own.write_text("from beside_own_file import fabric\nprint('said')")
    assert isinstance(own_design("own.py:fabric"), Fabric)
    assert capsys.readouterr() == ("", "said\n")  # a page or JSON may go to standard output


def test_pages_side_by_side_have_the_traffic_of_a_lesson() -> None:
    """The second one did not know its pattern, and ended."""
    first = LivePage(lesson_network("partition"), lesson="partition")
    second = LivePage(build("cube ports=8 payload=4"))
    alone = [*second.offered]
    _, paired = LivePair(first, second).pages
    names = [each["name"] for each in page_patterns(paired.network, paired.run, paired.offered)]
    assert {"locality:1:4", "locality:1:2"} <= {*names}
    assert second.offered == alone  # which may be saved alone, too


def test_any_parameter_may_differ_beside_a_network(
    own: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    monkeypatch.setattr(LivePair, "save", lambda pair, _: shown.append(pair))
    monkeypatch.setattr(LivePair, "html", "")
    assert call("view", "cube", "ports=2", "--beside", "Switch=unbuffered").status == 0
    (pair,) = shown
    assert [str(page.network) for page in pair.pages] == [
        str(build("cube", ports=2)),
        str(build("cube", ports=2, switch="unbuffered")),
    ]


def test_a_design_is_complete_and_names_what_it_has(own: Path) -> None:
    fabric = own_design("own.py:fabric")
    with pytest.raises(ValueError, match="no signal 'none'"):
        DesignPage(Design(fabric, signals=[("adder", "none")])).about()
    with pytest.raises(ValueError, match="cell"):
        DesignPage(Design(fabric, signals=[("other", "taken")]))
    with pytest.raises(TypeError, match="Design must be a design or a fabric"):
        DesignPage(3)  # type: ignore[arg-type]
    open_ended = Fabric(dict(fabric.signature.members))
    with pytest.raises(ValueError, match="is not driven"):
        DesignPage(open_ended)
