"""Networks as components, and the catalogue of their names."""

from .axi_stream import AXI_CLOCK, AxiStreamNetwork
from .catalogue import FAMILIES, build
from .combining import CombiningNetwork
from .connection_machine import ConnectionMachine
from .dcsh import DCSHNetwork
from .graph import GraphNetwork
from .hypercube import HypercubeNetwork
from .multistage.circuit import CircuitNetwork
from .multistage.extra_stage import ReconfigurableExtraStageCube
from .multistage.multidimensional_memory import MultidimensionalMemory
from .multistage.network import MultistageNetwork
from .multistage.stage_controlled import StageControlledNetwork
from .multistage.stage_sequenced import StageSequencedNetwork
from .network import Network, PacketNetwork
from .partitioned import PartitionedNetwork
from .scalable import (
    DeBruijnNetwork,
    DragonflyNetwork,
    ExpressMeshNetwork,
    FatTreeNetwork,
    HyperXNetwork,
    KautzNetwork,
)
from .static import (
    ChordalRingNetwork,
    CompleteNetwork,
    LeisersonFatTreeNetwork,
    ShuffleExchangeNetwork,
    ShuffleNearestNeighborNetwork,
    StarNetwork,
    TreeNetwork,
)
from .torus import RingNetwork, TorusNetwork

__all__ = [
    "AXI_CLOCK",
    "FAMILIES",
    "AxiStreamNetwork",
    "ChordalRingNetwork",
    "CircuitNetwork",
    "CombiningNetwork",
    "CompleteNetwork",
    "ConnectionMachine",
    "DCSHNetwork",
    "DeBruijnNetwork",
    "DragonflyNetwork",
    "ExpressMeshNetwork",
    "FatTreeNetwork",
    "GraphNetwork",
    "HyperXNetwork",
    "HypercubeNetwork",
    "KautzNetwork",
    "LeisersonFatTreeNetwork",
    "MultidimensionalMemory",
    "MultistageNetwork",
    "Network",
    "PacketNetwork",
    "PartitionedNetwork",
    "ReconfigurableExtraStageCube",
    "RingNetwork",
    "ShuffleExchangeNetwork",
    "ShuffleNearestNeighborNetwork",
    "StageControlledNetwork",
    "StageSequencedNetwork",
    "StarNetwork",
    "TorusNetwork",
    "TreeNetwork",
    "build",
]
