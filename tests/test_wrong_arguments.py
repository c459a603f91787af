"""What is given to Python's functions and is not allowed is answered in one line that names it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from multicube import build, simulate, sweep
from multicube.sim import (
    Comparison,
    Message,
    MulticubeError,
    Request,
    Trace,
    run_programs,
    save_sweep,
    send_messages,
)

CUBE = build("cube", ports=4)
CURVE = sweep("cube ports=4", [0.1], cycles=20, warmup=2, refine=False, processes=1)
RESULT = CURVE.points[0]


def asking(word: Any) -> Iterator[Request]:
    yield Request("load", word)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "sweeps": (lambda: Comparison(3), "Sweeps must be a sequence of sweeps, not 3"),
    "a sweep": (lambda: Comparison(["x"]), "Sweep must be a sweep, not 'x'"),
    "per": (lambda: Comparison([CURVE], per="x"), "Per must be one of terminal, .*, not 'x'"),
    "unit": (lambda: save_sweep(CURVE, "-", unit="x"), "Unit must be one of .*, not 'x'"),
    "percentiles": (lambda: RESULT.to_frame(5), "Percentiles must be a sequence of numbers, not 5"),
    "a percentile": (lambda: CURVE.to_frame(["x"]), "Percentile must be a number, not 'x'"),
    "packets": (lambda: Trace("t", 3), "Packets must be a sequence of TracePacket, not 3"),
    "a packet": (lambda: Trace("t", [3]), "Packet must be a TracePacket, not 3"),
    "a source": (
        lambda: send_messages(build("mesh", k=2), [Message([], 1, 0)]),
        r"Source must be an integer, not \[\]",
    ),
    "a word": (
        lambda: run_programs(build("combining", ports=2), [asking([])]),
        r"Processor 0: Word must be an integer, not \[\]",
    ),
    "memory": (
        lambda: run_programs(build("combining", ports=2), [asking(0)], memory=3),
        "Memory must be a mapping of words to values, not 3",
    ),
    "a terminal": (lambda: CUBE.path("1", 0), "Source must be an integer, not '1'"),
    "no terminal": (lambda: CUBE.path(0, 4), "Destination must be from 0 to 3, not 4"),
    "half a terminal": (lambda: CUBE.path(1.5, 0), "Source must be an integer, not 1.5"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_named(name: str) -> None:
    call, message = WRONG[name]
    with pytest.raises(MulticubeError, match=f"^{message}"):
        call()


def test_generators_of_packets_are_kept() -> None:
    """They can be read only once."""
    empty = Trace("t", iter(()))
    with pytest.raises(MulticubeError, match=r"^Trace t holds no packets$"):
        simulate(CUBE, traffic=empty)
