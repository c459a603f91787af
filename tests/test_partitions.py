# amaranth: UnusedElaboratable=no
"""Partitions: which are legal, what their masks do to tags, and networks divided at run time."""

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterator
from operator import call
from typing import Any

import pytest
from amaranth.back import rtlil
from driving import exercise
from long_runs import long
from multicube.hdl import MultistageNetwork, build
from multicube.hdl.export.top_ports import port_list
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.graphs.isolation import shared_channel
from multicube.hdl.graphs.partitions import (
    Partition,
    Subnetwork,
    check_partitionable,
    effective_tag,
)
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.hdl.links.packet import Packet
from multicube.hdl.networks.partitioned import PartitionedNetwork
from multicube.hdl.terminals.partition import PartitionInterface
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from refusals import refusals
from scripted_terminals import payload_of, records_of, scripted, word_of
from subsets import tilings

PARTITIONABLE = ["cube", "omega", "indirect-cube", "flip"]

every_routing = pytest.mark.parametrize("routing", ["destination", "xor"])


def legal(members: tuple[int, ...], bits: int) -> bool:
    """The rule of III-D, word by word: they agree in n - s bits, and there are 2^s of them."""
    agreeing = [b for b in range(bits) if len({member >> b & 1 for member in members}) == 1]
    return len(members) == 2 ** (bits - len(agreeing))


def legal_tilings(ports: int) -> Iterator[list[tuple[int, ...]]]:
    """All ways to divide all terminals into legal sets, found by trying all sets."""
    bits = ports.bit_length() - 1
    sizes = range(1, ports + 1)
    subsets = (s for size in sizes for s in itertools.combinations(range(ports), size))
    return tilings(ports, {members for members in subsets if legal(members, bits)})


def halvings(ports: int) -> set[frozenset[frozenset[int]]]:
    """All partitions that repeated halving gives."""
    found = set()
    todo = [Partition.whole(ports)]
    while todo:
        partition = todo.pop()
        key = frozenset(frozenset(part.members) for part in partition.subnetworks)
        if key not in found:
            found.add(key)
            for part in partition.subnetworks:
                for bit in range(partition.bits):
                    if part.mask >> bit & 1:
                        todo.append(partition.halved(part.value, bit))
    return found


def random_partition(generator: random.Random, ports: int, steps: int) -> Partition:
    """Halves of halves, on random bits: sizes differ."""
    partition = Partition.whole(ports)
    for _ in range(steps):
        large = [part for part in partition.subnetworks if part.size > 1]
        part = generator.choice(large)
        bit = generator.choice([b for b in range(partition.bits) if part.mask >> b & 1])
        partition = partition.halved(part.value, bit)
    return partition


# Legal partitions.


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_subnetworks_are_the_legal_sets(bits: int) -> None:
    count = 0
    for size in range(1, 2**bits + 1):
        for members in itertools.combinations(range(2**bits), size):
            if legal(members, bits):
                subnetwork = Subnetwork.of(bits, members[::-1])
                assert (subnetwork.members, subnetwork.size) == (list(members), size)
                assert [t for t in range(-1, 2**bits + 1) if t in subnetwork] == list(members)
                count += 1
            else:
                with pytest.raises(ValueError, match=r"^Members of a subnetwork"):
                    Subnetwork.of(bits, members)
    assert count == 3**bits


@pytest.mark.parametrize(("ports", "count"), [(2, 2), (4, 8), (8, 154)])
def test_all_partitions(ports: int, count: int) -> None:
    """As many as there are ways to divide a cube into subcubes (OEIS A018926)."""
    partitions = [Partition.of_members(ports, groups) for groups in legal_tilings(ports)]
    assert len(partitions) == count
    for partition, groups in zip(partitions, legal_tilings(ports)):
        for members in groups:
            for member in members:
                assert partition.of(member).members == list(members)
                # The members are what a packet from one of them can reach under its mask.
                mask = partition.mask(member)
                assert [d for d in range(ports) if (d ^ member) & ~mask == 0] == list(members)


def test_halving_gives_most_partitions() -> None:
    """All of 4 terminals; of 8 all but those around one of the four diagonals of the cube, left
    or right: three pairs in three directions, and two terminals alone."""
    assert len(halvings(4)) == 8
    all_of_8 = {frozenset(map(frozenset, groups)) for groups in legal_tilings(8)}
    others = all_of_8 - halvings(8)
    assert halvings(8) < all_of_8
    assert frozenset(map(frozenset, ([0], [7], [1, 3], [2, 6], [4, 5]))) in others
    assert len(others) == 8
    assert {tuple(sorted(map(len, groups))) for groups in others} == {(1, 1, 2, 2, 2)}


def test_figures_4_and_5() -> None:
    """N = 16 by the high-order bit; then one half by bit 2."""
    figure_4 = Partition.whole(16).halved(0, 3)
    assert [part.members for part in figure_4.subnetworks] == [[*range(8)], [*range(8, 16)]]
    figure_5 = figure_4.halved(8, 2)
    groups = [range(8), range(8, 12), range(12, 16)]
    assert figure_5 == Partition.of_members(16, groups)
    assert figure_5 == Partition.of_bits(16, [{3: 0}, {3: 1, 2: 0}, {3: 1, 2: 1}])
    assert [figure_5.mask(terminal) for terminal in (0, 8, 12)] == [0b0111, 0b0011, 0b0011]


def test_terminal_of_no_subnetwork_is_alone() -> None:
    partition = Partition.of_members(8, [[2, 3]])
    assert partition.of(5).members == [5]
    assert partition.mask(5) == 0
    assert partition.halved(5 ^ 7, 0).of(3).members == [3]


# One case for each way of getting it wrong.
test_partition_rejects = refusals(
    call,
    (
        lambda: Partition.of_members(8, [[0, 1, 2]]),
        "Members of a subnetwork must be all terminals whose addresses agree in some "
        "bits, not 0, 1, 2",
    ),
    (
        lambda: Partition.of_members(8, [[0, 3]]),
        "Members of a subnetwork must be all terminals whose addresses agree in some "
        "bits, not 0, 3",
    ),
    (
        lambda: Partition.of_members(8, [[1, 1]]),
        "Members of a subnetwork must be distinct, not 1, 1",
    ),
    (lambda: Partition.of_members(8, [[]]), "A subnetwork must have at least one member, not none"),
    (lambda: Partition.of_members(8, [[8]]), "Member must be from 0 to 7, not 8"),
    (
        lambda: Partition.of_members(8, [[4, 5], [0, 1, 4, 5]]),
        "Subnetworks 0 and 1 must be disjoint; both have terminal 4",
    ),
    (
        lambda: Partition.of_bits(8, [{0: 1}, {1: 1}]),
        "Subnetworks 0 and 1 must be disjoint; both have terminal 3",
    ),
    (lambda: Partition.of_bits(8, [{3: 0}]), "Bit must be from 0 to 2, not 3"),
    (lambda: Partition.of_bits(8, [{1: 2}]), "Value of bit 1 must be from 0 to 1, not 2"),
    (lambda: Partition.whole(12), "Ports of a partitioned network must be a power of two, not 12"),
    (
        lambda: Partition.whole(8).halved(0, 2).halved(0, 2),
        "Bit that divides a subnetwork must be one in which its members differ (0, 1), not 2",
    ),
    (
        lambda: Partition.of_members(8, [[4]]).halved(4, 0),
        "Bit that divides a subnetwork must be one in which its members differ (there is "
        "none), not 0",
    ),
    (lambda: Partition.whole(8).mask(8), "Terminal must be from 0 to 7, not 8"),
    (
        lambda: Subnetwork(3, 0b110, 0b011),
        "Value of a subnetwork must be 0 where its mask 110 is 1, not 011",
    ),
    (
        lambda: Partition(3, (Subnetwork(2, 0, 0),)),
        "Addresses of subnetwork 0 must have 3 bits, not 2 bits",
    ),
)


# Tags and links.


@every_routing
@pytest.mark.parametrize(("ports", "radix"), [(8, 2), long(16, 4), (8, 8)])
@pytest.mark.parametrize("name", PARTITIONABLE)
def test_effective_tags(name: str, ports: int, radix: int, routing: str) -> None:
    """They lead to the members, leave tags between members as they are, and with E for XOR of the
    paper's example no bit outside M is ever 1."""
    tags = multistage_plan(name, ports, radix).tags(routing)
    generator = random.Random(ports)
    print(f"seed {ports}")
    for _ in range(6):
        partition = random_partition(generator, ports, 3)
        for source in range(ports):
            mask, members = partition.mask(source), partition.of(source).members
            effective = [effective_tag(tags, mask, source, tag) for tag in range(ports)]
            assert {tags.destination(tag, source) for tag in effective} == set(members)
            for member in members:
                tag = tags.tag(source, member)
                assert effective[tag] == tag
            allowed = tags.in_stage_order(mask)
            for tag, doubled in itertools.product(effective, range(ports)):
                assert set(tags.destinations(tag, doubled & allowed, source)) <= set(members)


def test_effective_tags_of_the_paper() -> None:
    """N = 1024, terminals 0 to 255: E = 00 t7 ... t0, and s9 s8 d7 ... d0."""
    mask = Partition.of_members(1024, [range(256)]).mask(17)
    assert mask == 0b0011111111
    plan = multistage_plan("cube", 1024)
    for tag in range(1024):
        assert effective_tag(plan.tags("xor"), mask, 17, tag) == tag % 256
        assert effective_tag(plan.tags(), mask, 17, tag) == tag % 256
    mask = Partition.of_members(1024, [range(256, 512)]).mask(300)
    assert effective_tag(plan.tags(), mask, 300, 0b1011001100) == 0b0111001100


def links(name: str, ports: int, members: list[int]) -> set[tuple[int, int]]:
    """All links between stages that packets between members use."""
    plan = multistage_plan(name, ports)
    return {
        (hop.stage, plan.line(hop.stage, hop.box, hop.output))
        for pair in itertools.product(members, repeat=2)
        for hop in plan.path(*pair)
    }


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", PLANS)
def test_subnetworks_share_no_link(name: str) -> None:
    """In no partition of 8 terminals, for the wirings that are allowed; the others are not,
    because there they do."""
    separate = True
    for groups in legal_tilings(8):
        used = [links(name, 8, list(members)) for members in groups]
        separate &= sum(map(len, used)) == len(set().union(*used))
    tags = multistage_plan(name, 8).tags()
    assert separate == (name in PARTITIONABLE)
    if separate:
        check_partitionable(tags)
    else:
        message = (
            r"^Partitions need a wiring whose stages replace each digit of the source address by "
            r"the same digit of the destination; here stage 0 replaces digit 0 by digit 2, so that "
            r"subnetworks would share links$"
        )
        with pytest.raises(ValueError, match=message):
            check_partitionable(tags)
        with pytest.raises(ValueError, match=message):
            effective_tag(tags, 1, 0, 0)


class Switchboard:
    """Terminals joined by links of their own, but for those of some, which share one."""

    ports = 8

    def __init__(self, *sharing: tuple[int, int]) -> None:
        self.sharing = sharing

    def channels(self, source: int, destination: int) -> list[object]:
        pair = source, destination
        return ["shared" if pair in self.sharing else pair]


@pytest.mark.parametrize(
    ("sharing", "found"),
    [
        ([(0, 4), (2, 6)], ("0, 4", "2, 6")),
        ([(0, 7), (1, 1), (2, 2)], ("1", "2")),
        ([(0, 3), (1, 5), (1, 1)], None),  # Terminal 1 is in every subnetwork with these pairs.
        ([(0, 3), (1, 5), (5, 4)], ("0, 1, 2, 3", "4, 5")),
        ([], None),
    ],
)
def test_shared_channel(sharing: list[tuple[int, int]], found: tuple[str, str] | None) -> None:
    """Two disjoint subnetworks that both have a use for it, however many others there are."""
    shared = shared_channel(Switchboard(*sharing))
    if found is None:
        assert shared is None
    else:
        assert (shared.channel, *map(str, shared.subnetworks)) == ("shared", *found)


test_networks_that_share_channels_are_refused = refusals(
    lambda name, parameters: PartitionedNetwork(build(name, **parameters)),
    (
        "ring",
        {"k": 8, "n": 1},
        "Partitions need subnetworks that share no channel; here those of terminals 0, 2 "
        "and of 1, 3 would share router_1.o.0",
    ),
    (
        "connection-machine",
        {"n": 3},
        "A network that deflects messages, over any free wire, can't be partitioned",
    ),
    (
        "torus",
        {"k": 32},
        "Partitions of this network can be checked for up to 256 terminals, not 1024",
    ),
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("torus", {"k": 4, "n": 1}),
        ("torus", {"k": 2, "n": 9}),
        ("hypercube", {"n": 9, "routing": "adaptive"}),
        ("cube", {"extra_stage": 1, "faults": "box:0:3"}),
        ("cube", {"extra_stage": 1, "faults": "box:1:3"}),
        ("dcsh", {"k": 8, "n": 1}),
    ],
)
def test_other_networks_keep_partitions(name: str, parameters: dict[str, Any]) -> None:
    network = build(name, **parameters)
    assert PartitionedNetwork(network).ports == network.ports


# The interface.


def test_partition_interface_rejects() -> None:
    tags = multistage_plan("cube", 8).tags()
    message = r"^Tag of a packet must have 3 bits for these addresses, not 4$"
    with pytest.raises(ValueError, match=message):
        PartitionInterface(Packet(4, 8), tags)
    with pytest.raises(TypeError, match=r"^Network must be a packet-switching network, not 8$"):
        PartitionedNetwork(8)


@every_routing
def test_interface_changes_headers_only(routing: str) -> None:
    """Packets of four flits under mask 011 at terminal 2: behind the header, `tag` carries data."""
    packet = Packet(3, 4, flits=True)
    tags = multistage_plan("indirect-cube", 8).tags(routing)
    mask = 0b011
    dut = PartitionInterface(packet, tags)
    trace = []

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.address, 2)
        ctx.set(dut.mask, mask)
        ctx.set(dut.mask_member, 1)
        ctx.set(dut.mask_write, 1)
        ctx.set(dut.o.ready, 1)
        await ctx.tick()
        ctx.set(dut.mask_write, 0)
        ctx.set(dut.i.valid, 1)
        for _ in range(3):
            for flit in range(4):
                value = {"tag": 7 - flit, "payload": flit, "last": flit == 3}
                ctx.set(dut.i.payload, value)
                trace.append(ctx.get(dut.o.payload.tag))
                assert ctx.get(dut.o.payload.payload) == flit
                await ctx.tick()

    exercise(dut, testbench)
    # The lowest address bit is that of stage 0, and so on top of the tag.
    assert trace == [0b110, 6, 5, 4] * 3


@every_routing
@pytest.mark.parametrize(
    ("wiring", "radix"), [("indirect-cube", 2), ("cube", "2x4"), ("flip", "4x2")]
)
def test_interface_puts_masks_into_stage_order(wiring: str, radix: int | str, routing: str) -> None:
    """All masks and terminals of eight, where the digits of a tag are in another order than those
    of an address: a broadcast to all reaches the members, and every tag leads to one of them."""
    tags = multistage_plan(wiring, 8, radix).tags(routing)
    dut = PartitionInterface(Packet(3, 1, broadcast=True), tags)

    async def testbench(ctx: Any) -> None:
        for terminal, mask in itertools.product(range(8), range(8)):
            ctx.set(dut.address, tags.code.encode(terminal))
            ctx.set(dut.mask, mask)
            ctx.set(dut.mask_member, tags.code.encode(terminal))
            ctx.set(dut.mask_write, 1)
            await ctx.tick()
            members = Subnetwork(tags.code, mask, tags.code.encode(terminal) & ~mask).members
            for tag in range(8):
                ctx.set(dut.i.payload, {"tag": tag, "mask": 7})
                sent = ctx.get(dut.o.payload)
                assert tags.destinations(sent.tag, sent.mask, terminal) == members
                wanted = tags.destination(tag, terminal)
                reached = wanted & mask | terminal & ~mask
                assert tags.destination(sent.tag, terminal) == reached

    exercise(dut, testbench)


# Networks.


class Machine:
    """A partitioned network whose terminals send random tags and broadcasts, in phases."""

    def __init__(
        self, parameters: dict[str, Any], phases: int, packets: int, seed: int, *, waits: bool
    ) -> None:
        print(f"seed {seed}")
        generator = random.Random(seed)
        self.network = MultistageNetwork(**parameters, broadcast=1)
        self.ports, self.tags = self.network.ports, self.network.tags
        rule = self.network.mask_rule
        drawn = (
            random_partition(generator, self.ports, generator.randrange(1, 6))
            for _ in itertools.count()
        )
        kept = (one for one in drawn if rule is None or all(map(rule.keeps, one.subnetworks)))
        self.partitions = list(itertools.islice(kept, phases))
        self.packets = packets
        self.scripts: list[list[tuple[int, int]]] = []
        for source in range(self.ports):
            script = []
            for partition in self.partitions:
                # First to every member, then whatever.
                members = partition.of(source).members
                tags = [(self.tags.tag(source, member), 0) for member in members]
                while len(tags) < packets:
                    rare = generator.randrange(self.ports) & generator.randrange(self.ports)
                    doubled = rare & generator.randrange(self.ports)
                    tags.append((generator.randrange(self.ports), doubled))
                generator.shuffle(tags)
                script += tags[:packets]
            self.scripts.append(script)
        layout = self.network.packet
        words = [
            [
                word_of(layout, tag, doubled, number * self.ports + source)
                for number, (tag, doubled) in enumerate(script)
            ]
            for source, script in enumerate(self.scripts)
        ]
        # A packet may have as many destinations as there are terminals.
        self.fabric: Fabric = scripted(
            PartitionedNetwork(self.network), words, 16 * phases * packets, waits=waits
        )

    def run(self, engine: Any, cycles: int) -> list[list[int]]:
        """All phases: a new partition, one write a subnetwork, then its packets until all rests."""
        for phase, partition in enumerate(self.partitions):
            for part in partition.subnetworks:
                engine.set("mask", part.mask)
                engine.set("mask_member", part.members[-1])
                engine.set("mask_write", 1)
                engine.step(1)
            engine.set("mask_write", 0)
            engine.set("limit", (phase + 1) * self.packets)
            engine.step(cycles)
        return records_of(engine, self.ports)

    def expected(self) -> tuple[list[Counter[int]], int]:
        """What each terminal must be given, as payloads, by the paper's formulas; and how many
        packets were sent that would have left their subnetwork."""
        given: list[Counter[int]] = [Counter() for _ in range(self.ports)]
        stray = 0
        for source, script in enumerate(self.scripts):
            for number, (tag, doubled) in enumerate(script):
                partition = self.partitions[number // self.packets]
                mask = partition.mask(source)
                tag_mask = self.tags.in_stage_order(mask)
                effective = effective_tag(self.tags, mask, source, tag)
                reached = self.tags.destinations(effective, doubled & tag_mask, source)
                members = set(partition.of(source).members)
                assert members.issuperset(reached)
                stray += not members.issuperset(self.tags.destinations(tag, doubled, source))
                for destination in reached:
                    given[destination][number * self.ports + source] += 1
        return given, stray


CASES = [
    long({"ports": 16, "switch": "output-queued"}, 4, 16),
    ({"ports": 16, "switch": "input-queued", "wiring": "omega", "radix": 4}, 4, 16),
    long({"ports": 8, "extra_stage": 1}, 4, 8),
    long({"ports": 8, "extra_stage": 1, "faults": "box:3:1", "wiring": "omega"}, 4, 8),
    ({"ports": 8, "extra_stage": 1, "faults": "link:2:5", "switch": "input-queued"}, 4, 8),
    long({"ports": 16, "extra_stage": 1, "faults": "box:2:5", "wiring": "flip"}, 4, 16),
    long({"ports": 16, "extra_stage": 1, "faults": "link:1:9", "radix": 4}, 4, 16),
    long({"ports": 64, "switch": "input-queued", "wiring": "flip", "radix": 2}, 3, 64),
    long({"ports": 64, "switch": "input-queued", "wiring": "indirect-cube", "radix": 4}, 3, 64),
]


@pytest.mark.long
@every_routing
@pytest.mark.parametrize(("parameters", "phases", "packets"), CASES)
def test_partitioned_network(
    parameters: dict[str, Any], phases: int, packets: int, routing: str
) -> None:
    """Random partitions, one after the other: random tags and broadcast masks never lead out, and
    between members every tag leads where it shall."""
    machine = Machine(
        {**parameters, "routing": routing}, phases, packets, parameters["ports"], waits=True
    )
    engine = CompiledEngine(machine.fabric)
    records = machine.run(engine, 60 * packets)
    expected, stray = machine.expected()
    assert stray > machine.ports * packets // 4
    layout = machine.network.packet
    given = [Counter(payload_of(layout, word) for word in words) for words in records]
    assert given == expected
    for phase, partition in enumerate(machine.partitions):
        numbers = range(phase * packets, (phase + 1) * packets)
        for terminal, payloads in enumerate(given):
            senders = {p % machine.ports for p in payloads if p // machine.ports in numbers}
            assert senders == set(partition.of(terminal).members)


@pytest.mark.long
@every_routing
@pytest.mark.parametrize("switch", ["wormhole", "cut-through"])
def test_packets_of_flits_in_a_partition(switch: str, routing: str) -> None:
    """Their headers are held inside; what follows arrives as it was sent."""
    network = MultistageNetwork(8, switch=switch, routing=routing, length=3)
    partition = Partition.of_members(8, [[0, 2], [1, 3], [4, 5, 6, 7]])
    layout, packets = network.packet, 40
    generator = random.Random(8)
    print("seed 8")
    scripts = []
    expected: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(8)]
    for source in range(8):
        script = []
        for number in range(packets):
            tags = [generator.randrange(8) for _ in range(3)]
            mask = partition.mask(source)
            header = effective_tag(network.tags, mask, source, tags[0])
            flits, received = (
                [
                    layout.const({"tag": tag, "payload": number * 8 + source, "last": flit == 2})
                    .as_value()
                    .value
                    for flit, tag in enumerate([first, *tags[1:]])
                ]
                for first in (tags[0], header)
            )
            script += flits
            expected[network.tags.destination(header, source)][tuple(received)] += 1
        scripts.append(script)
    fabric = scripted(PartitionedNetwork(network), scripts, 2000, waits=True)
    engine = CompiledEngine(fabric)
    for part in partition.subnetworks:
        engine.set("mask", part.mask)
        engine.set("mask_member", part.value)
        engine.set("mask_write", 1)
        engine.step(1)
    engine.set("mask_write", 0)
    engine.set("limit", 3 * packets)
    engine.step(3000)
    for words, wanted in zip(records_of(engine, 8), expected):
        arrived = [tuple(words[at : at + 3]) for at in range(0, len(words), 3)]
        assert Counter(arrived) == wanted


@pytest.mark.long
def test_engines_agree_on_a_partitioned_network() -> None:
    machine = Machine({"ports": 8}, 3, 8, 1, waits=True)
    records = [
        machine.run(engine(machine.fabric), 120) for engine in (CompiledEngine, AmaranthEngine)
    ]
    assert records[0] == records[1]
    assert all(records[0])


def test_waiting_header_keeps_its_mask() -> None:
    """What was offered before a write goes where it was bound for, and so is not changed while it
    waits; what follows it obeys the new mask."""
    network = MultistageNetwork(4, switch="input-queued", depth=1)
    dut = PartitionedNetwork(network)

    async def testbench(ctx: Any) -> None:
        port, far = dut.i[0], dut.o[3]
        ctx.set(port.payload, {"tag": 3, "payload": 1})
        ctx.set(port.valid, 1)
        for _ in range(6):  # two fill the stages, the third waits at the interface
            await ctx.tick()
        assert not ctx.get(port.ready)
        ctx.set(dut.mask, 0b01)
        ctx.set(dut.mask_member, 0)
        ctx.set(dut.mask_write, 1)
        await ctx.tick()
        ctx.set(dut.mask_write, 0)
        for _ in range(3):
            await ctx.tick()
        assert not ctx.get(port.ready)
        for output in dut.o:
            ctx.set(output.ready, 1)
        taken = []
        for _ in range(20):
            taken += [j for j, output in enumerate(dut.o) if ctx.get(output.valid)]
            await ctx.tick()
        assert taken[:3] == [3, 3, 3]
        assert set(taken[3:]) == {1}
        assert not ctx.get(far.valid)

    exercise(dut, testbench)


@pytest.mark.long
@pytest.mark.parametrize("routing", ["xor", long("destination")])
def test_partitioned_network_exports(routing: str) -> None:
    """One module of the interface for all terminals; one privileged port; no loop."""
    network = MultistageNetwork(8, broadcast=1, routing=routing, depth=1)
    dut = PartitionedNetwork(network)
    assert (dut.ports, dut.packet, dut.tags) == (8, network.packet, network.tags)
    text = verilog_text(dut.fabric, "divided")
    assert text.count("module divided_partition_interface (") == 1
    assert len(re.findall(r"^  divided_partition_interface partition_\d+ \($", text, re.M)) == 8
    ports = {port["name"]: port["width"] for port in port_list(dut.fabric)}
    assert {name: width for name, width in ports.items() if name.startswith("mask")} == {
        "mask": 3,
        "mask_member": 3,
        "mask_write": 1,
    }


@pytest.mark.long
def test_partitioned_network_has_no_combinational_loop() -> None:
    text = rtlil.convert(PartitionedNetwork(MultistageNetwork(4, broadcast=1, depth=1)))
    assert len(re.findall(r"^module .*partition_\d\b", text, re.M)) == 4
