# amaranth: UnusedElaboratable=no
"""Messages with values: fan-in by folding, fan-out by copies, and what they refuse."""

import functools
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import pytest
from amaranth.hdl import Module, Shape, Signal, signed, unsigned
from driving import exercise
from long_runs import long
from multicube.hdl import build
from multicube.hdl.families.connection_machine.combine import Combine
from multicube.hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from multicube.hdl.families.connection_machine.hypercube_node import HypercubeNode
from multicube.hdl.operations.folds import Fold
from multicube.sim import Copies, Message, Messenger, SimulationError, send_messages
from multicube.sim import simulate as run_packets
from refusals import refusals

FOLDS: dict[str, Callable[[list[int]], int]] = {
    "add": lambda values: sum(values) % 2**16,
    "or": lambda values: functools.reduce(int.__or__, values),
    "max": max,
}
"""What plain Python makes of values of 16 bits."""


def patterns(ports: int, number: int, seed: int) -> Iterator[list[Message]]:
    """Messages to anywhere, to one half the time, all to one, one to all, and none."""
    rng = random.Random(seed)

    def value() -> int:
        return rng.randrange(2**16)

    for hot in (0, 0.5, 1):
        yield [
            Message(source, 1 if rng.random() < hot else rng.randrange(ports), value())
            for source in range(ports)
            for _ in range(number)
        ]
    yield [Message(0, destination, value()) for destination in range(ports)][:number]
    yield []


@pytest.mark.long
@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        long("add", {"n": 3, "processors": 2, "buffers": 1}),
        long("add", {"n": 1, "processors": 4, "schedule": "dimension"}),
        ("add", {"n": 2, "buffers": 1, "schedule": "dimension", "links": "serial"}),
        ("or", {"n": 4, "buffers": 1, "schedule": "dimension"}),
        long("or", {"n": 1, "processors": 2, "links": "serial", "priority": "fixed"}),
        ("max", {"n": 2, "processors": 4, "buffers": 1, "priority": "fixed"}),
        long("max", {"n": 3, "processors": 1, "buffers": 3}),
        ("overwrite", {"n": 3, "processors": 1, "buffers": 1}),
        long("overwrite", {"n": 2, "processors": 2, "schedule": "dimension", "priority": "fixed"}),
    ],
)
def test_fan_in(operation: str, parameters: dict[str, Any]) -> None:
    """Every terminal has what plain Python makes of the values that were sent to it."""
    network = ConnectionMachine(**parameters, combine=operation)
    messenger = Messenger(network, threads=1)
    for messages in patterns(network.ports, 12, seed=network.ports):
        run = messenger.send(messages)
        sent = defaultdict(list)
        for message in messages:
            sent[message.destination].append(message.value)
        assert run.operation == operation
        assert run.sent == len(messages) == run.delivered + run.combined
        assert run.delivered == sum(run.deliveries)
        for terminal, value in enumerate(run.values):
            values = sent[terminal]
            assert (run.deliveries[terminal] > 0) == bool(values)
            assert run.deliveries[terminal] <= len(values)
            if not values:
                assert value is None
            elif operation == "overwrite":
                assert value in values
            else:
                assert value == FOLDS[operation](values)


@pytest.mark.long
@pytest.mark.parametrize("schedule", ["parallel", "dimension"])
def test_combining_makes_a_hot_spot_quick(schedule: str) -> None:
    """Without it the one gets a message a cycle."""
    messages = [Message(source, 5, number) for number in range(12) for source in range(16)]
    runs = [
        send_messages(
            ConnectionMachine(4, schedule=schedule, combine=combine), messages, "add", threads=1
        )
        for combine in ("none", "add")
    ]
    plain, combining = runs
    assert plain.combined == 0
    assert plain.delivered == len(messages) <= plain.cycles
    assert plain.values == combining.values
    assert combining.delivered < plain.delivered / 4
    assert combining.cycles < plain.cycles / 4
    assert combining.referred <= plain.referred


@pytest.mark.long
def test_messages_that_do_not_meet_and_that_do() -> None:
    """Combining takes no time; messages of two neighbours, sent in one cycle, meet at the third."""
    network = ConnectionMachine(3, schedule="parallel", combine="max")
    messenger = Messenger(network, threads=1)
    for source, destination in itertools.product((0, 5), range(8)):
        run = messenger.send([Message(source, destination, 1 << source)])
        assert run.cycles == network.plan.distance(source, destination) + 2
        assert (run.combined, run.referred, run.values[destination]) == (0, 0, 1 << source)
    run = messenger.send([Message(1, 0, 7), Message(2, 0, 8)])
    assert (run.delivered, run.combined, run.cycles, run.values[0]) == (1, 1, 3, 8)
    run = messenger.send([Message(1, 0, 7), Message(2, 4, 8)])
    assert (run.delivered, run.combined, run.values[0], run.values[4]) == (2, 0, 7, 8)


@pytest.mark.long
def test_what_overwrites() -> None:
    """The last of a flow, if all else is quiet; and of two that meet, the younger one: that of
    terminal 4 is a cycle younger, and has one wire less to cross."""
    messenger = Messenger(ConnectionMachine(3, schedule="parallel", combine="overwrite"), threads=1)
    for destination in (0, 3, 7):
        run = messenger.send([Message(0, destination, value) for value in range(16)])
        assert run.values[destination] == 15
    run = messenger.send([Message(3, 0, 30), Message(4, 4, 44), Message(4, 0, 40)])
    assert (run.combined, run.values[0], run.values[4]) == (1, 40, 44)


WRAPPED: dict[str, Callable[[int, int], int]] = {
    "add": int.__add__,
    "or": int.__or__,
    "max": max,
    "overwrite": lambda first, second: second,
}


@pytest.mark.parametrize("shape", [unsigned(1), signed(2), unsigned(3), signed(3)], ids=repr)
@pytest.mark.parametrize("name", WRAPPED)
def test_folds(name: str, shape: Shape) -> None:
    """Of every pair of values, in hardware and in Python."""
    fold = Fold(name, shape)
    first, second, result = Signal(shape), Signal(shape), Signal(shape)
    m = Module()
    m.d.comb += result.eq(fold.build(first, second))
    low = -(1 << shape.width - 1) if shape.signed else 0

    async def testbench(ctx: Any) -> None:
        for a, b in itertools.product(range(low, low + (1 << shape.width)), repeat=2):
            ctx.set(first, a)
            ctx.set(second, b)
            expected = (WRAPPED[name](a, b) - low) % (1 << shape.width) + low
            assert ctx.get(result) == fold.perform(a, b) == expected

    m.d.sync += Signal().eq(0)
    exercise(m, testbench)


@pytest.mark.long
def test_signed_values() -> None:
    network = ConnectionMachine(1, processors=4, payload=signed(8), combine="max")
    messenger = Messenger(network, threads=1)
    run = messenger.send(Message(source, 2, value) for source, value in enumerate((-5, -128, -7)))
    assert (run.values[2], run.combined) == (-5, 1)
    with pytest.raises(ValueError, match=r"^Value must be from -128 to 127, not 128$"):
        messenger.send([Message(0, 0, 128)])


@pytest.mark.long
@pytest.mark.parametrize("parameters", [{}, long({"schedule": "dimension", "links": "serial"})])
def test_engines_agree(parameters: dict[str, str]) -> None:
    network = ConnectionMachine(2, buffers=1, payload=signed(9), combine="add", **parameters)
    rng = random.Random(3)
    messages = [
        Message(source, rng.choice((0, 3)), rng.randrange(-256, 256))
        for source in range(4)
        for _ in range(6)
    ]
    runs = []
    for engine in ("amaranth", "compiled"):
        messenger = Messenger(network, engine=engine)
        runs.append([asdict(messenger.send(messages)) for _ in range(2)])
        assert {run.pop("engine") for run in runs[-1]} == {engine}
    assert runs[0] == runs[1]


@pytest.mark.parametrize("network", ["cube", long("hypercube")])
def test_other_networks_carry_messages_too(network: str) -> None:
    parameters = {"cube": {"ports": 8}, "hypercube": {"n": 3}}[network]
    messages = [Message(source, source * k % 8, k) for source in range(8) for k in range(4)]
    run = send_messages(build(network, **parameters), messages, "add", threads=1)
    assert (run.combined, run.referred, run.delivered) == (0, 0, 32)
    for terminal, value in enumerate(run.values):
        values = [message.value for message in messages if message.destination == terminal]
        assert value == (sum(values) if values else None)


@pytest.fixture(scope="module")
def small() -> Messenger:
    return Messenger(ConnectionMachine(2, payload=8), depth=2, engine="amaranth")


@pytest.mark.parametrize(
    ("messages", "error", "message"),
    [
        ([(4, 0, 1)], ValueError, "^Source must be from 0 to 3, not 4$"),
        ([(0, -1, 1)], ValueError, "^Destination must be from 0 to 3, not -1$"),
        ([(0, 0, 256)], ValueError, "^Value must be from 0 to 255, not 256$"),
        ([(0, 0, -1)], ValueError, "^Value must be from 0 to 255, not -1$"),
        ([(0, 0, 1.5)], TypeError, r"^Value must be an integer, not 1\.5$"),
        (
            [(1, 0, 1)] * 3,
            ValueError,
            "^Messages of terminal 1 must be at most 2 at a time, not 3$",
        ),
    ],
)
def test_messages_rejected(
    small: Messenger, messages: list[Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        small.send(Message(*given) for given in messages)


@pytest.mark.parametrize(
    ("copies", "message"),
    [
        ([(0, [4], 1)], "^Destination must be from 0 to 3, not 4$"),
        ([(0, [1], 1), (2, [1], 1)], "^Copies must be one per terminal, not several for 1$"),
        ([(0, [1], 1), (1, [2], 1)], "^Copies must be one per terminal, not several for 1$"),
        ([(0, [1], 1), (0, [2], 1)], "^Copies must be one per terminal, not several for 0$"),
        ([(0, [0], 1)], "^Copies must be one per terminal, not several for 0$"),
        ([(0, 3, 1)], "^Destinations must be a sequence of terminals, not 3$"),
    ],
)
def test_copies_rejected(small: Messenger, copies: list[Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        small.copy(Copies(*given) for given in copies)


test_networks_rejected = refusals(
    lambda network, operation: Messenger(network(), operation),
    (
        lambda: ConnectionMachine(1, combine="add"),
        "or",
        "Operation must be add, the network's own, not 'or'",
    ),
    (
        lambda: ConnectionMachine(1),
        "xor",
        "Operation must be one of add, or, max, overwrite, add-saturating, and, min, not 'xor'...",
    ),
    (lambda: "cube", None, TypeError, "Network must be a PacketNetwork, not 'cube'"),
    (
        lambda: build("cube", ports=4, broadcast=1),
        None,
        "Network must not be one that has broadcast masks...",
    ),
    (
        lambda: build("cube", ports=4, switch="unbuffered"),
        None,
        "Network must not be one that loses packets...",
    ),
)


def test_combine_rejected() -> None:
    with pytest.raises(
        ValueError, match=r"^Combine must be one of none, add, or, max, overwrite, not 'sum'$"
    ):
        ConnectionMachine(2, combine="sum")


def test_traced_packets_are_not_combined() -> None:
    with pytest.raises(ValueError, match=r"^Combine must be none, not 'add', .* send_messages"):
        run_packets(ConnectionMachine(2, combine="add"))


@pytest.mark.long
def test_messages_that_vanish_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of nodes that keep it secret that they combine messages."""
    none = property(lambda node: (), lambda node, meters: None)
    monkeypatch.setattr(HypercubeNode, "meters", none, raising=False)
    messages = [Message(source, 0, 1) for source in range(8)]
    network = ConnectionMachine(1, processors=4, combine="add")
    with pytest.raises(SimulationError, match=r"^The books do not balance: 8 messages, 8 sent, "):
        send_messages(network, messages, engine="amaranth")


@pytest.mark.long
def test_messages_that_go_elsewhere_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def same_node(self: Combine, a: Any, b: Any) -> Any:
        return a.relative == b.relative

    monkeypatch.setattr(Combine, "_same_destination", same_node)
    messages = [Message(source, source % 3, 1) for source in range(8)]
    network = ConnectionMachine(1, processors=4, combine="add")
    with pytest.raises(
        SimulationError, match=r"^Terminal 0 has .*, which is not the result of its 3"
    ):
        send_messages(network, messages, engine="amaranth")


@pytest.mark.long
@pytest.mark.parametrize("combine", ["none", "add"])
@pytest.mark.parametrize("schedule", ["parallel", "dimension"])
def test_heavy_fan_in(schedule: str, combine: str) -> None:
    """256 processors, in one buffer a node, and every terminal is hot for some of the others."""
    network = ConnectionMachine(
        6, processors=4, buffers=1, payload=32, schedule=schedule, combine=combine
    )
    rng = random.Random(schedule)
    messages = [
        Message(source, rng.randrange(1 + rng.randrange(256)), rng.randrange(2**32))
        for source in range(256)
        for _ in range(64)
    ]
    run = send_messages(network, messages, "add")
    totals: Counter[int] = Counter()
    for message in messages:
        totals[message.destination] += message.value
    assert run.values == [
        totals[terminal] % 2**32 if terminal in totals else None for terminal in range(256)
    ]
    assert (run.combined > 0) == (combine == "add")
