# amaranth: UnusedElaboratable=no
"""Exported Verilog as people read it: names of signals, expressions, replications."""

import re
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from components import PARAMETERS, cell_type
from long_runs import long
from multicube.hdl import build
from multicube.hdl.export import verilog_module
from multicube.hdl.export.readable import readable
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.export.verilog_module import module_text
from multicube.hdl.export.verilog_names import port_name
from verilog_tools import run_yosys


def test_what_is_read_once_is_put_where_it_is_read() -> None:
    text = """\
module m (
  input [3:0] a,
  output [3:0] o,
  output p,
  output [4:0] q
);
  wire _0_;
  wire [3:0] _1_;
  wire [3:0] _2_;
  wire [3:0] _3_;
  wire [3:0] _4_;
  assign _0_ = a == 4'h3;
  assign _1_ = ~ a;
  assign _2_ = { a[0], a[0], a[0], a[0] };
  assign _3_ = _2_ + a;
  assign o = p ? _1_ : _3_;
  assign p = _0_ & a[0];
  assign _4_ = ~ a;
  assign q = _4_ + a;
endmodule"""
    assert readable(text).split("\n")[6:] == [
        # Its width would be another one inside of something wider.
        "  wire [3:0] o_part;",
        "  wire [3:0] q_part;",
        "  assign o_part = {4{a[0]}} + a;",
        "  assign o = p ? (~ a) : o_part;",
        "  assign p = (a == 4'h3) & a[0];",
        "  assign q_part = ~ a;",
        "  assign q = q_part + a;",
        "endmodule",
    ]


def test_what_is_compared_is_in_brackets() -> None:
    """`a <= p ? b : c` compares `a` and `p`; after a register's name, `<=` assigns."""
    text = """\
  wire [3:0] _0_;
  wire [3:0] _1_;
  wire _2_;
  assign _0_ = p ? a : b;
  assign o = c <= _0_;
  assign _1_ = p ? b : a;
  always @(posedge clk)
    if (p) q <= _1_;
  assign _2_ = p ? a[0] : b[0];
  always @(posedge clk)
    r <= c[0] <= _2_;"""
    assert readable(text).split("\n") == [
        "  assign o = c <= (p ? a : b);",
        "  always @(posedge clk)",
        "    if (p) q <= p ? b : a;",
        "  always @(posedge clk)",
        "    r <= c[0] <= (p ? a[0] : b[0]);",
    ]


@pytest.mark.long
@pytest.mark.parametrize("words", ["torus k=3 n=1", long("combining ports=4"), long("cube")])
def test_all_wires_have_names(words: str) -> None:
    """And those of parts of a router are the parts' own."""
    family, *pairs = words.split()
    text = verilog_text(build(family, **dict(pair.split("=") for pair in pairs)))
    assert not re.search(r"^  (wire|reg) (\[\d+:0\] )?_\d+_;", text, re.M)
    assert not re.search(r"\{ (\S+), \1, \1, \1 \}", text)
    if family == "torus":
        assert re.search(r"^  wire queue_\d__o__ready;", text, re.M)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "OutputQueuedSwitch",
        *(long(name) for name in PARAMETERS if name not in ("ClockCrossing", "Traversal")),
    ],
)
def test_the_text_is_equivalent(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Yosys proves that the module is what it was before, register by register."""
    type_ = cell_type(name)
    ports = ["clk", "rst", *map(port_name, type_.leaves)]
    (tmp_path / "gate.v").write_text(module_text(type_.build(), "gate", ports))
    monkeypatch.setattr(verilog_module, "readable", lambda text: text)
    before = module_text(type_.build(), "gold", ports)
    (tmp_path / "gold.v").write_text(before)
    choices = {found[0] for found in re.finditer(r"^  multiplexer_\d+x\d+", before, re.M)}
    script = [
        *(f"read_verilog {side}.v" for side in ("gold", "gate")),
        *(["read_verilog -lib boxes.v"] if choices else []),
        "proc; memory -nordff; opt_clean; async2sync",
        "equiv_make gold gate equiv; hierarchy -top equiv",
        "equiv_simple -undef; equiv_induct -undef; equiv_status -assert",
    ]
    (tmp_path / "boxes.v").write_text(_boxes(before))
    run_yosys(script, tmp_path, "-q")


def _boxes(text: str) -> str:
    """Empty modules for the multiplexers that a module has."""
    found = set(re.findall(r"^  (multiplexer_(\d+)x(\d+)) ", text, re.M))
    parts = []
    for name, count, width in sorted(found):
        code = 7 if count == "9" else 1 + -(-int(count) // 2)
        inputs = "".join(f", input [{int(width) - 1}:0] i__{at}" for at in range(int(count)))
        parts.append(
            f"module {name} (output [{int(width) - 1}:0] o, input [{code - 1}:0] code{inputs});\n"
            "endmodule\n"
        )
    return "".join(parts)


class _Beats(Elaboratable):
    def __init__(self, beats: list[Signal]) -> None:
        self.beats = beats

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += [beat.eq(~beat) for beat in self.beats]
        return m


class _AllBeat(wiring.Component):
    def __init__(self) -> None:
        super().__init__({"o": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beats = [Signal(name="beat") for _ in range(4)]
        m.submodules.beats = _Beats(beats)
        m.d.comb += self.o.eq(Cat(beats).all())
        return m


def test_wires_of_one_name_may_be_ports_of_submodules() -> None:
    """Amaranth numbers them, and a port of a submodule may have the number of another wire."""
    text = module_text(_AllBeat(), "all_beat", ["clk", "rst", "o"])
    assert len(re.findall("^  reg beats__beat", text, re.M)) == 4
