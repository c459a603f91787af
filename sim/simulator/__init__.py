"""A simulator of any Amaranth design: Amaranth's interface, and the compiled engine's speed."""

from .simulator import Simulator

__all__ = ["Simulator"]
