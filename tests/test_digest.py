"""Digests: equal values have equal ones, in every process; others do not."""

import functools
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Const
from amaranth.lib import data
from hypothesis import given, settings
from hypothesis import strategies as st
from multicube.hdl import FAMILIES, build
from multicube.hdl.fabric.digest import Digest, digest
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.links.packet import Packet
from multicube.sim import pattern
from started import run_tool

PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3)
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.frozensets(st.integers(0, 9), max_size=3),
    ),
    max_leaves=6,
)


@pytest.mark.long
@settings(derandomize=True, database=None, deadline=None)
@given(VALUES, VALUES)
def test_two_values_share_a_digest_only_if_they_are_the_same(one: object, other: object) -> None:
    def written(value: object) -> object:
        """What tells values apart: 1, 1.0 and True are three."""
        match value:
            case dict():
                return {key: written(each) for key, each in value.items()}
            case list():
                return list(map(written, value))
            case frozenset():
                return value
            case _:
                return repr(value)

    assert (digest(one) == digest(other)) == (written(one) == written(other))


def test_what_is_joined_is_not_what_is_apart() -> None:
    assert len({digest("ab"), digest("a", "b"), digest(["a", "b"]), digest(["ab"])}) == 4
    assert digest([1, [2, 3]]) != digest([[1, 2], 3])
    assert digest(np.array([1, 2])) != digest(np.array([[1], [2]]))
    assert digest(np.array([1, 2], np.int32)) != digest(np.array([1, 2], np.int64))


@dataclass(frozen=True)
class Row:
    """A record whose sequences are digested field by field."""

    number: int
    name: str = ""


def test_records_and_layouts() -> None:
    assert digest([Row(1), Row(2)]) == digest([Row(1), Row(2)])
    rows = ([Row(1), Row(2)], [Row(2), Row(1)], [Row(1), Row(2, "x")], [Row(1)], [1, 2])
    assert len(set(map(digest, rows))) == len(rows)
    packets = (Packet(3, 16), Packet(3, 17), Packet(3, data.ArrayLayout(4, 4)), Packet(4, 16))
    assert len(set(map(digest, packets))) == len(packets)
    assert digest(Packet(3, 16)) == digest(Packet(3, 16))


def test_computed_attributes_change_nothing() -> None:
    """Neither a cached property, nor Python's hash that Amaranth keeps."""
    graph = FAMILIES["graph"].build().relation.graph
    before = digest(graph)
    assert graph.by_output
    assert digest(graph) == before
    packet = Packet(3, 16)
    before = digest(packet)
    assert isinstance(hash(packet), int)
    assert digest(packet) == before


def test_a_circle_ends() -> None:
    one, other = ModuleType("one"), ModuleType("other")
    one.other, other.one = other, one  # type: ignore[attr-defined]
    assert digest(one) == digest(one)


def _three() -> int:
    return 3


def _four() -> int:
    return 4


_LIMIT = 3


def _outer(number: int) -> int:
    return _inner(number) if number < _LIMIT else sum(_three() for _ in range(number))


def _upper(text: str) -> str:
    return text.upper()


def _inner(number: int) -> int:
    return _outer(number + 1)


@pytest.mark.parametrize("own", [_three, Row(1), functools.partial(_three), object(), Row])
def test_code_of_a_user_is_foreign(own: object) -> None:
    assert Digest([own]).foreign
    assert not Digest([pattern("tornado", 4), Packet, np.int8(3), len]).foreign


def test_a_class_of_the_library_may_move_to_another_folder() -> None:
    """Stored runs stay true then; and no two of its classes are taken for one another."""

    def placed(module: str) -> type:
        return type("Moved", (), {"__module__": module})

    here, there = "multicube.hdl.graphs.torus_graph", "multicube.hdl.families.torus.torus_graph"
    assert digest(placed(here)) == digest(placed(there))
    others = ("multicube.hdl.graphs.mesh_graph", "torus_graph", "own.torus_graph")
    figures = ("multicube.sim.papers.siegel.fig9", "multicube.sim.papers.ginosar.fig9")
    kinds = [placed(module) for module in (here, *others, *figures)]
    kinds += {
        kind
        for name, module in sys.modules.items()
        if name.startswith("multicube.")
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == name
    }
    assert len(kinds) > 200
    assert len(set(map(digest, kinds))) == len(kinds)


def test_the_line_that_made_a_value_is_not_part_of_it() -> None:
    """A layout of Amaranth may hold values, and these the file and line that made them."""
    one, other = Const(1, 4), Const(1, 4)
    one.src_loc, other.src_loc = ("stream.py", 48), ("/elsewhere/stream.py", 50)
    assert digest(one) == digest(other) != digest(Const(2, 4))


def test_functions_of_a_user_are_told_apart_by_their_code() -> None:
    def kept(number: int) -> object:
        return lambda: number

    first = _three.__code__
    try:
        before = digest(_three)
        _three.__code__ = _four.__code__
        assert digest(_three) != before
    finally:
        _three.__code__ = first
    assert digest(_three) == before
    assert digest(kept(1)) == digest(kept(1)) != digest(kept(2))


def test_functions_of_a_user_are_told_apart_by_what_they_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numbers, and functions and what these name; those that call each other end."""
    found = {digest(_outer)}
    for name, value in (("_LIMIT", 4), ("_three", lambda: 5)):
        monkeypatch.setitem(_outer.__globals__, name, value)
        found.add(digest(_outer))
    assert len(found) == 3


def test_names_of_attributes_are_none_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of a script comes to another process with what it reads of its module only."""
    before = digest(_upper)
    for value in (3, build("cube", ports=2)):
        monkeypatch.setitem(_upper.__globals__, "upper", value)
        assert digest(_upper) == before


def test_classes_of_a_user_are_told_apart_by_what_they_define() -> None:
    def own(measured: object, size: int = 1, bases: tuple[type, ...] = ()) -> type:
        return type("Own", bases, {"__module__": "own", "measured": measured, "size": size})

    assert digest(own(_three)) == digest(own(_three))
    kinds = [own(_three), own(_four), own(_four, 2), own(_four, 2, (own(_three),))]
    assert len({*map(digest, kinds)}) == 4
    assert digest(own(property(_three))) != digest(own(property(_four)))


def test_a_network_of_a_user_is_also_what_it_measures() -> None:
    def own(measured: object) -> str:
        members = {"__module__": "own", "statistics": measured}
        return type("OwnCube", (type(build("cube", ports=4)),), members)(ports=4).digest

    assert own(_three) == own(_three) != own(_four)


_SCRIPT = """
from multicube.hdl import FAMILIES
from multicube.hdl.fabric.digest import digest
from multicube.sim import pattern
for name, family in FAMILIES.items():
    print(name, family.build(**family.example).digest)
print(digest(pattern("tornado", 8)), family.build(**family.example).fabric.digest)
"""


@pytest.mark.long
def test_every_process_has_the_same() -> None:
    found = [
        run_tool(sys.executable, "-c", _SCRIPT, folder=Path.cwd(), PYTHONHASHSEED=seed)
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    digests = [line.split()[1] for line in found[0].splitlines()[:-1]]
    assert len(set(digests)) == len(FAMILIES)


@pytest.mark.parametrize("name", ["cube", "torus", "graph", "combining", "connection-machine"])
def test_a_fabric_is_its_cells_straps_contents_and_wires(name: str) -> None:
    family = FAMILIES[name]
    network = family.build(**family.example)
    fabric = network.fabric
    assert fabric.digest == network.altered().fabric.digest == fabric.copy().digest

    def changed(**parts: Any) -> Fabric:
        other = fabric.copy()
        other.cells[cell.name] = replace(cell, **parts)
        return other

    cell = next(iter(fabric.cells.values()))
    others = [
        changed(straps={**cell.straps, "none": 1}),
        changed(contents={"none": (1,)}),
        changed(title="another"),
        changed(clocks={"sync": "slow"}),
    ]
    rewired = fabric.copy()
    (one, driver), (two, second) = list(rewired.drivers.items())[:2]
    rewired.drivers[one], rewired.drivers[two] = second, driver
    assert len({each.digest for each in (fabric, rewired, *others)}) == 6
