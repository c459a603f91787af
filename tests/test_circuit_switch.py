# amaranth: UnusedElaboratable=no
"""The circuit box against a model written from its documentation."""

import itertools
import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import Cat, Value
from driving import exercise
from long_runs import long
from multicube.hdl.boxes.circuit import POLICIES, CircuitBox
from multicube.hdl.links.packet import Packet
from refusals import refusals

VARIANTS = [
    (long if radix > 3 else pytest.param)(radix, routing)
    for radix in (2, 3, 4, 8)
    for routing in ("destination", "xor")
    if radix != 3 or routing == "destination"
]
LIMIT = 2
WORD, REPLY = 12, 7

Wish = int | None
"""What an input asks for: a digit of a tag, or nothing."""


@dataclass
class Model:
    """Which input owns each output; whom each output asks first; how long each input waited."""

    radix: int
    policy: str
    limit: int = LIMIT
    owners: list[Wish] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    waited: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.owners = self.owners or [None] * self.radix
        self.first = self.first or [0] * self.radix
        self.waited = self.waited or [0] * self.radix

    def copy(self) -> "Model":
        return Model(self.radix, self.policy, self.limit, *map(list, self.state()))

    def state(self) -> tuple:
        return tuple(self.owners), tuple(self.first), tuple(self.waited)

    def cycle(self, wishes: list[Wish]) -> list[bool]:
        """One cycle, and which requests are rejected in it."""
        owners, radix = list(self.owners), self.radix
        seeking = [i for i in range(radix) if wishes[i] is not None and i not in owners]
        won = set()
        for j in range(radix):
            rivals = [i for i in seeking if wishes[i] == j]
            free = owners[j] is None or wishes[owners[j]] is None
            if rivals:
                best = min(rivals, key=lambda i: (i - self.first[j]) % radix)
                self.first[j] = (best + free) % radix
            if free:
                self.owners[j] = best if rivals else None
                won.update([best] if rivals else [])
        rejected = []
        for i in range(radix):
            refused = i in seeking and i not in won
            patience = {"hold": float("inf"), "drop": 0, "modified-hold": self.limit}[self.policy]
            rejected.append(refused and self.waited[i] >= patience)
            counts = self.policy == "modified-hold" and refused and not rejected[i]
            self.waited[i] = self.waited[i] + 1 if counts else 0
        return rejected


def follow(
    model: Model, walk: Iterable[list[Wish]], *, routing: str = "destination", seed: int = 1
) -> list[tuple[list[Wish], list[bool]]]:
    """Let a box do a walk beside the model, all else random; give owners and rejects by cycle."""
    radix, bits = model.radix, (model.radix - 1).bit_length()
    packet = Packet(2 * bits, WORD)
    dut = CircuitBox(
        packet, REPLY, radix=radix, routing=routing, policy=model.policy, hold_limit=model.limit
    )
    rng = random.Random(seed)
    print(f"seed {seed}")
    ports = range(radix)
    trace = []
    low = (1 << bits) - 1

    def rotated(word: int) -> int:
        return word & ~(1 << 2 * bits) + 1 | (word & low) << bits | word >> bits & low

    async def testbench(ctx: Any) -> None:
        flat = Cat(
            *(Cat(p.request, p.valid, p.reply.ready, p.payload) for p in dut.i),
            *(Cat(p.ready, p.grant, p.reject, p.reply.valid, p.reply.payload) for p in dut.o),
        )
        forth, back = len(flat) // radix - REPLY - 4, REPLY + 4
        for number, wishes in enumerate(walk):
            held = list(model.owners)
            rejected = model.cycle(wishes)
            trace.append((held, rejected))
            sent, answers, word = [], [], 0
            for i, wish in enumerate(wishes):
                valid, reply_ready = rng.getrandbits(1), rng.getrandbits(1)
                data = rng.getrandbits(2 * bits + WORD)
                if wish is not None and i not in held:
                    digit = wish ^ i if routing == "xor" else wish
                    data = data & ~(low << bits) | digit << bits
                sent.append((wish is not None, valid, reply_ready, data))
                word |= (sent[i][0] | valid << 1 | reply_ready << 2 | data << 3) << i * forth
            for j in ports:
                answers.append([rng.getrandbits(1) for _ in range(4)] + [rng.getrandbits(REPLY)])
                bits_ = sum(bit << at for at, bit in enumerate(answers[j]))
                word |= bits_ << radix * forth + j * back
            ctx.set(flat, word)
            for j, port in enumerate(dut.o):
                owner = sent[held[j]] if held[j] is not None else (0, 0, 0, None)
                assert ctx.get(port.request) == owner[0], (number, j)
                assert ctx.get(port.valid) == owner[1], (number, j)
                assert ctx.get(port.reply.ready) == owner[2], (number, j)
                if owner[3] is not None:
                    assert ctx.get(Value.cast(port.payload)) == rotated(owner[3]), (number, j)
            for i, port in enumerate(dut.i):
                mine = answers[held.index(i)] if i in held else [0, 0, 0, 0, None]
                ready, grant, reject, valid, reply = mine
                assert ctx.get(port.ready) == ready, (number, i)
                assert ctx.get(port.grant) == grant, (number, i)
                assert ctx.get(port.reject) == (reject or rejected[i]), (number, i)
                assert ctx.get(port.reply.valid) == valid, (number, i)
                if reply is not None:
                    assert ctx.get(port.reply.payload) == reply, (number, i)
            assert ctx.get(dut.held) == sum((x is not None) << j for j, x in enumerate(held))
            assert ctx.get(dut.dropped) == sum(x << i for i, x in enumerate(rejected))
            await ctx.tick()

    exercise(dut, testbench, limit=50_000)
    return trace


def every_transition(model: Model) -> list[list[Wish]]:
    """A walk that takes every combination of wishes in every state that can be reached."""
    wishes = [[a, b] for a in (None, 0, 1) for b in (None, 0, 1)]
    after: dict[tuple, list[tuple]] = {}
    models = {model.state(): model}
    todo = [model.state()]
    while todo:
        state = todo.pop()
        after[state] = []
        for wish in wishes:
            other = models[state].copy()
            other.cycle(wish)
            after[state].append(other.state())
            if other.state() not in models:
                models[other.state()] = other
                todo.append(other.state())
    left = {(state, number) for state in after for number in range(len(wishes))}
    walk: list[list[Wish]] = []
    here = model.state()
    while left:
        # The shortest way to a transition that has not been taken.
        ways: dict[tuple, list[int]] = {here: []}
        queue = deque([here])
        while queue:
            state = queue.popleft()
            fresh = [number for number in range(len(wishes)) if (state, number) in left]
            if fresh:
                break
            for number, target in enumerate(after[state]):
                if target not in ways:
                    ways[target] = [*ways[state], number]
                    queue.append(target)
        for number in [*ways[state], fresh[0]]:
            left.discard((here, number))
            walk.append(wishes[number])
            here = after[here][number]
    return walk


@pytest.mark.one_in(2)
@pytest.mark.parametrize("routing", ["destination", "xor"])
@pytest.mark.parametrize("policy", POLICIES)
def test_circuit_box_follows_the_model_from_every_state(policy: str, routing: str) -> None:
    """Radix 2: all wishes of both inputs in all states, that is, all sequences of wishes."""
    walk = every_transition(Model(2, policy))
    assert len(walk) > (500 if policy == "modified-hold" else 150)
    follow(Model(2, policy), walk, routing=routing)


def restless(radix: int, cycles: int, seed: int) -> Iterable[list[Wish]]:
    """Requests that rise and fall at random, at times often and at times seldom."""
    rng = random.Random(seed)
    wishes: list[Wish] = [None] * radix
    for cycle in range(cycles):
        often = 0.4 if cycle // 100 % 2 else 0.08
        for i in range(radix):
            if rng.random() < often:
                wishes[i] = rng.randrange(radix) if wishes[i] is None else None
        yield list(wishes)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("radix", "routing"), VARIANTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_circuit_box_follows_the_model(policy: str, radix: int, routing: str) -> None:
    walk = restless(radix, 600, seed=radix)
    trace = follow(Model(radix, policy, 5), walk, routing=routing, seed=radix)
    lent = {(i, j) for held, _ in trace for j, i in enumerate(held) if i is not None}
    assert len(lent) == radix**2
    assert any(any(rejected) for _, rejected in trace) == (policy != "hold")


@pytest.mark.parametrize("policy", POLICIES)
def test_circuit_box_refuses_a_digit_that_names_no_output(policy: str) -> None:
    trace = follow(Model(3, policy, 5), [[None, 3, 0]] * 20)
    assert all(held[1:] == [None, None] for held, _ in trace)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("radix", [2, 3, 4, 8])
def test_circuit_box_lends_an_output_in_turn(radix: int) -> None:
    """All inputs want one output; each lets go of it after a time, and wants it again at once."""
    rng = random.Random(radix)
    print(f"seed {radix}")
    model = Model(radix, "hold")

    def walk() -> Iterable[list[Wish]]:
        for _ in range(200):
            owner = model.owners[radix - 1]
            yield [None if i == owner and rng.random() < 0.3 else radix - 1 for i in range(radix)]

    trace = follow(model, walk())
    turns = [held[radix - 1] for held, _ in trace[1:]]
    changes = [turns[0], *(b for a, b in itertools.pairwise(turns) if a != b)]
    assert len(changes) > 30
    assert changes == [number % radix for number in range(len(changes))]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 16])
def test_time_out_is_exact_to_the_cycle(limit: int) -> None:
    """Input 1 is first refused in cycle 5. It is rejected in cycle 5 + limit, unless the output is
    released by then, be it in this very cycle."""
    for release in (5 + limit, 6 + limit):
        walk = [[0, None]] * 5 + [[0, 0]] * (release - 5) + [[None, 0]] + [[None, None]] * 2
        trace = follow(Model(2, "modified-hold", limit), walk)
        rejects = [cycle for cycle, (_, rejected) in enumerate(trace) if rejected[1]]
        assert rejects == ([] if release == 5 + limit else [5 + limit])


test_circuit_box_rejects = refusals(
    lambda parameters: CircuitBox(**({"packet": Packet(3, 4), "radix": 2} | parameters)),
    ({"radix": 1}, "Radix must be at least 2, not 1"),
    ({"radix": 2.0}, TypeError, "Radix must be an integer, not 2.0"),
    ({"routing": "both"}, "Routing must be destination, xor or difference, not 'both'"),
    ({"policy": "wait"}, "Policy must be one of hold, drop, modified-hold, not 'wait'"),
    ({"hold_limit": 0}, "Hold limit must be at least 1, not 0"),
    ({"hold_limit": True}, TypeError, "Hold limit must be an integer, not True"),
    ({"radix": 16}, "Tag of a packet must have at least 4 bits for a switch of radix 16, not 3"),
)
