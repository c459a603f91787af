"""Fan-in and fan-out by copies in neighbouring processors (Stanfill, 4.2, after Blelloch).

"A fast algorithm" makes as many copies of each message as it has destinations, in consecutive
processors, and the router delivers the copies, all at once: the paper says that this takes about
twice the time of a message. Fan-in is the inverse. Which processors hold the copies is known
beforehand: the paper's 16 milliseconds of preparation are not part of the measured times, but it is
said how often a pattern must be used to earn them.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import numpy as np

from ....hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from ....hdl.graphs.schedules.copies import copy_rounds
from ...measure.result import SimulationError
from ...run.messages import Copies, Message
from ...run.messenger import Messenger
from ..item import Item, Options
from ..panels import Lines, Panel
from . import SOURCE

__all__ = ["FAN", "fan_in", "fan_out"]

_N = 8
_PROCESSORS = 16
_FANS = (4, 16, 64, 256)
_SET_UP = 16_000 / 800
"""The set-up, in times of a message from each processor: 16 milliseconds of 800 microseconds."""
_SCHEDULES = ("dimension", "parallel")


def _segments(fan: int, terminals: int) -> list[range]:
    """Consecutive terminals for each group of `fan` messages."""
    return [range(first, first + fan) for first in range(0, terminals, fan)]


def fan_out(messenger: Messenger, sources: Sequence[int], places: Sequence[int]) -> list[int]:
    """Cycles in which each source's value is sent to the heads, copied, and routed.

    Parameters
    ----------
    messenger : Messenger
    sources : Sequence[int]
        Source s has the destinations `places[s F : (s + 1) F]`, where F is their number.
    places : Sequence[int]
        All terminals, in any order.

    Raises
    ------
    SimulationError
        If a message is lost or misrouted.
    """
    segments = _segments(len(places) // len(sources), len(places))
    values = [1 + source for source in sources]
    first = messenger.send(
        Message(source, segment[0], value)
        for source, segment, value in zip(sources, segments, values)
    )
    copied = messenger.copy(
        Copies(segment[0], segment[1:], value) for segment, value in zip(segments, values)
    )
    last = messenger.send(
        Message(terminal, place, copied.values[terminal] or 0)
        for terminal, place in enumerate(places)
    )
    return [first.cycles, copied.cycles, last.cycles]


def fan_in(messenger: Messenger, places: Sequence[int], sinks: Sequence[int]) -> list[int]:
    """Cycles in which each terminal's value is routed, added to others, and sent to its sink.

    The inverse of `fan_out`: sink s receives the sum of the values of `places[s F : (s + 1) F]`.

    Raises
    ------
    SimulationError
        If a message is lost or misrouted, or a sum is wrong.
    """
    segments = _segments(len(places) // len(sinks), len(places))
    first = messenger.send(
        Message(place, terminal, 1 + place) for terminal, place in enumerate(places)
    )
    sums = [value or 0 for value in first.values]
    adding = 0
    for pairs in reversed(copy_rounds({segment[0]: segment[1:] for segment in segments})):
        run = messenger.send(Message(source, to, sums[source]) for to, source in pairs)
        adding += run.cycles
        for to, _ in pairs:
            sums[to] += run.values[to] or 0
    last = messenger.send(
        Message(segment[0], sink, sums[segment[0]]) for segment, sink in zip(segments, sinks)
    )
    for segment, sink in zip(segments, sinks):
        wanted = sum(1 + places[terminal] for terminal in segment)
        if last.values[sink] != wanted:
            raise SimulationError(
                f"Terminal {sink} has {last.values[sink]}, not the sum {wanted}", last
            )
    return [first.cycles, adding, last.cycles]


def _one_each(destinations: Sequence[int]) -> list[Message]:
    """One message from each terminal."""
    return [Message(source, destination, 1) for source, destination in enumerate(destinations)]


def _measure(options: Options) -> Iterator[dict[str, Any]]:
    n, processors = (2, 4) if options.quick else (_N, _PROCESSORS)
    random = np.random.default_rng(options.seed)
    for schedule in _SCHEDULES:
        network = ConnectionMachine(n, processors=processors, payload=32, schedule=schedule)
        ports = network.ports
        fans = [fan for fan in _FANS if 4 * fan <= ports]
        plain = Messenger(network, "add", depth=max(fans), engine=options.engine)
        combining = Messenger(network.altered(combine="add"), "add", engine=options.engine)
        basic = plain.send(_one_each(random.permutation(ports).tolist())).cycles
        for fan in fans:
            places = random.permutation(ports).tolist()
            ends = random.permutation(ports).tolist()[: ports // fan]
            groups = [places[at : at + fan] for at in range(0, ports, fan)]
            out = [Message(end, place, 1) for end, group in zip(ends, groups) for place in group]
            into = [Message(place, end, 1) for end, place, _ in out]
            for kind, parts, direct, combined in (
                ("out", fan_out(plain, ends, places), plain.send(out).cycles, None),
                (
                    "in",
                    fan_in(plain, places, ends),
                    plain.send(into).cycles,
                    combining.send(into).cycles,
                ),
            ):
                saved = direct - sum(parts)
                yield {
                    "schedule": schedule,
                    "kind": kind,
                    "fan": fan,
                    "basic": basic,
                    "to_heads": parts[0] if kind == "out" else parts[2],
                    "copies": parts[1],
                    "routed": parts[2] if kind == "out" else parts[0],
                    "measured": sum(parts),
                    "published": 2,
                    "ratio": sum(parts) / basic,
                    "direct": direct,
                    "uses": ceil(_SET_UP * basic / saved) if saved > 0 else None,
                    "combined": combined,
                }


def _panel_line(key: str, style: str, label: str) -> Lines:
    return Lines(key, style, f"{{schedule}}, {label}", scale=lambda row: row["basic"])


FAN = Item(
    "stanfill-fan",
    "Fan-out and fan-in by copies in neighbouring processors, beside twice the message time",
    f"{SOURCE}, 4.2",
    columns="schedule | kind = fan | fan = of : , | basic = message | to_heads = heads | copies"
    " | routed | measured = sum | ratio = times : .2f | published = paper | direct"
    " | uses | combined = combining",
    rows=_measure,
    draw=Panel(
        "fan",
        [
            _panel_line("measured", "-o", "copies first"),
            _panel_line("direct", "--s", "one by one"),
            _panel_line("combined", ":^", "combining"),
            lambda axes, rows: axes.axhline(
                2, color="black", linewidth=1, label="paper: about twice"
            ),
        ],
        ["schedule"],
        title="fan-{kind}",
        xlabel=lambda row: f"F, messages of a {'source' if row['kind'] == 'out' else 'sink'}",
        ylabel="time / time of one message from each",
        by="kind",
        size=(4.5, 4),
        xlog=2,
        ylog=10,
        ticks=True,
    ),
    notes=(
        "Cycles with word-wide wires. Every processor receives (fan-out) or sends (fan-in) one "
        "message; each source or sink has as many as it says. Message: a random permutation, "
        "one message from every processor.",
        "Fan-out: each source sends to the head of a segment of consecutive processors "
        "(heads); the value is copied in the segment, in rounds (copies); each processor "
        "sends its copy to a destination (routed). Fan-in is the inverse. Times: their sum, in "
        "messages.",
        "Direct: all messages sent one by one, without copies. Uses: how often the pattern must be "
        "used until the copies have earned their set-up, 16 ms of 0.8 ms a message. Combining: as "
        "direct, with combine=add.",
    ),
    ignores=("cycles",),
)
