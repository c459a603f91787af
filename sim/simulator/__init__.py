"""A simulator of any Amaranth design: Amaranth's interface, and the compiled engine's speed."""

from .cocotb_adapter import CocotbResult, run_cocotb
from .simulator import Simulator

__all__ = ["CocotbResult", "Simulator", "run_cocotb"]
