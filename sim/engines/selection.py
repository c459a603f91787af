"""Selects engines by name."""

import os
import sys
from collections.abc import Sequence

from ...hdl.fabric.checks import check_word
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Fabric
from . import Engine
from .amaranth import AmaranthEngine
from .compiled import CompiledEngine
from .compiled.build import compiler_command
from .compiled.errors import NoCompiler

__all__ = ["ENGINES", "check_engine", "open_engines", "resolve_engine"]

ENGINES = ("auto", "compiled", "amaranth")


def check_engine(name: str) -> None:
    """Raise ValueError if there is no such engine."""
    check_word("Engine", name, ENGINES)


def resolve_engine(name: str) -> str:
    """The engine that a name stands for: `auto` is `compiled` if there is a C compiler.

    If there is none, `auto` is `amaranth`, and a line on standard error says so.

    Raises
    ------
    ValueError
        If there is no such engine.
    """
    check_engine(name)
    if name != "auto":
        return name
    try:
        compiler_command()
    except NoCompiler as error:
        print(f"multicube: {error}. Running the slow engine amaranth.", file=sys.stderr)
        return "amaranth"
    return "compiled"


def open_engines(
    name: str,
    fabrics: Sequence[Fabric],
    *,
    vcd: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> list[Engine]:
    """Engines that together run all these fabrics, in order; each may run several of them.

    `threads` is the number of cores of the engine `compiled`, as for `CompiledEngine`.

    Raises
    ------
    NoCompiler
        If the engine `compiled` is asked for and there is no C compiler.
    ValueError
        If there is no such engine, or several runs are to be written to one VCD file.
    """
    if vcd is not None:
        if len(fabrics) != 1:
            raise InvalidValue("A VCD file can only hold one run")
        if name == "compiled":
            raise InvalidValue("Engine must be amaranth to write all waveforms to a VCD file")
        name = "amaranth"
    if resolve_engine(name) == "compiled":
        return [CompiledEngine(fabrics, threads=threads)]
    return [AmaranthEngine(fabric, vcd=vcd) for fabric in fabrics]
