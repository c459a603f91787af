"""Networks as components, and the catalogue of their names."""

from .axi_stream import AXI_CLOCK, AxiStreamNetwork
from .bus import BusNetwork
from .buses import AxiNetwork, WishboneNetwork
from .catalogue import FAMILIES, build
from .combining import CombiningNetwork
from .connection_machine import ConnectionMachine
from .dcsh import DCSHNetwork
from .deflection import DeflectionTorus
from .graph import GraphNetwork
from .hierarchical import CyclesNetwork, HierarchicalNetwork, TwoLevelNetwork
from .hypercube import HypercubeNetwork
from .multistage.box_controlled import BoxControlledNetwork
from .multistage.circuit import CircuitNetwork
from .multistage.crossbar import CrossbarNetwork
from .multistage.delta import DeltaNetwork, SwBanyanNetwork
from .multistage.extra_stage import ReconfigurableExtraStageCube
from .multistage.multidimensional_memory import MultidimensionalMemory
from .multistage.network import MultistageNetwork
from .multistage.stage_controlled import StageControlledNetwork
from .multistage.stage_sequenced import StageSequencedNetwork
from .network import Network, PacketNetwork
from .partitioned import PartitionedNetwork
from .processor_memory import ProcessorMemoryNetwork
from .rearrangeable import BenesNetwork, ClosNetwork
from .remote_memory import RemoteMemory
from .scalable import (
    CubeConnectedCyclesNetwork,
    DeBruijnNetwork,
    DragonflyNetwork,
    ExpressMeshNetwork,
    FatTreeNetwork,
    HyperXNetwork,
    KautzNetwork,
)
from .single_stage import LambdaNetwork, LoopSwitchingNetwork, ManYoNetwork
from .static import (
    ChordalRingNetwork,
    CompleteNetwork,
    LeisersonFatTreeNetwork,
    ShuffleExchangeNetwork,
    ShuffleNearestNeighborNetwork,
    StarNetwork,
    TreeNetwork,
)
from .terminal_clocks import MultiClockNetwork, TerminalClocks
from .torus import RingNetwork, TorusNetwork

__all__ = [
    "AXI_CLOCK",
    "FAMILIES",
    "AxiNetwork",
    "AxiStreamNetwork",
    "BenesNetwork",
    "BoxControlledNetwork",
    "BusNetwork",
    "ChordalRingNetwork",
    "CircuitNetwork",
    "ClosNetwork",
    "CombiningNetwork",
    "CompleteNetwork",
    "ConnectionMachine",
    "CrossbarNetwork",
    "CubeConnectedCyclesNetwork",
    "CyclesNetwork",
    "DCSHNetwork",
    "DeBruijnNetwork",
    "DeflectionTorus",
    "DeltaNetwork",
    "DragonflyNetwork",
    "ExpressMeshNetwork",
    "FatTreeNetwork",
    "GraphNetwork",
    "HierarchicalNetwork",
    "HyperXNetwork",
    "HypercubeNetwork",
    "KautzNetwork",
    "LambdaNetwork",
    "LeisersonFatTreeNetwork",
    "LoopSwitchingNetwork",
    "ManYoNetwork",
    "MultiClockNetwork",
    "MultidimensionalMemory",
    "MultistageNetwork",
    "Network",
    "PacketNetwork",
    "PartitionedNetwork",
    "ProcessorMemoryNetwork",
    "ReconfigurableExtraStageCube",
    "RemoteMemory",
    "RingNetwork",
    "ShuffleExchangeNetwork",
    "ShuffleNearestNeighborNetwork",
    "StageControlledNetwork",
    "StageSequencedNetwork",
    "StarNetwork",
    "SwBanyanNetwork",
    "TerminalClocks",
    "TorusNetwork",
    "TreeNetwork",
    "TwoLevelNetwork",
    "WishboneNetwork",
    "build",
]
