# amaranth: UnusedElaboratable=no
"""The bench's sinks and meters where packets have several flits, go to many, or are dropped."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Cat, Const
from driving import exercise
from multicube.hdl import MultistageNetwork
from multicube.hdl.bench import Sink
from multicube.hdl.bench.instruments import EventMeter
from multicube.hdl.bench.stamp import Stamp, stamp_for
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.graphs.tags import TagScheme
from multicube.hdl.links.packet import Packet

# Defects of a packet of four flits, as changes of (index in the sequence: changed fields); the
# flits that are not as they should be, and packets that the sink counts.
DEFECTS: dict[str, tuple[list[dict[str, int]], int, int]] = {
    "none": ([{}, {}, {}, {}], 0, 1),
    "a flit of another packet": ([{}, {}, {"sequence": 9}, {}], 1, 1),
    "a flit of another source": ([{}, {"source": 3}, {}, {}], 1, 1),
    "a flit of another birth": ([{}, {}, {}, {"birth": 77}], 1, 1),
    "a flit of another length": ([{}, {"length": 3}, {}, {}], 1, 1),
    "two flits changed places": ([{}, {"tag": 2}, {"tag": 1}, {}], 2, 1),
    "a flit twice": ([{}, {}, {"tag": 1}, {}], 1, 1),
    "one too few": ([{}, {}, {"last": 1}], 1, 1),
    "one too many": ([{}, {}, {}, {"last": 0}, {"tag": 4, "last": 1}], 2, 1),
    "cut in two": ([{}, {"last": 1}, {}, {}], 1 + 1, 2),
    "without body": ([{"last": 1}], 1, 1),
}


class Bench(NamedTuple):
    """Packets of the bench for a terminal's sink, and what the sink makes of them."""

    scheme: TagScheme
    packet: Packet
    address: int

    def word(self, tag: int, last: int = 1, mask: int = 0, **stamp: int) -> int:
        values = {"tag": tag, "payload": stamp, "mask": mask, "last": last}
        fields = {name: values[name] for name in self.packet.members}
        return Const.cast(self.packet.const(fields)).value

    def flits(
        self, source: int, number: int, length: int, birth: int, to: int | None = None
    ) -> list[dict[str, int]]:
        """The fields of a packet's flits."""
        destination = self.address if to is None else to
        stamp = {
            "source": self.scheme.code.encode(source),
            "sequence": number,
            "birth": birth,
            "offered": birth + 1,
            "length": length,
        }
        return [
            {
                "tag": index or self.scheme.tag(source, destination),
                "last": int(index == length - 1),
                **stamp,
            }
            for index in range(length)
        ]

    def judge(self, words: Sequence[int | None]) -> dict[str, int]:
        """Counters of a sink that has been shown a word (or nothing) in each cycle from 0 on.

        All packets were born in the window.
        """
        sink = Sink(self.packet, self.scheme, bins=16)
        counts: dict[str, int] = {}

        async def testbench(ctx: Any) -> None:
            ctx.set(sink.address, self.scheme.code.encode(self.address))
            ctx.set(sink.measure, 1)
            ctx.set(sink.most, ~0)
            for now, word in enumerate([*words, None, None]):
                ctx.set(sink.now, now)
                ctx.set(Cat(sink.i.valid, sink.i.payload), 0 if word is None else 1 | word << 1)
                await ctx.tick()
            names = ["delivered", "misrouted", "duplicated", "reordered"]
            names += ["total_sum", "network_sum", *(["damaged"] if self.packet.flits else [])]
            counts.update({name: ctx.get(getattr(sink, name)) for name in names})

        exercise(sink, testbench)
        return counts


def bench(
    wiring: str, ports: int, radix: int, routing: str, *, length: int = 0, broadcast: bool = False
) -> Bench:
    scheme = multistage_plan(wiring, ports, radix).tags(routing)
    width = scheme.code.width
    stamp = Stamp(width, sequence=24 if broadcast else 12, length=length)
    return Bench(scheme, Packet(width, stamp, broadcast=broadcast, flits=length > 0), 5)


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("routing", ["destination", "xor"])
def test_sink_finds_damaged_flits(routing: str, defect: str) -> None:
    """Of one packet between two sound ones of another flow."""
    its = bench("cube", 8, 2, routing, length=3)
    changes, damaged, packets = DEFECTS[defect]
    body = (its.flits(2, 0, 4, 10) * 2)[: len(changes)]
    sequence = [
        *its.flits(1, 0, 3, 4),
        *(flit | change for flit, change in zip(body, changes)),
        *its.flits(1, 1, 1, 20),
    ]
    counts = its.judge([its.word(**flit) for flit in sequence])
    assert counts["damaged"] == damaged
    assert counts["delivered"] == 2 + packets


def test_sink_follows_packets_through_gaps() -> None:
    """Random packets, some misrouted, repeated or late, in one piece; against their list."""
    its = bench("indirect-cube", 16, 4, "xor", length=3)
    generator = random.Random(4)
    print("seed 4")
    expected: Counter[str] = Counter()
    words: list[int | None] = [None] * 50
    numbers = [0] * 16
    for _ in range(150):
        source, length = generator.choice([0, 3, 9]), generator.randint(1, 6)
        luck = generator.random()
        to, number = 5, numbers[source]
        if luck < 0.1:
            to = (5 + generator.randrange(1, 16)) % 16
            expected["misrouted"] += 1
        elif luck < 0.2 and number > 0:  # the last one of this flow again
            number -= 1
            expected["duplicated"] += 1
        elif luck < 0.3:  # two of a flow in the wrong order
            expected["reordered"] += 1
            numbers[source] += 2
        else:
            numbers[source] += 1
        late = to == 5 and numbers[source] == number + 2
        for each in (number + 1, number) if late else (number,):
            birth = len(words) - generator.randrange(1, 20)
            tail = 0
            for flit in its.flits(source, each, length, birth, to):
                words += [None] * generator.choice([0, 0, 0, 1, 4])
                tail = len(words)
                words.append(its.word(**flit))
            expected["delivered"] += 1
            expected["total_sum"] += tail - birth
            expected["network_sum"] += tail - birth - 1
    counts = its.judge(words)
    assert min(expected.values()) > 5
    assert counts == {"damaged": 0, **expected}


@pytest.mark.parametrize("behind", [9, 10, 16, 17, 100])
def test_packet_that_is_very_late_counts_as_reordered(behind: int) -> None:
    its = bench("cube", 8, 2, "destination", length=3)
    numbers = [*range(20), *range(21, 21 + behind), 20]
    words = [its.word(**its.flits(1, number, 1, 0)[0]) for number in numbers]
    counts = its.judge(words)
    assert (counts["duplicated"], counts["reordered"], counts["damaged"]) == (0, 1, 0)


@pytest.mark.parametrize(
    "its",
    [
        bench("indirect-cube", 8, 2, "destination", broadcast=True),
        bench("indirect-cube", 16, 4, "xor", broadcast=True),
        bench("cube", 8, 2, "xor", broadcast=True, length=3),
    ],
    ids=["destination", "xor", "flits"],
)
def test_sink_knows_for_whom_a_broadcast_is(its: Bench) -> None:
    """Every mask and tag, from every third source: misrouted unless this is one of its outputs."""
    ports = its.scheme.code.count
    words, strays = [], 0
    for source in range(0, ports, 3):
        for number in range(ports * ports):
            tag, mask = number % ports, number // ports
            strays += its.address not in its.scheme.destinations(tag, mask, source)
            stamp = its.flits(source, 2 * number, 1, 0)[0] | {"tag": tag}
            if not its.packet.flits:
                del stamp["length"]
            words.append(its.word(mask=mask, **stamp))
    counts = its.judge(words)
    assert (counts["delivered"], counts["misrouted"]) == (len(words), strays)
    assert (counts["duplicated"], counts["reordered"]) == (0, 0)


# Meters


@pytest.mark.parametrize(("width", "number"), [(1, False), (5, False), (1, True), (4, True)])
def test_event_meter(width: int, number: bool) -> None:
    meter = EventMeter(width, number=number)
    generator = random.Random(width)
    print("seed", width)
    total = measured = 0

    async def testbench(ctx: Any) -> None:
        nonlocal total, measured
        for _ in range(200):
            events, measure = generator.getrandbits(width), generator.random() < 0.5
            ctx.set(meter.events, events)
            ctx.set(meter.measure, measure)
            await ctx.tick()
            total += events if number else events.bit_count()
            measured += measure * (events if number else events.bit_count())
            assert (ctx.get(meter.total), ctx.get(meter.measured)) == (total, measured)

    exercise(meter, testbench)
    assert total > measured > 20


@pytest.mark.parametrize(
    ("parameters", "sequence", "length"),
    [
        ({}, 4, 0),
        ({"switch": "unbuffered"}, 24, 0),
        ({"switch": "output-queued", "replication": 2}, 12, 0),
        ({"switch": "input-queued", "broadcast": 1}, 24, 0),
        ({"switch": "wormhole"}, 4, 1),
        ({"switch": "wormhole", "length": "1:8", "policy": "drop"}, 24, 4),
        ({"switch": "circuit"}, 4, 0),
        ({"switch": "circuit", "length": 7}, 4, 3),
    ],
)
def test_stamp_has_the_fields_that_a_network_needs(
    parameters: dict[str, Any], sequence: int, length: int
) -> None:
    stamp = stamp_for(MultistageNetwork(8, payload=1, **parameters))
    widths = {"source": 3, "sequence": sequence, "birth": 20, "offered": 20}
    widths |= {"length": length} if length else {}
    assert {name: field.width for name, field in stamp} == widths
    wide = stamp_for(MultistageNetwork(8, payload=100, **parameters))
    assert wide.size == 100
