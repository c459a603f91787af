"""Entry of the command: its group, and what becomes of errors."""

import sys
from importlib.metadata import EntryPoint, entry_points

import click

from ..engines.compiled.errors import EngineError
from ..result import SimulationError
from ..synthesis import SynthesisError
from .bench import bench
from .deadlock import deadlock
from .draw import draw
from .hardware import export, list_
from .paper import paper
from .permute import permute
from .simulation import sim, sweep
from .synth import synth

__all__ = ["main"]

_PLUGINS = "multicube.commands"
"""Group of the entry points under which other packages offer commands."""


class _Commands(click.Group):
    """The commands of this package, and those of others, which are loaded when they are asked for.

    So `multicube board` is here without anything in `sim` that knows of boards.
    """

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*super().list_commands(context), *_plugins()})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        own = super().get_command(context, name)
        if own is None and name in _plugins():
            return _plugins()[name].load()
        return own


def _plugins() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=_PLUGINS)}


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="multicube", message="%(prog)s %(version)s")
def multicube() -> None:
    """Interconnection networks of parallel computers as real hardware."""


for command in (list_, sim, sweep, permute, deadlock, draw, paper, export, synth, bench):
    multicube.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit: 0 if all is well, 2 for bad input, 1 if a run went wrong
    or a design does not fit its device.

    Errors are one line on standard error.
    """
    try:
        status = multicube.main(arguments, prog_name="multicube", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except (ValueError, TypeError, OSError) as error:
        _fail(str(error), 2)
    except MemoryError as error:
        _fail(str(error) or "There is not enough memory for this", 2)
    except (SimulationError, EngineError, SynthesisError) as error:
        _fail(str(error), 1)
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted", 130)


def _fail(message: str, status: int) -> None:
    click.echo(f"multicube: {' '.join(message.split())}", err=True)
    sys.exit(status)
