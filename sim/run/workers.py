"""Jobs in processes of their own, none of which outlives the process that it works for."""

import _thread
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, BinaryIO, NoReturn

import cloudpickle

from ...hdl.core.children import end_programs

__all__ = ["finished_jobs", "work"]

_PROGRAM = (
    f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {__name__} import work; work()"
)

_GRACE = 5.0
"""Seconds that a worker has to tidy up when it is to end."""

Job = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A function, its arguments and its options."""


def finished_jobs(jobs: Sequence[Job], processes: int) -> Iterator[tuple[int, Any]]:
    """What jobs return, each with its number, as soon as they end.

    At most `processes` of them run at a time. Those whose process is killed, or has too little
    memory, are left out. All processes end with this iterator, and with this process.

    Raises
    ------
    Exception
        What a job raises.
    """
    waiting = iter(enumerate(jobs))
    workers = [_Worker() for _ in range(min(processes, len(jobs)))]
    busy: dict[Any, tuple[_Worker, int]] = {}

    def employ(worker: _Worker) -> None:
        for number, job in waiting:
            worker.give(job)
            busy[worker.replies] = worker, number
            break

    try:
        for worker in workers:
            employ(worker)
        while busy:
            for replies in wait(list(busy)):
                worker, number = busy.pop(replies)
                try:
                    good, answer = pickle.load(worker.replies)
                except (EOFError, pickle.UnpicklingError):  # it has ended, maybe within its reply
                    continue
                if not good:
                    raise answer
                employ(worker)
                yield number, answer
    finally:
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            worker.end()


class _Worker:
    """A process that works: it reads jobs from its standard input, until that ends."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for its parent, who then dismisses it
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.jobs = self.process.stdin
        self.replies = self.process.stdout

    def give(self, job: Job) -> None:
        with suppress(BrokenPipeError):  # its replies have ended too
            pickle.dump(cloudpickle.dumps(job), self.jobs)
            self.jobs.flush()

    def dismiss(self) -> None:
        with suppress(BrokenPipeError):
            self.jobs.close()

    def end(self) -> None:
        try:
            self.process.wait(2 * _GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.replies.close()


def work() -> None:
    """Carry out the jobs that come at standard input; what they print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _interrupt)
    jobs: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    with os.fdopen(os.dup(1), "wb") as replies, suppress(KeyboardInterrupt, BrokenPipeError):
        os.dup2(2, 1)
        threading.Thread(target=_receive, args=(sys.stdin.buffer, jobs), daemon=True).start()
        while (job := jobs.get()) is not None:
            replies.write(_reply(job))
            replies.flush()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _receive(stream: BinaryIO, jobs: "queue.SimpleQueue[bytes | None]") -> None:
    """Pass on jobs; when they end, so does this process, whatever it is doing."""
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            jobs.put(pickle.load(stream))
    jobs.put(None)
    end_programs()
    _thread.interrupt_main(signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)


def _reply(job: bytes) -> bytes:
    try:
        function, arguments, options = pickle.loads(job)
        return pickle.dumps((True, function(*arguments, **options)))
    except MemoryError as error:
        sys.exit(f"multicube: {error or 'There is not enough memory for a process'}")
    except Exception as error:
        error.add_note(traceback.format_exc())
        return pickle.dumps((False, error))


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
