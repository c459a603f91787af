# amaranth: UnusedElaboratable=no
"""The memory module against its operations in Python, with pauses on both sides."""

import random
from typing import Any

import pytest
from amaranth.hdl import Value
from driving import exercise
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.memory import OPERATIONS
from multicube.hdl.terminals.memory_module import MemoryModule

LINK = MemoryLink(tag=3, identity=2, address=2, width=4)


def pack(layout: Any, **values: int) -> int:
    return sum(value << layout[name].offset for name, value in values.items())


def unpack(layout: Any, word: int) -> dict[str, int]:
    return {name: word >> layout[name].offset & (1 << layout[name].width) - 1 for name, _ in layout}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rows", [1, 3, 4])
@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.5, 1.0), (1.0, 0.4), (0.6, 0.6)])
def test_performs_one_operation_after_the_other(rows: int, offer: float, take: float) -> None:
    """Each reply comes in the cycle after its request was taken, and stays until it is taken."""
    rng = random.Random(rows)
    words = [3, 9, 14, 1][:rows]
    module = MemoryModule(LINK, rows=rows, words=tuple(words))
    request, reply = module.i.request, module.i.reply
    served = 0

    async def testbench(ctx: Any) -> None:
        nonlocal served
        offered: dict[str, int] | None = None
        expected: dict[str, int] | None = None
        pending: dict[str, int] | None = None
        for _ in range(400):
            if offered is None and rng.random() < offer:
                offered = {
                    "tag": rng.randrange(8),
                    "identity": rng.randrange(4),
                    "address": rng.randrange(rows),
                    "operation": rng.randrange(len(OPERATIONS)),
                    "operand": rng.randrange(16),
                }
            ready = rng.random() < take
            ctx.set(request.valid, int(offered is not None))
            if offered is not None:
                ctx.set(Value.cast(request.payload), pack(LINK.request_layout, **offered))
            ctx.set(reply.ready, int(ready))
            shown = None
            if ctx.get(reply.valid):
                shown = unpack(LINK.reply_layout, ctx.get(Value.cast(reply.payload)))
            assert shown == expected
            assert ctx.get(request.ready) == (expected is None or ready)
            if expected is not None and ready:
                operation = OPERATIONS[pending["operation"]]
                old = words[pending["address"]]
                words[pending["address"]] = operation.perform(old, pending["operand"], 4)
                served += 1
                expected = pending = None
            if expected is None and offered is not None:
                pending, offered = offered, None
                value = words[pending["address"]]
                expected = {"tag": pending["tag"], "identity": pending["identity"], "value": value}
            await ctx.tick()

    exercise(module, testbench)
    assert served > 100
    if offer == take == 1.0:
        assert served == 399


def test_every_operation_once() -> None:
    module = MemoryModule(LINK, rows=2, words=(5,))

    async def testbench(ctx: Any) -> None:
        value = 5
        ctx.set(module.i.reply.ready, 1)
        for code, operation in enumerate(OPERATIONS):
            for operand in (0, 3, 12):
                ctx.set(module.i.request.valid, 1)
                ctx.set(
                    Value.cast(module.i.request.payload),
                    pack(LINK.request_layout, operation=code, operand=operand),
                )
                await ctx.tick()
                assert ctx.get(module.i.reply.payload.value) == value, operation
                value = operation.perform(value, operand, 4)

    exercise(module, testbench)


@pytest.mark.parametrize("rows", [0, 5])
def test_memory_module_rejects_rows(rows: int) -> None:
    with pytest.raises(ValueError, match=f"^Rows must be from 1 to 4, not {rows}$"):
        MemoryModule(LINK, rows=rows)


@pytest.mark.parametrize("name", ["tag", "identity", "address", "width"])
def test_memory_link_rejects_widths(name: str) -> None:
    widths = {"tag": 1, "identity": 1, "address": 1, "width": 1}
    with pytest.raises(ValueError, match=f"^{name.capitalize()} must be at least 1, not 0$"):
        MemoryLink(**{**widths, name: 0})
    with pytest.raises(TypeError, match=f"^{name.capitalize()} must be an integer, not 1.5$"):
        MemoryLink(**{**widths, name: 1.5})


def test_links_of_equal_parameters_are_equal() -> None:
    same = MemoryLink(tag=3, identity=2, address=2, width=4)
    assert same == LINK
    assert hash(same) == hash(LINK)
