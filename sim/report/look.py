"""How a figure looks on its page: its size, the size of its letters, its style."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from logging import LogRecord, getLogger
from logging.handlers import BufferingHandler
from typing import Any

import matplotlib
import matplotlib.style

from ...hdl.fabric.checks import check_flag, check_number, check_several, check_word
from ...hdl.fabric.errors import InvalidValue

__all__ = ["WIDTHS", "Look"]

WIDTHS = {"column": 3.5, "page": 7.16}
"""Inches of one column, and of both, in the journals of the IEEE; those of others are close."""

_LARGEST = 100.0

_PRINTED: dict[str, Any] = {
    "font.size": 8,
    "axes.linewidth": 0.6,
    "lines.linewidth": 0.9,
    "lines.markersize": 3.5,
}
"""Letters and lines of a figure that is printed as large as it is."""


@contextmanager
def _complaints() -> Iterator[list[LogRecord]]:
    """What matplotlib complains of in the body, and then does not print."""
    handler, logger = BufferingHandler(sys.maxsize), getLogger("matplotlib")
    logger.addHandler(handler)
    try:
        yield handler.buffer
    finally:
        logger.removeHandler(handler)


@dataclass(frozen=True)
class Look:
    """How a figure looks.

    Attributes
    ----------
    title : str, optional
        In place of the one that says what is shown; none if empty.
    size : tuple[float, float], optional
        Width and height in inches.
    width : str, optional
        In place of a size, one of `WIDTHS`: the figure fits there, with letters of 8 points. In a
        column its panels are below each other.
    style : str, optional
        A style of matplotlib: its name, or the path of a file.
    text : bool
        Whether text in an SVG stays text, in the fonts of who shows it, and is not drawn as lines.
    """

    title: str | None = None
    size: tuple[float, float] | None = None
    width: str | None = None
    style: str | None = None
    text: bool = False

    def __post_init__(self) -> None:
        check_flag("Text", self.text)
        if self.size is not None:
            size = tuple(
                check_number("Size", each)
                for each in check_several("Size", self.size, "a width and a height")
            )
            if len(size) != 2 or not all(1 <= each <= _LARGEST for each in size):
                raise InvalidValue(
                    f"Size must be width and height from 1 to {_LARGEST:g} inches, not "
                    + ",".join(f"{each:g}" for each in size)
                )
            object.__setattr__(self, "size", size)
        if self.width is not None:
            check_word("Width", self.width, WIDTHS)
            if self.size is not None:
                raise InvalidValue(f"Size must not be given beside width {self.width}")
        if self.style is not None and self.style not in matplotlib.style.available:
            try:
                with _complaints() as said:
                    matplotlib.rc_params_from_file(self.style, use_default_template=False)
                if said:
                    raise InvalidValue(said[0].getMessage())
            except (OSError, ValueError, TypeError, UnicodeDecodeError):
                raise InvalidValue(
                    "Style must be a file of matplotlib's parameters or one of "
                    f"{', '.join(each for each in matplotlib.style.available if each[0] != '_')}, "
                    f"not {os.fspath(self.style)!r}"
                ) from None

    @contextmanager
    def applied(self) -> Iterator[None]:
        """A context in which figures are made, and written to files, in this look.

        Letters in a PDF are outlines of Type 42 (TrueType), as publishers want; matplotlib's own
        choice is Type 3. Equal figures give equal files.
        """
        printed: Any = _PRINTED if self.width else {}
        always: Any = {
            "pdf.fonttype": 42,
            "ps.fonttype": 42,
            "svg.hashsalt": "multicube",
            "svg.fonttype": "none" if self.text else "path",
        }
        with ExitStack() as stack:
            stack.enter_context(matplotlib.rc_context(printed))
            if self.style is not None:
                stack.enter_context(matplotlib.style.context(self.style))
            stack.enter_context(matplotlib.rc_context(always))
            yield

    @property
    def stacked(self) -> bool:
        """Whether panels are below each other."""
        return self.width == "column"

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height of a figure of two panels."""
        if self.size is not None:
            return self.size
        if self.width is None:
            return 11.0, 5.0
        wide = WIDTHS[self.width]
        return (wide, 1.6 * wide) if self.stacked else (wide, 0.5 * wide)

    @property
    def dots(self) -> int:
        """Dots of a picture per inch."""
        return 130 if self.width is None else 300
