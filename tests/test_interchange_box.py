# amaranth: UnusedElaboratable=no
"""The interchange box against a selection written in Python."""

import random
from collections.abc import Iterator

import pytest
from amaranth.hdl import Cat, Module, Value, unsigned
from amaranth.lib import data
from driving import evaluate
from multicube.hdl.boxes import BoxState, InterchangeBox


class Colour(data.Struct):
    red: unsigned(3)
    green: unsigned(5)


def settings(box: InterchangeBox, words: list[tuple[int, list[int]]]) -> Iterator[list[int]]:
    """Set the control and the inputs of a box (in that order) and give what its outputs show."""
    control = box.state if box.radix == 2 else Cat(*box.select, box.enable)
    shown: list[list[int]] = []

    async def testbench(ctx: object) -> None:
        for word, inputs in words:
            ctx.set(Value.cast(control), word)
            for port, value in zip(box.i, inputs):
                ctx.set(Value.cast(port), value)
            await ctx.delay(1e-9)
            shown.append([ctx.get(Value.cast(port)) for port in box.o])

    evaluate(box, testbench)
    return iter(shown)


@pytest.mark.parametrize(
    ("state", "upper", "lower"),
    [
        (BoxState.STRAIGHT, 0, 1),
        (BoxState.EXCHANGE, 1, 0),
        (BoxState.UPPER_BROADCAST, 0, 0),
        (BoxState.LOWER_BROADCAST, 1, 1),
    ],
    ids=lambda value: value.name.lower() if isinstance(value, BoxState) else str(value),
)
def test_interchange_box_has_the_four_states_of_figure_1(
    state: BoxState, upper: int, lower: int
) -> None:
    pairs = [[a, b] for a in range(4) for b in range(4)]
    shown = settings(InterchangeBox(2, 2), [(state.value, pair) for pair in pairs])
    assert list(shown) == [[pair[upper], pair[lower]] for pair in pairs]


def test_interchange_box_has_no_other_state() -> None:
    assert sorted(state.value for state in BoxState) == [0, 1, 2, 3]


@pytest.mark.parametrize("radix", [3, 4, 8])
def test_interchange_box_shows_any_map(radix: int) -> None:
    """Every map of a 3 x 3 box with every set of idle outputs; of larger ones a random choice."""
    bits = (radix - 1).bit_length()
    generator = random.Random(radix)
    print(f"seed {radix}")
    if radix == 3:
        maps = [
            [first, second, third]
            for first in (None, 0, 1, 2)
            for second in (None, 0, 1, 2)
            for third in (None, 0, 1, 2)
        ]
    else:
        maps = [[source] * radix for source in range(radix)]  # full broadcasts
        maps += [generator.sample(range(radix), radix) for _ in range(100)]
        maps += [generator.choices([None, *range(radix)], k=radix) for _ in range(300)]
    words, expected = [], []
    for map_ in maps:
        inputs = [generator.randrange(1, 256) for _ in range(radix)]
        enable = sum((source is not None) << j for j, source in enumerate(map_))
        select = sum(
            (generator.randrange(radix) if source is None else source) << bits * j
            for j, source in enumerate(map_)
        )
        words.append((select | enable << bits * radix, inputs))
        expected.append([0 if source is None else inputs[source] for source in map_])
    assert list(settings(InterchangeBox(radix, 8), words)) == expected


@pytest.mark.parametrize("radix", [2, 3])
def test_interchange_box_carries_any_shape(radix: int) -> None:
    box = InterchangeBox(radix, Colour)
    assert isinstance(box.o[0], Colour)
    control = BoxState.EXCHANGE.value if radix == 2 else 0b111_00_10_01
    inputs = [{"red": port + 1, "green": 30 - port} for port in range(radix)]
    shown = []

    async def testbench(ctx: object) -> None:
        ctx.set(Value.cast(box.state) if radix == 2 else Cat(*box.select, box.enable), control)
        for port, value in zip(box.i, inputs):
            ctx.set(port, value)
        await ctx.delay(1e-9)
        shown.extend((ctx.get(port.red), ctx.get(port.green)) for port in box.o)

    evaluate(box, testbench)
    order = [1, 0] if radix == 2 else [1, 2, 0]
    assert shown == [(inputs[i]["red"], inputs[i]["green"]) for i in order]


@pytest.mark.parametrize("radix", [2, 3, 4])
def test_interchange_box_set_takes_the_selected_inputs(radix: int) -> None:
    """`set` drives the control of either kind of box from one selection."""
    for rotation in range(radix):
        m = Module()
        m.submodules.box = box = InterchangeBox(radix, 4)
        order = [(j + rotation) % radix for j in range(radix)]
        box.set(m, order, (1 << radix) - 1)
        m.d.comb += [port.eq(5 + i) for i, port in enumerate(box.i)]
        shown = []

        async def testbench(
            ctx: object, box: InterchangeBox = box, shown: list[int] = shown
        ) -> None:
            await ctx.delay(1e-9)
            shown.extend(ctx.get(port) for port in box.o)

        evaluate(m, testbench)
        assert shown == [5 + i for i in order]


def test_interchange_box_keeps_its_parameters() -> None:
    box = InterchangeBox(4, Colour)
    assert (box.radix, box.shape) == (4, Colour)
    assert "state" not in box.signature.members
    assert "select" not in InterchangeBox(2, Colour).signature.members


@pytest.mark.parametrize("radix", [None, 2.0, "2", True])
def test_interchange_box_rejects_radix_of_a_wrong_type(radix: object) -> None:
    with pytest.raises(TypeError, match=rf"^Radix must be an integer, not {radix!r}$"):
        InterchangeBox(radix, 8)


@pytest.mark.parametrize("radix", [-2, 0, 1])
def test_interchange_box_rejects_radix_below_two(radix: int) -> None:
    with pytest.raises(ValueError, match=rf"^Radix must be at least 2, not {radix}$"):
        InterchangeBox(radix, 8)
