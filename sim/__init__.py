"""Simulation: runs, measures, predicts and draws the networks of `multicube.hdl`."""

from typing import TYPE_CHECKING

from ..hdl.support.lazy import lazy_names

if TYPE_CHECKING:
    from ..hdl.fabric.errors import MulticubeError
    from .measure.activity import Activity, Energy
    from .measure.comparison import Comparison
    from .measure.curve import Sweep
    from .measure.result import Result, SimulationError
    from .report.save import save_sweep
    from .run.comparing import compare
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

__all__ = [
    "Activity",
    "Comparison",
    "Copies",
    "CopyRun",
    "Energy",
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
    "compare",
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "..hdl.fabric.errors": "MulticubeError",
        ".measure.activity": "Activity Energy",
        ".measure.comparison": "Comparison",
        ".measure.curve": "Sweep",
        ".measure.result": "Result SimulationError",
        ".report.save": "save_sweep",
        ".run.comparing": "compare",
        ".run.messages": "Copies CopyRun Message MessageRun Messenger copy_messages send_messages",
        ".run.passes": "run_passes",
        ".run.programs": "Pause ProgramRun ProgramsStuck Request run_programs",
        ".run.rerun": "Record read_records rerun",
        ".run.run": "Run",
        ".run.simulation": "simulate simulate_runs",
        ".run.sweeps": "sweep",
        ".theory": "predict",
        ".workload.traffic": "Trace TracePacket pattern read_trace",
    },
)
