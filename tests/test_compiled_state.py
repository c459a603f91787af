# amaranth: UnusedElaboratable=no
"""States of the compiled engine: in files, and refused where they don't belong or can't be."""

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from multicube.hdl import build
from multicube.hdl.bench import PacketBench
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Run, pattern
from multicube.sim.engines.compiled import CompiledEngine, State


def bench(name: str = "omega", *, load: float = 0.7, **parameters: str | int) -> PacketBench:
    network = build(name, **{"ports": 8, **parameters})
    run = Run(pattern("uniform", network.ports), load, source_depth=4)
    return PacketBench(network, run.sources(network), bins=8)


def state_of(fabric: Fabric, cycles: int = 20) -> State:
    with CompiledEngine(fabric) as engine:
        for port in ("send", "measure"):
            engine.set(port, 1)
        engine.step(cycles)
        return engine.save()


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "other",
    [
        {"routing": "xor"},
        {"payload": 61},
        {"name": "cube"},
        {"load": 0.6},
        {"switch": "input-queued"},
        {"depth": 3},
        {"ports": 4},
    ],
    ids=str,
)
def test_state_of_another_network_is_refused(other: dict[str, Any]) -> None:
    state = state_of(bench(payload=60))
    with (
        CompiledEngine(bench(**{"payload": 60, **other})) as engine,
        pytest.raises(ValueError, match=r"^State does not belong to these fabrics"),
    ):
        engine.restore(state)


class Mixed(wiring.Component):
    """State of all kinds: a bit, a register of some bits, rows that are narrow and wide."""

    def __init__(self, *, rows: int = 12) -> None:
        self.rows = rows
        self.narrow = Memory(shape=5, depth=rows, init=[])
        self.wide = Memory(shape=33, depth=rows, init=[])
        super().__init__({"i": In(3), "bit": Out(1), "at": Out(range(rows)), "o": Out(33)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.narrow, m.submodules.wide = self.narrow, self.wide
        for memory in (self.narrow, self.wide):
            write = memory.write_port()
            m.d.comb += [write.en.eq(1), write.addr.eq(self.at), write.data.eq(self.i)]
        read = self.wide.read_port(domain="comb")
        other = self.narrow.read_port(domain="comb")
        m.d.comb += [read.addr.eq(self.at), other.addr.eq(self.at)]
        m.d.comb += self.o.eq(read.data ^ other.data)
        m.d.sync += self.bit.eq(~self.bit)
        with m.If(self.at == self.rows - 1):
            m.d.sync += self.at.eq(0)
        with m.Else():
            m.d.sync += self.at.eq(self.at + 1)
        return m


def mixed(name: str = "alone", rows: int = 12) -> Fabric:
    fabric = Fabric({"i": In(3)})
    fabric.place(Cell(name, CellType(Mixed, rows=rows)))
    fabric.link(Pin(None, ("i",)), Pin(name, ("i",)))
    return fabric


@pytest.mark.parametrize("other", [mixed("another"), mixed(rows=13)], ids=["name", "shape"])
def test_state_of_another_cell_is_refused(other: Fabric) -> None:
    with CompiledEngine(mixed()) as engine:
        state = engine.save()
    with CompiledEngine(other) as engine, pytest.raises(ValueError, match="not belong"):
        engine.restore(state)


def changed(state: State, index: int, place: tuple[int, ...], value: int) -> State:
    arrays = [array.copy() for array in state.arrays[0]]
    arrays[index][place] = value
    return replace(state, arrays=(tuple(arrays),))


# The arrays of `mixed`: wires, registers, rows of 5 bits, and rows of 33. Of the wires the first
# 16 are zeros, the next 16 begin with the input; then come the outputs, 16 lanes a word. Lanes
# without a cell (padding) read any wires: they come to any values.
ARRAYS = [(96,), (1, 2, 16), (16, 12, 1), (16, 12, 2)]


@pytest.mark.parametrize(
    ("index", "place", "good", "bad"),
    [
        pytest.param(0, (0,), 0, 1, id="zero"),
        pytest.param(0, (16,), 7, 8, id="input"),
        pytest.param(0, (17,), 0, 1, id="unused"),
        pytest.param(0, (32,), 2**32 - 1, 1, id="bit"),
        pytest.param(0, (33,), 2**32 - 2, None, id="bit-of-padding"),
        pytest.param(0, (48,), 15, 16, id="wire"),
        pytest.param(0, (80,), 0, 2, id="high-word"),
        pytest.param(1, (0, 0, 0), 2**32 - 1, 1, id="bit-register"),
        pytest.param(1, (0, 1, 0), 15, 2**32 - 1, id="register"),
        pytest.param(1, (0, 1, 7), 16, None, id="register-of-padding"),
        pytest.param(2, (0, 3, 0), 31, 32, id="row"),
        pytest.param(3, (7, 11, 0), 2**32 - 1, None, id="low-word-of-row"),
        pytest.param(3, (0, 3, 1), 1, 2, id="high-word-of-row"),
        pytest.param(3, (7, 3, 1), 2, None, id="high-word-of-padding"),
    ],
)
def test_values_that_no_run_can_have_come_to_are_refused(
    index: int, place: tuple[int, ...], good: int, bad: int | None
) -> None:
    with CompiledEngine(mixed()) as engine:
        engine.set("i", 5)
        engine.step(40)
        state = engine.save()
        assert [array.shape for array in state.arrays[0]] == ARRAYS
        engine.step(3)
        before = engine.save()
        if bad is not None:
            with pytest.raises(ValueError, match=r"^State has .* (fit their width|wider than)"):
                engine.restore(changed(state, index, place, bad))
            assert engine.cycle == 43
            after = engine.save()
            assert all(map(np.array_equal, before.arrays[0], after.arrays[0]))
        engine.restore(changed(state, index, place, good))
        assert engine.cycle == 40
        engine.step(50)


@pytest.mark.parametrize(
    "damage",
    [
        lambda arrays: arrays[:-1],
        lambda arrays: (*arrays, arrays[-1]),
        lambda arrays: (arrays[0].astype(np.int32), *arrays[1:]),
        lambda arrays: (arrays[0].astype(np.uint64), *arrays[1:]),
        lambda arrays: (*arrays[:-1], arrays[-1][:, :-1]),
        lambda arrays: (*arrays[:-1], np.zeros((), np.uint32)),
        lambda arrays: (*arrays[:-1], None),
        lambda arrays: (*arrays[:-1], 0),
    ],
)
def test_arrays_of_another_form_are_refused(
    damage: Callable[[tuple[np.ndarray, ...]], tuple[Any, ...]],
) -> None:
    with CompiledEngine(mixed()) as engine:
        state = engine.save()
        with pytest.raises(ValueError, match="arrays of other shapes or types"):
            engine.restore(replace(state, arrays=(damage(state.arrays[0]),)))


def test_restore_rejects_state() -> None:
    with CompiledEngine(mixed()) as engine:
        state = engine.save()
        with pytest.raises(TypeError, match=r"^State must be a State, not list"):
            engine.restore([state])
        with pytest.raises(ValueError, match="number of machines"):
            engine.restore(replace(state, arrays=()))
        with pytest.raises(ValueError, match=r"^Cycle of the state must be at least 0, not -1"):
            engine.restore(replace(state, cycles=(-1,)))
        with pytest.raises(TypeError, match=r"^Cycle of the state must be an integer, not 'x'"):
            engine.restore(replace(state, cycles=("x",)))


@pytest.mark.long
def test_state_of_several_machines_in_a_file(tmp_path: Path) -> None:
    fabrics = [bench(ports=64)] * 2
    with CompiledEngine(fabrics) as engine, CompiledEngine(fabrics) as other:
        assert len(engine._machines) == 2
        engine.set("send", 1, 1)
        engine.step(25)
        state = engine.save()
        state.save(tmp_path / "state.npz")
        loaded = State.load(tmp_path / "state.npz")
        assert (loaded.identity, loaded.cycles) == (state.identity, (25, 25))
        other.restore(loaded)
        engine.step(9)
        other.step(9)
        assert other.cycle == 34
        for a, b in zip(engine.save().arrays, other.save().arrays):
            assert all(map(np.array_equal, a, b))


class Planted:
    """Would run code when a pickle of it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('code of a file was run')",)


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def head(**parts: Any) -> np.ndarray:
    usual = {
        "format": "multicube state 3",
        "identity": "x",
        "run": "",
        "cycles": [0],
        "arrays": [1],
    }
    return np.array(json.dumps({**usual, **parts}))


def zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("head.npy", b"nothing")
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        pickle.dumps(Planted()),
        npz(a=np.zeros(3)),
        npz(head=np.array("no json")),
        npz(head=np.array([Planted()], dtype=object)),
        npz(head=head(), **{"0_0": np.array([Planted()], dtype=object)}),
        npz(head=head()),
        npz(head=head(format="multicube state 1")),
        npz(head=head(arrays=7)),
        npz(head=np.array("[]")),
        npz(head=head(), **{"0_0": np.zeros(1000)})[:-200],
        zipped(),
    ],
)
def test_file_without_a_state_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"holds no saved state: .") as caught:
        State.load(path)
    assert "\n" not in str(caught.value)
    assert "allow_pickle=`" not in str(caught.value)  # advice of numpy's, of no use here


@pytest.mark.parametrize("name", ["head", "note", "0_0"])
def test_file_that_was_changed_is_refused(name: str, tmp_path: Path) -> None:
    """A cycle, a letter of the note, or a word of the state is another."""
    path = tmp_path / "state.npz"
    State("x", (5,), ((np.zeros(3, np.uint64),),), "run", "note").save(path)
    assert State.load(path).note == "note"
    with np.load(path) as file:
        parts = dict(file)
    if name == "head":
        parts[name] = np.array(str(parts[name]).replace("[5]", "[6]"))
    else:
        parts[name][1] += 1
    np.savez(path, **parts)
    with pytest.raises(ValueError, match=r"holds no saved state: it is not as it was written$"):
        State.load(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        State.load(tmp_path / "state.npz")
