"""What the workbench does: commands of `multicube`, two at a time, which can be ended."""

import asyncio
import os
import secrets
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

__all__ = ["Task", "Tasks"]

State = Literal["waiting", "running", "done", "failed", "cancelled"]

SIDE_BY_SIDE = 2
"""So many commands run at a time; others wait for their turn."""

MOST = 200
"""So many tasks are kept; of older ones that have ended, the results are removed."""


@dataclass
class Task:
    """A command, and what has become of it.

    Attributes
    ----------
    words : list[str]
        Those of the command, after `multicube`.
    folder : Path
        Where it runs.
    state : State
    output, error : str
        What it has printed: the error is one line.
    """

    words: list[str]
    folder: Path
    key: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = "waiting"
    output: str = ""
    error: str = ""
    begun: float = field(default_factory=time.monotonic)
    process: asyncio.subprocess.Process | None = None

    @property
    def command(self) -> str:
        """The line that does the same in a terminal."""
        return " ".join(["multicube", *self.words])

    @property
    def files(self) -> list[str]:
        """What it has written, once it is done."""
        return sorted(each.name for each in self.folder.iterdir()) if self.state == "done" else []

    def record(self) -> dict[str, Any]:
        """The task, as JSON."""
        return {
            "key": self.key,
            "state": self.state,
            "command": self.command,
            "seconds": round(time.monotonic() - self.begun, 1),
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
        self._turns = asyncio.Semaphore(SIDE_BY_SIDE)
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self, words: list[str]) -> Task:
        """Run a command as soon as it has its turn."""
        task = Task(words, self.folder)
        task.folder = self.folder / task.key
        task.folder.mkdir()
        self.tasks[task.key] = task
        for old in [
            each for each in self.tasks.values() if each.state not in ("waiting", "running")
        ]:
            if len(self.tasks) > MOST:
                self._remove(old)
        job = asyncio.create_task(self._run(task))
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        return task

    async def _run(self, task: Task) -> None:
        async with self._turns:
            if task.state == "cancelled":
                return
            task.state = "running"
            task.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "multicube", *task.words),
                cwd=task.folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            output, error = await task.process.communicate()
        if self._is_cancelled(task):
            return
        task.output = output.decode(errors="replace")
        lines = error.decode(errors="replace").strip().splitlines()
        # Status 1 is a finding, such as a deadlock: what is found is printed.
        good = task.process.returncode == 0 or (task.process.returncode == 1 and task.output)
        task.error = "" if good else (lines[-1] if lines else "The command has failed")
        task.state = "done" if good else "failed"

    @staticmethod
    def _is_cancelled(task: Task) -> bool:
        return task.state == "cancelled"

    def cancel(self, task: Task) -> None:
        """End a task, with all processes that it has started."""
        if task.state not in ("waiting", "running"):
            return
        task.state = "cancelled"
        if task.process is not None and task.process.returncode is None:
            os.killpg(task.process.pid, signal.SIGTERM)

    def _remove(self, task: Task) -> None:
        for each in task.folder.iterdir():
            each.unlink()
        task.folder.rmdir()
        del self.tasks[task.key]

    async def close(self) -> None:
        """End all tasks."""
        for task in self.tasks.values():
            self.cancel(task)
        await asyncio.gather(*self._jobs, return_exceptions=True)
