# amaranth: UnusedElaboratable=no
"""Multidimensional-access memory against an array of numpy: rows, columns, blocks."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Value
from amaranth.lib import data
from driving import exercise
from long_runs import long
from multicube.hdl import write_verilog
from multicube.hdl.boxes import InterchangeBox
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.multistage.multidimensional_memory import MultidimensionalMemory
from multicube.sim.engines.compiled import CompiledEngine
from refusals import refusals
from verilog_tools import assert_lint_free


@dataclass
class Access:
    mask: int
    index: int
    plane: int = 0
    values: Sequence[int] | None = None
    """What is written; None for a read."""


def places(size: int, mask: int, index: int) -> list[tuple[int, int]]:
    """Row and column of each port's element, bit by bit as the documentation says."""
    found = []
    for port in range(size):
        row = column = 0
        for weight in (1 << bit for bit in range(size.bit_length() - 1)):
            row |= (port if mask & weight else index) & weight
            column |= (index if mask & weight else port) & weight
        found.append((row, column))
    return found


class Square:
    """The planes as a numpy array; elements that were never written are None."""

    def __init__(self, size: int, planes: int = 1) -> None:
        self.values = np.full((planes, size, size), None, object)

    def do(self, access: Access) -> list[int | None] | None:
        """Write, or give what a read must show."""
        plane = self.values[access.plane]
        everything = len(plane) - 1
        if access.mask == 0:
            part = plane[access.index, :]
        elif access.mask == everything:
            part = plane[:, access.index]
        else:
            rows, columns = zip(*places(len(plane), access.mask, access.index))
            if access.values is None:
                return list(plane[rows, columns])
            plane[rows, columns] = access.values
            return None
        if access.values is None:
            return list(part)
        part[:] = access.values
        return None


def run_amaranth(memory: MultidimensionalMemory, accesses: Sequence[Access]) -> list[list[int]]:
    """One access a cycle; what was shown in the cycle after each."""
    width = Value.cast(memory.data_in).shape().width // memory.size
    shown = []

    async def testbench(ctx: Any) -> None:
        for access in accesses:
            for port, value in words(access, width).items():
                if port in memory.signature.members:
                    ctx.set(Value.cast(getattr(memory, port)), value)
            await ctx.tick()
            word = ctx.get(Value.cast(memory.data_out))
            shown.append(elements(word, memory.size, width))

    exercise(memory, testbench, limit=len(accesses) + 2)
    return shown


def run_compiled(memory: MultidimensionalMemory, accesses: Sequence[Access]) -> list[list[int]]:
    width = Value.cast(memory.data_in).shape().width // memory.size
    shown = []
    with CompiledEngine(memory.fabric) as engine:
        for access in accesses:
            for port, value in words(access, width).items():
                if port in memory.signature.members:
                    engine.set(port, value)
            engine.step(1)
            word = engine.get(Pin(None, ("data_out",)))
            shown.append(elements(word, memory.size, width))
    return shown


def words(access: Access, width: int) -> dict[str, int]:
    return {
        "mask": access.mask,
        "index": access.index,
        "plane": access.plane,
        "write": access.values is not None,
        "data_in": sum(value << width * port for port, value in enumerate(access.values or ())),
    }


def elements(word: int, size: int, width: int) -> list[int]:
    return [word >> width * port & (1 << width) - 1 for port in range(size)]


def check(square: Square, accesses: Sequence[Access], shown: Sequence[list[int]]) -> int:
    """Compare all reads with the array; the number of elements compared."""
    compared = 0
    for number, (access, word) in enumerate(zip(accesses, shown, strict=True)):
        expected = square.do(access)
        for port, value in enumerate(expected or ()):
            if value is not None:
                assert word[port] == value, (number, access, port)
                compared += 1
    return compared


def rows_of(square: np.ndarray) -> Iterator[Access]:
    for index, row in enumerate(square.tolist()):
        yield Access(0, index, values=row)


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_access_is_of_as_many_elements_in_different_modules(size: int) -> None:
    """Of the arithmetic alone: no module is asked for two elements, whatever the mask."""
    for mask in range(size):
        for index in range(size):
            wanted = places(size, mask, index)
            assert len(set(wanted)) == size
            assert len({row ^ column for row, column in wanted}) == size
            assert len({row for row, _ in wanted}) == 1 << mask.bit_count()
        # All accesses with one mask together are the whole square.
        assert len({x for index in range(size) for x in places(size, mask, index)}) == size**2


def test_every_write_followed_by_every_read() -> None:
    """N = 4, all masks and indices: after each write, all 16 reads show the whole square."""
    size = 4
    generator = random.Random(1)
    print("seed 1")
    reads = [Access(mask, index) for mask in range(size) for index in range(size)]
    accesses = list(rows_of(np.array([[0] * size] * size)))
    for write in reads:
        values = [generator.randrange(2) for _ in range(size)]
        accesses += [Access(write.mask, write.index, values=values), *reads]
    shown = run_amaranth(MultidimensionalMemory(size), accesses)
    assert check(Square(size), accesses, shown) == 16 * 16 * size
    assert run_compiled(MultidimensionalMemory(size), accesses) == shown


def test_rows_read_back_as_columns() -> None:
    """A transposition in 2 N cycles, compared with numpy's as a whole."""
    size = 8
    square = np.random.default_rng(4).integers(0, 2, (size, size))
    accesses = [*rows_of(square), *(Access(size - 1, index) for index in range(size))]
    shown = run_amaranth(MultidimensionalMemory(size), accesses)
    assert np.array_equal(shown[size:], square.T)
    assert not np.array_equal(square, square.T)


def test_block_is_a_block_of_numpy() -> None:
    """Mask 1100 of 16: index 0110 is of rows xx10 and columns 01xx, a 4 x 4 block."""
    size = 16
    square = np.arange(size**2).reshape(size, size)
    accesses = [*rows_of(square), Access(0b1100, 0b0110), Access(0b0011, 0b0110)]
    shown = run_amaranth(MultidimensionalMemory(size, shape=8), accesses)
    assert shown[-2] == square[2::4, 4:8].flatten().tolist()
    assert shown[-1] == square[4:8, 2::4].T.flatten().tolist()


def random_accesses(size: int, width: int, planes: int, count: int, seed: int) -> list[Access]:
    """Back to back, in few places, so that reads follow writes of the same elements at once."""
    generator = random.Random(seed)
    print(f"seed {seed}")
    accesses = []
    for _ in range(count):
        access = Access(
            generator.choice([0, size - 1, generator.randrange(size)]),
            generator.choice([0, generator.randrange(size)]),
            generator.randrange(planes),
        )
        if generator.random() < 0.5:
            access.values = [generator.randrange(1 << width) for _ in range(size)]
        accesses.append(access)
    return accesses


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("size", "width", "planes"),
    [(2, 1, 1), (8, 5, 3), long(32, 1, 4)],
    ids=lambda value: str(value),
)
def test_random_accesses_on_both_engines(size: int, width: int, planes: int) -> None:
    accesses = random_accesses(size, width, planes, 300, size)
    shown = run_amaranth(MultidimensionalMemory(size, shape=width, planes=planes), accesses)
    assert check(Square(size, planes), accesses, shown) > 50 * size
    memory = MultidimensionalMemory(size, shape=width, planes=planes)
    assert run_compiled(memory, accesses) == shown


@pytest.mark.long
def test_aspros_memory() -> None:
    """32 x 4096 bits in 128 planes."""
    accesses = random_accesses(32, 1, 128, 5000, 9)
    shown = run_compiled(MultidimensionalMemory(planes=128), accesses)
    assert check(Square(32, 128), accesses, shown) > 30_000


def test_one_flip_network_and_one_type_of_module() -> None:
    memory = MultidimensionalMemory(32, shape=4)
    types = memory.fabric.types()
    sizes = {type_.component.__name__: len(cells) for type_, cells in types.items()}
    assert sizes[InterchangeBox.__name__] == 5 * 16
    assert sizes["_MemoryModule"] == 32
    assert "plane" not in memory.signature.members


def test_elements_have_any_shape() -> None:
    pixel = data.StructLayout({"red": 3, "green": 5})
    memory = MultidimensionalMemory(2, shape=pixel)
    shown = []

    async def testbench(ctx: Any) -> None:
        ctx.set(memory.write, 1)
        ctx.set(memory.data_in, [{"red": 1, "green": 20}, {"red": 2, "green": 30}])
        await ctx.tick()
        ctx.set(memory.write, 0)
        ctx.set(memory.mask, 1)
        ctx.set(memory.index, 1)
        await ctx.tick()
        shown.append((ctx.get(memory.data_out[0].red), ctx.get(memory.data_out[0].green)))

    exercise(memory, testbench)
    assert shown == [(2, 30)]


test_multidimensional_memory_rejects = refusals(
    lambda arguments: MultidimensionalMemory(**arguments),
    ({"size": "32"}, TypeError, "Size must be an integer, not '32'"),
    ({"size": 1}, "Size must be at least 2, not 1"),
    ({"size": 24}, "Size must be a power of two, not 24"),
    ({"size": 8192}, "Size must be at most 4096, not 8192"),
    ({"planes": 0}, "Planes must be from 1 to 65536, not 0"),
    ({"planes": None}, TypeError, "Planes must be an integer, not None"),
)


@pytest.mark.parametrize(("size", "shape", "planes"), [long(2, 1, 1), (8, 8, 3)])
@pytest.mark.long
def test_verilog_is_clean(tmp_path: Path, size: int, shape: int, planes: int) -> None:
    path = tmp_path / "memory.v"
    write_verilog(MultidimensionalMemory(size, shape=shape, planes=planes).fabric, path)
    assert_lint_free([path])
