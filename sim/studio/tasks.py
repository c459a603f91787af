"""What the workbench does: commands of `multicube`, some at a time, which can be ended."""

import asyncio
import secrets
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...hdl.support.children import end_session
from .sweep_points import sweep_points
from .terminal import Terminal

__all__ = ["POINTS", "Lane", "Task", "Tasks"]

State = Literal["waiting", "running", "done", "failed", "cancelled"]

Lane = Literal["short", "long"]

LANES: dict[Lane, int] = {"short": 2, "long": 1}
"""So many commands run at a time; others wait for their turn. A sweep uses all processors, and
takes long: nothing short waits for one."""

MOST = 1000
"""So many tasks are kept; of older ones that have ended, the results are removed."""

POINTS = ".points.json"
"""The file in which a sweep keeps its points: no file of a page has such a name."""

PATIENCE = 3.0
"""Seconds that a command has to end by itself."""


@dataclass
class Task:
    """A command, and what has become of it.

    Attributes
    ----------
    words : list[str]
        Those of the command, after `multicube`.
    folder : Path
        Where it runs.
    lane : Lane
    state : State
    output, error : str
        What it has printed: the error is one line.
    """

    words: list[str]
    folder: Path
    lane: Lane = "short"
    key: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = "waiting"
    output: str = ""
    error: str = ""
    begun: float = field(default_factory=time.monotonic)
    ended: float | None = None
    terminal: Terminal | None = None
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        return self.state not in ("waiting", "running")

    @property
    def command(self) -> str:
        """The line that does the same in a terminal."""
        return shlex.join(["multicube", *self.words])

    @property
    def files(self) -> list[str]:
        """What it has written, once it is done."""
        names = [each.name for each in self.folder.iterdir()] if self.state == "done" else []
        return sorted(name for name in names if not name.startswith("."))

    def record(self) -> dict[str, Any]:
        """The task, as JSON."""
        return {
            "key": self.key,
            "state": self.state,
            "command": self.command,
            "seconds": round((self.ended or time.monotonic()) - self.begun, 1),
            "progress": self.terminal.progress if self.terminal else None,
            "points": sweep_points(self.folder / POINTS),
            "output": self.output,
            "error": self.error,
            "files": self.files,
        }


class Tasks:
    """All tasks of a workbench.

    Parameters
    ----------
    folder : Path
        Each task has a folder of its own in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tasks: dict[str, Task] = {}
        self._turns = {lane: asyncio.Semaphore(count) for lane, count in LANES.items()}
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self, words: list[str], lane: Lane = "short", files: Sequence[Path] = ()) -> Task:
        """Run a command as soon as it has its turn, beside copies of these files."""
        task = Task(words, self.folder, lane)
        task.folder = self.folder / task.key
        task.folder.mkdir()
        for path in files:
            shutil.copy(path, task.folder)
        self.tasks[task.key] = task
        for old in [each for each in self.tasks.values() if each.is_over]:
            if len(self.tasks) > MOST:
                shutil.rmtree(old.folder)
                del self.tasks[old.key]
        job = asyncio.create_task(self._run(task))
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        return task

    def record(self, task: Task) -> dict[str, Any]:
        """A task as JSON, with the number of those that have their turn before it."""
        ahead = 0
        if task.state == "waiting":
            others = [each for each in self.tasks.values() if each.lane == task.lane]
            ahead = sum(not each.is_over for each in others[: others.index(task)])
        return task.record() | {"ahead": ahead}

    async def _run(self, task: Task) -> None:
        async with self._turns[task.lane]:
            if task.is_over:
                return
            task.state = "running"
            with Terminal() as task.terminal:
                output, status = await self._output(task, task.terminal)
            lines = task.terminal.lines
            task.terminal, task.ended = None, time.monotonic()
        if task.stopped.is_set():
            return
        task.output = output.decode(errors="replace")
        # Status 1 is a finding, such as a deadlock: what is found is printed.
        good = status == 0 or (status == 1 and task.output)
        task.error = "" if good else (lines[-1] if lines else "The command has failed")
        task.state = "done" if good else "failed"

    async def _output(self, task: Task, terminal: Terminal) -> tuple[bytes, int | None]:
        """What a command prints, and its status."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "multicube", *task.words),
            cwd=task.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=terminal.its,
            start_new_session=True,
        )
        printed = asyncio.create_task(process.communicate())
        stopped = asyncio.create_task(task.stopped.wait())
        await asyncio.wait({printed, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not printed.done():
            end_session(process.pid, kill=False)
            await asyncio.wait({printed}, timeout=PATIENCE)
            end_session(process.pid)
        stopped.cancel()
        output, _ = await printed
        return output, process.returncode

    def cancel(self, task: Task) -> None:
        """End a task."""
        if not task.is_over:
            task.state, task.ended = "cancelled", time.monotonic()
            task.stopped.set()

    async def close(self) -> None:
        """End all tasks."""
        for task in self.tasks.values():
            self.cancel(task)
        await asyncio.gather(*self._jobs, return_exceptions=True)
