# amaranth: UnusedElaboratable=no
"""The buffered packet switches against models written from their documentation."""

import itertools
import random
from typing import Any

import pytest
from amaranth.lib import data
from driving import exercise, transport
from long_runs import long
from multicube.hdl.boxes import InputQueuedSwitch, OutputQueuedSwitch
from multicube.hdl.links.packet import Packet
from switch_models import (
    InputQueuedModel,
    OutputQueuedModel,
    Wires,
    follow,
    pass_whole,
    permutations,
    sometimes,
    traffic,
)

SWITCHES = [OutputQueuedSwitch, InputQueuedSwitch]
DEPTHS = [1, 2, 3, 4, 8, 32]
VARIANTS = [
    (radix, routing)
    for radix in (2, 3, 4, 8)
    for routing in ("destination", "xor")
    if radix != 3 or routing == "destination"
]
# The routing meets the queues nowhere, so a few depths are enough for the second kind.
CASES = [
    long(radix, routing, depth)
    if radix == 8 or (radix == 4 and depth > 4)
    else (radix, routing, depth)
    for radix, routing in VARIANTS
    for depth in (DEPTHS if routing == "destination" else [1, 3])
]
MODELS = {OutputQueuedSwitch: OutputQueuedModel, InputQueuedSwitch: InputQueuedModel}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("radix", "routing", "depth", "outputs"),
    [
        *(long(*each.values, None) if hasattr(each, "values") else (*each, None) for each in CASES),
        (4, "destination", 3, 3),
        (2, "destination", 1, 5),
        (3, "destination", 2, 5),
        long(8, "destination", 4, 2),
        long(3, "destination", 2, 8),
    ],
)
@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_follows_the_model(
    switch: type, radix: int, routing: str, depth: int, outputs: int | None
) -> None:
    """Cycle by cycle under random traffic and waits; nothing lost, doubled or out of order."""
    wires = Wires(radix, routing, outputs)
    dut = switch(wires.layout, radix=radix, depth=depth, routing=routing, outputs=outputs)
    model = MODELS[switch](wires, depth)
    busy, waits = traffic(wires, 100 * radix + depth, 0.7), sometimes(depth)
    trace = transport(
        dut,
        cycles=200 + 4 * depth,
        offer=lambda port, cycle: busy(port, cycle) if cycle < 150 else None,
        ready=lambda port, cycle: cycle >= 150 or waits(port, cycle),
    )
    assert follow(trace, wires, model) > 30 * min(radix, wires.outputs)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("radix", "routing", "depth"), CASES)
@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_has_full_throughput(
    switch: type, radix: int, routing: str, depth: int
) -> None:
    """A new permutation every cycle leaves one cycle later, whole."""
    wires = Wires(radix, routing)
    dut = switch(wires.layout, radix=radix, depth=depth, routing=routing)
    pass_whole(transport(dut, cycles=40, offer=permutations(wires)), wires, late=1)


@pytest.mark.parametrize(
    ("radix", "routing"), [long(*each) if each[0] == 8 else each for each in VARIANTS]
)
@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_has_one_cycle_of_latency(switch: type, radix: int, routing: str) -> None:
    """A packet alone, from every input to every output, is shown there one cycle later."""
    wires = Wires(radix, routing)
    dut = switch(wires.layout, radix=radix, depth=2, routing=routing)
    pairs = list(itertools.product(range(radix), repeat=2))

    def offer(port: int, cycle: int) -> int | None:
        source, output = pairs[cycle // 2]
        return wires.make(port, output, cycle) if port == source and cycle % 2 == 0 else None

    trace = transport(dut, cycles=2 * len(pairs), offer=offer)
    for number, cycle in enumerate(trace):
        expected: list[int | None] = [None] * radix
        if number % 2:
            source, output = pairs[number // 2]
            expected[output] = wires.forwarded(wires.make(source, output, number - 1))
        assert cycle.shown == expected


@pytest.mark.one_in(6)
@pytest.mark.parametrize("radix", [2, 3, 4, 8])
@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_is_fair(switch: type, radix: int) -> None:
    """When all inputs want one output, it serves them in turn."""
    wires = Wires(radix, "destination")
    dut = switch(wires.layout, radix=radix, depth=2)
    generator = random.Random(radix)
    print(f"seed {radix}")
    trace = transport(
        dut,
        cycles=100,
        offer=lambda port, cycle: wires.make(port, radix - 1, cycle),
        ready=lambda port, cycle: generator.random() < 0.7,
    )
    served = [wires.name(packet)[0] for cycle in trace for _, packet in cycle.moved()]
    assert len(served) > 50
    assert served == [number % radix for number in range(len(served))]


@pytest.mark.parametrize("radix", [2, 3])
def test_input_queued_switch_passes_every_partial_permutation(radix: int) -> None:
    wires = Wires(radix, "destination")
    dut = InputQueuedSwitch(wires.layout, radix=radix, depth=2)
    trace = transport(dut, cycles=900, offer=traffic(wires, radix, 0.45))
    maps = {frozenset((wires.name(packet)[0], j) for j, packet in c.moved()) for c in trace}
    assert len(maps) == {2: 7, 3: 34}[radix]


@pytest.mark.parametrize("radix", [2, 3])
def test_output_queued_switch_takes_every_combination_of_arrivals(radix: int) -> None:
    """Whatever the inputs hold is taken in one cycle while there is room: any targets."""
    wires = Wires(radix, "destination")
    dut = OutputQueuedSwitch(wires.layout, radix=radix, depth=32)
    trace = transport(dut, cycles=900, offer=traffic(wires, radix, 0.6))
    combinations = {frozenset((i, wires.output(p, i)) for i, p in c.entered()) for c in trace}
    assert len(combinations) == (radix + 1) ** radix


@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_carries_any_payload(switch: type) -> None:
    payload = data.StructLayout({"flag": 1, "value": data.ArrayLayout(4, 2)})
    dut = switch(Packet(1, payload), radix=2, depth=1)

    async def testbench(ctx: Any) -> None:
        value = {"flag": 1, "value": [5, 10]}
        ctx.set(dut.i[0].payload, {"tag": 1, "payload": value})
        ctx.set(dut.i[0].valid, 1)
        await ctx.tick()
        assert ctx.get(dut.o[1].valid)
        shown = dut.o[1].payload.payload
        assert (ctx.get(shown.flag), ctx.get(shown.value[0]), ctx.get(shown.value[1])) == (1, 5, 10)

    exercise(dut, testbench)


@pytest.mark.parametrize("switch", SWITCHES)
def test_packet_switch_keeps_its_parameters(switch: type) -> None:
    packet = Packet(4, 8)
    dut = switch(packet, radix=4, depth=3, routing="xor")
    assert (dut.packet, dut.radix, dut.depth, dut.routing) == (packet, 4, 3, "xor")
    assert (dut.refill, dut.digit_bits) == (False, 2)
    assert switch(packet, radix=4, depth=1).refill


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"radix": 1}, ValueError, "Radix must be at least 2, not 1"),
        ({"radix": "2"}, TypeError, "Radix must be an integer, not '2'"),
        ({"depth": 0}, ValueError, "Depth must be at least 1, not 0"),
        ({"depth": 1.5}, TypeError, "Depth must be an integer, not 1.5"),
        (
            {"routing": "dest"},
            ValueError,
            "Routing must be destination, xor or difference, not 'dest'",
        ),
        (
            {"radix": 3, "routing": "xor"},
            ValueError,
            "XOR tags need a radix that is a power of two, not 3",
        ),
        (
            {"radix": 8},
            ValueError,
            "Tag of a packet must have at least 3 bits for a switch of radix 8, not 2",
        ),
    ],
    ids=lambda value: "-".join(map(str, value.items())) if isinstance(value, dict) else "",
)
def test_packet_switch_rejects(
    switch: type, parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        switch(Packet(2, 8), **{"radix": 2, "depth": 2, **parameters})
