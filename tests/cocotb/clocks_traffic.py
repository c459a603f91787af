"""What cocotb does to a network with AXI4-Stream ports whose terminals have clocks of their own.

The environment has the periods in picoseconds (PERIODS): of the network, and of each terminal; the
address of each terminal as `tdest` has it (ADDRESSES), and the most beats of a packet (BEATS).
"""

import json
import os
import random
from collections import defaultdict
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

ADDRESSES = json.loads(os.environ["ADDRESSES"])
TERMINALS = range(len(ADDRESSES))
BEATS = int(os.environ["BEATS"])
PACKETS = 40
"""Packets from each terminal."""


@cocotb.test()
async def terminals_with_clocks(dut: Any) -> None:
    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    period, *periods = json.loads(os.environ["PERIODS"])
    clocks = [getattr(dut, f"terminal_{t}_aclk") for t in TERMINALS]
    resets = [getattr(dut, f"terminal_{t}_aresetn") for t in TERMINALS]
    for reset in (dut.aresetn, *resets):
        reset.value = 0
    sources, sinks = (
        [
            kind(
                AxiStreamBus.from_prefix(dut, f"{side}_axis_{t}"),
                clocks[t],
                reset=resets[t],
                reset_active_level=False,
            )
            for t in TERMINALS
        ]
        for side, kind in (("s", AxiStreamSource), ("m", AxiStreamSink))
    )
    for device in (*sources, *sinks):
        device.log.setLevel("WARNING")
    for clock, each in zip((dut.aclk, *clocks), (period, *periods)):
        cocotb.start_soon(Clock(clock, each, "ps").start(start_high=False))
    await Timer(6 * max(period, *periods), "ps")
    # The resets end one by one.
    for reset, clock in zip((dut.aresetn, *resets), (dut.aclk, *clocks)):
        await ClockCycles(clock, 2)
        reset.value = 1
    expected: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    for t in TERMINALS:
        sources[t].set_pause_generator(_pauses(rng.random()))
        sinks[t].set_pause_generator(_pauses(rng.random()))
        for number in range(PACKETS):
            destination = rng.choice(TERMINALS)
            # Source and number are in each beat of two bytes.
            beat = (t << 12 | number).to_bytes(2, "little")
            packet = beat * rng.randint(1, BEATS)
            expected[t, destination].append(packet)
            sources[t].send_nowait(AxiStreamFrame(packet, tdest=ADDRESSES[destination]))
    arrived: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    for t in TERMINALS:
        for _ in range(sum(len(sent) for (_, to), sent in expected.items() if to == t)):
            frame = await with_timeout(sinks[t].recv(), 1, "ms")
            packet = bytes(frame.tdata)
            arrived[packet[1] >> 4, t].append(packet)
    assert arrived == expected
    await Timer(100 * max(period, *periods), "ps")
    assert all(sink.empty() for sink in sinks), "packets come out that never went in"


def _pauses(odds: float) -> Any:
    rng = random.Random(odds)
    while True:
        yield rng.random() < odds / 2
