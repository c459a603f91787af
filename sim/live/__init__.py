"""Web pages in which a network runs: the compiled engine as WebAssembly, with a drawing."""

from typing import TYPE_CHECKING

from ...hdl.support.lazy import lazy_names

if TYPE_CHECKING:
    from .design import Design, DesignPage
    from .lessons import lesson_names, lesson_network
    from .page import LivePage
    from .pair import LivePair

__all__ = ["Design", "DesignPage", "LivePage", "LivePair", "lesson_names", "lesson_network"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".design": "Design DesignPage",
        ".lessons": "lesson_names lesson_network",
        ".page": "LivePage",
        ".pair": "LivePair",
    },
)
