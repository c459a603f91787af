"""What a terminal is told while work takes time."""

import os
import pty
import sys
import termios
from pathlib import Path

import pytest
from multicube.sim.run.progress import phase


def test_phase_is_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    with phase("building"):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sim cube ports=2 --cycles 20 --warmup 0", "building the bench of 2 terminals ..."),
        ("deadlock torus k=2 n=2", "destinations"),
        ("permute cube ports=4 3,2,1,0 --passes", "looking for passes"),
    ],
)
def test_a_terminal_is_told_what_is_done(words: str, said: str, tmp_path: Path) -> None:
    program = "from multicube.sim.command import main; main()"
    process, terminal = pty.fork()
    if process == 0:
        termios.tcsetwinsize(0, (24, 100))
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-c", program, *words.split()])
    heard = b""
    try:
        while part := os.read(terminal, 4096):
            heard += part
    except OSError:  # it has ended
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert said.encode() in heard
