"""Output files that are either whole or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["check_output", "whole_file"]


def check_output(path: str | os.PathLike[str]) -> Path:
    """The path of a file to be written, checked before the work begins.

    Raises
    ------
    ValueError
        If its folder does not exist or can't be written to, or the path is a folder.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"Output {path} is a folder, not a file")
    if not path.parent.is_dir():
        raise ValueError(f"Output {path} can't be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"Output {path} can't be written: no permission in {path.parent}")
    return path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`, and rename it when all is written.

    If the body raises, nothing is left behind and an older file stays as it was.
    """
    path = check_output(path)
    mask = os.umask(0)
    os.umask(mask)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
