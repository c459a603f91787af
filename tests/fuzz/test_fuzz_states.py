"""Random files of engine states: each is restored as it says, or refused in one line."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing import check_line, damaged, fuzz
from hypothesis import strategies as st
from multicube.hdl import build
from multicube.hdl.fabric.errors import MulticubeError
from multicube.sim.engines.compiled import CompiledEngine, State

ODD = st.sampled_from([None, True, -1, 0, 1, 2**31, 10**30, 0.5, "", "x", [], [0], [[0]], {}])
WORDS = st.sampled_from([0, 1, 2, 3, 2**16, 2**31, 2**32 - 2, 2**32 - 1])
TYPES = ["<u4", ">u4", "<i4", "<u8", "<f8", "?", "S4", "<U4", "M8[s]", "<c8"]


def parts_of(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content)) as parts:
        return dict(parts)


def zipped(parts: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **parts)
    return stream.getvalue()


@st.composite
def changed(draw: st.DrawFn, content: bytes) -> bytes:
    """The file of a state of which a part is changed: an entry of its head, an array, a number."""
    parts = parts_of(content)
    name = draw(st.sampled_from(sorted(parts)))
    array = parts[name]
    match draw(st.sampled_from(["head", "word", "word", "type", "shape", "drop", "none"])):
        case "head":
            head = json.loads(str(parts["head"]))
            head[draw(st.sampled_from(sorted(head)))] = draw(ODD)
            parts["head"] = np.array(json.dumps(head))
        case "word" if name != "head" and array.size:
            array.reshape(-1)[draw(st.integers(0, array.size - 1))] = draw(WORDS)
        case "type" if name != "head":
            parts[name] = np.zeros(array.shape, draw(st.sampled_from(TYPES)))
        case "shape" if name != "head":
            shape = draw(st.lists(st.integers(0, 3), max_size=3))
            parts[name] = np.zeros(shape, array.dtype)
        case "drop":
            del parts[name]
    return zipped(parts)


@st.composite
def repacked(draw: st.DrawFn, content: bytes) -> bytes:
    """An archive, with sums that are right, of which a file is damaged."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        hurt = draw(st.sampled_from(old.namelist()))
        for name in old.namelist():
            inner = old.read(name)
            new.writestr(name, draw(damaged(st.just(inner))) if name == hurt else inner)
    return stream.getvalue()


def test_states(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    fabric = build("cube", ports=2, switch="single-buffered", depth=1, payload=5).fabric
    with CompiledEngine(fabric) as engine:
        engine.step(3)
        start = engine.save()
        start.save(path)
        whole = path.read_bytes()

        def check(content: bytes) -> None:
            path.write_bytes(content)
            engine.restore(start)
            try:
                state = State.load(path)
            except MulticubeError as error:
                check_line(error)
                return
            try:
                engine.restore(state)
            except MulticubeError as error:
                check_line(error)
                state = start
            # A state that is refused changes nothing; one that is restored is the engine's.
            now = engine.save()
            assert (now.identity, now.cycles) == (start.identity, state.cycles)
            assert all(map(np.array_equal, now.arrays[0], state.arrays[0]))
            engine.step(20)
            assert engine.cycle == state.cycles[0] + 20

        cases = st.one_of(changed(whole), repacked(whole), damaged(st.just(whole)))
        fuzz(check, cases, count=25)
