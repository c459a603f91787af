# amaranth: UnusedElaboratable=no
"""Several paths for each pair: all of them arrive, share no link, and bring the reply back."""

import itertools
from operator import call
from typing import Any

import pytest
from amaranth.hdl import Cat, Value
from driving import exercise
from long_runs import long
from multicube.hdl import CombiningNetwork
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.plans.extra_stage import extra_stage_plan
from multicube.hdl.graphs.plans.redundant_paths import redundant_path_plan
from refusals import refusals

SIZES = [
    (2, 2, 2),
    (8, 2, 2),
    (16, 2, 2),
    (8, 4, 2),
    (32, 4, 2),
    (4, 4, 4),
    (16, 4, 4),
    (32, 8, 2),
    (16, 8, 4),
]


@pytest.mark.parametrize(("ports", "radix", "paths"), SIZES)
def test_every_path_leads_to_its_destination(ports: int, radix: int, paths: int) -> None:
    """By the links of the fabric, box by box as the tag says."""
    network = CombiningNetwork(ports, radix=radix, paths=paths, combine="none")
    plan = network.plan
    stages = len(plan.stages)
    assert (plan.ports, network.stages) == (ports, stages)
    assert plan.ports * plan.paths == radix**stages
    assert len(network.fabric.cells) == stages * ports // radix + ports
    links = {}
    for a, b in network.fabric.links:
        links[a], links[b] = b, a
    digit = plan.digit_bits
    for source, destination, path in itertools.product(range(ports), range(ports), range(paths)):
        tag = plan.tag(destination, path)
        assert network.locate(destination, path).tag == tag
        pin = links[Pin(None, ("i", source))]
        hops = plan.path(source, destination, path)
        for stage, hop in enumerate(hops):
            output = tag >> (stages - 1 - stage) * digit & radix - 1
            assert hop.output == output
            assert pin == Pin(f"box_{stage}_{hop.box}", ("i", hop.input))
            pin = links[Pin(pin.cell, ("o", output))]
        assert pin == Pin(f"memory_{destination}", ("i",))


@pytest.mark.parametrize(("ports", "radix", "paths"), [*SIZES, (128, 4, 2)])
def test_paths_of_a_pair_share_only_the_first_and_the_last_box(
    ports: int, radix: int, paths: int
) -> None:
    plan = redundant_path_plan(ports, radix, paths)
    for source in range(0, ports, 1 if ports <= 32 else 5):
        for destination in range(ports):
            routes = [plan.path(source, destination, path) for path in range(paths)]
            for one, other in itertools.combinations(routes, 2):
                assert (one[0].box, one[-1].box) == (other[0].box, other[-1].box)
                assert all(a.box != b.box for a, b in zip(one[1:-1], other[1:-1]))
                # Nor a link between two stages.
                assert all(
                    plan.line(a.stage, a.box, a.output) != plan.line(b.stage, b.box, b.output)
                    for a, b in zip(one[:-1], other[:-1])
                )


@pytest.mark.parametrize(("ports", "radix", "paths"), [*SIZES, (128, 4, 2)])
def test_each_line_has_a_port_of_a_box(ports: int, radix: int, paths: int) -> None:
    plan = redundant_path_plan(ports, radix, paths)
    every = set(itertools.product(range(plan.boxes), range(radix)))
    for stage in range(len(plan.stages)):
        places = [plan.port(stage, line) for line in range(ports)]
        assert set(places) == every
        assert [plan.line(stage, *place) for place in places] == list(range(ports))


@pytest.mark.parametrize("ports", [2, 8, 16])
def test_of_2_x_2_boxes_it_is_the_extra_stage_cube(ports: int) -> None:
    plan, cube = redundant_path_plan(ports), extra_stage_plan(ports)
    for source, destination in itertools.product(range(ports), repeat=2):
        routes = [plan.path(source, destination, path) for path in (0, 1)]
        primary, secondary = cube.paths(source, destination)
        assert routes == ([secondary, primary] if source & 1 else [primary, secondary])


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "radix", "paths", "parameters"),
    [
        long(8, 2, 2, {}),
        (8, 4, 2, {"queues": "input", "combine": "none", "delay": 2}),
        long(4, 4, 4, {"lengths": "1:2"}),
    ],
    ids=["2x2", "4x4-rp3", "4x4-four-paths"],
)
def test_replies_come_back_by_the_path_of_their_request(
    ports: int, radix: int, paths: int, parameters: dict[str, Any]
) -> None:
    """One fetch-and-add from everywhere to everywhere by every path, one at a time."""
    network = CombiningNetwork(ports, radix=radix, paths=paths, width=8, rows=1, **parameters)
    layout = network.link.request_layout
    code = [operation.name for operation in network.operations].index("fetch-and-add")
    performed = [0] * ports

    async def testbench(ctx: Any) -> None:
        names = [
            (stage, box, port)
            for stage in range(network.stages)
            for box in range(network.plan.boxes)
            for port in range(radix)
        ]
        boxes = [network.instances[f"box_{stage}_{box}"] for stage, box, _ in names]
        seen = {
            "request": Cat(box.o[port].request.valid for box, (*_, port) in zip(boxes, names)),
            "reply": Cat(box.i[port].reply.valid for box, (*_, port) in zip(boxes, names)),
        }
        for port in network.i:
            ctx.set(port.reply.ready, 1)
        for source, destination in itertools.product(range(ports), repeat=2):
            port = network.i[source]
            for path in range(paths):
                tag, address = network.locate(destination, path)
                values = {"tag": tag, "address": address, "operation": code, "operand": 1}
                word = sum(value << layout[name].offset for name, value in values.items())
                ctx.set(Value.cast(port.request.payload), word)
                ctx.set(port.request.valid, 1)
                passed: dict[str, list[tuple[int, int, int]]] = {"request": [], "reply": []}
                for _ in range(8 * network.stages):
                    for direction, flags in seen.items():
                        word = ctx.get(flags)
                        if word:
                            assert word & (word - 1) == 0
                            place = names[word.bit_length() - 1]
                            if place not in passed[direction]:
                                passed[direction].append(place)
                    if ctx.get(port.reply.valid):
                        break
                    await ctx.tick()
                    ctx.set(port.request.valid, 0)
                assert ctx.get(port.reply.payload.value) == performed[destination] & 255
                assert ctx.get(port.reply.payload.tag) == tag
                performed[destination] += 1
                hops = network.plan.path(source, destination, path)
                assert passed == {
                    "request": [(hop.stage, hop.box, hop.output) for hop in hops],
                    "reply": [(hop.stage, hop.box, hop.input) for hop in reversed(hops)],
                }
                await ctx.tick()
                await ctx.tick()

    exercise(network, testbench)
    assert performed == [ports * paths] * ports


def test_bits_of_a_tag_in_rp3() -> None:
    network = CombiningNetwork(128, radix=4, paths=2, combine="none")
    assert (network.code.count, network.code.radix) == (128, 2)
    assert [stage.bits for stage in network.plan.stages] == [(0, 6), (4, 5), (2, 3), (0, 1)]
    assert network.tag_bits == (*(("module", bit) for bit in range(6)), ("path", 0), ("module", 6))
    assert network.altered(ports=32).plan.boxes == 8


test_redundant_paths_reject = refusals(
    lambda arguments: CombiningNetwork(**{"paths": 2, **arguments}),
    (
        {"ports": 256, "radix": 4},
        "Ports times paths must be a power of the radix 4, at least 16, not 256 times 2",
    ),
    (
        {"ports": 2, "radix": 4},
        "Ports times paths must be a power of the radix 4, at least 16, not 2 times 2",
    ),
    ({"ports": 9, "radix": 3}, "Several paths need a radix that is a power of two, not 3"),
    ({"ports": 4, "paths": 4}, "Paths must be a power of two up to the radix 2, not 4"),
    ({"ports": 8, "radix": 4, "paths": 3}, "Paths must be a power of two up to the radix 4, not 3"),
    ({"ports": 8, "wiring": "omega"}, "Several paths need wiring=cube, not omega"),
    ({"ports": 8, "paths": 0}, "Paths must be from 1 to 16, not 0"),
)


test_redundant_path_plan_rejects_what_is_no_number = refusals(
    call,
    (lambda: redundant_path_plan(8, paths="2"), TypeError, "Paths must be an integer, not '2'"),
    (lambda: redundant_path_plan(8).tag(0, 2), "Path must be from 0 to 1, not 2"),
    (lambda: redundant_path_plan(8).path(0, 8), "Destination must be from 0 to 7, not 8"),
)
