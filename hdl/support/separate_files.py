"""That a command does not write the files that it reads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..fabric.errors import InvalidValue

__all__ = ["note_read", "note_written", "separate_files"]

_Path = str | os.PathLike[str]

_noted: ContextVar[tuple[set[str], set[str]] | None] = ContextVar("_noted", default=None)
"""What the command reads, and what it writes, while one runs."""


@contextmanager
def separate_files() -> Iterator[None]:
    """Refuse, in the body, to read a file that is to be written, or to write one that was read.

    Elsewhere a program may well replace a file that it has read.
    """
    token = _noted.set((set(), set()))
    try:
        yield
    finally:
        _noted.reset(token)


def note_read(path: _Path) -> None:
    """Note that a file is read.

    Raises
    ------
    ValueError
        If it is to be written.
    """
    _note(path, 0)


def note_written(path: _Path) -> None:
    """Note that a file is to be written.

    Raises
    ------
    ValueError
        If it is read.
    """
    _note(path, 1)


def _note(path: _Path, way: int) -> None:
    noted = _noted.get()
    if noted is None:
        return
    real = os.path.realpath(path)
    if real in noted[1 - way] and os.path.isfile(real):
        raise InvalidValue(f"Output {os.fspath(path)} is a file that the command reads")
    noted[way].add(real)
