"""Crossbars as networks of the catalogue, and wide boxes: the same choices, with less logic."""

import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from driving import evaluate, exercise
from long_runs import long
from multicube.hdl import build, write_verilog
from multicube.hdl.families.multistage.crossbar_network import CrossbarNetwork
from multicube.hdl.primitives.random_bits import RandomOrder
from multicube.hdl.primitives.round_robin import lowest
from multicube.sim import simulate
from multicube.sim.theory.clos import clos_crosspoints, divisions


def test_radix_is_ports() -> None:
    network = CrossbarNetwork(6)
    assert (network.family, network.radix, network.stages) == ("crossbar", 6, 1)
    assert network.altered(ports=12).radix == 12
    with pytest.raises(ValueError, match=r"^Parameter of crossbar must be one of .*'radix'"):
        build("crossbar ports=4 radix=2")
    with pytest.raises(ValueError, match=r"^Ports must be from 2 to 64, not 65$"):
        build("crossbar ports=65")


@pytest.mark.parametrize("switch", ["input-queued", "unbuffered", "wormhole"])
def test_is_a_network_of_one_box(switch: str) -> None:
    network = CrossbarNetwork(4, switch=switch)
    same = build("omega ports=4 radix=4", switch=switch)
    assert network.boxes == same.boxes
    assert [cell for cell in network.fabric.cells if cell.startswith("box")] == ["box_0_0"]
    assert network.theory == same.theory


@pytest.mark.parametrize(("ports", "switch"), [long(32, "input-queued"), long(32, "unbuffered")])
def test_wide(ports: int, switch: str, tmp_path: Path) -> None:
    """Simulated, and unbuffered as the formula says: 1 - (1 - 1/N)^N; and exported."""
    network = CrossbarNetwork(ports, switch=switch)
    throughput = simulate(network, load=1.0, cycles=2000, warmup=200).throughput
    if switch == "unbuffered":
        assert throughput == pytest.approx(1 - (1 - 1 / ports) ** ports, abs=0.01)
    else:
        # With queues at the inputs and many ports: 2 - sqrt(2) and more (Karol et al., 1987).
        assert 0.58 < throughput < 0.62
    write_verilog(network.fabric, tmp_path / "crossbar.v")


class Lowest(Elaboratable):
    """`lowest` as a component."""

    def __init__(self, count: int) -> None:
        self.bits, self.found = Signal(count), Signal(count)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.found.eq(lowest(self.bits))
        return m


@pytest.mark.parametrize("count", [1, 3, 8, 9, 33, 64])
def test_lowest(count: int) -> None:
    dut = Lowest(count)

    async def testbench(ctx: Any) -> None:
        chance = random.Random(count)
        for bits in [
            0,
            *(chance.getrandbits(count) & chance.getrandbits(count) for _ in range(50)),
        ]:
            ctx.set(dut.bits, bits)
            await ctx.delay(1e-9)
            assert ctx.get(dut.found) == bits & -bits

    evaluate(dut, testbench)


class First(Elaboratable):
    """The request that a random order puts first."""

    def __init__(self, count: int) -> None:
        self.order = RandomOrder(count)
        self.request, self.found = Signal(count), Signal(count)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.order = self.order
        m.d.comb += [
            self.order.seed.eq(12345),
            self.found.eq(self.order.first(m, "one", self.request)),
        ]
        return m


@pytest.mark.parametrize("count", [2, 5, 8, 9, 21])
def test_first_of_a_random_order(count: int) -> None:
    """Of any number of items, as comparing all pairs says, and as their ranks say."""
    dut = First(count)
    print(f"seed {count}")

    async def testbench(ctx: Any) -> None:
        chance = random.Random(count)
        for _ in range(60):
            request = chance.getrandbits(count)
            ctx.set(dut.request, request)
            items = [i for i in range(count) if request >> i & 1]
            before = [ctx.get(row) for row in dut.order.before]
            first = [i for i in items if not any(before[j] >> i & 1 for j in items if j != i)]
            assert len(first) == bool(items)
            assert ctx.get(dut.found) == sum(1 << i for i in first)
            if count > 1 and items:
                assert first == [min(items, key=lambda i: ctx.get(dut.order.rank[i]))]
            await ctx.tick()

    exercise(dut, testbench)


# Crosspoints of Clos networks.


def test_crosspoints() -> None:
    """Clos' own formula for five stages with n = N^(1/3), and counted boxes."""
    for n in (2, 5, 10):
        assert clos_crosspoints(n**3, [n, n]) == 16 * n**4 - 14 * n**3 + 3 * n**2
    # 100 boxes of 10 x 19, 19 of 100 x 100, 100 of 19 x 10.
    assert clos_crosspoints(1000, [10]) == 100 * 190 + 19 * 10_000 + 100 * 190
    assert clos_crosspoints(12, [3], strict=False) == 4 * 9 + 3 * 16 + 4 * 9


def test_stanfills_network() -> None:
    """Of all divisions of 1,000 terminals, only one has the 146,300 switches that he names."""
    found = [sizes for sizes in divisions(1000, 5) if clos_crosspoints(1000, sizes) == 146_300]
    assert found == [(10, 10)]
    with pytest.raises(ValueError, match=r"^Stages must be odd, not 4$"):
        divisions(1000, 4)
    with pytest.raises(ValueError, match=r"^Terminals of a box must divide 1000, not 3$"):
        clos_crosspoints(1000, [3])
