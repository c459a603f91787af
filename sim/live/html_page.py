"""A page in one file."""

import html
import os
from abc import ABC, abstractmethod
from typing import Any

from ...hdl.support.output_file import whole_file

__all__ = ["HtmlPage"]

_FRAME_HEIGHT = 820


class HtmlPage(ABC):
    """A page that is complete in itself: in a file, or shown by a notebook.

    Attributes
    ----------
    title, name : str
        What it shows, in full and in short.
    lessons : dict
        The lessons that it offers, by name.
    """

    title: str
    name: str
    lessons: dict[str, dict[str, Any]]

    @property
    @abstractmethod
    def html(self) -> str:
        """The page."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is complete or absent.

        Parameters
        ----------
        path : path-like
            The file.
        """
        with whole_file(path) as file:
            file.write_text(self.html, "utf-8")

    def _repr_html_(self) -> str:
        inner = html.escape(self.html)
        return (
            f'<iframe srcdoc="{inner}" style="width: 100%; height: {_FRAME_HEIGHT}px; border: 0" '
            f'title="{html.escape(self.title)}"></iframe>'
        )
