"""Simulation: what runs, measures, predicts and draws the networks of `multicube.hdl`."""

from .result import Result, SimulationError
from .simulate import Run, simulate, simulate_runs
from .traffic import Trace, TracePacket, pattern, read_trace

__all__ = [
    "Result",
    "Run",
    "SimulationError",
    "Trace",
    "TracePacket",
    "pattern",
    "read_trace",
    "simulate",
    "simulate_runs",
]
