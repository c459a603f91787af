"""Multistage networks that pass every permutation: what Clos and Benes networks have in common."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from ...fabric.errors import InvalidValue
from ...graphs.graph import Channel, Turn
from ...graphs.permutations import Permutation
from ...graphs.routing.relation import RoutedGraph
from ...graphs.schedules.looping import BoxSettings

__all__ = ["Passage", "RearrangeableGraph"]


class Passage(NamedTuple):
    """How a packet passes a box: which input and output it takes, as `BoxSettings` number them."""

    node: int
    input: int
    output: int


class RearrangeableGraph(RoutedGraph):
    """Columns of boxes; packets enter at the first and leave at the last.

    A box's inputs are numbered as the ports of its links, or in the first column as its terminals;
    so are its outputs.

    Attributes
    ----------
    columns : Sequence[Sequence[int]]
        For each stage, its nodes.
    """

    deadlock_free = True
    looks_back = False
    equal_choices = True

    @property
    @abstractmethod
    def columns(self) -> Sequence[Sequence[int]]:
        """For each stage, its nodes."""

    @cached_property
    def exit_homes(self) -> Sequence[int]:
        return [self.columns[-1][home] for home in self.homes]

    @property
    def diameter(self) -> int:
        """As `Relation.diameter`: from the first column to the last."""
        return len(self.columns) - 1

    def carries(self, channel: Channel) -> bool:
        """As in `Relation`: if packets may spread, they take every channel."""
        return not self.ordered or super().carries(channel)

    def turns(self) -> Mapping[int, Collection[Turn]]:
        """As `Relation.turns`: if packets may spread, every box leads from all inputs to all
        outputs."""
        return super().turns() if self.ordered else self.all_turns()

    @abstractmethod
    def settings(self, destinations: Permutation) -> BoxSettings:
        """The settings of all boxes that pass a permutation.

        Raises
        ------
        ValueError
            If it is not a permutation of the terminals, or the network does not pass every one.
        """

    def passages(self, source: int, destination: int, settings: BoxSettings) -> list[Passage]:
        """The boxes that a packet passes, if these are set.

        Settings may be of the first stages only: in the others it takes the way to its destination.

        Raises
        ------
        ValueError
            If a box does not show this packet, or one that is not set leads several ways.
        """
        node, port = self.entries[source].node, -1 - self.entries[source].port
        found = []
        for stage in range(len(self.columns)):
            if stage < len(settings):
                box = settings[stage][self.place_of(node)[1]]
                if port not in box:
                    raise InvalidValue(f"Box {self.name(node)} must show its input {port}")
                output = box.index(port)
            elif stage + 1 < len(self.columns):
                ways = [channel.port for channel in self.route(node, None, destination)]
                if len(ways) != 1:
                    raise InvalidValue(f"Box {self.name(node)} must be set: it leads several ways")
                (output,) = ways
            else:
                output = -1 - self.exits[destination].port
            found.append(Passage(node, port, output))
            if stage + 1 < len(self.columns):
                link = self.by_output[node, output]
                node, port = link.peer, link.peer_port
        return found

    def place_of(self, node: int) -> tuple[int, int]:
        """The stage of a box, and its number there."""
        stage = next(s for s, column in enumerate(self.columns) if node in column)
        return stage, node - self.columns[stage][0]

    def name(self, node: int) -> str:
        stage, box = self.place_of(node)
        return f"{box} of stage {stage}"

    def position(self, node: int) -> tuple[float, float]:
        """Stages from left to right, the first box of each on top."""
        stage, box = self.place_of(node)
        return stage * self._gap, self._height(stage, box)

    def _height(self, stage: int, box: int) -> float:
        return (len(self.columns[stage]) - 1) / 2 - box

    @cached_property
    def _gap(self) -> float:
        """How far apart the stages are: no line is so steep that it crosses a box of its stage."""
        heights = {
            node: self._height(stage, box)
            for stage, column in enumerate(self.columns)
            for box, node in enumerate(column)
        }
        rise = max(abs(heights[link.node] - heights[link.peer]) for link in self.links())
        return max(2.0, rise / 1.4)
