"""Directed graphs that stay free of cycles while edges are added."""

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

__all__ = ["AcyclicGraph"]

Node = TypeVar("Node", bound=Hashable)


class AcyclicGraph(Generic[Node]):
    """A directed graph that refuses edges that would close a cycle.

    It keeps a topological order of its nodes, and reorders only those between the two ends of a new
    edge (Pearce and Kelly, 2006).

    >>> graph = AcyclicGraph()
    >>> graph.add([("a", "b"), ("b", "c")]), graph.add([("a", "c")]), graph.add([("c", "a")])
    (True, True, False)
    """

    def __init__(self) -> None:
        self._place: dict[Node, int] = {}
        self._after: dict[Node, set[Node]] = {}
        self._before: dict[Node, set[Node]] = {}
        self._refused: set[tuple[Node, Node]] = set()

    def add(self, edges: Sequence[tuple[Node, Node]]) -> bool:
        """Add all of these edges, or none if there would be a cycle; whether they were added."""
        if not self._refused.isdisjoint(edges):
            return False
        new: list[tuple[Node, Node]] = []
        for tail, head in edges:
            for node in (tail, head):
                if node not in self._place:
                    self._place[node] = len(self._place)
                    self._after[node], self._before[node] = set(), set()
            if head in self._after[tail]:
                continue
            if not self._put_in_order(tail, head):
                for start, end in new:
                    self._after[start].discard(end)
                    self._before[end].discard(start)
                # An edge that closes a cycle without the new ones is refused from now on.
                if not new or not self._put_in_order(tail, head):
                    self._refused.add((tail, head))
                return False
            self._after[tail].add(head)
            self._before[head].add(tail)
            new.append((tail, head))
        return True

    def _put_in_order(self, tail: Node, head: Node) -> bool:
        """Reorder so that `tail` is before `head`; False if there is a way from head to tail."""
        place = self._place
        low, high = place[head], place[tail]
        if low > high:
            return True
        later = self._reached(head, self._after, low, high)
        if tail in later:
            return False
        earlier = self._reached(tail, self._before, low, high)
        moved = [*sorted(earlier, key=place.__getitem__), *sorted(later, key=place.__getitem__)]
        place.update(zip(moved, sorted(place[node] for node in moved)))
        return True

    def _reached(
        self, start: Node, nexts: dict[Node, set[Node]], low: int, high: int
    ) -> dict[Node, None]:
        """The nodes in some places that are reached from one of them over others of them; if the
        node in place `high` is after it, perhaps only some, and that one."""
        place, found, waiting = self._place, {start: None}, [start]
        for node in waiting:
            for other in nexts[node]:
                if other not in found and low <= place[other] <= high:
                    found[other] = None
                    if place[other] == high:
                        return found
                    waiting.append(other)
        return found
