"""`multicube export`: the Verilog of a network."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...hdl.export.style import MEMORIES, RESETS, Style
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import number_of
from ...hdl.support.output_file import is_regular
from .shared_arguments import check_outputs, messages, network_arguments, network_from, refuse_given

if TYPE_CHECKING:
    from ...hdl.export.top_ports import Clock
    from ...hdl.fabric.cell import CellType
    from ...hdl.fabric.fabric import Fabric
    from ...hdl.networks.network import Network

__all__ = ["export", "only_type"]

FACES = {
    "axis": "AXI4-Stream",
    "axi": "AXI4",
    "axi5": "AXI5",
    "wishbone": "Wishbone",
    "wishbone-bursts": "Wishbone",
}
"""What the terminals' ports can be, besides streams of packets."""


@click.command()
@network_arguments
@click.option("-o", "--output", metavar="FILE.v", help="Verilog file to write.")
@click.option("--c", "library", metavar="DIR", help="Write a library in C to a folder instead.")
@click.option(
    "--partitions",
    is_flag=True,
    help="Add partition masks at the terminals, set by a privileged port.",
)
@click.option(
    "--node", is_flag=True, help="Write one node or box alone; all of them must be alike."
)
@click.option(
    "--group-port", is_flag=True, help="Add ports that write the routers' tables of groups."
)
@click.option(
    "--ports",
    "face",
    type=click.Choice(["streams", *FACES]),
    default="streams",
    show_default=True,
    help="Ports of the terminals: streams of packets, AXI4-Streams, or buses, with memory behind "
    "the network.",
)
@click.option("--rows", type=int, help="With buses: words of memory at each terminal.")
@click.option(
    "--reorder",
    is_flag=True,
    help="With AXI4 and AXI5: answers of different identities may overtake each other.",
)
@click.option(
    "--target",
    default="lut4",
    show_default=True,
    metavar="lut4|lut6|asic",
    help="What the Verilog is made for: look-up tables of 4 or 6 inputs, or standard cells.",
)
@click.option(
    "--core",
    is_flag=True,
    help="For projects: FuseSoC core, IP-XACT, wrapper in "
    "SystemVerilog, template of an instance (FILE.core, .xml, .sv, .veo).",
)
@click.option(
    "--period",
    "periods",
    multiple=True,
    metavar="NS|CLOCK=NS",
    help="Period of all clocks, or of one, in the constraints. Default: 10.",
)
@click.option(
    "--terminal-clocks",
    metavar="each|one",
    help="Separate clocks for the terminals, one for each or one for all, with asynchronous "
    "queues to the network.",
)
@click.option("--crossing-depth", type=int, help="Depth of each of these queues, a power of two.")
@click.option(
    "--memories",
    type=click.Choice(list(MEMORIES)),
    default="inline",
    show_default=True,
    help="How memories are written: inline in the modules of cells, as modules of their own, "
    "as modules with gated clocks, or as external modules of another file.",
)
@click.option(
    "--reset",
    type=click.Choice(list(RESETS)),
    default="sync",
    show_default=True,
    help="Synchronous resets, or asynchronous ones that are active at 0.",
)
@click.option(
    "--no-initial",
    is_flag=True,
    help="Write no initial values: registers have none before the first reset.",
)
@click.option(
    "--parameter",
    is_flag=True,
    help="Make the width of payloads a parameter of the modules, PAYLOAD, if it only widens wires "
    "and memories.",
)
@click.option("--top", help="Name of the top module, or of the library in C. Default: network, mc.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def export(
    network: str,
    parameters: tuple[str, ...],
    output: str | None,
    library: str | None,
    partitions: bool,
    group_port: bool,
    node: bool,
    face: str,
    rows: int | None,
    reorder: bool,
    target: str,
    core: bool,
    periods: tuple[str, ...],
    terminal_clocks: str | None,
    crossing_depth: int | None,
    memories: str,
    reset: str,
    no_initial: bool,
    parameter: bool,
    top: str | None,
    as_json: bool,
) -> None:
    """Write a network as Verilog, or as a library in C.

    The list of its ports is written as JSON beside it (FILE.v.json), and timing constraints
    (FILE.sdc, FILE.xdc). With -o - only the Verilog is written, to standard output.

    With --c DIR the network becomes a library for other simulators: sources, header, and files for
    CMake, pkg-config and SystemVerilog's DPI-C.
    """
    from ...hdl.export.fusesoc import memories_file
    from ...hdl.export.verilog import write_verilog
    from ...hdl.networks.group_port import with_group_port

    if library is not None:
        refuse_given("--c", but={"network", "parameters", "library", "top", "as_json"})
        _write_library(network_from(network, parameters), library, top, as_json)
        return
    if output is None:
        raise click.MissingParameter(param_hint="'-o' / '--output' or '--c'", param_type="option")
    top = "network" if top is None else top
    check_outputs([output], as_json)
    built = network_from(network, parameters)
    if terminal_clocks is not None:
        refuse_given("--terminal-clocks", {"partitions", "node", "rows", "reorder"})
        fabric, title, clock = _clocked(built, face, terminal_clocks, crossing_depth)
    elif crossing_depth is not None:
        raise InvalidValue("Option --crossing-depth needs --terminal-clocks")
    else:
        fabric, title, clock = _fabric(
            built, partitions=partitions, node=node, face=face, rows=rows, reorder=reorder
        )
    if group_port:
        refuse_given("--group-port", {"node", "no_initial"})
        fabric = with_group_port(fabric)
    if parameter:
        unfit = {"partitions", "node", "face", "terminal_clocks", "group_port"}
        refuse_given("--parameter", unfit)
    if periods and not is_regular(output):
        raise InvalidValue(f"Option --period needs files of constraints, which {output} has not")
    period = _periods(periods)
    style = Style(memories, reset, initial=not no_initial)
    summary = write_verilog(
        built if parameter else fabric,
        output,
        top,
        title=title,
        clock=clock,
        target=target,
        style=style,
        parameter=parameter,
        core=core,
        period=period,
    )
    core_file = str(Path(output).with_suffix(".core"))
    if as_json:
        extra = {"core": core_file} if core else {}
        click.echo(json.dumps({"output": output, **extra, **summary}))
    else:
        cells = "1 cell" if summary["cells"] == 1 else f"{summary['cells']} cells"
        ports = f"; its ports are listed in {output}.json" if is_regular(output) else ""
        beside = f"; the FuseSoC core is {core_file}" if core else ""
        if summary["external"]:
            place = f", in {memories_file(output)} beside it" if core else ""
            beside += f"; you write {', '.join(summary['external'])}{place}"
        with messages([output]):
            click.echo(
                f"{output}: module {top} with {cells} of {summary['modules']} "
                f"distinct module(s){ports}{beside}"
            )


def _periods(words: tuple[str, ...]) -> float | dict[str, float]:
    """The period of all clocks, or of some by name."""
    found: dict[str, float] = {}
    for word in words:
        name, given, number = word.rpartition("=")
        try:
            period = number_of(number if name or not given else word)  # =3 names no clock
        except ValueError:
            raise InvalidValue(f"Period must be NS or CLOCK=NS, not {word!r}") from None
        if name in found or (len(words) > 1 and not given):
            raise InvalidValue(f"Period {word!r} is one too many")
        found[name] = period
    return found.get("", found)


def _write_library(built: "Network", folder: str, name: str | None, as_json: bool) -> None:
    from ..export.c_library import write_c_library

    summary = write_c_library(built, folder, *([] if name is None else [name]))
    if as_json:
        click.echo(json.dumps({"output": folder, **summary}))
    else:
        click.echo(f"{folder}: library {summary['name']} in C; {summary['name']}.h describes it")


def _clocked(
    built: "Network", face: str, which: str, depth: int | None
) -> "tuple[Fabric, str, Clock]":
    """The fabric, with clocks of the terminals, its title, and its clock."""
    from ...hdl.export.top_ports import Clock
    from ...hdl.networks.axi_stream_network import AXI_CLOCK, AxiStreamNetwork
    from ...hdl.networks.terminal_clocks import MultiClockNetwork, TerminalClocks
    from ..measure.comparison import size_of

    clocks = TerminalClocks(which, **({} if depth is None else {"depth": depth}))
    if face == "streams":
        title = f"{built.family} of {size_of(built)} with their own clock"
        return MultiClockNetwork(built, clocks).fabric, title, Clock()
    if face == "axis":
        title = f"{built.family} of {size_of(built, 'AXI4-Stream ')} with their own clock"
        return AxiStreamNetwork(built, clocks).fabric, title, AXI_CLOCK
    raise InvalidValue(f"Option --terminal-clocks needs --ports streams or axis, not {face}")


def _fabric(
    built: "Network", *, partitions: bool, node: bool, face: str, rows: int | None, reorder: bool
) -> "tuple[Fabric, str, Clock]":
    """The fabric to write, its title, and its clock."""
    from ...hdl.export.top_ports import Clock
    from ...hdl.fabric.fabric import Fabric
    from ...hdl.networks.axi_stream_network import AXI_CLOCK, AxiStreamNetwork
    from ...hdl.networks.buses import AxiNetwork, WishboneNetwork
    from ...hdl.networks.partitioned import PartitionedNetwork
    from ..measure.comparison import size_of

    if rows is not None and face in ("streams", "axis"):
        raise InvalidValue(f"Option --rows needs the ports of a bus, not --ports {face}")
    if reorder and face not in ("axi", "axi5"):
        raise InvalidValue(f"Option --reorder needs --ports axi or axi5, not {face}")
    if face != "streams":
        for option, given in (("--partitions", partitions), ("--node", node)):
            if given:
                raise InvalidValue(f"{FACES[face]} ports need a whole network, without {option}")
        title = f"{built.family} of {size_of(built, f'{FACES[face]} ')}"
        if face.startswith("wishbone"):
            bursts = face == "wishbone-bursts"
            return WishboneNetwork(built, rows=rows, bursts=bursts).fabric, title, Clock()
        if face == "axis":
            return AxiStreamNetwork(built).fabric, title, AXI_CLOCK
        axi = AxiNetwork(built, rows=rows, atomics=face == "axi5", reorder=reorder)
        return axi.fabric, title, AXI_CLOCK
    fabric = PartitionedNetwork(built).fabric if partitions else built.fabric
    if not node:
        return fabric, "", Clock()
    type_ = only_type(fabric)
    return Fabric.alone(type_), f"one {type_.name.replace('_', ' ')}", Clock()


def only_type(fabric: "Fabric", instead: str = "") -> "CellType":
    """The one kind of cell that a network has, besides those that only serve others.

    The message of an error ends with what to do instead, with the name of a cell for `CELL`.

    Raises
    ------
    ValueError
        If it has several.
    """
    types = [type_ for type_ in fabric.types() if not type_.auxiliary]
    if len(types) > 1:
        names = ", ".join(dict.fromkeys(type_.name for type_ in types))
        kinds = f"{len(types)} kinds of {names}" if ", " not in names else names
        cell = next(name for name, cell in fabric.cells.items() if not cell.type.auxiliary)
        raise InvalidValue(
            f"Option --node needs a network whose cells are all alike, not {kinds}"
            + instead.replace("CELL", cell)
        )
    return types[0]
