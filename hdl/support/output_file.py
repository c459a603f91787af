"""Output files that are either complete or absent."""

import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from ..fabric.checks import check_path
from ..fabric.errors import InvalidValue
from .locks import locked
from .separate_files import note_written

__all__ = [
    "alone",
    "check_output",
    "check_output_folder",
    "is_regular",
    "is_standard_output",
    "output_format",
    "whole_file",
]

_STANDARD_OUTPUT = "-"
_PREFIX = ".multicube-"
"""Prefix of temporary names: short, because the file's own name may have the maximum length."""
_OPEN_FILES = Path("/proc/self/fd")
"""Where Linux shows the open files of a process, also those without a name."""

AnyPath = str | os.PathLike[str]


def check_output(path: AnyPath) -> None:
    """Check before the work begins that a file can be written; `-` is standard output.

    Raises
    ------
    ValueError
        If its folder does not exist, the file or folder is not writable, it is a folder, or the
        command that runs reads it.
    OSError
        If no such path can exist, for example because its name is too long.
    """
    check_path("Output", path)
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
    note_written(path)


def check_output_folder(path: AnyPath) -> None:
    """Check before the work begins that a path is a folder, or that one can be made there.

    Raises
    ------
    ValueError
        If it is something else, such as standard output, or can't be made.
    OSError
        As `check_output`.
    """
    check_path("Output", path)
    if not Path(path).is_dir():
        if Path(path).exists() or is_standard_output(path):
            raise InvalidValue(f"Output {path} is not a folder")
        check_output(path)


def output_format(path: AnyPath, formats: Sequence[str]) -> str:
    """The suffix of a path, which selects the format; standard output gets the first format.

    Raises
    ------
    ValueError
        If the suffix is not one of `formats`.
    """
    check_path("Output", path)
    if _is_dash(path):
        return formats[0]
    ending = Path(path).suffix
    if ending not in formats:
        raise InvalidValue(f"Output {path} must end in {', '.join(formats)}")
    return ending


def is_standard_output(path: AnyPath) -> bool:
    """Whether a path is `-`, or the file, device or pipe behind standard output."""
    return _is_dash(path) or _is_open_as(sys.stdout, path)


def is_regular(path: AnyPath) -> bool:
    """Whether a path is or will be a regular file, so that others can be written beside it."""
    found = None if _is_dash(path) else _found(path)
    return _stream(path) is None and (found is None or stat.S_ISREG(found.st_mode))


@contextmanager
def alone(path: AnyPath) -> Iterator[None]:
    """Wait until no other process is in such a block for a file of the same folder.

    So a file can be read, and replaced by one with more, and nothing is lost that another process
    writes meanwhile.

    Raises
    ------
    OSError
        If the file system knows no locks.
    """
    with locked(_followed(path).parent):
        yield


@contextmanager
def whole_file(path: AnyPath) -> Iterator[Path]:
    """Give the path of a temporary file, and write `path` from it once it is complete.

    The temporary file is in the same folder, and gets its name at the end, with the owner, group
    and mode of an existing file. Symbolic links are followed and kept. Files that can't be replaced
    like this are written in place at the end: standard output (`-`), devices and FIFOs (which wait
    for a reader), another user's file, and a file in a folder that is not writable.

    If the body raises, nothing is left behind and an existing file is unchanged. So it is if the
    process is killed, where the file system has files without a name (most of Linux); on others a
    hidden file then stays. An OSError raised while writing names `path`.
    """
    check_output(path)
    regular, folder = is_regular(path), _followed(path).parent
    beside = folder if regular and os.access(folder, os.W_OK) else None
    with _naming(path), _temporary(beside or Path(tempfile.gettempdir())) as temporary:
        yield temporary
        if beside is None or not _move(temporary, _followed(path)):
            _copy(temporary, path)


def _is_dash(path: AnyPath) -> bool:
    return os.fspath(path) == _STANDARD_OUTPUT


def _found(path: AnyPath) -> os.stat_result | None:
    """The status of what exists at a path, or None; links are followed."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _followed(path: AnyPath) -> Path:
    """The target of a link, whether or not it exists; other paths are unchanged."""
    return Path(os.path.realpath(path) if os.path.islink(path) else path)


def _is_open_as(stream: TextIO | None, path: AnyPath) -> bool:
    try:
        return stream is not None and os.path.samestat(os.stat(path), os.fstat(stream.fileno()))
    except (AttributeError, OSError, ValueError):  # no such file, or the stream has none
        return False


def _stream(path: AnyPath) -> TextIO | None:
    """The stream that already writes to a path such as /dev/stdout, if there is one."""
    if _is_dash(path):
        return sys.stdout
    return next((each for each in (sys.stdout, sys.stderr) if _is_open_as(each, path)), None)


@contextmanager
def _naming(path: AnyPath) -> Iterator[None]:
    """Make an OSError name `path` if it names nothing, or names the temporary file."""
    try:
        yield
    except OSError as error:
        named = str(error.filename or _PREFIX)
        if error.errno is None or not (_PREFIX in named or named.startswith(f"{_OPEN_FILES}/")):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A new empty file, which has no name where that is possible."""
    handle = _nameless(folder)
    if handle is not None:
        try:
            yield _OPEN_FILES / str(handle)
        finally:
            os.close(handle)
        return
    handle, name = tempfile.mkstemp(prefix=_PREFIX, dir=folder)
    os.close(handle)  # Windows renames no open file
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _nameless(folder: Path) -> int | None:
    """A new file of which nothing stays if the process is killed; None if the system has none."""
    if hasattr(os, "O_TMPFILE") and _OPEN_FILES.is_dir():
        with suppress(OSError):  # not on this file system
            return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    return None


def _move(temporary: Path, path: Path) -> bool:
    """Move a file into place; return False if it can't be, or has not the owner of the old one."""
    old, new = _found(path), temporary.stat()
    try:
        if old is None:
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        else:
            if sys.platform != "win32" and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                os.chown(temporary, old.st_uid, old.st_gid)
            temporary.chmod(stat.S_IMODE(old.st_mode))
        _give_name(temporary, path)
    except OSError as error:  # owned by another user, or a mount point
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # written in place the old file would be lost
        return False
    return True


def _give_name(temporary: Path, path: Path) -> None:
    """Rename a file, or name one without a name, in place of what has the name."""
    if temporary.parent != _OPEN_FILES:
        temporary.replace(path)
        return
    new = path
    if os.path.lexists(path):  # which only a file with a name can replace
        new = path.with_name(f"{_PREFIX}{secrets.token_hex(8)}")
    try:
        # Only with a folder, though none is needed, does it link the file instead of the link.
        os.link(temporary, new, src_dir_fd=int(temporary.name))
        if new != path:
            new.replace(path)
    finally:
        if new != path:
            new.unlink(missing_ok=True)


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
