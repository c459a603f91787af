"""Boxes of multistage networks: interchange boxes, and switches for every switching mode."""

from ..primitives.interchange_box import BoxState, InterchangeBox
from .packet_switches import InputQueuedSwitch, OutputQueuedSwitch

__all__ = ["BoxState", "InputQueuedSwitch", "InterchangeBox", "OutputQueuedSwitch"]
