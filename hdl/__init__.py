"""Hardware: wiring plans, switches, networks and the bench, and their export as Verilog."""

from .errors import MulticubeError
from .networks import FAMILIES, CombiningNetwork, MultistageNetwork, Network, build
from .switches import BoxState, InputQueuedSwitch, InterchangeBox, OutputQueuedSwitch
from .topology import multistage_plan
from .verilog import write_verilog

__all__ = [
    "FAMILIES",
    "BoxState",
    "CombiningNetwork",
    "InputQueuedSwitch",
    "InterchangeBox",
    "MulticubeError",
    "MultistageNetwork",
    "Network",
    "OutputQueuedSwitch",
    "build",
    "multistage_plan",
    "write_verilog",
]
