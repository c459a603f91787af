"""Hardware: plans, boxes, routers, networks, the test bench, and their export as Verilog."""

from .support.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__, made=".catalogue.graph_networks")
