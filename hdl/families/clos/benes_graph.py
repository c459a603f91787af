"""Benes networks of 2 x 2 boxes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from ...fabric.checks import check_power_of_two
from ...fabric.parameter_fields import integer, word
from ...graphs.graph import Channel, Link
from ...graphs.permutations import Permutation, check_permutation
from ...graphs.schedules.looping import BoxSettings, benes_settings
from .clos_graph import SPREADS
from .rearrangeable_graph import RearrangeableGraph

__all__ = ["Benes"]


@dataclass(frozen=True)
class Benes(RearrangeableGraph):
    """A Benes network (Benes, 1964): 2 n - 1 stages of 2 x 2 boxes between N = 2^n terminals.

    The lines between stages keep their numbers. The stages join lines that differ in bit 0, 1, ...,
    n - 2, n - 1, n - 2, ..., 0: between the outer stages there are two networks of half the size,
    that of the even lines and that of the odd ones. A packet may take any output in the first n - 1
    stages; the others set bits n - 1 down to 0 of its line to those of its destination. Set
    centrally, it passes every permutation.

    Attributes
    ----------
    spread : "any" or "fixed"
        Whether a packet takes any free output in the first stages, or in the stage of bit k that of
        its destination's bit k.
    """

    ports: int = integer(8, "terminals, a power of two", least=2, most=2**12)
    spread: Literal["any", "fixed"] = word(
        "any", "outputs that a packet takes in the first stages", SPREADS
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_power_of_two("Ports", self.ports)

    @property
    def bits(self) -> int:
        """n: the bits of a terminal's number."""
        return self.ports.bit_length() - 1

    @property
    def joined(self) -> Sequence[int]:
        """For each stage, the bit in which the lines of a box differ."""
        bits = range(self.bits)
        return [*bits, *reversed(bits[:-1])]

    @property
    def columns(self) -> Sequence[range]:
        boxes = self.ports // 2
        return [range(s * boxes, (s + 1) * boxes) for s in range(len(self.joined))]

    @property
    def nodes(self) -> int:
        return len(self.joined) * self.ports // 2

    def _end(self, stage: int, line: int) -> tuple[int, int]:
        """The node and the port of a line in a stage."""
        bit = self.joined[stage]
        box = line >> bit + 1 << bit | line & (1 << bit) - 1
        return stage * self.ports // 2 + box, line >> bit & 1

    @cached_property
    def homes(self) -> Sequence[int]:
        return [t // 2 for t in range(self.ports)]

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return self.spread == "fixed" or self.ports == 2

    def links(self) -> Iterator[Link]:
        """Ports are the bits in which the lines of a box differ."""
        for stage, after in pairwise(range(len(self.joined))):
            for line in range(self.ports):
                yield Link(*self._end(stage, line), *self._end(after, line))

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        stage = node // (self.ports // 2)
        own = destination >> self.joined[stage] & 1
        if stage == len(self.joined) - 1:
            return
        free = stage < self.bits - 1 and self.spread == "any"
        yield from (Channel(node, port) for port in ((0, 1) if free else (own,)))

    def settings(self, destinations: Permutation) -> BoxSettings:
        check_permutation(destinations, self.ports)
        return benes_settings(destinations)
