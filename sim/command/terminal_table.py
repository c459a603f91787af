"""Tables on the terminal."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "print_figures", "print_table"]


def console(width: int | None = None) -> "Console":
    """The terminal, for tables; BrokenPipeError if nobody reads them, where rich ends with 1."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Terminal(width=width, highlight=False)


def print_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    whole: int = 0,
    least: int = 0,
    right: bool = False,
) -> None:
    """Print a table.

    Parameters
    ----------
    heads : Sequence[str]
        The headings of its columns.
    rows : Iterable[Sequence[str]]
        Its rows.
    whole : int
        So many columns, from the first one on, have no lines that are broken.
    least : int
        Its width on a narrower terminal, so that nothing is truncated.
    right : bool
        Whether all columns but the first are set to the right.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads)
    for column in table.columns[:whole]:
        column.no_wrap = True
    for column in table.columns[1:] if right else ():
        column.justify = "right"
    for row in rows:
        table.add_row(*map(Text, row))
    console(max(console().width, least)).print(table)


def print_figures(of: str, figures: Iterable[tuple[str, object]]) -> None:
    """Print a table of names and figures, whose heading says of what they are."""
    print_table(["", of], ([name, str(figure)] for name, figure in figures), right=True)
