"""Tables that a telephone can show: what each cell is called stands in the cell too.

A narrow screen shows a table that is wider than itself row by row, each cell after its column's
head (`multicube.css`). Which tables are too wide is estimated here, by their letters.
"""

from collections.abc import Sequence

from bs4 import BeautifulSoup, Tag

__all__ = ["with_labels"]

_SCREEN = 320
"""Pixels that a table may have on a narrow screen."""

_LETTER = 7.5
"""Pixels of a letter, at most."""

_MARGIN = 15
"""Pixels beside the text of a cell."""

_LINE = 16
"""Letters of a line that is long enough for sentences."""

_BRIEF = 12
"""Letters of what needs no line of its own."""

_HEAD = 20
"""Letters of a head that stands beside it."""

_ROLES = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row"}
_ROLES |= {"th": "columnheader", "td": "cell"}
"""What a browser forgets of a table whose cells stand below each other."""


def with_labels(body: str) -> str:
    """The body of a page, whose wide tables have the class `stacked` and a head in each cell."""
    if "<table" not in body:
        return body
    page = BeautifulSoup(body, "html.parser")
    for each in page.select("table.table"):
        _label(each)
    return str(page)


def _label(table: Tag) -> None:
    heads = [_text(head) for head in table.select("thead th")]
    rows = [row.find_all("td", recursive=False) for row in table.select("tbody tr")]
    columns = [[_text(cell) for cell in column] for column in zip(*rows, strict=True)]
    if sum(map(_width, heads, columns)) <= _SCREEN:
        return
    _add_class(table, "stacked")
    for part in (table, *table.find_all(list(_ROLES))):
        part["role"] = _ROLES[part.name]
    for head, texts, cells in zip(heads, columns, zip(*rows, strict=True), strict=True):
        brief = max(map(len, texts)) <= _BRIEF and len(head) <= _HEAD
        for cell in cells:
            cell["data-label"] = head
            if brief:
                _add_class(cell, "brief")
    above = ""
    for first, *_ in rows:
        above = _text(first) or above
        if not _text(first):  # as in the row above
            first["data-above"] = above


def _width(head: str, texts: Sequence[str]) -> float:
    """Pixels that a column needs: for its longest word, and a line that can be read."""
    word = max(len(word) for text in (head, *texts) for word in text.split() or [""])
    line = min(max(map(len, texts), default=0), _LINE)
    return max(word, line) * _LETTER + _MARGIN


def _text(part: Tag) -> str:
    return " ".join(part.get_text().split())


def _add_class(part: Tag, name: str) -> None:
    part["class"] = [*part.get_attribute_list("class", []), name]
