"""Boxes that combine requests for one word of memory, and split the reply again."""

from .box import CombiningBox
from .combining_router import CombiningRouter
from .combining_switch import MERGES, CombiningSwitch
from .input_buffered_box import InputBufferedBox

__all__ = ["MERGES", "CombiningBox", "CombiningRouter", "CombiningSwitch", "InputBufferedBox"]
