"""Parallel computers on boards: what a program did is read through a serial line."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from command_line import Call, exit_status
from multicube.boards.computer_host import Loaded, computer_board, read_program
from multicube.boards.host import BoardError, open_line
from multicube.boards.simulated import SimulatedBoard
from multicube.hdl import build
from multicube.hdl.fabric.errors import InvalidValue
from multicube.sim import ProgramFault, run_computer
from multicube.sim.computer.computer_run import CoresRun

pytest.importorskip("pythondata_cpu_minerva")
pytest.importorskip("serial")

NETWORK = "combining ports=2"
TEXT = 'TEXT="sum "'
PROGRAM = """\
#include "multicube.h"
volatile int sum;
int main(void) {
  mc_fetch_add(&sum, mc_id() + 5);
  mc_barrier();
  mc_print(TEXT);
  mc_print_int(-sum);
  mc_print("\\n");
  return mc_id();
}
"""


def loaded(folder: Path, code: str, network: str = NETWORK) -> Loaded:
    path = folder / "program.c"
    path.write_text(code)
    return computer_board(path, build(network), divisor=4, defines=[TEXT])


def read(path: str, what: Loaded, cycles: int = 100_000) -> CoresRun:
    return read_program(open_line(path, baud=1_000_000), what, cycles=cycles)


@pytest.mark.long
def test_a_board_says_what_the_engine_says(tmp_path: Path, capsys: Any) -> None:
    """Cycles, counts, results and the console, after the program and whenever asked."""
    board = loaded(tmp_path, PROGRAM)
    wanted = run_computer(tmp_path / "program.c", build(NETWORK), defines=[TEXT])
    with SimulatedBoard(board.board) as simulated:
        found = [read(simulated.path, board).to_json() for _ in range(2)]
        words = ("execute", simulated.path, str(tmp_path / "program.c"), *NETWORK.split())
        assert exit_status("board", *words, "-D", TEXT, "--json") == 1
        assert json.loads(capsys.readouterr().out) == found[0]
        other = loaded(tmp_path, PROGRAM.replace("-sum", "sum"))
        with pytest.raises(BoardError, match="a computer other than this one with its program"):
            read(simulated.path, other)
    assert found[0] == found[1]
    assert found[0].pop("engine") == "board"
    assert found[0] == {name: wanted.to_json()[name] for name in found[0]}
    assert [line.text for line in wanted.console] == ["sum -11"] * 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("volatile int *at;\nint main(void) {\n  return *at;\n}\n", "program.c:3: access outside"),
        ("int main(void) {\n  for (;;) {\n  }\n}\n", "program.c:2: the program has not ended in"),
    ],
    ids=["an access outside", "no end"],
)
def test_wrong_programs_on_a_board(code: str, message: str, tmp_path: Path) -> None:
    board = loaded(tmp_path, code)
    with SimulatedBoard(board.board) as simulated, pytest.raises(ProgramFault, match=message):
        read(simulated.path, board)


def test_what_a_board_has_no_room_for(tmp_path: Path, call: Call) -> None:
    with pytest.raises(InvalidValue, match=r"^A board can read 16 cores, not 32$"):
        loaded(tmp_path, PROGRAM, "combining ports=32")
    with pytest.raises(InvalidValue, match=r"^Cycles must be at least 1, not 0$"):
        read_program(Mock(), loaded(tmp_path, PROGRAM), cycles=0)
    words = ("build", "ulx3s-85f", *NETWORK.split(), "-o", str(tmp_path / "bits"))
    program = ("--program", str(tmp_path / "program.c"), "--no-flows")
    call("board", *words, *program).refuses("A computer has no instruments: flows")
    call("board", *words, "-D", TEXT).refuses("Stack and macros need a --program")
