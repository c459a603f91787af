"""Simulation: runs, measures, predicts and draws the networks of `multicube.hdl`."""

from ..hdl.support.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
