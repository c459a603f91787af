"""Web pages in which a network runs: the compiled engine as WebAssembly, with a drawing."""

from .lessons import lesson_names, lesson_network
from .page import LivePage

__all__ = ["LivePage", "lesson_names", "lesson_network"]
