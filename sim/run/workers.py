"""Jobs in processes of their own, none of which outlives the process that it works for."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker as python_tracker
from pickle import PicklingError
from typing import Any

import psutil
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend import resource_tracker as loky_tracker

from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.interruption import held_interrupts
from ...hdl.support.room import ask_for_room

__all__ = ["Finished", "Job", "Workers", "finished_jobs"]

Job = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A function, its arguments and its options."""

Finished = Callable[[Sequence[Job], int], Iterator[tuple[int, Any]]]
"""Runs jobs, at most so many at a time, as `finished_jobs` does."""

_LOOK_SECONDS = 0.2
"""Interval at which a worker checks that its parent still exists, and longest wait at once."""

_INTERRUPTS = (signal.SIGINT,)

_GIVEN_SECONDS = 0.005
"""Interval at which to look whether a job is given to a process."""


class Workers:
    """Processes that run jobs, and stay for further jobs until this context ends.

    Called as `finished_jobs`. Starting a process takes a second, most of it for imports.
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._count = 0

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self._end(kill=error is not None)

    def __call__(self, jobs: Sequence[Job], processes: int) -> Iterator[tuple[int, Any]]:
        if not jobs:
            return
        pool = self._started(min(processes, len(jobs)), processes)
        left, broken = list(enumerate(jobs))[::-1], False
        begun: dict[Future[Any], int] = {}
        try:
            while begun or (left and not broken):
                # No job waits in the pool: it can't be killed while one does.
                while left and not broken and len(begun) < self._count:
                    number, (function, arguments, options) = left.pop()
                    # Nor while it starts a process.
                    try:
                        with held_interrupts(), _blocked_interrupts():
                            begun[pool.submit(function, *arguments, **options)] = number
                    except BrokenProcessPool:
                        broken = True
                for job in wait(begun, _LOOK_SECONDS, FIRST_COMPLETED).done:
                    number = begun.pop(job)
                    try:
                        result = job.result()
                    except (BrokenProcessPool, PicklingError) as error:
                        _check_passed(error)
                        broken = True
                    except MemoryError:
                        pass
                    else:
                        yield number, result
        except BaseException:
            # The pool gives each job to a process, soon after it has come.
            while not all(job.running() or job.done() for job in begun):
                time.sleep(_GIVEN_SECONDS)
            self._end(kill=True)
            raise
        if broken:
            self._end()

    def _started(self, least: int, most: int) -> ProcessPoolExecutor:
        """As many processes as there are, if that is from `least` to `most`, else `least`."""
        if self._pool is None or not least <= self._count <= most:
            self._end()
            _start_trackers()
            self._count = least
            self._pool = ProcessPoolExecutor(least, initializer=_serve, initargs=(os.getpid(),))
        return self._pool

    def _end(self, kill: bool = False) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(kill_workers=kill)


def finished_jobs(jobs: Sequence[Job], processes: int) -> Iterator[tuple[int, Any]]:
    """Run jobs in parallel; yield the number and the result of each as it ends.

    At most `processes` jobs run at a time. If a process is killed, the jobs that have not ended are
    left out; so is a job that runs out of memory. The processes end with this iterator, and with
    the process that has made it.

    Raises
    ------
    InvalidValue
        If a job can't be passed to another process, such as one with a class that is in no module.
    Exception
        What a job raises.
    """
    with Workers() as finished:
        yield from finished(jobs, processes)


def _check_passed(error: Exception) -> None:
    """Raise InvalidValue if a job did not reach its process; a process that was killed says no
    cause."""
    *_, cause = str(error.__cause__ or "").strip('"\n').splitlines() or [""]
    if cause and not cause.startswith("MemoryError"):
        raise InvalidValue(
            f"What runs in another process must be readable there (if not, processes=1): {cause}"
        ) from None


@contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """A context in which processes are started that leave Ctrl-C to this one from the beginning:
    what is blocked here is blocked in them, until `_serve`."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_trackers() -> None:
    """Start the processes that remove what killed workers leave, without their warnings of it."""
    usual = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        loky_tracker.ensure_running()
        if sys.platform != "win32":
            python_tracker.ensure_running()
    finally:
        del os.environ["PYTHONWARNINGS"]
        if usual is not None:
            os.environ["PYTHONWARNINGS"] = usual


def _serve(parent: int) -> None:
    """Prepare a worker: it ends when its parent has ended, and leaves Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
    ask_for_room()
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """End this process, and with it the programs that it runs, soon after its parent."""
    # On Windows nobody else becomes the parent when it has ended; elsewhere it may be there still.
    while psutil.pid_exists(parent) if sys.platform == "win32" else os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)
