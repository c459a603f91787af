"""What cocotb does to an exported network with the ports of a bus. Runs inside the simulator.

The environment says how many ports there are (COUNT), the bytes of the whole memory (BYTES) and of
a word (LANES); for `overtaking`, whether answers overtake others (REORDER). Each port has a part of
the memory for itself, and in the last word all count.
"""

import os
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine, FallingEdge, Timer, with_timeout
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

PORTS = range(int(os.environ["COUNT"]))
BYTES = int(os.environ["BYTES"])
LANES = int(os.environ["LANES"])
PART = (BYTES - LANES) // len(PORTS) // LANES * LANES
COUNTER = BYTES - LANES
WHOLE = (1 << LANES) - 1
TASKS = 3
"""Bursts that each manager has under way at a time."""
ROUNDS = 5
COUNTS = 6


def random_data(rng: random.Random, least: int, most: int) -> bytes:
    return rng.randbytes(rng.randint(least, most))


async def start(dut: Any, clock: Any, reset: Any, active: int) -> None:
    reset.value = active
    cocotb.start_soon(Clock(clock, 10, "ns").start())
    for _ in range(3):
        await FallingEdge(clock)
    reset.value = 1 - active
    await FallingEdge(clock)


async def all_of(tasks: list[Any]) -> None:
    """Wait for tasks, but not for ever; raise what one of them raised."""
    started = [cocotb.start_soon(task) for task in tasks]
    await with_timeout(Combine(*started), 80, "us")
    for task in started:
        task.result()


async def rules_of_axi(dut: Any) -> None:
    """An answer stays until it is taken. Managers act behind rising edges."""
    kept: dict[tuple[int, str], tuple[int, ...] | None] = {}
    fields = {"b": ("id", "resp"), "r": ("id", "data", "resp", "last")}
    while True:
        await FallingEdge(dut.aclk)
        for p in PORTS:
            for channel, names in fields.items():

                def get(name: str, prefix: str = f"s_axi_{p}_{channel}") -> int:
                    return int(getattr(dut, prefix + name).value)

                before = kept.get((p, channel))
                if not get("valid"):
                    assert before is None, f"{channel}valid of port {p} fell"
                    continue
                now = tuple(map(get, names))
                assert before in (None, now), f"channel {channel} of port {p} changed"
                kept[p, channel] = None if get("ready") else now


def pauses(rng: random.Random) -> Iterator[bool]:
    odds = rng.choice([0.0, 0.3, 0.7])
    while True:
        yield rng.random() < odds


def axi_managers(dut: Any) -> list[AxiMaster]:
    """One at each port, silent about what it does."""
    reset = {"reset": dut.aresetn, "reset_active_level": False}
    managers = [AxiMaster(AxiBus.from_prefix(dut, f"s_axi_{p}"), dut.aclk, **reset) for p in PORTS]
    for manager in managers:
        for face in (manager.write_if, manager.read_if):
            face.log.setLevel("WARNING")
    return managers


@cocotb.test()
async def axi4(dut: Any) -> None:
    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    managers = axi_managers(dut)
    for manager in managers:
        write, read = manager.write_if, manager.read_if
        for channel in (
            write.aw_channel,
            write.w_channel,
            write.b_channel,
            read.ar_channel,
            read.r_channel,
        ):
            channel.set_pause_generator(pauses(rng))
    memory = bytearray(BYTES)
    await start(dut, dut.aclk, dut.aresetn, 0)
    cocotb.start_soon(rules_of_axi(dut))
    size = PART // TASKS // LANES * LANES

    async def bursts(port: int, task: int) -> None:
        """Writes and reads of a part of the memory, in turn."""
        manager, base = managers[port], port * PART + task * size
        for _ in range(ROUNDS):
            data = random_data(rng, 1, min(size, 40))
            at = base + rng.randrange(size - len(data) + 1)
            narrow = rng.randrange(LANES.bit_length())
            done = await manager.write(at, data, size=narrow)
            assert done.resp == AxiResp.OKAY
            memory[at : at + len(data)] = data
            first, last = sorted(rng.sample(range(base, base + size + 1), 2))
            got = await manager.read(first, last - first, size=rng.randrange(LANES.bit_length()))
            assert got.resp == AxiResp.OKAY
            assert got.data == memory[first:last], f"port {port} at {first}"

    async def counting(port: int) -> None:
        """Fetch-and-adds of 1 + port by the second quarter of the addresses."""
        for _ in range(COUNTS):
            step = (port + 1).to_bytes(LANES, "little")
            assert (await managers[port].write(BYTES + COUNTER, step)).resp == AxiResp.OKAY
            got = await managers[port].read(BYTES + COUNTER, LANES)
            old.append((int.from_bytes(got.data, "little"), port + 1))

    old: list[tuple[int, int]] = []
    work = [bursts(port, task) for port in PORTS for task in range(TASKS)]
    await all_of(work + [counting(port) for port in PORTS])
    total = check_counts(old)
    memory[COUNTER:] = total.to_bytes(LANES, "little")
    for manager in (managers[0], managers[-1]):
        got = await with_timeout(manager.read(0, BYTES), 400, "us")
        assert got.data == memory


@cocotb.test()
async def overtaking(dut: Any) -> None:
    """Reads and writes that are sent at once, with an identity for each memory module: some are
    answered before earlier ones if the ports reorder them, and none if they do not."""
    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    master = axi_managers(dut)[0]
    await start(dut, dut.aclk, dut.aresetn, 0)
    cocotb.start_soon(rules_of_axi(dut))
    memory = bytearray(rng.randbytes(BYTES))
    for at in range(0, BYTES, 64 * LANES):
        await with_timeout(master.write(at, memory[at : at + 64 * LANES]), 80, "us")
    ends: dict[str, list[int]] = {"b": [], "r": []}

    async def watch(channel: str) -> None:
        """The identities of its answers, in the order in which they end."""
        bus = {name: getattr(dut, f"s_axi_0_{channel}{name}") for name in ("id", "valid", "ready")}
        last = dut.s_axi_0_rlast if channel == "r" else None
        while True:
            await FallingEdge(dut.aclk)
            if bus["valid"].value and bus["ready"].value and (last is None or last.value):
                ends[channel].append(int(bus["id"].value))

    for channel in ends:
        cocotb.start_soon(watch(channel))
    work = [(module, turn) for turn in range(4) for module in range(len(PORTS))]
    rng.shuffle(work)
    events = []
    for module, turn in work:
        at = (turn * len(PORTS) + module) * LANES
        word = rng.randbytes(LANES)
        events.append((at, master.init_read(at, LANES, arid=module)))
        other = at + 4 * len(PORTS) * LANES
        memory[other : other + LANES] = word
        events.append((None, master.init_write(other, word, awid=module)))
    for at, event in events:
        await with_timeout(event.wait(), 80, "us")
        assert event.data.resp == AxiResp.OKAY
        assert at is None or event.data.data == memory[at : at + LANES]
    sent = [module for module, _ in work]
    for channel, order in ends.items():
        assert sorted(order) == sorted(sent)
        assert (order != sent) == bool(int(os.environ["REORDER"])), channel
    got = await with_timeout(master.read(0, BYTES), 400, "us")
    assert got.data == memory


@cocotb.test()
async def masks(dut: Any) -> None:
    """Each manager writes rows of its own in all modules, by bursts with masks, and reads them."""
    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    managers = axi_managers(dut)
    for manager in managers:
        manager.write_if.b_channel.set_pause_generator(pauses(rng))
    await start(dut, dut.aclk, dut.aresetn, 0)
    cocotb.start_soon(rules_of_axi(dut))
    row = len(PORTS) * LANES
    part = BYTES // len(PORTS) // row * row

    async def bursts(port: int) -> None:
        manager, memory, base = managers[port], bytearray(part), port * part
        for _ in range(4 * ROUNDS):
            data = random_data(rng, 1, min(part, 3 * LANES))
            at, mask = rng.randrange(part - len(data) + 1), rng.choice(PORTS)
            done = await manager.write(base + at, data, user=mask)
            assert done.resp == AxiResp.OKAY
            for where, byte in enumerate(data, at):
                word, lane = divmod(where, LANES)
                for other in PORTS:  # those of the row that differ only in bits of the mask
                    if (word ^ other) % len(PORTS) & ~mask == 0:
                        memory[where // row * row + other * LANES + lane] = byte
            got = await manager.read(base, part)
            assert got.data == memory, f"port {port} at {at} with mask {mask}"

    await all_of([bursts(port) for port in PORTS])


def check_counts(old: list[tuple[int, int]]) -> int:
    """The old values are the sums in some order of the additions; returns the last sum."""
    total = 0
    for value, step in sorted(old):
        assert value == total, f"fetch-and-adds found {sorted(old)}"
        total += step
    assert len(old) == COUNTS * len(PORTS)
    return total


@cocotb.test()
async def wishbone(dut: Any) -> None:
    from cocotbext.wishbone.driver import WBOp, WishboneMaster

    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    # The drivers set their signals at once, of which Icarus 11 loses what comes before time begins.
    await Timer(1, "ns")
    required = ("cyc", "stb", "we", "adr", "ack")
    names = {**{name: name for name in required}, "datwr": "dat_w", "datrd": "dat_r"}
    initiators = [
        WishboneMaster(dut, f"wb_{p}", dut.clk, timeout=200, width=8 * LANES, signals_dict=names)
        for p in PORTS
    ]
    for initiator in initiators:
        initiator.log.setLevel("WARNING")
    words, part = BYTES // LANES, PART // LANES
    memory = [0] * words
    await start(dut, dut.clk, dut.rst, 1)
    old: list[tuple[int, int]] = []

    async def accesses(port: int) -> None:
        """Cycles of several transfers each: stores of some bytes, loads, and a fetch-and-add."""
        for _ in range(COUNTS):
            operations, expected = [], []
            for _ in range(rng.randint(1, 8)):
                at, idle = port * part + rng.randrange(part), rng.choice([0, 0, 3])
                if rng.random() < 0.5:
                    value, sel = rng.getrandbits(8 * LANES), rng.getrandbits(LANES)
                    mask = sum(0xFF << 8 * n for n in range(LANES) if sel >> n & 1)
                    operations.append(WBOp(at, value, idle, sel))
                    memory[at] = memory[at] & ~mask | value & mask
                    expected.append(None)
                else:
                    operations.append(WBOp(at, idle=idle, sel=WHOLE))
                    expected.append(memory[at])
            operations.append(WBOp(words + words - 1, port + 1, sel=WHOLE))
            results = await initiators[port].send_cycle(operations)
            assert [result.ack for result in results] == [1] * len(operations)
            for result, due in zip(results, expected):
                assert due is None or int(result.datrd) == due
            old.append((int(results[-1].datrd), port + 1))

    await all_of([accesses(port) for port in PORTS])
    memory[-1] = check_counts(old)
    for initiator in (initiators[0], initiators[-1]):
        results = await initiator.send_cycle([WBOp(at, sel=WHOLE) for at in range(words)])
        assert [int(result.datrd) for result in results] == memory
