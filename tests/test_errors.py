"""What a user can mend is one kind of error; anything else is a bug, and shows as one."""

import json
import re
from pathlib import Path
from typing import Any

import multicube.hdl
import multicube.sim
import numpy as np
import pytest
from command_line import Call
from multicube.boards.host import BoardError
from multicube.hdl import BirrdPlan, MulticubeError, build
from multicube.hdl.fabric.checks import check_integer
from multicube.hdl.fabric.digest import digest
from multicube.hdl.fabric.errors import InvalidType, InvalidValue
from multicube.hdl.graphs.partitions import Partition, Subnetwork
from multicube.hdl.graphs.schedules.collectives import check_group
from multicube.hdl.switch.entry import InputQueue, OutputQueue
from multicube.hdl.switch.exit import Exit
from multicube.hdl.switch.grant import Grant
from multicube.hdl.switch.merge import Groups
from multicube.sim import (
    Copies,
    Flow,
    Message,
    ProgramsStuck,
    SimulationError,
    copy_messages,
    delay_bounds,
    send_messages,
    simulate,
)
from multicube.sim.engines.compiled.compiled_errors import EngineError
from multicube.sim.engines.verilator import VerilatorFailed, VerilatorMissing, VerilatorTimeout
from multicube.sim.measure.serial_order import Undecided
from multicube.sim.synthesis import SynthesisError
from multicube.sim.workload.packets import Scale


def test_all_errors_have_one_base() -> None:
    assert multicube.sim.MulticubeError is MulticubeError
    for error in (
        *(InvalidType, InvalidValue, SimulationError, EngineError, SynthesisError, BoardError),
        *(ProgramsStuck, Undecided, VerilatorFailed, VerilatorMissing, VerilatorTimeout),
    ):
        assert issubclass(error, MulticubeError)
    # Who caught Python's own goes on to do so.
    assert issubclass(InvalidValue, ValueError)
    assert issubclass(InvalidType, TypeError)
    assert issubclass(BoardError, ValueError)


def test_no_other_error_is_for_users() -> None:
    root = Path(multicube.hdl.__file__).parents[1]
    texts = {
        path: path.read_text()
        for part in ("hdl", "sim", "boards")
        for path in root.glob(f"{part}/**/*.py")
    }
    assert len(texts) > 100
    for path, text in texts.items():
        assert not re.findall(r"raise (?:ValueError|TypeError)\(", text), path


@pytest.mark.parametrize(
    "bug", [ValueError, TypeError, KeyError, AssertionError, ZeroDivisionError]
)
def test_a_bug_shows_its_traceback(
    bug: type[Exception], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise bug("oh")

    monkeypatch.setattr("multicube.sim.run.simulation.simulate", fail)
    status, out, err = call("sim", "cube", "ports=2")
    assert (status, out) == (70, "")
    assert err.startswith("Traceback (most recent call last):\n")
    *_, error, request = err.splitlines()
    assert error.startswith(f"{bug.__name__}: ")
    assert request == "multicube: this is a bug in multicube; please report it with this traceback"


def test_no_more_threads_are_no_bug(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("multicube.sim.run.simulation.simulate", fail)
    line = "multicube: The machine can't start another thread\n"
    assert call("sim", "cube", "ports=2") == (2, "", line)


def test_none_and_one(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        None + 1  # noqa: B018

    monkeypatch.setattr("multicube.boards.platforms.find_board", fail)
    status, _, err = call("board", "build", "icebreaker", "cube", "-o", "bits")
    assert status == 70
    assert "TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'\n" in err


HUGE = "9" * 4000

BAD = [
    (f"sweep cube --processes {HUGE}", "Processes must be at most 1024, not 999"),
    (f"board build icebreaker cube --plan -o bits --baud {HUGE}", "Baud must divide "),
    (f"sim cube ports={HUGE}", "Ports must be from 2 to 65536, not 999"),
    (f"sim cube ports=9{HUGE}{HUGE}", "Parameter ports must be an integer or auto, not '999"),
    (f"sim cube --cycles {HUGE}", "Cycles must be from 1 to 2147483648, not 999"),
    (f"sim cube --bins {HUGE}", "Bins must be from 2 to "),
    (f"sim {HUGE}", "Network must be one of cube, "),
    (f"sim cube --traffic {HUGE}", "Destination of terminal 0 must be from 0 to 7, not 999"),
    (f"sim cube --traffic shift:{HUGE}9{HUGE}", "needs an integer in place of '999"),
    (f"sweep cube --loads {'0.1,' * 1000}", "Loads must be FIRST:LAST:STEP or a list"),
    ("sweep cube --loads 0:inf:0.1", "Loads must be FIRST:LAST:STEP or a list"),
    ("sim cube --load nan", "Load must be from 0 to 1 packets per terminal per cycle, not nan"),
    ("sim cube --traffic hotspot:nan", "Fraction H of hotspot must be from 0 to 1, not nan"),
    ("sim cube payload=0", "Payload must be from 1 to 4096, not 0"),
    ("sim combining --operations load,x", "x"),
    ("sim combining ports=1", "Ports must be from 2 to 65536, not 1"),
    (
        "paper siegel-eq3 --quick --cycles 1",
        "Cycles are too few: no packet was delivered in the window",
    ),
    (
        "paper siegel-circuit --quick --cycles 1",
        "Cycles are too few: no packet was delivered in the window",
    ),
    ("permute cube ports=4 3,2,1", "Traffic must have 4 destinations, not 3"),
    ("permute torus 3,2,1", "Network must be a multistage network, not 'torus'"),
    ("deadlock combining", "Deadlock can be checked for packet networks only, not combining"),
]


@pytest.mark.parametrize(("words", "part"), BAD, ids=[part for _, part in BAD])
def test_bad_input_is_one_short_line(words: str, part: str, call: Call) -> None:
    outcome = call(*words.split())
    outcome.refuses(f"...{part}...")
    assert max(map(len, outcome.err.split())) <= 60


def test_paths_are_shown_whole(call: Call, tmp_path: Path) -> None:
    path = tmp_path / ("x" * 50) / ("y" * 50) / "out.v"
    err = call("export", "cube", "ports=2", "-o", str(path)).err
    assert err == f"multicube: Output {path} can't be written: there is no folder {path.parent}\n"


def test_integers_of_any_type() -> None:
    for value in (3, np.int64(3), np.uint8(3)):
        checked = check_integer("Depth", value, 1, 5)
        assert checked == 3
        assert type(checked) is int
    for value in (True, np.bool_(True), 3.0, np.float64(3), "3", None, [3]):
        with pytest.raises(InvalidType, match=r"^Depth must be an integer, not "):
            check_integer("Depth", value, 1)
    for value in (np.int64(0), np.int64(6)):
        with pytest.raises(InvalidValue, match=rf"^Depth must be from 1 to 5, not {value}$"):
            check_integer("Depth", value, 1, 5)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("cube", {"ports": 4, "radix": 2, "depth": 2, "payload": 8, "length": 1}),
        ("torus", {"k": 2, "n": 2, "depth": 2, "channels": 2, "length": 2}),
        ("hypercube", {"n": 2, "depth": 2, "length": 2}),
        ("dcsh", {"k": 2, "n": 2, "decision": 1, "length": 2}),
        ("combining", {"ports": 4, "depth": 2, "wait": 2, "rows": 4, "lengths": 1}),
        ("connection-machine", {"n": 2, "processors": 1, "buffers": 2, "age": 12}),
        ("stage-sequenced", {"ports": 4, "payload": 8}),
    ],
)
def test_numpy_integers_make_the_same_network(name: str, parameters: dict[str, int]) -> None:
    network = build(name, **{word: np.int64(value) for word, value in parameters.items()})
    assert json.dumps(network.chosen) == json.dumps(build(name, **parameters).chosen)
    assert type(network.ports) is int
    network.fabric.check()


@pytest.mark.long
def test_numpy_integers_make_the_same_run() -> None:
    counts = {"cycles": 20, "warmup": 5, "seed": 3, "source_depth": 4, "bins": 16}
    plain, other = (
        simulate(build("cube", ports=2), **{word: kind(value) for word, value in counts.items()})
        for kind in (int, np.int64)
    )
    assert json.dumps(plain.to_json()) == json.dumps(other.to_json())


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_numpy_integers_stay_nowhere(kind: type) -> None:
    """Where they stay, they overflow, make other digests, and can't be written as JSON."""
    flow = Flow(kind(0), kind(1), np.float32(0.5), kind(2), kind(3), kind(200), kind(250))
    assert digest(flow) == digest(Flow(0, 1, 0.5, 2, 3, 200, 250))
    assert json.dumps(check_group(np.array([0, 3], kind), 4)) == "[0, 3]"
    assert type(BirrdPlan(kind(4)).ports) is int
    assert json.dumps(Subnetwork(kind(8), kind(127), kind(128)).value) == "128"
    halves = Partition.of_digits(512, [{kind(8): kind(1)}, {8: 0}])
    assert json.dumps(halves.subnetworks[0].value) == "256"
    for made in (
        InputQueue(kind(4), room=kind(2)),
        OutputQueue(kind(4)),
        Grant(decision=kind(2), timeout=kind(9)),
        Exit(buffer=kind(2)),
        Groups(kind(3), patience=kind(9)),
        Scale(kind(8), kind(2)),
    ):
        assert not [name for name, value in vars(made).items() if isinstance(value, np.integer)]
    bound = delay_bounds(build("cube", ports=2)).of(kind(0), kind(1))
    assert type(bound.source) is type(bound.destination) is int


def test_numpy_integers_are_sent_whole() -> None:
    network, high = build("cube", ports=2, payload=60), 2**60 - 5
    sent = [Message(*np.array([0, 1, high])), Message(*np.array([1, 0, 200], np.uint8))]
    assert send_messages(network, sent, engine="amaranth").values == [200, high]
    for ends in (np.array([1]), iter([1])):
        copied = copy_messages(network, [Copies(0, ends, np.int64(high))], engine="amaranth")
        assert json.dumps(copied.values) == f"[{high}, {high}]"
