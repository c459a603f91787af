"""Networks: components made of switches according to a wiring plan."""

from .axi_stream import AXI_CLOCK, AxiStreamNetwork
from .catalogue import FAMILIES, build
from .combining import CombiningNetwork
from .connection_machine import ConnectionMachine
from .dcsh import DCSHNetwork
from .hypercube import HypercubeNetwork
from .multistage.circuit import CircuitNetwork
from .multistage.extra_stage import ReconfigurableExtraStageCube
from .multistage.network import MultistageNetwork
from .multistage.stage_controlled import StageControlledNetwork
from .network import Network, PacketNetwork
from .partitioned import PartitionedNetwork
from .torus import TorusNetwork

__all__ = [
    "AXI_CLOCK",
    "FAMILIES",
    "AxiStreamNetwork",
    "CircuitNetwork",
    "CombiningNetwork",
    "ConnectionMachine",
    "DCSHNetwork",
    "HypercubeNetwork",
    "MultistageNetwork",
    "Network",
    "PacketNetwork",
    "PartitionedNetwork",
    "ReconfigurableExtraStageCube",
    "StageControlledNetwork",
    "TorusNetwork",
    "build",
]
