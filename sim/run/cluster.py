"""Jobs on a Dask cluster."""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import joblib

from ...hdl.fabric.checks import check_kind
from ...hdl.fabric.errors import InvalidValue
from .record import this_version
from .workers import Finished, Job, finished_jobs

__all__ = ["finished_anywhere", "open_cluster"]

_SECONDS = 10
"""How long to wait for the scheduler."""


@contextmanager
def open_cluster(address: str) -> Iterator[tuple[int, Finished]]:
    """Connect to a Dask scheduler: the threads of its workers, and what runs jobs on them.

    Jobs are run as `workers.finished_jobs` does. The jobs of a worker that dies are run again on
    the others; those that several workers died with are left out, and so are those that have not
    ended if the scheduler dies.

    Raises
    ------
    ValueError
        If `distributed` is not installed, the scheduler can't be reached, it has no workers, or one
        has not the version of this library.
    """
    check_kind("Scheduler", address, str, "an address")
    try:
        from distributed import Client
        from distributed.utils import silence_logging_cmgr
    except ImportError:
        raise InvalidValue(
            "A scheduler needs the package distributed: pip install multicube[cluster]"
        ) from None
    try:
        client = Client(address, timeout=_SECONDS)
    except (OSError, ValueError) as error:
        raise InvalidValue(f"Scheduler {address} can't be reached: {error}") from None
    try:
        threads = sum(client.nthreads().values())
        if not threads:
            raise InvalidValue(f"Scheduler {address} has no workers")
        own = this_version()
        for worker, found in client.run(this_version, on_error="return").items():
            if found != own:
                raise InvalidValue(
                    f"Worker {worker} must have version {own} of multicube, not: {found}"
                )
        yield threads, lambda jobs, most: _finished(client, jobs, most)
    finally:
        with silence_logging_cmgr(logging.CRITICAL):  # It may try to reach a lost scheduler still.
            client.close()


def _finished(client: Any, jobs: Sequence[Job], most: int) -> Iterator[tuple[int, Any]]:
    from distributed import KilledWorker, as_completed

    if client.status != "running":  # The scheduler was lost.
        return
    waiting = deque(enumerate(jobs))
    numbers: dict[Any, int] = {}

    def start() -> Any:
        number, job = waiting.popleft()
        future = client.submit(_call, job, pure=False)
        numbers[future] = number
        return future

    running = as_completed([start() for _ in range(min(most, len(jobs)))])
    try:
        for future in running:
            if waiting:
                running.add(start())
            number = numbers.pop(future)
            try:
                result = future.result()
            except (KilledWorker, MemoryError):
                continue
            except CancelledError:  # The scheduler is lost, and all jobs with it.
                return
            yield number, result
    finally:
        client.cancel(list(numbers))


def _call(job: Job) -> Any:
    function, arguments, options = job
    return function(*arguments, **options)


def finished_anywhere(jobs: Sequence[Job], scheduler: str | None) -> Iterator[tuple[int, Any]]:
    """Run jobs on all workers of a Dask scheduler, or without one on all cores of this machine.

    Parameters, results and errors are those of `workers.finished_jobs` and `open_cluster`.
    """
    if scheduler is None:
        yield from finished_jobs(jobs, joblib.cpu_count())
    else:
        with open_cluster(scheduler) as (threads, finished):
            yield from finished(jobs, threads)
