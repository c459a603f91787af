"""What is being done, said on standard error while it takes time, if that is a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

__all__ = ["phase"]


@contextmanager
def phase(words: str, shown: bool = True) -> Iterator[None]:
    """A context in which a terminal shows these words."""
    with tqdm(
        bar_format="{desc}", desc=f"{words} ...", disable=None if shown else True, leave=False
    ):
        yield
