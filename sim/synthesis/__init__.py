"""Cost and speed, in FPGAs and in standard cells, with Yosys, nextpnr and OpenSTA."""

from ...hdl.support.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
