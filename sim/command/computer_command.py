"""`multicube computer`: programs in C on the cores of a parallel computer."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import integer_of
from ..computer.defaults import LIMIT, STACK_BYTES
from .shared_arguments import (
    check_outputs,
    engine_option,
    given,
    messages,
    network_arguments,
    network_from,
    refuse_given,
    together,
)

if TYPE_CHECKING:
    from ..computer.computer_run import ComputerRun, CoresRun
    from ..computer.console import ConsoleLine

__all__ = [
    "computer",
    "finish",
    "print_cores",
    "print_warnings",
    "program_options",
    "shown_before_faults",
]

Run = TypeVar("Run", bound="CoresRun")


program_options = together(
    click.option(
        "--stack", default=STACK_BYTES, show_default=True, help="Bytes of the stack of each core."
    ),
    click.option(
        "-D",
        "defines",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="Define a macro for the program.",
    ),
)
"""Those of commands that compile a program."""


@click.group()
def computer() -> None:
    """Run programs in C on the cores of a parallel computer."""


def _read_cores(_context: object, _option: object, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(integer_of(word) for word in text.split(","))
    except ValueError:
        raise InvalidValue(f"Cores must be a list of numbers such as 0,3, not {text!r}") from None


@computer.command("run")
@click.argument("program", metavar="PROGRAM.c")
@network_arguments
@click.option(
    "--cycles", default=LIMIT, show_default=True, help="Cycles after which the run is given up."
)
@program_options
@click.option("--vcd", metavar="FILE", help="Write the waveforms of some cores.")
@click.option(
    "--vcd-cores",
    callback=_read_cores,
    metavar="LIST",
    help="Cores of --vcd, such as 0,3. Default: 0.",
)
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def run(
    program: str,
    network: str,
    parameters: tuple[str, ...],
    cycles: int,
    stack: int,
    defines: tuple[str, ...],
    vcd: str | None,
    vcd_cores: tuple[int, ...] | None,
    engine: str,
    as_json: bool,
) -> None:
    """Compile PROGRAM.c, and run it on a core at each terminal of a network.

    Globals are in memory that all cores share, behind the network; each core has its stack in
    memory of its own. The status is 1 if main does not return 0 in each core.
    """
    from ..computer.computer_run import run_computer

    check_outputs(given(vcd), as_json)
    with shown_before_faults(as_json):
        done = run_computer(
            program,
            network_from(network, parameters),
            engine=engine,
            cycles=cycles,
            stack=stack,
            defines=defines,
            vcd=vcd,
            vcd_cores=vcd_cores,
        )
    print_warnings(done.warnings)
    finish(done, as_json, _print)


@contextmanager
def shown_before_faults(as_json: bool) -> Iterator[None]:
    """If a program goes wrong, print what it had printed before, but not among JSON, and what the
    compiler had warned of."""
    from ..computer.program_faults import ProgramFault

    try:
        yield
    except ProgramFault as fault:
        if not as_json:
            _print_console(fault.console)
        print_warnings(fault.warnings)
        raise


def print_warnings(said: str) -> None:
    """Print what the compiler of a program warned of, if it did."""
    if said:
        click.echo(said.rstrip(), err=True)


def _print_console(lines: "Sequence[ConsoleLine]") -> None:
    for line in lines:
        click.echo(f"core {line.core}: {line.text}")


def finish(done: Run, as_json: bool, show: Callable[[Run], None]) -> None:
    """Print a result; the status is 1 if that of a core is not 0."""
    if as_json:
        click.echo(json.dumps(done.to_json()))
    else:
        show(done)
        for core in done.failed[:8]:
            click.echo(f"core {core} returned {done.results[core]}")
    if done.failed:
        sys.exit(1)


def print_cores(done: "CoresRun") -> None:
    """What the cores printed, and where they waited."""
    _print_console(done.console)
    cores, count = done.cores, len(done.results)
    click.echo(f"{count} cores on {done.network}")
    click.echo(f"{done.cycles} cycles on engine {done.engine}")
    busy = sum(cores["ended"]) + count
    for name, values in cores.items():
        if name != "ended":
            share = sum(values) / busy
            click.echo(
                f"  {name.replace('wait_', 'waits for '):18} {share:6.1%}   "
                f"{min(values)} to {max(values)} of a core"
            )


def _print(done: "ComputerRun") -> None:
    print_cores(done)
    if any(done.memory_requests):
        hottest = max(range(len(done.results)), key=lambda module: done.memory_requests[module])
        click.echo(
            f"{done.requests} requests, {done.combined} of them combined; "
            f"{sum(done.memory_requests)} reached the memory, {done.memory_requests[hottest]} of "
            f"these module {hottest}"
        )
    link = max(done.links, key=lambda name: done.links[name])
    if done.links[link]:
        click.echo(f"busiest link: {link}, in {done.links[link] / done.cycles:.1%} of the cycles")


@computer.command("view")
@click.argument("program", metavar="[PROGRAM.c]", required=False)
@click.argument("network", required=False)
@click.argument("parameters", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--lesson", metavar="NAME", help="A lesson in place of a program: parallel-queue.")
@program_options
@click.option("-o", "--output", default="computer.html", show_default=True, metavar="FILE")
def view(
    program: str | None,
    network: str | None,
    parameters: tuple[str, ...],
    lesson: str | None,
    stack: int,
    defines: tuple[str, ...],
    output: str,
) -> None:
    """Write a page in which PROGRAM.c runs on the cores of NETWORK, in any browser.

    It shows the lines at which the cores are, what they print, and their requests in the network.
    """
    from ..computer.computer_page import ComputerPage, lesson_page
    from ..run.progress import phase

    check_outputs([output], as_json=False)
    if lesson is not None:
        if program is not None:
            raise InvalidValue("A lesson has a program and a network of its own")
        refuse_given("--lesson", {"stack", "defines"})
        page = lesson_page(lesson)
    elif program is None or network is None:
        raise InvalidValue("A page needs PROGRAM.c and NETWORK, or --lesson NAME")
    else:
        page = ComputerPage(
            program, network_from(network, parameters), stack=stack, defines=defines
        )
        print_warnings(page.program.warnings)
    with phase("compiling the computer to WebAssembly"):
        page.save(output)
    with messages((output,)):
        click.echo(f"{output}: {page.name}, {len(page.html.encode()) / 1e6:.1f} MB")
