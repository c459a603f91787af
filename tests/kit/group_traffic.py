# amaranth: UnusedElaboratable=no
"""Operations of groups on a network, as scripts of its terminals, and what must arrive."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multicube.hdl import PacketNetwork
from multicube.hdl.graphs.routing.group_tree import Kind
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.rerouting import write_tables
from scripted_terminals import scripted

Members = Mapping[int, tuple[int, Sequence[int]]]
"""By the number of a group, its root and its members."""

Arrived = tuple[Kind, int, tuple[int, ...]]
"""A packet at a terminal: its kind, the group, or 0, and its payloads."""

FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda one, other: (one + other) % 2**16,
    "add-saturating": lambda one, other: min(one + other, 2**16 - 1),
    "or": int.__or__,
    "and": int.__and__,
    "max": max,
    "min": min,
}


@dataclass
class Traffic:
    """What each terminal sends, flit by flit, and what must arrive at each."""

    network: PacketNetwork
    groups: Members
    fold: str = "add"
    scripts: list[list[int]] = field(default_factory=list)
    expected: list[Counter[Arrived]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scripts = [[] for _ in range(self.network.ports)]
        self.expected = [Counter() for _ in range(self.network.ports)]

    def _send(self, terminal: int, kind: Kind, tag: int, values: Sequence[int]) -> None:
        packet = self.network.packet
        for index, value in enumerate(values):
            last = index == len(values) - 1
            # Behind the header, kind and tag are data.
            fields = (
                {"tag": tag, "kind": kind} if index == 0 else {"tag": value % 2, "kind": value % 4}
            )
            flit = packet.const({**fields, "payload": value, "last": last})
            self.scripts[terminal].append(flit.as_value().value)

    def single(self, source: int, destination: int, values: Sequence[int]) -> None:
        self._send(source, Kind.SINGLE, self.network.tags.tag(source, destination), values)
        self.expected[destination][Kind.SINGLE, 0, tuple(values)] += 1

    def multicast(self, group: int, values: Sequence[int]) -> None:
        root, members = self.groups[group]
        self._send(root, Kind.MULTICAST, group, values)
        for member in members:
            self.expected[member][Kind.MULTICAST, group, tuple(values)] += 1

    def reduce(self, group: int, values: Mapping[int, Sequence[int]], *, around: bool) -> None:
        """`values` are those of each member; if some are fewer, these end first."""
        root, members = self.groups[group]
        longest = max(map(len, values.values()))
        result = []
        for at in range(longest):
            some = [own[at] for own in values.values() if at < len(own)]
            total = some[0]
            for value in some[1:]:
                total = FOLDS[self.fold](total, value)
            result.append(total)
        for member in members:
            kind = Kind.ALL_REDUCE if around else Kind.REDUCE
            self._send(member, kind, group, values[member])
        if around:
            for member in members:
                self.expected[member][Kind.MULTICAST, group, tuple(result)] += 1
        else:
            self.expected[root][Kind.REDUCE, group, tuple(result)] += 1

    def fill(self, seed: int, operations: int, kinds: Sequence[Kind]) -> None:
        """Add random operations, in one order for all terminals."""
        draw = random.Random(seed)
        least, most = self.network.lengths

        def values() -> list[int]:
            return [draw.randrange(2**16) for _ in range(draw.randint(least, most))]

        for _ in range(operations):
            kind = draw.choice(kinds)
            group = draw.choice(sorted(self.groups))
            if kind == Kind.SINGLE:
                self.single(*draw.choices(range(self.network.ports), k=2), values())
            elif kind == Kind.MULTICAST:
                self.multicast(group, values())
            else:
                own = {member: values() for member in self.groups[group][1]}
                self.reduce(group, own, around=kind == Kind.ALL_REDUCE)

    def run(
        self,
        cycles: int,
        *,
        waits: bool = False,
        stride: int = 1,
        engine: Callable[..., Any] = CompiledEngine,
        during: Callable[[Any], None] = lambda engine: None,
    ) -> "Arrivals":
        """What arrives in so many cycles at most, until all that is expected may have arrived.

        That is looked at, and `during` called, every `stride` cycles.
        """
        count = max(1, *map(len, self.scripts))
        scripts = [[*own, *[0] * (count - len(own))] for own in self.scripts]
        limits = [f"limit_{terminal}" for terminal in range(self.network.ports)]
        wanted = [sum(len(one[2]) * times for one, times in own.items()) for own in self.expected]
        records = max(wanted) + 8
        fabric = scripted(self.network, scripts, records, waits=waits, limits=limits)
        cells = [f"terminal_{terminal}" for terminal in range(self.network.ports)]
        with engine(fabric) as running:
            write_tables(running, self.network.group_tables(self.groups))
            for name, own in zip(limits, self.scripts):
                running.set(name, len(own))
            ended: list[int | None] = [None] * self.network.ports
            for cycle in range(stride - 1, cycles, stride):
                running.step(stride)
                taken = running.read(cells, "taken")
                during(running)
                for terminal, (own, all_) in enumerate(zip(taken, wanted)):
                    if own == all_ and ended[terminal] is None:
                        ended[terminal] = cycle
                if taken == wanted:
                    break
            running.step(8)
            taken = running.read(cells, "taken")
            rows = [running.memory(cell, "record")[:own] for cell, own in zip(cells, taken)]
        return Arrivals([Counter(self.packets_of(own)) for own in rows], ended)

    def packets_of(self, flits: Sequence[int]) -> Iterator[Arrived]:
        """The packets that some flits of a terminal are."""
        packet = self.network.packet
        begun: list[int] = []
        for flit in flits:
            begun.append(flit)
            if packet.from_bits(flit).last:
                header = packet.from_bits(begun[0])
                payloads = tuple(packet.from_bits(each).payload for each in begun)
                kind = Kind(header.kind)
                yield kind, header.tag if kind else 0, payloads
                begun = []
        if begun:
            yield Kind.SINGLE, -1, tuple(begun)


@dataclass(frozen=True)
class Arrivals:
    """What arrived at each terminal, and the cycle in which its last flit did, if all came."""

    packets: list[Counter[Arrived]]
    ended: list[int | None]
