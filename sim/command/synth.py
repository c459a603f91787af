"""`multicube synth`: area and clock of a network, or any Verilog, in an FPGA or standard cells."""

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ...hdl.export.style import MEMORIES, RESETS, Style
from ...hdl.fabric.errors import InvalidValue
from ..synthesis import DEVICES
from .cell_report import print_cells
from .export_command import only_type
from .shared_arguments import network_from, refuse_given
from .terminal_table import print_figures

if TYPE_CHECKING:
    from ..synthesis import Design, Measurement, Switching

__all__ = ["synth"]


@click.command()
@click.argument("words", nargs=-1, metavar="[NETWORK] [NAME=VALUE]...")
@click.option("--device", default="ecp5-85k", show_default=True, help=f"{', '.join(DEVICES)}.")
@click.option(
    "--seeds", default=3, show_default=True, help="Number of placements; 0 only counts primitives."
)
@click.option("--node", is_flag=True, help="One node or box alone, if all are alike.")
@click.option(
    "--cell", metavar="NAME", help="One cell, such as router_5, with the cells that serve only it."
)
@click.option("--verilog", multiple=True, metavar="FILE", help="Measure a Verilog file instead.")
@click.option("--top", help="Module to measure in --verilog. NAME=VALUE sets its parameters.")
@click.option("--slang", is_flag=True, help="Read the file by slang, Yosys' other reader.")
@click.option(
    "--include", multiple=True, metavar="DIR", help="Folder of files that the file includes."
)
@click.option("--clock", help="Clock in the file, if its name is unusual; empty if none.")
@click.option("--other-clock", multiple=True, help="A further clock; its speed is not measured.")
@click.option("--reset", help="Reset in the file, if its name is unusual; empty if none.")
@click.option(
    "--liberty", metavar="FILE.lib", help="Map to the standard cells of this library, not an FPGA."
)
@click.option(
    "--saif",
    metavar="FILE",
    help="Switching activity of a run (from multicube sim --activity), for the power of the "
    "standard cells.",
)
@click.option(
    "--memories",
    type=click.Choice([name for name in MEMORIES if name != "external"]),
    default="inline",
    show_default=True,
    help="How memories are written, as in multicube export.",
)
@click.option(
    "--reset-form",
    type=click.Choice([*RESETS]),
    default="sync",
    show_default=True,
    help="Kind of resets, as in multicube export --reset.",
)
@click.option("--flags", default="", metavar="'-FLAG ...'", help="Further flags of Yosys' synth_*.")
@click.option("--limit", default=600.0, show_default=True, help="Seconds for each run of a tool.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def synth(
    words: tuple[str, ...],
    device: str,
    seeds: int,
    node: bool,
    cell: str | None,
    verilog: tuple[str, ...],
    top: str | None,
    slang: bool,
    include: tuple[str, ...],
    clock: str | None,
    other_clock: tuple[str, ...],
    reset: str | None,
    liberty: str | None,
    saif: str | None,
    memories: str,
    reset_form: str,
    flags: str,
    limit: float,
    as_json: bool,
) -> None:
    """Measure the area of a network in an FPGA, and how fast it can be clocked.

    Needs Yosys and nextpnr: pip install 'multicube[fpga]'. The design is measured alone, between
    registers, and its speed is that of one clock. The status is 1 if the design does not fit.

    With --liberty FILE the design is mapped to standard cells. Clock, longest path and power need
    OpenSTA (sta on the path).
    """
    from ...hdl.fabric.parameters import pairs
    from ..synthesis import CellSetup, Setup, measure, measure_cells, verilog_design

    setup: Setup | CellSetup
    if liberty is None:
        if saif is not None:
            raise InvalidValue("--saif FILE needs --liberty FILE")
        if memories == "gated":
            raise InvalidValue("--memories gated needs --liberty FILE: a clock gate has a latch")
        setup = Setup(device, seeds, flags, limit)
    else:
        refuse_given("--liberty", {"device", "seeds", "flags"})
        setup = CellSetup(liberty, limit)
    switching = None
    if verilog:
        refuse_given("--verilog", {"saif", "memories", "reset_form"})
        if top is None or node or cell is not None:
            raise InvalidValue(
                "--verilog FILE needs --top NAME, and does not go with --node or --cell"
            )
        what: dict[str, Any] = {"files": list(verilog), "top": top, "parameters": pairs(words)}
        design = verilog_design(
            verilog,
            top,
            what["parameters"],
            clock=clock,
            reset=reset,
            other_clocks=other_clock,
            slang=slang,
            includes=include,
        )
    elif not words:
        raise InvalidValue("Give the name of a network, or --verilog FILE --top NAME")
    elif (top, clock, reset) != (None, None, None) or other_clock or slang or include:
        raise InvalidValue(
            "--top, --slang, --include, --clock, --other-clock and --reset belong to --verilog FILE"
        )
    else:
        what, design, switching = _network(
            words, node, cell, saif, Style(memories, reset_form), setup.verilog
        )
    if isinstance(setup, CellSetup):
        with _progress(3) as progress:
            cells = measure_cells(design, setup, switching=switching, progress=progress)
    else:
        with _progress(2 + seeds) as progress:
            found = measure(design, setup, progress)
    if as_json:
        measured = cells if isinstance(setup, CellSetup) else found
        click.echo(json.dumps({**what, **measured.as_dict()}))
    elif isinstance(setup, CellSetup):
        print_cells(_title(what), cells)
    else:
        _print(_title(what), found)


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[str], None]]:
    """A function that shows on a terminal which step begins."""
    from tqdm import tqdm

    with tqdm(total=steps, disable=None, file=sys.stderr, leave=False) as bar:
        begun = itertools.count()

        def progress(step: str) -> None:
            bar.n = next(begun)
            bar.set_description(step)

        yield progress


def _network(
    words: tuple[str, ...],
    node: bool,
    cell: str | None,
    saif: str | None,
    style: Style,
    target: str,
) -> "tuple[dict[str, Any], Design, dict[str, Switching] | None]":
    """A description of what is measured, the design, and what switched in a run."""
    from ...hdl.fabric.cell_part import cell_part
    from ...hdl.fabric.fabric import Fabric
    from ..run.cell_switching import cell_switching, network_switching
    from ..synthesis import network_design

    if node and cell is not None:
        raise InvalidValue("Give --node or --cell NAME, not both")
    network = network_from(words[0], words[1:])
    fabric = whole = network.fabric
    what: dict[str, Any] = {"network": network.family, "parameters": network.chosen}
    names: list[str] = []
    if node:
        type_ = only_type(fabric, "; --cell NAME takes one of them, such as CELL")
        what["node"] = type_.name
        names = [each.name for each in fabric.types()[type_]]
        fabric = Fabric.alone(type_, without=fabric.unread(type_))
    elif cell is not None:
        what["cell"] = cell
        names = [cell]
        fabric = cell_part(fabric, cell)
    switching = None
    if saif is not None and names:
        switching = cell_switching(whole, names, saif, "alone" if node else names[0])
    elif saif is not None:
        switching = network_switching(whole, saif)
    return what, network_design(fabric, target, style), switching


def _title(what: dict[str, Any]) -> str:
    """What is measured, in words."""
    from ...hdl.catalogue.catalogue import summary

    words = summary(what["network" if "network" in what else "top"], what["parameters"])
    if "node" in what:
        return f"one {what['node'].replace('_', ' ')} of {words}"
    return f"cell {what['cell']} of {words}" if "cell" in what else words


def _print(words: str, found: "Measurement") -> None:
    area, storage, inputs = found.area, found.storage, found.setup.verilog[-1]
    rows = [
        (f"{inputs}-input tables in all", area.tables),
        ("of these for logic", area.luts),
        ("multiplexers of tables", area.multiplexers),
        ("carry cells", area.carries),
        (f"memories of {'16 x 4' if inputs == '4' else '32 x 6'} bits in tables", area.lut_rams),
        ("flip-flops", area.flip_flops),
        ("block memories", area.block_rams),
        *area.others.items(),
        ("bits that must be stored", f"{sum(storage)}"),
        ("of these in registers", storage.registers),
    ]
    if found.fmax is not None:
        speeds = [route.fmax for route in found.routes]
        rows.append(("Fmax, median", f"{found.fmax:.1f} MHz"))
        if len(speeds) > 1:
            rows.append((f"of {len(speeds)} seeds", f"{min(speeds):.1f} to {max(speeds):.1f}"))
        # That of the median is printed; of an even number, that of the slower of the two.
        longest = max((r for r in found.routes if r.fmax <= found.fmax), key=lambda r: r.fmax)
    click.echo(words)
    print_figures(found.setup.device, rows)
    tools = ", ".join(f"{package} {version}" for package, version in found.tools.items())
    if found.fmax is not None and longest.path:
        click.echo(
            f"longest path: {longest.logic:.1f} ns in tables, {longest.routing:.1f} ns in wires: "
            + ", ".join(longest.path)
        )
    click.echo(f"{found.setup.target.part}; {' '.join([tools, found.setup.flags]).strip()}")
