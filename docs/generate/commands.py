"""The pages of the command line, as Markdown: one for the help of each command, and their list."""

from collections.abc import Iterator

import click
from multicube.sim.command.entry_point import multicube

from .markdown import hidden_tree

__all__ = ["COMMANDS", "command_pages", "has_command"]

COMMANDS = "reference/commands.md"
"""The page that lists the commands, in the site."""

_WIDTH = 80


def has_command(name: str) -> bool:
    """Whether this version of the library has a command."""
    return name in multicube.list_commands(click.Context(multicube))


def command_pages() -> Iterator[tuple[str, str]]:
    """The paths and the texts of all pages: what `--help` prints."""
    above = click.Context(multicube, info_name="multicube", **multicube.context_settings)
    lines, names = [], []
    for context in _contexts(multicube, above):
        words = context.command_path
        names.append("-".join(words.split()[1:]))
        yield (
            f"{COMMANDS.removesuffix('.md')}/{names[-1]}.md",
            f"# {words}\n\n```text\n{context.get_help().strip()}\n```\n",
        )
        short = context.command.get_short_help_str(_LONG)
        lines.append(f"- [{words}](commands/{names[-1]}.md): {short}")
    tree = hidden_tree(f"commands/{name}" for name in names)
    parts = ["# Command line", *_INTRODUCTION, "\n".join(lines), tree]
    yield COMMANDS, "\n\n".join(parts) + "\n"


_LONG = 200
"""Letters of the sentence that the list says of a command, at most."""

_INTRODUCTION = (
    "The pages show what `multicube COMMAND --help` prints. A network is its name and words "
    "NAME=VALUE; [each network's page](../networks/index.md) has its parameters, and "
    "[Traffic](traffic.md) the words for `--traffic`. Capitals don't matter in names. The exit "
    "status is 0 if all is well, 1 if packets were lost, a network can deadlock or a program says "
    "that it failed, 2 if the input is bad, 130 after Ctrl-C. Bad input ends with one line on "
    "standard error. A traceback and status 70 are a bug: please report it.",
    "Files are written completely or not at all. `-o -` writes Verilog, or the table as CSV, to "
    "standard output; messages then go to standard error. A file that is replaced keeps its owner "
    "and mode, a link stays a link, and devices and FIFOs are written in place.",
)


def _contexts(group: click.Group, above: click.Context) -> Iterator[click.Context]:
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None
        context = click.Context(
            command, parent=above, info_name=name, max_content_width=_WIDTH, terminal_width=_WIDTH
        )
        if isinstance(command, click.Group):
            yield from _contexts(command, context)
        else:
            yield context
