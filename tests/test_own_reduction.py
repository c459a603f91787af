# amaranth: UnusedElaboratable=no
"""A floating-point adder as a component of a user's, by which routers merge values."""

import json
import random
from functools import reduce
from operator import add
from typing import Any

import group_traffic
import numpy as np
import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from driving import evaluate
from group_traffic import Traffic
from long_runs import long
from multicube.hdl import build
from multicube.hdl.operations.folds import ComponentFold
from multicube.sim import run_collective
from refusals import refusals


def bfloat16(value: Any) -> int:
    """The bits of a number of NumPy, rounded."""
    bits = int(np.float32(value).view(np.uint32))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def number(bits: int) -> Any:
    return np.uint32(bits << 16).view(np.float32)


def total(one: int, other: int) -> int:
    return bfloat16(number(one) + number(other))


class BFloat16Add(wiring.Component):
    """The sum of two normal numbers, or zeros, rounded to the nearest, or to even."""

    perform = staticmethod(total)

    def __init__(self, width: int) -> None:
        super().__init__({"a": In(width), "b": In(width), "o": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        large, small, total = Signal(16), Signal(16), Signal(12)
        greater = self.b[:15] > self.a[:15]
        m.d.comb += [large.eq(Mux(greater, self.b, self.a)), small.eq(Mux(greater, self.a, self.b))]
        # Significands with three bits more: of those that are shifted out, the last is their `or`.
        exponent, distance, spread = large[7:15], Signal(8), Signal(27)
        one, other = (Cat(Const(0, 3), each[:7], each[7:15].any()) for each in (large, small))
        m.d.comb += [
            distance.eq(exponent - small[7:15]),
            spread.eq(Cat(Const(0, 16), other) >> Mux(distance > 15, 15, distance)[:4]),
        ]
        aligned = spread[16:] | spread[:16].any()
        differ = large[15] ^ small[15]
        m.d.comb += total.eq(Mux(differ, one - aligned, one + aligned))
        normal, power = Signal(11), Signal(8)
        for top in range(12):
            with m.If(total[top]):
                shifted = total[1:] | total[0] if top == 11 else total << (10 - top)
                m.d.comb += [normal.eq(shifted), power.eq(exponent + top - 10)]
        up = normal[2] & (normal[:2].any() | normal[3])
        packed = (Cat(normal[3:10], power) + up)[:15]
        m.d.comb += self.o.eq(Mux(total.any(), Cat(packed, large[15]), 0))
        return m


def test_adder_rounds_as_numpy() -> None:
    """Of exponents that differ by 16 at most, so that a sum of 24 bits is exact."""
    draw, dut = random.Random(5), BFloat16Add(16)

    def some() -> int:
        sign, exponent = draw.getrandbits(1), draw.choice([0, *range(120, 137)])
        return sign << 15 | exponent << 7 | draw.getrandbits(7) * (exponent > 0)

    async def bench(ctx: Any) -> None:
        for _ in range(400):
            one, other = some(), some()
            ctx.set(dut.a, one)
            ctx.set(dut.b, other)
            assert ctx.get(dut.o) & 0x7FFF == total(one, other) & 0x7FFF
            assert number(ctx.get(dut.o)) == number(total(one, other))

    evaluate(dut, bench)


def test_routers_add_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers whose sums are exact, so that their order does not matter; some members are silent
    in some flits."""
    monkeypatch.setitem(group_traffic.FOLDS, "own", total)
    network = build("mesh", k=2, group_entries=2, length="1:5", payload=16, reduction=BFloat16Add)
    traffic = Traffic(network, {1: (3, range(4))}, "own")
    draw = random.Random(6)
    for around in False, True:
        own = {
            member: [bfloat16(draw.randint(-20, 20) / 4) for _ in range(member + 2)]
            for member in range(4)
        }
        traffic.reduce(1, own, around=around)
    assert traffic.run(200).packets == traffic.expected


@pytest.mark.parametrize("kind", ["reduce", long("allreduce")])
def test_collectives_are_checked_in_the_order_of_the_tree(kind: str) -> None:
    """Words whose sums depend on the order: in that of the members it is another one."""
    network = build("mesh", k=2, group_entries=1, length="1:8", payload=16, reduction=BFloat16Add)
    draw = random.Random(7)
    words = [[bfloat16(draw.uniform(-300, 300)) for _ in range(6)] for _ in range(4)]
    how = {"root": 1, "flits": 6, "words": words, "engine": "amaranth"}
    run = run_collective(network, kind, operation=BFloat16Add, **how)
    assert (run.correct, run.algorithm, run.operation) == (True, "network", "BFloat16Add")
    assert json.loads(json.dumps(run.to_json()))["parameters"]["reduction"] == "BFloat16Add"
    columns = list(zip(*words))
    in_tree = [network.group_total(1, dict(enumerate(each)), total) for each in columns]
    assert in_tree != [reduce(total, each) for each in columns]


class Narrow(wiring.Component):
    a: In(4)
    b: In(4)
    o: Out(4)

    def __init__(self, width: int) -> None:
        super().__init__()


test_components_are_refused = refusals(
    lambda reduction: build("mesh", k=2, group_entries=1, reduction=reduction),
    (
        Narrow,
        "Reduction Narrow must have the members a and b, In, and o, Out, of 16 bits, and no others",
    ),
    (int, "Reduction must be none, add, ..., not <class 'int'>"),
)


class Plain(BFloat16Add):
    perform = None


def test_results_of_perform_have_the_width_of_values() -> None:
    class Sum(BFloat16Add):
        perform = staticmethod(add)

    assert ComponentFold(Sum, 16).perform(0xFFFF, 3) == 2


def collective(reduction: Any, operation: Any, algorithm: str, words: Any = None) -> None:
    network = build("mesh", k=2, group_entries=1, payload=16, reduction=reduction)
    run_collective(network, "reduce", operation=operation, algorithm=algorithm, words=words)


test_collectives_are_refused = refusals(
    collective,
    (BFloat16Add, "add", "network", "Reduction must be add for the kind ..., not BFloat..."),
    ("add", BFloat16Add, "auto", "Reduction must be BFloat16Add for ..., not add"),
    (
        BFloat16Add,
        BFloat16Add,
        "ring",
        "Algorithm of reduce must be one of network, auto, not 'ring'",
    ),
    (Plain, Plain, "auto", "Reduction Plain must have a static method perform(first, second), ..."),
    ("add", "add", "auto", [[1], [2]], "Words must be 4 lists of 1, one for each member"),
    ("add", "add", "auto", [[1]] * 3 + [[1 << 16]], "Word must be from 0 to 65535, not 65536"),
)
