"""No store gives the numbers of another run: resume, checkpoint, saved states, records, heat."""

import json
import pickle
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
import pytest
from command_line import Call
from long_runs import long
from multicube.hdl import GraphNetwork, Network, build
from multicube.hdl.bench import PacketBench
from multicube.hdl.fabric.fabric import Fabric
from multicube.sim import Trace, TracePacket, pattern, read_records, rerun, simulate, sweep
from multicube.sim.engines.compiled import CompiledEngine, State
from multicube.sim.report.notebook import result_html
from multicube.sim.run.checkpoint import Checkpoint
from multicube.sim.run.record import identity
from multicube.sim.run.resume import FinishedPoints
from multicube.sim.run.run import Run

SHORT: dict[str, Any] = {"cycles": 100, "warmup": 0, "bins": 16}
SWEEP: dict[str, Any] = {**SHORT, "processes": 1, "refine": False}


def ring(latency: int) -> str:
    """A graph file of four nodes."""
    ends = [(0, 1), (1, 2), (2, 3), (3, 0)]
    links = [{"source": one, "target": two, "latency": latency} for one, two in ends]
    return json.dumps({"nodes": 4, "links": links})


def pair(latency: int) -> str:
    """Two linked nodes, as of BookSim2's `anynet`."""
    return f"router 0 node 0 router 1 {latency}\nrouter 1 node 1"


MATRICES = ("0,1,0,0\n1,0,0,0\n0,0,0,1\n0,0,1,0\n", "0,0,0,1\n0,0,1,0\n0,1,0,0\n1,0,0,0\n")
TRACES = tuple(
    "cycle,source,destination\n" + "".join(f"{n},{n % 4},{(n + step) % 4}\n" for n in range(60))
    for step in (1, 2)
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The file of a network or of traffic changes.


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("network", "traffic", "name", "contents"),
    [
        ("ring k=4 n=1", "file:p.txt", "p.txt", ("1 2 3 0", "3 0 1 2")),
        ("cube ports=4", "file:m.csv", "m.csv", MATRICES),
        ("cube ports=4", "one-each:file:p.txt", "p.txt", ("1 2 3 0", "1 1 1 1")),
        ("graph file=g.json", "uniform", "g.json", (ring(2), ring(5))),
        long("graph file=g.txt", "uniform", "g.txt", (pair(3), pair(7))),
    ],
)
def test_a_changed_file_is_another_run(
    network: str, traffic: str, name: str, contents: tuple[str, str], here: Path
) -> None:
    """In a sweep, a checkpoint and a record; what does not change stays the same run."""
    swept = "one-each" not in traffic
    stored = here / name
    fresh: list[Any] = []
    for content in (*contents, contents[0]):
        stored.write_text(content)
        built = build(network)
        alone = simulate(built, traffic=traffic, load=0.3, **SHORT)
        if swept:
            kept = sweep(built, [0.3], traffic=traffic, resume="r.json", **SWEEP)
            assert kept.points[0].to_json() == alone.to_json()
        fresh.append(alone)
    assert fresh[0].to_json() == fresh[2].to_json()
    assert fresh[0].latency != fresh[1].latency or fresh[0].terminals != fresh[1].terminals
    assert identity(fresh[0].run) != identity(fresh[1].run)
    if swept:
        points = json.loads(Path("r.json").read_text())["points"]
        assert len(points) == 4  # two loads (one of them close to 0) of two runs

    record = fresh[0].to_json()
    assert rerun(record).to_json() == record
    stored.write_text(contents[1])
    assert rerun(record).run != record["run"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("network", "options", "name", "contents"),
    [
        ("cube ports=4", {"traffic": "file:m.csv"}, "m.csv", MATRICES),
        ("cube ports=4", {"trace": "t.csv"}, "t.csv", TRACES),
        ("graph file=g.json", {}, "g.json", (ring(2), ring(5))),
    ],
)
def test_a_checkpoint_does_not_go_on_with_another_file(
    network: str, options: dict[str, str], name: str, contents: tuple[str, str], call: Call
) -> None:
    words = ["sim", *network.split(), "--json", "--checkpoint", "c.npz", "--engine", "compiled"]
    words += [word for key, value in options.items() for word in (f"--{key}", value)]
    if "trace" not in options:
        words += ["--cycles", "100", "--warmup", "0"]
    Path(name).write_text(contents[0])
    built = build(network)
    with pytest.MonkeyPatch.context() as patch:  # a checkpoint after each part
        patch.setitem(Checkpoint.__init__.__kwdefaults__, "seconds", 0)
        first = call(*words)
    assert first.status == 0
    assert Path("c.npz").exists()
    assert call(*words).record == json.loads(first.out)
    Path(name).write_text(contents[1])
    call(*words).refuses("c.npz is the checkpoint of another run")
    assert built.digest  # of the network as it was read


def test_a_network_is_its_file_as_it_was_read(here: Path) -> None:
    """Whatever happens to the file afterwards: also in other processes, and altered."""
    Path("g.json").write_text(ring(2))
    network = build("graph file=g.json")
    expected = simulate(network, load=0.3, **SHORT)
    Path("g.json").write_text(ring(5))
    parallel = sweep(network, [0.3], **{**SWEEP, "processes": 2})
    assert parallel.points[0].to_json() == expected.to_json()
    assert network.altered(depth=5).relation.graph.latency == 2
    assert build("graph file=g.json").relation.graph.latency == 5
    Path("h.json").write_text(ring(9))
    assert network.altered(file="h.json").relation.graph.latency == 9
    Path("g.json").unlink()
    assert network.altered().digest == network.digest != build("graph file=h.json").digest


@pytest.mark.parametrize(
    "words",
    [
        "hierarchical level1=ring:k=2,n=1+graph:file=g.json level2=ring:k=2,n=1",
        "combining-graph network=hierarchical:level1=[graph:file=g.json],level2=[ring:k=2,n=1]",
    ],
)
def test_parts_of_a_network_are_their_files_as_they_were_read(words: str) -> None:
    """Also in other processes: a resumed sweep had the points of another network."""
    Path("g.json").write_text(ring(1))
    network = build(words)
    Path("g.json").write_text(json.dumps({"nodes": 4, "links": [[0, 1], [1, 2], [2, 3]]}))
    assert build(words).digest != network.digest
    Path("g.json").unlink()
    altered = network.altered(depth=5).altered(depth=network.parameters["depth"])
    for copy in (altered, pickle.loads(pickle.dumps(network))):
        assert copy.digest == network.digest
        assert copy.fabric.digest == network.fabric.digest


def test_a_network_is_its_graph_as_it_was_given() -> None:
    graph = nx.cycle_graph(4)
    network = GraphNetwork(graph)
    path, digest = network.path(0, 2), network.digest
    graph.add_edge(0, 2)
    for copy in (pickle.loads(pickle.dumps(network)), network.altered()):
        assert (copy.path(0, 2), copy.digest) == (path, digest)
    assert GraphNetwork(graph).path(0, 2) != path


@pytest.mark.long
def test_rerun_says_what_has_changed(call: Call) -> None:
    Path("g.json").write_text(ring(2))
    Path("p.txt").write_text("1 2 3 0")
    words = ["sim", "graph", "file=g.json", "--traffic", "file:p.txt", "--json"]
    words += ["--cycles", "100", "--warmup", "0"]
    Path("record.json").write_text(call(*words).out)
    assert call("rerun", "record.json").out.startswith("row 1: equal")
    Path("p.txt").write_text("3 0 1 2")
    outcome = call("rerun", "record.json")
    assert outcome.status == 1
    assert "the traffic has changed since" in outcome.out
    assert "the network" not in outcome.out
    Path("p.txt").write_text("1 2 3 0")
    Path("g.json").write_text(ring(5))
    outcome = call("rerun", "record.json", "--json")
    (row,) = json.loads(outcome.out)["rows"]
    assert (outcome.status, row["equal"], row["changed"]) == (1, False, ["network"])
    (record,) = read_records("record.json")
    Path("g.json").write_text(ring(2) + " ")  # the same graph in another file
    assert record.changes(rerun(record)) == []


def test_heat_of_another_graph_is_refused(call: Call) -> None:
    Path("h.json").write_text(ring(2))
    built = build("graph file=h.json")
    result = simulate(built, load=0.3, **SHORT)
    assert "<svg" in result_html(result)
    Path("h1.json").write_text(json.dumps(result.to_json()))
    words = ("draw", "graph", "file=h.json", "--heat", "h1.json", "-o", "h.svg")
    assert call(*words).status == 0
    Path("h.svg").unlink()
    Path("h.json").write_text(ring(5))
    outcome = call(*words)
    assert (outcome.status, outcome.out) == (2, "")
    assert "as it was before its file changed" in outcome.err
    assert not Path("h.svg").exists()
    assert "<svg" not in result_html(result)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("left", [(), ("engine",), ("colour",)])
def test_nothing_is_equal_to_nothing(left: tuple[str, ...], call: Call) -> None:
    """A record without measured values can be run again, but not be compared."""
    result = simulate("cube", ports=2, **SHORT).to_json() | {"colour": "red"}
    kept = {name: result[name] for name in ("network", "parameters", "run", *left)}
    Path("record.json").write_text(json.dumps(kept))
    call("rerun", "record.json").refuses(
        "Row 1 of record.json records no measured value to compare"
    )
    assert rerun(kept).throughput == result["throughput"]


# Code of a user changes.

OWN = """
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from multicube.hdl.boxes.packet_switches import OutputQueuedSwitch
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.families.multistage.switching_mode import SwitchingMode


class OwnSwitch(wiring.Component):
    def __init__(self, packet, radix):
        self.packet, self.radix = packet, radix
        ports = stream.Signature(packet)
        super().__init__({"i": In(ports).array(radix), "o": Out(ports).array(radix)})

    def elaborate(self, platform):
        m = Module()
        inner = OutputQueuedSwitch(self.packet, radix=self.radix, depth=DEPTH[0])
        m.submodules.inner = inner
        for i in range(self.radix):
            wiring.connect(m, wiring.flipped(self.i[i]), inner.i[i])
            wiring.connect(m, inner.o[i], wiring.flipped(self.o[i]))
        return m


class Own(SwitchingMode):
    name = "own"
    description = "an own switch"
    depth = 1

    def box(self, given, packet, place):
        return CellType(OwnSwitch, packet=packet, radix=place.radix)
"""


def imported(depth: int) -> ModuleType:
    """The module with this depth in its switch, as a new interpreter would import it.

    The depth is in a list, which is no part of what is known of the code that names it.
    Not from a file: Python would take the bytecode of one as long that was written just before.
    """
    module = ModuleType("own_switch")
    sys.modules[module.__name__] = module
    exec(f"DEPTH = [{depth}]\n{OWN}", module.__dict__)
    return module


@pytest.fixture
def own() -> Iterator[Callable[[int], Network]]:
    yield lambda depth: build("cube", ports=4, switch=imported(depth).Own())
    sys.modules.pop("own_switch", None)


def test_a_changed_component_is_another_run(own: Callable[[int], Network]) -> None:
    """Its class has the same name and parameters; only what it elaborates to differs."""
    for depth in (1, 4, 1):
        network = own(depth)
        kept = sweep(network, [0.9], resume="r.json", **SWEEP)
        assert kept.points[0].to_json() == simulate(network, load=0.9, **SHORT).to_json()
    assert own(1).digest == own(1).digest != own(4).digest
    assert len(json.loads(Path("r.json").read_text())["points"]) == 4


def test_a_result_names_a_switch_of_ones_own(own: Callable[[int], Network]) -> None:
    """It is not taken for that of a network of the catalogue."""
    network = own(1)
    result = simulate(network, load=0.9, **SHORT)
    assert rerun(result) == result
    assert "switch=own" in str(network)
    assert "switch=own" in repr(result)
    record = json.loads(json.dumps(result.to_json()))
    assert record["parameters"]["switch"] == "own"
    with pytest.raises(ValueError, match=r"^Parameter switch must be one of .*, not 'own'$"):
        rerun(record)


def test_a_state_is_of_the_contents_it_began_with() -> None:
    """The contents of memories are part of what a fabric is: here those that hold a trace."""

    def traced(destination: int) -> Fabric:
        trace = Trace("t", (TracePacket(0, 0, destination), TracePacket(3, 1, 0)))
        network = build("cube", ports=2)
        return PacketBench(network, trace.sources(network), bins=8)

    with CompiledEngine(traced(0)) as one, CompiledEngine(traced(1)) as other:
        assert one.fabric.digest != other.fabric.digest
        state = one.save()
        one.restore(state)
        with pytest.raises(ValueError, match="straps or contents differ"):
            other.restore(state)
        state.save("state.npz")
        with pytest.raises(ValueError, match="is the checkpoint of another run"):
            other.load("state.npz")


# Files that several write, or that are not what they seem.


def test_sweeps_of_one_file_keep_each_others_points() -> None:
    """All had opened it before the others wrote."""
    network = build("cube", ports=2)

    def points(seed: int) -> FinishedPoints:
        traffic = pattern("uniform", 2)
        return FinishedPoints("r.json", network, lambda load: Run(traffic, load, 100, 0, seed), 16)

    results = {seed: simulate(network, load=0.3, seed=seed, **SHORT) for seed in (1, 2, 3)}
    opened = {seed: points(seed) for seed in results}
    for seed, result in results.items():
        opened[seed].add([(0.3, result)])
    for seed, result in results.items():
        again = points(seed)
        again.look_for([0.3, 0.4])
        assert list(again) == [0.3]
        assert again[0.3] == result


@pytest.mark.long
def test_sweeps_at_once_keep_all_points() -> None:
    """Real processes; each adds several points, one after the other."""
    script = textwrap.dedent("""
        import sys
        from multicube.sim import sweep
        sweep("cube", [0.1, 0.2, 0.3, 0.4], ports=2, cycles=50, warmup=0, bins=16, processes=1,
              refine=False, resume="r.json", seed=int(sys.argv[1]))
    """)
    sweep("cube", [0.1], ports=2, resume="r.json", **SWEEP)  # so that all is compiled
    begun = [subprocess.Popen([sys.executable, "-c", script, str(seed)]) for seed in (1, 2, 3)]
    assert [each.wait() for each in begun] == [0, 0, 0]
    points = json.loads(Path("r.json").read_text())["points"]
    assert len(points) == 2 + 3 * 5  # each with one load close to 0


@pytest.mark.long
def test_a_large_checkpoint_of_another_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of a gigabyte in a quarter of a megabyte: other arrays, and another run's."""
    monkeypatch.setitem(Checkpoint.__init__.__kwdefaults__, "seconds", 0)
    options = {"engine": "compiled", "checkpoint": "c.npz", **SHORT}
    simulate("cube", ports=2, **options)
    with np.load("c.npz") as parts:
        head, note = parts["head"], parts["note"]
    for other in (head, np.array(str(head).replace('"run": "', '"run": "0'))):
        np.savez_compressed("c.npz", head=other, note=note)
        with (
            zipfile.ZipFile("c.npz", "a", zipfile.ZIP_DEFLATED) as files,
            files.open("0_0.npy", "w", force_zip64=True) as file,
        ):
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<u4", "fortran_order": False, "shape": (1 << 26,)}
            )
            for _ in range(1 << 4):
                file.write(bytes(1 << 24))
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"^c.npz (holds no saved state|is the checkpoint)"):
            simulate("cube", ports=2, **options)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
        tracemalloc.stop()
    np.savez_compressed("c.npz", head=np.array(" " * (1 << 20)), note=note)
    with pytest.raises(ValueError, match="its head has more than 1048576 bytes"):
        State.load("c.npz")
