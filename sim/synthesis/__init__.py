"""FPGA cost and speed: synthesis, placement and routing with the YoWASP tools."""

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
