"""Random networks, and resets at random moments: what is sent after one arrives once."""

from typing import Any

import pytest
from fuzzing import check_line, fuzz
from hypothesis import strategies as st
from multicube.hdl import build
from multicube.hdl.fabric.errors import MulticubeError
from multicube.sim.engines.compiled import CompiledEngine
from resets import AxisEnds, Ends, Scoreboard, check_resets

LENGTHS = st.sampled_from(["1", "3", "1:4"])
DEPTHS = st.integers(1, 4)

ROUTED: dict[str, Any] = {
    "length": LENGTHS,
    "depth": DEPTHS,
    "recovery": st.sampled_from(["none", "discard", "discard"]),
    "timeout": st.sampled_from([2, 5, 16]),
    "window": st.integers(1, 4),
    "latency": st.integers(1, 3),
    "switching": st.sampled_from(["wormhole", "cut-through", "store-and-forward"]),
    "pipeline": st.sampled_from([0, 0, 1, 2]),
}
BOXES: dict[str, Any] = {
    "ports": st.sampled_from([4, 8]),
    "switch": st.sampled_from(
        [
            *("output-queued", "input-queued", "single-buffered", "unbuffered"),
            *("wormhole", "cut-through", "store-and-forward", "circuit"),
        ]
    ),
    "length": LENGTHS,
    "depth": DEPTHS,
    "policy": st.sampled_from(["hold", "drop", "modified-hold"]),
    "resubmit": st.sampled_from([1, 4, 16]),
    "parity": st.sampled_from(["none", "packet", "byte"]),
    "routing": st.sampled_from(["destination", "xor"]),
    "pipeline": st.sampled_from([0, 0, 1, 2]),
}
FAMILIES: dict[str, dict[str, Any]] = {
    "torus": {"k": st.sampled_from(["2", "3", "2x3"]), "channels": st.integers(1, 2), **ROUTED},
    "hypercube": {"n": st.integers(1, 3), **ROUTED},
    "mesh": {"k": st.sampled_from(["2", "3x2"]), **ROUTED},
    "omega": BOXES,
    "cube": BOXES,
    "connection-machine": {"n": st.integers(1, 3), "buffers": st.integers(1, 4)},
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, dict[str, Any], list[tuple[int, int]], int, bool]:
    """A family with some parameters; when resets begin and how long they take; a seed; AXI?"""
    name = draw(st.sampled_from(sorted(FAMILIES)))
    known = FAMILIES[name]
    chosen = draw(st.sets(st.sampled_from(sorted(known)), max_size=5))
    parameters = {each: draw(known[each]) for each in sorted(chosen)}
    lengths = st.sampled_from([1, 1, 2, 5, 40])
    moments = draw(st.lists(st.tuples(st.integers(1, 60), lengths), min_size=1, max_size=5))
    return name, parameters, moments, draw(st.integers(0, 99)), draw(st.booleans())


@pytest.mark.long
def test_resets() -> None:
    def check(case: tuple[str, dict[str, Any], list[tuple[int, int]], int, bool]) -> None:
        name, parameters, moments, seed, axis = case
        try:
            network = build(name, **parameters).altered(payload=24)
            loses = network.drops and not network.resubmits
            ends = None if loses else (AxisEnds if axis else Ends)(network)
        except MulticubeError as error:
            check_line(error)
            return
        check_resets(network, moments, seed=seed)
        if ends is None:
            return
        with CompiledEngine(ends.fabric) as engine:
            board = Scoreboard(engine, ends, seed)
            for wait, length in moments:
                board.step(wait)
                board.reset(length)
            board.step(40)
            board.finish()

    fuzz(check, cases(), count=3)
