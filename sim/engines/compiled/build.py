"""Compiles C, and caches the compiled libraries.

The cache is a folder of shared libraries, WebAssembly modules, object files and proofs, each named
after its inputs (source, compiler and options) and its own content. A file is written under a
temporary name and renamed, so that parallel or interrupted runs do no harm. A damaged one is made
again. When there are too many, the least recently used ones are removed.

Loading a library executes it. It is therefore loaded only if the file belongs to this user, and
only from a folder to which nobody else can write. Otherwise the program is compiled again, and the
library is kept in a temporary folder until the process ends.
"""

import atexit
import ctypes
import errno
import hashlib
import importlib.util
import os
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess

from ....hdl.fabric.digest import digest
from ....hdl.fabric.parameters import words_in
from ....hdl.support.children import in_threads, run_program, scratch_folder
from ....hdl.support.locks import locked
from .compiled_errors import CompilerFailed, NoCompiler

__all__ = [
    "CACHE_LIMIT",
    "cache_folder",
    "called",
    "compiler_command",
    "compiler_version",
    "failed",
    "kept",
    "library",
    "load_libraries",
    "load_library",
]

CACHE_LIMIT = 1 << 30
"""Most bytes of libraries in the cache."""

_SUFFIXES = (".so", ".wasm", ".o", ".json")
"""What the cache keeps: shared libraries, WebAssembly modules, Verilator's own object files, and
proofs."""

_BUILDING = "building-"
_LOCKED_SECONDS = 60
"""Age at which the folder of a compilation has long been locked by its process."""

_OPTIONS = ("-O1", "-fPIC", "-shared", "-pthread", "-std=gnu11", "-w", "-fno-strict-aliasing")
"""Options of the compiler; those in the environment variable CFLAGS follow them. Of a file that
CFLAGS name, as after `-include`, the cache knows the name alone: empty it after a change."""


def cache_folder() -> Path:
    """Where compiled libraries are kept: MULTICUBE_CACHE, or the user's cache folder."""
    own = os.environ.get("MULTICUBE_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "multicube"


@cache
def _command(wanted: str | None, path: str | None) -> tuple[str, ...]:
    for candidate in (wanted, "cc", "gcc", "clang"):
        try:
            words = _split(candidate or "")
        except ValueError as error:
            raise NoCompiler(f"CC is not a command, {candidate!r}: {error}") from None
        program = shutil.which(words[0], path=path) if words else None
        if program is not None:
            return (os.path.abspath(program), *words[1:])
        if words and candidate == wanted:
            raise NoCompiler(f"The C compiler named by CC, {wanted!r}, was not found")
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    raise NoCompiler(
        "No C compiler was found (CC, cc, gcc or clang); `pip install ziglang` installs one"
    )


def _split(text: str) -> list[str]:
    """The words of a command, as the system's shell has them."""
    return words_in(text) if sys.platform == "win32" else shlex.split(text)


def compiler_command() -> tuple[str, ...]:
    """The system's C compiler: CC, cc, gcc, clang, or the PyPI package ziglang.

    Raises
    ------
    NoCompiler
    """
    return _command(os.environ.get("CC"), os.environ.get("PATH"))


@cache
def compiler_version(command: tuple[str, ...]) -> str:
    """What a compiler says of its version."""
    return called([*command, "--version"]).stdout


def called(command: Sequence[str], folder: Path | None = None) -> CompletedProcess[str]:
    """A completed call of the compiler."""
    try:
        return run_program(
            command, folder=folder, environment=_environment(command), temporary=folder
        )
    except OSError as error:
        raise CompilerFailed(f"{command[0]} can't be run: {error.strerror}") from None


def _environment(command: Sequence[str]) -> dict[str, str] | None:
    """For ziglang, which needs a cache: another one where the user's can't be written."""
    given = os.environ
    if "ziglang" not in command or "ZIG_GLOBAL_CACHE_DIR" in given or sys.platform == "win32":
        return None
    home = given.get("HOME") or os.devnull  # in which there is no folder
    folder = Path(given.get("XDG_CACHE_HOME") or Path(home, ".cache"), "zig")
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return None
    return {**given, "ZIG_GLOBAL_CACHE_DIR": os.fspath(_own_folder())}


@cache
def _machine() -> str:
    """A description of this machine's processor, on which the meaning of -march=native depends."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        import platform

        return platform.processor()


_in_use: dict[tuple[Path, str, tuple[str, ...]], ctypes.CDLL] = {}
"""The libraries that this process has loaded and can't unload, by folder, key and functions."""


def load_libraries(programs: Sequence[tuple[str, tuple[str, ...]]]) -> list[ctypes.CDLL]:
    """`load_library` for several programs, which are compiled in parallel.

    A program that this process has loaded before is not looked for again.
    """
    try:
        folder = cache_folder()
    except RuntimeError:  # there is no home folder
        folder = _own_folder()
    keys = {each: (folder, _key(each[0]), tuple(each[1])) for each in programs}
    missing = [each for each, key in keys.items() if key not in _in_use]
    for each, loaded in zip(missing, in_threads(lambda each: load_library(*each), missing)):
        _in_use[keys[each]] = loaded
    return [_in_use[keys[each]] for each in programs]


def load_library(source: str, functions: Sequence[str] = ()) -> ctypes.CDLL:
    """The shared library of a C program, compiled now or before, and loaded.

    Parameters
    ----------
    source : str
    functions : Sequence[str]
        Functions that it must have; a library that lacks one of them is compiled again.

    Raises
    ------
    NoCompiler
        If there is no compiler.
    CompilerFailed
        If the compiler does not accept the program, or its output can't be loaded.
    """
    path = library(source)
    try:
        return _loaded(path, functions)
    except OSError:  # another process has just removed it, or it can't be loaded here
        path.unlink(missing_ok=True)
    path = library(source)
    try:
        return _loaded(path, functions)
    except OSError as error:
        raise CompilerFailed(f"The compiled code can't be loaded: {error}") from None


def _loaded(path: Path, functions: Sequence[str]) -> ctypes.CDLL:
    loaded = ctypes.CDLL(os.fspath(path))
    for name in functions:
        if not hasattr(loaded, name):
            raise OSError(f"{path} has no function {name}")
    return loaded


def library(source: str) -> Path:
    """The file of the shared library of a C program, compiled now or before.

    If the cache can't be written, or others can write to it, the library is kept in a temporary
    folder until this process ends.

    Raises
    ------
    NoCompiler, CompilerFailed
        As for `load_library`.
    """
    command = _compilation()
    return kept(_key(source), ".so", lambda work: _compile(work, command, source))


def kept(key: str, suffix: str, make: Callable[[Path], Path]) -> Path:
    """The file of a key in the cache; made if it is not there, or damaged.

    Parameters
    ----------
    key : str
        `digest` of all that the file is made from.
    suffix : str
        One of `_SUFFIXES`.
    make : Callable[[Path], Path]
        Makes the file in an empty folder, and returns its path there.

    Raises
    ------
    NoCompiler, CompilerFailed
        If `make` does.
    """
    try:
        return _kept(_safe_folder(), key, suffix, make)
    except (OSError, RuntimeError):  # it can't be used, or there is no home folder
        return _kept(_own_folder(), key, suffix, make)


def _compilation() -> tuple[str, ...]:
    """The compiler, with its options but that for this machine."""
    return (*compiler_command(), *_OPTIONS, *_flags())


def _key(source: str) -> str:
    """A hash of all that a program's library is made from."""
    command = compiler_command()
    # Another program or script may take the place of one, and say the same of itself.
    programs = [os.stat(each) for each in command if os.path.isfile(each)]
    made = [(each.st_size, each.st_mtime_ns) for each in programs]
    return digest(source, *_compilation(), compiler_version(command), made, _machine())


def _flags() -> list[str]:
    flags = os.environ.get("CFLAGS", "")
    try:
        return _split(flags)
    except ValueError as error:
        raise CompilerFailed(f"CFLAGS are not options, {flags!r}: {error}") from None


def _safe_folder() -> Path:
    """The cache folder, if it belongs to this user, and no other user can replace it.

    Raises
    ------
    OSError
    """
    folder = cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform == "win32":  # whose profiles of users are closed to others
        return folder
    if not _is_own(folder, stat.S_ISDIR):
        raise PermissionError(f"{folder} belongs to another user, or others can write to it")
    for above in folder.resolve().parents:
        found = above.stat()
        shared = found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX
        if shared or found.st_uid not in (0, os.geteuid()):
            raise PermissionError(f"Others can rename files in {above}")
    return folder


@cache
def _own_folder() -> Path:
    files = ExitStack()
    atexit.register(files.close)
    return files.enter_context(scratch_folder())


def _kept(folder: Path, key: str, suffix: str, make: Callable[[Path], Path]) -> Path:
    for found in _files(folder, f"{key}-"):
        if (
            found.suffix == suffix
            and _is_own(found, stat.S_ISREG)
            and found.stem == f"{key}-{_digest(found)}"
        ):
            with suppress(OSError):  # the folder can't be written
                os.utime(found)
            return found
        found.unlink(missing_ok=True)
    with scratch_folder(folder, prefix=_BUILDING) as work, _locked(work):
        made = make(work)
        made.chmod(0o700)
        target = folder / f"{key}-{_digest(made)}{suffix}"
        made.replace(target)
    _trim(folder, target)
    return target


def _files(folder: Path, prefix: str) -> list[Path]:
    """The files of a folder of thousands whose names begin so."""
    names = (name for name in os.listdir(folder) if name.startswith(prefix))
    return [folder / name for name in sorted(names) if name.endswith(_SUFFIXES)]


def _is_own(path: Path, kind: Callable[[int], bool]) -> bool:
    """Whether a path belongs to this user, is of this kind (no link), and no other can write it."""
    try:
        found = path.lstat()
    except FileNotFoundError:  # another process has removed it
        return False
    if sys.platform == "win32":
        return kind(found.st_mode)
    mine = found.st_uid == os.geteuid()
    return mine and kind(found.st_mode) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except FileNotFoundError:  # another process has removed it
        return ""


def _compile(work: Path, command: Sequence[str], source: str) -> Path:
    (work / "network.c").write_text(source, "utf-8")
    failure = None
    for machine in (("-march=native",), ()):
        done = called([*command, *machine, "network.c", "-o", "network.so"], work)
        if done.returncode == 0 and (work / "network.so").exists():
            return work / "network.so"
        failure = failure or done
        if os.strerror(errno.ENOSPC) in done.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(work))
    assert failure is not None
    raise failed(command[0], failure)


def failed(name: str, done: CompletedProcess[str]) -> CompilerFailed:
    """The error of a compiler's call that made no file."""
    output = done.stderr or f"exit status {done.returncode}, and no library"
    first = next((line for line in output.splitlines() if "error" in line), output)
    return CompilerFailed(f"{name} failed: {' '.join(first.split())[:300]}")


def _trim(folder: Path, newest: Path) -> None:
    """Remove the least recently used libraries beyond the limit, and leftovers of killed runs."""
    libraries = [(*_status(path), path) for path in _files(folder, "")]
    excess = sum(size for _, size, _ in libraries) - CACHE_LIMIT
    for _, size, old in sorted(libraries) if excess > 0 else ():
        if excess > 0 and old != newest:
            excess -= size
            with suppress(OSError):
                old.unlink()
    for left in folder.glob(f"{_BUILDING}*"):
        if _status(left)[0] < time.time() - _LOCKED_SECONDS:
            with _locked(left) as abandoned:
                if abandoned:
                    shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """A lock of a folder that no process outlives; False if it is another's, or can't be had."""
    with ExitStack() as files:
        try:
            alone = files.enter_context(locked(folder, wait=False))
        except OSError:
            alone = False
        yield alone


def _status(path: Path) -> tuple[float, int]:
    """The time at which a file was last used, and its size."""
    try:
        found = path.stat()
    except OSError:  # another process has removed it
        return 0.0, 0
    return found.st_mtime, found.st_size
