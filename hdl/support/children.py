"""Child processes and temporary folders, neither of which outlives this process.

They end with it even if it is killed (SIGKILL): a shell waits for its end, and then cleans up. On
Windows they end with it if it is interrupted or fails, but not if it is killed.
"""

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import psutil

from .interruption import held_interrupts

__all__ = [
    "LOOK_SECONDS",
    "end_children",
    "end_programs",
    "end_session",
    "in_threads",
    "run_program",
    "scratch_folder",
]

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_running: set[subprocess.Popen[str]] = set()

LOOK_SECONDS = 0.1
"""How long to wait at once. A signal that comes just as Python begins to wait is not noticed before
the end of the wait."""

_KILL_GROUP = 'kill -s KILL -- "-$1"'
# Programs that write to it are killed first.
_REMOVE = 'sleep 1; rm -rf -- "$1"'


@contextmanager
def scratch_folder(
    within: str | os.PathLike[str] | None = None, *, prefix: str = "multicube-"
) -> Iterator[Path]:
    """A temporary folder for the context; it is also removed if this process is killed.

    It is in the folder `within`, by default in that for temporary files.
    """
    name = tempfile.mkdtemp(prefix=prefix, dir=within)
    try:
        with _at_death(_REMOVE, name):
            yield Path(name)
    finally:
        shutil.rmtree(name, ignore_errors=True)


def run_program(
    command: Sequence[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    temporary: str | os.PathLike[str] | None = None,
    limit: float | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, and capture its output.

    It runs in its own session. If this process is interrupted or killed, or the program takes
    longer than `limit` seconds, the program is killed with all processes that it has started.
    `temporary` is a folder for its temporary files, which such an end leaves there.

    Raises
    ------
    OSError
        If it can't be started.
    subprocess.TimeoutExpired
    """
    if temporary is not None:
        environment = {**(os.environ if environment is None else environment)}
        environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), os.fspath(temporary))
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    _running.add(process)
    try:
        with _at_death(_KILL_GROUP, str(process.pid)):
            out, err = _said(process, limit)
        if process not in _running:
            raise KeyboardInterrupt
    except BaseException:
        end_session(process.pid)
        process.communicate()
        raise
    finally:
        _running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _said(process: "subprocess.Popen[str]", limit: float | None) -> tuple[str, str]:
    """What a program has written to standard output and error, at its end."""
    end = math.inf if limit is None else time.monotonic() + limit
    while True:
        try:
            return process.communicate(timeout=min(LOOK_SECONDS, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end:
                raise


def end_programs() -> None:
    """Kill all running programs; threads that wait for one of them get KeyboardInterrupt."""
    while _running:
        end_session(_running.pop().pid)


def end_children() -> None:
    """Kill all that this process has started and that still runs, whoever started it."""
    end_programs()
    with suppress(psutil.Error):
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                # Trackers end by themselves, when they have removed what others leave.
                if not any("resource_tracker" in word for word in child.cmdline()):
                    child.kill()


def in_threads(function: Callable[[Item], Answer], items: Iterable[Item]) -> list[Answer]:
    """The results of a function that runs programs, called for all items in parallel.

    If one call fails, or the wait is interrupted, the programs of the others are killed.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs: list[Future[Answer]] = []
        try:
            with held_interrupts():
                jobs.extend(pool.submit(function, item) for item in items)
            waiting: set[Future[Answer]] = set(jobs)
            while waiting:
                done, waiting = wait(waiting, LOOK_SECONDS, FIRST_EXCEPTION)
                for job in done:
                    job.result()  # raises its error
            return [job.result() for job in jobs]
        except BaseException:
            begun = [job for job in jobs if not job.cancel()]
            while wait(begun, timeout=LOOK_SECONDS).not_done:
                end_programs()
            raise


@contextmanager
def _at_death(script: str, word: str) -> Iterator[None]:
    """A context in which a shell script, with a word as `$1`, runs if this process ends.

    Not on Windows, which has no shell.
    """
    if sys.platform == "win32":
        yield
        return
    # Until then nothing comes from the pipe that only this process holds; a line ends the shell.
    waiting = f"read -r line || {{ {script}; }}"
    heir = subprocess.Popen(
        ["/bin/sh", "-c", waiting, "sh", word],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with suppress(BrokenPipeError):  # `end_children` has killed it
            heir.communicate(b"\n")


def end_session(leader: int, *, kill: bool = True) -> None:
    """Kill a process that has begun a session, with all that it has started; or ask them to end.

    On Windows, which has no sessions and where nobody can ask, those that it has started are looked
    for, and killed.
    """
    if sys.platform == "win32":
        with suppress(psutil.Error):
            process = psutil.Process(leader)
            for each in (*process.children(recursive=True), process):
                with suppress(psutil.Error):
                    each.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL if kill else signal.SIGTERM)
