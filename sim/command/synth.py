"""`multicube synth`: the FPGA resources and the clock frequency of a network, or any Verilog."""

import itertools
import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from ...hdl.fabric.errors import InvalidValue
from ..synthesis import DEVICES
from .hardware import only_type
from .shared_arguments import network_from

if TYPE_CHECKING:
    from ..synthesis import Design, Measurement

__all__ = ["synth"]


@click.command()
@click.argument("words", nargs=-1, metavar="[NETWORK] [NAME=VALUE]...")
@click.option("--device", default="ecp5-85k", show_default=True, help=f"{', '.join(DEVICES)}.")
@click.option("--seeds", default=3, show_default=True, help="Placements; 0 only counts primitives.")
@click.option("--node", is_flag=True, help="One node or box alone, if all are alike.")
@click.option("--cell", metavar="NAME", help="One cell and what only serves it, as router_5.")
@click.option("--verilog", multiple=True, metavar="FILE", help="Measure a Verilog file instead.")
@click.option("--top", help="Module to measure in --verilog. NAME=VALUE sets its parameters.")
@click.option("--clock", help="Its clock, if it has an unusual name; empty if none.")
@click.option("--other-clock", multiple=True, help="A further clock; its speed is not measured.")
@click.option("--reset", help="Its reset, if it has an unusual name; empty if none.")
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
    clock: str | None,
    other_clock: tuple[str, ...],
    reset: str | None,
    flags: str,
    limit: float,
    as_json: bool,
) -> None:
    """Measure the FPGA resources of a network, and how fast it can be clocked.

    Needs Yosys and nextpnr: pip install 'multicube[fpga]'. The design is measured alone, between
    registers. The speed is that of one clock. If it does not fit, the exit status is 1.
    """
    from tqdm import tqdm

    from ...hdl.fabric.parameters import pairs
    from ..synthesis import Setup, measure, verilog_design

    setup = Setup(device, seeds, flags, limit)
    if verilog:
        if top is None or node or cell is not None:
            raise InvalidValue(
                "--verilog FILE needs --top NAME, and does not go with --node or --cell"
            )
        what: dict[str, Any] = {"files": list(verilog), "top": top, "parameters": pairs(words)}
        design = verilog_design(
            verilog, top, what["parameters"], clock=clock, reset=reset, other_clocks=other_clock
        )
    elif not words:
        raise InvalidValue("Give the name of a network, or --verilog FILE --top NAME")
    elif (top, clock, reset) != (None, None, None) or other_clock:
        raise InvalidValue("--top, --clock, --other-clock and --reset belong to --verilog FILE")
    else:
        what, design = _network(words, node, cell, setup.target.target)
    # The progress bar is shown on a terminal only.
    with tqdm(total=2 + seeds, disable=None, file=sys.stderr, leave=False) as bar:
        begun = itertools.count()

        def progress(step: str) -> None:
            bar.n = next(begun)
            bar.set_description(step)

        found = measure(design, setup, progress)
    if as_json:
        click.echo(json.dumps({**what, **found.as_dict()}))
    else:
        _print(what, found)


def _network(
    words: tuple[str, ...], node: bool, cell: str | None, target: str
) -> "tuple[dict[str, Any], Design]":
    """A description of what is measured, and the design."""
    from ...hdl.fabric.cell_part import cell_part
    from ...hdl.fabric.fabric import Fabric
    from ..synthesis import network_design

    if node and cell is not None:
        raise InvalidValue("Give --node or --cell NAME, not both")
    network = network_from(words[0], words[1:])
    fabric = network.fabric
    what: dict[str, Any] = {"network": network.family, "parameters": network.chosen}
    if node:
        type_ = only_type(fabric, "; --cell NAME takes one of them, such as CELL")
        what["node"] = type_.name
        fabric = Fabric.alone(type_, without=fabric.unread(type_))
    elif cell is not None:
        what["cell"] = cell
        fabric = cell_part(fabric, cell)
    return what, network_design(fabric, target)


def _print(what: dict[str, Any], found: "Measurement") -> None:
    from ...hdl.catalogue.catalogue import summary

    words = summary(what["network" if "network" in what else "top"], what["parameters"])
    area, storage, inputs = found.area, found.storage, found.setup.target.target[-1]
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
        # The one that is told is that of the median; of an even number, of the slower of the two.
        longest = max((r for r in found.routes if r.fmax <= found.fmax), key=lambda r: r.fmax)
    table = Table("", found.setup.device)
    table.columns[1].justify = "right"
    for row in rows:
        table.add_row(*map(str, row))
    if "node" in what:
        words = f"one {what['node'].replace('_', ' ')} of {words}"
    elif "cell" in what:
        words = f"cell {what['cell']} of {words}"
    click.echo(words)
    Console(highlight=False).print(table)
    tools = ", ".join(f"{package} {version}" for package, version in found.tools.items())
    if found.fmax is not None and longest.path:
        click.echo(
            f"longest path: {longest.logic:.1f} ns in tables, {longest.routing:.1f} ns in wires: "
            + ", ".join(longest.path)
        )
    click.echo(f"{found.setup.target.part}; {' '.join([tools, found.setup.flags]).strip()}")
