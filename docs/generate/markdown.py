"""What pages in Markdown are made of."""

from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["DOCS", "hidden_tree", "table", "title_of"]

DOCS = Path(__file__).parent.parent


def table(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
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
