"""Processes that work for another: they are told apart, may be killed, and never stay behind."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from long_runs import long
from multicube.hdl.fabric.errors import InvalidValue
from multicube.sim.run.workers import Workers, finished_jobs
from started import started, wait_for


def calls(function: Any, *arguments: Any) -> list:
    return [(function, (each,), {}) for each in arguments]


def children() -> list[psutil.Process]:
    """All processes below this one, but those that clean up when it has ended."""
    below = psutil.Process().children(recursive=True)
    lines = [(each, " ".join(each.cmdline())) for each in below]
    return [each for each, line in lines if not re.search("resource_tracker|read -r line", line)]


def count_workers(_: int) -> int:
    # Not by `children`, which takes a process for another when the clock of the machine is set.
    return sum(
        each.info["ppid"] == os.getppid() and "popen_loky" in " ".join(each.info["cmdline"] or ())
        for each in psutil.process_iter(["ppid", "cmdline"])
    )


def test_jobs_are_carried_out_elsewhere() -> None:
    assert dict(finished_jobs(calls(abs, -1, -2, -3), 2)) == {0: 1, 1: 2, 2: 3}
    # Functions of a script, of a test, and those without a name.
    assert dict(finished_jobs(calls(lambda x: x + 1, 4), 1)) == {0: 5}
    # No more of them than there are jobs.
    assert dict(finished_jobs(calls(count_workers, 1, 2), 9)) == {0: 2, 1: 2}
    assert not dict(finished_jobs([], 2))
    assert not children()


def die_at_zero(number: int) -> int:
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_killed_process_loses_no_job_that_had_ended() -> None:
    found = dict(finished_jobs(calls(die_at_zero, 1, 2, 3, 0), 1))
    assert found == {0: 1, 1: 2, 2: 3}
    # Nobody is left for the others.
    assert dict(finished_jobs(calls(die_at_zero, 0, 1, 2), 1)) == {}


def own_number(_: int) -> int:
    time.sleep(0.1)  # or one of them does all
    return os.getpid()


@pytest.mark.long
def test_processes_stay_for_the_next_jobs() -> None:
    """Unless one of them was killed, or there may be fewer, or there is work for more."""
    with Workers() as finished:
        first = set(dict(finished(calls(own_number, *range(6)), 2)).values())
        assert len(first) == 2
        assert set(dict(finished(calls(own_number, *range(6)), 2)).values()) <= first
        assert set(dict(finished(calls(own_number, 1), 2)).values()) <= first
        assert dict(finished(calls(die_at_zero, 0), 2)) == {}
        second = set(dict(finished(calls(own_number, *range(6)), 2)).values())
        assert len(second) == 2
        assert not second & first
        third = set(dict(finished(calls(own_number, *range(6)), 1)).values())
        assert len(third) == 1
        assert not third & second
        assert len(set(dict(finished(calls(own_number, *range(6)), 2)).values())) == 2
    assert not children()


def fail(number: int) -> None:
    if number:
        raise InvalidValue(f"This is {number}")
    raise MemoryError


@pytest.mark.long
def test_errors_come_back() -> None:
    with pytest.raises(InvalidValue, match=r"^This is 3$"):
        dict(finished_jobs(calls(fail, 3), 1))
    assert not dict(finished_jobs(calls(fail, 0), 1))


class Nowhere:
    def __reduce__(self) -> tuple:
        return __import__, ("nowhere",)


@pytest.mark.parametrize(
    ("argument", "cause"),
    [
        (Nowhere(), "ModuleNotFoundError: No module named 'nowhere'"),
        (threading.Lock(), "TypeError: cannot pickle '_thread.lock' object"),
    ],
)
def test_a_job_that_another_process_cant_read_is_refused(argument: Any, cause: str) -> None:
    """It is not taken for one whose process was killed."""
    message = rf"^What runs in another process must be readable there \(.*\): {re.escape(cause)}$"
    with pytest.raises(InvalidValue, match=message):
        dict(finished_jobs(calls(print, argument), 1))


def test_interruption_is_for_who_waits() -> None:
    def interrupt_own(_: int) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        return True

    assert dict(finished_jobs(calls(interrupt_own, 0), 1)) == {0: True}


def test_nobody_is_warned_of_killed_processes(tmp_path: Path) -> None:
    """What they leave is removed, and no line of it is said."""
    code = (
        "import os; from multicube.sim.run.workers import finished_jobs\n"
        "def die(number): os.kill(os.getpid(), 9)\n"
        "assert not dict(finished_jobs([(die, (1,), {})], 1))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


PARENT = """
import subprocess, sys, time
from multicube.hdl.support.children import run_program
from multicube.sim.run.workers import finished_jobs

def busy(path):
    if path.endswith("program"):
        run_program(["sh", "-c", f"echo > {path}; sleep 300; true"])
    with open(path, "w"):
        pass
    while True:
        pass

jobs = [(busy, (path,), {}) for path in sys.argv[1:]]
print(list(finished_jobs(jobs, len(jobs))))
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, long(signal.SIGINT)])
def test_no_process_outlives_its_parent(number: int, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("loop", "program")]
    words = [sys.executable, "-c", PARENT, *map(str, files)]
    with started(words, stdout=None, stderr=subprocess.DEVNULL) as parent:
        wait_for(lambda: all(file.exists() for file in files))
        below = psutil.Process(parent.pid).children(recursive=True)
        assert len(below) >= 4  # two workers, a shell and its sleep
        parent.send_signal(number)
        _, alive = psutil.wait_procs(below, timeout=120)
        assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]


def leaves_interrupts(process: psutil.Process) -> bool:
    """Whether SIGINT is blocked or ignored in a process."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    masks = re.findall(r"^Sig(?:Blk|Ign):\s*(\w+)$", text, re.MULTILINE)
    return any(int(mask, 16) >> signal.SIGINT - 1 & 1 for mask in masks)


QUEUED = """
import sys, time
from multicube.sim.run.workers import finished_jobs

def wait(path):
    open(path, "w").close()
    time.sleep(300)

jobs = [(wait, (f"{sys.argv[1]}/{number}",), {}) for number in range(9)]
try:
    list(finished_jobs(jobs, 2))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("begun", [0, 2])
def test_jobs_that_wait_say_nothing_when_all_are_interrupted(begun: int, tmp_path: Path) -> None:
    """Whether or not a job has begun: a terminal sends the signal to all processes, those too that
    have only started."""
    words = [sys.executable, "-c", QUEUED, tmp_path]
    with started(words, start_new_session=True) as parent:
        below = psutil.Process(parent.pid)
        wait_for(lambda: any("--pipe" in each.cmdline() for each in below.children()))
        workers = [each for each in below.children() if "--pipe" in each.cmdline()]
        assert all(map(leaves_interrupts, workers))
        wait_for(lambda: len(list(tmp_path.iterdir())) >= begun)
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.communicate(timeout=300) == ("interrupted\n", "")
