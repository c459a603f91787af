"""Switches: what stands at the nodes of a network."""

from .arrival_queue import ArrivalQueue
from .interchange_box import BoxState, InterchangeBox
from .packet_switches import InputQueuedSwitch, OutputQueuedSwitch
from .round_robin import RoundRobin

__all__ = [
    "ArrivalQueue",
    "BoxState",
    "InputQueuedSwitch",
    "InterchangeBox",
    "OutputQueuedSwitch",
    "RoundRobin",
]
