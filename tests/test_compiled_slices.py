# amaranth: UnusedElaboratable=no
"""Types with single bits are planes while the clock runs; nobody can tell from the results."""

import random
from itertools import pairwise

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from long_runs import long
from multicube.hdl import build
from multicube.hdl.bench import bench_for
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Run, pattern
from multicube.sim.engines.compiled import CompiledEngine, State
from multicube.sim.engines.compiled.emit_slices import STRAIGHT
from multicube.sim.engines.compiled.plane_partition import Partition
from multicube.sim.engines.compiled.planes import PLANE, arranged, terms_of
from multicube.sim.engines.compiled.program import lowered_types
from random_cells import fewest_sliced, longest_part, random_cells
from random_modules import RandomMemory, alone, lock_step, results

NEVER = 10**9


def values(engine: CompiledEngine) -> list[int]:
    return [engine.get(pin) for pin in results(engine.fabric)]


def sliced_types(engine: CompiledEngine) -> set[str]:
    return {group.type.name for group in engine._machines[0].groups if group.slices}


@pytest.mark.parametrize("count", [20, long(2), long(1), long(63), long(64), long(65), long(130)])
def test_random_cells_in_lock_step(count: int) -> None:
    fabric = random_cells(count + 7, count)
    with fewest_sliced(1):
        lock_step(fabric, results(fabric), seed=count, cycles=10)


@pytest.mark.parametrize("seed", [64, long(57), long(53)])
def test_functions_of_many_parts_in_lock_step(seed: int) -> None:
    """What the parts hand on is kept; what they load again has not been overwritten."""
    fabric = random_cells(seed, 2)
    with fewest_sliced(1), longest_part(7):
        lock_step(fabric, results(fabric), seed, cycles=10)


@pytest.mark.parametrize("seed", [949676996, *(long(seed) for seed in range(20))])
def test_random_memories_in_lock_step(seed: int) -> None:
    """The last step of the first one does nothing but write."""
    fabric = alone(CellType(RandomMemory, seed=seed))
    with fewest_sliced(1):
        lock_step(fabric, results(fabric), seed, cycles=20)


def benches() -> Fabric:
    network = build("torus", k=6, length=2)
    run = Run(pattern("uniform", network.sources), 0.3, seed=3)
    return bench_for(network, run.sources(network), bins=16)


@pytest.mark.long
def test_sliced_types_have_the_state_of_others_at_any_time() -> None:
    """Stepped by ones or by many, reset, and restored."""
    fabric = benches()
    with CompiledEngine(fabric) as sliced:
        with fewest_sliced(NEVER):
            plain = CompiledEngine(fabric)
        assert "worm_router" in sliced_types(sliced)
        assert not sliced_types(plain)
        saved: list[State] = []
        for engine in (sliced, plain):
            engine.set("send", 1)
            engine.set("measure", 1)
        for step in (1, 1, 7, 50, 1, 30, 20):
            for engine in (sliced, plain):
                engine.step(step)
                if step == 50:
                    saved = [sliced.save(), plain.save()]
                if step == 30:
                    engine.reset(2)
            assert values(sliced) == values(plain), step
        for engine, state in zip((sliced, plain), saved):
            engine.restore(state)
            engine.step(9)
        assert values(sliced) == values(plain)
        plain.close()


@pytest.mark.long
def test_runs_that_share_vectors_are_sliced_together() -> None:
    network = build("cube", ports=8)
    plans = [Run(pattern("uniform", 8), 0.5, seed=seed).sources(network) for seed in range(1, 8)]
    first = bench_for(network, plans[0], bins=16)
    fabrics = [first, *map(first.with_sources, plans[1:])]
    with CompiledEngine(fabrics) as engine:
        assert "output_queued_switch" in sliced_types(engine)
        engine.set("send", 1)
        engine.set("measure", 1)
        engine.step(60)
        for run, fabric in enumerate(fabrics):
            with CompiledEngine(fabric) as alone:
                assert not sliced_types(alone)
                alone.set("send", 1)
                alone.set("measure", 1)
                alone.step(60)
                pins = results(fabric)
                assert [engine.get(pin, run) for pin in pins] == [alone.get(pin) for pin in pins]


def moved(way: str, words: list[int], terms: list[list[tuple[int, int, int, int]]]) -> list[int]:
    """A model of what the generated C does with the terms."""
    found = []
    for row in terms:
        value = 0
        for taken, given, word, turn in row:
            if way == "turned":
                both = words[word] << turn
                value |= (both | both >> PLANE) & given & (1 << PLANE) - 1
            else:
                froms = [n for n in range(PLANE) if taken >> n & 1]
                tos = [n for n in range(PLANE) if given >> n & 1]
                assert len(froms) == len(tos)
                value |= sum((words[word] >> a & 1) << b for a, b in zip(froms, tos))
        found.append(value)
    return found


@pytest.mark.parametrize("kind", ["same", "shift", "shuffle", "random", "many to one"])
def test_terms_move_each_bit_to_its_place(kind: str) -> None:
    rng, count = random.Random(kind), 150
    sources = {
        "same": list(range(count)),
        "shift": [(n + 9) % count for n in range(count)],
        "shuffle": [(2 * n + n // (count // 2)) % count for n in range(count)],
        "random": rng.sample(range(count), count),
        "many to one": [rng.randrange(4) for _ in range(count)],
    }[kind]
    source = np.array(sources)
    way, terms = terms_of(np.arange(count), source // PLANE, source % PLANE, 3)
    if kind in ("same", "shift", "shuffle"):
        assert terms.shape[1] <= 4  # a few rotations, or parts in order
    words = [rng.getrandbits(PLANE) for _ in range(3)]
    result = moved(way, words, terms.tolist())
    for place, from_ in enumerate(sources):
        wanted = words[from_ // PLANE] >> from_ % PLANE & 1
        assert result[place // PLANE] >> place % PLANE & 1 == wanted


@pytest.mark.parametrize(("shift", "straight"), [(256, True), (192, False), (9, False)])
def test_words_that_follow_each_other_are_read_at_once(shift: int, straight: bool) -> None:
    """In blocks of four words: by a whole block, by three words, and by some bits."""
    rng, count = random.Random(shift), 512
    source = (np.arange(count) + shift) % count
    way, terms = terms_of(np.arange(count), source // PLANE, source % PLANE, count // PLANE)
    found, table = arranged(way, terms, 4)
    assert (found == STRAIGHT) == straight
    words = [rng.getrandbits(PLANE) for _ in range(count // PLANE)]
    result = [0] * len(words)
    for block, row in enumerate(table.reshape(2, -1, 3, 4).tolist()):
        for which, turns, given in row:
            for place, (turn, mask) in enumerate(zip(turns, given)):
                word = words[which[0] + place if straight else which[place]]
                result[4 * block + place] |= (word << turn | word >> PLANE - turn) & mask
    wanted = [words[each // PLANE] >> each % PLANE & 1 for each in source.tolist()]
    assert [result[n // PLANE] >> n % PLANE & 1 for n in range(count)] == wanted


@pytest.mark.long
def test_outputs_of_the_same_logic_are_twins() -> None:
    """Both channels of a link have one payload, which is stored and read once."""
    modules, _ = lowered_types(build("torus", k=4).fabric)
    (module,) = (each for type_, each in modules.items() if type_.name == "worm_router")
    twins = {path: twin for path, twin in module.twins.items() if path != twin}
    assert len(twins) == 4
    for path, twin in twins.items():
        assert path[-1] == "payload"
        assert module.outputs[path] == module.outputs[twin]


def test_payloads_stay_in_lanes_and_single_bits_become_planes() -> None:
    fabric = build("torus", k=4).fabric
    modules, _ = lowered_types(fabric)
    (module,) = (each for type_, each in modules.items() if type_.name == "worm_router")
    single = frozenset(path for path, width in module.inputs.items() if width == 1)
    straps = frozenset({("address",)})
    partition = Partition(module, 1, straps, single)
    registers = {node: module.registers[number] for number, node in partition.registers.items()}
    planes = {register.width for node, register in registers.items() if node in partition.planes}
    lanes = {register.width for node, register in registers.items() if node not in partition.planes}
    assert max(planes) < min(lanes)
    assert 1 in planes
    assert 29 in lanes  # payloads
    assert partition.cost < partition.lanes_only


class Wide(wiring.Component):
    """A word whose last bit is alone, of single bits that follow the last bit of another."""

    i: In(33)
    o: Out(33)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = [Signal(name=f"bit_{number}", init=number % 3 == 0) for number in range(24)]
        m.d.sync += bits[0].eq(bits[-1] ^ self.i[32])
        m.d.sync += [
            one.eq(before ^ (bits[number % 5] & self.i[32]))
            for number, (before, one) in enumerate(pairwise(bits))
        ]
        m.d.comb += self.o.eq(Cat(self.i[:32], bits[3] ^ bits[11]))
        return m


def test_the_last_bit_of_a_word_and_a_bit_is_shown_to_lanes() -> None:
    fabric = Fabric({"i": In(33), "o": Out(33)})
    pins = [Pin(None, ("i",))]
    for number in range(3):
        name = fabric.place(Cell(f"wide_{number}", CellType(Wide))).name
        fabric.link(pins[-1], Pin(name, ("i",)))
        pins.append(Pin(name, ("o",)))
    fabric.link(pins[-1], Pin(None, ("o",)))
    with fewest_sliced(1), CompiledEngine(fabric) as engine, CompiledEngine(fabric) as slow:
        assert sliced_types(engine) == {"wide"}
        for each, steps in ((engine, [40]), (slow, [1] * 40)):
            each.set("i", 1 << 32)
            for step in steps:
                each.step(step)
        assert values(engine) == values(slow)


class Tally(wiring.Component):
    """Counts the cycles in which its bit is 1, in an output that wraps around and in another."""

    i: In(20)
    alone: Out(20, init=(1 << 20) - 19)
    o: Out(20)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = Signal(5, init=1)
        m.d.sync += bits.eq(Cat(bits[4] ^ bits[2], bits[:4]))
        with m.If(bits[0] ^ self.i[0]):
            m.d.sync += [self.alone.eq(self.alone + 1), self.o.eq(self.o + 1)]
        return m


def test_counters_that_no_cell_reads_are_planes_until_the_clock_stops() -> None:
    """Whether it stops before they have been added, just then, or long after."""
    fabric = Fabric({"i": In(20)})
    pin = Pin(None, ("i",))
    for number in range(3):
        name = fabric.place(Cell(f"tally_{number}", CellType(Tally))).name
        fabric.link(pin, Pin(name, ("i",)))
        pin = Pin(name, ("o",))
    with fewest_sliced(1), CompiledEngine(fabric) as engine, fewest_sliced(NEVER):
        (group,) = engine._machines[0].groups
        assert group.slices is not None
        (counter,) = group.slices.counters
        assert group.module.registers[counter].init == (1 << 20) - 19
        with CompiledEngine(fabric) as plain:
            for step in (1, 13, 1, 1, 29, 30, 31, 100):
                for each in (engine, plain):
                    each.step(step)
                assert values(engine) == values(plain), step
