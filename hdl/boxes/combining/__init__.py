"""Boxes that combine requests for one word of memory, and split the reply again."""

from .box import MERGES, CombiningBox
from .input_buffered_box import InputBufferedBox

__all__ = [
    "MERGES",
    "CombiningBox",
    "InputBufferedBox",
]
