"""The subcommands of `multicube board`: build bitstreams, and measure on boards."""

import json
import sys
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ..hdl.fabric.errors import InvalidValue
from ..hdl.support.output_file import check_output_folder, whole_file
from ..hdl.support.pseudo_terminals import check_pseudo_terminals
from ..sim.command.computer_command import (
    finish,
    print_cores,
    print_warnings,
    program_options,
    shown_before_faults,
)
from ..sim.command.shared_arguments import (
    INTERRUPTED,
    engine_option,
    network_arguments,
    network_from,
    together,
    warmup_option,
)
from ..sim.command.terminal_table import print_table
from ..sim.computer.defaults import LIMIT, STACK_BYTES
from .protocol import BAUD

if TYPE_CHECKING:
    from ..hdl.networks.network import Network
    from ..sim.measure.result import Result
    from ..sim.run.run import Run
    from .bench_top import Instruments
    from .bitstream import Build
    from .computer_board import BoardDesign

__all__ = ["build", "execute", "list_", "run", "simulate"]

_SIMULATED_DIVISOR = 4


_instrument_options = together(
    click.option("--source-depth", type=int, help="Packets that can wait at each terminal."),
    click.option(
        "--counter-bits", type=int, help="Bits of a counter, which limit the cycles of a run."
    ),
    click.option(
        "--flows/--no-flows", default=None, help="Detect packets that come twice or out of order."
    ),
    click.option(
        "--network-latency/--no-network-latency",
        default=None,
        help="Measure the latency in the network alone.",
    ),
    click.option("--links/--no-links", default=None, help="Measure the use of links."),
    click.option(
        "--finite/--no-finite", default=None, help="Allow traffic with a fixed number of packets."
    ),
)


_like = click.option(
    "--board",
    "like",
    default="orangecrab-85f",
    show_default=True,
    help="Board of the build, which says what the instruments are, unless options do.",
)


_program = click.option(
    "--program",
    metavar="PROGRAM.c",
    help="A parallel computer that runs this program, in place of a test bench.",
)


def _design(
    name: str,
    network: "Network",
    program: str | None,
    divisor: int,
    given: dict[str, Any],
    *,
    stack: int,
    defines: tuple[str, ...],
) -> "BoardDesign":
    """What is on a board: a test bench, or a computer with a program."""
    from .bench_top import BoardBench
    from .computer_host import computer_board

    if program is None:
        if defines or stack != STACK_BYTES:
            raise InvalidValue("Stack and macros need a --program")
        return BoardBench(network, _instruments(name, given), divisor=divisor)
    if asked := [key for key, value in given.items() if value is not None]:
        raise InvalidValue(f"A computer has no instruments: {asked[0].replace('_', ' ')}")
    loaded = computer_board(program, network, divisor=divisor, stack=stack, defines=defines)
    print_warnings(loaded.image.warnings)
    return loaded.board


def _instruments(name: str, given: dict[str, Any]) -> "Instruments":
    from .platforms import find_board

    known = {key: value for key, value in given.items() if value is not None}
    return replace(find_board(name).instruments, **known)


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(as_json: bool) -> None:
    """The boards, their clocks and their instruments."""
    from .platforms import BOARDS

    if as_json:
        rows = {
            name: {
                "clock_hz": each.clock // each.divide,
                "tools": each.tools or None,
                "instruments": vars(each.instruments),
            }
            for name, each in BOARDS.items()
        }
        click.echo(json.dumps({"boards": rows}))
        return
    lines = []
    for name, each in BOARDS.items():
        has = each.instruments
        others = [key.replace("_", " ") for key, value in vars(has).items() if value is True]
        megahertz, tools = f"{each.clock / each.divide / 1e6:g}", each.tools or "plan only"
        sizes = str(has.source_depth), str(has.counter_bits)
        lines.append((name, megahertz, tools, *sizes, ", ".join(others) or "none"))
    heads = ["board", "MHz", "tools", "source depth", "counter bits", "others"]
    print_table(heads, lines, whole=1)


@click.command()
@click.argument("name", metavar="BOARD")
@network_arguments
@_program
@program_options
@_instrument_options
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Folder for all files.")
@click.option("--plan", is_flag=True, help="Write the inputs of the tools without running them.")
@click.option("--baud", default=BAUD, show_default=True, help="Baud rate of the serial line.")
@click.option("--seed", default=1, show_default=True, help="Seed of the placer.")
@click.option(
    "--keep-modules", is_flag=True, help="Synthesise each kind of box or router only once."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def build(
    name: str,
    network: str,
    parameters: tuple[str, ...],
    program: str | None,
    stack: int,
    defines: tuple[str, ...],
    output: str,
    plan: bool,
    baud: int,
    seed: int,
    keep_modules: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Build a network or a parallel computer for a board."""
    from .bitstream import build_board, write_plan
    from .platforms import find_board

    target = find_board(name)
    divisor = target.divisor(baud)
    built = network_from(network, parameters)
    check_output_folder(output)
    folder = Path(output)
    bench = _design(name, built, program, divisor, given, stack=stack, defines=defines)
    if plan:
        script = write_plan(target, bench, folder, seed=seed, keep_modules=keep_modules)
        said: dict[str, Any] = {"board": name, "script": str(folder / script)}
        text = f"wrote {folder / script}: run it in its folder, with the tools on the path"
    else:
        result = build_board(target, bench, folder, seed=seed, keep_modules=keep_modules)
        said, text = result.to_json(), _summary(result)
        with whole_file(folder / "build.json") as path:
            path.write_text(json.dumps(said, indent=1) + "\n", "utf-8")
    click.echo(json.dumps(said) if as_json else text)


def _summary(result: "Build") -> str:
    return (
        f"{result.bitstream}: {result.luts} LUTs, {result.flipflops} flip-flops, "
        f"{result.memories} block memories of {result.device}; "
        f"{result.fmax_mhz:.1f} MHz of {result.clock_mhz:g} needed"
    )


_run_options = together(
    click.option("--load", default=0.5, show_default=True, help="Packets per terminal per cycle."),
    click.option("--traffic", default="uniform", show_default=True, help="Where packets go."),
    click.option("--cycles", default=2000, show_default=True, help="Length of the window."),
    warmup_option,
    click.option("--seed", default=1, show_default=True, help="Seed of the random numbers."),
)


@click.command()
@click.argument("port")
@network_arguments
@_like
@_instrument_options
@_run_options
@click.option("--baud", default=BAUD, show_default=True, help="Baud rate of the serial line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def run(
    port: str,
    network: str,
    parameters: tuple[str, ...],
    like: str,
    load: float,
    traffic: str,
    cycles: int,
    warmup: int | Literal["auto"],
    seed: int,
    baud: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Run the network on a board at a serial PORT, and report the results."""
    from ..sim.command.result_tables import print_result
    from ..sim.run.run import Run
    from ..sim.workload.class_traffic import network_traffic

    built = network_from(network, parameters)
    instruments = _instruments(like, given)
    depth = instruments.source_depth
    job = Run(network_traffic(traffic, built), load, cycles, warmup, seed, depth, history=0)
    result = _measure(port, built, instruments, job, baud=baud)
    if as_json:
        click.echo(json.dumps(result.to_json()))
    else:
        print_result(result)
    if result.partial:
        sys.exit(INTERRUPTED)


def _measure(
    port: str, network: "Network", instruments: "Instruments", run: "Run", *, baud: int
) -> "Result":
    from ..sim.run.simulation import run_bench
    from .bench_top import BoardBench
    from .host import BoardEngine, open_line

    target = BoardBench(network, instruments, divisor=_SIMULATED_DIVISOR)
    bench = target.bench.with_sources(run.sources(network))
    with closing(open_line(port, baud=baud)) as line:
        return run_bench(BoardEngine(line, target, bench), network, bench, run)


@click.command()
@click.argument("port")
@click.argument("program", metavar="PROGRAM.c")
@network_arguments
@program_options
@click.option(
    "--cycles", default=LIMIT, show_default=True, help="Cycles after which the run is given up."
)
@click.option("--baud", default=BAUD, show_default=True, help="Baud rate of the serial line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def execute(
    port: str,
    program: str,
    network: str,
    parameters: tuple[str, ...],
    stack: int,
    defines: tuple[str, ...],
    cycles: int,
    baud: int,
    as_json: bool,
) -> None:
    """Report what PROGRAM.c did on a board at a serial PORT.

    The board has a parallel computer, whose program began when the board was configured.
    """
    from .computer_host import computer_board, read_program
    from .host import open_line

    built = network_from(network, parameters)
    loaded = computer_board(
        program, built, divisor=_SIMULATED_DIVISOR, stack=stack, defines=defines
    )
    with shown_before_faults(as_json), closing(open_line(port, baud=baud)) as line:
        done = read_program(line, loaded, cycles=cycles)
    print_warnings(loaded.image.warnings)
    finish(done, as_json, print_cores)


@click.command()
@network_arguments
@_program
@program_options
@_like
@_instrument_options
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def simulate(
    network: str,
    parameters: tuple[str, ...],
    program: str | None,
    stack: int,
    defines: tuple[str, ...],
    like: str,
    engine: str,
    as_json: bool,
    **given: Any,
) -> None:
    """Simulate a board, and serve its serial line at a pseudo-terminal until interrupted."""
    check_pseudo_terminals("A simulated board")
    from .simulated import SimulatedBoard

    built = network_from(network, parameters)
    target = _design(like, built, program, _SIMULATED_DIVISOR, given, stack=stack, defines=defines)
    simulated = SimulatedBoard(target, engine=engine)
    try:
        family, port = target.network.family, simulated.path
        said = json.dumps({"network": family, "port": port})
        click.echo(said if as_json else f"{family} at {port}")
        with suppress(KeyboardInterrupt):
            simulated.serve()
    finally:
        simulated.close()
