"""Output files that are either whole or not there."""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from .errors import InvalidValue

__all__ = [
    "check_output",
    "is_regular",
    "is_standard_output",
    "output_format",
    "whole_file",
]

_STANDARD_OUTPUT = "-"
_PREFIX = ".multicube-"
"""Of the names of temporary files: short, as the file's own name may be as long as any can be."""

AnyPath = str | os.PathLike[str]


def check_output(path: AnyPath) -> None:
    """Check, before the work begins, that a file can be written; `-` is standard output.

    Raises
    ------
    ValueError
        If its folder does not exist, it or its folder can't be written to, or it is a folder.
    OSError
        If there can be no such path, as when its name is too long.
    """
    if _is_dash(path):
        if sys.stdout is None:
            raise InvalidValue("Output - can't be written: standard output is closed")
        return
    found, folder = _found(path), _followed(path).parent
    if found is None:
        if not folder.is_dir():
            raise InvalidValue(f"Output {path} can't be written: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise InvalidValue(f"Output {path} can't be written: no permission in {folder}")
    elif stat.S_ISDIR(found.st_mode):
        raise InvalidValue(f"Output {path} is a folder, not a file")
    elif stat.S_ISSOCK(found.st_mode):
        raise InvalidValue(f"Output {path} is a socket, not a file")
    elif _stream(path) is None and not os.access(path, os.W_OK):
        raise InvalidValue(f"Output {path} can't be written: no permission")


def output_format(path: AnyPath, formats: Sequence[str]) -> str:
    """The ending of a path, which says what to write; standard output gets the first format.

    Raises
    ------
    ValueError
        If the ending is none of `formats`.
    """
    if _is_dash(path):
        return formats[0]
    ending = Path(path).suffix
    if ending not in formats:
        raise InvalidValue(f"Output {path} must end in {', '.join(formats)}")
    return ending


def is_standard_output(path: AnyPath) -> bool:
    """Whether a path is `-`, or the file, device or pipe that standard output goes to."""
    return _is_dash(path) or _is_open_as(sys.stdout, path)


def is_regular(path: AnyPath) -> bool:
    """Whether a path is a file, or will be one, beside which others can be written."""
    found = None if _is_dash(path) else _found(path)
    return _stream(path) is None and (found is None or stat.S_ISREG(found.st_mode))


@contextmanager
def whole_file(path: AnyPath) -> Iterator[Path]:
    """Give the path of a temporary file, and write `path` from it when all is there.

    A file is written beside its place and renamed, with the owner, group and mode of an older one.
    Symbolic links are followed, and stay. What can't be replaced so is written in place at the end:
    standard output (`-`), devices and FIFOs (which wait for a reader), another user's file, and a
    file in a folder that can't be written to.

    If the body raises, nothing is left behind and an older file stays as it was. An OSError of
    writing names `path`.
    """
    check_output(path)
    regular, folder = is_regular(path), _followed(path).parent
    beside = folder if regular and os.access(folder, os.W_OK) else None
    with _naming(path):
        handle, name = tempfile.mkstemp(prefix=_PREFIX, dir=beside)
        temporary = Path(name)
        try:
            os.close(handle)
            yield temporary
            if beside is None or not _rename(temporary, _followed(path)):
                _copy(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def _is_dash(path: AnyPath) -> bool:
    return os.fspath(path) == _STANDARD_OUTPUT


def _found(path: AnyPath) -> os.stat_result | None:
    """What there is already, if anything; links are followed."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _followed(path: AnyPath) -> Path:
    """Where a link leads, whether or not there is something; other paths are as they are."""
    return Path(os.path.realpath(path) if os.path.islink(path) else path)


def _is_open_as(stream: TextIO | None, path: AnyPath) -> bool:
    try:
        return stream is not None and os.path.samestat(os.stat(path), os.fstat(stream.fileno()))
    except (AttributeError, OSError, ValueError):  # there is no such file, or the stream has none
        return False


def _stream(path: AnyPath) -> TextIO | None:
    """The stream that already writes to a path, such as /dev/stdout, if any does."""
    if _is_dash(path):
        return sys.stdout
    return next((each for each in (sys.stdout, sys.stderr) if _is_open_as(each, path)), None)


@contextmanager
def _naming(path: AnyPath) -> Iterator[None]:
    """Let an OSError name a path where it names nothing, or the temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not (error.filename is None or _PREFIX in str(error.filename)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _rename(temporary: Path, path: Path) -> bool:
    """Put a file into its place; False if what is there can't be replaced by one like it."""
    old, new = _found(path), temporary.stat()
    if old is None:
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
        return True
    try:
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.chown(temporary, old.st_uid, old.st_gid)
        temporary.chmod(stat.S_IMODE(old.st_mode))
        temporary.replace(path)
    except OSError:  # it is another user's, or a mount point
        return False
    return True


def _copy(temporary: Path, path: AnyPath) -> None:
    """Write a file's contents in place."""
    stream = _stream(path)
    with open(temporary, "rb") as source:
        if stream is None:
            with open(path, "wb") as target:
                shutil.copyfileobj(source, target)
        else:
            stream.flush()
            shutil.copyfileobj(source, stream.buffer)
            stream.flush()
