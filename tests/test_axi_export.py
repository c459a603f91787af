# amaranth: UnusedElaboratable=no
"""Networks with AXI4-Stream ports, as they are exported; FuseSoC core files beside them."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from command_line import command_refusals, exit_status
from driving import exercise
from multicube.hdl import AXI_CLOCK, AxiStreamNetwork, PacketNetwork, build
from multicube.hdl.export.top_ports import Clock, port_list
from multicube.hdl.export.verilog import verilog_text, write_verilog
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.networks.partitioned import PartitionedNetwork
from multicube.hdl.primitives.round_robin import RoundRobin
from multicube.sim.engines.compiled.netlist import lower
from verilog_tools import assert_lint_free, check_with_yosys

yaml = pytest.importorskip("yaml")


def _export(folder: Path, family: str, **parameters: Any) -> Path:
    """A Verilog file with `network` on top, and a core file beside it."""
    path = folder / f"{family}.v"
    network = AxiStreamNetwork(build(family, **parameters))
    write_verilog(network.fabric, path, clock=AXI_CLOCK, core=True)
    return path


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of flits."""
    folder = tmp_path_factory.mktemp("axis")
    return _export(folder, "omega", ports=4, switch="wormhole", routing="xor", payload=20)


def _ports(family: str, **parameters: Any) -> dict[str, tuple[str, int]]:
    fabric = AxiStreamNetwork(build(family, **parameters)).fabric
    ports = port_list(fabric, AXI_CLOCK)
    return {port["name"]: (port["direction"], port["width"]) for port in ports}


def _streams(terminals: int, sent: dict[str, int], received: dict[str, int]) -> dict:
    """The ports that there should be."""
    expected = {"aclk": ("input", 1), "aresetn": ("input", 1)}
    for t in range(terminals):
        for side, fields, forward in (("s", sent, "input"), ("m", received, "output")):
            backward = "output" if forward == "input" else "input"
            expected[f"{side}_axis_{t}_tvalid"] = (forward, 1)
            expected[f"{side}_axis_{t}_tready"] = (backward, 1)
            for name, width in fields.items():
                expected[f"{side}_axis_{t}_{name}"] = (forward, width)
    return expected


def test_ports_of_flits_with_xor_tags() -> None:
    """Their tags tell the source; a payload of 20 bits takes three bytes."""
    assert _ports("omega", ports=8, switch="wormhole", routing="xor", payload=20) == _streams(
        8, {"tdata": 24, "tdest": 3, "tlast": 1}, {"tdata": 24, "tdest": 3, "tlast": 1, "tid": 3}
    )


def test_ports_of_single_flits_with_destination_tags() -> None:
    """Every beat is a packet, so that nobody need say which is the last."""
    assert _ports("cube", ports=4, payload=16) == _streams(
        4, {"tdata": 16, "tdest": 2}, {"tdata": 16, "tdest": 2, "tlast": 1}
    )


def test_ports_with_broadcast_masks() -> None:
    """A mask hides the source, also from XOR tags."""
    assert _ports("cube", ports=4, payload=1, routing="xor", broadcast=1) == _streams(
        4, {"tdata": 8, "tdest": 2, "tuser": 2}, {"tdata": 8, "tdest": 2, "tlast": 1}
    )


def test_ports_tell_digits_and_padding() -> None:
    fabric = AxiStreamNetwork(build("torus", k=3, n=2, payload=9)).fabric
    fields = {port["name"]: port.get("fields") for port in port_list(fabric, AXI_CLOCK)}
    assert fields["s_axis_8_tdest"] == {
        "digit_0": {"offset": 0, "width": 2},
        "digit_1": {"offset": 2, "width": 2},
    }
    assert fields["m_axis_8_tdata"] == {"payload": {"offset": 0, "width": 9}}
    assert fields["m_axis_8_tlast"] is None


def test_port_list_beside_it_is_true(exported: Path) -> None:
    text = exported.read_text()
    header = re.search(r"^module network \((.*?)\);", text, re.DOTALL | re.M)[1]
    found = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+),?$", header, re.M)
    assert json.loads(Path(f"{exported}.json").read_text())["ports"] == [
        {"name": name, "direction": direction, "width": int(high or 0) + 1}
        | ({"fields": {"payload": {"offset": 0, "width": 20}}} if high == "23" else {})
        for direction, high, name in found
    ]
    assert "aresetn          input           synchronous, active low" in text


@pytest.mark.long
def test_tools_have_nothing_to_say(exported: Path) -> None:
    assert_lint_free([exported])
    assert "Warning" not in check_with_yosys([exported])


@pytest.mark.long
def test_tools_have_nothing_to_say_of_others(tmp_path: Path) -> None:
    """Masks, queues behind outputs, digits, odd widths."""
    paths = [
        _export(tmp_path, "cube", ports=4, broadcast=1, routing="xor", payload=8),
        _export(tmp_path, "flip", ports=4, switch="circuit", length="1:2", payload=1),
        _export(tmp_path, "torus", k=3, n=2, payload=9),
        _export(tmp_path, "connection-machine", n=2, processors=2, combine="add"),
        _export(tmp_path, "dcsh", k=3, n=2, broadcast=1),
    ]
    for path in paths:
        assert_lint_free([path])
    assert "Warning" not in check_with_yosys(paths)


@pytest.mark.long
def test_fusesoc_takes_the_core(exported: Path, tmp_path: Path) -> None:
    """It is what its author meant, and FuseSoC can set up a run of the linter with it."""
    pytest.importorskip("fusesoc")
    text = exported.with_suffix(".core").read_text()
    assert text.startswith("CAPI=2:\n")
    core = yaml.safe_load(text)
    assert core["name"] == f"multicube:networks:network:{version('multicube')}"
    assert core["filesets"]["rtl"] == {"files": ["omega.v"], "file_type": "verilogSource"}
    assert {target["toplevel"] for target in core["targets"].values()} == {"network"}
    program = "import sys; from fusesoc.main import main; sys.exit(main())"
    words = [
        "--cores-root",
        str(exported.parent),
        "run",
        "--target",
        "lint",
        "--setup",
        core["name"],
    ]
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (arguments,) = tmp_path.glob("build/*/lint/*.vc")
    assert {"--lint-only", "-Wall"} <= set(arguments.read_text().split())
    assert list(arguments.parent.rglob("omega.v"))


def _follows(fabric: Fabric) -> dict[Pin, set[Pin]]:
    """Of each output of a fabric, the inputs that it depends on within a cycle."""
    modules = {type_: lower(type_.build(), type_.name) for type_ in fabric.types()}
    found = {}
    for path, leaf in fabric.boundary.items():
        output = Pin(None, path)
        if output not in fabric.drivers:
            assert leaf.flow.name == "In"
            continue
        seen, inputs, stack = set(), set(), [fabric.drivers[output]]
        while stack:
            pin = stack.pop()
            if pin in seen:
                continue
            seen.add(pin)
            if pin.cell is None:
                inputs.add(pin)
                continue
            cell = fabric.cells[pin.cell]
            for source in modules[cell.type].depends[pin.path]:
                if source[0] not in cell.straps:
                    stack.append(fabric.drivers[Pin(cell.name, source)])
        found[output] = inputs
    return found


NETWORKS: dict[str, dict[str, Any]] = {
    "cube": {"ports": 4},
    "omega": {"ports": 4, "switch": "single-buffered"},
    "flip": {"ports": 4, "switch": "circuit", "length": "1:4"},
    "torus": {"k": 3, "n": 1},
    "hypercube": {"n": 2},
    "dcsh": {"k": 2, "n": 1, "broadcast": 1},
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("family", NETWORKS)
def test_no_path_without_a_register(family: str) -> None:
    """AXI4-Stream wants none from any input of a component to any output of it."""
    paths = _follows(AxiStreamNetwork(build(family, **NETWORKS[family])).fabric)
    assert {output: inputs for output, inputs in paths.items() if inputs} == {}


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        "cube switch=input-queued refill=yes",
        "cube routing=xor broadcast=1",
        "cube switch=cut-through length=1:4",
        "cube switch=cut-through length=4 depth=4 queues=crosspoint",
        "cube switch=unbuffered resubmit=4",
        "cube switch=wormhole policy=drop length=1:4",
        "cube switch=wormhole replication=2",
        "cube switch=circuit policy=drop extra_stage=1",
        "cube extra_stage=1 depth=1",
        "mesh k=3",
        "ring k=3",
        "hypercube n=2 routing=adaptive",
        "hypercube n=2 routing=pcube",
        "dcsh k=3 n=1",
        "connection-machine n=2",
        "connection-machine n=2 processors=2 schedule=parallel combine=add",
        "aspro ports=4",
    ],
)
def test_no_path_without_a_register_in_others(words: str) -> None:
    family, *rest = words.split()
    test = dict(word.split("=") for word in rest)
    if family == "cube":
        test["ports"] = "4"
    paths = _follows(AxiStreamNetwork(build(family, **test)).fabric)
    assert {output: inputs for output, inputs in paths.items() if inputs} == {}


def test_search_for_paths_finds_some() -> None:
    """With the streams of the library, and with an output that has no queue."""
    paths = _follows(build("cube", ports=4).fabric)
    assert Pin(None, ("i", 1, "valid")) in paths[Pin(None, ("i", 3, "ready"))]
    network = build("dcsh", k=2, n=1, broadcast=1)
    network.transparent = False
    paths = _follows(AxiStreamNetwork(network).fabric)
    ready = Pin(None, ("m_axis_0_tready",))
    assert ready in paths[Pin(None, ("m_axis_0_tvalid",))]


@pytest.mark.parametrize(
    ("family", "parameters", "more"),
    [("cube", {"ports": 2}, 0), ("cube", {"ports": 2, "switch": "circuit"}, 1)],
    ids=["output-queued", "circuit"],
)
def test_latency(family: str, parameters: dict[str, Any], more: int) -> None:
    """That of the network, and one cycle more where the outputs have queues."""

    def until_valid(design: Any, stimulus: Any, valid: Any) -> int:
        waited = []

        async def testbench(ctx: Any) -> None:
            for signal, value in stimulus:
                ctx.set(signal, value)
            cycles = 0
            while not ctx.get(valid):
                await ctx.tick()
                cycles += 1
            waited.append(cycles)

        exercise(design, testbench, limit=50)
        return waited[0]

    network = build(family, **parameters)
    stimulus = [(network.i[0].payload.tag, 1), (network.i[0].valid, 1), (network.o[1].ready, 1)]
    alone = until_valid(network, stimulus, network.o[1].valid)
    axis = AxiStreamNetwork(build(family, **parameters))
    stimulus = [(axis.s_axis_0_tdest, 1), (axis.s_axis_0_tvalid, 1), (axis.m_axis_1_tready, 1)]
    assert until_valid(axis, stimulus, axis.m_axis_1_tvalid) == alone + more


def _call(capsys: pytest.CaptureFixture, *words: str) -> tuple[int, str, str]:
    left = exit_status(*words)
    return left, *capsys.readouterr()


def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "export cube ports=2 --ports axis --core --top cube2 -o x.v --json"
    status, out, _ = _call(capsys, *words.split())
    assert status == 0
    said = json.loads(out)
    assert (said["output"], said["core"], said["top"]) == ("x.v", "x.core", "cube2")
    assert said["ports"][1] == {"name": "aresetn", "direction": "input", "width": 1}
    assert "// Module cube2: cube of 2 AXI4-Stream terminals." in Path("x.v").read_text()
    assert yaml.safe_load(Path("x.core").read_text())["targets"]["lint"]["toplevel"] == "cube2"

    status, out, _ = _call(capsys, "export", "cube", "ports=2", "--core", "-o", "y.v")
    assert status == 0
    assert out.endswith("listed in y.v.json; the FuseSoC core is y.core\n")
    ends = (".core", ".sdc", ".sv", ".v", ".v.json", ".veo", ".xdc", ".xml")
    files = [f"{name}{end}" for name in "xy" for end in ends]
    assert sorted(path.name for path in tmp_path.iterdir()) == files


test_command_rejects = command_refusals(
    "export -o net.v",
    ("cube --ports axy", "'axy' is not one of 'streams', 'axis', 'axi', 'axi5', 'wishbone'"),
    ("cube --ports axis --rows 4", "Option --rows needs the ports of a bus, not --ports axis"),
    ("cube --ports axis --reorder", "Option --reorder needs --ports axi or axi5, not axis"),
    ("cube --ports axi --node", "AXI4 ports need a whole network, without --node"),
    ("cube --ports wishbone payload=20", "Data width must be 8, 16, 32 or 64 bits, not 20"),
    ("combining --ports axis", "need a network that carries packets, not combining"),
    ("cube switch=unbuffered --ports axis", "need a network that loses no packet, but this "),
    ("cube parity=packet --ports axis", "need a network that loses no packet, but this "),
    ("cube --ports axis --partitions", "need a whole network, without --partitions"),
    ("cube --ports axis --node", "need a whole network, without --node"),
    ("cube --core -o net.core", "Output net.core would be taken for a core file"),
    part=True,
)


def test_axi_stream_network_rejects_what_is_no_network() -> None:
    with pytest.raises(TypeError, match=r"^Network must be a packet-switching network, not "):
        AxiStreamNetwork(PartitionedNetwork(build("cube")))


def test_network_is_transparent() -> None:
    """Those whose outputs need a queue; all others do without."""
    networks: dict[bool, list[PacketNetwork]] = {
        True: [build("cube", switch="circuit"), build("dcsh", broadcast=1)],
        False: [build("cube"), build("dcsh"), build("torus"), build("cube", broadcast=1)],
    }
    for transparent, kinds in networks.items():
        assert {network.transparent for network in kinds} == {transparent}


@pytest.mark.long
def test_names_of_a_clock_are_taken() -> None:
    fabric = Fabric.alone(CellType(RoundRobin, count=2))
    with pytest.raises(ValueError, match=r"^Port name 'request' is already taken by the clock"):
        verilog_text(fabric, clock=Clock("request", "reset"))
    text = verilog_text(fabric, clock=Clock("clock", "reset"))
    assert ".clk(clock)" in text
    assert ".rst(reset)" in text
    assert "wire rst;" not in text
