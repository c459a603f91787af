"""Networks with AXI4 and Wishbone ports in Amaranth's simulator: the corner cases."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect
from driving import evaluate, exercise
from long_runs import long
from multicube.hdl import build
from multicube.hdl.graphs.routing.group_tree import Kind
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.networks.buses import AxiNetwork, WishboneNetwork
from multicube.hdl.networks.group_port import GroupPortNetwork
from multicube.hdl.networks.remote_memory_network import RemoteMemory
from multicube.hdl.operations.bus_operations import bus_operations, row_bits
from multicube.hdl.operations.combining_rules import Rules
from multicube.hdl.operations.operation_unit import OperationUnit
from multicube.hdl.terminals.axi import AxiTarget
from multicube.hdl.terminals.bus_words import WordMap
from multicube.hdl.terminals.memory_module import MemoryModule
from multicube.hdl.terminals.remote_memory import RemoteProcessorEnd, reply_payload, request_payload
from multicube.hdl.terminals.wishbone import WishboneTarget

OKAY, SLVERR, DECERR = 0, 2, 3
FIXED, INCR, WRAP = 0, 1, 2
ADD, CLR, EOR, SET = range(4)


async def until(ctx: Any, signal: Any) -> None:
    for _ in range(200):
        if ctx.get(signal):
            return
        await ctx.tick()
    raise TimeoutError(f"{signal!r} stays 0")


class Manager:
    """One AXI4 port, one transaction at a time."""

    def __init__(self, ctx: Any, port: Any) -> None:
        self.ctx = ctx
        self.port = port

    async def _send(self, channel: str, **fields: int) -> None:
        for name, value in fields.items():
            self.ctx.set(getattr(self.port, channel + name), value)
        self.ctx.set(getattr(self.port, f"{channel}valid"), 1)
        await until(self.ctx, getattr(self.port, f"{channel}ready"))
        await self.ctx.tick()
        self.ctx.set(getattr(self.port, f"{channel}valid"), 0)

    async def _take(self, channel: str, *names: str) -> list[int]:
        await until(self.ctx, getattr(self.port, f"{channel}valid"))
        taken = [self.ctx.get(getattr(self.port, channel + name)) for name in names]
        self.ctx.set(getattr(self.port, f"{channel}ready"), 1)
        await self.ctx.tick()
        self.ctx.set(getattr(self.port, f"{channel}ready"), 0)
        return taken

    async def write(
        self,
        address: int,
        words: list[int],
        *,
        strobes: int | list[int] = 15,
        burst: int = INCR,
        size: int = 2,
        **more: int,
    ) -> int:
        """The response."""
        about = {"addr": address, "len": len(words) - 1, "size": size, "burst": burst, "id": 5}
        await self._send("aw", **about, **more)
        each = strobes if isinstance(strobes, list) else [strobes] * len(words)
        for number, (word, own) in enumerate(zip(words, each)):
            await self._send("w", data=word, strb=own, last=number == len(words) - 1)
        identity, response = await self._take("b", "id", "resp")
        assert identity == 5
        return response

    async def read(
        self, address: int, count: int = 1, *, burst: int = INCR, size: int = 2
    ) -> tuple[list[int], set[int]]:
        """The words, and the responses."""
        await self._send("ar", addr=address, len=count - 1, size=size, burst=burst, id=9)
        taken = [await self.beat() for _ in range(count)]
        assert [beat[:2] for beat in taken] == [[9, n == count - 1] for n in range(count)]
        return [beat[2] for beat in taken], {beat[3] for beat in taken}

    async def beat(self) -> list[int]:
        return await self._take("r", "id", "last", "data", "resp")

    async def atomic(self, address: int, word: int, code: int, **more: int) -> tuple[int, int]:
        """The old value and the response."""
        response = await self.write(address, [word], atop=code, **more)
        identity, last, value, same = await self.beat()
        assert (identity, last, same) == (5, 1, response)
        return value, response


def test_bursts() -> None:
    """INCR, WRAP and FIXED bursts, of whole and of narrow beats."""
    network = AxiNetwork(build("cube", ports=2, payload=32), rows=16)

    async def testbench(ctx: Any) -> None:
        one, other = (Manager(ctx, network.port(p)) for p in range(2))
        assert await one.write(0x10, [1, 2, 3, 4]) == OKAY
        assert await other.read(0x10, 4) == ([1, 2, 3, 4], {OKAY})
        assert await other.read(0x18, 4, burst=WRAP) == ([3, 4, 1, 2], {OKAY})
        assert await one.write(0x1C, [5, 6, 7, 8], burst=WRAP) == OKAY
        assert await one.read(0x10, 4) == ([6, 7, 8, 5], {OKAY})
        assert await one.write(0x20, [9, 10], burst=FIXED) == OKAY
        assert await one.read(0x20, 2, burst=FIXED) == ([10, 10], {OKAY})
        # Beats of one byte stay in their lanes.
        assert await other.write(0x22, [0x110000], strobes=4, size=0) == OKAY
        assert await other.read(0x21, 4, size=0) == ([0x11000A] * 3 + [0], {OKAY})
        # Beats of half a word, from an address that is not aligned.
        assert await other.read(0x23, 2, size=1) == ([0x11000A, 0], {OKAY})

    exercise(network, testbench)


class Slow(Manager):
    """Takes answers late, and sees to it that they stay as they are."""

    draw = random.Random(3)

    async def _take(self, channel: str, *names: str) -> list[int]:
        await until(self.ctx, getattr(self.port, f"{channel}valid"))
        shown = [self.ctx.get(getattr(self.port, channel + name)) for name in names]
        for _ in range(self.draw.randrange(3)):
            await self.ctx.tick()
            assert self.ctx.get(getattr(self.port, f"{channel}valid"))
            assert shown == [self.ctx.get(getattr(self.port, channel + name)) for name in names]
        return await super()._take(channel, *names)


def beats_of(kind: int, start: int, size: int, count: int) -> list[range] | None:
    """The bytes of each beat, as in A3.4 of the standard; None if it forbids the burst."""
    width = 1 << size
    first = start // width * width
    whole = range(start, first + width)
    if kind == FIXED:
        return [whole] * count if count <= 16 else None
    if kind == INCR:
        crosses = start // 4096 != (first + count * width - 1) // 4096
        rest = [range(first + n * width, first + (n + 1) * width) for n in range(1, count)]
        return None if crosses else [whole, *rest]
    if start != first or count not in (2, 4, 8, 16):
        return None
    low = start // (width * count) * width * count
    ats = [low + (start - low + n * width) % (width * count) for n in range(count)]
    return [range(at, at + width) for at in ats]


@pytest.mark.long
@pytest.mark.parametrize("reorder", [False, long(True)])
def test_bursts_follow_the_standard(reorder: bool) -> None:
    """Of all kinds, narrow and unaligned, that wrap or must not; byte by byte."""
    network = AxiNetwork(build("cube", ports=2, payload=32), rows=16, reorder=reorder)
    draw, memory = random.Random(7), bytearray(128)
    kinds: set[tuple[int, bool]] = set()

    async def testbench(ctx: Any) -> None:
        manager = Slow(ctx, network.port(0))
        for turn in range(60):
            kind, size = draw.choice((FIXED, INCR, WRAP)), draw.randrange(3)
            count = draw.choice((1, 2, 2, 3, 4, 4, 8, 8, 16, 17))
            start = draw.randrange(128)
            if kind == INCR:
                start = draw.randrange(128 - (count << size) + 1)
            if kind == WRAP and draw.random() < 0.8:
                start = start >> size << size
            beats = beats_of(kind, start, size, count)
            kinds.add((kind, beats is not None))
            if turn % 2:
                words, responses = await manager.read(start, count, burst=kind, size=size)
                assert responses == {SLVERR if beats is None else OKAY}
                for word, own in zip(words, beats or ()):
                    shown = word.to_bytes(4, "little")
                    assert all(shown[at % 4] == memory[at] for at in own)
                continue
            words = [draw.randrange(1 << 32) for _ in range(count)]
            strobes = [sum(1 << at % 4 for at in own) for own in beats or [range(4)] * count]
            response = await manager.write(start, words, strobes=strobes, burst=kind, size=size)
            assert response == (SLVERR if beats is None else OKAY)
            for word, own in zip(words, beats or ()):
                for at in own:
                    memory[at] = word.to_bytes(4, "little")[at % 4]

    exercise(network, testbench)
    assert len(kinds) >= 5


@pytest.mark.long
def test_one_network_of_two_classes() -> None:
    """Requests and replies share links, and do not wait for each other."""
    mesh = build("mesh", k=2, n=1, classes=2, payload=32)
    network = AxiNetwork(mesh, rows=16)
    once, twice = (AxiNetwork(each, rows=16).fabric for each in (mesh, mesh.altered(classes=1)))
    routers = [sum("router_" in name for name in each.cells) for each in (once, twice)]
    assert routers == [2, 4]

    async def testbench(ctx: Any) -> None:
        one, other = (Manager(ctx, network.port(p)) for p in range(2))
        assert await one.write(0x10, [1, 2, 3, 4]) == OKAY
        assert await other.write(0x20, [5, 6, 7]) == OKAY
        assert await other.read(0x10, 7) == ([1, 2, 3, 4, 5, 6, 7], {OKAY})
        assert await one.read(0x1C, 4) == ([4, 5, 6, 7], {OKAY})

    exercise(network, testbench)


@pytest.mark.long
def test_bursts_stay_in_four_kilobytes() -> None:
    network = AxiNetwork(build("cube", ports=2, payload=32), rows=1024)

    async def testbench(ctx: Any) -> None:
        one = Manager(ctx, network.port(1))
        assert await one.write(0xFF8, [1, 2]) == OKAY
        assert await one.write(0xFF8, [3, 4, 5]) == SLVERR
        assert await one.write(0xFFD, [7, 7, 6], size=1, strobes=0) == SLVERR
        assert await one.read(0xFF8, 2) == ([1, 2], {OKAY})
        assert (await one.read(0xFFC, 2))[1] == {SLVERR}
        assert await one.read(0x1000, 1) == ([0], {OKAY})
        assert (await one.read(0x7FFC, 2))[1] == {SLVERR}  # the last address

    exercise(network, testbench)


def test_errors() -> None:
    """What is not performed is said, and changes nothing."""
    network = AxiNetwork(build("combining", ports=2, rows=3, width=32), atomics=True)
    window = 32  # bytes of a quarter of the addresses: 2 modules of 3 words, in powers of two

    async def testbench(ctx: Any) -> None:
        one = Manager(ctx, network.port(0))
        assert await one.write(0x14, [1, 2, 3]) == DECERR
        assert await one.read(0x14, 1) == ([1], {OKAY})
        assert await one.write(0x1C, [1, 0]) == DECERR  # its second beat adds 0 to a word
        _, responses = await one.read(0x14, 2)
        assert responses == {OKAY, DECERR}
        assert await one.write(0x14, [7], burst=3) == SLVERR
        assert await one.write(0x14, [7], size=3) == SLVERR
        assert await one.write(window + 0x14, [7], strobes=7) == SLVERR
        assert await one.write(0x14, [7], strobes=0) == OKAY
        assert (await one.atomic(0x14, 7, 0b110001))[1] == SLVERR  # AtomicCompare
        assert (await one.atomic(0x14, 7, 0b100100))[1] == SLVERR  # SMAX
        assert (await one.atomic(0x14, 7, 0b101000))[1] == SLVERR  # big-endian
        assert (await one.atomic(0x14, 7, 0b100000, strobes=14))[1] == SLVERR
        assert (await one.atomic(0x18, 7, 0b100000))[1] == DECERR
        # Of several beats: as many on R as on W, of AtomicCompare half.
        for code, beats in ((0b100000, 4), (0b110001, 2)):
            assert await one.write(0x8, [7] * 4, atop=code) == SLVERR
            last = [(await one.beat())[1::2] for _ in range(beats)]
            assert last == [[n == beats - 1, SLVERR] for n in range(beats)]
        assert (await one.read(0x14, 1, burst=3))[1] == {SLVERR}
        assert await one.read(0x14, 1) == ([1], {OKAY})

    exercise(network, testbench)


@pytest.mark.long
def test_read_modify_writes() -> None:
    """By the quarters of the addresses, and by the atomics of AXI5."""
    network = AxiNetwork(build("torus", k=2, n=1, payload=32), rows=4, atomics=True)
    window = 32

    async def testbench(ctx: Any) -> None:
        one, other = (Manager(ctx, network.port(p)) for p in range(2))
        value = 0xF0
        assert await one.write(8, [value]) == OKAY
        for quarter, operand, result in ((1, 0x0F, 0xFF), (2, 0x3C, 0x3C), (3, 0x81, 0xBD)):
            assert await one.write(quarter * window + 8, [operand]) == OKAY
            assert await other.read(8) == ([result], {OKAY})
            assert await one.read(quarter * window) == ([value], {OKAY})
            value = result
        cases = (
            (0b100000 + ADD, 0xFFFFFFFF, 0xBC),
            (0b100000 + CLR, 0x3C, 0x80),
            (0b100000 + EOR, 0x81, 0x01),
            (0b100000 + SET, 0x10, 0x11),
            (0b110000, 0x77, 0x77),
        )
        for code, operand, result in cases:
            assert await other.atomic(8, operand, code) == (value, OKAY)
            value = result
            assert await one.read(8) == ([value], {OKAY})
        assert await one.write(8, [1], atop=0b010000 + ADD) == OKAY
        assert await other.read(8) == ([0x78], {OKAY})

    exercise(network, testbench)


@pytest.mark.long
def test_beats_follow_each_other() -> None:
    """A long burst takes one cycle for each beat, once the first has been answered."""
    network = AxiNetwork(build("cube", ports=4, payload=32), rows=16)
    cycles = []

    async def testbench(ctx: Any) -> None:
        port = network.port(0)
        for name, value in {"arlen": 31, "arsize": 2, "arburst": INCR, "arvalid": 1}.items():
            ctx.set(getattr(port, name), value)
        ctx.set(port.rready, 1)
        await until(ctx, port.arready)
        await ctx.tick()
        ctx.set(port.arvalid, 0)
        for cycle in range(100):
            if ctx.get(port.rvalid):
                cycles.append(cycle)
            await ctx.tick()

    exercise(network, testbench)
    assert len(cycles) == 32
    assert cycles[-1] - cycles[0] == 31


def test_an_atomic_is_not_answered_within_a_burst() -> None:
    network = AxiNetwork(build("cube", ports=2, payload=32), rows=4, atomics=True)
    port, seen = network.port(0), []

    async def testbench(ctx: Any) -> None:
        manager = Manager(ctx, port)
        await manager._send("ar", addr=0, len=3, size=2, burst=INCR, id=9)
        await until(ctx, port.rvalid)
        assert await manager.write(0, [1], atop=0b100000) == OKAY
        await ctx.tick().repeat(9)
        seen.extend([(await manager.beat())[0] for _ in range(5)])

    exercise(network, testbench)
    assert seen == [9, 9, 9, 9, 5]


@pytest.mark.parametrize("reorder", [False, True])
def test_identities_overtake_each_other(reorder: bool) -> None:
    """Bursts of two beats, of which memory answers those at low addresses late, and one that fails.
    In order if they have the same identity, or if the ports keep the order."""
    link = MemoryLink(
        tag=1, identity=4, address=4, width=row_bits(32), operations=bus_operations(32)
    )
    target = AxiTarget(link, words=WordMap((1,), 16, 1), data=32, reorder=reorder)
    bus, request, reply = target.bus, target.o.request, target.o.reply
    late, soon, wrong = (0x10, INCR), (0x40, INCR), (0x20, 3)

    async def memory(ctx: Any) -> None:
        waiting: list[tuple[int, int, int]] = []  # until when, for which request and row
        ctx.set(request.ready, 1)
        for cycle in range(190):
            due = min((each for each in waiting if each[0] <= cycle), default=None)
            ctx.set(reply.valid, due is not None)
            if due:
                waiting.remove(due)
                ctx.set(reply.payload.identity, due[1])
                ctx.set(reply.payload.value, due[2])
            _, _, valid, asked = await ctx.tick().sample(request.valid, request.payload)
            if valid:
                waiting.append(
                    (cycle + (2 if asked.address & 8 else 30), asked.identity, asked.address)
                )

    async def read(ctx: Any, *bursts: tuple[int, tuple[int, int]]) -> list[tuple[int, int, int]]:
        """The identity of each beat, its last bit, and its row."""
        beats, waiting = [], list(bursts)
        ctx.set(bus.rready, 1)
        for _ in range(60):
            if ctx.get(bus.arready):
                ctx.set(bus.arvalid, bool(waiting))
                if waiting:
                    identity, (address, kind) = waiting.pop(0)
                    about = {"id": identity, "addr": address, "burst": kind, "len": 1, "size": 2}
                    for name, value in about.items():
                        ctx.set(getattr(bus, f"ar{name}"), value)
            if ctx.get(bus.rvalid):
                row = -1 if ctx.get(bus.rresp) else ctx.get(bus.rdata)
                beats.append((ctx.get(bus.rid), ctx.get(bus.rlast), row))
            await ctx.tick()
        return beats

    def whole(*bursts: tuple[int, tuple[int, int]]) -> list[tuple[int, int, int]]:
        return [
            (identity, last, (address // 4 + last) // 2 if kind == INCR else -1)
            for identity, (address, kind) in bursts
            for last in (0, 1)
        ]

    async def testbench(ctx: Any) -> None:
        first, second, third = sent = (1, late), (2, soon), (3, wrong)
        assert await read(ctx, *sent) == whole(*((second, third, first) if reorder else sent))
        same = (1, late), (1, soon), (1, wrong)
        assert await read(ctx, *same) == whole(*same)
        sent = first, (1, soon), third
        assert await read(ctx, *sent) == whole(*((third, *sent[:2]) if reorder else sent))

    exercise(target, testbench, memory)


@pytest.mark.parametrize("latency", [1, 4])
@pytest.mark.parametrize("target", [AxiTarget, WishboneTarget])
def test_two_cycles_are_added(target: type[AxiTarget] | type[WishboneTarget], latency: int) -> None:
    """To those of a memory that is the whole network, for a load and for a store."""
    link = MemoryLink(
        tag=1, identity=4, address=4, width=row_bits(32), operations=bus_operations(32)
    )
    m = Module()
    m.submodules.target = port = target(link, words=WordMap((1,), 16, 1), data=32)
    m.submodules.memory = memory = MemoryModule(link, latency=latency)
    connect(m, port.o, memory.i)
    bus = port.bus
    starts: list[tuple[dict[str, int], str, str]] = [
        ({"cyc": 1, "stb": 1, "sel": 15, "we": we}, "stb", "ack") for we in (0, 1)
    ]
    if target is AxiTarget:
        starts = [
            ({"arvalid": 1, "arsize": 2, "rready": 1}, "arready", "rvalid"),
            (
                {"awvalid": 1, "awsize": 2, "wvalid": 1, "wlast": 1, "bready": 1},
                "awready",
                "bvalid",
            ),
        ]

    async def testbench(ctx: Any) -> None:
        for fields, accepted, answered in starts:
            for name, value in fields.items():
                ctx.set(getattr(bus, name), value)
            await until(ctx, getattr(bus, accepted))
            for cycle in range(latency + 2):
                assert not ctx.get(getattr(bus, answered)), cycle
                await ctx.tick()
            assert ctx.get(getattr(bus, answered))
            await ctx.tick()
            for name in fields:
                ctx.set(getattr(bus, name), 0)
            await ctx.tick().repeat(2 * latency + 4)

    exercise(m, testbench)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("family", ["cube", "processor-memory"])
def test_wishbone(family: str) -> None:
    """Stores of bytes, loads, read-modify-writes, errors, and a cycle that is given up."""
    words = {"payload": 32} if family == "cube" else {"width": 32}
    network = WishboneNetwork(build(family, ports=4, **words), rows=12)
    window = 64

    async def testbench(ctx: Any) -> None:
        async def access(p: int, adr: int, word: int | None = None, sel: int = 15) -> int | None:
            """What is read, or the old value; None after an error."""
            port = network.port(p)
            fields = {"adr": adr, "dat_w": word or 0, "sel": sel, "we": word is not None}
            for name, value in fields.items():
                ctx.set(getattr(port, name), value)
            ctx.set(port.cyc, 1)
            ctx.set(port.stb, 1)
            await until(ctx, port.ack | port.err)
            seen = ctx.get(port.dat_r) if ctx.get(port.ack) else None
            await ctx.tick()
            ctx.set(port.stb, 0)
            return seen

        await access(0, 5, 0x12345678)
        await access(1, 5, 0xAABBCCDD, 0b0110)
        assert await access(2, 5) == 0x12BBCC78
        assert await access(3, window + 5, 8) == 0x12BBCC78
        assert await access(3, window) == 0x12BBCC78
        assert await access(2, 5) == 0x12BBCC80
        assert await access(3, window + 5, 8, 0b0111) is None
        assert await access(0, 48) is None
        # One that is given up after two cycles; its reply is not taken for that of the next.
        port = network.port(0)
        for name, value in {"adr": 5, "we": 0, "stb": 1}.items():
            ctx.set(getattr(port, name), value)
        await ctx.tick().repeat(2)
        ctx.set(port.stb, 0)
        await ctx.tick()
        assert await access(0, 47) == 0
        assert await access(0, 5) == 0x12BBCC80

    exercise(network, testbench)


@pytest.mark.parametrize("data", [8, 32])
def test_masked_stores_are_associative_and_match_their_hardware(data: int) -> None:
    rng = random.Random(data)
    operations, width = bus_operations(data), row_bits(data)
    store = operations[1]
    assert Rules(operations).combined(store, store) is store
    unit = OperationUnit(operations, width)

    async def testbench(ctx: Any) -> None:
        ctx.set(unit.operation, 1)
        for _ in range(50):
            x, e, f = (rng.getrandbits(width) for _ in range(3))
            after = store.perform(store.perform(x, e, width), f, width)
            assert after == store.perform(x, store.perform(e, f, width), width)
            ctx.set(unit.x, x)
            ctx.set(unit.operand, e)
            await ctx.delay(1e-9)
            assert ctx.get(unit.result) == store.perform(x, e, width)
            bytes_ = [(e if e >> data + n & 1 else x) >> 8 * n & 0xFF for n in range(data // 8)]
            stored = ctx.get(unit.result) & (1 << data) - 1
            assert stored.to_bytes(data // 8, "little") == bytes(bytes_)

    evaluate(unit, testbench)


REJECTED: dict[str, tuple[type, str, dict[str, Any], str]] = {
    "width": (WishboneNetwork, "cube", {"payload": 24}, "Data width must be 8, 16, 32 or 64 bits"),
    "words": (AxiNetwork, "processor-memory", {}, "must be 8, 16 or 32 bits with processor-"),
    "ports": (
        AxiNetwork,
        "torus",
        {"k": 3, "payload": 32},
        "Buses and computers need a power of two of",
    ),
    "lossy": (AxiNetwork, "cube", {"switch": "unbuffered", "payload": 32}, "that loses no packet"),
    "order": (
        AxiNetwork,
        "hypercube",
        {"n": 3, "routing": "adaptive", "payload": 32},
        "that keeps packets in order",
    ),
    "outstanding": (
        AxiNetwork,
        "combining",
        {"outstanding": 2},
        "An AXI4 port needs three outstanding requests",
    ),
}


@pytest.mark.parametrize("case", REJECTED)
def test_buses_reject(case: str) -> None:
    kind, family, parameters, message = REJECTED[case]
    with pytest.raises(ValueError, match=message):
        kind(build(family, **parameters))


@pytest.mark.long
def test_remote_memory_is_a_network_with_memory() -> None:
    """Requests of all operations, without a bus."""
    network = RemoteMemory(build("cube", ports=4), width=16)

    async def testbench(ctx: Any) -> None:
        link = network.i[1]
        names = [operation.name for operation in network.operations]
        for name, operand, due in (("store", 7, None), ("fetch-and-add", 5, 7), ("load", 0, 12)):
            request = {"tag": 3, "identity": 9, "address": 2, "operand": operand}
            ctx.set(link.request.payload, {**request, "operation": names.index(name)})
            ctx.set(link.request.valid, 1)
            ctx.set(link.reply.ready, 1)
            await until(ctx, link.request.ready)
            await ctx.tick()
            ctx.set(link.request.valid, 0)
            await until(ctx, link.reply.valid)
            reply = ctx.get(link.reply.payload)
            assert (reply.tag, reply.identity) == (3, 9)
            assert due is None or reply.value == due
            await ctx.tick()

    exercise(network, testbench)


COPIED = {
    "cube": {"ports": 4, "payload": 32, "broadcast": 1},
    "dcsh": {"k": 4, "n": 1, "payload": 32, "broadcast": 1},
    "mesh": {"k": 2, "n": 2, "payload": 32, "group_entries": 4, "reduction": "none"},
}


@pytest.mark.parametrize("family", ["cube", long("dcsh"), "mesh"])
def test_a_write_to_several_modules(family: str) -> None:
    """Whatever the mask, all words that it names and no others have the beat when it is answered;
    what is not a plain store is refused, and changes nothing. Group p is all modules, from p on."""
    network = AxiNetwork(build(family, **COPIED[family]), rows=4, atomics=True)
    grouped = network.network.groups > 0
    rng = random.Random(49)
    words, quarter = [0] * 16, 16 * 4

    async def testbench(ctx: Any) -> None:
        managers = [Manager(ctx, network.port(p)) for p in range(4)]
        for mask in [0, 3, 0, 3, 3] if grouped else [*range(4), 3]:
            first, count = rng.randrange(12), rng.randint(1, 4)
            beats = [rng.getrandbits(32) for _ in range(count)]
            by = rng.randrange(4)
            done = await managers[by].write(4 * first, beats, user=mask | grouped * by << 2)
            assert done == OKAY
            for at, beat in enumerate(beats, first):
                for word in range(16):
                    if word // 4 == at // 4 and (word ^ at) & 3 & ~mask == 0:
                        words[word] = beat
            assert await rng.choice(managers).read(0, 16) == (words, {OKAY})
        assert await managers[1].write(quarter, [1], user=2) == SLVERR
        assert await managers[1].write(0, [1], user=1, atop=0b010000) == SLVERR
        assert await managers[1].atomic(0, 1, 0b110000, user=3) == (0, SLVERR)
        assert await managers[0].read(0, 16) == (words, {OKAY})

    exercise(network, testbench)
    assert len(network.port(0).awuser) == (4 if grouped else 2)
    assert not hasattr(AxiNetwork(build("cube", ports=4, payload=32)).port(0), "awuser")


@pytest.mark.parametrize("ports", [AxiNetwork, WishboneNetwork])
def test_routers_between_buses_merge_nothing(ports: type[AxiNetwork | WishboneNetwork]) -> None:
    """So a bit that a simulator does not know makes no others unknown, as it would in a sum."""
    given, plain = (
        ports(build("mesh k=2 n=1 payload=8 group_entries=2", reduction=reduction))
        for reduction in ("add", "none")
    )
    assert given.network.parameters["reduction"] == "none"
    assert given.fabric.cells == plain.fabric.cells
    ported = GroupPortNetwork(given)
    (row, *_) = ported.rows({1: (0, [0, 1])})
    assert {"group_write", *row} == {name for name in ported.signature.members if "group" in name}


def test_copies_for_a_group_overtake_nothing() -> None:
    """They may take another path, so they wait for the replies of what was sent before."""
    network = build("mesh k=2 n=2 group_entries=4 reduction=none")
    link = MemoryLink(tag=2, identity=2, address=1, width=4)
    sent, received = map(network.packet_of, (request_payload(link), reply_payload(link)))
    end = RemoteProcessorEnd(link, sent, received, network.tags, queued=False, copies=True)

    async def testbench(ctx: Any) -> None:
        ctx.set(end.o.ready, 1)
        ctx.set(end.i.reply.ready, 1)
        ctx.set(end.i.request.valid, 1)
        to_one, to_all = 0b01, 0b10_11_01
        for identity, (tag, ready) in enumerate([(to_one, 1), (to_one, 1), (to_all, 0)]):
            ctx.set(end.i.request.payload, {"tag": tag, "identity": identity})
            assert (ctx.get(end.i.request.ready), ctx.get(end.o.valid)) == (ready, ready)
            await ctx.tick()
        ctx.set(end.back.valid, 1)
        for identity in range(2):
            ctx.set(end.back.payload.payload.identity, identity)
            assert not ctx.get(end.o.valid)
            await ctx.tick()
        ctx.set(end.back.valid, 0)
        packet = ctx.get(end.o.payload)
        assert (ctx.get(end.o.valid), packet.kind, packet.tag) == (1, Kind.MULTICAST, 0b10)

    exercise(end, testbench)
