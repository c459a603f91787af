"""Compiles C to WebAssembly, with the compiler of the PyPI package ziglang."""

import importlib.util
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from ...hdl.fabric.digest import digest
from ...hdl.support.children import in_threads
from ..engines.compiled.build import called, failed, kept
from ..engines.compiled.compiled_errors import NoCompiler

__all__ = ["Unit", "webassembly"]

_TARGET = ("-target", "wasm32-freestanding", "-O2", "-msimd128")
_OPTIONS = (*_TARGET, "-std=gnu11", "-w", "-fno-strict-aliasing")
"""As the native ones."""

_LINK = (*_TARGET, "-nostdlib", "-Wl,--no-entry", "-Wl,--strip-all")


class Unit(NamedTuple):
    """A C program to be linked with others.

    Attributes
    ----------
    source : str
    options : tuple[str, ...]
        Of the compiler, such as `-DNAME=OTHER`.
    """

    source: str
    options: tuple[str, ...] = ()


def webassembly(units: Mapping[str, Unit]) -> bytes:
    """The WebAssembly module of some units, compiled now or before.

    Parameters
    ----------
    units : Mapping[str, Unit]
        By name.

    Raises
    ------
    NoCompiler
        If the package ziglang is not installed.
    CompilerFailed
        If the compiler does not accept a unit.
    """
    if importlib.util.find_spec("ziglang") is None:
        raise NoCompiler(
            "A live page is compiled by the package ziglang: `pip install ziglang` installs it"
        )
    words = [version("ziglang"), *_OPTIONS, *_LINK]
    for name, unit in units.items():
        words += [name, unit.source, *unit.options]
    return kept(digest(*words), ".wasm", lambda work: _compiled(work, units)).read_bytes()


def _compiled(work: Path, units: Mapping[str, Unit]) -> Path:
    command = (sys.executable, "-m", "ziglang", "cc")

    def compile_(name: str) -> None:
        (work / f"{name}.c").write_text(units[name].source, "utf-8")
        options = [*_OPTIONS, *units[name].options, "-c", f"{name}.c", "-o", f"{name}.o"]
        done = called([*command, *options], work)
        if done.returncode:
            raise failed("ziglang", done)

    in_threads(compile_, list(units))
    done = called([*command, *_LINK, *(f"{name}.o" for name in units), "-o", "network.wasm"], work)
    if done.returncode:
        raise failed("ziglang", done)
    return work / "network.wasm"
