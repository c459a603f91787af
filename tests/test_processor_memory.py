# amaranth: UnusedElaboratable=no
"""Two networks between processors and memory: cycles worked out by hand, buffers, and histories."""

import itertools
import random
from collections.abc import Generator
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring
from driving import exercise
from long_runs import long
from multicube.hdl import ProcessorMemoryNetwork
from multicube.hdl.boxes.wormhole import WormholeSwitch
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.output_buffer import OutputBuffer
from multicube.hdl.terminals.memory_module import MemoryModule
from multicube.hdl.terminals.memory_words import MemoryEnd, ProcessorEnd
from multicube.sim import simulate
from multicube.sim.run.program_requests import Request
from multicube.sim.run.programs import run_programs
from refusals import refusals

SMALL = {"ports": 4, "rows": 4, "outstanding": 4, "width": 8, "operations": "ultracomputer"}


def requests(*chosen: Request) -> Generator[Any, Any, Any]:
    """One after another, each when the last has been answered."""
    replies = []
    for each in chosen:
        replies.append((yield each))
    return replies


# A word takes a cycle per box, so the last of c words is at the memory n + c - 1 cycles after the
# first was offered; then its latency, and n cycles back. A program goes on in the cycle after that.
BY_HAND = [
    # Cedar's read: "12 cycles".
    ({"memory_latency": 8}, [2 + 8 + 2, 2 + 1 + 8 + 2, 2 + 2 + 8 + 2]),
    ({"lengths": "2:5:4"}, [2 + 1 + 1 + 2, 2 + 4 + 1 + 2, 2 + 3 + 1 + 2]),
    long({"memory_latency": 3, "radix": 4}, [1 + 3 + 1, 1 + 1 + 3 + 1, 1 + 2 + 3 + 1]),
]


@pytest.mark.long
@pytest.mark.parametrize(("given", "cycles"), BY_HAND)
def test_time_of_one_request_after_another(given: dict[str, Any], cycles: list[int]) -> None:
    network = ProcessorMemoryNetwork(**SMALL | given)
    word = 6  # of module 2, seen from processor 0
    program = requests(
        Request("load", word), Request("store", word, 5), Request("fetch-and-add", word, 7)
    )
    run = run_programs(network, [program], memory={word: 9}, engine="amaranth")
    answered = [each.answered for each in run.history[word]]
    ends = list(itertools.accumulate(time + 1 for time in cycles))
    assert [time + 1 for time in answered] == ends
    assert run.cycles == ends[-1]
    assert (run.results[0][0], run.results[0][2], run.memory[word]) == (9, 5, 12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("interval", "latency"), [(4, 8), (9, 2)])
def test_reads_of_one_module_are_an_interval_apart(interval: int, latency: int) -> None:
    """Cedar's memory is "pipelined to service a read/write request every four cycles"."""

    def program() -> Generator[Any, Any, Any]:
        yield [Request("load", 2 * row) for row in range(4)]

    network = ProcessorMemoryNetwork(
        **SMALL | {"ports": 2}, memory_latency=latency, memory_interval=interval
    )
    run = run_programs(network, [program()], engine="amaranth")
    answered = sorted(each.answered for word in run.history.values() for each in word)
    assert answered[0] == 1 + latency + 1
    assert {b - a for a, b in itertools.pairwise(answered)} == {interval}


@pytest.mark.parametrize("interval", [1, 3])
@pytest.mark.parametrize("latency", [1, 2, 5])
def test_slow_memory(latency: int, interval: int) -> None:
    """Against a list of due times: every reply, in order, `latency` cycles after its request."""
    link = MemoryLink(tag=2, identity=3, address=1, width=4)
    module = MemoryModule(link, latency=latency, interval=interval)
    request, reply = module.i.request, module.i.reply
    rng = random.Random(10 * latency + interval)
    print(f"seed {10 * latency + interval}")

    async def testbench(ctx: Any) -> None:
        due: list[tuple[int, int]] = []
        accepted, last, full_speed = 0, -99, True
        for now in range(150):
            full_speed = now < 60
            ctx.set(request.valid, int(full_speed or rng.random() < 0.6))
            ctx.set(request.payload.identity, accepted % 8)
            ctx.set(reply.ready, int(full_speed or rng.random() < 0.5))
            shown = bool(ctx.get(reply.valid))
            if full_speed:
                assert shown == bool(due and due[0][0] <= now)
            if shown and ctx.get(reply.ready):
                ready_at, identity = due.pop(0)
                assert now >= ready_at
                assert ctx.get(reply.payload.identity) == identity
            if ctx.get(request.valid) and ctx.get(request.ready):
                assert now - last >= interval
                due.append((now + latency, accepted % 8))
                accepted, last = accepted + 1, now
            elif full_speed:
                assert now - last < interval
            await ctx.tick()
        assert accepted > 20

    exercise(module, testbench)


def test_output_buffer_against_a_list() -> None:
    for depth in (1, 2, 3):
        dut = OutputBuffer(8, depth=depth)
        rng = random.Random(depth)

        async def testbench(ctx: Any, dut: Any = dut, rng: Any = rng, depth: int = depth) -> None:
            stored: list[int] = []
            payload, offered, passed = 0, False, 0
            for _ in range(200):
                offered = offered or rng.random() < 0.7
                ready = rng.random() < 0.6
                ctx.set(
                    Cat(dut.i.valid, dut.i.payload, dut.o.ready),
                    offered | payload << 1 | ready << 9,
                )
                assert ctx.get(dut.i.ready) == (len(stored) < depth)
                waiting = stored + [payload] * (offered and len(stored) < depth)
                assert ctx.get(dut.o.valid) == bool(stored or offered)
                if waiting:
                    assert ctx.get(dut.o.payload) == waiting[0]
                if offered and len(stored) < depth:
                    payload, offered = (payload + 1) % 256, False
                if waiting and ready:
                    passed += 1
                stored = waiting[1:] if ready else waiting
                await ctx.tick()
            assert passed > 80

        exercise(dut, testbench)


def test_three_words_are_held_in_two_buffers() -> None:
    """Of Cedar's boxes: two words in the buffer of the output, the third in that of the input."""
    packet = Packet(1, 8, flits=True)
    box = WormholeSwitch(packet, radix=2, depth=2, output_depth=2)

    async def testbench(ctx: Any) -> None:
        ctx.set(box.o[1].ready, 0)
        ctx.set(box.i[0].valid, 1)
        accepted = 0
        for _ in range(12):
            ctx.set(box.i[0].payload.tag, 1)
            ctx.set(box.i[0].payload.payload, accepted)
            ctx.set(box.i[0].payload.last, accepted % 3 == 2)
            accepted += ctx.get(box.i[0].ready)
            await ctx.tick()
        assert accepted == 2 + 2  # a packet of three words, and the first of the next
        ctx.set(box.i[0].valid, 0)
        ctx.set(box.o[1].ready, 1)
        for word in range(4):  # one in each cycle
            assert ctx.get(box.o[1].valid)
            assert ctx.get(box.o[1].payload.payload) == word
            await ctx.tick()
        assert not ctx.get(box.o[1].valid)

    exercise(box, testbench)


@pytest.mark.long
@pytest.mark.parametrize("depths", [(2, 2), long((1, 0))], ids=str)
def test_heavy_traffic_has_a_serial_order(depths: tuple[int, int]) -> None:
    """All operations, hot word: no reply is lost or wrong, whatever waits."""
    given = {"depth": depths[0], "output_depth": depths[1], "memory_interval": 2}
    network = ProcessorMemoryNetwork(**SMALL | {"operations": "all"} | given, memory_latency=3)
    result = simulate(
        network, load=0.6, traffic="hotspot:0.3", operations=["all"], cycles=300, warmup=50, seed=7
    )
    assert (result.lost, result.misrouted, result.duplicated) == (0, 0, 0)
    assert result.serializable
    assert result.delivered > 150


@pytest.mark.long
def test_a_module_is_the_bottleneck() -> None:
    """All requests for one module: one every `memory_interval` cycles."""
    network = ProcessorMemoryNetwork(**SMALL, memory_latency=8, memory_interval=4)
    result = simulate(network, load=1, traffic="hotspot:1", operations=["load"], cycles=400)
    assert result.throughput * 4 == pytest.approx(1 / 4, abs=0.01)


def test_links_are_a_word_and_control_lines_wide() -> None:
    """Cedar's have 80 lines; here 64 data, 6 tag, 6 sender, 4 identity, 1 last."""
    network = ProcessorMemoryNetwork(64, radix=8)
    assert network.box.parameters["packet"].size == 64 + 6 + 6 + 4 + 1
    assert network.stages == 2
    assert sum(name.startswith(("box_", "back_")) for name in network.fabric.cells) == 2 * 16


class _Both(wiring.Component):
    """Two components side by side."""

    def __init__(self, *parts: wiring.Component) -> None:
        self.parts = parts
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules += self.parts
        return m


def test_the_second_word_of_a_request_is_its_operand() -> None:
    """Both ends back to back; a third word is sent, and not used."""
    link = MemoryLink(tag=2, identity=1, address=3, width=8)
    tags = multistage_plan("cube", 4, 2).tags()
    first = ProcessorEnd(link, tags=tags, lengths=(1, 2, 3))
    last = MemoryEnd(link, tags=tags)
    names = [operation.name for operation in link.operations]

    async def testbench(ctx: Any) -> None:
        ctx.set(first.address, 2)
        ctx.set(first.o.ready, 1)
        for name, words in (("load", 1), ("store", 2), ("fetch-and-add", 3), ("load", 1)):
            request = first.i.request
            ctx.set(request.payload.address, 5)
            ctx.set(request.payload.operation, names.index(name))
            ctx.set(request.payload.operand, 77)
            ctx.set(request.payload.tag, 1)
            ctx.set(request.valid, 1)
            for word in range(words):
                flit = ctx.get(Value.cast(first.o.payload))
                ctx.set(last_flit, flit)
                ctx.set(last.i.valid, 1)
                ctx.set(last.o.request.ready, word == words - 1)
                assert ctx.get(request.ready) == (word == words - 1)
                assert ctx.get(last.i.ready)
                assert ctx.get(last.o.request.valid) == (word == words - 1)
                if word == words - 1:
                    arrived = last.o.request.payload
                    assert ctx.get(arrived.address) == 5
                    assert ctx.get(arrived.operation) == names.index(name)
                    assert ctx.get(arrived.tag) == 2
                    if name != "load":
                        assert ctx.get(arrived.operand) == 77
                await ctx.tick()

    last_flit = Value.cast(last.i.payload)
    both = _Both(first, last)
    exercise(both, testbench)


test_processor_memory_network_rejects = refusals(
    lambda given: ProcessorMemoryNetwork(**given),
    ({"lengths": "1:2"}, "Lengths must be three numbers of words LOAD:STORE:OTHER, not '1:2'"),
    ({"lengths": "1:1:3"}, "Words of a store must be from 2 to 64, not 1"),
    ({"lengths": "0:2:3"}, "Words of a load must be from 1 to 64, not 0"),
    ({"memory_latency": 0}, "Memory latency must be from 1 to 1024, not 0"),
    ({"memory_interval": 0}, "Memory interval must be from 1 to 1024, not 0"),
    (
        {"width": 7},
        "Width must be at least 8, for an address of 4 bits and an operation of 4, not 7",
    ),
)
