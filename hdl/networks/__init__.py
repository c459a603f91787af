"""Networks: components made of switches and a wiring plan."""

from .catalogue import FAMILIES, build
from .circuit import CircuitNetwork
from .extra_stage import ReconfigurableExtraStageCube
from .multistage import MultistageNetwork
from .network import Network
from .partitioned import PartitionedNetwork
from .stage_controlled import StageControlledNetwork

__all__ = [
    "FAMILIES",
    "CircuitNetwork",
    "MultistageNetwork",
    "Network",
    "PartitionedNetwork",
    "ReconfigurableExtraStageCube",
    "StageControlledNetwork",
    "build",
]
