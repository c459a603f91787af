# amaranth: UnusedElaboratable=no
"""Hypercubes, and their nodes alone, as Verilog: what tools find in it, and what it does."""

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat
from amaranth.lib.wiring import In
from command_line import Call, exit_status
from driving import exercise
from long_runs import long
from multicube.hdl import HypercubeNetwork, write_verilog
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.fabric_component import FabricComponent, member
from multicube.hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from multicube.hdl.families.hypercube.hypercube_routing import HYPERCUBE_ROUTINGS
from verilog_tools import assert_lint_free, check_with_yosys

SEED = 5


def machine(n: int, *, schedule: str = "parallel", **parameters: Any) -> Fabric:
    return ConnectionMachine(n, payload=3, schedule=schedule, **parameters).fabric


def alone(fabric: Fabric) -> Fabric:
    (type_,) = fabric.types()
    return Fabric.alone(type_)


def wormhole(routing: Any, n: int = 2, *, depth: int = 2, length: str = "1:3") -> Fabric:
    return HypercubeNetwork(n, routing=routing, payload=3, depth=depth, length=length).fabric


FABRICS: dict[str, Callable[[], Fabric]] = {
    "parallel": lambda: machine(2, buffers=2),
    "dimension, of 2 processors": lambda: machine(2, processors=2, buffers=1, schedule="dimension"),
    "serial": lambda: machine(2, buffers=1, links="serial"),
    "pipelined": lambda: machine(
        2, buffers=1, links="serial", schedule="pipelined", priority="fixed"
    ),
    "adds": lambda: machine(2, buffers=2, schedule="dimension", combine="add"),
    "e-cube": lambda: wormhole("ecube"),
    "p-cube": lambda: wormhole("pcube"),
    "adaptive": lambda: wormhole("adaptive"),
    "node": lambda: alone(machine(2, processors=2, buffers=2, priority="fixed")),
    "serial node": lambda: alone(
        machine(3, links="serial", schedule="dimension", priority="fixed")
    ),
    "router": lambda: alone(wormhole("ecube", depth=1)),
}

QUICK = ("serial node", "pipelined")
"""Those that `make test` tries."""

MORE: dict[str, Callable[[], Fabric]] = {
    "parallel, of 4 processors": lambda: machine(3, processors=4, buffers=3),
    "dimension, of 4 processors": lambda: machine(3, processors=4, schedule="dimension"),
    "dimension and serial": lambda: machine(2, schedule="dimension", links="serial", processors=2),
    "pipelined, of 2 processors": lambda: machine(
        3, processors=2, buffers=2, links="serial", schedule="pipelined"
    ),
    "fixed": lambda: machine(1, priority="fixed", buffers=3),
    "dimension and fixed": lambda: machine(3, schedule="dimension", priority="fixed", buffers=1),
    "fixed and serial": lambda: machine(3, priority="fixed", links="serial"),
    **{
        f"{routing}, depth {depth}": lambda routing=routing, depth=depth: wormhole(
            routing, 3, depth=depth, length="1:8"
        )
        for routing in HYPERCUBE_ROUTINGS
        for depth in (1, 4)
    },
    "dimension node": lambda: alone(machine(4, buffers=2, schedule="dimension")),
    "adaptive router": lambda: alone(wormhole("adaptive", 3)),
}
"""Larger ones, for `make test-long`."""


def behaviour(fabric: Fabric, stimuli: Sequence[int]) -> list[int]:
    """All outputs in each cycle, in Amaranth's simulator, for bits at all inputs."""
    dut = FabricComponent(fabric)
    leaves = fabric.boundary.items()
    inputs = Cat(member(dut, path) for path, leaf in leaves if leaf.flow == In)
    outputs = Cat(member(dut, path) for path, leaf in leaves if leaf.flow != In)
    seen: list[int] = []

    async def testbench(ctx: Any) -> None:
        for word in stimuli:
            ctx.set(inputs, word)
            seen.append(ctx.get(outputs))
            await ctx.tick()

    exercise(dut, testbench)
    return seen


def icarus(verilog: Path, stimuli: Sequence[int]) -> list[int]:
    """The same of exported Verilog."""
    ports = json.loads(Path(f"{verilog}.json").read_text())["ports"][2:]
    width: dict[str, int] = {}
    connections = []
    for port in ports:
        way, low = port["direction"], width.get(port["direction"], 0)
        width[way] = low + port["width"]
        connections.append(f".{port['name']}({way}s[{width[way] - 1}:{low}])")
    folder, name = verilog.parent, verilog.stem
    (folder / f"{name}.stimuli").write_text("\n".join(f"{word:x}" for word in stimuli))
    (folder / f"{name}.test.v").write_text(f"""
module test;
  reg clk = 0; integer at;
  reg [{width["input"] - 1}:0] stimuli [0:{len(stimuli) - 1}];
  reg [{width["input"] - 1}:0] inputs; wire [{width["output"] - 1}:0] outputs;
  network it (.clk(clk), .rst(1'b0), {", ".join(connections)});
  initial begin
    $readmemh("{name}.stimuli", stimuli);
    for (at = 0; at < {len(stimuli)}; at = at + 1) begin
      inputs = stimuli[at];
      #1 $displayh(outputs); clk = 1; #1 clk = 0;
    end
  end
endmodule
""")
    compile_ = ["iverilog", "-o", f"{name}.vvp", f"{name}.test.v", verilog.name]
    subprocess.run(compile_, cwd=folder, check=True)
    run = ["vvp", "-n", f"{name}.vvp"]
    done = subprocess.run(run, cwd=folder, check=True, capture_output=True, text=True)
    return [int(line, 16) for line in done.stdout.split()]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name", [long(name) if name not in QUICK else name for name in (*FABRICS, *MORE)]
)
def test_tools_read_it_and_it_does_what_amaranths_simulator_does(name: str, tmp_path: Path) -> None:
    """Nothing is undriven or doubly driven, there is no combinational loop around a cycle of nodes;
    random bits at all inputs, every output in every cycle."""
    fabric = (FABRICS | MORE)[name]()
    verilog = tmp_path / "network.v"
    summary = write_verilog(fabric, verilog)
    assert summary["modules"] == 1
    assert_lint_free([verilog])
    check_with_yosys([verilog])
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    width = sum(leaf.width for leaf in fabric.boundary.values() if leaf.flow == In)
    rng = random.Random(SEED)
    stimuli = [rng.getrandbits(width) for _ in range(200)]
    expected = behaviour(fabric, stimuli)
    assert icarus(verilog, stimuli) == expected
    assert len(set(expected)) > 20


def test_command_writes_a_node_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "router.v"
    words = "export hypercube n=2 routing=pcube payload=3 --node --top router -o"
    assert exit_status(*words.split(), str(path)) == 0
    assert f"{path}: module router with 1 cell of 1 distinct module(s);" in capsys.readouterr().out
    heading = path.read_text().split("\n\n")[0]
    assert heading.startswith("// Module router: one worm router.\n")
    listed = json.loads(Path(f"{path}.json").read_text())["ports"]
    ports = {port["name"]: (port["direction"], port["width"]) for port in listed}
    flit = {"payload": 2 + 3 + 1, "valid": 1, "ready": 1}
    streams = {
        f"{side}__{index}__{member}": (
            "input" if (side == "i") != (member == "ready") else "output",
            width,
        )
        for side in "io"
        for index in range(3)
        for member, width in flit.items()
    }
    fixed = {"clk": ("input", 1), "rst": ("input", 1), "address": ("input", 2)}
    assert ports == fixed | streams


@pytest.mark.long
def test_ports_of_a_node_alone(tmp_path: Path) -> None:
    """Where the fields of packets and of messages are."""
    summary = write_verilog(alone(machine(3, processors=2, buffers=3, age=5)), tmp_path / "node.v")
    ports = {port["name"]: port for port in summary["ports"]}
    packet = {"tag": (0, 4), "payload": (4, 3)}
    message = {"relative": (0, 3), "processor": (3, 1), "born": (4, 5), "payload": (9, 3)}
    for name, fields in (
        *((f"{side}__{p}__payload", packet) for side in "io" for p in range(2)),
        *((f"{side}_wire__{k}__payload", message) for side in "io" for k in range(3)),
    ):
        found = ports[name]["fields"].items()
        assert {field: (at["offset"], at["width"]) for field, at in found} == fields
    assert ports["address"] == {"name": "address", "direction": "input", "width": 3}
    assert {name for name in ports if name[:2] not in ("i_", "o_")} == {
        *("clk", "rst", "address", "crossed", "referred", "level")
    }


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("combining", "not combining_box, memory_module"),
        ("cube --partitions", "not output_queued_switch, partition_interface"),
    ],
)
def test_a_node_alone_of_networks_that_have_several(
    words: str, line: str, tmp_path: Path, call: Call
) -> None:
    call("export", *words.split(), "--node", "-o", str(tmp_path / "x.v")).refuses(
        f"Option --node needs a network whose cells are all alike, {line}"
    )
    assert list(tmp_path.iterdir()) == []
