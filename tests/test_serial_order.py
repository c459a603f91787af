"""The checker of serial order, on histories made by hand and at random."""

import itertools
import random
from dataclasses import replace
from math import inf

import pytest
from multicube.hdl.operations.memory import OPERATIONS, Operation, find_operation
from multicube.sim.measure.serial_order import Access, Undecided, serial_order

LOAD, STORE, SWAP, ADD = (
    find_operation(name) for name in ("load", "store", "fetch-and-store", "fetch-and-add")
)
QUIET_ADD = Operation("add", ADD.function, fetching="fetch-and-add")
WIDTH = 8

# Name, history, final value, whether it is serial.
HISTORIES = [
    ("nothing", [], 0, True),
    ("nothing-changes", [], 1, False),
    ("two-adds", [Access(0, ADD, 2, 3), Access(1, ADD, 3, 0)], 5, True),
    ("both-first", [Access(0, ADD, 2, 0), Access(1, ADD, 3, 0)], 5, False),
    ("lost-update", [Access(0, ADD, 2, 0), Access(1, ADD, 3, 2)], 3, False),
    ("program-order", [Access(0, ADD, 2, 3), Access(0, ADD, 3, 0)], 5, False),
    ("load-after-own-store", [Access(0, STORE, 7), Access(0, LOAD, 0, 0)], 7, False),
    ("load-before-store", [Access(0, STORE, 7), Access(1, LOAD, 0, 0)], 7, True),
    ("load-of-nothing-stored", [Access(0, STORE, 7), Access(1, LOAD, 0, 6)], 7, False),
    ("reply-of-a-store", [Access(0, STORE, 7, 99)], 7, True),
    (
        "stores-seen-in-two-orders",
        [
            Access(0, STORE, 1),
            Access(1, STORE, 2),
            Access(2, LOAD, 0, 1),
            Access(2, LOAD, 0, 2),
            Access(3, LOAD, 0, 2),
            Access(3, LOAD, 0, 1),
        ],
        None,
        False,
    ),
    (
        "the-other-store-first",
        [Access(0, STORE, 1), Access(1, STORE, 2), Access(2, LOAD, 0, 2), Access(2, LOAD, 0, 1)],
        1,
        True,
    ),
    ("swap-ring", [Access(0, SWAP, 1, 2), Access(1, SWAP, 2, 1)], None, False),
    ("swap-chain", [Access(0, SWAP, 1, 0), Access(1, SWAP, 2, 1)], 2, True),
    (
        "times-agree",
        [Access(0, SWAP, 1, 2, sent=0, answered=3), Access(1, SWAP, 2, 0, sent=3, answered=9)],
        1,
        True,
    ),
    (
        "answered-before-the-other-was-sent",
        [Access(0, SWAP, 1, 2, sent=0, answered=3), Access(1, SWAP, 2, 0, sent=4, answered=9)],
        1,
        False,
    ),
    ("wraps", [Access(0, ADD, 255, 0), Access(1, ADD, 2, 255)], 1, True),
]


@pytest.mark.parametrize(
    ("history", "final", "serial"),
    [case[1:] for case in HISTORIES],
    ids=[case[0] for case in HISTORIES],
)
def test_histories(history: list[Access], final: int | None, serial: bool) -> None:
    order = serial_order(history, width=WIDTH, final=final)
    assert (order is not None) == serial


def by_trying(history: list[Access], final: int | None) -> bool:
    """All orders, one after the other."""
    for order in itertools.permutations(range(len(history))):
        value = 0
        for place, number in enumerate(order):
            access = history[number]
            later = [history[x] for x in order[place:]]
            if any(history[x].processor == access.processor for x in order[place:] if x < number):
                break
            if any(other.answered < access.sent for other in later):
                break
            if access.operation.replies and access.reply not in (None, value):
                break
            value = access.operation.perform(value, access.operand, 2)
        else:
            if final in (None, value):
                return True
    return False


def test_agrees_with_trying_all_orders() -> None:
    rng = random.Random(5)
    operations = (*OPERATIONS, QUIET_ADD, STORE, STORE)
    serial = 0
    for _ in range(1000):
        history = [
            Access(rng.randrange(3), rng.choice(operations), rng.randrange(4), rng.randrange(4))
            for _ in range(rng.randrange(2, 6))
        ]
        value = 0
        if rng.random() < 0.8:  # replies of a run, one of them perhaps wrong
            made = []
            for time, access in enumerate(history):
                reply = None if rng.random() < 0.1 else value
                times = (time - rng.randrange(3), time + rng.randrange(3))
                if rng.random() < 0.3:
                    times = (-inf, inf)
                made.append(replace(access, reply=reply, sent=times[0], answered=times[1]))
                value = access.operation.perform(value, access.operand, 2)
            if rng.random() < 0.3:
                made[0] = history[0]
            history = made
            rng.shuffle(history)
        final = rng.choice((value, value, value, None, rng.randrange(4)))
        expected = by_trying(history, final)
        serial += expected
        order = serial_order(history, width=2, final=final)
        assert (order is not None) == expected, history
    assert 200 < serial < 800


def test_the_order_is_one() -> None:
    """A long history in shuffled order of processors: the order returned does what it says."""
    rng = random.Random(1)
    value, queues, length = 0, [[] for _ in range(64)], 2_000
    answered = [-1.0] * 64
    for time in range(length):
        idle = [processor for processor in range(64) if answered[processor] <= time]
        processor, operation = rng.choice(idle), rng.choice(OPERATIONS)
        operand = rng.randrange(256)
        sent = max(answered[processor], time - rng.randrange(1, 100))
        answered[processor] = time + rng.random() * 3
        access = Access(processor, operation, operand, value, sent, answered[processor])
        queues[processor].append(access)
        value = operation.perform(value, operand, WIDTH)
    history = [access for queue in queues for access in queue]
    order = serial_order(history, width=WIDTH, final=value)
    assert sorted(order) == list(range(length))
    again, last = 0, {}
    for number in order:
        access = history[number]
        assert last.get(access.processor, -1) < number
        last[access.processor] = number
        assert not access.operation.replies or access.reply == again
        again = access.operation.perform(again, access.operand, WIDTH)
    assert again == value


@pytest.mark.long
def test_many_at_once() -> None:
    """Ninety operations under way at any time, a tenth of them stores: no search without an end."""
    rng = random.Random(3)
    value, history, length = 0, [], 1_500
    for time in range(length):
        operation, operand = rng.choice(OPERATIONS), rng.getrandbits(32)
        times = time - rng.randrange(90), time + rng.randrange(90)
        # Those of one processor are apart from each other.
        history.append(Access(time % 180, operation, operand, value, *times))
        value = operation.perform(value, operand, 32)
    assert serial_order(history, width=32, final=value, limit=20_000) is not None
    broken = rng.randrange(length // 2, length)
    while not history[broken].operation.replies:
        broken += 1
    history[broken] = replace(history[broken], reply=history[broken].reply ^ 1 << 9)
    assert serial_order(history, width=32, final=value, limit=200_000) is None


def test_gives_up() -> None:
    history = [Access(p, ADD, 1 << p, None) for p in range(6)]
    stores = [Access(p, STORE, p) for p in range(12)]
    with pytest.raises(Undecided, match=r"^No serial order found in 100 states$"):
        serial_order([*history, *stores], width=WIDTH, final=99, limit=100)
