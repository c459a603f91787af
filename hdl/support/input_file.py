"""Input files, for which nobody waits in vain."""

import codecs
import os
import re
import sys
from typing import Any

from ..fabric.checks import check_path, shown
from ..fabric.errors import InvalidValue
from .separate_files import note_read

__all__ = ["as_text", "given_once", "read_content", "read_input", "read_text", "text_lines"]

_MOST_BYTES = 2**28
"""Most bytes of a file that is read whole; what it becomes in memory is larger by far."""


def read_input(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """All bytes of a file, or of a pipe that something writes to; a FIFO without a writer is empty.

    Parameters
    ----------
    path : path-like
    most : int
        How many bytes are read at most; all of them if it is negative.

    Raises
    ------
    OSError
    """
    try:
        with open(path, "rb", opener=_unwaiting) as file:
            return file.read(most)
    except OSError as error:
        error.filename = os.fspath(path)  # one of reading has none
        raise


def _unwaiting(path: str, flags: int) -> int:
    """Open a file, also a FIFO that nobody writes to."""
    if sys.platform == "win32":
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def read_content(what: str, path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file.

    Parameters
    ----------
    what : str
        What the file is, for messages, such as "Trace".
    path : path-like

    Raises
    ------
    TypeError, ValueError
        If there is no such file, or it is of more than 256 MiB.
    """
    check_path(what, path)
    note_read(path)
    try:
        content = read_input(path, _MOST_BYTES + 1)
    except OSError as error:
        raise _unread(what, path, error.strerror or str(error)) from None
    if len(content) > _MOST_BYTES:
        raise _unread(what, path, f"it has more than {_MOST_BYTES} bytes")
    return content


def read_text(what: str, path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8, or in UTF-16 if it begins with its mark; without the mark (BOM).

    Arguments and errors are those of `read_content`; it is also refused if it is no text.
    """
    return as_text(what, path, read_content(what, path))


def as_text(what: str, path: str | os.PathLike[str], content: bytes) -> str:
    """The text that the content of a file is, as `read_text` has it."""
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise _unread(what, path, "it is not a text file") from None


def given_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of JSON that has these entries, each given once: a decoder's `object_pairs_hook`.

    Raises
    ------
    ValueError
        If one is given twice.
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidValue(
                f"Entry {shown(name)} must be given once, not twice, in {shown(dict(pairs))}"
            )
        found[name] = value
    return found


def text_lines(text: str) -> list[str]:
    """The lines of a text, without their ends: \\r\\n, \\n or \\r, and no other character, such as
    those at which `str.splitlines` begins a line in the middle of a name or a comment."""
    return re.split("\r\n|\n|\r", text)


def _unread(what: str, path: str | os.PathLike[str], reason: str) -> InvalidValue:
    return InvalidValue(f"{what} {os.fspath(path)} can't be read: {reason}")
