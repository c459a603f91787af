"""Web pages in which a network runs: the compiled engine as WebAssembly, with a drawing."""

from .design import Design, DesignPage
from .lessons import lesson_names, lesson_network
from .page import LivePage
from .pair import LivePair

__all__ = ["Design", "DesignPage", "LivePage", "LivePair", "lesson_names", "lesson_network"]
