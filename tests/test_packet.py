# amaranth: UnusedElaboratable=no
"""Tags in hardware against the functions, for every source, destination and tag."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from amaranth.hdl import Cat, Value
from amaranth.lib import wiring
from driving import evaluate
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.routing_tags import TagDecoder, TagEncoder

CASES = [
    (ports, radix, routing)
    for ports, radix in [(2, 2), (8, 2), (16, 4), (8, 8), (27, 3), (7, 7), (8, "2x4")]
    for routing in ("destination", "xor", "difference")
    if radix not in (3, 7) or routing != "xor"
]

every_case = pytest.mark.parametrize(("ports", "radix", "routing"), CASES)
every_plan = pytest.mark.parametrize("name", PLANS)


def outputs(
    component: wiring.Component, inputs: Sequence[Value], output: Value, words: list[int]
) -> list[int]:
    """What a combinational component answers to each word on its inputs (first one lowest)."""
    answers = []

    async def testbench(ctx: Any) -> None:
        for word in words:
            ctx.set(Cat(*inputs), word)
            await ctx.delay(1e-9)
            answers.append(ctx.get(output))

    evaluate(component, testbench)
    return answers


@every_case
@every_plan
def test_tag_encoder(name: str, ports: int, radix: int | str, routing: str) -> None:
    scheme = multistage_plan(name, ports, radix).tags(routing)
    code = scheme.code
    encoder = TagEncoder(scheme)
    pairs = list(itertools.product(range(ports), repeat=2))
    words = [code.encode(s) | code.encode(d) << code.width for s, d in pairs]
    tags = outputs(encoder, [encoder.source, encoder.destination], encoder.tag, words)
    assert tags == [scheme.tag(s, d) for s, d in pairs]


@every_case
@every_plan
def test_tag_decoder(name: str, ports: int, radix: int | str, routing: str) -> None:
    """The right terminal knows its packet (destination) or the packet's source (others)."""
    scheme = multistage_plan(name, ports, radix).tags(routing)
    code = scheme.code
    decoder = TagDecoder(scheme)
    words, expected = [], []
    for source, destination in itertools.product(range(ports), repeat=2):
        tag = scheme.tag(source, destination)
        # Destination tags are the same from everywhere; there `address` is what is tried instead.
        address = source if routing == "destination" else destination
        words.append(code.encode(address) | tag << code.width)
        checks = routing == "destination"
        expected.append(address == destination if checks else code.encode(source))
    answer = decoder.arrived if routing == "destination" else decoder.source
    assert outputs(decoder, [decoder.address, decoder.tag], answer, words) == expected


@pytest.mark.parametrize(
    ("routing", "member", "other"),
    [("destination", "arrived", "source"), ("xor", "source", "arrived")],
)
def test_tag_decoder_has_the_member_that_its_routing_allows(
    routing: str, member: str, other: str
) -> None:
    members = TagDecoder(multistage_plan("cube", 8).tags(routing)).signature.members
    assert member in members
    assert other not in members


def test_packet_has_the_tag_below_the_payload() -> None:
    packet = Packet(3, 8)
    assert packet.size == 11
    assert (packet["tag"].offset, packet["payload"].offset) == (0, 3)
