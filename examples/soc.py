"""Processors with private memories and a shared one behind a network, made with amaranth-soc.

Each processor sums the numbers in its private memory, adds its sum to a word of the shared memory,
waits for the others, and reads the total. Both the sum and the count of those that have arrived are
fetch-and-adds, which the network's boxes combine where they meet.

    python examples/soc.py [PROCESSORS]

amaranth-soc has no release on PyPI; luna-soc has it inside: `pip install luna-soc`.
"""

import random
import sys
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from amaranth.sim import Simulator
from multicube.hdl import build
from multicube.hdl.networks.buses import WishboneNetwork

try:
    from amaranth_soc import wishbone
    from amaranth_soc.memory import MemoryMap
    from amaranth_soc.wishbone.sram import WishboneSRAM
except ImportError:
    from luna_soc.gateware.vendor.amaranth_soc import wishbone
    from luna_soc.gateware.vendor.amaranth_soc.memory import MemoryMap
    from luna_soc.gateware.vendor.amaranth_soc.wishbone.sram import WishboneSRAM

NUMBERS = 16
PRIVATE, SHARED = 0x0000, 0x8000
"""Where a processor sees its memories, in bytes; the addresses of a bus count words."""
TOTAL, ARRIVED = 0, 1
"""Words of the shared memory."""


class Summer(wiring.Component):
    """A processor that can do one thing: sum its numbers, then those of all.

    Parameters
    ----------
    processors : int
    add : int
        The address of the first word of the shared memory, for fetch-and-adds.
    """

    def __init__(self, processors: int, add: int) -> None:
        self.processors = processors
        self.add = add
        bus = wishbone.Signature(addr_width=14, data_width=32, granularity=8, features={"err"})
        super().__init__({"bus": Out(bus), "total": Out(32), "done": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        place = Signal(range(NUMBERS))
        own = Signal(32)
        m.d.comb += [bus.cyc.eq(~self.done), bus.stb.eq(~self.done), bus.sel.eq(~0)]
        with m.FSM():
            with m.State("load"):
                m.d.comb += bus.adr.eq(PRIVATE // 4 + place)
                with m.If(bus.ack):
                    m.d.sync += [place.eq(place + 1), own.eq(own + bus.dat_r)]
                    with m.If(place == NUMBERS - 1):
                        m.next = "add"
            with m.State("add"):
                m.d.comb += [bus.adr.eq(self.add + TOTAL), bus.we.eq(1), bus.dat_w.eq(own)]
                with m.If(bus.ack):
                    m.next = "arrive"
            with m.State("arrive"):
                m.d.comb += [bus.adr.eq(self.add + ARRIVED), bus.we.eq(1), bus.dat_w.eq(1)]
                with m.If(bus.ack):
                    m.next = "wait"
            with m.State("wait"):
                m.d.comb += bus.adr.eq(SHARED // 4 + ARRIVED)
                with m.If(bus.ack & (bus.dat_r == self.processors)):
                    m.next = "read"
            with m.State("read"):
                m.d.comb += bus.adr.eq(SHARED // 4 + TOTAL)
                with m.If(bus.ack):
                    m.d.sync += [self.total.eq(bus.dat_r), self.done.eq(1)]
        return m


class System(wiring.Component):
    """Processors, their private memories, and a combining network with the shared memory.

    Parameters
    ----------
    numbers : list[list[int]]
        What is in the private memories: a list of 16 for each processor. They are a power of two.
    """

    def __init__(self, numbers: list[list[int]]) -> None:
        self.numbers = numbers
        self.network = WishboneNetwork(build("combining", ports=len(numbers), width=32, rows=16))
        super().__init__({"total": Out(32).array(len(numbers)), "done": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.network = self.network
        words = self.network.words.bits
        done = Signal(len(self.numbers))
        m.d.comb += self.done.eq(done.all())
        for number, values in enumerate(self.numbers):
            # The second quarter of a port's addresses adds.
            summer = Summer(len(self.numbers), SHARED // 4 + (1 << words))
            private = WishboneSRAM(size=4 * NUMBERS, data_width=32, granularity=8, init=values)
            shared = wishbone.Interface(
                addr_width=words + 2, data_width=32, granularity=8, features={"err"}
            )
            shared.memory_map = MemoryMap(addr_width=words + 4, data_width=8)
            decoder = wishbone.Decoder(
                addr_width=14, data_width=32, granularity=8, features={"err"}
            )
            decoder.add(private.wb_bus, name="private", addr=PRIVATE)
            decoder.add(shared, name="shared", addr=SHARED)
            wiring.connect(m, summer.bus, decoder.bus)
            wiring.connect(m, shared, self.network.port(number))
            m.submodules[f"summer_{number}"] = summer
            m.submodules[f"private_{number}"] = private
            m.submodules[f"decoder_{number}"] = decoder
            m.d.comb += [self.total[number].eq(summer.total), done[number].eq(summer.done)]
        return m


def run(numbers: list[list[int]]) -> tuple[list[int], int]:
    """The total that each processor has read, and the cycles until all have."""
    system = System(numbers)
    seen: list[int] = []
    cycles = 0

    async def watch(ctx: Any) -> None:
        nonlocal cycles
        while not ctx.get(system.done):
            await ctx.tick()
            cycles += 1
        seen.extend(ctx.get(total) for total in system.total)

    simulator = Simulator(system)
    simulator.add_clock(1e-8)
    simulator.add_testbench(watch)
    simulator.run()
    return seen, cycles


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else "8"
    if given not in ("2", "4", "8", "16", "32"):
        sys.exit(f"The processors must be 2, 4, 8, 16 or 32, not {given[:60]}")
    processors = int(given)
    rng = random.Random(1979)
    numbers = [[rng.randrange(1000) for _ in range(NUMBERS)] for _ in range(processors)]
    totals, cycles = run(numbers)
    print(f"{processors} processors, {NUMBERS} numbers each: {sum(map(sum, numbers))} expected")
    print(f"all read {totals[0]} after {cycles} cycles" if len(set(totals)) == 1 else totals)


if __name__ == "__main__":
    main()
