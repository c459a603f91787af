"""Simulation: what runs, measures, predicts and draws the networks of `multicube.hdl`."""

from ..hdl.errors import MulticubeError
from .messages import (
    Copies,
    CopyRun,
    Message,
    MessageRun,
    Messenger,
    copy_messages,
    send_messages,
)
from .programs import Pause, ProgramRun, ProgramsStuck, Request, run_programs
from .result import Result, SimulationError
from .simulate import Run, simulate, simulate_runs
from .traffic import Trace, TracePacket, pattern, read_trace

__all__ = [
    "Copies",
    "CopyRun",
    "Message",
    "MessageRun",
    "Messenger",
    "MulticubeError",
    "Pause",
    "ProgramRun",
    "ProgramsStuck",
    "Request",
    "Result",
    "Run",
    "SimulationError",
    "Trace",
    "TracePacket",
    "copy_messages",
    "pattern",
    "read_trace",
    "run_programs",
    "send_messages",
    "simulate",
    "simulate_runs",
]
