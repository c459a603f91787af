# amaranth: UnusedElaboratable=no
"""Hashed addresses in front of a shared memory: the mapping, the cell, and what it is for."""

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from driving import exercise
from long_runs import long
from multicube.hdl import CombiningNetwork, build, write_verilog
from multicube.hdl.graphs.address_hash import AddressHash
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.terminals.address_hasher import AddressHasher
from multicube.sim import Request, run_programs
from multicube.sim import simulate as measure
from verilog_tools import check_with_yosys

LINK = MemoryLink(tag=3, identity=2, address=4, width=4)


@pytest.mark.parametrize("modules", [2**n for n in range(1, 9)])
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_no_two_words_have_one_place(modules: int, rows: int) -> None:
    hashed = AddressHash(modules, rows)
    places = {(hashed.module(word), word // modules) for word in range(modules * rows)}
    assert len(places) == modules * rows
    assert all(module < modules for module, _ in places)


@pytest.mark.parametrize("modules", [2, 8, 32, 256])
def test_strides_that_are_powers_of_two_reach_all_modules(modules: int) -> None:
    """N accesses in a row; in turn, a stride of N or more reaches one module only."""
    hashed = AddressHash(modules, modules * modules)
    for stride in (2**n for n in range(modules.bit_length() * 2 - 1)):
        words = [stride * n for n in range(modules)]
        assert {hashed.module(word) for word in words} == set(range(modules))


def test_polynomials_are_the_first_irreducible_ones() -> None:
    found = [AddressHash(1 << bits, 1).polynomial for bits in range(1, 9)]
    assert found == [0b11, 0b111, 0b1011, 0b10011, 0b100101, 0b1000011, 0b10000011, 0b100011011]


def test_columns_are_powers_of_x() -> None:
    """The mapping as hardware has it: the module, and a column for each bit of the row."""
    hashed = AddressHash(16, 100)
    assert hashed.polynomial == 0b10011
    for word in range(1600):
        row, module = divmod(word, 16)
        for bit, column in enumerate(hashed.columns):
            module ^= column * (row >> bit & 1)
        assert module == hashed.module(word)


def test_hasher_maps_every_request_and_restores_its_tag() -> None:
    """All tags and addresses, against the formula; replies in any order."""
    columns = (0b101, 0, 0b111, 0b010)
    design = AddressHasher(LINK, columns=columns)
    rng = random.Random(1)

    async def testbench(ctx: Any) -> None:
        request, reply = design.i.request, design.o.reply
        held: dict[int, int] = {}
        for tag in range(8):
            for address in range(16):
                identity = rng.randrange(4)
                expected = tag
                for bit, column in enumerate(columns):
                    expected ^= column * (address >> bit & 1)
                taken = rng.random() < 0.7
                values = {"tag": tag, "address": address, "identity": identity, "operand": 5}
                ctx.set(request.payload, values)
                ctx.set(request.valid, 1)
                ctx.set(design.o.request.ready, taken)
                sent = design.o.request
                assert ctx.get(sent.payload.tag) == expected
                assert ctx.get(sent.payload.address) == address
                assert ctx.get(sent.payload.operand) == 5
                assert ctx.get(sent.valid)
                assert ctx.get(request.ready) == taken
                if held:
                    back = rng.choice(sorted(held))
                    ctx.set(reply.payload, {"tag": rng.randrange(8), "identity": back, "value": 9})
                    assert ctx.get(design.i.reply.payload.tag) == held[back]
                    assert ctx.get(design.i.reply.payload.value) == 9
                if taken:
                    held[identity] = tag
                await ctx.tick()

    exercise(design, testbench)


def strided(stride: int, first: int, step: int, count: int) -> Iterator[Any]:
    """Adds 1 to elements of an array, one after another."""
    for element in range(first, count, step):
        yield Request("fetch-and-add", element * stride, 1)


def run(hashing: str, stride: int, engine: str = "auto") -> Any:
    network = build("combining", ports=4, rows=32, width=8, hashing=hashing)
    count = 128 // stride
    programs = [strided(stride, p, 4, count) for p in range(4)]
    return run_programs(network, programs, memory={0: 3, 5: 7, 124: 1}, engine=engine)


@pytest.mark.long
def test_memory_is_by_word_and_engines_agree() -> None:
    runs = [run("polynomial", 4, engine) for engine in ("amaranth", "compiled")]
    assert runs[0].memory == runs[1].memory
    assert runs[0].cycles == runs[1].cycles
    expected = [int(word % 4 == 0) for word in range(128)]
    expected[0], expected[5], expected[124] = 4, 7, 2
    assert runs[0].memory == expected
    assert runs[0].serializable


@pytest.mark.long
def test_strided_accesses_take_less_time() -> None:
    """With a stride of N all elements are in one module, which answers one request per cycle."""
    assert run("none", 4).cycles > run("polynomial", 4).cycles


@pytest.mark.long
@pytest.mark.parametrize(
    "parameters",
    [{"ports": 4}, long({"ports": 8, "paths": 2, "rows": 5}), long({"ports": 16, "radix": 4})],
)
def test_networks_with_hashing_are_serial(parameters: dict[str, Any]) -> None:
    network = CombiningNetwork(**parameters, width=8, hashing="polynomial")
    result = measure(network, traffic="hotspot:0.2", load=0.5, cycles=100, seed=1)
    assert result.serializable


@pytest.mark.long
def test_word_0_stays_in_module_0_and_verilog_is_accepted(tmp_path: Any) -> None:
    network = CombiningNetwork(4, rows=4, width=4, combine="none", hashing="polynomial")
    assert network.stored(0) == (0, 0)
    assert len({network.stored(word) for word in range(16)}) == 16
    path = tmp_path / "hashed.v"
    write_verilog(network.fabric, path)
    assert path.read_text().count("hash_") >= 4
    check_with_yosys([path])


REJECTED = [
    (lambda: AddressHash(6, 4), "Modules must be a power of two to hash, not 6"),
    (lambda: AddressHash(1, 4), "Modules must be at least 2, not 1"),
    (lambda: AddressHash(4, 0), "Rows must be at least 1, not 0"),
    (lambda: AddressHasher(LINK, columns=(8,)), "Column must be from 0 to 7, not 8"),
    (lambda: AddressHasher(LINK, columns=(1,) * 5), "Columns must be at most 4, not 5"),
    (
        lambda: CombiningNetwork(9, radix=3, hashing="polynomial"),
        "Ports must be a power of two with hashing, not 9",
    ),
    (
        lambda: CombiningNetwork(8, hashing="some"),
        "Hashing must be one of none, polynomial, not 'some'",
    ),
]


@pytest.mark.parametrize(
    ("build_it", "message"), REJECTED, ids=[message[:20] for _, message in REJECTED]
)
def test_hashing_rejects(build_it: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build_it()
