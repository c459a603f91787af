# amaranth: UnusedElaboratable=no
"""Exported Verilog with memories of their own, asynchronous resets, and no first values."""

import gc
import re
import shutil
from pathlib import Path

import pytest
from amaranth.hdl import Const, Module
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from command_line import exit_status
from long_runs import long
from multicube.hdl import build
from multicube.hdl.export.style import MEMORIES, Style
from multicube.hdl.export.verilog import verilog_text, write_verilog
from multicube.hdl.export.verilog_module import module_text
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.primitives.clearing import Clearing
from multicube.hdl.terminals.bus_words import WordMap
from multicube.hdl.terminals.ordered_requests import RequestsByIdentity
from refusals import refusals
from started import run_tool
from verilog_tools import assert_lint_free, read_with_icarus

EXAMPLES = Path(__file__).parent.parent / "examples" / "memories"

BENCH = """
module bench;
  localparam PORTS = {ports}, WIDTH = {width};
  reg clk = 0, rst = 1;
  reg [PORTS*WIDTH-1:0] data = 0;
  reg [PORTS-1:0] valid = 0, ready = 0;
  wire [PORTS*WIDTH-1:0] data_a, data_b;
  wire [PORTS-1:0] ready_a, ready_b, valid_a, valid_b;
  integer cycle, port, passed = 0, wrong = 0;
  plain a (.clk(clk), .rst(rst), {links_a});
  network b (.clk(clk), .{reset}, {links_b});
  always #5 clk = !clk;
  initial begin
    for (cycle = 0; cycle < 600; cycle = cycle + 1) begin
      @(negedge clk);
      if (cycle > 3 && cycle != 300) begin
        if (ready_a !== ready_b || valid_a !== valid_b) wrong = wrong + 1;
        for (port = 0; port < PORTS; port = port + 1)
          if (valid_a[port]) begin
            if (data_a[port*WIDTH +: WIDTH] !== data_b[port*WIDTH +: WIDTH]) wrong = wrong + 1;
            if (ready[port]) passed = passed + 1;
          end
      end
      @(posedge clk);
      for (port = 0; port < PORTS; port = port + 1)
        if (rst || !valid[port] || ready_a[port]) begin
          valid[port] <= #1 $random;
          data[port*WIDTH +: WIDTH] <= #1 $random;
        end
      ready <= #1 $random;
      rst <= #1 cycle < 2 || cycle == 299;
    end
    $display("%0d passed, %0d wrong", passed, wrong);
    $finish;
  end
endmodule
"""


def _bench(ports: int, width: int, reset: str) -> str:
    def links(suffix: str) -> str:
        return ", ".join(
            f".i__{n}__payload(data[{n * width} +: {width}]), .i__{n}__valid(valid[{n}]), "
            f".i__{n}__ready(ready_{suffix}[{n}]), .o__{n}__valid(valid_{suffix}[{n}]), "
            f".o__{n}__payload(data_{suffix}[{n * width} +: {width}]), .o__{n}__ready(ready[{n}])"
            for n in range(ports)
        )

    return BENCH.format(
        ports=ports, width=width, reset=reset, links_a=links("a"), links_b=links("b")
    )


NETWORKS = {
    "inputs": ("cube", {"ports": 4, "switch": "input-queued", "payload": 4}, 6),
    "outputs": ("cube", {"ports": 4, "switch": "output-queued", "payload": 4}, 6),
}

STYLES = {
    "modules": Style("modules"),
    "gated": Style("gated", "async-low", initial=False),
    "async": Style("inline", "async-low", initial=False),
    "latches": Style("external", initial=False),
    "macro": Style("external", "async-low"),
}


@pytest.mark.parametrize(
    ("network", "style"), [("outputs", "gated"), *(long("inputs", style) for style in STYLES)]
)
def test_styles_do_the_same(network: str, style: str, tmp_path: Path) -> None:
    """In each cycle, as the plain Verilog in Icarus: with waits, and a reset in the middle."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    name, parameters, width = NETWORKS[network]
    fabric = build(name, **parameters).fabric
    chosen = STYLES[style]
    (tmp_path / "plain.v").write_text(verilog_text(fabric, "plain"))
    (tmp_path / "styled.v").write_text(verilog_text(fabric, "network", style=chosen))
    reset = "rst(rst)" if chosen.reset == "sync" else "rst_n(!rst)"
    (tmp_path / "bench.v").write_text(_bench(4, width, reset))
    files = ["plain.v", "styled.v", "bench.v"]
    if chosen.memories == "external":
        files.append(str(EXAMPLES / ("latch_array.v" if style == "latches" else "macro.v")))
    run_tool("iverilog", "-g2001", "-s", "bench", "-o", "it", *files, folder=tmp_path)
    said = run_tool("vvp", "-n", "it", folder=tmp_path)
    found = re.search(r"(\d+) passed, (\d+) wrong", said)
    assert found is not None, said
    assert int(found[1]) > 300
    assert found[2] == "0"


def test_a_payload_without_valid_may_be_unknown(tmp_path: Path) -> None:
    """Such as that of an empty queue, whose memory has no first values."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    link, words = MemoryLink(tag=1, identity=2, address=2, width=9), WordMap((1,), 4, 1)
    note = data.StructLayout({"id": 2, "last": 1})
    fabric = Fabric.alone(CellType(RequestsByIdentity, link=link, words=words, note=note))
    text = verilog_text(fabric, "network", style=Style(initial=False))
    ports = re.findall(r"^  input (?:wire )?(?:\[[^]]*\] )?(\w+)", text.split(");")[0], re.M)
    given = dict.fromkeys(ports, "0") | {"clk": "clk", "rst": "rst", "asks__valid": "1"}
    given |= {"o__request__ready": "1", "o__reply__payload": "'bx"}
    links = ", ".join(f".{name}({value})" for name, value in given.items())
    (tmp_path / "network.v").write_text(text)
    (tmp_path / "bench.v").write_text(
        f"module bench; reg clk = 0, rst = 1; wire valid; network it ({links},"
        " .answers__valid(valid)); always #5 clk = !clk;"
        " initial begin #20 rst = 0; #50 $display(valid); $finish; end endmodule"
    )
    run_tool("iverilog", "-g2001", "-o", "it", "network.v", "bench.v", folder=tmp_path)
    assert run_tool("vvp", "-n", "it", folder=tmp_path).strip() == "0"


def test_asynchronous_reset_needs_no_edge(tmp_path: Path) -> None:
    fabric = build("cube", ports=2, switch="input-queued", payload=4).fabric
    text = verilog_text(fabric, style=Style("gated", "async-low", initial=False))
    assert "initial" not in text
    flip_flops = re.findall(r"always @\(posedge clk.*", text)
    assert flip_flops
    assert all(each == "always @(posedge clk, negedge rst_n)" for each in flip_flops)
    assert re.search(r"rst_n +input +asynchronous, active low", text)
    assert re.search(r"o__#__valid depends on .*rst_n", text)


@pytest.mark.long
@pytest.mark.parametrize("style", [Style("modules"), Style("gated", "async-low", initial=False)])
def test_styles_are_lint_free(style: Style, tmp_path: Path) -> None:
    paths = []
    for name, (network, parameters, _) in NETWORKS.items():
        paths.append(tmp_path / f"{name}.v")
        write_verilog(build(network, **parameters).fabric, paths[-1], style=style)
    assert_lint_free(paths)
    read_with_icarus(paths)


@pytest.mark.long
def test_tables_are_logic_without_first_values() -> None:
    """Routing tables are not memories that something could write."""
    fabric = build("fat-tree", k=2, n=2).fabric
    text = verilog_text(fabric, style=Style("modules", initial=False))
    assert "initial" not in text
    assert not re.search(r"reg .*rows_0.*\[", text)


@pytest.mark.long
def test_same_memory_is_one_module() -> None:
    fabric = build("mesh", k=2, n=2).fabric
    text = verilog_text(fabric, "top", style=Style("modules"))
    modules = re.findall(r"^module (top_memory_\w+)", text, re.MULTILINE)
    assert modules == sorted(set(modules))
    assert len(re.findall(r"^  top_memory_1wr #\(", text, re.MULTILINE)) > 4


test_style_rejects = refusals(
    Style,
    ("flops", f"Memories must be one of {', '.join(MEMORIES)}, not 'flops'"),
    ("inline", "async", "Reset must be one of sync, async-low, not 'async'..."),
    ("inline", "sync", 1, TypeError, "Initial must be True or False, not 1"),
)


class Cleared(wiring.Component):
    """A memory that is cleared after each reset, or one that begins with contents."""

    o: Out(4)

    def __init__(self, contents: list[int]) -> None:
        self._contents = contents
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=4, depth=4, init=self._contents)
        port = memory.write_port()
        Clearing(m, "clear", 2).write(port, Const(1), Const(0, 2), self.o)
        m.d.comb += self.o.eq(memory.read_port(domain="comb").data)
        return m


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("contents", "message"),
    [([], "is cleared after a reset is not right"), ([0, 1], "begins with contents is not right")],
    ids=["cleared", "contents"],
)
@pytest.mark.filterwarnings("ignore")  # of what was built in vain
def test_first_values_that_matter_are_not_lost(contents: list[int], message: str) -> None:
    ports = ["clk", "rst", "o"]
    module_text(Cleared(contents), "network", ports)
    with pytest.raises(InvalidValue, match=rf"^Without initial values a memory that {message}$"):
        module_text(Cleared(contents), "network", ports, style=Style(initial=False))
    gc.collect(1)


class Kept(wiring.Component):
    """A memory that begins with contents, and can be written."""

    i: In(3)
    o: Out(4)

    def __init__(self, rows: tuple[int, ...] = ()) -> None:
        self._rows = rows
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = memory = Memory(shape=4, depth=4, init=self._rows)
        port = memory.write_port()
        m.d.comb += [port.en.eq(self.i[2]), port.addr.eq(self.i), port.data.eq(self.i)]
        reader = memory.read_port(domain="comb")
        m.d.comb += [reader.addr.eq(self.i), self.o.eq(reader.data)]
        return m


def test_contents_are_kept() -> None:
    """Also beside an equal cell without contents, whose memory is a module of its own."""
    contents = {"none": (), "some": (5, 9), "others": (0, 3, 12)}
    fabric = Fabric({"i": In(3), **{f"o_{name}": Out(4) for name in contents}})
    for name, rows in contents.items():
        fabric.place(Cell(name, CellType(Kept), contents={"rows": rows}))
        fabric.link(Pin(None, ("i",)), Pin(name, ("i",)))
        fabric.link(Pin(name, ("o",)), Pin(None, (f"o_{name}",)))
    text = verilog_text(fabric, style=Style("modules"))
    modules = re.findall(r"^module network_kept.*?^endmodule", text, re.DOTALL | re.MULTILINE)
    found = [re.findall(r"rows\[\d\] = 4'h(\w);", module) for module in modules]
    assert found == [[], ["5", "9", "0", "0"], ["0", "3", "c", "0"]]
    assert "network_memory_1wr" in modules[0]


def test_command_writes_a_style(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "net.v"
    words = ["export", "cube", "ports=2", "switch=input-queued", "-o", str(path)]
    options = ["--memories", "external", "--reset", "async-low", "--no-initial"]
    assert exit_status(*words, *options) == 0
    text = path.read_text()
    assert "// Memories are the modules network_memory_1wr, which another file must have." in text
    assert '"rst_n"' in path.with_suffix(".v.json").read_text()
    assert exit_status("export", "cube", "--c", str(tmp_path / "c"), "--no-initial") == 2
    assert capsys.readouterr().err == "multicube: Option --c does not go with --no-initial\n"


def test_a_core_names_the_file_of_external_memories(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    words = ["export", "cube", "ports=2", "--core", "-o", str(tmp_path / "net.v")]
    assert exit_status(*words, "--memories", "external") == 0
    said = "you write network_memory_1wr, in net_memories.v beside it"
    assert capsys.readouterr().out.endswith(f"; {said}\n")
    core = (tmp_path / "net.core").read_text()
    assert "# net_memories.v is yours: it must have network_memory_1wr.\n" in core
    assert core.count('    files: ["net.v", "net_memories.v"]\n') == 1
    assert (tmp_path / "net.xml").read_text().count(">net_memories.v<") == 1
    assert exit_status(*words, "--memories", "modules") == 0
    assert "memories" not in capsys.readouterr().out
    assert "net_memories.v" not in (tmp_path / "net.core").read_text()


def test_a_network_without_such_memories_names_none(tmp_path: Path) -> None:
    network = build("cube", ports=2, switch="unbuffered")
    summary = write_verilog(network, tmp_path / "net.v", style=Style("external"))
    assert summary["external"] == []
    assert "Memories are" not in (tmp_path / "net.v").read_text()


@pytest.mark.parametrize("example", ["latch_array", "macro"])
def test_verilators_linter_takes_the_examples(example: str, tmp_path: Path) -> None:
    network = build("cube", ports=2, switch="input-queued", payload=4)
    text = verilog_text(network, style=Style("external"))
    path = tmp_path / "all.v"
    path.write_text(f"{text}\n{(EXAMPLES / f'{example}.v').read_text()}")
    assert_lint_free([path])
