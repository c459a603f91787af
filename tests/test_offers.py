# amaranth: UnusedElaboratable=no
"""What `payload` is while `valid` is 0 changes nothing that a component does: not even `ready`."""

import random
from collections.abc import Iterator, Sequence

import pytest
from amaranth.lib.wiring import In
from components import PARAMETERS, cell_type
from long_runs import long
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.pins import Path as Leaf
from multicube.hdl.fabric.pins import Pin
from multicube.sim.engines.compiled import CompiledEngine
from random_modules import interesting, side_by_side

SEED = 51
CELLS = [name for name in PARAMETERS if name not in ("ClockCrossing", "Traversal", "CreditLink")]
"""Those that can be cells in one clock domain; the parameters of one can't be hashed, and the
channels of a `CreditLink` have one payload."""


def _streams(type_: CellType) -> Iterator[tuple[Leaf, bool]]:
    """The streams of a cell, and whether it receives them."""
    for path in type_.leaves:
        *head, last = path
        stream = tuple(head)
        if last == "valid" and (*stream, "ready") in type_.leaves:
            yield stream, type_.leaves[path].flow == In


def _name(path: Leaf, cell: int) -> str:
    return "_".join(map(str, (*path, cell)))


FEW = ("OutputQueuedSwitch", "CombiningQueue", "ClusterChannel", "MemoryDemultiplexer")


@pytest.mark.parametrize(
    "names", [FEW, *(long(CELLS[part::8], id=f"part_{part}") for part in range(8))]
)
def test_what_is_not_offered_does_not_matter(names: Sequence[str]) -> None:
    """Two of each component get the same inputs, but other payloads without `valid`."""
    types = [cell_type(name) for name in names]
    types = [type_ for type_ in types if any(received for _, received in _streams(type_))]
    fabric = side_by_side([*types, *types])
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    wrong: set[tuple[str, Leaf]] = set()
    with CompiledEngine(fabric) as engine:
        for _ in range(60):
            for at, type_ in enumerate(types):
                _drive(engine, rng, type_, at, at + len(types))
            for at, type_ in enumerate(types):
                wrong |= set(_differences(engine, type_, at, at + len(types)))
            engine.step(1)
    assert not wrong, sorted(wrong)


def _drive(
    engine: CompiledEngine, rng: random.Random, type_: CellType, first: int, second: int
) -> None:
    given = {
        path: interesting(rng, leaf.width)
        for path, leaf in type_.leaves.items()
        if leaf.flow == In and leaf.width
    }
    other = dict(given)
    for stream, received in _streams(type_):
        path = (*stream, "payload")
        # The header of a circuit stays with its request.
        offered = given.get((*stream, "valid")) or given.get((*stream, "request"))
        if received and not offered and path in given:
            other[path] = rng.getrandbits(type_.leaves[path].width)
    for cell, values in ((first, given), (second, other)):
        for path, value in values.items():
            engine.set(_name(path, cell), value)


def _differences(
    engine: CompiledEngine, type_: CellType, first: int, second: int
) -> Iterator[tuple[str, Leaf]]:
    """What two cells answer and offer differently."""

    def differs(path: Leaf) -> bool:
        one, two = (engine.get(Pin(f"cell_{cell}", path)) for cell in (first, second))
        return one != two

    for stream, received in _streams(type_):
        answer = (*stream, "ready" if received else "valid")
        payload = (*stream, "payload")
        if differs(answer):
            yield type_.name, answer
        elif (
            not received
            and engine.get(Pin(f"cell_{first}", answer))
            and type_.leaves[payload].width
            and differs(payload)
        ):
            yield type_.name, payload
