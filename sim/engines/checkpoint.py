"""Runs that go on where they were when the process was killed."""

import json
import os
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...hdl.fabric.digest import digest
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Pin
from ...hdl.support.output_file import check_output, is_regular
from .compiled import CompiledEngine

__all__ = ["CheckpointEngine", "check_checkpoint"]

_PART_SECONDS = 1.0
"""How long the engine runs between looks at the clock."""


def check_checkpoint(path: str | os.PathLike[str]) -> None:
    """Check before the work begins that a checkpoint can be written.

    Raises
    ------
    ValueError
        If it can't, or the path is not that of a regular file.
    """
    check_output(path)
    if not is_regular(path):
        raise InvalidValue(f"Checkpoint must be a regular file, not {os.fspath(path)}")


class CheckpointEngine:
    """A compiled engine that writes checkpoints, and continues from one.

    Implements `Engine` and `ResetEngine`. What a run does depends only on what it reads from its
    engine. So a checkpoint holds the engine's state and the answers to all calls before it. A run
    that is begun again makes the same calls, and gets these answers without simulation, until it
    comes to the cycle of the state. From there on it is simulated. Its result is that of a run
    without pause.

    Parameters
    ----------
    engine : CompiledEngine
        In its first cycle.
    path : path-like
        File of the checkpoint. If it exists, the run continues from it.
    about : str
        The digest of what is run: the checkpoint must have the same.
    seconds : float
        Time between checkpoints.

    Raises
    ------
    ValueError
        If the file holds no checkpoint of this run.
    OSError
        If it can't be read.
    """

    def __init__(
        self,
        engine: CompiledEngine,
        path: str | os.PathLike[str],
        *,
        about: str,
        seconds: float = 60,
    ) -> None:
        self.name = engine.name
        self.runs = engine.runs
        self.cycle = 0
        self._engine = engine
        self._path = path
        self._about = about
        self._seconds = seconds
        self._calls: list[tuple[str, Any]] = []
        self._known: deque[tuple[str, Any]] = deque()
        self._keeps = True
        if Path(path).exists():
            state = engine.load(path, about)
            try:
                self._known.extend((str(call), answer) for call, answer in json.loads(state.note))
            except (TypeError, ValueError):
                raise self._other() from None
            engine.restore(state)
        self._rate = 1000.0
        self._saved = time.monotonic()

    def _other(self) -> InvalidValue:
        return InvalidValue(f"{os.fspath(self._path)} is the checkpoint of another run")

    def _call(self, method: str, *arguments: Any) -> Any:
        """What the engine answers, or has answered before."""
        call = digest(method, arguments)
        if self._known:
            known, answer = self._known.popleft()
            if known != call:
                raise self._other()
        else:
            answer = getattr(self._engine, method)(*arguments)
        self._calls.append((call, answer))
        return answer

    def step(self, cycles: int) -> None:
        """Advance all runs by a number of cycles, and write checkpoints.

        The last one is written at Ctrl-C, from which a run can continue too.
        """
        target = self.cycle + cycles
        if self._known and target > self._engine.cycle:
            raise self._other()
        while self._engine.cycle < target:
            part = min(target - self._engine.cycle, max(1, int(self._rate * _PART_SECONDS)))
            begin = time.monotonic()
            try:
                self._engine.step(part)
            except KeyboardInterrupt:
                self.cycle = self._engine.cycle
                self._save()
                self._keeps = False  # what follows belongs to a run that is given up
                raise
            now = time.monotonic()
            self._rate = part / max(now - begin, 1e-9)
            if now - self._saved >= self._seconds:
                self._save()
        self.cycle = target

    def _save(self) -> None:
        if self._keeps:
            state = replace(self._engine.save(), run=self._about, note=json.dumps(self._calls))
            state.save(self._path)
            self._saved = time.monotonic()

    def reset(self, cycles: int = 1) -> None:
        self._call("reset", cycles)
        self.cycle += cycles

    def set(self, port: str, value: int, run: int | None = None) -> None:
        self._call("set", port, value, run)

    def get(self, pin: Pin, run: int = 0) -> int:
        return int(self._call("get", pin, run))

    def read(self, cells: Sequence[str], port: str, run: int = 0) -> list[int]:
        return list(self._call("read", cells, port, run))

    def memory(self, cell: str, name: str, run: int = 0) -> list[int]:
        return list(self._call("memory", cell, name, run))

    def memory_sum(self, cells: Sequence[str], name: str, run: int = 0) -> list[int]:
        return list(self._call("memory_sum", cells, name, run))

    def close(self) -> None:
        self._engine.close()

    def __enter__(self) -> "CheckpointEngine":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
