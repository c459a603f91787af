# amaranth: UnusedElaboratable=no
"""Arguments that are of no use: one line names them, and nothing fails deep inside."""

import gc
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import multicube
import numpy as np
import pytest
from amaranth.lib.wiring import In
from multicube import LivePage, draw, hdl, sim
from multicube.hdl import (
    FAMILIES,
    AxiStreamNetwork,
    BirrdNetwork,
    BirrdPlan,
    BoxControlledNetwork,
    CircuitNetwork,
    InputQueuedSwitch,
    InterchangeBox,
    MultiClockNetwork,
    MulticubeError,
    MultidimensionalMemory,
    OutputQueuedSwitch,
    PartitionedNetwork,
    ReconfigurableExtraStageCube,
    StageControlledNetwork,
    TerminalClocks,
    build,
    multistage_plan,
    write_verilog,
)
from multicube.hdl.bench import Bench, bench_for
from multicube.hdl.export.top_ports import Clock
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.clos.clos_graph import Clos
from multicube.hdl.links.packet import Packet
from multicube.hdl.networks.family import Family
from multicube.sim import (
    ComputerPage,
    Flow,
    Messenger,
    Run,
    Scale,
    Simulator,
    Trace,
    TracePacket,
    Workload,
    WorkloadMessage,
    compare,
    copy_messages,
    delay_bounds,
    pattern,
    predict,
    read_chakra,
    read_netrace,
    read_records,
    read_trace,
    read_workload,
    rerun,
    run_collective,
    run_computer,
    run_passes,
    run_programs,
    run_replies,
    run_workload,
    save_sweep,
    send_messages,
    simulate,
    simulate_runs,
    sweep,
    write_c_library,
    write_timeline,
)
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.engine_timings import time_engines
from started import run_on_full_disk

NETWORK = build("cube", ports=2)
NO_TRAFFIC = (
    "Traffic must be a text, a list of destinations, a matrix, a function or a pattern, not 5"
)
RUN = Run(pattern("uniform", 2), 0.5, 20, 0)


def one_packet(*words: Any) -> Trace:
    return Trace("one", (TracePacket(*words),))


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: simulate(5), "Network must be a network, not 5"),
    (lambda: sweep(None, [0.1]), "Network must be a network, not None"),
    (lambda: list(time_engines("cube")), "Network must be a network, not 'cube'"),
    (lambda: simulate(NETWORK, traffic=5), NO_TRAFFIC),
    (lambda: sweep(NETWORK, [0.1], traffic=5), NO_TRAFFIC),
    (lambda: simulate(NETWORK, load="x"), "Load must be a number, not 'x'"),
    (lambda: simulate(NETWORK, load=True), "Load must be a number, not True"),
    (lambda: sweep(NETWORK, [None]), "Load must be a number, not None"),
    (lambda: sweep(NETWORK, 0.5), "Loads must be a sequence of numbers, not 0.5"),
    (lambda: sweep(NETWORK, np.array([])), "Loads must be given, at least one"),
    (lambda: simulate(NETWORK, operations=5), "Operations must be a sequence of names, not 5"),
    (lambda: simulate(NETWORK, faults=[5]), "Fault must be a text, not 5"),
    (lambda: simulate(NETWORK, engine="warp"), "Engine must be one of auto, compiled, amaranth"),
    (lambda: simulate_runs(NETWORK, []), "Runs must be given, at least one"),
    (lambda: simulate_runs(NETWORK, [5]), "Run must be a Run, not 5"),
    (lambda: simulate_runs(NETWORK, [RUN], threads=np.nan), "Threads must be an integer, not nan"),
    (lambda: simulate_runs(NETWORK, [RUN], threads=0), "Threads must be from 1 to 1024, not 0"),
    (
        lambda: simulate(NETWORK, engine="amaranth", threads=2),
        "Engine must be compiled to run on 2 threads, not amaranth",
    ),
    (lambda: pattern(5, 4), NO_TRAFFIC),
    (lambda: pattern("uniform", "4"), "Ports must be an integer, not '4'"),
    (lambda: list(time_engines(NETWORK, seconds="x")), "Seconds must be a number, not 'x'"),
    (lambda: one_packet(1.5, 0, 1), "cycle must be an integer, not 1.5"),
    (lambda: one_packet(1, 0, 1, True), "length must be an integer, not True"),
    (lambda: simulate(NETWORK, traffic=Trace("no", ())), "Trace no holds no packets"),
    (lambda: write_verilog("cube", "a.v"), "Fabric must be a network or a Fabric, not 'cube'"),
    (lambda: CompiledEngine("x"), "Fabric must be a Fabric, not 'x'"),
    (lambda: CompiledEngine([]), "Fabrics must be given, at least one"),
]


@pytest.mark.parametrize(("wrong", "message"), CALLS)
def test_wrong_arguments_are_named(
    wrong: Callable[[], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MulticubeError) as caught:
        wrong()
    assert str(caught.value).startswith(message)
    assert not list(tmp_path.iterdir())


ODD: list[Any] = [
    *(True, None, -1, 0, 10**30, 10**5000, 1.5, np.nan, np.inf, 1 + 2j, ...),
    *("?", "", "\ud800", "a\0b", b"x", [], [1], (), {}, {1: 2}, {1, 2}),
    *(object(), lambda *given: 1, int, np.array([1, 2]), np.eye(2), np.float32(2.5), np.int64(3)),
]
"""Values that are of no use nearly everywhere."""

RECORD = {"network": "cube", "parameters": {"ports": 2}, "run": {"cycles": 20, "warmup": 0}}

SHORT: dict[str, Any] = {"cycles": 20, "warmup": 0}

SWEEP = sweep(NETWORK, [0.2], refine=False, processes=1, **SHORT)

ASKED: dict[Callable[..., Any], dict[str, Any]] = {
    build: {"name": "cube"},
    draw: {"network": NETWORK, "path": "a.svg"},
    sweep: {"network": NETWORK, "loads": [0.2], "refine": False, "processes": 1, "cycles": 20},
    compare: {"networks": [NETWORK], "loads": [0.2], "refine": False, "processes": 1, "cycles": 20},
    run_computer: {"program": "program.c", "network": NETWORK},
    ComputerPage: {"program": "program.c", "network": NETWORK},
    write_c_library: {"network": NETWORK, "folder": "c"},
    write_verilog: {"fabric": Fabric({"i": In(1)}), "path": "a.v"},
    LivePage: {"network": NETWORK},
    simulate: {"network": NETWORK, **SHORT},
    simulate_runs: {"network": NETWORK, "runs": [RUN]},
    multistage_plan: {"name": "cube", "ports": 8},
    pattern: {"traffic": "uniform", "ports": 2},
    predict: {"network": NETWORK, "load": 0.5, "uniform": True},
    read_records: {"path": "run.json"},
    read_trace: {"path": "trace.csv", "ports": 2},
    rerun: {"record": RECORD},
    run_passes: {"network": NETWORK, "passes": [[1, 0]]},
    run_programs: {"network": build("combining", ports=2), "programs": []},
    save_sweep: {"sweep": SWEEP, "path": "a.svg"},
    send_messages: {"network": NETWORK, "messages": []},
    copy_messages: {"network": NETWORK, "copies": []},
    Messenger: {"network": NETWORK},
    Simulator: {"toplevel": InterchangeBox(2, 4)},
    Run: {"traffic": pattern("uniform", 2)},
    Trace: {"name": "one", "packets": (TracePacket(0, 0, 1),)},
    TracePacket: {"cycle": 0, "source": 0, "destination": 1},
    WorkloadMessage: {"id": 0, "source": 0, "destination": 1},
    Workload: {"name": "one", "messages": (WorkloadMessage(0, 0, 1),)},
    read_workload: {"path": "workload.csv"},
    read_netrace: {"path": "trace.tra"},
    read_chakra: {"prefix": "trace"},
    Scale: {},
    Flow: {"source": 0, "destination": 1, "rate": 0.5},
    run_replies: {"network": NETWORK, "reply": (0, 0), "cycles": 5},
    delay_bounds: {"network": build("mesh", k=2, n=1)},
    run_collective: {"network": NETWORK, "kind": "broadcast"},
    run_workload: {"network": NETWORK, "workload": Workload("one", (WorkloadMessage(0, 0, 1),))},
    write_timeline: {"run": None, "path": "a.json"},
    TerminalClocks: {},
    MultiClockNetwork: {"network": NETWORK},
    AxiStreamNetwork: {"network": NETWORK},
    PartitionedNetwork: {"network": NETWORK},
    ReconfigurableExtraStageCube: {"network": build("cube", ports=4, extra_stage=1)},
    MultidimensionalMemory: {"size": 4},
    CircuitNetwork: {"ports": 4},
    BirrdNetwork: {"ports": 4, "shape": 4},
    BirrdPlan: {"ports": 4},
    BoxControlledNetwork: {"graph": Clos(2, 2, 2), "shape": 4},
    StageControlledNetwork: {"ports": 4, "shape": 4},
    InterchangeBox: {"radix": 2, "shape": 4},
    InputQueuedSwitch: {"packet": Packet(1, 4), "radix": 2, "depth": 2},
    OutputQueuedSwitch: {"packet": Packet(1, 4), "radix": 2, "depth": 2},
}
"""What is called with each of its arguments replaced by something odd, and its usual arguments."""

LONGEST = 1000
"""Characters of a refusal."""

SLOW = {(each, name) for each in (sweep, compare) for name in ("processes", "scheduler", "resume")}
"""What takes time if it is right; other tests look at these."""

PLAIN = {
    *("AXI_CLOCK", "BoxState", "FAMILIES", "MulticubeError", "Network", "PacketNetwork"),
    *("Activity", "Copies", "CopyRun", "Energy", "Message", "MessageRun", "Pause", "ProgramRun"),
    *("ProgramsStuck", "Record", "Request", "Result", "SimulationError", "Sweep", "__version__"),
    *("Comparison", "MessageTimes", "PathPart", "WorkloadRun", "CollectiveRun", "ComputerRun"),
    *("ClassResult", "FlowBound", "ProgramFault", "ReplyRun", "CocotbResult"),
    # Once in a process: tests/cocotb/test_cocotb_adapter.py has its refusals.
    "run_cocotb",
}
"""Public names of values, and of records that check nothing: what takes them does."""


def test_all_public_names_are_tried() -> None:
    public = {name for package in (multicube, hdl, sim) for name in package.__all__}
    families = {family.component.__name__ for family in FAMILIES.values()}
    assert public - PLAIN - families == {each.__name__ for each in ASKED}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("called", ASKED, ids=lambda called: called.__name__)
@pytest.mark.filterwarnings("ignore")  # of what was built in vain
def test_odd_arguments_are_refused_in_one_line(
    called: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ASKED[called]
    parameters = {
        name: about.kind
        for name, about in inspect.signature(called).parameters.items()
        if about.kind not in (about.VAR_KEYWORD, about.VAR_POSITIONAL)
    }

    def call(name: str, odd: object) -> None:
        given = {**asked, name: odd}
        first = [given.pop(each) for each in parameters if parameters[each] == 0]
        called(*first, **given)

    assert not faults(call, [name for name in parameters if (called, name) not in SLOW])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_odd_parameters_are_refused_in_one_line(family: Family) -> None:
    """By the record of them, so that nothing is built."""
    kind = family.component.parameters_type
    given = {**family.fixed, **family.example}
    names = [parameter.name for parameter in kind.described()]
    assert not faults(lambda name, odd: kind(**{**given, name: odd}), names)


def faults(call: Callable[[str, Any], object], names: list[str]) -> list[str]:
    """What is wrong with the refusals of odd values of each argument."""
    found = []
    for name in names:
        for odd in ODD:
            try:
                call(name, odd)
            except MulticubeError as error:
                if len(str(error).splitlines()) != 1 or len(str(error)) > LONGEST:
                    found.append(f"{name}: {error}")
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                found.append(f"{name} of {type(odd)}: {error!r} {place.filename}:{place.lineno}")
    gc.collect(1)  # what was built in vain just now, and may warn
    return found


@pytest.mark.parametrize("option", [{"engine": "warp"}, {"faults": ["x"]}, {"bins": 1}])
def test_wrong_options_are_refused_before_anything_is_built(
    option: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_nothing(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(sys.modules["multicube.sim.run.simulation"], "bench_for", build_nothing)
    with pytest.raises(ValueError, match=r"^(Engine|Fault|Bins) must be "):
        simulate(NETWORK, **option)


@cache
def bench() -> Bench:
    return bench_for(NETWORK, RUN.sources(NETWORK), bins=4)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [AmaranthEngine, CompiledEngine])
def test_unknown_pins_are_named(kind: type) -> None:
    with kind(bench()) as engine:
        for access, message in (
            (lambda: engine.get(Pin("nobody", ("i",))), "There is no cell 'nobody'"),
            (lambda: engine.get(Pin("sink_0", ("nothing",))), "There is no pin sink_0.nothing"),
            (lambda: engine.get(Pin(None, ("nothing",))), "There is no pin (boundary).nothing"),
            (lambda: engine.get("sink_0"), "Pin must be a Pin, not 'sink_0'"),
            (lambda: engine.read(["sink_0", "nobody"], "measured"), "There is no cell 'nobody'"),
            (lambda: engine.read(["sink_0"], "nothing"), "There is no pin sink_0.nothing"),
            (lambda: engine.set("nothing", 1), "There is no pin (boundary).nothing"),
            (lambda: engine.memory("nobody", "total_histogram"), "There is no cell 'nobody'"),
            (lambda: engine.memory_sum(["nobody"], "total_histogram"), "There is no cell 'nobody'"),
        ):
            with pytest.raises(MulticubeError) as caught:
                access()
            assert str(caught.value) == message
        with pytest.raises(MulticubeError):
            engine.memory("sink_0", "nothing")
        assert engine.memory("sink_0", "total_histogram") == [0] * 4


def test_numbers_of_numpy_are_welcome() -> None:
    options: dict[str, Any] = {"cycles": 20, "warmup": 0, "bins": 8, "source_depth": 4}
    how = {**options, "refine": False, "processes": 1}
    curve = sweep(NETWORK, np.linspace(0.25, 0.5, 2), **how)
    assert curve.to_json() == sweep(NETWORK, [0.25, 0.5], **how).to_json()
    result = simulate(NETWORK, load=np.float32(0.5), **options)
    assert json.dumps(result.to_json()) == json.dumps(curve.points[1].to_json())
    assert simulate(NETWORK, traffic=one_packet(*np.array([3, 0, 1]))).delivered == 1


@pytest.mark.parametrize("load", [1e-300, 1e-7, 1.5e-6])
def test_loads_that_no_source_can_have_are_refused(load: float) -> None:
    message = rf"^Load must be 0 or some steps of 2\^-22 = 2\.4e-07 to within 1 %, not {load}$"
    with pytest.raises(ValueError, match=message):
        Run(pattern("uniform", 2), load)
    assert Run(pattern("uniform", 2), 2**-22).load == 2**-22


def test_names_of_clocks_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.v"
    for clock, message in (
        (Clock("clk); endmodule module x("), "Clock name must be a Verilog identifier, not 'clk);"),
        (Clock("clk", "wire"), "Reset name must not be the Verilog keyword 'wire'"),
        (Clock("both", "both"), "Clock and reset must have different names, not both 'both'"),
        (Clock(5), "Clock name must be a text, not 5"),
    ):
        with pytest.raises(MulticubeError) as caught:
            write_verilog(NETWORK.fabric, path, clock=clock)
        assert str(caught.value).startswith(message)
        assert not list(tmp_path.iterdir())


def test_a_pipe_that_nobody_writes_to_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match=r"line 1: the header must be cycle,source,destination"):
        read_trace(path, 2)
    reader, writer = os.pipe()
    os.write(writer, b"cycle,source,destination\r\n0,0,1\r\n")
    os.close(writer)
    with open(reader):
        assert len(read_trace(f"/dev/fd/{reader}", 2).packets) == 1


def test_what_the_machine_refuses_is_no_bug(tmp_path: Path) -> None:
    code = "from multicube.sim.command import main; main()"
    words = [sys.executable, "-c", code, "export", "cube", "ports=2", "-o", "a.v"]
    done = run_on_full_disk(*words, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("multicube: Yosys can't be run: ")
    assert not list(tmp_path.iterdir())
