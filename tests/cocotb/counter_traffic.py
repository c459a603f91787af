"""What cocotb does to a counter, and what it sees of it at each kind of moment; see SEEN."""

import json
import os
import random
from pathlib import Path
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.handle import Immediate
from cocotb.triggers import (
    ClockCycles,
    FallingEdge,
    First,
    NextTimeStep,
    ReadOnly,
    ReadWrite,
    RisingEdge,
    Timer,
    ValueChange,
)
from cocotb.utils import get_sim_time


@cocotb.test()
async def counts(dut: Any) -> None:
    seen: list[Any] = []

    def look(moment: str) -> None:
        values = [str(each.value) for each in (dut.enable, dut.step, dut.count, dut.sum)]
        seen.append([moment, get_sim_time("ps"), *values])

    async def watch() -> None:
        while True:
            await ValueChange(dut.sum)
            seen.append(["sum", get_sim_time("ps")])

    rng = random.Random(1)
    dut.rst.value = dut.enable.value = dut.step.value = 0
    clock = Clock(dut.clk, 10, "ns", period_high=4)
    clock.start()
    await ClockCycles(dut.clk, 2)
    cocotb.start_soon(watch())
    for _ in range(20):
        dut.enable.value = rng.random() < 0.7
        dut.step.value = rng.randrange(256)
        look("written")
        await ReadWrite()
        look("read and write")
        await RisingEdge(dut.clk)
        look("rising edge")
        await ReadOnly()
        look("read only")
        await NextTimeStep()
        look("next")
        await First(FallingEdge(dut.clk), Timer(rng.choice((3, 11)), "ns"))
        look("falling edge or later")
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    look("reset")
    clock.stop()
    await Timer(100, "ns")
    look("stopped")
    Path(os.environ["SEEN"]).write_text(json.dumps(seen))


@cocotb.test()
async def has_rows(dut: Any) -> None:
    assert [int(row.value) for row in dut.rows] == [5, 6, 7]
    dut.rows[1].value = 99
    await Timer(1, "ns")
    assert dut.rows[1].value == 99
    assert len(dut.rows) == 3
    dut.step.value = 0
    dut.step[2].value = dut.rows[1][0].value = 1
    dut.rows[1][1].value = 0
    await Timer(1, "ns")
    assert (dut.step.value, dut.rows[1].value) == (4, 97)
    assert [int(bit.value) for bit in dut.step] == [0, 0, 1, 0, 0, 0, 0, 0]
    assert dut.inner.twice.value == 2 * int(dut.count.value)
    with pytest.raises(NotImplementedError, match=r"^sum can.t be written here: logic makes it$"):
        dut.sum.value = Immediate(1)


@cocotb.test()
async def fails(dut: Any) -> None:
    assert dut.count.value == 54321
