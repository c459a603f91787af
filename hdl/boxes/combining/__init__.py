"""Boxes that make one request of several for one word of memory, and two replies of one."""

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
