"""Boxes that combine requests for one word of memory, and split the reply again."""

from .box import CombiningBox
from .input_buffered_box import InputBufferedBox
from .router import CombiningRouter
from .switch import MERGES, CombiningSwitch

__all__ = [
    "MERGES",
    "CombiningBox",
    "CombiningRouter",
    "CombiningSwitch",
    "InputBufferedBox",
]
