# amaranth: UnusedElaboratable=no
"""A link of several cycles: nothing is lost or overtaken, and no queue overflows."""

import random
from typing import Any

import pytest
from amaranth.hdl import Cat
from driving import exercise
from multicube.hdl.links.packet import Packet
from multicube.hdl.routers.credit_link import CreditLink
from refusals import refusals

SEED = 3


@pytest.mark.parametrize(
    ("channels", "latency", "depth"), [(1, 2, 1), (1, 2, 4), (2, 3, 3), (3, 5, 12)]
)
def test_credits(channels: int, latency: int, depth: int) -> None:
    """Random senders and receivers, beside a model: queues of `depth` places, and delays."""
    print("seed", SEED)
    chance = random.Random(SEED)
    packet = Packet(2, 8, flits=True)
    guarded = tuple(range(channels))
    dut = CreditLink(
        packet, channels=channels, latency=latency, depth=depth, guarded=guarded, needed=depth
    )
    arrivals: list[tuple[int, int] | None] = [None] * (latency - 1)
    returns: list[list[int]] = [[] for _ in range(latency - 1)]
    free = [depth] * channels
    queues: list[list[int]] = [[] for _ in range(channels)]
    seen: list[list[int]] = [[] for _ in range(channels)]
    sent: list[list[int]] = [[] for _ in range(channels)]

    async def testbench(ctx: Any) -> None:
        for number in range(600):
            # Only one channel sends in a cycle, and only if it has credits; a phase of full load.
            channel = chance.randrange(channels)
            wants = number > 300 or chance.random() < 0.6
            sends = wants and free[channel] > 0
            leaving = [c for c in guarded if queues[c] and (number > 300 or chance.random() < 0.5)]
            for c in guarded:
                ctx.set(dut.i[c].valid, sends and c == channel)
                ctx.set(dut.i[c].payload.as_value(), number % 1024)
                ctx.set(dut.freed[c], c in leaving)
            ready = [ctx.get(dut.i[c].ready) for c in guarded]
            assert ready == [int(count > 0) for count in free]
            assert [ctx.get(bit) for bit in dut.open] == [int(count == depth) for count in free]
            came = arrivals.pop(0)
            shown = ctx.get(Cat(port.valid for port in dut.o))
            assert shown == (0 if came is None else 1 << came[0])
            arrivals.append((channel, number % 1024) if sends else None)
            for c in returns.pop(0):
                free[c] += 1
            returns.append(leaving)
            for c in leaving:
                queues[c].pop(0)
            if came is not None:
                assert ctx.get(dut.o[came[0]].payload.as_value()) == came[1]
                queues[came[0]].append(came[1])
                seen[came[0]].append(came[1])
                assert len(queues[came[0]]) <= depth
            if sends:
                sent[channel].append(number % 1024)
                free[channel] -= 1
            await ctx.tick()

    exercise(dut, testbench)
    assert all(sent)
    for c in guarded:
        assert seen[c] == sent[c][: len(seen[c])]
        assert len(sent[c]) - len(seen[c]) < latency


test_link_rejects = refusals(
    lambda given: CreditLink(
        Packet(2, 8, flits=True), **{"channels": 1, "latency": 2, "depth": 2, **given}
    ),
    ({"channels": 0}, "Channels must be at least 1, not 0"),
    ({"latency": 1}, "Latency must be at least 2, not 1"),
    ({"depth": 0}, "Depth must be at least 1, not 0"),
)
