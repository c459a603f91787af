"""Interconnection networks of parallel computers as real hardware.

The most used names of `multicube.hdl` and `multicube.sim`, each imported when it is first used:
`build` makes a network, `simulate` and `sweep` run it, `compare` runs several, `write_verilog` and
`draw` write it to a file, and `LivePage` is a web page in which it runs.

This folder is the package `multicube` itself; `hdl`, `sim` and `boards` are installed inside it.
"""

from .hdl.support.lazy import lazy_names
from .hdl.support.shown import show_by

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)

for _kind in ("network", "result", "sweep"):
    show_by(_kind, f"{__name__}.sim.report.notebook", f"{_kind}_html")
show_by("sweep plot", f"{__name__}.sim.report.plot", "sweep_plot")
show_by("comparison plot", f"{__name__}.sim.report.plot", "plot")
