"""Simulation: what runs, measures, predicts and draws the networks of `multicube.hdl`."""

from ..hdl.core.errors import MulticubeError
from .measure.result import Result, SimulationError
from .run.messages import (
    Copies,
    CopyRun,
    Message,
    MessageRun,
    Messenger,
    copy_messages,
    send_messages,
)
from .run.programs import Pause, ProgramRun, ProgramsStuck, Request, run_programs
from .run.simulation import Run, simulate, simulate_runs
from .workload.traffic import Trace, TracePacket, pattern, read_trace

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
