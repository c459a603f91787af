"""What is being done, said on standard error while it takes time, if that is a terminal."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Lock, Thread

from tqdm import tqdm

from ...hdl.support.children import scratch_folder
from .observers import NEVER, Observer

__all__ = ["Progress", "RunCount", "Tally", "phase"]

_LOOK_SECONDS = 0.2
"""Interval at which is counted how many runs have ended."""


@contextmanager
def phase(words: str, shown: bool = True) -> Iterator[None]:
    """A context in which a terminal shows these words."""
    with tqdm(
        bar_format="{desc}", desc=f"{words} ...", disable=None if shown else True, leave=False
    ):
        yield


class Progress(Observer):
    """Shows how many cycles have been simulated, if that takes long."""

    def begin(self, engine: object) -> None:
        self._bar = tqdm(unit="cycles", disable=None, delay=2, leave=False)

    def before(self, cycle: int) -> int:
        self._bar.update(cycle - self._bar.n)
        return NEVER

    def close(self) -> None:
        self._bar.close()


class Tally(Observer):
    """Adds a byte to a file for each run that ends, so that another process can count them; and one
    when an engine is ready."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path

    def begin(self, engine: object) -> None:
        self._add(b"+")

    def run_ended(self) -> None:
        self._add(b".")

    def _add(self, byte: bytes) -> None:
        with open(self._path, "ab") as file:
            file.write(byte)


class RunCount:
    """Shows how many of the runs of a sweep have ended, also of those in other processes.

    Parameters
    ----------
    what : str
        What is swept.
    shown : bool

    Attributes
    ----------
    tally : str or None
        File of a `Tally` for these runs; None if nothing is shown.
    """

    def __init__(self, what: str, shown: bool) -> None:
        self._what = what
        self._bar = tqdm(
            desc=f"{what}, preparing the engine",
            unit=" loads",
            disable=None if shown else True,
            leave=False,
            total=0,
        )
        self.tally: str | None = None
        self._certain, self._end, self._alone = 0, Event(), Lock()

    def __enter__(self) -> "RunCount":
        self._open = ExitStack()
        self._open.enter_context(self._bar)
        if not self._bar.disable:
            folder = self._open.enter_context(scratch_folder())
            self.tally = str(Path(folder) / "ended")
            Path(self.tally).touch()
            watch = Thread(target=self._watch, args=(self.tally,), daemon=True)
            watch.start()
            self._open.callback(watch.join)
            self._open.callback(self._end.set)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def expect(self, runs: int) -> None:
        """Expect further runs."""
        self._bar.total += runs
        self._bar.refresh()

    def ended(self, runs: int) -> None:
        """Count these as ended, at the latest: machines elsewhere have no `tally`."""
        self._certain += runs
        self._show(self._certain)

    def _watch(self, tally: str) -> None:
        while not self._end.wait(_LOOK_SECONDS):
            seen = Path(tally).read_bytes()
            self._show(seen.count(b"."), bool(seen))

    def _show(self, runs: int, ready: bool = True) -> None:
        with self._alone:
            if ready:
                self._bar.set_description(self._what, refresh=False)
            runs = min(runs, self._bar.total)
            if runs > self._bar.n:
                self._bar.update(runs - self._bar.n)
                self._bar.refresh()
