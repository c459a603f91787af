"""`multicube list` and `multicube export`: what can be built, and its Verilog."""

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ...hdl.core.errors import InvalidValue
from ...hdl.core.fabric import CellType, Fabric
from ...hdl.core.output_file import is_regular
from ...hdl.core.parameters import Parameter
from ...hdl.export.verilog import Clock, write_verilog
from ...hdl.networks import AXI_CLOCK, FAMILIES, AxiStreamNetwork, Network, PartitionedNetwork
from ...hdl.networks.multistage.parameters import OPTIONS
from ...hdl.networks.multistage.switching import SWITCHES
from ..engines.selection import ENGINES
from ..workload.traffic import TRAFFIC
from .words import check_outputs, messages, network_arguments, network_from

__all__ = ["export", "list_", "only_type"]


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(as_json: bool) -> None:
    """Show all networks, their parameters, traffic patterns and engines."""
    networks = [
        {
            "name": family.name,
            "aliases": list(family.aliases),
            "preset": family.preset is not None,
            "description": family.description,
            "parameters": [
                {
                    "name": parameter.name,
                    "default": parameter.default,
                    "choices": parameter.words,
                    "description": parameter.description,
                }
                for parameter in family.parameters
            ],
        }
        for family in FAMILIES.values()
    ]
    if as_json:
        click.echo(json.dumps({"networks": networks, "traffic": TRAFFIC, "engines": ENGINES}))
        return
    console = Console()
    for preset in (False, True):
        heading = "preset" if preset else "network"
        table = Table(heading, "settings" if preset else "aliases", "description")
        for family in FAMILIES.values():
            if (family.preset is not None) == preset:
                base = family.preset
                settings = {} if base is None else {"": base.family, **base.defaults}
                words = " ".join(f"{k}={v}" if k else str(v) for k, v in settings.items())
                table.add_row(family.name, words or ", ".join(family.aliases), family.description)
        console.print(table)
    table = Table("parameter", "default", "values", "meaning")
    for parameter in _parameters():
        row = (parameter.name, str(parameter.default), parameter.values, parameter.description)
        table.add_row(*row)
    console.print(table)
    table = Table("switch", "policies", "parameters", "meaning")
    for name, kind in SWITCHES.items():
        options = ", ".join(word for word in OPTIONS if word in kind.options)
        length = "length, " if kind.flits else ""
        table.add_row(name, ", ".join(kind.policies), length + options, kind.description)
    console.print(table)
    click.echo("partitions: export --partitions adds a mask, set at run time, to every input")
    click.echo(f"traffic: {', '.join(TRAFFIC)}")
    click.echo(f"engines: {', '.join(ENGINES)}")


def _parameters() -> list[Parameter]:
    """The parameters of all networks, each name once."""
    parameters: dict[str, Parameter] = {}
    for family in FAMILIES.values():
        for parameter in family.parameters:
            parameters.setdefault(parameter.name, parameter)
    return list(parameters.values())


@click.command()
@network_arguments
@click.option("-o", "--output", required=True, metavar="FILE.v", help="Verilog file to write.")
@click.option(
    "--partitions", is_flag=True, help="Partition masks at the terminals, set by a privileged port."
)
@click.option("--node", is_flag=True, help="One node or box alone; all of them must be alike.")
@click.option(
    "--ports",
    "face",
    type=click.Choice(["streams", "axis"]),
    default="streams",
    show_default=True,
    help="Ports of the terminals: streams of packets, or AXI4-Streams.",
)
@click.option("--core", is_flag=True, help="Write a FuseSoC core file too, FILE.core.")
@click.option("--top", default="network", show_default=True, help="Name of the top module.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def export(
    network: str,
    parameters: tuple[str, ...],
    output: str,
    partitions: bool,
    node: bool,
    face: str,
    core: bool,
    top: str,
    as_json: bool,
) -> None:
    """Write a network as Verilog.

    The list of its ports is written as JSON beside it (FILE.v.json). With -o - the Verilog goes to
    standard output, and no list of ports is written.
    """
    check_outputs([output], as_json)
    built = network_from(network, parameters)
    fabric, title, clock = _fabric(built, partitions=partitions, node=node, face=face)
    summary = write_verilog(fabric, output, top, title=title, clock=clock, core=core)
    core_file = str(Path(output).with_suffix(".core"))
    if as_json:
        extra = {"core": core_file} if core else {}
        click.echo(json.dumps({"output": output, **extra, **summary}))
    else:
        cells = "1 cell" if summary["cells"] == 1 else f"{summary['cells']} cells"
        ports = f"; its ports are listed in {output}.json" if is_regular(output) else ""
        beside = f"; the FuseSoC core is {core_file}" if core else ""
        with messages([output]):
            click.echo(
                f"{output}: module {top} with {cells} of {summary['modules']} "
                f"distinct module(s){ports}{beside}"
            )


def _fabric(
    built: Network, *, partitions: bool, node: bool, face: str
) -> tuple[Fabric, str, Clock]:
    """The fabric to write, its title, and its clock."""
    if face == "axis":
        for option, given in (("--partitions", partitions), ("--node", node)):
            if given:
                raise InvalidValue(f"AXI4-Stream ports need a whole network, without {option}")
        fabric = AxiStreamNetwork(built).fabric
        return fabric, f"{built.family} of {built.ports} AXI4-Stream terminals", AXI_CLOCK
    fabric = PartitionedNetwork(built).fabric if partitions else built.fabric
    if not node:
        return fabric, "", Clock()
    type_ = only_type(fabric)
    return Fabric.alone(type_), f"one {type_.name.replace('_', ' ')}", Clock()


def only_type(fabric: Fabric) -> CellType:
    """The one kind of cell that a network has.

    Raises
    ------
    ValueError
        If it has several.
    """
    types = list(fabric.types())
    if len(types) > 1:
        names = ", ".join(dict.fromkeys(type_.name for type_ in types))
        raise InvalidValue(f"Option --node needs a network whose cells are all alike, not {names}")
    return types[0]
