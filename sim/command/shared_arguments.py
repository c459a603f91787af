"""Arguments that several subcommands share: a network, and the options of a run."""

import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from functools import reduce
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import integer_of, number_of
from ...hdl.support.output_file import check_output, is_standard_output
from ..measure.units import UNITS
from ..report.formats import PICTURES
from . import INTERRUPTED

if TYPE_CHECKING:
    from ...hdl.networks.network import Network
    from ..report.look import Look

__all__ = [
    "INTERRUPTED",
    "check_outputs",
    "chosen_loads",
    "chosen_look",
    "engine_option",
    "figure_options",
    "given",
    "messages",
    "network_and",
    "network_arguments",
    "network_from",
    "refuse_given",
    "refuse_idle_limit",
    "refuse_option",
    "run_options",
    "same_engine_option",
    "sweep_options",
    "together",
    "warmup_option",
    "written",
]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
"""An argument or option of click."""


def together(*options: Decorator) -> Decorator:
    """Several arguments and options of a command, in this order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


network_arguments = together(
    click.argument("network"), click.argument("parameters", nargs=-1, metavar="[NAME=VALUE]...")
)


def _not_a_pair(context: click.Context, argument: click.Parameter, word: str) -> str:
    if re.match(r"\w+=", word):
        raise click.MissingParameter(ctx=context, param=argument)
    return word


def network_and(last: str) -> Decorator:
    """A network, and behind it an argument, for which NAME=VALUE is not taken if it is missing."""
    return together(network_arguments, click.argument(last, callback=_not_a_pair))


def network_from(name: str, words: Sequence[str]) -> "Network":
    """Build the network that the arguments describe.

    Raises
    ------
    ValueError
        If a word is not NAME=VALUE or is given twice, or the network has no such parameter.
    """
    from ...hdl.catalogue.catalogue import build
    from ...hdl.fabric.parameters import pairs

    return build(name, **pairs(words))


def refuse_given(
    option: str, others: Collection[str] | None = None, *, but: Collection[str] = ()
) -> None:
    """Refuse an option of the command that runs beside others that are given.

    Parameters
    ----------
    option : str
        The option, as it is written.
    others : Collection[str], optional
        Names of the others' parameters; by default all.
    but : Collection[str]
        Names of those that go with it.

    Raises
    ------
    ValueError
        If another one is given.
    """
    context = click.get_current_context()
    for other in context.command.params:
        refused = other.name not in but and (others is None or other.name in others)
        given = context.get_parameter_source(other.name or "") is ParameterSource.COMMANDLINE
        if refused and given and other.opts[-1] != option:
            raise InvalidValue(f"Option {option} does not go with {other.opts[-1]}")


def refuse_option(name: str, whose: str, why: str) -> None:
    """Refuse an option that is given to something that does not take it.

    Parameters
    ----------
    name : str
        The name of its parameter.
    whose : str
        What does not take it, and the verb, such as "A trace takes".
    why : str

    Raises
    ------
    ValueError
        If it is given.
    """
    context = click.get_current_context()
    if context.get_parameter_source(name) != ParameterSource.DEFAULT:
        (option,) = (each.opts[-1] for each in context.command.params if each.name == name)
        raise InvalidValue(f"{whose} no {option}: {why}")


def refuse_idle_limit(cycles: int | None, precision: float | None) -> None:
    """Refuse --limit if the window is as long as was given."""
    if cycles is not None and precision is None:
        refuse_option("limit", "With --cycles alone there is", "the window does not grow")


def check_outputs(outputs: Sequence[str], as_json: bool) -> None:
    """Check that all files can be written, before the work begins.

    Raises
    ------
    ValueError
        If one can't or is named twice, or both a file and the JSON object would go to standard
        output.
    """
    for number, path in enumerate(outputs):
        check_output(path)
        if os.path.realpath(path) in map(os.path.realpath, outputs[:number]):
            raise InvalidValue(f"Output {path} is named twice")
        if as_json and is_standard_output(path):
            raise InvalidValue(f"Output {path} and --json would both go to standard output")


def given(*paths: str | None) -> list[str]:
    """Those of some files for which an option was given."""
    return [path for path in paths if path is not None]


def written(paths: Sequence[str], write: Callable[[str], None]) -> tuple[list[str], OSError | None]:
    """Write those of some files that can be written, such that one full disk does not take what was
    measured for hours.

    Returns
    -------
    tuple[list[str], OSError | None]
        What was written, and the first error.
    """
    done, trouble = list[str](), None
    for path in paths:
        try:
            write(path)
            done.append(path)
        except OSError as error:
            trouble = trouble or error
    return done, trouble


def messages(outputs: Sequence[str]) -> AbstractContextManager:
    """A context in which messages go to standard error if a file goes to standard output."""
    taken = any(map(is_standard_output, outputs))
    return redirect_stdout(sys.stderr) if taken else nullcontext()


def _read_warmup(_context: object, _option: object, text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return integer_of(text)
    except ValueError:
        raise InvalidValue(f"Warm-up must be auto or a number of cycles, not {text!r}") from None


def _read_precision(_context: object, _option: object, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return number_of(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise InvalidValue(f"Precision must be a fraction such as 5%, not {text!r}") from None


def _read_size(_context: object, _option: object, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(number_of(word) for word in text.split(","))
    except ValueError:
        raise InvalidValue(f"Size must be width and height in inches: 7,4, not {text!r}") from None


def _names(_context: object, _option: object, text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(text.split(","))


warmup_option = click.option(
    "--warmup",
    default="auto",
    show_default=True,
    callback=_read_warmup,
    help="Cycles before the window; auto waits until the network reaches a steady state.",
)

_ENGINES = "auto, compiled, amaranth or verilator."

engine_option = click.option("--engine", default="auto", show_default=True, help=_ENGINES)

same_engine_option = click.option("--engine", help=f"{_ENGINES} Default: the one that was used.")

run_options = together(
    click.option(
        "--traffic",
        default="uniform",
        show_default=True,
        help="Where packets go: uniform, tornado, 1,0,3,2, file:FILE, ... "
        "(docs/reference/traffic.md).",
    ),
    click.option(
        "--unit",
        type=click.Choice(UNITS),
        default=UNITS[0],
        show_default=True,
        help="Unit of loads, and of the rates that are printed.",
    ),
    click.option(
        "--cycles",
        type=int,
        help="Length of the measurement window; with --precision, its first length. Default: "
        "as long as the precision needs.",
    ),
    click.option(
        "--precision",
        callback=_read_precision,
        metavar="FRACTION",
        help="Relative half width of the 99 % intervals of mean latency and throughput at which "
        "the window ends, such as 0.02 or 2%. Default: 5 %, if --cycles is not given.",
    ),
    click.option(
        "--limit", default=200_000, show_default=True, help="Most cycles to which the window grows."
    ),
    click.option(
        "--seeds",
        default=1,
        show_default=True,
        help="Independent runs side by side, with seeds from --seed on.",
    ),
    warmup_option,
    click.option("--seed", default=1, show_default=True, help="Seed of the random numbers."),
    click.option(
        "--source-depth",
        default=256,
        show_default=True,
        help="Packets that can wait in front of the network at each terminal.",
    ),
    click.option(
        "--bins",
        type=int,
        help="Bins of each latency histogram. Default: 2048, or fewer for thousands of terminals.",
    ),
    click.option(
        "--operations",
        callback=_names,
        metavar="NAME,...",
        help="Operations of the processors, drawn at random; all for all. Default: fetch-and-add.",
    ),
    click.option(
        "--history",
        type=int,
        help="Requests that each processor records, to check their order; 0 turns the check off.",
    ),
    engine_option,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
)
"""How to run a network."""

sweep_options = together(
    click.option(
        "--loads",
        help="FIRST:LAST:STEP or a list. Default: 0.1:0.9:0.1, as far as the traffic allows.",
    ),
    click.option(
        "--clip",
        is_flag=True,
        help="Replace loads that the traffic does not allow by the highest that it allows.",
    ),
    click.option(
        "-o",
        "--output",
        multiple=True,
        metavar="FILE",
        help="Picture (.svg, .png, .pdf) or data (.csv, .json) to write; - writes CSV to stdout. "
        "May be given several times.",
    ),
    click.option("--refine/--no-refine", default=True, help="Add loads where saturation begins."),
    click.option("--processes", type=int, help="Processes to use. Default: one per core."),
    click.option("--scheduler", metavar="ADDRESS", help="Run on the cluster of a Dask scheduler."),
    click.option(
        "--resume",
        metavar="FILE",
        help="Store each finished point in this file, and skip those that it has.",
    ),
)
"""Those of a load sweep, other than those of its runs."""


def chosen_loads(loads: str | None, clip: bool) -> dict[str, Any]:
    """The arguments `loads` and `clip` of a sweep. Only loads that were given can be too high."""
    from ..run.sweeps import parse_loads

    return {
        "loads": parse_loads("0.1:0.9:0.1" if loads is None else loads),
        "clip": clip or loads is None,
    }


figure_options = together(
    click.option("--title", metavar="TEXT", help="Title of a picture; '' is none."),
    click.option(
        "--size", metavar="W,H", callback=_read_size, help="Size of the picture in inches."
    ),
    click.option(
        "--width",
        metavar="column|page",
        help="Fit a column or a page of a journal, with letters of 8 points.",
    ),
    click.option("--style", metavar="NAME", help="A style of matplotlib, by name or as a file."),
    click.option("--text", is_flag=True, help="Keep text in an .svg as text that can be edited."),
)
"""How a picture of a load sweep looks."""


def chosen_look(options: dict[str, Any], outputs: Sequence[str]) -> "Look | None":
    """Take the options of pictures out of those of a command; None if no picture is written.

    Raises
    ------
    ValueError
        If an option is not valid, or is given and no picture is written.
    """
    chosen = {name: options.pop(name) for name in ("title", "size", "width", "style", "text")}
    given = [name for name, value in chosen.items() if value not in (None, False)]
    endings = {os.path.splitext(path)[1] for path in outputs}
    if chosen["text"] and ".svg" not in endings:
        raise InvalidValue("--text is for a picture of text: write one with -o FILE.svg")
    if endings.isdisjoint(PICTURES):
        if given:
            raise InvalidValue(f"--{given[0]} is for a picture: write one with -o FILE.svg")
        return None
    from ..report.look import Look  # imports matplotlib, which is slow

    return Look(**chosen)
