# amaranth: UnusedElaboratable=no
"""Fan-out by copies: who sends to whom in which round, and on the hardware."""

import math
import random

import pytest
from multicube.hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from multicube.hdl.graphs.schedules.copies import copy_rounds
from multicube.sim import Copies, Message, Messenger, copy_messages


def test_copy_rounds() -> None:
    rng = random.Random(5)
    for _ in range(200):
        terminals = rng.sample(range(64), rng.randrange(1, 64))
        copies: dict[int, list[int]] = {terminals[0]: []}
        source = terminals[0]
        for terminal in terminals[1:]:
            if rng.random() < 0.2:
                source = terminal
                copies[source] = []
            else:
                copies[source].append(terminal)
        rounds = copy_rounds(copies)
        most = max(map(len, copies.values()))
        assert len(rounds) == math.ceil(math.log2(most + 1))
        origin = {source: source for source in copies}
        for pairs in rounds:
            assert len({sender for sender, _ in pairs}) == len(pairs)
            got = {to: origin[sender] for sender, to in pairs}
            assert not got.keys() & origin.keys()
            origin |= got
        assert origin == {
            terminal: source for source in copies for terminal in (source, *copies[source])
        }


def test_copy_rounds_over_one_wire_each() -> None:
    for source in (0, 11):
        others = [terminal for terminal in range(16) if terminal != source]
        rounds = copy_rounds({source: others})
        assert [len(pairs) for pairs in rounds] == [1, 2, 4, 8]
        assert all((sender ^ to).bit_count() == 1 for pairs in rounds for sender, to in pairs)


@pytest.mark.long
def test_one_to_all() -> None:
    """In 4 rounds of 3 cycles each (one wire); sent one by one it takes as many as there are."""
    network = ConnectionMachine(4, schedule="parallel")
    messenger = Messenger(network, threads=1)
    others = [terminal for terminal in range(16) if terminal != 6]
    run = messenger.copy([Copies(6, others, 1234)])
    assert run.values == [1234] * 16
    assert [each.sent for each in run.rounds] == [1, 2, 4, 8]
    assert [each.cycles for each in run.rounds] == [3, 3, 3, 3]
    assert run.cycles == 12
    one_by_one = messenger.send([Message(6, other, 1234) for other in others])
    assert one_by_one.cycles >= 15


def test_many_to_many_by_copies() -> None:
    network = ConnectionMachine(3, processors=2, buffers=1, schedule="dimension", combine="add")
    given = [Copies(0, (3, 8, 9, 15), 100), Copies(7, (1,), 200), Copies(14, (), 300)]
    run = copy_messages(network, given, threads=1)
    expected: list[int | None] = [None] * 16
    for source, destinations, value in given:
        for terminal in (source, *destinations):
            expected[terminal] = value
    assert run.values == expected
    assert [each.sent for each in run.rounds] == [2, 2, 1]
