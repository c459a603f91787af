"""Hardware: plans, boxes, routers, networks, the test bench, and their export as Verilog."""

from typing import TYPE_CHECKING

from .support.lazy import lazy_names

if TYPE_CHECKING:
    from .boxes import BoxState, InputQueuedSwitch, InterchangeBox, OutputQueuedSwitch
    from .export.verilog import write_verilog
    from .fabric.errors import MulticubeError
    from .graphs.plans.multistage import multistage_plan
    from .networks import (
        AXI_CLOCK,
        FAMILIES,
        AxiStreamNetwork,
        BenesNetwork,
        BoxControlledNetwork,
        BusNetwork,
        ChordalRingNetwork,
        CircuitNetwork,
        ClosNetwork,
        CombiningNetwork,
        CompleteNetwork,
        ConnectionMachine,
        CrossbarNetwork,
        CubeConnectedCyclesNetwork,
        CyclesNetwork,
        DCSHNetwork,
        DeBruijnNetwork,
        DeltaNetwork,
        DragonflyNetwork,
        ExpressMeshNetwork,
        FatTreeNetwork,
        GraphNetwork,
        HierarchicalNetwork,
        HypercubeNetwork,
        HyperXNetwork,
        KautzNetwork,
        LambdaNetwork,
        LeisersonFatTreeNetwork,
        LoopSwitchingNetwork,
        ManYoNetwork,
        MultiClockNetwork,
        MultidimensionalMemory,
        MultistageNetwork,
        Network,
        PacketNetwork,
        PartitionedNetwork,
        ProcessorMemoryNetwork,
        ReconfigurableExtraStageCube,
        RingNetwork,
        ShuffleExchangeNetwork,
        ShuffleNearestNeighborNetwork,
        StageControlledNetwork,
        StageSequencedNetwork,
        StarNetwork,
        SwBanyanNetwork,
        TerminalClocks,
        TorusNetwork,
        TreeNetwork,
        TwoLevelNetwork,
        build,
    )

__all__ = [
    "AXI_CLOCK",
    "FAMILIES",
    "AxiStreamNetwork",
    "BenesNetwork",
    "BoxControlledNetwork",
    "BoxState",
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
    "DeltaNetwork",
    "DragonflyNetwork",
    "ExpressMeshNetwork",
    "FatTreeNetwork",
    "GraphNetwork",
    "HierarchicalNetwork",
    "HyperXNetwork",
    "HypercubeNetwork",
    "InputQueuedSwitch",
    "InterchangeBox",
    "KautzNetwork",
    "LambdaNetwork",
    "LeisersonFatTreeNetwork",
    "LoopSwitchingNetwork",
    "ManYoNetwork",
    "MultiClockNetwork",
    "MulticubeError",
    "MultidimensionalMemory",
    "MultistageNetwork",
    "Network",
    "OutputQueuedSwitch",
    "PacketNetwork",
    "PartitionedNetwork",
    "ProcessorMemoryNetwork",
    "ReconfigurableExtraStageCube",
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
    "build",
    "multistage_plan",
    "write_verilog",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".boxes": "BoxState InputQueuedSwitch InterchangeBox OutputQueuedSwitch",
        ".fabric.errors": "MulticubeError",
        ".export.verilog": "write_verilog",
        ".networks": (
            "AXI_CLOCK FAMILIES AxiStreamNetwork BenesNetwork BoxControlledNetwork BusNetwork "
            "ChordalRingNetwork CircuitNetwork ClosNetwork CombiningNetwork CompleteNetwork "
            "ConnectionMachine CrossbarNetwork CubeConnectedCyclesNetwork CyclesNetwork "
            "DCSHNetwork DeBruijnNetwork DeltaNetwork DragonflyNetwork ExpressMeshNetwork "
            "FatTreeNetwork GraphNetwork HierarchicalNetwork HyperXNetwork HypercubeNetwork "
            "KautzNetwork LambdaNetwork LeisersonFatTreeNetwork LoopSwitchingNetwork ManYoNetwork "
            "MultiClockNetwork MultidimensionalMemory MultistageNetwork Network PacketNetwork "
            "PartitionedNetwork ProcessorMemoryNetwork ReconfigurableExtraStageCube RingNetwork "
            "ShuffleExchangeNetwork ShuffleNearestNeighborNetwork StageControlledNetwork "
            "StageSequencedNetwork StarNetwork SwBanyanNetwork TerminalClocks TorusNetwork "
            "TreeNetwork TwoLevelNetwork build"
        ),
        ".graphs.plans.multistage": "multistage_plan",
    },
)
