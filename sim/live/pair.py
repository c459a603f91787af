"""Two live pages side by side, under one hand."""

import html
from functools import cached_property

from ...hdl.fabric.checks import check_kind
from ...hdl.fabric.errors import InvalidValue
from .html_page import HtmlPage
from .page import LivePage, filled

__all__ = ["LivePair"]


class LivePair(HtmlPage):
    """A page with two live pages: what is done to one of them is done to both.

    Parameters
    ----------
    first, second : LivePage
        Pages of networks with as many terminals.

    Attributes
    ----------
    title, name : str
        The names of both, or the one that they have in common.
    lessons : dict
        The lessons of the first page, by name.

    Raises
    ------
    TypeError, ValueError
        If one of them is no `LivePage`, or their networks have not as many terminals.

    Examples
    --------
    >>> from multicube import LivePage, build
    >>> from multicube.sim.live import LivePair
    >>> LivePair(LivePage(build("cube", ports=4)), LivePage(build("crossbar", ports=4))).name
    'cube and crossbar'
    """

    def __init__(self, first: LivePage, second: LivePage) -> None:
        for page in (first, second):
            check_kind("Page", page, LivePage, "a live page")
        if first.network.ports != second.network.ports:
            raise InvalidValue(
                "Networks side by side must have as many terminals, "
                f"not {first.network.ports} and {second.network.ports}"
            )
        both = [*first.offered, *second.offered]
        self.pages = first.offering(both), second.offering(both)
        self.title = self.name = " and ".join(dict.fromkeys((first.name, second.name)))
        self.lessons = first.lessons

    @cached_property
    def html(self) -> str:
        """The page, complete in itself."""
        frames = "\n".join(
            f'<iframe title="{html.escape(str(page.network))}" '
            f'srcdoc="{html.escape(page.html)}"></iframe>'
            for page in self.pages
        )
        return filled("pair.html", {"title": html.escape(self.title), "frames": frames})
