"""FPGA cost and speed: synthesis, placement and routing with the YoWASP tools."""

from ...hdl.support.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
