# amaranth: UnusedElaboratable=no
"""Messages of several words, boxes with buffers at the inputs, and the time that both take."""

import random
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Value
from amaranth.lib import wiring
from driving import exercise
from long_runs import long
from multicube.hdl import CombiningNetwork, write_verilog
from multicube.hdl.boxes.combining import CombiningBox, InputBufferedBox
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.memory import OPERATIONS, find_operation
from multicube.hdl.primitives.pacing import Pacer, request_length
from multicube.hdl.primitives.word_buffer import WordBuffer
from multicube.hdl.terminals.memory_module import MemoryModule
from verilog_tools import check_with_yosys

LINK = MemoryLink(tag=2, identity=4, address=2, width=8)
LOAD = find_operation("load")
ADD = find_operation("fetch-and-add")
STORE = find_operation("store")
CODES = {operation: code for code, operation in enumerate(OPERATIONS)}


def pack(layout: Any, **values: int) -> int:
    return sum(value << layout[name].offset for name, value in values.items())


class Passage(NamedTuple):
    """A message that was taken at one end of a stream, and when; payload as an integer."""

    cycle: int
    payload: int


def run(
    design: wiring.Component,
    sources: dict[str, tuple[Any, list[int]]],
    sinks: dict[str, Any],
    *,
    cycles: int,
    ready: Callable[[str, int], bool] = lambda name, cycle: True,
    gap: Callable[[str, int], int] = lambda name, payload: 0,
) -> dict[str, list[Passage]]:
    """Send messages by each source as early as it takes them, and watch what goes by the sinks.

    After a message, a source rests for `gap(name, payload)` cycles.
    """
    passed: dict[str, list[Passage]] = defaultdict(list)

    async def testbench(ctx: Any) -> None:
        left = {name: list(messages) for name, (_, messages) in sources.items()}
        rest = dict.fromkeys(sources, 0)
        waiting: dict[str, int] = {}
        for cycle in range(cycles):
            for name, (port, _) in sources.items():
                offered = bool(left[name]) and rest[name] == 0
                ctx.set(port.valid, offered)
                if offered:
                    ctx.set(Value.cast(port.payload), left[name][0])
            for name, port in sinks.items():
                ctx.set(port.ready, ready(name, cycle))
            for name, (port, _) in sources.items():
                rest[name] -= rest[name] > 0
                if ctx.get(port.valid & port.ready):
                    payload = left[name].pop(0)
                    passed[name].append(Passage(cycle, payload))
                    rest[name] = gap(name, payload)
            for name, port in sinks.items():
                shown = ctx.get(Value.cast(port.payload)) if ctx.get(port.valid) else None
                if name in waiting:
                    assert shown == waiting.pop(name), f"{name} let go of a message"
                if shown is not None and ctx.get(port.ready):
                    passed[name].append(Passage(cycle, shown))
                elif shown is not None:
                    waiting[name] = shown
            await ctx.tick()

    exercise(design, testbench)
    return passed


# Pacing


def request(operation: Any, tag: int = 0, **values: int) -> int:
    return pack(LINK.request_layout, operation=CODES[operation], tag=tag, **values)


def test_length_of_a_request_follows_from_its_operation() -> None:
    assert [request_length(operation, (2, 3)) for operation in (LOAD, ADD, STORE)] == [2, 3, 3]


@pytest.mark.parametrize("lengths", [(1, 2), (2, 3), (2, 4), (5, 5)])
@pytest.mark.parametrize("take", [1.0, 0.4])
def test_pacer_rests_for_the_length_of_each_request(lengths: tuple[int, int], take: float) -> None:
    rng = random.Random(1)
    design = Pacer(LINK, "request", lengths=lengths)
    operations = rng.choices(OPERATIONS, k=60)
    messages = [request(operation, operand=n) for n, operation in enumerate(operations)]
    times = [rng.random() < take for _ in range(1000)]
    passed = run(
        design,
        {"i": (design.i, messages)},
        {"o": design.o},
        cycles=1000,
        ready=lambda _, cycle: times[cycle],
    )
    assert passed["i"] == passed["o"]
    assert [payload for _, payload in passed["o"]] == messages
    # Each as early as can be: the first cycle with a ready sink after the one before is out.
    expected, free = [], 0
    for operation in operations:
        at = times.index(True, free)
        expected.append(at)
        free = at + request_length(operation, lengths)
    assert [cycle for cycle, _ in passed["o"]] == expected


def test_pacer_of_replies_rests_for_their_length() -> None:
    design = Pacer(LINK, "reply", lengths=(3, 7))
    messages = list(range(10))
    passed = run(design, {"i": (design.i, messages)}, {"o": design.o}, cycles=40)
    assert passed["o"] == [(3 * n, n) for n in messages]


def test_pacers_are_only_where_they_are_needed() -> None:
    assert not Pacer.needed("request", (1, 1))
    assert Pacer.needed("request", (1, 2))
    assert not Pacer.needed("reply", (1, 2))
    assert Pacer.needed("reply", (2, 2))


# Memory modules


@pytest.mark.parametrize("lengths", [(1, 1), (1, 2), (2, 3), (4, 4)])
def test_memory_module_performs_a_request_when_its_last_word_is_there(
    lengths: tuple[int, int],
) -> None:
    """Back to back: each reply a request's length after its head, and then the next head."""
    design = MemoryModule(LINK, rows=1, words=(5,), lengths=lengths)
    operations = [LOAD, ADD, LOAD, LOAD, STORE, ADD, LOAD]
    passed = run(
        design,
        {"i": (design.i.request, [request(operation, operand=3) for operation in operations])},
        {"o": design.i.reply},
        cycles=50,
    )
    taken, answered = 0, []
    for operation, (cycle, _) in zip(operations, passed["i"]):
        assert cycle == taken
        taken += request_length(operation, lengths)
        answered.append(taken)
    assert [cycle for cycle, _ in passed["o"]] == answered
    offset = LINK.reply_layout["value"].offset
    assert [payload >> offset & 255 for _, payload in passed["o"]] == [5, 5, 8, 8, 8, 3, 6]


# Round trips


def round_trip(network: CombiningNetwork, operation: Any, **options: Any) -> int:
    """Cycles from a request's head to that of its reply, with nothing else in the network."""
    place = network.locate(network.ports - 1, **options)
    layout = network.link.request_layout
    code = network.operations.index(operation)
    message = pack(layout, tag=place.tag, address=place.address, operation=code)
    port = network.i[0]
    passed = run(network, {"i": (port.request, [message])}, {"o": port.reply}, cycles=60)
    ((sent, _),), ((answered, _),) = passed["i"], passed["o"]
    return answered - sent


@pytest.mark.parametrize("operation", [LOAD, STORE], ids=lambda operation: operation.name)
@pytest.mark.parametrize("lengths", [1, long(3), "1:2", (2, 4)])
@pytest.mark.parametrize(("ports", "radix", "stages"), [long(8, 2, 3), (4, 4, 1)])
def test_round_trip_is_a_cycle_a_box_and_the_length_of_the_request(
    ports: int, radix: int, stages: int, lengths: Any, operation: Any
) -> None:
    network = CombiningNetwork(ports, radix=radix, width=8, lengths=lengths, combine="none")
    length = request_length(operation, network.lengths)
    assert round_trip(network, operation) == 2 * stages + length


def test_lengths_can_be_given_in_three_ways() -> None:
    for given in ((2, 4), [2, 4], "2:4"):
        network = CombiningNetwork(4, lengths=given)
        assert network.lengths == (2, 4)
        assert network.parameters["lengths"] == "2:4"
        assert network.altered(ports=8).lengths == (2, 4)
    assert CombiningNetwork(4, lengths=3).lengths == (3, 3)
    assert CombiningNetwork(4).lengths == (1, 1)


@pytest.mark.parametrize("combine", ["none", "all"])
@pytest.mark.parametrize("operation", [LOAD, ADD], ids=lambda operation: operation.name)
def test_links_carry_one_word_a_cycle(combine: str, operation: Any) -> None:
    """Two processors send to one module, by one output, as fast as they can."""
    lengths = (2, 3)
    design = CombiningBox(LINK, radix=2, policy=combine, lengths=lengths)
    messages = [request(operation, address=n % 4, identity=n) for n in range(12)]
    length = request_length(operation, lengths)
    sources = {f"i{p}": (design.i[p].request, messages) for p in range(2)}
    passed = run(
        design,
        sources,
        {"o": design.o[0].request, "other": design.o[1].request},
        cycles=100,
        gap=lambda *_: length - 1,
    )
    assert [cycle for cycle, _ in passed["o"]] == [1 + length * n for n in range(len(passed["o"]))]
    assert not passed["other"]
    if combine == "none":
        assert len(passed["o"]) == 24
    else:
        assert 12 <= len(passed["o"]) < 24


# Buffers at the inputs


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("lengths", "depth", "delay"),
    [
        ((1, 1), 1, 1),
        ((1, 1), 4, 1),
        ((1, 1), 3, 2),
        ((2, 3), 3, 1),
        ((2, 3), 8, 1),
        ((2, 3), 8, 2),
        ((1, 4), 9, 3),
    ],
)
@pytest.mark.parametrize("take", [1.0, 0.5])
@pytest.mark.parametrize("direction", ["request", "reply"])
def test_word_buffer_counts_words(
    direction: str, lengths: tuple[int, int], depth: int, delay: int, take: float
) -> None:
    """Against a model: when each message enters and leaves, to the cycle."""
    rng = random.Random(depth)
    design = WordBuffer(LINK, direction, lengths=lengths, depth=depth, delay=delay)
    operations = rng.choices([LOAD, ADD], k=40)
    if direction == "request":
        sizes = [request_length(operation, lengths) for operation in operations]
        messages = [request(operation, operand=n) for n, operation in enumerate(operations)]
    else:
        sizes = [lengths[0]] * 40
        messages = list(range(40))
    ready = [rng.random() < take for _ in range(500)]
    gaps = {payload: size - 1 for payload, size in zip(messages, sizes)}
    passed = run(
        design,
        {"i": (design.i, messages)},
        {"o": design.o},
        cycles=500,
        ready=lambda _, cycle: ready[cycle],
        gap=lambda _, payload: gaps[payload],
    )
    came: list[int] = []
    left: list[int] = []
    for cycle in range(500):
        # A word that left before this cycle is free in it.
        free = depth - sum(
            size - (max(0, min(size, cycle - left[n])) if n < len(left) else 0)
            for n, size in enumerate(sizes[: len(came)])
        )
        shown = len(left) < len(came) and came[len(left)] + delay <= cycle
        idle = not left or left[-1] + sizes[len(left) - 1] <= cycle
        may_come = not came or came[-1] + sizes[len(came) - 1] <= cycle
        if len(came) < 40 and may_come and sizes[len(came)] <= free:
            came.append(cycle)
        if shown and idle and ready[cycle]:
            left.append(cycle)
    assert [cycle for cycle, _ in passed["i"]] == came
    assert [cycle for cycle, _ in passed["o"]] == left
    assert [payload for _, payload in passed["o"]] == messages
    if take == 1.0 and depth >= max(sizes) + delay:
        assert left == [delay + sum(sizes[:n]) for n in range(40)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("radix", [2, 3, 4])
@pytest.mark.parametrize("delay", [1, 2])
def test_outputs_take_from_their_inputs_in_turn(radix: int, delay: int) -> None:
    """All processors send to one module, and the output never rests."""
    lengths = (2, 3)
    design = InputBufferedBox(LINK, radix=radix, depth=8, lengths=lengths, delay=delay)
    digit = (radix - 1).bit_length()
    to = (radix - 1) << LINK.tag - digit
    messages = [request(LOAD if n % 2 else ADD, tag=to, identity=n) for n in range(10)]
    sources = {f"i{p}": (design.i[p].request, messages) for p in range(radix)}
    sinks = {f"o{p}": design.o[p].request for p in range(radix)}
    passed = run(
        design,
        sources,
        sinks,
        cycles=60 * radix,
        gap=lambda _, payload: 1 if unpacked(payload)["operation"] == CODES[LOAD] else 2,
    )
    output = passed[f"o{radix - 1}"]
    assert len(output) == 10 * radix
    cycle = delay
    for n, (at, payload) in enumerate(output):
        fields = unpacked(payload)
        assert (at, fields["identity"]) == (cycle, n // radix)
        # The place that the digit had left at the bottom says by which input the request came.
        assert fields["tag"] & (1 << digit) - 1 == n % radix
        cycle += request_length(OPERATIONS[fields["operation"]], lengths)
    assert len(passed) == radix + 1


def unpacked(word: int) -> dict[str, int]:
    layout = LINK.request_layout
    return {name: word >> layout[name].offset & (1 << layout[name].width) - 1 for name, _ in layout}


def test_a_message_that_waits_blocks_those_behind_it() -> None:
    """At an input, that is; with queues at the outputs it does not."""
    messages = [request(LOAD, tag=tag) for tag in (0b00, 0b10)]
    seen = {}
    for box in (InputBufferedBox(LINK), CombiningBox(LINK, policy="none")):
        passed = run(
            box,
            {"i": (box.i[0].request, messages)},
            {"0": box.o[0].request, "1": box.o[1].request},
            cycles=20,
            ready=lambda name, cycle: name == "1" or cycle >= 10,
        )
        seen[type(box)] = [passed[name][0].cycle for name in "01"]
    assert seen == {InputBufferedBox: [10, 11], CombiningBox: [10, 2]}


@pytest.mark.parametrize("operation", [LOAD, ADD], ids=lambda operation: operation.name)
@pytest.mark.parametrize(
    ("ports", "radix", "stages", "delay"), [long(4, 2, 2, 1), (4, 2, 2, 2), (4, 4, 1, 3)]
)
def test_round_trip_through_boxes_with_buffers_at_the_inputs(
    ports: int, radix: int, stages: int, delay: int, operation: Any
) -> None:
    network = CombiningNetwork(
        ports,
        radix=radix,
        width=8,
        lengths="2:3",
        combine="none",
        queues="input",
        depth=8,
        delay=delay,
    )
    length = request_length(operation, (2, 3))
    assert round_trip(network, operation) == 2 * stages * delay + length
    assert network.combined() == [[] for _ in range(stages)]


@pytest.mark.long
@pytest.mark.parametrize(
    "parameters",
    [
        long({"lengths": "2:4"}),
        {"lengths": "1:3", "queues": "input", "combine": "none", "delay": 2},
    ],
    ids=["output", "input"],
)
def test_no_combinational_loop(tmp_path: Path, parameters: dict[str, Any]) -> None:
    network = CombiningNetwork(
        8, radix=4, paths=2, width=2, rows=1, outstanding=2, operations="rp3", **parameters
    )
    path = tmp_path / "network.v"
    write_verilog(network.fabric, path)
    check_with_yosys([path])


# Checks of parameters


REJECTED = [
    (
        lambda: Pacer("link", "reply", lengths=(1, 1)),
        TypeError,
        "Link must be a MemoryLink, not 'link'",
    ),
    (
        lambda: Pacer(LINK, "back", lengths=(1, 1)),
        ValueError,
        "Direction must be one of request, reply, not 'back'",
    ),
    (lambda: CombiningBox(LINK, lengths=2), TypeError, "Lengths must be a pair of integers, not 2"),
    (lambda: MemoryModule(LINK, lengths=(0, 2)), ValueError, "Length must be at least 1, not 0"),
    (lambda: MemoryModule(LINK, lengths=(1, 2.0)), TypeError, "Length must be an integer, not 2.0"),
    (
        lambda: Pacer(LINK, "reply", lengths=(3, 2)),
        ValueError,
        "Lengths must be in order, shorter first, not 3 and 2",
    ),
    (
        lambda: CombiningNetwork(4, lengths=(3, 2)),
        ValueError,
        "Length must be LOW:HIGH with LOW at most HIGH, not '3:2'",
    ),
    (lambda: CombiningNetwork(4, lengths=1.5), TypeError, "Lengths must be an integer, not 1.5"),
    (lambda: InputBufferedBox("link"), TypeError, "Link must be a MemoryLink, not 'link'"),
    (lambda: InputBufferedBox(LINK, radix=1), ValueError, "Radix must be at least 2, not 1"),
    (
        lambda: InputBufferedBox(LINK, radix=8),
        ValueError,
        "Tag of a link must have at least 3 bits for a box of radix 8, not 2",
    ),
    (lambda: InputBufferedBox(LINK, delay=0), ValueError, "Delay must be at least 1, not 0"),
    (lambda: InputBufferedBox(LINK, depth=0), ValueError, "Depth must be at least 1, not 0"),
    (
        lambda: InputBufferedBox(LINK, depth=2, lengths=(2, 3)),
        ValueError,
        "Depth of an input buffer must be at least 3, the words of the longest message, not 2",
    ),
    (
        lambda: CombiningNetwork(4, queues="input"),
        ValueError,
        "Combine must be none with queues=input, not all",
    ),
    (
        lambda: CombiningNetwork(4, queues="middle"),
        ValueError,
        "Queues must be one of output, input, not 'middle'",
    ),
    (lambda: CombiningNetwork(4, delay=2), ValueError, "Delay must be 1 with queues=output, not 2"),
    (lambda: CombiningNetwork(4, delay=17), ValueError, "Delay must be from 1 to 16, not 17"),
]


@pytest.mark.parametrize(
    ("build", "error", "message"), REJECTED, ids=[message[:30] for _, _, message in REJECTED]
)
def test_boxes_reject(build: Callable[[], object], error: type, message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        build()
