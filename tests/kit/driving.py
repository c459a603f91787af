"""What drives hardware in tests: testbenches that can't hang, and the carriage of many streams."""

import itertools
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Value
from amaranth.lib import stream
from amaranth.sim import Simulator

__all__ = ["Cycle", "evaluate", "exercise", "transport"]

Testbench = Callable[[Any], Coroutine[Any, Any, None]]


def exercise(design: Elaboratable, *testbenches: Testbench, limit: int = 20_000) -> None:
    """Run testbenches to their end, and raise if they take more than `limit` cycles."""

    async def watchdog(ctx: Any) -> None:
        for _ in range(limit):
            await ctx.tick()
        raise TimeoutError(f"The test did not end within {limit} cycles")

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.add_testbench(watchdog, background=True)
    simulator.run()


def evaluate(design: Elaboratable, testbench: Testbench) -> None:
    """Run a testbench of logic that has no clock."""
    simulator = Simulator(design)
    simulator.add_testbench(testbench)
    simulator.run()


@dataclass
class Cycle:
    """What all streams showed in one cycle. Payloads are integers, None where nothing is valid."""

    offered: list[int | None]
    accepted: list[bool]
    shown: list[int | None]
    ready: list[bool]
    watched: int

    def moved(self) -> list[tuple[int, int]]:
        """(output, payload) of everything that was taken from an output."""
        return [
            (j, payload)
            for j, (payload, ready) in enumerate(zip(self.shown, self.ready))
            if payload is not None and ready
        ]

    def entered(self) -> list[tuple[int, int]]:
        """(input, payload) of everything that an input took."""
        return [
            (i, payload)
            for i, (payload, accepted) in enumerate(zip(self.offered, self.accepted))
            if payload is not None and accepted
        ]


def _streams(given: Any) -> Sequence[stream.Interface]:
    return given if isinstance(given, Sequence) else [given]


def transport(
    design: Any,
    inputs: Sequence[stream.Interface] | None = None,
    outputs: Sequence[stream.Interface] | None = None,
    *,
    cycles: int,
    offer: Callable[[int, int], int | None],
    ready: Callable[[int, int], bool] = lambda port, cycle: True,
    watch: Callable[[], Value] = lambda: Const(0, 1),
) -> list[Cycle]:
    """Carry packets through a design and check the stream rule at its outputs.

    Without `inputs` and `outputs` they are the streams `i` and `o` of the design, one or several.
    `offer(port, cycle)` names the payload that an idle input begins to offer; it stays until it is
    taken. `ready(port, cycle)` says whether an output is ready. `watch` is called once the design
    is elaborated and gives something to record with every cycle.
    """
    trace: list[Cycle] = []
    inputs = _streams(design.i) if inputs is None else inputs
    outputs = _streams(design.o) if outputs is None else outputs

    async def testbench(ctx: Any) -> None:
        width = len(Value.cast(inputs[0].payload))
        stimulus = Cat(
            *(Cat(port.valid, port.payload) for port in inputs), *(port.ready for port in outputs)
        )
        watched = watch()
        response = Cat(
            *(port.ready for port in inputs),
            *(Cat(port.valid, port.payload) for port in outputs),
            watched,
        )
        offered: list[int | None] = [None] * len(inputs)
        for cycle in range(cycles):
            for i, payload in enumerate(offered):
                if payload is None:
                    offered[i] = offer(i, cycle)
            readies = [bool(ready(j, cycle)) for j in range(len(outputs))]
            word = 0
            for i, payload in enumerate(offered):
                if payload is not None:
                    word |= (payload << 1 | 1) << i * (width + 1)
            for j, flag in enumerate(readies):
                word |= flag << len(inputs) * (width + 1) + j
            ctx.set(stimulus, word)
            seen = ctx.get(response)
            accepted = [bool(seen >> i & 1) for i in range(len(inputs))]
            seen >>= len(inputs)
            shown: list[int | None] = []
            for _ in outputs:
                shown.append(seen >> 1 & (1 << width) - 1 if seen & 1 else None)
                seen >>= width + 1
            trace.append(Cycle(list(offered), accepted, shown, readies, seen))
            offered = [None if taken else payload for payload, taken in zip(offered, accepted)]
            await ctx.tick()

    exercise(design, testbench, limit=cycles + 1)
    for number, (before, after) in enumerate(itertools.pairwise(trace)):
        for j, payload in enumerate(before.shown):
            if payload is not None and not before.ready[j]:
                assert after.shown[j] == payload, f"output {j} let go of a packet, cycle {number}"
    return trace
