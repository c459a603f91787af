"""Multistage networks that pass every permutation: what Clos and Benes networks have in common."""

from abc import abstractmethod
from collections.abc import Sequence

from ...graphs.permutations import Permutation
from ...graphs.routing.relation import RoutedGraph
from ...graphs.schedules.looping import BoxSettings

__all__ = ["RearrangeableGraph"]


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

    @abstractmethod
    def settings(self, destinations: Permutation) -> BoxSettings:
        """The settings of all boxes that pass a permutation.

        Raises
        ------
        ValueError
            If it is not a permutation of the terminals, or the network does not pass every one.
        """

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
        tallest = max(map(len, self.columns))
        gap = max(2.0, tallest / 3)
        return stage * gap, (len(self.columns[stage]) - 1) / 2 - box
