"""Groups of subcommands, each of which is imported when it is asked for."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

import click

from ...hdl.fabric.checks import nearest
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import number_of

__all__ = ["LazyGroup", "with_numerals"]


class _Numeral(click.ParamType):
    """A number of click's, in the digits that files and other texts have, too."""

    def __init__(self, kind: click.ParamType) -> None:
        self.kind = kind
        self.name = kind.name

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        try:
            if isinstance(value, str):
                number_of(value)
        except ValueError:
            self.fail(f"{value!r} is not a valid {self.name}.", parameter, context)
        return self.kind.convert(value, parameter, context)


def with_numerals(command: click.Command) -> click.Command:
    """A command, and those in it, whose options take numbers as files have them."""
    for option in command.params:
        if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
            option.type = _Numeral(option.type)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        with_numerals(inner)
    return command


class LazyGroup(click.Group):
    """A group that imports only the subcommand that is called, and all for its own help.

    `subcommands` says where each is, as "module:name". Numbers of options have ASCII digits and no
    underscores, which click takes too.
    """

    def __init__(self, name: str, subcommands: Mapping[str, str], **options: Any) -> None:
        super().__init__(name, **options)
        self.subcommands = subcommands

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(self.subcommands)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.subcommands:
            return None
        found = resolve_name(self.subcommands[name])
        assert isinstance(found, click.Command)
        return with_numerals(found)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = arguments[0]
        if name not in self.subcommands and not name.startswith("-"):
            known = self.list_commands(context)
            if name not in known:
                raise InvalidValue(
                    f"Command must be one of {', '.join(known)}, not {name!r}{nearest(name, known)}"
                )
        return super().resolve_command(context, arguments)

    def summary(self, context: click.Context, name: str) -> str:
        """What the help says of a subcommand: the first sentence of its own."""
        found = self.get_command(context, name)
        assert found is not None
        return found.get_short_help_str(limit=200)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(context)
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summary(context, name)) for name in names])
