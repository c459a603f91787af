"""FPGA cost and speed: synthesis, placement and routing with the YoWASP tools."""

from typing import TYPE_CHECKING

from ...hdl.support.lazy import lazy_names

if TYPE_CHECKING:
    from .cost import cost_command
    from .design import Design, network_design, verilog_design
    from .devices import DEVICES, Area, Device
    from .measurement import Measurement, Setup, Storage, measure
    from .tools import SynthesisError

__all__ = [
    "DEVICES",
    "Area",
    "Design",
    "Device",
    "Measurement",
    "Setup",
    "Storage",
    "SynthesisError",
    "cost_command",
    "measure",
    "network_design",
    "verilog_design",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".cost": "cost_command",
        ".design": "Design network_design verilog_design",
        ".devices": "DEVICES Area Device",
        ".measurement": "Measurement Setup Storage measure",
        ".tools": "SynthesisError",
    },
)
