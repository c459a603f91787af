"""Child processes that are killed when the command is interrupted."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

import psutil

from .interruption import held_interrupts

__all__ = ["end_children", "end_programs", "in_threads", "run_program"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_running: set[subprocess.Popen[str]] = set()

_LOOK_SECONDS = 0.1


def run_program(
    command: Sequence[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    limit: float | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, and capture its output.

    It runs in its own session: if it is interrupted, or takes longer than `limit` seconds, it is
    killed with all processes that it has started.

    Raises
    ------
    OSError
        If it can't be started.
    subprocess.TimeoutExpired
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    _running.add(process)
    try:
        out, err = process.communicate(timeout=limit)
        if process not in _running:
            raise KeyboardInterrupt
    except BaseException:
        _kill(process)
        process.communicate()
        raise
    finally:
        _running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def end_programs() -> None:
    """Kill all running programs; threads that wait for one of them get KeyboardInterrupt."""
    while _running:
        _kill(_running.pop())


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
            return [job.result() for job in jobs]
        except BaseException:
            begun = [job for job in jobs if not job.cancel()]
            while wait(begun, timeout=_LOOK_SECONDS).not_done:
                end_programs()
            raise


def _kill(process: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
