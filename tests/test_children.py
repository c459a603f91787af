"""Programs that are run: what they say, and that none of them stays behind."""

import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from multicube.hdl.support.children import end_programs, in_threads, run_program, scratch_folder

SLOW = ["sh", "-c", "sleep 300; true"]


def programs() -> list[psutil.Process]:
    """Those that the tests start."""
    below = psutil.Process().children(recursive=True)
    return [each for each in below if "sleep 300" in " ".join(each.cmdline())]


def test_what_a_program_says(tmp_path: Path) -> None:
    words = ["sh", "-c", "pwd; echo $COLOUR >&2; cat; exit 3"]
    done = run_program(
        words, folder=tmp_path, environment={"COLOUR": "red", "PATH": "/bin:/usr/bin"}
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path}\n", "red\n")
    with pytest.raises(FileNotFoundError):
        run_program([str(tmp_path / "none")])


def test_a_limit_ends_the_whole_tree() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(SLOW, limit=0.3)
    assert not programs()


def test_temporary_files_have_their_folder(tmp_path: Path) -> None:
    with scratch_folder(tmp_path, prefix="kept-") as folder:
        assert folder.parent == tmp_path
        words = ["sh", "-c", "mktemp; mktemp -d"]
        done = run_program(words, folder=tmp_path, temporary=folder)
        assert [Path(line).parent for line in done.stdout.split()] == [folder] * 2
        assert list(tmp_path.iterdir()) == [folder]
    assert not list(tmp_path.iterdir())


def test_threads_do_not_wait_for_programs_that_are_ended() -> None:
    heard: list[type] = []

    def run() -> None:
        try:
            run_program(SLOW)
        except KeyboardInterrupt as error:
            heard.append(type(error))

    thread = threading.Thread(target=run)
    thread.start()
    while len(programs()) < 2:
        time.sleep(0.01)
    end_programs()
    thread.join(10)
    assert heard == [KeyboardInterrupt]
    assert not programs()


def test_one_that_fails_ends_the_others() -> None:
    def run(number: int) -> int:
        if number == 2:
            raise ValueError("two")
        return run_program(SLOW).returncode

    assert in_threads(abs, [-1, 2, -3]) == [1, 2, 3]
    start = time.monotonic()
    with pytest.raises(ValueError, match="two"):
        in_threads(run, [2, 1, 3, 4, 5, 6, 7, 8])
    assert time.monotonic() - start < 60
    assert not programs()


def test_an_interrupt_while_programs_are_started_ends_them() -> None:
    def items() -> Iterator[Sequence[str]]:
        yield SLOW
        while len(programs()) < 2:
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)
        yield SLOW

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_threads(run_program, items())
    assert time.monotonic() - began < 60
    assert not programs()
