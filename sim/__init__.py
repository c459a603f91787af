"""Simulation: what runs, measures, predicts and draws the networks of `multicube.hdl`."""

from .programs import Pause, ProgramRun, ProgramsStuck, Request, run_programs
from .result import Result, SimulationError
from .simulate import Run, simulate, simulate_runs
from .traffic import Trace, TracePacket, pattern, read_trace

__all__ = [
    "Pause",
    "ProgramRun",
    "ProgramsStuck",
    "Request",
    "Result",
    "Run",
    "SimulationError",
    "Trace",
    "TracePacket",
    "pattern",
    "read_trace",
    "run_programs",
    "simulate",
    "simulate_runs",
]
