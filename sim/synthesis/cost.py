"""A command that compares parts: the ECP5 resources that each takes, and what it has to store."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from ...hdl.fabric.errors import InvalidValue, MulticubeError
from .design import Design
from .measurement import Setup, Storage, area_of
from .tools import ToolTimeout

__all__ = ["Part", "cost_command"]


class Part(Protocol):
    """A component to measure."""

    def verilog(self) -> str:
        """The component as a module `top`."""


def cost_command(
    program: str,
    text: str,
    parts: Mapping[str, Callable[[], Any]],
    storage: Callable[[Any], Storage | None],
) -> Callable[[], None]:
    """The main function of a script that measures parts.

    Parameters
    ----------
    program, text : str
        Name and description of the script.
    parts : Mapping[str, Callable[[], Part]]
        The parts that can be measured, by name.
    storage : Callable[[Part], Storage or None]
        The bits that a part has to store, if they are known.

    Returns
    -------
    Callable[[], None]
        The function, which reads the command line.

    Raises
    ------
    ValueError
        If a part that is named does not exist, when the function runs.

    Examples
    --------
    >>> from multicube.sim.synthesis import cost_command
    >>> main = cost_command("cost.py", "Measures two boxes.", parts={}, storage=lambda part: None)
    >>> callable(main)
    True
    """

    @click.command(help=text, context_settings={"show_default": True})
    @click.argument("names", nargs=-1, metavar="[PARTS]...")
    @click.option("--flags", default="-nowidelut", help="Further flags of synth_ecp5.")
    @click.option("--limit", default=600.0, help="Seconds for each part.")
    @click.option("--count", "only_count", is_flag=True, help="Only count the bits to store.")
    def command(names: tuple[str, ...], flags: str, limit: float, only_count: bool) -> None:
        for name in names:
            if name not in parts:
                raise InvalidValue(f"Part must be one of {'; '.join(parts)}, not {name!r}")
        chosen = {name: parts[name] for name in names or parts}
        table = _count(chosen, storage) if only_count else _measure(chosen, flags, limit)
        Console(highlight=False).print(table)

    def fail(message: str, status: int = 2) -> NoReturn:
        click.echo(f"{program}: {' '.join(message.split())}", err=True)
        sys.exit(status)

    def main() -> None:
        """Measure, and exit: errors are one line on standard error."""
        try:
            command.main(standalone_mode=False)
        except click.ClickException as error:
            fail(error.format_message())
        except (MulticubeError, OSError) as error:
            fail(str(error))
        except (KeyboardInterrupt, click.Abort):
            fail("interrupted", 130)

    return main


def _count(
    parts: Mapping[str, Callable[[], Any]], storage: Callable[[Any], Storage | None]
) -> Table:
    """Print the bits that the parts have to store."""
    table = _table("Bits that must be stored", "registers", "memories")
    for name, part in parts.items():
        if (stored := storage(part())) is not None:
            table.add_row(name, *map(str, stored))
    return table


def _measure(parts: Mapping[str, Callable[[], Part]], flags: str, limit: float) -> Table:
    """Synthesise the parts one after another."""
    setup = Setup("ecp5-85k", 0, flags, limit)
    table = _table(
        " ".join(["synth_ecp5", flags]).strip(),
        *("tables", "LUT4", "wider", "CCU2C", "DPR", "FF", "DP16KD", "s"),
    )
    for name, part in parts.items():
        begin = time.monotonic()
        design = Design({"top.v": part().verilog()}, "top")
        try:
            area = area_of(design, setup)
        except ToolTimeout:
            table.add_row(name, f"not within {limit:g} s")
        else:
            seconds = time.monotonic() - begin
            table.add_row(name, *map(str, area[:-1]), f"{seconds:.0f}")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("part", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table
