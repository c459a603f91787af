"""What `import multicube` offers, and what its functions say to names that they don't know."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from operator import call
from pathlib import Path
from pkgutil import walk_packages

import multicube
import multicube.hdl
import multicube.hdl.graphs
import multicube.sim
import pytest
from amaranth.lib import wiring
from command_line import Call
from multicube.hdl import FAMILIES, MultistageNetwork, build
from multicube.hdl.bench import bench_for
from multicube.hdl.fabric.errors import InvalidType, InvalidValue
from multicube.sim import (
    Copies,
    Message,
    Request,
    Run,
    Trace,
    TracePacket,
    copy_messages,
    pattern,
    run_programs,
    send_messages,
    simulate,
    sweep,
)
from multicube.sim.command.entry_point import multicube as command
from multicube.sim.run.program_requests import Program
from refusals import refusals

ROOT = Path(__file__).parent.parent
FIGURE = re.compile(r"(fig|table|eq)[0-9A-Z]")
SHORT = {"cycles": 50, "warmup": 0, "bins": 8, "source_depth": 4, "engine": "amaranth"}


def _python(*words: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("package", [multicube, multicube.hdl, multicube.sim])
def test_every_name_of_a_package_is_there(package: object) -> None:
    assert sorted(package.__all__) == dir(package)
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'simulated'"):
        _ = package.simulated


@pytest.mark.long
def test_names_have_types(installed_stubs: Path) -> None:
    """For a user's type checker: a network of the library, and one that is made of its graph."""
    (installed_stubs / "own.py").write_text("""
from multicube import build, simulate
from multicube.hdl import CompleteNetwork, TorusNetwork
reveal_type(TorusNetwork(4))
reveal_type(CompleteNetwork(4))
reveal_type(build("torus"))
reveal_type(simulate("torus", load=0.1))
""")
    found = _python("-m", "mypy", "--ignore-missing-imports", "own.py", folder=installed_stubs)
    revealed = re.findall(r'Revealed type is "(?:\w+\.)*(\w+)"', found)
    assert revealed == ["TorusNetwork", "CompleteNetwork", "Network", "Result"], found


@pytest.fixture
def installed_stubs(tmp_path: Path) -> Path:
    """A folder from which a type checker sees the library as if it were installed."""
    package = tmp_path / "multicube"
    package.mkdir()
    for path in [
        *(ROOT / "sim/multicube").iterdir(),
        *(ROOT / x for x in ("hdl", "sim", "boards")),
    ]:
        (package / path.name).symlink_to(path)
    return tmp_path


def test_names_are_those_of_the_rooms() -> None:
    assert multicube.build is multicube.hdl.build
    assert multicube.write_verilog is multicube.hdl.write_verilog
    assert multicube.simulate is multicube.sim.simulate
    assert multicube.sweep is multicube.sim.sweep
    assert multicube.__version__ == version("multicube")


def test_what_is_not_used_is_not_imported(tmp_path: Path) -> None:
    code = """
import sys
import multicube, multicube.hdl, multicube.sim, multicube.hdl.fabric.errors
from multicube.sim.command import entry_point
multicube.__version__
try:
    entry_point.main(["--help"])
except SystemExit as end:
    assert end.code == 0
assert not {"amaranth", "numpy", "scipy", "matplotlib", "rich"} & set(sys.modules)
"""
    said = _python("-c", code, folder=tmp_path)
    assert re.search("^ +board +Networks on FPGA boards: ", said, re.MULTILINE)


def test_graphs_load_no_amaranth(tmp_path: Path) -> None:
    """None of their modules, nor what these import; as in a process that only measures graphs. Of
    a family these are its graphs."""
    code = """
import pkgutil, sys
from importlib import import_module
from multicube.hdl import families, graphs
found = [
    module.name
    for room in (graphs, families)
    for module in pkgutil.walk_packages(room.__path__, room.__name__ + ".")
    if room is graphs or module.name.endswith("_graph")
]
for name in found:
    import_module(name)
    assert "amaranth" not in sys.modules, name
print(len(found))
"""
    assert int(_python("-c", code, folder=tmp_path)) > 60


def test_signatures_are_in_the_room_of_links() -> None:
    for module in walk_packages(multicube.hdl.__path__, "multicube.hdl."):
        import_module(module.name)
    own = [kind for kind in _kinds(wiring.Signature) if kind.__module__.startswith("multicube.")]
    assert len(own) > 5
    assert {kind.__module__.rpartition(".")[0] for kind in own} == {"multicube.hdl.links"}


def _files() -> Iterator[Path]:
    """The files of the library."""
    return (path for room in ("hdl", "sim", "boards") for path in (ROOT / room).rglob("*.py"))


def test_signals_have_names() -> None:
    """Amaranth names a signal or a port of a memory by its line if that only assigns it; else the
    line says a name."""
    nameless = re.compile(
        r"^ +(?:\w+, .*= .*|\w+ = (?=.* if ))"
        r"(?:\bSignal(?:\.like)?|(?:read|write)_port)\((?!.*name=).*",
        re.M,
    )
    lines = {path: nameless.findall(path.read_text()) for path in _files()}
    assert len(lines) > 400
    assert {path: found for path, found in lines.items() if found} == {}


def test_texts_are_in_utf_8() -> None:
    """Without a word on it, Windows reads and writes files in the encoding of the country."""
    places = []
    for path in _files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _opens_text(node):
                words = [*node.args, *(each.value for each in node.keywords)]
                if not any(isinstance(w, ast.Constant) and w.value == "utf-8" for w in words):
                    places.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert places == []


def _opens_text(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(attr="read_text" | "write_text"):
            return True
        case ast.Name("open"):
            modes = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "mode")]
            return not any(isinstance(each, ast.Constant) and "b" in each.value for each in modes)
    return False


def _kinds(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


def test_no_file_name_twice() -> None:
    """But for figures of papers, where the folder is part of the name: `siegel/fig9.py`."""
    names: dict[str, list[Path]] = {}
    for path in _files():
        of_a_paper = path.is_relative_to(ROOT / "sim/papers") and FIGURE.match(path.stem)
        if path.stem != "__init__" and not of_a_paper:
            names.setdefault(path.name, []).append(path.relative_to(ROOT))
    assert len(names) > 400
    assert [paths for paths in names.values() if len(paths) > 1] == []


def test_files_that_are_named_exist() -> None:
    """In the documentation and in the code, by their paths; a word in capitals is any name."""
    rooms = r"(?:hdl|sim|boards|docs|tests|examples)/"
    named = re.compile(rf"(?<![\w/.-]){rooms}[\w/.-]+?(?:\.(?:py|md|toml)\b|/(?=`))")
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    texts += _files()
    found = [(path, name) for path in texts for name in named.findall(path.read_text())]
    assert len(found) > 100
    given = [each for each in found if not re.search(r"\b(X_|[A-Z]+\.)", each[1])]
    gone = [(path, name) for path, name in given if not (ROOT / name).exists()]
    assert gone == []


def test_help_imports_nothing_slow(tmp_path: Path) -> None:
    """One command after the other, in one process: the first that is slow is named."""
    commands = [[name] for name in command.subcommands] + [["board", "build"], ["board", "run"]]
    code = f"""
import sys
from multicube.sim.command import entry_point
for words in {commands!r}:
    try:
        entry_point.main([*words, "--help"])
    except SystemExit as end:
        assert end.code == 0
    slow = {{"amaranth", "amaranth.sim", "numpy", "scipy", "matplotlib", "tqdm", "joblib"}}
    assert not slow & set(sys.modules), (words, slow & set(sys.modules))
"""
    said = _python("-c", code, folder=tmp_path)
    usages = [f"Usage: multicube {' '.join(words)} " for words in commands]
    assert [usage for usage in usages if f"{usage}[" not in said and usage not in said] == []


def test_module_is_the_command(tmp_path: Path) -> None:
    said = _python("-m", "multicube", "--version", folder=tmp_path)
    assert said == f"multicube {version('multicube')}\n"


@pytest.mark.parametrize(
    ("words", "meant"), [(["simm"], "sim"), (["liste"], "list"), (["board", "bild"], "build")]
)
def test_unknown_command_suggests_the_nearest(words: list[str], meant: str, call: Call) -> None:
    status, out, err = call(*words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.endswith(f"not {words[-1]!r}; did you mean {meant!r}?\n")


def test_build_takes_a_text_and_names() -> None:
    for network in (
        build("cube", ports=16, switch="wormhole"),
        build("cube ports=16", switch="wormhole"),
        build("CUBE Ports=16 Switch=Wormhole"),
        build("Generalized-Cube", PORTS="16", switch="WORMHOLE"),
    ):
        assert (network.family, network.ports) == ("cube", 16)
        assert network.parameters["switch"] == "wormhole"


test_build_refuses = refusals(
    call,
    (lambda: build("tours"), "Network must be one of ..., not 'tours'; did you mean 'torus'?"),
    (lambda: build("cube", port=8), "...not 'port'; did you mean 'ports'?"),
    (lambda: build("cube switch=wormhol"), "...not 'wormhol'; did you mean 'wormhole'?"),
    (lambda: MultistageNetwork(8, switch="wormhol"), "...did you mean 'wormhole'?"),
    (lambda: build("cube ports=8", ports=8), "Parameter ports is given twice"),
    (lambda: build("cube", ports=8, Ports=8), "Parameter ports is given twice"),
    (lambda: build(""), "Network must be one of ..., not ''"),
    (lambda: build("cube 'ports=8"), "Words \"cube 'ports=8\" can't be read: No closing quotation"),
    (lambda: build("cube 8"), "Parameter must be written as name=value, not '8'"),
    error=InvalidValue,
)


def test_build_names_all_networks_and_parameters() -> None:
    text = build.__doc__
    for family in FAMILIES.values():
        assert family.name in text
        if family.preset is None:
            for about in family.parameters:
                assert f"{about.name}={about.default}" in text


@pytest.mark.long
def test_runs_take_a_name_with_parameters() -> None:
    expected = simulate(build("cube", ports=2), load=0.2, **SHORT)
    assert simulate("cube", ports=2, load=0.2, **SHORT) == expected
    assert simulate("cube ports=2", load=0.2, **SHORT) == expected
    curve = sweep("cube", [0.2], ports=2, refine=False, processes=1, **SHORT)
    assert curve.points[0].to_json() == expected.to_json()


@pytest.mark.long
def test_a_name_of_both_is_refused_unless_the_text_has_it() -> None:
    message = (
        r"^simulate\(\) and combining both have an argument operations: write "
        r"'combining operations=...' for the network's, or build it first$"
    )
    with pytest.raises(InvalidValue, match=message):
        simulate("combining", operations=["load"], **SHORT)
    result = simulate("combining operations=rp3 ports=2", operations=["load"], **SHORT)
    assert result.parameters["operations"] == "rp3"


test_errors_name_the_function_that_was_called = refusals(
    call,
    (lambda: simulate(build("cube"), lod=1), "simulate() ... 'lod'; did you mean 'load'?"),
    (lambda: simulate("cube", prots=8), "simulate() ... 'prots'; did you mean 'ports'?"),
    (lambda: simulate(build("cube"), ports=8), "simulate() has no argument 'ports'"),
    (lambda: sweep("cube", [0.5], load=1), "sweep() ... 'load'; did you mean 'loads'?"),
    (lambda: sweep("cube", [0.5], cycle=1), "sweep() ... 'cycle'; did you mean 'cycles'?"),
    (
        lambda: multicube.draw("cube", "a.svg", prots=8),
        "draw() has no argument 'prots'; did you mean 'ports'?",
    ),
    (lambda: MultistageNetwork(port=8), "MultistageNetwork(): ... 'port'; did you mean 'ports'?"),
    (lambda: MultistageNetwork(*range(99)), "MultistageNetwork(): too many positional arguments"),
    error=InvalidType,
)


def test_draw_writes_a_picture(tmp_path: Path) -> None:
    multicube.draw("cube", tmp_path / "a.pdf", ports=8, paths=[(6, 0)])
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InvalidType, match=r"^Network must be a network, not 5$"):
        multicube.draw(5, tmp_path / "b.pdf")


def _adds_one() -> Program:
    yield Request("fetch-and-add", 0, 1)


@pytest.mark.long
def test_representations_are_one_line_that_tells_what_it_is() -> None:
    network = build("cube", ports=4, depth=2)
    words = "cube ports=4 radix=2 routing=destination switch=output-queued payload=16 depth=2"
    assert (str(network), repr(network)) == (words, f"<{words}>")
    traffic = pattern("uniform", 4)
    assert repr(traffic) == "<Pattern uniform of 4 terminals>"
    run = Run(traffic, 0.25)
    assert repr(run).startswith("Run(traffic=<Pattern uniform of 4 terminals>, load=0.25, ")
    sources = run.sources(network)
    assert repr(sources) == "<SourcePlan of 4 terminals: BernoulliSource>"
    bench = bench_for(network, sources, bins=4)
    assert repr(bench) == f"<PacketBench of {words}: {len(bench.cells)} cells>"
    assert repr(network.fabric) == "<Fabric of 4 cells, 12 links>"
    assert repr(FAMILIES["cube"]) == "<Family cube>"
    trace = Trace("two", (TracePacket(0, 1, 2), TracePacket(5, 0, 3)))
    assert repr(trace) == "<Trace two of 2 packets>"
    result = simulate(network, traffic=trace, engine="amaranth")
    assert repr(result) == (
        f"<Result of {words}: two traffic, load 0.0833333, throughput 0.0625, "
        "latency 2.00 cycles, the trace spans 6 cycles, its delivery took 8>"
    )
    assert repr(result.latency) == "<Latency 2.00, p50 2, p95 2, p99 2, max 2 cycles>"
    curve = sweep(network, [0.1, 1], refine=False, processes=1, **SHORT)
    assert repr(replace(curve, points=curve.points[:1])) == (
        f"<Sweep of {words}: uniform traffic, 1 load from 0.1 to 0.1, not saturated>"
    )
    machine = build("connection-machine", n=2, combine="add")
    messages = [Message(source, 3, 10) for source in range(4)]
    assert repr(send_messages(machine, messages)) == (
        "<MessageRun of 4 messages: 1 combined, 3 delivered, 0 referred, in 4 cycles>"
    )
    assert repr(copy_messages(machine, [Copies(0, [1, 2, 3], 5)])) == (
        "<CopyRun of 2 rounds in 7 cycles>"
    )
    assert repr(run_programs(build("combining", ports=2), [_adds_one(), _adds_one()])) == (
        "<ProgramRun of 2 programs: 2 requests, 1 combined, 1 reached the memory, in 4 cycles>"
    )
