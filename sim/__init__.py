"""Simulation: runs, measures, predicts and draws the networks of `multicube.hdl`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..hdl.core.errors import MulticubeError
    from .measure.curve import Sweep
    from .measure.result import Result, SimulationError
    from .report.save import save_sweep
    from .run.messages import (
        Copies,
        CopyRun,
        Message,
        MessageRun,
        Messenger,
        copy_messages,
        send_messages,
    )
    from .run.passes import run_passes
    from .run.programs import Pause, ProgramRun, ProgramsStuck, Request, run_programs
    from .run.rerun import Record, read_records, rerun
    from .run.run import Run
    from .run.simulation import simulate, simulate_runs
    from .run.sweeps import sweep
    from .theory import predict
    from .workload.traffic import Trace, TracePacket, pattern, read_trace

_HOMES = {
    "Copies": ".run.messages",
    "CopyRun": ".run.messages",
    "Message": ".run.messages",
    "MessageRun": ".run.messages",
    "Messenger": ".run.messages",
    "MulticubeError": "..hdl.core.errors",
    "Record": ".run.rerun",
    "Pause": ".run.programs",
    "ProgramRun": ".run.programs",
    "ProgramsStuck": ".run.programs",
    "Request": ".run.programs",
    "Result": ".measure.result",
    "Run": ".run.run",
    "SimulationError": ".measure.result",
    "Sweep": ".measure.curve",
    "Trace": ".workload.traffic",
    "TracePacket": ".workload.traffic",
    "copy_messages": ".run.messages",
    "read_records": ".run.rerun",
    "rerun": ".run.rerun",
    "pattern": ".workload.traffic",
    "predict": ".theory",
    "read_trace": ".workload.traffic",
    "run_passes": ".run.passes",
    "run_programs": ".run.programs",
    "save_sweep": ".report.save",
    "send_messages": ".run.messages",
    "simulate": ".run.simulation",
    "simulate_runs": ".run.simulation",
    "sweep": ".run.sweeps",
}
"""The module of each name; it is imported when the name is first used, since some take long."""

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
    "Record",
    "Request",
    "Result",
    "Run",
    "SimulationError",
    "Sweep",
    "Trace",
    "TracePacket",
    "copy_messages",
    "pattern",
    "predict",
    "read_records",
    "read_trace",
    "rerun",
    "run_passes",
    "run_programs",
    "save_sweep",
    "send_messages",
    "simulate",
    "simulate_runs",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return __all__
