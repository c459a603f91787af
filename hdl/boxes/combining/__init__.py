"""Boxes that combine requests for one word of memory, and split the reply again."""

from .box import MERGES, CombiningBox
from .input_buffered_box import InputBufferedBox
from .link import MemoryLink
from .pacing import Pacer, request_length

__all__ = [
    "MERGES",
    "CombiningBox",
    "InputBufferedBox",
    "MemoryLink",
    "Pacer",
    "request_length",
]
