# amaranth: UnusedElaboratable=no
"""The arbiter of requests for several outputs at once."""

import random
from typing import Any

import pytest
from amaranth.hdl import Cat
from driving import exercise
from multicube.hdl.primitives.joint_arbiter import JointArbiter


@pytest.mark.parametrize("radix", [2, 3, 4])
def test_joint_arbiter_follows_the_model(radix: int) -> None:
    """Granted is who is possible, and shares no output with one served longer ago who is."""
    dut = JointArbiter(radix)
    rng = random.Random(radix)
    print("seed", radix)
    order = list(range(radix))  # served longest ago first

    async def testbench(ctx: Any) -> None:
        nonlocal order
        for _ in range(300):
            request, free = rng.getrandbits(radix), rng.getrandbits(radix) | rng.getrandbits(radix)
            wanted = [rng.getrandbits(radix) for _ in range(radix)]
            ctx.set(Cat(dut.request, dut.free), request | free << radix)
            ctx.set(Cat(dut.wanted), sum(bits << radix * i for i, bits in enumerate(wanted)))
            possible = [
                i for i in order if request >> i & 1 and wanted[i] and not wanted[i] & ~free
            ]
            granted = [
                i
                for at, i in enumerate(possible)
                if not any(wanted[i] & wanted[other] for other in possible[:at])
            ]
            assert ctx.get(dut.granted) == sum(1 << i for i in granted)
            order = [i for i in order if i not in granted] + [i for i in order if i in granted]
            await ctx.tick()

    exercise(dut, testbench)


def test_joint_arbiter_rejects_radix() -> None:
    with pytest.raises(ValueError, match=r"^Radix must be at least 2, not 1$"):
        JointArbiter(1)
