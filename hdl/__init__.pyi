from .boxes import BoxState as BoxState
from .boxes import InputQueuedSwitch as InputQueuedSwitch
from .boxes import InterchangeBox as InterchangeBox
from .boxes import OutputQueuedSwitch as OutputQueuedSwitch
from .catalogue.catalogue import FAMILIES as FAMILIES
from .catalogue.catalogue import build as build
from .export.verilog import write_verilog as write_verilog
from .fabric.errors import MulticubeError as MulticubeError
from .families.bus.bus_network import BusNetwork as BusNetwork
from .families.clos.clos_network import BenesNetwork as BenesNetwork
from .families.clos.clos_network import ClosNetwork as ClosNetwork
from .families.combining_graph_network import CombiningGraphNetwork as CombiningGraphNetwork
from .families.combining_network import CombiningNetwork as CombiningNetwork
from .families.connection_machine.connection_machine_network import (
    ConnectionMachine as ConnectionMachine,
)
from .families.dcsh.dcsh_network import DCSHNetwork as DCSHNetwork
from .families.fat_tree.fat_tree_network import FatTreeNetwork as FatTreeNetwork
from .families.graph_network import GraphNetwork as GraphNetwork
from .families.hierarchical.hierarchical_network import CyclesNetwork as CyclesNetwork
from .families.hierarchical.hierarchical_network import HierarchicalNetwork as HierarchicalNetwork
from .families.hierarchical.hierarchical_network import TwoLevelNetwork as TwoLevelNetwork
from .families.hypercube.hypercube_network import HypercubeNetwork as HypercubeNetwork
from .families.multistage.birrd import BirrdNetwork as BirrdNetwork
from .families.multistage.box_controlled import BoxControlledNetwork as BoxControlledNetwork
from .families.multistage.circuit_network import CircuitNetwork as CircuitNetwork
from .families.multistage.crossbar_network import CrossbarNetwork as CrossbarNetwork
from .families.multistage.delta_network import DeltaNetwork as DeltaNetwork
from .families.multistage.delta_network import SwBanyanNetwork as SwBanyanNetwork
from .families.multistage.extra_stage_network import (
    ReconfigurableExtraStageCube as ReconfigurableExtraStageCube,
)
from .families.multistage.multidimensional_memory import (
    MultidimensionalMemory as MultidimensionalMemory,
)
from .families.multistage.multistage_network import MultistageNetwork as MultistageNetwork
from .families.multistage.stage_controlled import StageControlledNetwork as StageControlledNetwork
from .families.multistage.stage_sequenced_network import (
    StageSequencedNetwork as StageSequencedNetwork,
)
from .families.processor_memory_network import ProcessorMemoryNetwork as ProcessorMemoryNetwork
from .families.single_stage.single_stage_network import LambdaNetwork as LambdaNetwork
from .families.single_stage.single_stage_network import LoopSwitchingNetwork as LoopSwitchingNetwork
from .families.single_stage.single_stage_network import ManYoNetwork as ManYoNetwork
from .families.torus.torus_network import RingNetwork as RingNetwork
from .families.torus.torus_network import TorusNetwork as TorusNetwork
from .graphs.plans.birrd_plan import BirrdPlan as BirrdPlan
from .graphs.plans.named_plans import multistage_plan as multistage_plan
from .networks.any_routing import AnyRoutingNetwork
from .networks.axi_stream_network import AXI_CLOCK as AXI_CLOCK
from .networks.axi_stream_network import AxiStreamNetwork as AxiStreamNetwork
from .networks.network import Network as Network
from .networks.packet_network import PacketNetwork as PacketNetwork
from .networks.partitioned import PartitionedNetwork as PartitionedNetwork
from .networks.terminal_clocks import MultiClockNetwork as MultiClockNetwork
from .networks.terminal_clocks import TerminalClocks as TerminalClocks

# The networks that `catalogue.graph_networks` makes of graphs.
class ChordalRingNetwork(AnyRoutingNetwork): ...
class CompleteNetwork(AnyRoutingNetwork): ...
class CubeConnectedCyclesNetwork(AnyRoutingNetwork): ...
class DeBruijnNetwork(AnyRoutingNetwork): ...
class DragonflyNetwork(AnyRoutingNetwork): ...
class ExpressMeshNetwork(AnyRoutingNetwork): ...
class HyperXNetwork(AnyRoutingNetwork): ...
class KautzNetwork(AnyRoutingNetwork): ...
class LeisersonFatTreeNetwork(AnyRoutingNetwork): ...
class ShuffleExchangeNetwork(AnyRoutingNetwork): ...
class ShuffleNearestNeighborNetwork(AnyRoutingNetwork): ...
class StarNetwork(AnyRoutingNetwork): ...
class TreeNetwork(AnyRoutingNetwork): ...
