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
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import cloudpickle

from ...hdl.core.children import end_programs
from ...hdl.core.interruption import interrupt

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
                    good, answer = worker.replies.recv()
                except (EOFError, OSError):  # it has ended, maybe within its reply
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
        jobs, self.jobs = Pipe(duplex=False)
        self.replies, replies = Pipe(duplex=False)
        with jobs, replies:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)],
                stdin=jobs.fileno(),
                stdout=replies.fileno(),
                start_new_session=True,  # Ctrl-C is for its parent, who then dismisses it
            )

    def give(self, job: Job) -> None:
        with suppress(BrokenPipeError):  # its replies have ended too
            self.jobs.send_bytes(cloudpickle.dumps(job))

    def dismiss(self) -> None:
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
    signal.signal(signal.SIGTERM, interrupt)
    jobs: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    source, replies = Connection(0, writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)
    threading.Thread(target=_receive, args=(source, jobs), daemon=True).start()
    try:
        while (job := jobs.get()) is not None:
            replies.send_bytes(_reply(job))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _receive(source: "Connection[Any, Any]", jobs: "queue.SimpleQueue[bytes | None]") -> None:
    """Pass on jobs; when they end, so does this process, whatever it is doing."""
    with suppress(EOFError, OSError):
        while True:
            jobs.put(source.recv_bytes())
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
        sys.exit(f"multicube: {str(error) or 'There is not enough memory for a process'}")
    except Exception as error:
        error.add_note(traceback.format_exc())
        return pickle.dumps((False, error))
