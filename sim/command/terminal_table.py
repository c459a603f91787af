"""Tables on the terminal."""

from collections.abc import Iterable, Sequence

__all__ = ["print_figures", "print_table"]


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
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads)
    for column in table.columns[:whole]:
        column.no_wrap = True
    for column in table.columns[1:] if right else ():
        column.justify = "right"
    for row in rows:
        table.add_row(*map(Text, row))
    Console(width=max(Console().width, least)).print(table)


def print_figures(of: str, figures: Iterable[tuple[str, object]]) -> None:
    """Print a table of names and figures, whose heading says of what they are."""
    print_table(["", of], ([name, str(figure)] for name, figure in figures), right=True)
