"""Runs of workloads as timelines, for Perfetto and other readers of Chrome's trace events."""

import json
import os
from typing import Any

from ...hdl.fabric.checks import check_kind
from ...hdl.support.output_file import whole_file
from ..measure.critical_path import MessageTimes, WorkloadRun

__all__ = ["timeline", "write_timeline"]


def write_timeline(run: WorkloadRun, path: str | os.PathLike[str]) -> None:
    """Write the timeline of a run to a file, or to standard output if it is `-`.

    Parameters
    ----------
    run : WorkloadRun
        The run.
    path : path-like
        The file to write, of JSON; `-` is standard output.

    Raises
    ------
    TypeError, ValueError
        If it is no such run, or the file can't be written.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import Workload, WorkloadMessage, run_workload, write_timeline
    >>> workload = Workload("one", (WorkloadMessage(0, source=0, destination=3),))
    >>> write_timeline(run_workload(build("cube", ports=4), workload), "timeline.json")
    """
    check_kind("Run", run, WorkloadRun, "a WorkloadRun")
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(timeline(run)) + "\n", "utf-8")


def timeline(run: WorkloadRun) -> dict[str, Any]:
    """The timeline of a run, in the JSON form of Chrome's trace events; a microsecond is a cycle.

    A terminal is a process. Its track "sends" has the flits that it sends. Each message has a span
    of its own below its source, with its parts: computing, waiting, and in the network. Arrows lead
    from each message to those that depend on it. Messages of the critical path say so.
    """
    critical = {part.id for part in run.critical_path}
    known = {times.message.id: times for times in run.messages}
    terminals = {
        terminal
        for times in run.messages
        for terminal in (times.message.source, times.message.destination)
    }
    events: list[dict[str, Any]] = []
    for terminal in sorted(terminals):
        for kind, thread, name in (
            ("process_name", 0, f"terminal {terminal}"),
            ("process_sort_index", 0, ""),
            ("thread_name", _SENDS, "sends"),
            ("thread_name", _RECEIVES, "receives"),
        ):
            value = {"name": name} if name else {"sort_index": terminal}
            events.append({"ph": "M", "pid": terminal, "tid": thread, "name": kind, "args": value})
    for times in run.messages:
        events += _spans(times, times.message.id in critical)
        for other in times.message.after:
            events += _arrow(known[other], times)
    about = {"network": run.network, "workload": run.workload, "cycles": run.cycles}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


_SENDS, _RECEIVES = 1, 2
"""Threads of a terminal."""


def _spans(times: MessageTimes, critical: bool) -> list[dict[str, Any]]:
    message = times.message
    name = f"{message.id}: {message.source} to {message.destination}"
    arguments = {**times.to_json(), "critical": critical}
    own = {"pid": message.source, "tid": _SENDS}
    begins = times.ready - message.delay
    if message.is_computation:
        both = {**own, "cat": "message", "id": message.id, "name": f"{message.id}: compute"}
        return [
            {**both, "ph": "b", "ts": begins, "args": {"critical": critical}},
            {**both, "ph": "e", "ts": times.arrived + 1},
        ]
    spans = [
        {
            **own,
            **{"ph": "X", "cat": "send", "name": name, "args": arguments},
            **{"ts": times.sent, "dur": times.left + 1 - times.sent},
        },
        {
            **{"pid": message.destination, "tid": _RECEIVES},
            **{"ph": "X", "cat": "receive", "name": name, "args": arguments},
            **{"ts": times.arrived, "dur": 1},
        },
    ]
    for part, first, end in (
        (name, begins, times.arrived + 1),
        ("compute", begins, times.ready),
        ("wait", times.ready, times.sent),
        ("network", times.sent, times.arrived + 1),
    ):
        if first < end:
            both = {**own, "cat": "message", "id": message.id, "name": part}
            spans.append({**both, "ph": "b", "ts": first, "args": {"critical": critical}})
            spans.append({**both, "ph": "e", "ts": end})
    return spans


def _arrow(before: MessageTimes, after: MessageTimes) -> list[dict[str, Any]]:
    """From the message that another waits for, where it is known, to this other."""
    here = after.message.source
    thread = _RECEIVES if before.message.destination == here else _SENDS
    both = {
        **{"cat": "after", "name": "after", "pid": here},
        "id": f"{before.message.id}-{after.message.id}",
    }
    return [
        {**both, "ph": "s", "tid": thread, "ts": before.known_at(here)},
        {**both, "ph": "f", "bp": "e", "tid": _SENDS, "ts": after.sent},
    ]
