"""Other people's networks beside ours, at equal width, function and depth: docs/data/peers.json.

    python -m generate.hardware_peers FOLDER [ROW ...]

FOLDER has clones of the peers, each in a folder of the last part of its name, and Verilog that
PyMTL3-Net generated there (`make bench-hardware` says how). Without ROW all rows are measured whose
peer is there. Nothing of the peers is kept but numbers.
"""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from multicube.hdl import build
from multicube.hdl.fabric.cell_part import cell_part
from multicube.hdl.fabric.fabric import Fabric
from multicube.sim.synthesis import Design, Setup, measure, network_design, verilog_design

from .commits import record
from .markdown import DOCS, table, write_tables
from .standard_cells import PAGE

DATA = DOCS / "data" / "peers.json"
SETUP = {"device": "ecp5-85k", "flags": "-nowidelut", "limit": 1500.0}


@dataclass(frozen=True)
class Row:
    """Two designs that do the same.

    Attributes
    ----------
    what : str
        What both do, and how wide and deep they are.
    ours : str
        Words of `multicube synth`.
    peer : str
        Name of the peer's module, and its parameters.
    clone : str
        Folder of its clone.
    files : tuple[str, ...]
        Its files, as patterns in the clone.
    wrapper : str
        SystemVerilog of a module `peer` around it.
    includes : tuple[str, ...]
    """

    what: str
    ours: str
    peer: str
    clone: str
    files: tuple[str, ...]
    wrapper: str
    includes: tuple[str, ...] = ()


def _pymtl(module: str, packet: str) -> str:
    """A wrapper that turns the arrays of a network of 16 terminals into vectors."""
    return f"""
module peer (
  input clk, input reset,
  input [16*48-1:0] i_data, input [15:0] i_valid, output [15:0] i_ready,
  output [16*48-1:0] o_data, output [15:0] o_valid, input [15:0] o_ready
);
  {packet} recv [0:15], send [0:15];
  logic [0:0] recv_rdy [0:15], recv_val [0:15], send_rdy [0:15], send_val [0:15];
  for (genvar i = 0; i < 16; i++) begin : g
    assign recv[i] = i_data[48*i +: 48];
    assign recv_val[i] = i_valid[i];
    assign i_ready[i] = recv_rdy[i];
    assign o_data[48*i +: 48] = send[i];
    assign o_valid[i] = send_val[i];
    assign send_rdy[i] = o_ready[i];
  end
  {module} it (.clk(clk), .reset(reset), .recv__msg(recv), .recv__rdy(recv_rdy),
    .recv__val(recv_val), .send__msg(send), .send__rdy(send_rdy), .send__val(send_val));
endmodule
"""


_BASEJUMP = """
`include "bsg_noc_links.svh"
module peer (
  input clk, input reset,
  input [5*48-1:0] i_data, input [4:0] i_valid, output [4:0] i_ready,
  output [5*48-1:0] o_data, output [4:0] o_valid, input [4:0] o_ready
);
  wire [4:0][49:0] link_i, link_o;
  for (genvar i = 0; i < 5; i++) begin : g
    assign link_i[i] = {i_valid[i], o_ready[i], i_data[48*i +: 48]};
    assign {o_valid[i], i_ready[i], o_data[48*i +: 48]} = link_o[i];
  end
  bsg_mesh_router_buffered #(.width_p(48), .x_cord_width_p(2), .y_cord_width_p(2)) it (
    .clk_i(clk), .reset_i(reset), .link_i(link_i), .link_o(link_o), .my_x_i(2'd1), .my_y_i(2'd1));
endmodule
"""


def _common_cells(module: str, ports: int, more: str) -> str:
    bits = (ports - 1).bit_length()
    data = 48 - bits
    return f"""
module peer (
  input clk, input reset,
  input [{ports}*48-1:0] i_data, input [{ports - 1}:0] i_valid, output [{ports - 1}:0] i_ready,
  output [{ports}*{data}-1:0] o_data, output [{ports - 1}:0] o_valid, input [{ports - 1}:0] o_ready
);
  wire [{ports - 1}:0][{data - 1}:0] data;
  wire [{ports - 1}:0][{bits - 1}:0] sel;
  for (genvar i = 0; i < {ports}; i++) begin : g
    assign {{data[i], sel[i]}} = i_data[48*i +: 48];
  end
  {module} #(.NumInp({ports}), .NumOut({ports}), .DataWidth({data}), {more}) it (
    .clk_i(clk), .rst_ni(~reset), .clr_i(1'b0), .clr_arb_i(1'b0), .rr_i('0), .data_i(data),
    .sel_i(sel), .valid_i(i_valid), .ready_o(i_ready), .data_o(o_data), .idx_o(),
    .valid_o(o_valid), .ready_i(o_ready));
endmodule
"""


_AXIS = """
module peer (
  input clk, input reset,
  input [4*48-1:0] i_data, input [3:0] i_last, input [3:0] i_valid, output [3:0] i_ready,
  output [4*46-1:0] o_data, output [3:0] o_last, output [3:0] o_valid, input [3:0] o_ready
);
  wire [4*46-1:0] data;
  wire [7:0] dest;
  for (genvar i = 0; i < 4; i++) begin : g
    assign {data[46*i +: 46], dest[2*i +: 2]} = i_data[48*i +: 48];
  end
  axis_switch #(.S_COUNT(4), .M_COUNT(4), .DATA_WIDTH(46), .KEEP_ENABLE(0), .ID_ENABLE(0),
    .USER_ENABLE(0), .M_DEST_WIDTH(1), .S_DEST_WIDTH(2)) it (
    .clk(clk), .rst(reset), .s_axis_tdata(data), .s_axis_tkeep('1), .s_axis_tvalid(i_valid),
    .s_axis_tready(i_ready), .s_axis_tlast(i_last), .s_axis_tid('0), .s_axis_tdest(dest),
    .s_axis_tuser('0), .m_axis_tdata(o_data), .m_axis_tkeep(), .m_axis_tvalid(o_valid),
    .m_axis_tready(o_ready), .m_axis_tlast(o_last), .m_axis_tid(), .m_axis_tdest(),
    .m_axis_tuser());
endmodule
"""

_COMMON_CELLS = tuple(
    f"src/cc_{name}.sv"
    for name in (
        *("pkg", "rr_arb_tree", "lzc", "stream_demux", "spill_register_flushable"),
        *("spill_register", "stream_xbar", "stream_omega_net", "stream_fifo_optimal_wrap"),
        *("fifo", "stream_fifo", "stream_mux", "stream_arbiter", "popcount", "onehot_to_bin"),
    )
)

_SWITCH = Row(
    "4 x 4 switch of packets of many words of 48 bits, two places for each line",
    "crossbar ports=4 payload=46 depth=2 switch=wormhole length=4",
    "axis_switch S_COUNT=4 M_COUNT=4 DATA_WIDTH=46",
    "verilog-axis",
    ("rtl/axis_switch.v", "rtl/axis_register.v", "rtl/arbiter.v", "rtl/priority_encoder.v"),
    _AXIS,
)

ROWS = {
    "router": Row(
        "router inside a 4 x 4 mesh, single flits of 48 bits, two places at each input",
        "mesh k=4 n=2 payload=44 depth=2 --cell router_5",
        "bsg_mesh_router_buffered width_p=48 x_cord_width_p=2 y_cord_width_p=2",
        "basejump_stl",
        (
            "bsg_noc/bsg_noc_pkg.sv",
            "bsg_noc/bsg_mesh_router_pkg.sv",
            "bsg_noc/bsg_mesh_router.sv",
            "bsg_noc/bsg_mesh_router_buffered.sv",
            "bsg_noc/bsg_mesh_router_decoder_dor.sv",
            "bsg_misc/bsg_transpose.sv",
            "bsg_misc/bsg_array_concentrate_static.sv",
            "bsg_misc/bsg_concentrate_static.sv",
            "bsg_misc/bsg_arb_round_robin.sv",
            "bsg_misc/bsg_mux_one_hot.sv",
            "bsg_misc/bsg_unconcentrate_static.sv",
            "bsg_dataflow/bsg_fifo_1r1w_small.sv",
            "bsg_misc/bsg_scan.sv",
            "bsg_dataflow/bsg_two_fifo.sv",
            "bsg_mem/bsg_mem_1r1w.sv",
            "bsg_mem/bsg_mem_1r1w_synth.sv",
        ),
        _BASEJUMP,
        includes=("bsg_misc", "bsg_noc"),
    ),
    "switch": _SWITCH,
    "stages": replace(
        _SWITCH,
        what="the same, three cycles from the offer of a header to its output",
        ours=f"{_SWITCH.ours} pipeline=1",
    ),
    "crossbar": Row(
        "8 x 8 crossbar, packets of 48 bits, two places for each line",
        "crossbar ports=8 payload=45 depth=2",
        "cc_stream_xbar NumInp=8 NumOut=8 DataWidth=45 OutSpillReg=1",
        "common_cells",
        _COMMON_CELLS,
        _common_cells("cc_stream_xbar", 8, ".OutSpillReg(1'b1)"),
        includes=("include",),
    ),
    "omega": Row(
        "16-port omega network of 2 x 2 boxes, packets of 48 bits, two places for each box's line",
        "omega ports=16 payload=44 depth=2 switch=input-queued",
        "cc_stream_omega_net NumInp=16 NumOut=16 DataWidth=44 Radix=2 SpillReg=1",
        "common_cells",
        _COMMON_CELLS,
        _common_cells("cc_stream_omega_net", 16, ".Radix(2), .SpillReg(1'b1)"),
        includes=("include",),
    ),
    "fly": Row(
        "2-ary 4-fly, packets of 48 bits, two places at each input",
        "cube ports=16 payload=44 depth=2 switch=input-queued",
        "pymtl3-net gen bfly --kary 2 --nfly 4 --channel-bw 32",
        "generated",
        ("bfly.v",),
        _pymtl("bfly", "BflyPacket_2_4_1_8_32__src_4__dst_4__opaque_8__payload_32"),
    ),
    "mesh": Row(
        "4 x 4 mesh, single flits of 48 bits, two places at each input",
        "mesh k=4 n=2 payload=44 depth=2",
        "pymtl3-net gen mesh --ncols 4 --nrows 4 --channel-bw 32",
        "generated",
        ("mesh.v",),
        _pymtl("mesh", "MeshPacket_4x4_1_8_32__a883d769f90d04af"),
    ),
}
"""The smallest first: the clock of a whole mesh takes an hour on two busy cores."""


def our_design(words: str) -> Design:
    """The design that words of `multicube synth` describe."""
    name, *rest = words.split()
    cell = rest[rest.index("--cell") + 1] if "--cell" in rest else None
    fabric: Fabric = build(name, **dict(w.split("=") for w in rest if "=" in w)).fabric
    return network_design(fabric if cell is None else cell_part(fabric, cell))


def peer_design(row: Row, folder: Path) -> Design:
    """The peer's design of a row, from its clone."""
    clone = folder / row.clone
    paths = [path for pattern in row.files for path in sorted(clone.glob(pattern))]
    wrapper = folder / "peer.sv"
    wrapper.write_text(row.wrapper)
    includes = [clone / include for include in row.includes]
    return verilog_design(
        [*dict.fromkeys(paths), wrapper],
        "peer",
        clock="clk",
        reset="reset",
        slang=True,
        includes=includes,
    )


def measured(design: Design, seeds: int) -> dict[str, Any]:
    """The numbers of a design."""
    found = measure(design, Setup(seeds=seeds, **SETUP)).as_dict()
    return {key: found[key] for key in ("area", "storage", "fmax_mhz", "tools")}


def frequency(clock: dict[str, Any]) -> str:
    """The median of a clock's seeds, and their range; nothing if none was placed."""
    if clock["median"] is None:
        return ""
    return f"{clock['median']:.0f} ({clock['min']:.0f} to {clock['max']:.0f})"


def tables(data: dict[str, Any]) -> list[str]:
    """The table of the page, in Markdown."""
    head = "what | whose | tables | for logic | memories | FFs | Fmax, MHz | ours / peer"
    rows = []
    for name, row in ROWS.items():
        if "peer_measured" not in data.get(name, {}):
            continue
        both = [data[name][side] for side in ("ours_measured", "peer_measured")]
        ratio = both[0]["area"]["tables"] / both[1]["area"]["tables"]
        sides = ((row.what, f"`{row.ours}`", f"{ratio:.2f}"), ("", f"`{row.peer}`", ""))
        traffic = [data[name].get(f"{side}_traffic") for side in ("ours", "peer")]
        for found, ran, (what, whose, share) in zip(both, traffic, sides):
            area = found["area"]
            counts = (area[each] for each in ("tables", "luts", "lut_rams", "flip_flops"))
            rows.append(
                [
                    *(what, whose, *(f"{each:,}" for each in counts)),
                    *(frequency(found["fmax_mhz"]), share),
                    *(
                        (f"{ran['throughput']:.3f}", ran["cycles"] // ran["routers"])
                        if ran
                        else ("", "")
                    ),
                ]
            )
    return [table([*head.split(" | "), "throughput", "cycles a hop"], rows, texts=2)]


def main(folder: Path, names: list[str]) -> None:
    """Measure rows, and write the file after each: first all areas, and then all clocks."""
    data = json.loads(DATA.read_text()) if DATA.exists() else {}
    chosen = {name: ROWS[name] for name in names or ROWS}
    for name in list(chosen):
        if not (folder / chosen[name].clone).is_dir():
            print(f"{name}: there is no clone {chosen[name].clone}")
            del chosen[name]
    for seeds in (0, 3):
        known: dict[str, Any] = {}  # some rows have the same peer
        for name, row in chosen.items():
            entry = data.setdefault(name, {})
            entry |= {"what": row.what, "ours": row.ours, "peer": row.peer}
            for side, design in (
                ("ours", our_design(row.ours)),
                ("peer", peer_design(row, folder)),
            ):
                words = entry[side]
                if words not in known:
                    known[words] = measured(design, seeds)
                entry[f"{side}_measured"] = found = known[words]
                print(name, words, found["area"]["tables"], found["fmax_mhz"]["median"], flush=True)
                DATA.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    write_tables(PAGE, tables(data))
    record([DATA])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
