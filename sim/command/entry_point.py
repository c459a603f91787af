"""Entry point of the command: its subcommands, and how errors are reported."""

import codecs
import gc
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

import click

from ...hdl.fabric.checks import shown
from ...hdl.fabric.errors import MulticubeError
from ...hdl.support.children import end_children
from ...hdl.support.interruption import terminable
from ...hdl.support.room import lacks_memory
from ...hdl.support.separate_files import separate_files
from . import INTERRUPTED, NO_MEMORY
from .group import LazyGroup, with_numerals

__all__ = ["main"]

_LONGEST_WORD = 60
"""Characters of a word that an error message shows."""

_PLAIN = "multicube-plain"
"""What becomes of characters that a terminal has not: its name among Python's error handlers."""

_ASCII = {"±": "+-", "…": "~"}

_PLUGINS = "multicube.commands"
"""Entry point group under which other packages offer subcommands."""


_BUG = 70
"""Exit status after an error of the library itself."""

_UNREAD = 141
"""Exit status if nobody reads what is printed: that of SIGPIPE."""


_SUBCOMMANDS = {
    "bench": "bench:bench",
    "booksim": "booksim:booksim",
    "bound": "bound_command:bound",
    "collective": "collective_command:collective",
    "compare": "compare:compare",
    "computer": "computer_command:computer",
    "deadlock": "deadlock_command:deadlock",
    "draw": "draw:draw",
    "export": "export_command:export",
    "list": "list_command:list_",
    "measure": "measure:measure",
    "paper": "paper:paper",
    "permute": "permute:permute",
    "prove": "prove_command:prove",
    "rerun": "rerun:rerun",
    "sim": "simulation_command:sim",
    "steps": "steps:steps",
    "studio": "studio:studio",
    "sweep": "simulation_command:sweep",
    "synth": "synth:synth",
    "view": "view:view",
}
"""Where each is: a module of this package, and its name there."""


class _Commands(LazyGroup):
    """The subcommands of this package, and those of others.

    This is how `multicube board` is found although nothing in `sim` depends on `boards`.
    """

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _while_read():
            return super().make_context(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        with _while_read():
            return super().invoke(context)

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*super().list_commands(context), *_plugins()})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        own = super().get_command(context, name)
        if name not in _plugins():
            return own
        if own is None:
            return _plugin(name)
        places = ", ".join(sorted(each.value for each in _plugins()[name]))
        click.echo(f"multicube: {name} is its own command, not {places}", err=True)
        return own

    def summary(self, context: click.Context, name: str) -> str:
        try:
            return super().summary(context, name)
        except MulticubeError as error:
            return str(error)


@contextmanager
def _while_read() -> Iterator[None]:
    """End the command if nobody reads what it prints; click gives it the status of lost packets."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is still to be flushed
        sys.exit(_UNREAD)


@cache
def _plugins() -> dict[str, set[EntryPoint]]:
    found: dict[str, set[EntryPoint]] = {}
    for entry in entry_points(group=_PLUGINS):
        found.setdefault(entry.name, set()).add(entry)
    return found


def _plugin(name: str) -> click.Command:
    """A subcommand of another package; MulticubeError if it can't be loaded, or two have it."""
    entry, *others = sorted(_plugins()[name], key=lambda each: each.value)
    if others:
        places = ", ".join(each.value for each in (entry, *others))
        raise MulticubeError(f"Command {name} must be of one other package, not of {places}")
    what = f"Command {name} of another package ({entry.value})"
    try:
        found = entry.load()
    except Exception as error:
        raise MulticubeError(f"{what} can't be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(found, click.Command):
        raise MulticubeError(f"{what} must be a command of click, not {shown(found)}")
    return with_numerals(found)


multicube = click.version_option(package_name="multicube", message="%(prog)s %(version)s")(
    _Commands(
        "multicube",
        {name: f"{__package__}.{place}" for name, place in _SUBCOMMANDS.items()},
        help="Interconnection networks of parallel computers as real hardware.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit: 0 if all is well, 1 if packets were lost or damaged, a network can
    deadlock, or a program in C says that it failed, 2 if the input is bad or the machine or a tool
    can't do it, 130 after Ctrl-C, 141 if nobody reads what it prints, 143 after SIGTERM.

    An error is one line on standard error. Any exception that is neither a MulticubeError nor an
    OSError is a bug in the library: its traceback is shown, and the status is 70.
    """
    # Elaborated hardware stays to the end: with Python's usual thresholds the search for garbage
    # takes a fifth of a short command, and frees next to nothing.
    gc.set_threshold(5_000, 20, 100)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # As on standard error: a file name that is not UTF-8 does not make the command fail.
        sys.stdout.reconfigure(errors=_PLAIN)
    with terminable() as terminations, separate_files():
        try:
            _run(arguments)
        except SystemExit as end:
            hdl = sys.modules.get("amaranth.hdl")
            if end.code and hdl is not None:
                # Hardware that is left half made would warn that it is never used.
                warnings.simplefilter("ignore", hdl.UnusedElaboratable)
            if end.code == INTERRUPTED:
                end_children()
                if terminations:
                    end.code = 128 + terminations[0]
            raise


def _run(arguments: list[str] | None) -> NoReturn:
    try:
        status = multicube.main(arguments, prog_name="multicube", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except MemoryError as error:
        _fail(str(error) or NO_MEMORY, 2)
    except MulticubeError as error:
        _fail(str(error), error.status)
    except OSError as error:
        _fail(str(error), 2)
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted", INTERRUPTED)
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            _bug()
        _fail("The machine can't start another thread", 2)
    except Exception as error:
        if lacks_memory(error):
            _fail(NO_MEMORY, 2)
        _bug()


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """ASCII for a character that can't be encoded, or what standard error shows for it."""
    if isinstance(error, UnicodeEncodeError) and error.object[error.start] in _ASCII:
        return _ASCII[error.object[error.start]], error.start + 1
    return codecs.backslashreplace_errors(error)


codecs.register_error(_PLAIN, _plain)


def _bug() -> NoReturn:
    """Report the exception being handled as a bug."""
    traceback.print_exc()
    _fail("this is a bug in multicube; please report it with this traceback", _BUG)


def _fail(message: str, status: int) -> NoReturn:
    # Messages repeat values that the user gave, which may be very long; paths are shown in full.
    message = re.sub(rf"([^\s/]{{{_LONGEST_WORD - 3}}})[^\s/]{{4,}}", r"\1...", message)
    click.echo(f"multicube: {' '.join(message.split())}", err=True)
    sys.exit(status)
