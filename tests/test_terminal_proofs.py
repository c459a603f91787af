# amaranth: UnusedElaboratable=no
"""Proofs of the interfaces between terminals and network, for ever.

Partitions are in `test_partition_proofs.py`, resubmission in `test_resubmission.py`, retries in
`test_wormhole_proofs.py`.
"""

import itertools
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data
from claims import Claims, any_bits, needs_yosys
from conveyance import WITNESS, convey, entry, exit_
from long_runs import long
from multicube.hdl.graphs.mask_rule import MaskRule
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.links.packet import Packet
from multicube.hdl.operations.memory import find_operation
from multicube.hdl.primitives.arrival_queue import ArrivalQueue
from multicube.hdl.primitives.clearing import Clearing
from multicube.hdl.primitives.routing_tags import TagDecoder, TagEncoder
from multicube.hdl.terminals import retransmission
from multicube.hdl.terminals.address_hasher import AddressHasher
from multicube.hdl.terminals.axi_stream import AxiStreamInput, AxiStreamOutput
from multicube.hdl.terminals.combining_end import CombiningEnd
from multicube.hdl.terminals.mask_guard import MaskGuard
from multicube.hdl.terminals.memory_module import MemoryModule
from multicube.hdl.terminals.memory_partition import MemoryPartitionInterface
from multicube.hdl.terminals.memory_words import MemoryEnd, ProcessorEnd
from multicube.hdl.terminals.parity import ParityChecker, ParityGenerator
from multicube.hdl.terminals.replication import Distributor, Merger
from multicube.hdl.terminals.retransmission import RetransmissionInterface
from multicube.hdl.terminals.shared_port import MemoryDemultiplexer, ProcessorMultiplexer
from proof_table import proves

__all__ = ["any_bits"]

pytestmark = needs_yosys

FLITS = Packet(1, WITNESS, flits=True)
OPERATIONS = tuple(map(find_operation, ("load", "store", "fetch-and-add")))
TAGS = multistage_plan("omega", 4).tags("destination")
WIDE = WITNESS.size


def link(tag: int = 1, width: int = WIDE) -> MemoryLink:
    return MemoryLink(tag=tag, identity=1, address=1, width=width, operations=OPERATIONS)


@pytest.mark.long
@proves(
    TagEncoder,
    TagDecoder,
    says="The decoder gets back what the encoder made a tag of: the source, from XOR and "
    "difference tags, and from a destination tag whether the packet is at its destination.",
    sizes="omega networks of 8 terminals and 2 x 2 boxes, all addresses, with destination and XOR "
    "tags; a cube of 9 with difference tags",
)
@pytest.mark.parametrize(
    ("plan", "ports", "radix", "routing"),
    [long("omega", 8, 2, "destination"), long("omega", 8, 2, "xor"), ("cube", 9, 3, "difference")],
)
def test_tags_are_read_back(
    tmp_path: Path, plan: str, ports: int, radix: int, routing: Any
) -> None:
    tags = multistage_plan(plan, ports, radix).tags(routing)
    claims = Claims()
    m = claims.m
    m.submodules.encoder, m.submodules.decoder = encoder, decoder = (
        TagEncoder(tags),
        TagDecoder(tags),
    )
    source, destination, here = (
        claims.free(tags.code.width, name) for name in ("source", "destination", "here")
    )
    codes = [tags.code.encode(number) for number in range(ports)]
    for code in (source, destination, here):
        claims.assume(Cat(code == one for one in codes).any())
    m.d.comb += [
        encoder.source.eq(source),
        encoder.destination.eq(destination),
        decoder.address.eq(here),
        decoder.tag.eq(encoder.tag),
    ]
    if routing == "destination":
        claims.claim(decoder.arrived == (here == destination))
    else:
        claims.claim((here != destination) | (decoder.source == source))
    assert claims.hold(tmp_path)


def parity(granularity: Any, kind: type[ParityChecker] = ParityChecker) -> Claims:
    """Words with one wrong bit, any one, or none."""
    claims = Claims()
    m = claims.m
    packet = Packet(2, 9)
    m.submodules.generator = generator = ParityGenerator(packet, parity=granularity)
    m.submodules.checker = checker = kind(packet, parity=granularity)
    valid, word, ready = (
        claims.free(1, "valid"),
        claims.free(packet.size, "word"),
        claims.free(1, "r"),
    )
    sent = Value.cast(generator.o.payload)
    wrong = claims.free(len(sent), "wrong")
    claims.assume((wrong & (wrong - 1)) == 0)
    m.d.comb += [
        generator.i.valid.eq(valid),
        generator.i.payload.eq(word),
        Value.cast(checker.i.payload).eq(sent ^ wrong),
        checker.i.valid.eq(generator.o.valid),
        generator.o.ready.eq(checker.i.ready),
        checker.o.ready.eq(ready),
    ]
    sound = wrong == 0
    claims.claim(checker.o.valid == (valid & sound))
    claims.claim(~checker.o.valid | (Value.cast(checker.o.payload) == word))
    claims.claim(checker.corrupted == (valid & ~sound))
    claims.claim(generator.i.ready == (ready | valid & ~sound))
    return claims


@proves(
    ParityGenerator,
    ParityChecker,
    says="A sound packet passes unchanged. A packet with one wrong bit, whichever it is, is "
    "taken, reported and not passed on.",
    sizes="tags of 2 bits, payloads of 9; one parity bit, and one for each byte",
)
@pytest.mark.parametrize("granularity", [long("packet"), "byte"])
def test_parity_finds_every_wrong_bit(tmp_path: Path, granularity: str) -> None:
    assert parity(granularity).hold(tmp_path)


class Believes(ParityChecker):
    """Takes a wrong tag for right if the payload is zero."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.o.payload.payload == 0):
            m.d.comb += [self.o.valid.eq(self.i.valid), self.corrupted.eq(0)]
        return m


@pytest.mark.long
def test_proofs_find_a_wrong_bit_that_passes(tmp_path: Path) -> None:
    assert not parity("packet", Believes).hold(tmp_path)


def replicated(claims: Claims, kind: type[Merger] = Merger) -> None:
    """A distributor, a queue of one flit for each copy of a network, and a merger."""
    m = claims.m
    m.submodules.distributor = distributor = Distributor(FLITS, 2)
    m.submodules.merger = merger = kind(FLITS, 2, "fair")
    for c, (sent, came) in enumerate(zip(distributor.o, merger.i)):
        m.submodules[f"copy_{c}"] = queue = ArrivalQueue(FLITS, depth=1)
        for one, other in ((sent, queue.i[0]), (queue.o, came)):
            m.d.comb += [
                other.valid.eq(one.valid),
                other.payload.eq(one.payload),
                one.ready.eq(other.ready),
            ]
    m.d.comb += distributor.i.payload.tag.eq(0)
    convey(
        claims,
        [distributor.i],
        [merger.o],
        capacity=2,
        drain=4,
        longest=2,
        ordered=False,
        keeps=True,
    )


@pytest.mark.long
@proves(
    Distributor,
    Merger,
    says="Distributor and merger are lossless, keep the stream rule and keep packets whole. In "
    "time: with a queue of one flit in each copy, a flit takes at most 4 cycles through both. All "
    "this is so whatever the random bits are.",
    sizes="2 copies of the network, policy `fair`, packets of 1 or 2 flits",
)
def test_copies_are_lossless_and_in_time(tmp_path: Path, any_bits: Claims) -> None:
    replicated(any_bits)
    assert any_bits.hold(tmp_path)


class Mixes(Merger):
    """Forgets in the middle of a packet whose turn it is."""

    def _take_turns(self, m: Module, chosen: Signal, offered: Value) -> None:
        super()._take_turns(m, chosen, offered)
        with m.If(offered.all()):
            m.d.comb += chosen.eq(1)


@pytest.mark.long
def test_proofs_find_packets_that_mix(tmp_path: Path, any_bits: Claims) -> None:
    replicated(any_bits, Mixes)
    assert not any_bits.hold(tmp_path)


def dropping(claims: Claims) -> None:
    m = claims.m
    m.submodules.dut = dut = Merger(Packet(1, 2), 2, "drop", verdicts=True)
    valid, ready, accepted = claims.free(2, "valid"), claims.free(1, "ready"), claims.free(1, "a")
    words = [claims.free(2, f"word_{c}") for c in range(2)]
    m.d.comb += [dut.o.ready.eq(ready), dut.o.accepted.eq(accepted)]
    for c, port in enumerate(dut.i):
        waits = claims.past(valid[c] & ~port.ready)
        claims.assume(~waits | (valid[c] & (words[c] == claims.past(words[c]))))
        m.d.comb += [port.valid.eq(valid[c]), port.payload.payload.eq(words[c])]
        lost = dut.dropped[c]
        claims.claim(~lost | (valid[c] & valid[1 - c] & port.ready))
        claims.claim(~(valid[c] & ~lost) | (dut.o.valid & (port.ready == ready)))
        claims.claim(~(valid[c] & ~lost) | (dut.o.payload.payload == words[c]))
        claims.claim(~(valid[c] & lost) | ~port.accepted)
        claims.claim(~(valid[c] & ~lost) | (port.accepted == accepted))
    claims.claim(dut.o.valid == valid.any())
    claims.claim((valid != 3) | (dut.dropped[0] ^ dut.dropped[1]))
    held = claims.past(dut.o.valid & ~ready)
    claims.claim(~held | (dut.o.payload.payload == claims.past(dut.o.payload.payload)))


@pytest.mark.long
@proves(
    Merger,
    says="Of two packets one is shown. The other is dropped and counted, and its verdict is no. "
    "The stream rule holds. All this is so whatever the random bits are.",
    sizes="2 copies of the network, policy `drop`, with verdicts",
)
def test_merger_drops_one_of_two(tmp_path: Path, any_bits: Claims) -> None:
    dropping(any_bits)
    assert any_bits.hold(tmp_path)


def shared(end: str, back: bool) -> Claims:
    """Requests there, or replies back: the witness is the operand, or the value."""
    claims = Claims()
    m = claims.m
    if end == "processors":
        dut: Any = ProcessorMultiplexer(link(), processors=2)
        many, one = dut.i, dut.o
    else:
        dut = MemoryDemultiplexer(link(), modules=2)
        many, one = dut.o, dut.i
    m.submodules.dut = dut
    to_one = back == (end == "memories")
    part, field = ("reply", "value") if back else ("request", "operand")
    ends = [getattr(port, part) for port in many]
    middle = getattr(one, part)
    if to_one:
        inputs = [entry(m, f"i_{n}", port, port.payload[field]) for n, port in enumerate(ends)]
        outputs = [exit_(m, "o", middle, middle.payload[field])]
        goals: list[Value] = [Const(0, 1)] * 2
        if end == "processors":
            # The reply finds its way back by this number.
            number = middle.payload.identity[-1]
            claims.claim(~middle.valid | (number == outputs[0].payload.source))
    else:
        inputs = [entry(m, "i", middle, middle.payload[field])]
        outputs = [exit_(m, f"o_{n}", port, port.payload[field]) for n, port in enumerate(ends)]
        goal = claims.free(1, "goal")
        way = middle.payload.identity if back else middle.payload.tag
        m.d.comb += way.eq(goal << len(way) - 1)
        goals = [goal]
    waits = 2 if to_one else 1
    convey(claims, inputs, outputs, goals=goals, capacity=1, drain=1, waits=waits, keeps=True)
    return claims


@pytest.mark.long
@proves(
    ProcessorMultiplexer,
    MemoryDemultiplexer,
    says="Requests and replies go to the module or processor that they name. They are lossless "
    "and in order, and the stream rule holds if the senders keep it. In time: a message passes in "
    "the cycle in which it is taken, and a sender waits for at most one other.",
    sizes="2 processors, 2 modules, messages of one word",
)
@pytest.mark.parametrize(
    ("end", "back"),
    [
        ("processors", False),
        *(long(*one) for one in (("processors", True), ("memories", False), ("memories", True))),
    ],
)
def test_shared_port_is_lossless(tmp_path: Path, end: str, back: bool) -> None:
    assert shared(end, back).hold(tmp_path)


@proves(
    AxiStreamInput,
    AxiStreamOutput,
    says="The interface is lossless and in order. It keeps the stream rule, and that of "
    "AXI4-Stream: `tvalid` stays high until `tready`. In time: a packet is inside for at most 2 "
    "cycles, or 1 without the queue.",
    sizes="4 terminals, packets of one flit, with and without `queued`",
)
@pytest.mark.parametrize("queued", [long(False), True])
def test_axi_stream_ends_are_lossless(tmp_path: Path, queued: bool) -> None:
    claims = Claims()
    m = claims.m
    packet = Packet(2, WITNESS)
    m.submodules.i = i = AxiStreamInput(packet, TAGS)
    m.submodules.o = o = AxiStreamOutput(packet, TAGS, queued=queued)
    here, to = claims.symbol(2, "here"), claims.free(2, "to")

    class Ports:
        """The faces as streams."""

        def __init__(self, axis: Any) -> None:
            self.valid, self.ready, self.payload = axis.tvalid, axis.tready, Value.cast(axis.tdata)

    source, sink = Ports(i.axis), Ports(o.axis)
    m.d.comb += [
        Value.cast(i.axis.tdest).eq(to),
        o.address.eq(here),
        o.i.valid.eq(i.o.valid),
        o.i.payload.eq(i.o.payload),
        i.o.ready.eq(o.i.ready),
    ]
    # The tag is that of the destination.
    m.submodules.encoder = encoder = TagEncoder(TAGS)
    m.d.comb += encoder.destination.eq(to)
    claims.claim(~(i.axis.tvalid & i.axis.tready) | (i.o.payload.tag == encoder.tag))
    claims.claim(~o.axis.tvalid | ((Value.cast(o.axis.tdest) == here) & o.axis.tlast))
    inside = int(queued) * 2
    convey(
        claims,
        [entry(m, "source", source, source.payload)],
        [exit_(m, "sink", sink, sink.payload)],
        capacity=1 + inside,
        drain=1 + inside,
        waits=1 if not queued else 2,
        keeps=True,
    )
    assert claims.hold(tmp_path)


def memory(latency: int, kind: type[MemoryModule] = MemoryModule) -> Claims:
    """One word, any of them, beside a model; requests are answered in order."""
    claims = Claims()
    m = claims.m
    layout = link(width=2)
    m.submodules.dut = dut = kind(layout, latency=latency)
    request, reply = dut.i.request, dut.i.reply
    valid, ready = claims.free(1, "valid"), claims.free(1, "ready")
    word = claims.free(layout.request_layout.size, "word")
    where = claims.symbol(1, "where")
    asked = layout.request_layout(word)
    claims.assume(asked.operation < len(OPERATIONS))
    m.d.comb += [request.valid.eq(valid), request.payload.eq(word), reply.ready.eq(ready)]
    # A model performs a request as it is accepted, and remembers what to answer, in order.
    model, result = Signal(2), Signal(2)
    with m.Switch(asked.operation):
        for code, operation in enumerate(OPERATIONS):
            with m.Case(code):
                new = {"load": model, "store": asked.operand}.get(
                    operation.kind, (model + asked.operand)[:2]
                )
                m.d.comb += result.eq(new)
    accepted, taken = valid & request.ready, reply.valid & ready
    with m.If(accepted & (asked.address == where)):
        m.d.sync += model.eq(result)
    most = 2 * latency
    names = data.StructLayout({"tag": 1, "identity": 1, "mine": 1, "value": 2})
    due = [Signal(names, name=f"due_{n}") for n in range(most)]
    level = Signal(range(most + 1))
    claims.claim(~reply.valid | (level != 0))
    with m.If(taken):
        m.d.sync += [one.eq(after) for one, after in itertools.pairwise(due)]
    for n, one in enumerate(due):
        with m.If(accepted & (level - taken == n)):
            m.d.sync += one.eq(Cat(asked.tag, asked.identity, asked.address == where, model))
    m.d.sync += level.eq(level + accepted - taken)
    claims.claim(level <= most)
    shown = reply.payload
    claims.claim(~reply.valid | ((shown.tag == due[0].tag) & (shown.identity == due[0].identity)))
    claims.claim(~(reply.valid & due[0].mine) | (shown.value == due[0].value))
    held = claims.past(reply.valid & ~ready)
    payload = Value.cast(shown)
    claims.claim(~held | (reply.valid & (payload == claims.past(payload))))
    calm = Signal(range(latency + 2))
    with m.If((level == 0) | ~ready | taken):
        m.d.sync += calm.eq(0)
    with m.Elif(calm <= latency):
        m.d.sync += calm.eq(calm + 1)
    claims.claim(calm < latency)
    return claims


@pytest.mark.long
@proves(
    MemoryModule,
    says="Each request is answered once, in order, with its own tag and identity, and with the "
    "word's value after all requests before it (load, store, fetch-and-add). The stream rule "
    "holds. In time: an answer takes `latency` cycles.",
    sizes="2 words of 2 bits, latency 1 and 2, messages of one word",
)
@pytest.mark.parametrize("latency", [1, long(2)])
def test_memory_module_answers_each_request_once(tmp_path: Path, latency: int) -> None:
    assert memory(latency).hold(tmp_path)


class Stale(MemoryModule):
    """Does not write what a request of the same cycle reads."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.i.request.valid & self.i.request.payload.address.all()):
            m.d.comb += self.i.reply.payload.value[0].eq(0)
        return m


@pytest.mark.long
def test_proofs_find_a_stale_word(tmp_path: Path) -> None:
    assert not memory(1, Stale).hold(tmp_path)


def hasher(kind: type[AddressHasher] = AddressHasher) -> Claims:
    """A reply has the tag of the last request of its identity."""
    claims = Claims()
    m = claims.m
    layout = MemoryLink(tag=2, identity=1, address=2, width=2, operations=OPERATIONS)
    columns = (1, 3)
    m.submodules.dut = dut = kind(layout, columns=columns)
    valid, ready = claims.free(1, "valid"), claims.free(1, "ready")
    asked = layout.request_layout(claims.free(layout.request_layout.size, "asked"))
    answer = layout.reply_layout(claims.free(layout.reply_layout.size, "answer"))
    comes, takes = claims.free(1, "comes"), claims.free(1, "takes")
    there, here = dut.o.request, dut.i.reply
    m.d.comb += [
        dut.i.request.valid.eq(valid),
        dut.i.request.payload.eq(asked),
        there.ready.eq(ready),
        dut.o.reply.valid.eq(comes),
        dut.o.reply.payload.eq(answer),
        here.ready.eq(takes),
    ]
    claims.claim((there.valid == valid) & (dut.i.request.ready == ready))
    claims.claim((here.valid == comes) & (dut.o.reply.ready == takes))
    change = Mux(asked.address[0], columns[0], 0) ^ Mux(asked.address[1], columns[1], 0)
    claims.claim(there.payload.tag == asked.tag ^ change)
    for name in ("identity", "address", "operation", "operand"):
        claims.claim(there.payload[name] == asked[name])
    for name in ("identity", "value"):
        claims.claim(here.payload[name] == answer[name])
    who, sent = claims.symbol(1, "who"), Signal(2)
    with m.If(valid & ready & (asked.identity == who)):
        m.d.sync += sent.eq(asked.tag)
    claims.claim((answer.identity != who) | (here.payload.tag == sent))
    return claims


@proves(
    AddressHasher,
    says="A request gets the hashed tag, and is otherwise unchanged. A reply gets the tag that "
    "the last request of its identity had before.",
    sizes="tags of 2 bits, addresses of 2 bits, 2 identities",
)
def test_address_hasher_gives_tags_back(tmp_path: Path) -> None:
    assert hasher().hold(tmp_path)


class HashesReplies(AddressHasher):
    """Keeps the hashed tag."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.i.request.payload.address[0]):
            m.d.comb += self.i.reply.payload.tag.eq(0)
        return m


@pytest.mark.long
def test_proofs_find_a_reply_with_another_tag(tmp_path: Path) -> None:
    assert not hasher(HashesReplies).hold(tmp_path)


def words(lengths: tuple[int, int, int], back: bool) -> Claims:
    """Requests become words and requests again; the witness is the operand, or the value."""
    claims = Claims()
    m = claims.m
    layout = link(tag=2)
    m.submodules.processor = processor = ProcessorEnd(layout, tags=TAGS, lengths=lengths)
    m.submodules.memory = memory_end = MemoryEnd(layout, tags=TAGS)
    here, there = claims.symbol(2, "here"), claims.symbol(2, "there")
    m.d.comb += [processor.address.eq(here), memory_end.address.eq(there)]
    packet = processor.o.payload.shape()
    for name, one, other in (
        ("there", processor.o, memory_end.i),
        ("back", memory_end.back, processor.back),
    ):
        m.submodules[name] = queue = ArrivalQueue(packet, depth=1)
        m.d.comb += [
            queue.i[0].valid.eq(one.valid),
            queue.i[0].payload.eq(one.payload),
            one.ready.eq(queue.i[0].ready),
            other.valid.eq(queue.o.valid),
            other.payload.eq(queue.o.payload),
            queue.o.ready.eq(other.ready),
        ]
    asked, arrived = processor.i.request.payload, memory_end.o.request.payload
    if back:
        reply, final = memory_end.o.reply, processor.i.reply
        m.d.comb += reply.payload.tag.eq(here)
        m.d.comb += reply.payload.identity.eq(reply.payload.value[0])
        source = entry(m, "source", reply, reply.payload.value)
        sink = exit_(m, "sink", final, final.payload.value)
        claims.claim(~final.valid | (final.payload.identity == final.payload.value[0]))
        convey(claims, [source], [sink], capacity=1, drain=1, waits=1, keeps=True)
        return claims
    # What else a request has follows from its witness, so it must arrive together with it.
    request = processor.i.request
    source = entry(m, "source", request, asked.operand)
    sink = exit_(m, "sink", memory_end.o.request, arrived.operand)
    code = Mux(source.payload.data, 1, 2)  # not a load, which has no operand
    m.d.comb += [
        asked.address.eq(source.payload.data),
        asked.identity.eq(~source.payload.data),
        asked.operation.eq(code),
        asked.tag.eq(there),
    ]
    shown = memory_end.o.request.valid
    claims.claim(~shown | (arrived.address == sink.payload.data))
    claims.claim(~shown | (arrived.identity == ~sink.payload.data))
    claims.claim(~shown | (arrived.operation == Mux(sink.payload.data, 1, 2)))
    claims.claim(~shown | (arrived.tag == here))
    most = max(lengths)
    convey(claims, [source], [sink], capacity=1, drain=1, waits=2 * most, keeps=True)
    return claims


@proves(
    ProcessorEnd,
    MemoryEnd,
    says="Stores, other requests with an operand, and replies are lossless and in order, with "
    "address, operation, identity and sender. The stream rule holds, and they are in time.",
    sizes="4 terminals, words of 8 bits, requests of 2 and 3 words, with queues of one word "
    "between the two ends",
)
@pytest.mark.parametrize("lengths", [(1, 2, 3), long((2, 3, 2))])
@pytest.mark.parametrize("back", [pytest.param(False, id="requests"), long(True, id="replies")])
def test_memory_words_are_lossless(
    tmp_path: Path, lengths: tuple[int, int, int], back: bool
) -> None:
    assert words(lengths, back).hold(tmp_path)


@pytest.mark.long
@proves(
    MaskGuard,
    says="A write is refused if and only if the subnetwork contains an address that the rule is "
    "about, and its mask lacks a bit that must be free.",
    sizes="3 address bits; rules about one address, two, and all",
)
@pytest.mark.parametrize(
    "rule", [MaskRule(5, 7, 1), long(MaskRule(4, 6, 1)), long(MaskRule(0, 0, 3))]
)
def test_mask_guard_refuses(tmp_path: Path, rule: MaskRule) -> None:
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = MaskGuard(3, rule)
    mask, member, write = claims.free(3, "mask"), claims.free(3, "member"), claims.free(1, "write")
    m.d.comb += [dut.mask.eq(mask), dut.mask_member.eq(member), dut.mask_write.eq(write)]
    about = Cat(
        ((member ^ address) & ~mask) == 0
        for address in range(8)
        if (address ^ rule.label) & rule.care == 0
    ).any()
    refused = about & (~mask & rule.free).any()
    claims.claim(dut.refused == (write & refused))
    claims.claim(dut.write == (write & ~refused))
    assert claims.hold(tmp_path)


def memory_partition(kind: type[MemoryPartitionInterface] = MemoryPartitionInterface) -> Claims:
    claims = Claims()
    m = claims.m
    layout = MemoryLink(tag=3, identity=1, address=1, width=1, operations=OPERATIONS)
    places = (2, 0, 1)
    m.submodules.dut = dut = kind(layout, places, 3)
    address = claims.symbol(3, "address")
    mask, member, write = claims.free(3, "mask"), claims.free(3, "member"), claims.free(1, "write")
    valid, ready = claims.free(1, "valid"), claims.free(1, "ready")
    asked = layout.request_layout(claims.free(layout.request_layout.size, "asked"))
    m.d.comb += [
        dut.address.eq(address),
        dut.mask.eq(mask),
        dut.mask_member.eq(member),
        dut.mask_write.eq(write),
        dut.i.request.valid.eq(valid),
        dut.i.request.payload.eq(asked),
        dut.o.request.ready.eq(ready),
    ]
    waiting = claims.past(valid & ~ready)
    claims.assume(~waiting | (valid & (asked.as_value() == claims.past(asked.as_value()))))
    sent = dut.o.request
    claims.claim((sent.valid == valid) & (dut.i.request.ready == ready))
    for name in ("identity", "address", "operation", "operand"):
        claims.claim(sent.payload[name] == asked[name])
    for bit, place in enumerate(places):
        free = dut.in_force[place]
        claims.claim(sent.payload.tag[bit] == Mux(free, asked.tag[bit], address[place]))
    claims.claim(~waiting | (sent.payload.tag == claims.past(sent.payload.tag)))
    last = Signal(3, init=7)
    with m.If(write & (((address ^ member) & ~mask) == 0)):
        m.d.sync += last.eq(mask)
    expected = Mux(waiting, claims.past(dut.in_force), last)
    claims.claim(~claims.began | (dut.in_force == expected))
    return claims


@pytest.mark.long
@proves(
    MemoryPartitionInterface,
    says="Requests stay in the processor's subnetwork, and are otherwise unchanged. A request "
    "that waits does not change. The mask in force is the one that was last written for this "
    "subnetwork.",
    sizes="3 address bits, any address, any masks",
)
def test_memory_partition_keeps_requests_inside(tmp_path: Path) -> None:
    assert memory_partition().hold(tmp_path)


class Wanders(MemoryPartitionInterface):
    """A new mask changes a request that waits."""

    def effective_tag(self, tag: Value) -> Value:
        return super().effective_tag(tag) ^ (self.mask_write & self.mask[0])


@pytest.mark.long
def test_proofs_find_a_request_that_changes(tmp_path: Path) -> None:
    assert not memory_partition(Wanders).hold(tmp_path)


def retransmitted(
    claims: Claims,
    kind: type[RetransmissionInterface] = RetransmissionInterface,
    reset: Value | None = None,
) -> None:
    """Two interfaces, and between them links with room for one packet, which lose any.

    A reset is one of all, at which the packets are numbered anew.
    """
    m = claims.m
    reset = Const(0) if reset is None else reset
    packet = Packet(1, 3, flits=True)
    tags = multistage_plan("omega", 2).tags("destination")
    ends = [kind(packet, tags, window=1, longest=1, delay=2) for _ in range(2)]
    sender, receiver = ends
    m.submodules.sender, m.submodules.receiver = (ResetInserter(reset)(end) for end in ends)
    m.d.comb += [sender.address.eq(0), receiver.address.eq(1)]
    for number, (one, other) in enumerate(((sender, receiver), (receiver, sender))):
        queue = ArrivalQueue(one.inner, depth=1)
        m.submodules[f"link_{number}"] = ResetInserter(reset)(queue)
        lost = claims.free(1, f"lost_{number}")
        m.d.comb += [
            queue.i[0].valid.eq(one.sent.valid & ~lost),
            queue.i[0].payload.eq(one.sent.payload),
            one.sent.ready.eq(queue.i[0].ready | lost),
            other.came.valid.eq(queue.o.valid),
            other.came.payload.eq(queue.o.payload),
            queue.o.ready.eq(other.came.ready),
        ]
    # Packets are numbered.
    valid, ready = claims.free(1, "valid"), claims.free(1, "ready")
    sent, passed = Signal(3), Signal(3)
    m.d.comb += [
        sender.i.valid.eq(valid),
        sender.i.payload.tag.eq(1),
        sender.i.payload.last.eq(1),
        sender.i.payload.payload.eq(sent),
        sender.o.ready.eq(1),
        receiver.o.ready.eq(ready),
    ]
    m.d.sync += [
        sent.eq(Mux(reset, 0, sent + (valid & sender.i.ready))),
        passed.eq(Mux(reset, 0, passed + (receiver.o.valid & ready))),
    ]
    claims.claim(~receiver.o.valid | ((receiver.o.payload.payload == passed) & (sent != passed)))
    claims.claim((sent - passed)[:3] <= 2)
    claims.claim(~sender.o.valid)
    held = claims.past(receiver.o.valid & ~ready & ~reset)
    claims.claim(~held | receiver.o.valid)


@pytest.fixture
def few_owed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for two acknowledgements that wait, instead of sixteen."""
    monkeypatch.setattr(retransmission, "_OWED", 2)


@pytest.mark.long
@proves(
    RetransmissionInterface,
    says="Links may lose any packets and acknowledgements. Each packet arrives at most once, in "
    "order, and not before those that were sent earlier, whatever the random bits are.",
    sizes="2 terminals, one of which sends; window 1, packets of one flit, delay 2, room for 2 "
    "acknowledgements",
)
@pytest.mark.usefixtures("few_owed")
def test_retransmission_passes_each_packet_once(tmp_path: Path, any_bits: Claims) -> None:
    retransmitted(any_bits)
    assert any_bits.hold(tmp_path)


@proves(
    RetransmissionInterface,
    says="All terminals may be reset at any time, for any number of cycles. Of the packets sent "
    "since the last reset, each arrives at most once, in order, and not before those that were "
    "sent earlier.",
    sizes="2 terminals, one of which sends; window 1, packets of one flit, delay 2, room for 2 "
    "acknowledgements",
)
@pytest.mark.usefixtures("few_owed")
def test_retransmission_begins_anew_after_resets(tmp_path: Path, any_bits: Claims) -> None:
    retransmitted(any_bits, reset=any_bits.free(1, "reset"))
    assert any_bits.hold(tmp_path)


class ClearsNothing(Clearing):
    """It never becomes active."""

    def __init__(self, m: Module, name: str, width: int) -> None:
        super().__init__(Module(), name, width)
        self._m = m


@pytest.mark.long
@pytest.mark.usefixtures("few_owed")
def test_proofs_find_turns_that_survive_a_reset(
    tmp_path: Path, any_bits: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retransmission, "Clearing", ClearsNothing)
    retransmitted(any_bits, reset=any_bits.free(1, "reset"))
    assert not any_bits.hold(tmp_path)


class PassesAll(RetransmissionInterface):
    """Passes a repetition on if an acknowledgement waits."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.repeated):
            m.d.comb += self.o.valid.eq(1)
        return m


@pytest.mark.long
@pytest.mark.usefixtures("few_owed")
def test_proofs_find_a_packet_that_is_passed_twice(tmp_path: Path, any_bits: Claims) -> None:
    retransmitted(any_bits, PassesAll)
    assert not any_bits.hold(tmp_path)


@proves(
    CombiningEnd,
    says="A request passes in the same cycle, and an empty way is added to it. A reply passes in "
    "the same cycle without its way.",
    sizes="tags of 1 bit, ways of 2 bits",
)
def test_combining_end_passes_all_at_once(tmp_path: Path) -> None:
    claims = Claims()
    own = link(width=2)
    end = CombiningEnd(own, way=2)
    claims.m.submodules.end = end
    for name, (source, sink) in {
        "request": (end.i.request, end.o.request),
        "reply": (end.o.reply, end.i.reply),
    }.items():
        payload = Value.cast(source.payload)
        claims.m.d.comb += [
            payload.eq(claims.free(len(payload), f"{name}_payload")),
            source.valid.eq(claims.free(1, f"{name}_valid")),
            sink.ready.eq(claims.free(1, f"{name}_ready")),
        ]
        claims.claim((sink.valid == source.valid) & (source.ready == sink.ready))
        for field in own.layout("request" if name == "request" else "reply").members:
            sent, seen = source.payload[field], sink.payload[field]
            if field != "tag":
                claims.claim(seen == sent)
    claims.claim(end.o.request.payload.tag == end.i.request.payload.tag)
    claims.claim(end.i.reply.payload.tag == end.o.reply.payload.tag[: own.tag])
    assert claims.hold(tmp_path, 2, inductive=True)
