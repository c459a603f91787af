"""Compiling C, and keeping what was compiled.

The cache is a folder of shared libraries named after their content: source, compiler and options.
A library is written beside and renamed, so that parallel runs and an interrupted one do no harm;
those that were not used for longest are removed when there are too many.
"""

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from .errors import CompilerFailed, NoCompiler

__all__ = ["CACHE_LIMIT", "cache_folder", "compiler_command", "library"]

CACHE_LIMIT = 200
"""Libraries that are kept."""

_OPTIONS = ("-O2", "-fPIC", "-shared", "-std=gnu11", "-w", "-fno-strict-aliasing")


def cache_folder() -> Path:
    """Where compiled libraries are kept: MULTICUBE_CACHE, or the user's cache folder."""
    own = os.environ.get("MULTICUBE_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "multicube"


@cache
def _command(wanted: str | None, path: str | None) -> tuple[str, ...]:
    for candidate in (wanted, "cc", "gcc", "clang"):
        words = shlex.split(candidate) if candidate else []
        if words and shutil.which(words[0], path=path):
            return tuple(words)
        if candidate and candidate == wanted:
            raise NoCompiler(f"The C compiler named by CC, {wanted!r}, was not found")
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    raise NoCompiler(
        "No C compiler was found (CC, cc, gcc or clang); one way to get one is "
        "`pip install ziglang`"
    )


def compiler_command() -> tuple[str, ...]:
    """The system's C compiler: CC, cc, gcc, clang, or the PyPI package ziglang.

    Raises
    ------
    NoCompiler
    """
    return _command(os.environ.get("CC"), os.environ.get("PATH"))


@cache
def _version(command: tuple[str, ...]) -> str:
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return done.stdout


@cache
def _machine() -> str:
    """What -march=native stands for here."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        import platform

        return platform.processor()


def library(source: str) -> Path:
    """The shared library of a C program, compiled now or before.

    Raises
    ------
    NoCompiler
        If there is no compiler.
    CompilerFailed
        If it does not accept the program.
    """
    command = compiler_command()
    content = "\0".join((source, *command, *_OPTIONS, _version(command), _machine()))
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{hashlib.sha256(content.encode()).hexdigest()[:32]}.so"
    if target.exists():
        os.utime(target)
        return target
    with tempfile.TemporaryDirectory(dir=folder, prefix="building-") as work:
        (Path(work) / "network.c").write_text(source)
        made = Path(work) / "network.so"
        failure = ""
        for options in (("-march=native",), ()):
            done = subprocess.run(
                [*command, *_OPTIONS, *options, "network.c", "-o", made.name],
                cwd=work,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                break
            failure = failure or done.stderr
        else:
            first = next((line for line in failure.splitlines() if "error" in line), failure)
            raise CompilerFailed(f"{command[0]} failed: {first.strip()[:300]}")
        made.replace(target)
    _trim(folder)
    return target


def _trim(folder: Path) -> None:
    """Remove the libraries that were not used for longest, down to the limit."""
    libraries = sorted(folder.glob("*.so"), key=_age)
    for old in libraries[: max(0, len(libraries) - CACHE_LIMIT)]:
        old.unlink(missing_ok=True)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process has removed it
        return 0.0
