# amaranth: UnusedElaboratable=no
"""Broadcasts through circuit boxes: trees, their deadlocks, words and replies of all leaves."""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal
from claims import Claims, needs_yosys
from driving import exercise
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.boxes.circuit import POLICIES, CircuitBox
from multicube.hdl.families.multistage.circuit_network import CircuitNetwork
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.links.packet import Packet
from multicube.sim import SimulationError, Trace, TracePacket, simulate
from proof_table import proves

LIMIT = 2


# One box.


class Model:
    """Which input owns each output, how long ago each was served, and how long each waited."""

    def __init__(self, radix: int, policy: str) -> None:
        self.radix, self.policy = radix, policy
        self.owned: list[set[int]] = [set() for _ in range(radix)]
        self.served = list(range(radix))  # those served longest ago first
        self.waited = [0] * radix

    def cycle(self, wishes: list[tuple[set[int], bool] | None]) -> list[bool]:
        """A cycle of requests: the outputs of each, and whether it is a tree; who is rejected."""
        for i, wish in enumerate(wishes):
            if wish is None:
                self.owned[i] = set()
        busy = set().union(*self.owned)
        seeking = [i for i, wish in enumerate(wishes) if wish and not self.owned[i]]
        possible = [i for i in self.served if i in seeking and not wishes[i][0] & busy]
        won = []
        for at, i in enumerate(possible):
            if all(not wishes[i][0] & wishes[other][0] for other in possible[:at]):
                won.append(i)
        rejected = []
        for i in range(self.radix):
            refused = i in seeking and i not in won
            tree = refused and wishes[i][1]
            patience = {"hold": 0 if tree else 99, "drop": 0, "modified-hold": LIMIT}[self.policy]
            rejected.append(refused and self.waited[i] >= patience)
            counts = self.policy == "modified-hold" and refused and not rejected[i]
            self.waited[i] = self.waited[i] + 1 if counts else 0
        for i in won:
            self.owned[i] = set(wishes[i][0])
        self.served = [i for i in self.served if i not in won] + won
        return rejected


@pytest.mark.parametrize(
    ("radix", "routing", "policy"),
    [
        (2, "xor", "hold"),
        *(long(2, "xor", policy) for policy in POLICIES if policy != "hold"),
        long(2, "destination", "hold"),
        *(long(4, "xor", policy) for policy in POLICIES),
        *(long(3, "difference", policy) for policy in POLICIES),
    ],
)
def test_box_follows_the_model(radix: int, routing: str, policy: Any) -> None:
    """Cycle by cycle: random requests, releases, words, ready outputs and replies of all kinds.

    Grants and rejections of outputs reach the input, all or any of them; each output gets each
    word once, and the input sees the word leave when the last has it; replies are joined by OR.
    """
    bits = (radix - 1).bit_length()
    packet = Packet(2 * bits, 8, broadcast=True)
    dut = CircuitBox(packet, 5, radix=radix, routing=routing, policy=policy, hold_limit=LIMIT)
    rng = random.Random(radix)
    print("seed", radix)
    model = Model(radix, policy)
    low = (1 << bits) - 1
    crossed: list[list[int]] = [[] for _ in range(radix)]

    def wanted(i: int, digit: int, mask: int) -> set[int]:
        def tag(j: int) -> int:
            return {"xor": i ^ j, "difference": (j - i) % radix}.get(routing, j)

        return {j for j in range(radix) if (tag(j) ^ digit) & ~mask & low == 0}

    async def testbench(ctx: Any) -> None:
        wishes: list[Any] = [None] * radix
        given: list[set[int]] = [set() for _ in range(radix)]
        words = [0] * radix
        valid = [0] * radix
        number = 0
        trees = 0
        for _ in range(250):
            for i, port in enumerate(dut.i):
                fresh = wishes[i] is None
                if fresh and rng.random() < 0.4:
                    digit, mask, rest = (rng.randrange(radix) for _ in range(3))
                    if rng.random() < 0.2:
                        mask = rest = 0
                    outputs = wanted(i, digit, mask)
                    if not outputs:
                        continue
                    wishes[i] = (outputs, mask > 0 or rest > 0)
                    ctx.set(port.payload.tag, digit << bits)
                    ctx.set(port.payload.mask, mask << bits | rest)
                elif not fresh and rng.random() < 0.25:
                    wishes[i] = None
                ctx.set(port.request, wishes[i] is not None)
            owned = [own if wish else set() for own, wish in zip(model.owned, wishes)]
            ready, grants, rejects, replies = (rng.getrandbits(radix) for _ in range(4))
            grants |= rng.getrandbits(radix)
            replies |= rng.getrandbits(radix)
            said = [rng.getrandbits(5) for _ in range(radix)]
            for j, port in enumerate(dut.o):
                ctx.set(Cat(port.ready, port.grant), ready >> j & 1 | (grants >> j & 1) << 1)
                ctx.set(
                    Cat(port.reject, port.reply.valid),
                    (rejects & ~grants) >> j & 1 | (replies >> j & 1) << 1,
                )
                ctx.set(port.reply.payload, said[j])
            hears = rng.getrandbits(radix)
            for i, port in enumerate(dut.i):
                if not owned[i]:
                    valid[i], given[i] = 0, set()
                elif not valid[i] and rng.random() < 0.7:
                    valid[i], words[i], number = 1, number % 256, number + 1
                ctx.set(port.valid, valid[i])
                ctx.set(port.payload.payload, words[i])
                ctx.set(port.reply.ready, hears >> i & 1)
            dropped = model.cycle(wishes)
            takes: dict[int, int] = {}
            for i, port in enumerate(dut.i):
                out = owned[i]
                trees += len(out) > 1
                if wishes[i] is None:
                    continue  # What it sees then has no meaning.
                assert ctx.get(port.grant) == (bool(out) and all(grants >> j & 1 for j in out))
                refusal = any(rejects >> j & ~(grants >> j) & 1 for j in out)
                assert ctx.get(port.reject) == (refusal or dropped[i])
                left = out - given[i]
                done = bool(out) and all(ready >> j & 1 for j in left)
                assert ctx.get(port.ready) == done or not valid[i]
                for j in left if valid[i] else ():
                    takes[j] = i
                answered = bool(out) and all(replies >> j & 1 for j in out)
                assert ctx.get(port.reply.valid) == answered
                if answered:
                    joined = 0
                    for j in out:
                        joined |= said[j]
                    assert ctx.get(port.reply.payload) == joined
                for j in out:
                    both = answered and hears >> i & 1
                    assert ctx.get(dut.o[j].reply.ready) == both
                if valid[i]:
                    given[i] |= {j for j in left if ready >> j & 1}
                    if done:
                        valid[i], given[i] = 0, set()
            for j, port in enumerate(dut.o):
                assert ctx.get(port.request) == any(j in own for own in owned)
                assert ctx.get(port.valid) == (j in takes)
                if j in takes:
                    assert ctx.get(port.payload.payload) == words[takes[j]]
                    if ready >> j & 1:
                        crossed[j].append(words[takes[j]])
            for i in range(radix):
                if dropped[i]:
                    wishes[i] = None
            await ctx.tick()
            for i in range(radix):
                if dropped[i]:
                    ctx.set(dut.i[i].request, 0)
        assert trees > 20
        for each in crossed:
            assert all(a != b for a, b in itertools.pairwise(each))
        assert sum(map(len, crossed)) > 40

    exercise(dut, testbench)


# Deadlock.


class Tree:
    """A broadcast in a plan: for each box of it, (stage, box), the outputs that it needs there."""

    def __init__(self, ports: int, source: int, destinations: frozenset[int]) -> None:
        plan = multistage_plan("cube", ports)
        self.source, self.destinations = source, destinations
        self.needs: dict[tuple[int, int], set[int]] = {}
        self.after: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for destination in destinations:
            before = None
            for hop in plan.path(source, destination):
                box = (hop.stage, hop.box)
                self.needs.setdefault(box, set()).add(hop.output)
                self.after.setdefault(before, set()).add(box)
                before = box


def can_deadlock(one: Tree, other: Tree) -> bool:
    """Whether both may wait for each other for ever, if they wait wherever they are refused.

    All orders in which boxes are taken are tried, each box with all outputs at once.
    """
    seen, open_ = set(), [(frozenset(), frozenset())]
    while open_:
        state = open_.pop()
        if state in seen:
            continue
        seen.add(state)
        stuck = False
        for at, (tree, rival) in enumerate(((one, other), (other, one))):
            mine, theirs = state[at], state[1 - at]
            if mine == frozenset(tree.needs):
                break  # It is complete, and will be released.
            reached = {box for before in (None, *mine) for box in tree.after.get(before, ())}
            moves = False
            for box in reached - mine:
                if box in theirs and tree.needs[box] & rival.needs[box]:
                    continue
                moves = True
                grown = [*state]
                grown[at] = mine | {box}
                open_.append((grown[0], grown[1]))
            stuck = not moves if at == 0 else stuck and not moves
        else:
            if stuck:
                return True
    return False


def all_trees(ports: int) -> list[Tree]:
    """One for each source, and each set of destinations that a mask can stand for."""
    sets = {
        frozenset(d for d in range(ports) if d & ~mask == tag & ~mask)
        for tag, mask in itertools.product(range(ports), repeat=2)
    }
    return [Tree(ports, source, each) for source in range(ports) for each in sets]


@pytest.mark.parametrize("ports", [4, long(8)])
def test_two_trees_that_wait_can_deadlock(ports: int) -> None:
    """Exhaustive: if and only if they first want the same link in two boxes or more."""
    pairs = [
        pair
        for pair in itertools.combinations(all_trees(ports), 2)
        if pair[0].source != pair[1].source
    ]
    found = [pair for pair in pairs if can_deadlock(*pair)]
    print(ports, len(pairs), len(found))
    for one, other in pairs:
        meet = {box for box in one.needs if one.needs[box] & other.needs.get(box, set())}
        first = meet - {box for at in meet for box in behind(one, at)}
        assert ((one, other) in found) == (len(first) > 1)
    assert 0 < len(found) < len(pairs) / 5


def behind(tree: Tree, box: tuple[int, int]) -> set[tuple[int, int]]:
    """The boxes of a tree to which a box leads."""
    following = tree.after.get(box, set())
    return following.union(*(behind(tree, each) for each in following))


class Waits(CircuitBox):
    """Lets a refused tree wait."""

    def _reject(self, m: Module, i: int, refused: Signal) -> None:
        pass


def broadcasts(ports: int) -> Trace:
    """Some of the terminals send to half of all, or to all, at the same time."""
    rng = random.Random(ports)
    print("seed", ports)
    packets = [
        TracePacket(cycle, source, rng.randrange(ports), 2, rng.choice((3, 5, 6, 7)))
        for cycle in range(0, 200, 10)
        for source in range(ports)
        if rng.random() < 0.5
    ]
    return Trace("broadcasts", tuple(packets))


@pytest.mark.long
@pytest.mark.parametrize("policy", ["hold", long("drop"), long("modified-hold")])
def test_trees_do_not_deadlock(policy: str) -> None:
    network = MultistageNetwork(8, switch="circuit", length=2, broadcast=1, policy=policy)
    trace = broadcasts(8)
    result = simulate(network, traffic=trace, engine="compiled", bins=64)
    copies = sum(1 << packet.mask.bit_count() for packet in trace.packets)
    assert (result.injected, result.delivered) == (len(trace.packets), copies)
    assert result.dropped > 50


def test_trees_that_wait_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multicube.hdl.families.multistage.switching.CircuitBox", Waits)
    network = MultistageNetwork(8, switch="circuit", length=2, broadcast=1)
    with pytest.raises(SimulationError, match="never taken"):
        simulate(network, traffic=broadcasts(8), engine="compiled", bins=64)


def trees_are_answered(ports: int, policy: Any, steps: int) -> Any:
    """Claims: in each state, a tree that requests is set up or rejected in so many cycles more.

    Everything else is free: all other requests, one-to-one or trees, keep the rules of the link.
    """
    claims = Claims()
    dut = CircuitNetwork(ports, payload=1, policy=policy, hold_limit=LIMIT, broadcast=True)
    m = claims.m
    m.submodules.dut = dut.elaborate(None)
    requests = claims.free(ports, "requests")
    width = dut.tags.code.width
    for port in dut.o:
        m.d.comb += port.grant.eq(port.request)
    for i, port in enumerate(dut.i):
        header = claims.free(2 * width, f"header_{i}")
        tag, mask = header[:width], header[width:]
        m.d.comb += [
            port.request.eq(requests[i]),
            port.payload.tag.eq(tag),
            port.payload.mask.eq(mask),
        ]
        went = claims.past(port.request & ~port.reject)
        refused = claims.past(port.request & port.reject)
        claims.assume(~claims.began | ~went | ~requests[i] | (header == claims.past(header)))
        claims.assume(~claims.began | ~refused | ~requests[i])
        waited = Signal(range(steps + 2), name=f"waited_{i}")
        waits = port.request & ~port.grant & ~port.reject & mask.any()
        with m.If(waits & (waited <= steps)):
            m.d.sync += waited.eq(waited + 1)
        with m.Elif(~waits):
            m.d.sync += waited.eq(0)
        claims.claim(waited <= steps)
    return claims


@needs_yosys
@proves(
    CircuitBox,
    says="The tree of a broadcast is set up or rejected in as many cycles as there are stages, "
    "whatever else is requested.",
    sizes="networks of 4 and 8 terminals, policies `hold` and `drop`",
)
@pytest.mark.parametrize(
    ("ports", "policy"), [(4, "hold"), long(4, "drop"), long(8, "hold"), long(8, "drop")]
)
def test_a_tree_is_set_up_or_rejected(tmp_path: Path, ports: int, policy: Any) -> None:
    """In as many cycles as there are stages, whatever else is requested meanwhile.

    So no tree waits for another circuit. Paths wait for links of later stages only, and for trees.
    """
    stages = ports.bit_length() - 1
    assert trees_are_answered(ports, policy, stages).hold(tmp_path)


@pytest.mark.long
@needs_yosys
def test_proof_finds_trees_that_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multicube.hdl.families.multistage.circuit_network.CircuitBox", Waits)
    assert not trees_are_answered(4, "hold", 2).hold(tmp_path)
