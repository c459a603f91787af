"""What pages in Markdown are made of."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from multicube.hdl.support.output_file import whole_file

__all__ = ["DOCS", "hidden_tree", "table", "title_of", "write_tables"]

DOCS = Path(__file__).parent.parent


def table(
    heading: Sequence[str], rows: Iterable[Sequence[object]], *, texts: int | None = None
) -> str:
    """A table in Markdown. Behind its first `texts` columns are numbers, by default nowhere."""
    rule = ["---" if texts is None or at < texts else "---:" for at in range(len(heading))]
    lines = [heading, rule, *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def hidden_tree(pages: Iterable[str], caption: str = "") -> str:
    """Places some pages below this one, in this order, without a list of them."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["```{toctree}", *options, "", *pages, "```"])


def title_of(page: str) -> str:
    """The heading of a page of `docs`."""
    return (DOCS / f"{page}.md").read_text().split("\n", 1)[0].removeprefix("# ")


def write_tables(path: Path, tables: Iterable[str]) -> None:
    """Replace the tables of a page that have the same heads as these."""
    lines = path.read_text().split("\n")
    for new in (each.split("\n") for each in tables):
        start = lines.index(new[0])
        end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
        lines[start:end] = new
    with whole_file(path) as file:
        file.write_text("\n".join(lines))
