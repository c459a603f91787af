# amaranth: UnusedElaboratable=no
"""The unbuffered switch against its definition, and the verdicts that it passes back."""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from amaranth.hdl import Cat, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from driving import exercise
from long_runs import long
from multicube.hdl.boxes.unbuffered import UnbufferedSwitch, later_bits, verdict_delay
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.links.packet import Packet
from multicube.hdl.links.verdict_link import VerdictLink
from multicube.hdl.primitives.random_bits import scattered_seed
from multicube.hdl.terminals.resubmission import Acceptor
from refusals import refusals
from scipy import stats

PAYLOAD = 12
CYCLES = 120
UNLIKELY = 1e-4
"""Chance with which a correct component fails a test of chances (their seeds are fixed)."""


class Bits:
    """Packets of the tests as integers, with a tag of one digit and one of another stage."""

    def __init__(self, radix: int, routing: str, *, broadcast: bool = False) -> None:
        self.radix, self.routing = radix, routing
        self.digit = (radix - 1).bit_length()
        self.broadcast = broadcast
        self.layout = Packet(2 * self.digit, PAYLOAD, broadcast=broadcast)
        self.width = self.layout.size

    def make(
        self, bundle: int, output: int, name: int, *, later: int = 0, mask: int = 0, other: int = 0
    ) -> int:
        top = output ^ bundle if self.routing == "xor" else output
        word, at = later | top << self.digit, 2 * self.digit
        if self.broadcast:
            word, at = word | (mask << self.digit | other) << at, 2 * at
        return word | name << at

    def name(self, word: int) -> int:
        return word >> self.width - PAYLOAD

    def forwarded(self, word: int) -> int:
        low = (1 << self.digit) - 1
        result = word
        for at in [0, 2 * self.digit][: 1 + self.broadcast]:
            field = word >> at & (1 << 2 * self.digit) - 1
            turned = field >> self.digit | (field & low) << self.digit
            result = result & ~((1 << 2 * self.digit) - 1 << at) | turned << at
        return result


def drive(
    switch: UnbufferedSwitch,
    offers: Sequence[Sequence[int | None]],
    ready: Callable[[int, int], bool] = lambda port, cycle: True,
    seed: int = 1,
    lost: list[int] | None = None,
    later: int = 0,
) -> list[tuple[int, list[int | None]]]:
    """What the switch drops in each cycle, and shows at its outputs in the same one."""
    trace: list[tuple[int, list[int | None]]] = []
    width = switch.packet.size

    async def testbench(ctx: Any) -> None:
        ctx.set(switch.seed, scattered_seed(seed))
        if switch.packet.broadcast:
            ctx.set(switch.later, later)
        inputs = Cat(Cat(port.valid, port.payload) for port in switch.i)
        outputs = Cat(Cat(port.valid, port.payload) for port in switch.o)
        for cycle, words in enumerate(offers):
            value = 0
            for i, word in enumerate(words):
                if word is not None:
                    value |= (word << 1 | 1) << i * (width + 1)
            ctx.set(inputs, value)
            flags = [ready(j, cycle) << j for j in range(len(switch.o))]
            ctx.set(Cat(port.ready for port in switch.o), sum(flags))
            shown = ctx.get(outputs)
            words = [shown >> j * (width + 1) for j in range(len(switch.o))]
            assert ctx.get(Cat(port.ready for port in switch.i)) == (1 << len(switch.i)) - 1
            if switch.packet.broadcast:
                lost.append(ctx.get(switch.lost))
            trace.append(
                (
                    ctx.get(switch.dropped),
                    [word >> 1 & (1 << width) - 1 if word & 1 else None for word in words],
                )
            )
            await ctx.tick()

    exercise(switch, testbench, limit=len(offers) + 1)
    return trace


CASES = [
    (2, "destination", (1, 1)),
    (2, "destination", (1, 2)),
    (2, "destination", (2, 2)),
    long(2, "destination", (4, 4)),
    (2, "destination", (2, 1)),
    (2, "xor", (1, 1)),
    (2, "xor", (2, 2)),
    (3, "destination", (1, 1)),
    (3, "destination", (2, 2)),
    (4, "destination", (1, 1)),
    (4, "destination", (2, 1)),
    (4, "destination", (1, 3)),
    (4, "xor", (1, 1)),
    long(8, "destination", (1, 1)),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("radix", "routing", "dilation"), CASES)
def test_unbuffered_switch_sends_what_fits_and_drops_the_rest(
    radix: int, routing: str, dilation: tuple[int, int]
) -> None:
    """In each cycle and for each output: as many as there are free links go on, the others are
    dropped, nothing else moves."""
    enter, leave = dilation
    bits = Bits(radix, routing)
    seed = 100 * radix + 10 * enter + leave
    print(f"seed {seed}")
    generator = random.Random(seed)
    switch = UnbufferedSwitch(
        bits.layout, radix=radix, routing=routing, dilation_in=enter, dilation_out=leave
    )
    offers, targets = [], []
    numbers = itertools.count()
    for _ in range(CYCLES):
        words, wanted = [], []
        for i in range(radix * enter):
            output = generator.randrange(radix)
            later = generator.randrange(1 << bits.digit)
            present = generator.random() < 0.8
            name = next(numbers) % (1 << PAYLOAD)
            words.append(bits.make(i // enter, output, name, later=later) if present else None)
            wanted.append(output if present else None)
        offers.append(words)
        targets.append(wanted)
    # All outputs are ready at first, then they block now and then.
    readies = [
        [cycle < CYCLES // 2 or generator.random() < 0.4 for _ in switch.o]
        for cycle in range(CYCLES)
    ]
    trace = drive(switch, offers, lambda j, cycle: readies[cycle][j], seed)

    for cycle, ((dropped, shown), (_, after)) in enumerate(itertools.pairwise(trace)):
        sent: list[int] = []
        for output in range(radix):
            links = range(output * leave, (output + 1) * leave)
            rivals = [i for i, wanted in enumerate(targets[cycle]) if wanted == output]
            arrived = {bits.forwarded(offers[cycle][i]): i for i in rivals}
            for at, link in enumerate(links):
                if shown[link] is not None and not readies[cycle][link]:
                    assert after[link] == shown[link]  # kept
                elif at < len(rivals):
                    assert after[link] in arrived  # the links are filled from the first on
                    sent.append(arrived[after[link]])
                else:
                    assert after[link] is None
        assert len(set(sent)) == len(sent)
        lost = [i for i, word in enumerate(offers[cycle]) if word is not None and i not in sent]
        assert dropped == sum(1 << i for i in lost)


def test_unbuffered_switch_drops_a_digit_that_names_no_output() -> None:
    bits = Bits(3, "destination")
    switch = UnbufferedSwitch(bits.layout, radix=3)
    offers = [[None] * 3, [bits.make(0, 3, 1), None, bits.make(2, 1, 2)], [None] * 3]
    trace = drive(switch, offers)
    assert trace[1][0] == 0b001
    assert trace[2] == (0, [None, bits.forwarded(bits.make(2, 1, 2)), None])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("radix", "dilation"), [(2, (1, 1)), long(4, (1, 1)), long(8, (1, 1)), (2, (3, 2))]
)
def test_winners_are_drawn_with_equal_chances(radix: int, dilation: tuple[int, int]) -> None:
    """Chi-square test for each number of rivals, wherever they come from."""
    enter, leave = dilation
    bits = Bits(radix, "destination")
    switch = UnbufferedSwitch(bits.layout, radix=radix, dilation_in=enter, dilation_out=leave)
    inputs = radix * enter
    generator = random.Random(radix)
    print(f"seed {radix}")
    offers, rivals = [], []
    counts = sorted({2, 3, inputs - 1, inputs} & set(range(2, inputs + 1)))
    sets = [generator.sample(range(inputs), count) for count in counts]
    for cycle in range(500 * len(sets)):
        chosen = sets[cycle % len(sets)]
        output = generator.randrange(radix)
        rivals.append(sorted(chosen))
        words = [bits.make(i // enter, output, i) if i in chosen else None for i in range(inputs)]
        offers.append(words)
    trace = drive(switch, offers, seed=radix)
    winners: dict[tuple[int, ...], Counter[int]] = {}
    for (dropped, _), chosen in zip(trace[20:], rivals[20:]):
        counts = winners.setdefault(tuple(chosen), Counter(dict.fromkeys(chosen, 0)))
        for i in chosen:
            counts[i] += not dropped >> i & 1
        assert sum(not dropped >> i & 1 for i in chosen) == min(leave, len(chosen))
    for chosen, counts in winners.items():
        if len(chosen) > leave:
            # Several winners of a cycle exclude each other, which makes the sum smaller.
            assert stats.chisquare(list(counts.values())).pvalue > UNLIKELY, chosen


@pytest.mark.long
@pytest.mark.parametrize("routing", ["destination", "xor"])
def test_every_pair_of_arrivals_is_conserved(routing: str) -> None:
    """Radix 2, all states of the outputs and all arrivals: what is not dropped is shown."""
    bits = Bits(2, routing)
    choices = [None, 0, 1]
    steps = list(itertools.product(choices, choices, [False, True], [False, True]))
    offers, readies = [], []
    for first, second in itertools.product(steps, steps):  # every step after every other
        for a, b, upper, lower in (first, second):
            words = [
                None if output is None else bits.make(i, output, len(offers) * 2 + i & 0xFFF)
                for i, output in enumerate((a, b))
            ]
            offers.append(words)
            readies.append((upper, lower))
    switch = UnbufferedSwitch(bits.layout, radix=2, routing=routing)
    trace = drive(switch, offers, lambda j, cycle: readies[cycle][j])
    transitions = set()
    for cycle, ((dropped, shown), (_, after)) in enumerate(itertools.pairwise(trace)):
        came = Counter(
            bits.forwarded(word)
            for i, word in enumerate(offers[cycle])
            if word is not None and not dropped >> i & 1
        )
        held = [word for j, word in enumerate(shown) if word is not None and not readies[cycle][j]]
        assert came + Counter(held) == Counter(word for word in after if word is not None)
        assert not any(dropped >> i & 1 and offers[cycle][i] is None for i in range(2))
        transitions.add(tuple(word is not None for word in (*shown, *after)))
    # A full output can't be emptied by one that holds; everything else occurs.
    assert len(transitions) == 16


@pytest.mark.parametrize("radix", [2, long(4)])
@pytest.mark.parametrize("stage", [0, 1])
def test_copies_of_a_broadcast_compete_for_themselves(radix: int, stage: int) -> None:
    """Each output has one winner; and a copy that loses counts for all that it was to become."""
    bits = Bits(radix, "destination", broadcast=True)
    switch = UnbufferedSwitch(bits.layout, radix=radix)
    generator = random.Random(radix)
    print(f"seed {radix}")
    offers, wants, become = [], [], []
    for cycle in range(400):
        words, wanted, copies = [], [], []
        for i in range(radix):
            output, mask = generator.randrange(radix), generator.randrange(radix)
            other = generator.randrange(radix)  # the mask's digit of the other stage
            present = generator.random() < 0.7
            name = (cycle * radix + i) % (1 << PAYLOAD)
            words.append(bits.make(i, output, name, mask=mask, other=other) if present else None)
            copies.append(1 << other.bit_count() if stage == 0 else 1)
            reached = {j for j in range(radix) if (j ^ output) & ~mask == 0} if present else set()
            wanted.append(reached)
        offers.append(words)
        wants.append(wanted)
        become.append(copies)
    counted: list[int] = []
    later = later_bits([bits.digit, bits.digit], stage)
    trace = drive(switch, offers, lost=counted, later=later)
    split = 0
    for cycle, ((dropped, _), (_, after)) in enumerate(itertools.pairwise(trace)):
        gone = 0
        for output in range(radix):
            rivals = [i for i in range(radix) if output in wants[cycle][i]]
            lost = [i for i in range(radix) if dropped >> i * radix + output & 1]
            assert len(lost) == max(len(rivals) - 1, 0)
            assert set(lost) <= set(rivals)
            gone += sum(become[cycle][i] for i in lost)
            won = [bits.forwarded(offers[cycle][i]) for i in rivals if i not in lost]
            assert [after[output]] == (won or [None])
        assert counted[cycle] == gone
        for i, wanted in enumerate(wants[cycle]):
            losses = sum(dropped >> i * radix + output & 1 for output in wanted)
            split += 0 < losses < len(wanted)
    assert split > 20  # a broadcast lost some of its copies, and not others


class Line(FabricComponent):
    """Boxes in a row on the path from `entry` to `exit`; box s gets rivals from `rival[s]`."""

    def __init__(self, packet: Packet, stages: int) -> None:
        link = VerdictLink(packet)
        fabric = Fabric(
            {
                "entry": In(link),
                "rival": In(link).array(stages),
                "exit": Out(stream.Signature(packet)),
                "side": Out(link).array(stages),
            }
        )
        kind = CellType(UnbufferedSwitch, packet=packet, radix=2, reject=stages)
        before = Pin(None, ("entry",))
        for stage in range(stages):
            straps = {"seed": scattered_seed(stage), "delay": verdict_delay(stages, stage)}
            name = fabric.place(Cell(f"box_{stage}", kind, straps)).name
            fabric.link(before, Pin(name, ("i", 0)))
            fabric.link(Pin(None, ("rival", stage)), Pin(name, ("i", 1)))
            fabric.link(Pin(name, ("o", 1)), Pin(None, ("side", stage)))
            before = Pin(name, ("o", 0))
        end = fabric.place(Cell("end", CellType(Acceptor, packet=packet))).name
        fabric.link(before, Pin(end, ("i",)))
        fabric.link(Pin(end, ("o",)), Pin(None, ("exit",)))
        super().__init__(fabric)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("stages", [1, 2, 3, long(4)])
def test_verdicts_come_back_two_cycles_a_stage_after_the_packet(stages: int) -> None:
    """Each packet of one source meets a rival at no stage, one, or several; its verdict must come
    exactly 2 n cycles after it entered, and say whether it came out."""
    layout = Packet(4, PAYLOAD)
    line = Line(layout, stages)
    cycles = 600
    generator = random.Random(stages)
    print(f"seed {stages}")
    entered: list[int | None] = []
    left: dict[int, int] = {}
    verdicts: list[int] = []
    rivals: list[list[bool]] = []

    async def testbench(ctx: Any) -> None:
        for cycle in range(cycles + 2 * stages + 1):
            name = cycle % (1 << PAYLOAD) if cycle < cycles and generator.random() < 0.9 else None
            entered.append(name)
            ctx.set(line.entry.valid, name is not None)
            ctx.set(Value.cast(line.entry.payload), (name or 0) << 4)
            rivals.append([generator.random() < 0.35 for _ in range(stages)])
            for port, present in zip(line.rival, rivals[-1]):
                ctx.set(port.valid, present)
                ctx.set(Value.cast(port.payload), 0xFFF << 4)
            ctx.set(line.exit.ready, 1)
            for port in line.side:
                ctx.set(port.ready, 1)
            if ctx.get(line.exit.valid):
                out = ctx.get(Value.cast(line.exit.payload)) >> 4
                if out != 0xFFF:
                    left[out] = cycle
            verdicts.append(ctx.get(line.entry.accepted))
            await ctx.tick()

    exercise(line, testbench)
    outcomes = Counter()
    for cycle, name in enumerate(entered[:cycles]):
        came_out = name is not None and name in left
        assert verdicts[cycle + 2 * stages] == came_out
        if came_out:
            assert left[name] == cycle + stages
        met = sum(rivals[cycle + s][s] for s in range(stages))
        if name is not None:
            assert came_out or met
            outcomes[came_out, met] += 1
    assert outcomes[True, 0]
    assert outcomes[False, 1]
    assert outcomes[True, 1]


test_unbuffered_switch_rejects = refusals(
    lambda parameters: UnbufferedSwitch(**({"packet": Packet(4, 1), "radix": 2} | parameters)),
    ({"radix": 1}, "Radix must be at least 2, not 1"),
    ({"dilation_in": 0}, "Dilation must be at least 1, not 0"),
    ({"dilation_out": 1.5}, TypeError, "Dilation must be an integer, not 1.5"),
    ({"reject": -1}, "Reject must be at least 0, not -1"),
    ({"routing": "random"}, "Routing must be ..."),
    (
        {"radix": 16, "dilation_in": 8},
        "Input links of an unbuffered switch must be from 2 to 64, not 128",
    ),
    ({"radix": 32}, "Tag of a packet must have at least 5 bits for a switch of radix 32, not 4"),
    ({"packet": Packet(4, 1, flits=True)}, "Packets of an unbuffered switch must be single flits"),
    (
        {"packet": Packet(4, 1, broadcast=True), "reject": 2},
        "Packets with a broadcast mask can't have a reject signal",
    ),
)
