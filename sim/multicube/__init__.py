"""Interconnection networks of parallel computers as real hardware.

The most used names of `multicube.hdl` and `multicube.sim`, each imported when it is first used:
`build` makes a network, `simulate` and `sweep` run it, `compare` runs several, `write_verilog` and
`draw` write it to a file, and `LivePage` is a web page in which it runs.

This folder is the package `multicube` itself; `hdl`, `sim` and `boards` are installed inside it.
"""

from typing import TYPE_CHECKING

from .hdl.support.lazy import lazy_names
from .hdl.support.shown import show_by

if TYPE_CHECKING:
    from .hdl.export.verilog import write_verilog
    from .hdl.networks.catalogue import build
    from .sim.live.page import LivePage
    from .sim.report.drawing import draw
    from .sim.run.comparing import compare
    from .sim.run.simulation import simulate
    from .sim.run.sweeps import sweep
    from .version import __version__

__all__ = [
    "LivePage",
    "__version__",
    "build",
    "compare",
    "draw",
    "simulate",
    "sweep",
    "write_verilog",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".hdl.export.verilog": "write_verilog",
        ".hdl.networks.catalogue": "build",
        ".sim.live.page": "LivePage",
        ".sim.report.drawing": "draw",
        ".sim.run.comparing": "compare",
        ".sim.run.simulation": "simulate",
        ".sim.run.sweeps": "sweep",
        ".version": "__version__",
    },
)

for _kind in ("network", "result", "sweep"):
    show_by(_kind, f"{__name__}.sim.report.notebook", f"{_kind}_html")
show_by("sweep plot", f"{__name__}.sim.report.plot", "sweep_plot")
show_by("comparison plot", f"{__name__}.sim.report.plot", "plot")
