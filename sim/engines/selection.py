"""Choosing an engine by name."""

import os
from collections.abc import Sequence

from ...hdl.fabric import Fabric
from . import Engine
from .amaranth import AmaranthEngine

__all__ = ["ENGINES", "open_engines"]

ENGINES = ("auto", "amaranth")


def open_engines(
    name: str, fabrics: Sequence[Fabric], *, vcd: str | os.PathLike[str] | None = None
) -> list[Engine]:
    """Engines that together run all these fabrics, in order; each may run several of them.

    Raises
    ------
    ValueError
        If there is no such engine, or it can't run several fabrics into one VCD file.
    """
    if name not in ENGINES:
        raise ValueError(f"Engine must be one of {', '.join(ENGINES)}, not {name!r}")
    if vcd is not None and len(fabrics) != 1:
        raise ValueError("A VCD file can hold one run only")
    return [AmaranthEngine(fabric, vcd=vcd) for fabric in fabrics]


def runs_side_by_side(name: str) -> bool:
    """Whether the engine steps several runs together at hardly more cost than one."""
    return False
