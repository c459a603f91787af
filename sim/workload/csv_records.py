"""Records in text: comma-separated values, below a header that names them."""

import csv
from collections.abc import Callable, Sequence
from typing import TypeVar

from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.input_file import text_lines

__all__ = ["csv_records"]

Record = TypeVar("Record")


def csv_records(
    text: str,
    columns: Sequence[str],
    must: int,
    make: Callable[[list[str]], Record],
    origin: str = "",
    *,
    comments: bool = False,
) -> list[tuple[Record, str]]:
    """What is made of the words of each line, and the place of the line.

    The header names at least the first `must` of the columns, and lines have as many words. Blank
    lines and spaces around words are ignored; with `comments`, also what follows `#`.

    Raises
    ------
    ValueError
        If the header or a line is invalid; the message names the line, behind its `origin`.
    """
    found: list[tuple[Record, str]] = []
    width = 0
    for number, line in enumerate(text_lines(text), 1):
        place = f"{origin}line {number}"
        line = line.split("#")[0] if comments else line
        try:
            words = [word.strip() for word in next(csv.reader([line]), [])]
            if (width or comments) and len(words) < 2 and not any(words):
                continue
            if not width:
                width = len(words)
                if width < must or words != list(columns[:width]):
                    allowed = "[,".join([",".join(columns[:must]), *columns[must:]])
                    raise InvalidValue(f"the header must be {allowed}{']' * len(columns[must:])}")
            elif len(words) != width:
                raise InvalidValue(f"there must be {width} fields, not {len(words)}")
            else:
                found.append((make(words), place))
        except (ValueError, csv.Error) as error:
            raise InvalidValue(f"{place}: {error}") from None
    return found
