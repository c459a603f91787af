# amaranth: UnusedElaboratable=no
"""What joins the nodes of a DCSH cluster: channels heard by all, and multiplexers."""

import random
from operator import call
from typing import Any

import pytest
from driving import exercise, transport
from multicube.hdl.families.dcsh.dcsh_graph import DCSH
from multicube.hdl.families.dcsh.dcsh_multiplexer import ClusterChannel, ClusterMultiplexer
from multicube.hdl.families.dcsh.dcsh_router import DCSHRouter
from multicube.hdl.links.packet import Packet
from refusals import refusals

SEED = 11


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("k", "position"), [(5, 2), (4, 0), (4, 3)])
@pytest.mark.parametrize("broadcast", [False, True])
def test_channel(k: int, position: int, broadcast: bool) -> None:
    """A header says who hears its worm; a flit goes to all of them at once, when all are ready."""
    bits = (k - 1).bit_length()
    packet = Packet(2 * bits, 2, broadcast=broadcast, flits=True)
    dut = ClusterChannel(packet, DCSH(k, 2))
    generator = random.Random(SEED)
    others = [member for member in range(k) if member != position]

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.dimension, 1)
        ctx.set(dut.position, position)
        for _ in range(60):
            member, mask = generator.choice(others), generator.randrange(1 << bits)
            mask *= broadcast
            heard = [(other ^ member) & ~mask == 0 for other in others]
            for index, last in enumerate((0, 0, 1)):
                word = {"tag": generator.randrange(1 << 2 * bits), "payload": index, "last": last}
                if index == 0:
                    word["tag"] = member << bits | generator.randrange(1 << bits)
                if broadcast:
                    word["mask"] = generator.randrange(1 << 2 * bits) if index else mask << bits
                ctx.set(dut.i.payload, word)
                ctx.set(dut.i.valid, 1)
                moved = False
                while not moved:
                    ready = [generator.random() < 0.7 for _ in others]
                    for port, flag in zip(dut.o_ready, ready):
                        ctx.set(port, flag)
                    moved = all(flag for flag, wanted in zip(ready, heard) if wanted)
                    assert ctx.get(dut.i.ready) == moved
                    valid = [bool(ctx.get(port)) for port in dut.o_valid]
                    assert valid == [wanted and (moved or not broadcast) for wanted in heard]
                    assert ctx.get(dut.o_payload.payload) == index
                    await ctx.tick()

    exercise(dut, testbench)


def test_multiplexer_serves_all_inputs_in_turn() -> None:
    """All inputs always have worms of 3 flits: every fourth is of each, without a gap."""
    dut = ClusterMultiplexer(Packet(2, 2, flits=True), inputs=4, depth=4, decision=2)
    sent = [0] * 4

    def offer(port: int, cycle: int) -> int:
        sent[port] += 1
        return port << 2 | (sent[port] % 3 == 0) << 4

    trace = transport(dut, cycles=122, offer=offer)
    came = [flit >> 2 & 3 for cycle in trace for _, flit in cycle.moved()]
    assert len(came) == 120
    worms = [came[at : at + 3] for at in range(0, 120, 3)]
    assert all(len(set(flits)) == 1 for flits in worms)
    assert all(len({flits[0] for flits in worms[at : at + 4]}) == 4 for at in range(37))


@pytest.mark.parametrize("decision", [1, 2, 5])
def test_multiplexer_decides_while_others_pass(decision: int) -> None:
    """Two worms of 6 flits at once: the second follows at once, its decision is made by then. What
    comes behind the first in its queue is looked at once it is at the head."""
    dut = ClusterMultiplexer(Packet(2, 4, flits=True), inputs=3, depth=20, decision=decision)
    flits = {
        port: [port | index << 2 | (index % 6 == 5) << 6 for index in range(count)]
        for port, count in ((0, 12), (1, 6))
    }
    offers = {port: own[:] for port, own in flits.items()}
    trace = transport(
        dut, cycles=60, offer=lambda port, cycle: offers[port].pop(0) if offers.get(port) else None
    )
    came = [(cycle, flit) for cycle, row in enumerate(trace) for _, flit in row.moved()]
    expected = flits[0][:6] + flits[1] + flits[0][6:]
    times = list(range(decision, decision + 18))
    assert came == list(zip(times, expected))


@pytest.mark.parametrize(("length", "depth"), [(3, 3), (3, 4), (2, 5)])
def test_multiplexer_takes_packets_whole(length: int, depth: int) -> None:
    """A header comes in only if there is room for a whole packet; its flits then never wait."""
    dut = ClusterMultiplexer(Packet(2, 2, flits=True), inputs=1, depth=depth, length=length)
    generator = random.Random(SEED)
    sent = [0]

    def offer(port: int, cycle: int) -> int:
        sent[0] += 1
        return (sent[0] % length == 0) << 4

    trace = transport(
        dut, cycles=300, offer=offer, ready=lambda port, cycle: generator.random() < 0.4
    )
    number = held = 0
    for cycle in trace:
        taken, left = bool(cycle.entered()), bool(cycle.moved())
        assert taken == (number % length > 0 or held <= depth - length)
        number, held = number + taken, held + taken - left
    assert number > 50


test_components_reject = refusals(
    call,
    (lambda: ClusterChannel(Packet(4, 8), DCSH(4, 2)), "Packet must have flits"),
    (
        lambda: DCSHRouter(Packet(5, 8, flits=True), DCSH(4, 2), depth=1),
        "Tag of a packet must have 4 bits in a DCSH of 4^2 nodes, not 5",
    ),
    (
        lambda: DCSHRouter(Packet(4, 8, flits=True), DCSH(4, 2), depth=0),
        "Depth must be at least 1, not 0",
    ),
    (
        lambda: ClusterMultiplexer(Packet(4, 8, flits=True), inputs=0, depth=1),
        "Inputs must be at least 1, not 0",
    ),
    (
        lambda: ClusterMultiplexer(Packet(4, 8, flits=True), inputs=3, depth=4, length=5),
        "Depth must be at least the length of 5 flits, not 4",
    ),
    (lambda: ClusterMultiplexer(Packet(4, 8), inputs=3, depth=4), "Packet must have flits"),
)
