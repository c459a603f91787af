"""What `multicube synth --liberty` prints."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .terminal_table import print_figures

if TYPE_CHECKING:
    from ..synthesis import CellMeasurement

__all__ = ["print_cells"]


def print_cells(words: str, found: "CellMeasurement") -> None:
    """A table of area, clock and power, and the longest path."""
    area, storage, timing = found.area, found.storage, found.timing
    rows = [
        ("area", f"{area.total:,.0f}"),
        ("of this flip-flops and latches", f"{area.sequential:,.0f}"),
        ("cells", f"{area.cells}"),
        ("bits that must be stored", f"{sum(storage)}"),
        ("of these in registers", f"{storage.registers}"),
    ]
    if timing is not None:
        rows += [
            ("shortest period", f"{timing.period:.3f} ns"),
            ("Fmax", f"{1e3 / timing.period:.0f} MHz"),
        ]
    if (energy := found.energy) is not None:
        rows += [
            ("energy of a cycle", f"{energy.total:.2f} pJ"),
            ("of this of the clock", f"{energy.clock:.2f} pJ"),
        ]
        if timing is not None:
            power = energy.total / timing.period + energy.leakage * 1e3
            rows.append(("power at this clock", f"{power:.3f} mW"))
    click.echo(words)
    print_figures(Path(found.setup.liberty).stem, rows)
    if timing is None:
        click.echo("no clock and path: OpenSTA (sta) is not on the path")
    else:
        kinds = ", ".join(timing.cells)
        click.echo(f"longest path: {', '.join(timing.path)}; of the cells {kinds}")
    if area.without:
        click.echo(f"the library gives no area of {', '.join(area.without)}")
    click.echo(", ".join(f"{tool} {version}" for tool, version in found.tools.items()))
