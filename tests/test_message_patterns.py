# amaranth: UnusedElaboratable=no
"""The patterns of communication of Stanfill, 2.1, on 64 processors."""

import itertools
import random

import numpy as np
import pytest
from amaranth.hdl import signed
from multicube.hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from multicube.sim import Copies, Message, Messenger


@pytest.fixture(scope="module")
def machine() -> Messenger:
    return Messenger(ConnectionMachine(4, processors=4, payload=signed(16), combine="add"))


def gray(number: int) -> int:
    return number ^ number >> 1


@pytest.mark.long
def test_local_communications_on_a_grid(machine: Messenger) -> None:
    """A line detector: dark pixels that have exactly two dark neighbours."""
    side = 8
    image = np.zeros((side, side), int)
    image[1, 1:7] = 1
    image[range(2, 8), range(7, 1, -1)] = 1
    image[4:6, 0:3] = 1
    image[7, 7] = 1

    def place(row: int, column: int) -> int:
        return gray(row) * side + gray(column)

    messages = [
        Message(place(row, column), place(row + down, column + right), 1)
        for row, column in np.argwhere(image).tolist()
        for down, right in itertools.product((-1, 0, 1), repeat=2)
        if (down or right) and 0 <= row + down < side and 0 <= column + right < side
    ]
    run = machine.send(messages)
    lines = [
        [int(image[row, column] and run.values[place(row, column)] == 2) for column in range(side)]
        for row in range(side)
    ]

    padded = np.pad(image, 1)
    around = sum(
        padded[1 + down : 1 + down + side, 1 + right : 1 + right + side]
        for down, right in itertools.product((-1, 0, 1), repeat=2)
        if down or right
    )
    assert np.array_equal(lines, image & (around == 2))
    assert np.sum(lines) > 4


@pytest.mark.long
def test_regular_communications(machine: Messenger) -> None:
    """The total of a binary tree, from its 32 leaves to its root, terminal 1."""
    rng = random.Random(11)
    totals = {leaf: rng.randrange(-500, 500) for leaf in range(32, 64)}
    expected = sum(totals.values())
    rounds = 0
    while 1 not in totals:
        run = machine.send(Message(child, child // 2, total) for child, total in totals.items())
        totals = {n: value for n, value in enumerate(run.values) if value is not None}
        rounds += 1
    assert (rounds, totals) == (5, {1: expected})


def ripple_adder(bits: int) -> dict[str, tuple[str, ...]]:
    """A circuit of NAND gates that adds a, b and c0: of each gate, what it is driven by."""
    gates = {}
    for k in range(bits):
        a, b, c = f"a{k}", f"b{k}", f"c{k}"
        gates |= {
            f"t{k}": (a, b),
            f"u{k}": (a, f"t{k}"),
            f"v{k}": (b, f"t{k}"),
            f"w{k}": (f"u{k}", f"v{k}"),
            f"x{k}": (f"w{k}", c),
            f"y{k}": (f"w{k}", f"x{k}"),
            f"z{k}": (c, f"x{k}"),
            f"s{k}": (f"y{k}", f"z{k}"),
            f"c{k + 1}": (f"t{k}", f"x{k}"),
        }
    return gates


def test_arbitrary_connectivity(machine: Messenger) -> None:
    """A simulation of a circuit whose gates are anywhere: in each step, their levels move."""
    gates = ripple_adder(5)
    inputs = [f"{word}{k}" for word in "ab" for k in range(5)] + ["c0"]
    rng = random.Random(2)
    place = dict(zip([*gates, *inputs], rng.sample(range(64), 56)))
    wires = [(driver, gate) for gate, drivers in gates.items() for driver in drivers]
    for a, b, c in ((31, 1, 0), (21, 11, 1), (0, 0, 0)):
        levels = dict.fromkeys(gates, 0) | {"c0": c}
        levels |= {f"a{k}": a >> k & 1 for k in range(5)} | {f"b{k}": b >> k & 1 for k in range(5)}
        before: dict[str, int] = {}
        while levels != before:
            before = levels
            run = machine.send(
                Message(place[driver], place[gate], levels[driver]) for driver, gate in wires
            )
            # A NAND gate is 0 when as many 1s came as it has inputs.
            levels = levels | {
                gate: int(run.values[place[gate]] != len(drivers))
                for gate, drivers in gates.items()
            }
        total = sum(levels[f"s{k}"] << k for k in range(5)) + (levels["c5"] << 5)
        assert total == a + b + c


def test_combined_fan_in_and_fan_out(machine: Messenger) -> None:
    """Two steps of a network of 7 neurons, each with an input from each: matrix times vector.

    Neuron j is terminal j, and the synapse from j to i is terminal 8 + 7 i + j.
    """
    rng = np.random.default_rng(4)
    weights = rng.integers(-9, 10, (7, 7))
    vector = rng.integers(-9, 10, 7)
    expected = vector
    synapses = {(i, j): 8 + 7 * i + j for i in range(7) for j in range(7)}
    for _ in range(2):
        copied = machine.copy(
            Copies(j, [synapses[i, j] for i in range(7)], value)
            for j, value in enumerate(vector.tolist())
        )
        assert len(copied.rounds) == 3
        products = {
            (i, j): int(weights[i, j]) * copied.values[terminal]
            for (i, j), terminal in synapses.items()
        }
        run = machine.send(
            Message(synapses[i, j], i, product) for (i, j), product in products.items()
        )
        assert run.combined > 0
        vector = np.array(run.values[:7])
        expected = weights @ expected
        assert np.array_equal(vector, expected)
