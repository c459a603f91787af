# amaranth: UnusedElaboratable=no
"""Ports that several processors and memory modules share, as in RP3 (Siegel et al., VII-E)."""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from amaranth.hdl import Value
from driving import exercise
from long_runs import long
from multicube.hdl import CombiningNetwork, PartitionedNetwork
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.memory import OPERATIONS
from multicube.hdl.terminals.shared_port import MemoryDemultiplexer, ProcessorMultiplexer
from multicube.sim import Request, run_programs
from multicube.sim import simulate as measure

LINK = MemoryLink(tag=5, identity=2, address=2, width=4)
SHARES = 3
SEED = 5


def fields(payload: Any, ctx: Any) -> dict[str, int]:
    return {name: ctx.get(Value.cast(payload[name])) for name, _ in payload.shape()}


class Merging:
    """Several streams into one, with pauses on all sides: what is sent, and what must arrive."""

    def __init__(self, inputs: list, output: Any, draw: Callable[[random.Random], dict]) -> None:
        self.inputs, self.output, self.draw = inputs, output, draw
        self.rng = random.Random(SEED)
        self.sent: list[list[dict[str, int]]] = [[] for _ in inputs]
        self.got: list[dict[str, int]] = []
        self.times: list[int] = []
        self.offered: list[dict[str, int] | None] = [None] * len(inputs)
        self.held: dict[str, int] | None = None

    def step(self, ctx: Any, now: int, offer: float, take: float) -> None:
        """One cycle: the ports are set, and what passes is noted."""
        for number, stream in enumerate(self.inputs):
            if self.offered[number] is None and self.rng.random() < offer:
                self.offered[number] = self.draw(self.rng)
            ctx.set(stream.valid, int(self.offered[number] is not None))
            for name, value in (self.offered[number] or {}).items():
                ctx.set(Value.cast(stream.payload[name]), value)
        ready = self.rng.random() < take
        ctx.set(self.output.ready, int(ready))
        passed = 0
        for number, stream in enumerate(self.inputs):
            if self.offered[number] is not None and ctx.get(stream.ready):
                self.sent[number].append(self.offered[number])
                self.offered[number] = None
                passed += 1
        shown = fields(self.output.payload, ctx) if ctx.get(self.output.valid) else None
        assert self.held in (None, shown), "the payload changed while it waited"
        self.held = None if ready else shown
        taken = ready and shown is not None
        assert passed == taken
        if taken:
            self.got.append(shown)
            self.times.append(now)


RATES = pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.5, 0.5), (0.1, 1.0)])


@pytest.mark.one_in(6)
@RATES
@pytest.mark.parametrize("lengths", [(1, 1), (2, 3)])
def test_multiplexer(offer: float, take: float, lengths: tuple[int, int]) -> None:
    """Requests arrive in the order of each processor, with its number; replies go by the number."""
    print("seed", SEED)
    design = ProcessorMultiplexer(LINK, processors=SHARES, lengths=lengths)

    def request(rng: random.Random) -> dict[str, int]:
        sizes = {"tag": 32, "identity": 4, "address": 4, "operation": 10, "operand": 16}
        return {name: rng.randrange(size) for name, size in sizes.items()}

    requests = Merging([port.request for port in design.i], design.o.request, request)

    async def testbench(ctx: Any) -> None:
        reply = design.o.reply
        for now in range(150):
            requests.step(ctx, now, offer, take)
            number, identity = divmod(now % (4 * SHARES), 4)
            ctx.set(reply.valid, now % 2)
            ctx.set(reply.payload, {"tag": now % 32, "identity": number << 2 | identity})
            ready = [requests.rng.randrange(2) for _ in range(SHARES)]
            for port, willing in zip(design.i, ready):
                ctx.set(port.reply.ready, willing)
            shown = [ctx.get(port.reply.valid) for port in design.i]
            assert shown == [int(now % 2 and n == number) for n in range(SHARES)]
            assert ctx.get(reply.ready) == (now % 2 and ready[number])
            if now % 2:
                payload = fields(design.i[number].reply.payload, ctx)
                assert (payload["tag"], payload["identity"]) == (now % 32, identity)
            await ctx.tick()

    exercise(design, testbench)
    arrived = defaultdict(list)
    for got in requests.got:
        number, identity = divmod(got["identity"], 4)
        arrived[number].append(got | {"identity": identity})
    assert [arrived[number] for number in range(SHARES)] == requests.sent
    assert len(requests.got) > 10
    kinds = [OPERATIONS[got["operation"]].kind for got in requests.got]
    needed = [lengths[kind != "load"] for kind in kinds]
    gaps = [b - a for a, b in zip(requests.times, requests.times[1:])]
    assert all(gap >= length for gap, length in zip(gaps, needed))
    if offer == take == 1.0:
        assert gaps == needed[:-1], "the port is never idle"
        turns = [got["identity"] >> 2 for got in requests.got]
        assert all(len({*turns[at : at + SHARES]}) == SHARES for at in range(len(turns) - SHARES))


@pytest.mark.one_in(3)
@RATES
@pytest.mark.parametrize("lengths", [(1, 1), (2, 3)])
def test_demultiplexer(offer: float, take: float, lengths: tuple[int, int]) -> None:
    """Requests go to the module that the top digit of the tag names; all replies come back."""
    design = MemoryDemultiplexer(LINK, modules=SHARES, lengths=lengths)

    def reply(rng: random.Random) -> dict[str, int]:
        return {name: rng.randrange(1 << size) for name, size in (("tag", 5), ("value", 4))}

    replies = Merging([port.reply for port in design.o], design.i.reply, reply)

    async def testbench(ctx: Any) -> None:
        request = design.i.request
        for now in range(100):
            replies.step(ctx, now, offer, take)
            tag = now % (8 * SHARES)
            ctx.set(request.valid, 1)
            ctx.set(request.payload, {"tag": tag, "address": now % 4})
            ready = [replies.rng.randrange(2) for _ in range(SHARES)]
            for port, willing in zip(design.o, ready):
                ctx.set(port.request.ready, willing)
            shown = [ctx.get(port.request.valid) for port in design.o]
            assert shown == [int(n == tag // 8) for n in range(SHARES)]
            assert ctx.get(request.ready) == ready[tag // 8]
            passed = fields(design.o[tag // 8].request.payload, ctx)
            assert (passed["tag"], passed["address"]) == (tag, now % 4)
            await ctx.tick()

    exercise(design, testbench)
    came = [(reply["tag"], reply["value"]) for reply in replies.got]
    left = [(reply["tag"], reply["value"]) for sent in replies.sent for reply in sent]
    assert sorted(came) == sorted(left)
    gaps = [b - a for a, b in zip(replies.times, replies.times[1:])]
    assert min(gaps) >= lengths[0]
    if offer == take == 1.0:
        assert set(gaps) == {lengths[0]}
        assert {len(sent) for sent in replies.sent} <= {len(came) // 3, len(came) // 3 + 1}


# In a network

SMALL: dict[str, Any] = {"width": 8, "rows": 2, "outstanding": 2}
KINDS: dict[str, dict[str, Any]] = {
    "three at a port": {"ports": 2, "processors_per_port": 3},
    "radix 3": {"ports": 3, "radix": 3, "processors_per_port": 2, "combine": "none"},
    "as rp3": {
        **{"ports": 4, "paths": 2, "processors_per_port": 4, "combine": "none", "depth": 3},
        **{"queues": "input", "delay": 2, "lengths": "2:3"},
    },
    "hashing": {"ports": 4, "processors_per_port": 2, "hashing": "polynomial"},
}


def network_of(name: str) -> CombiningNetwork:
    return CombiningNetwork(**SMALL, **KINDS[name])


@pytest.mark.parametrize("name", KINDS)
def test_tags_lead_to_modules(name: str) -> None:
    """The module's number at its port is the last digit; the others are a path to the port."""
    network = network_of(name)
    share = network.parameters.processors_per_port
    bits = (share - 1).bit_length()
    alone = network.altered(processors_per_port=1)
    places = set()
    for word in range(network.ports * 2):
        row, module = divmod(word, network.ports)
        for path in range(network.paths):
            place = network.locate(word, path)
            assert place.address == row
            assert place.tag & (1 << bits) - 1 == module % share
            assert place.tag >> bits == alone.locate(module // share, path).tag
            places.add(place)
    assert len(places) == network.ports * 2 * network.paths
    assert len({network.stored(word) for word in range(network.ports * 2)}) == network.ports * 2


@pytest.mark.long
@pytest.mark.parametrize("name", ["three at a port", *map(long, list(KINDS)[1:])])
@pytest.mark.parametrize("engine", [long("amaranth"), "compiled"])
def test_every_processor_reaches_every_word(name: str, engine: str) -> None:
    """All pairs of processor and word: each adds a number of its own to each word."""
    network = network_of(name)
    words = range(2 * network.ports)

    def visits(number: int) -> Iterator[Any]:
        for turn in range(len(words)):
            yield Request("fetch-and-add", (turn + 2 * number) % len(words), 1 << number % 8)

    run = run_programs(network, [visits(n) for n in range(network.ports)], engine=engine)
    total = sum(1 << number % 8 for number in range(network.ports)) % 256
    assert run.memory == [total] * len(words)
    assert run.serializable


@pytest.mark.long
@pytest.mark.parametrize("share", [2, long(4)])
def test_all_to_one(share: int) -> None:
    """One request of each port in each cycle; those of a cycle combine, so all take 2 n + 1."""
    network = CombiningNetwork(2, processors_per_port=share, width=8, rows=2)
    programs = [iter([Request("fetch-and-add", 1, 1)]) for _ in range(network.ports)]
    run = run_programs(network, [one(*program) for program in programs], engine="amaranth")
    assert sorted(run.results) == list(range(network.ports))
    answered = sorted(access.answered - access.sent for access in run.history[1])
    assert answered == [2 * network.stages + 1] * network.ports
    sent = sorted(access.sent for access in run.history[1])
    assert sent == sorted(sent[0] + turn for turn in range(share) for _ in range(2))


def one(request: Request) -> Iterator[Any]:
    return (yield request)


@pytest.mark.parametrize("name", [long(name) for name in KINDS])
def test_random_runs_are_serial(name: str) -> None:
    network = network_of(name)
    traffic = "hotspot:0.4:1"
    result = measure(
        network, traffic=traffic, load=0.4, cycles=200, operations=("all",), bins=64, seed=SEED
    )
    assert result.serializable
    assert (result.lost, result.misrouted, result.duplicated) == (0, 0, 0)
    assert len(result.terminals["delivered"]) == network.ports


@pytest.mark.long
def test_processors_of_a_port_share_its_rate() -> None:
    """Each sends to memory of its own, and no port has more than one request per cycle."""
    network = CombiningNetwork(4, processors_per_port=4, combine="none")
    result = measure(network, traffic="shift:0", load=1, cycles=2000, warmup=100, seed=SEED)
    assert result.throughput * 4 == pytest.approx(1, abs=0.01)
    delivered = result.terminals["delivered"]
    assert max(delivered) - min(delivered) <= 2


REJECTED = [
    (lambda: ProcessorMultiplexer(3, processors=2), "Link must be a MemoryLink, not 3"),
    (lambda: ProcessorMultiplexer(LINK, processors=1), "Processors must be at least 2, not 1"),
    (
        lambda: ProcessorMultiplexer(LINK, processors=2, lengths=(2, 1)),
        "Lengths must be in order, shorter first, not 2 and 1",
    ),
    (
        lambda: PartitionedNetwork(CombiningNetwork(4, processors_per_port=4)),
        "Partitions need processors_per_port=1, since all of a port share its paths, "
        "not processors_per_port=4",
    ),
    (lambda: MemoryDemultiplexer(LINK, modules=1), "Modules must be at least 2, not 1"),
    (
        lambda: MemoryDemultiplexer(LINK, modules=33),
        "Tag of a link must have at least 6 bits for 33 modules, not 5",
    ),
    (
        lambda: CombiningNetwork(4, processors_per_port=0),
        "Processors per port must be from 1 to 16, not 0",
    ),
    (
        lambda: CombiningNetwork(4, processors_per_port=3, hashing="polynomial"),
        "Processors per port must be a power of two with hashing, not 3",
    ),
]


@pytest.mark.parametrize(("make", "message"), REJECTED, ids=[m for _, m in REJECTED])
def test_rejects(make: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^.*{re.escape(message)}$"):
        make()
