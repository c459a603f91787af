"""The arrays of wires behave as a dictionary and a list of pins do."""

import random

import numpy as np
import pytest
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.fabric.wire_arrays import Drivers, Links

CELLS = ["a", "b", "c", None]
PATHS = [("i", 0), ("i", 1), ("o", 0, "ready"), ("flag",)]


def given(reserved: int) -> Drivers:
    """Drivers in which the first cells have room for two of their inputs."""
    drivers = Drivers()
    for cell in CELLS[:reserved]:
        drivers.reserve(cell, "kind", PATHS[:2])
    return drivers


@pytest.mark.parametrize("reserved", [0, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_drivers_are_a_mapping(reserved: int, seed: int) -> None:
    print("seed", seed)
    draw = random.Random(seed)
    drivers, known = given(reserved), dict[Pin, Pin]()
    for _ in range(60):
        pin, driver = (Pin(draw.choice(CELLS), draw.choice(PATHS)) for _ in range(2))
        if pin in known and draw.random() < 0.4:
            del drivers[pin], known[pin]
        else:
            drivers[pin] = known[pin] = driver
        assert len(drivers) == len(known)
        assert drivers.get(pin) == known.get(pin)
    assert drivers == known
    assert dict(drivers.items()) == known
    assert sorted(map(str, drivers.values())) == sorted(map(str, known.values()))
    cells = [cell for cell in CELLS if cell in drivers.cells.numbers]
    numbers = np.array([drivers.cells.numbers[cell] for cell in cells], np.int64)
    for path in PATHS:
        found = zip(*(array.tolist() for array in drivers.of(numbers, path)))
        for cell, (by, output) in zip(cells, found, strict=True):
            driver = known.get(Pin(cell, path))
            assert (by, output) == (-1, -1) if driver is None else drivers.pin(by, output) == driver


def test_copies_are_independent() -> None:
    drivers = given(2)
    a, b, new = Pin("a", ("i", 0)), Pin("b", ("i", 1)), Pin("new", ("x",))
    drivers[a] = b
    other = drivers.copy()
    assert other == drivers
    other[b], other[new] = a, a
    del other[a]
    assert dict(drivers) == {a: b}
    assert dict(other) == {b: a, new: a}
    with pytest.raises(KeyError):
        drivers[new]
    with pytest.raises(KeyError):
        del drivers[b]


@pytest.mark.parametrize("seed", range(5))
def test_links_are_a_sequence(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(seed)
    links, known = Links(Drivers()), list[tuple[Pin, Pin]]()
    for _ in range(60):
        pins = [Pin(draw.choice(CELLS), draw.choice(PATHS)) for _ in range(4)]
        pairs = [(pins[0], pins[1]), (pins[2], pins[3])]
        begin, end = sorted(draw.choices(range(len(known) + 1), k=2))
        if known and draw.random() < 0.2:
            at = draw.randrange(-len(known), len(known))
            links[at] = known[at] = pairs[0]
            assert links[at] == pairs[0]
        elif draw.random() < 0.2:
            del links[begin:end], known[begin:end]
        else:
            links[begin:end] = known[begin:end] = pairs
        assert links == known
        assert links[begin:end] == known[begin:end]
    links.append(pairs[1])
    assert list(links) == [*known, pairs[1]]
    with pytest.raises(IndexError):
        links[len(links)]
    with pytest.raises(ValueError, match=r"^Links must be a slice of step 1, not 2$"):
        links[::2]
