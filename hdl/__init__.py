"""Hardware: wiring plans, switches, networks and the test bench, and their export as Verilog."""

from .boxes import BoxState, InputQueuedSwitch, InterchangeBox, OutputQueuedSwitch
from .core.errors import MulticubeError
from .export.verilog import write_verilog
from .networks import FAMILIES, CombiningNetwork, MultistageNetwork, Network, build
from .topology import multistage_plan

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
