"""Runs that go on where they were when the process was killed."""

import json
import os
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...hdl.fabric.digest import digest
from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.output_file import check_output, is_regular
from ..engines import SavingEngine
from .observers import Ask, Observer

__all__ = ["Checkpoint", "check_checkpoint"]

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


class Checkpoint(Observer):
    """Writes checkpoints of a run, and lets it continue from one.

    What a run does depends only on what it reads from its engine. So a checkpoint holds the
    engine's state and the answers to all calls before it. A run that is begun again makes the same
    calls, and gets these answers without simulation, until it comes to the cycle of the state. From
    there on it is simulated. Its result is that of a run without pause.

    Parameters
    ----------
    path : path-like
        File of the checkpoint. If it exists, the run continues from it.
    about : str
        The digest of what is run: the checkpoint must have the same.
    seconds : float
        Time between checkpoints.

    Raises
    ------
    ValueError
        In `begin`, if the file holds no checkpoint of this run; later, if its calls are others.
    OSError
        In `begin`, if it can't be read.
    """

    needs = SavingEngine
    purpose = "write checkpoints"

    def __init__(self, path: str | os.PathLike[str], *, about: str, seconds: float = 60) -> None:
        self._path = path
        self._about = about
        self._seconds = seconds
        self._calls: list[tuple[str, Any]] = []
        self._known: deque[tuple[str, Any]] = deque()
        self._keeps = True

    def begin(self, engine: SavingEngine) -> None:
        self._engine = engine
        if Path(self._path).exists():
            state = engine.load(self._path, self._about)
            try:
                self._known.extend((str(call), answer) for call, answer in json.loads(state.note))
            except (TypeError, ValueError):
                raise self._other() from None
            engine.restore(state)
        self._rate = 1000.0
        self._last = engine.cycle
        self._then = self._saved = time.monotonic()

    def _other(self) -> InvalidValue:
        return InvalidValue(f"{os.fspath(self._path)} is the checkpoint of another run")

    def answer(self, ask: Ask, method: str, *arguments: Any) -> Any:
        """What the engine answers, or has answered before."""
        call = digest(method, arguments)
        if self._known:
            known, answer = self._known.popleft()
            if known != call:
                raise self._other()
        else:
            answer = ask(method, *arguments)
        self._calls.append((call, answer))
        return answer

    def before(self, cycle: int) -> int:
        """Write a checkpoint if it is time."""
        if cycle < self._engine.cycle:
            return self._engine.cycle
        if self._known:
            raise self._other()
        now = time.monotonic()
        if cycle > self._last:
            self._rate = (cycle - self._last) / max(now - self._then, 1e-9)
        if now - self._saved >= self._seconds:
            self._save()
        self._last, self._then = cycle, time.monotonic()
        return cycle + max(1, int(self._rate * _PART_SECONDS))

    def interrupted(self) -> None:
        """Write the last checkpoint: what follows belongs to a run that is given up."""
        self._save()
        self._keeps = False

    def _save(self) -> None:
        if self._keeps:
            state = replace(self._engine.save(), run=self._about, note=json.dumps(self._calls))
            state.save(self._path)
            self._saved = time.monotonic()
