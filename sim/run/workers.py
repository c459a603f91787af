"""Jobs in processes of their own, none of which outlives the process that it works for."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker as python_tracker
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend import resource_tracker as loky_tracker

__all__ = ["Finished", "Job", "finished_jobs"]

Job = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A function, its arguments and its options."""

Finished = Callable[[Sequence[Job], int], Iterator[tuple[int, Any]]]
"""Runs jobs, at most so many at a time, as `finished_jobs` does."""

_LOOK_SECONDS = 0.2
"""Interval at which a worker checks that its parent still exists."""


def finished_jobs(jobs: Sequence[Job], processes: int) -> Iterator[tuple[int, Any]]:
    """Run jobs in parallel; yield the number and the result of each as it ends.

    At most `processes` jobs run at a time. If a process is killed, the jobs that have not ended are
    left out; so is a job that runs out of memory. The processes end with this iterator, and with
    the process that has made it.

    Raises
    ------
    Exception
        What a job raises.
    """
    if not jobs:
        return
    _start_trackers()
    workers = ProcessPoolExecutor(
        min(processes, len(jobs)), initializer=_serve, initargs=(os.getpid(),)
    )
    try:
        numbers = {
            workers.submit(function, *arguments, **options): number
            for number, (function, arguments, options) in enumerate(jobs)
        }
        for job in as_completed(numbers):
            try:
                result = job.result()
            except (BrokenProcessPool, MemoryError):
                continue
            yield numbers[job], result
    except BaseException:
        workers.shutdown(kill_workers=True)
        raise
    workers.shutdown()


def _start_trackers() -> None:
    """Start the processes that remove what killed workers leave, without their warnings of it."""
    usual = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        loky_tracker.ensure_running()
        python_tracker.ensure_running()
    finally:
        del os.environ["PYTHONWARNINGS"]
        if usual is not None:
            os.environ["PYTHONWARNINGS"] = usual


def _serve(parent: int) -> None:
    """Prepare a worker: it ends when its parent has ended, and leaves Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """End this process, and with it the programs that it runs, soon after its parent."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)
