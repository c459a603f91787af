"""Selects engines by name."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...hdl.fabric.checks import check_word
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Fabric
from . import Engine, can
from .amaranth import AmaranthEngine
from .compiled import CompiledEngine
from .compiled.build import compiler_command
from .compiled.compiled_errors import NoCompiler
from .verilator import VerilatorEngine

__all__ = [
    "ENGINES",
    "check_engine",
    "engines_that_can",
    "open_engines",
    "resolve_engine",
    "runs_together",
]


class _Kind(NamedTuple):
    """Engines of a name: their class, how fabrics are opened, and whether one engine runs all."""

    type: type
    open: Callable[[Sequence[Fabric], int | None], Sequence[Engine]]
    together: bool = False


_KINDS = {
    "compiled": _Kind(CompiledEngine, lambda all_, n: [CompiledEngine(all_, threads=n)], True),
    "amaranth": _Kind(AmaranthEngine, lambda all_, _: [AmaranthEngine(each) for each in all_]),
    "verilator": _Kind(
        VerilatorEngine, lambda all_, _: [VerilatorEngine(each, None) for each in all_]
    ),
}

ENGINES = ("auto", *_KINDS)


def check_engine(name: str) -> None:
    """Raise ValueError if there is no such engine."""
    check_word("Engine", name, ENGINES)


def engines_that_can(*capabilities: type) -> list[str]:
    """The names of the engines that have all these protocols, the usual choice first."""
    return [n for n, kind in _KINDS.items() if all(can(kind.type, each) for each in capabilities)]


def resolve_engine(name: str, needs: Mapping[str, type] | None = None) -> str:
    """The engine that a name stands for: `auto` is `compiled` if there is a C compiler.

    If there is none, `auto` is `amaranth`, and a line on standard error says so. An engine that can
    do what is needed is preferred to both.

    Parameters
    ----------
    name : str
    needs : Mapping[str, type], optional
        The protocols that the engine must have, by what they are needed for: "write checkpoints".

    Raises
    ------
    NoCompiler
        If the only engine that has them needs a C compiler, and there is none.
    ValueError
        If there is no such engine, or it lacks one of them.
    """
    check_engine(name)
    needs = needs or {}
    for purpose, need in needs.items():
        able = engines_that_can(need)
        if name not in ("auto", *able):
            raise InvalidValue(f"Engine must be {' or '.join(able)} to {purpose}, not {name}")
    if name != "auto":
        return name
    able = engines_that_can(*needs.values())
    if not able:
        raise InvalidValue(f"No engine can {' and '.join(needs)}")
    try:
        if able[0] == CompiledEngine.name:
            compiler_command()
    except NoCompiler as error:
        if AmaranthEngine.name not in able:
            raise
        print(f"multicube: {error}. Running the slow engine amaranth.", file=sys.stderr)
        return AmaranthEngine.name
    return able[0]


def runs_together(name: str) -> bool:
    """Whether one engine of this name runs several fabrics, side by side."""
    return _KINDS[name].together


def open_engines(
    name: str, fabrics: Sequence[Fabric], *, threads: int | None = None
) -> Sequence[Engine]:
    """Engines that together run all these fabrics, in order; each may run several of them.

    `threads` is the number of cores of the engine `compiled`, as for `CompiledEngine`.

    Raises
    ------
    NoCompiler, VerilatorMissing
        If the engine needs a compiler, or Verilator, and there is none.
    ValueError
        If there is no such engine, or it runs on one core only and more are asked for.
    """
    name = resolve_engine(name)
    if name != CompiledEngine.name and threads not in (None, 1):
        raise InvalidValue(f"Engine must be compiled to run on {threads} threads, not {name}")
    return _KINDS[name].open(fabrics, threads)
