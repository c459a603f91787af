"""What is being done, said on standard error while it takes time, if that is a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from .observers import NEVER, Observer

__all__ = ["Progress", "phase"]


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
