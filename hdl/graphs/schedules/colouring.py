"""Edge colourings of bipartite graphs: edges that meet have different colours."""

from collections.abc import Hashable, Sequence

__all__ = ["edge_colouring"]


def edge_colouring(left: Sequence[Hashable], right: Sequence[Hashable], colours: int) -> list[int]:
    """Colours of the edges of a bipartite multigraph, from 0 to `colours` - 1 (Koenig, 1916).

    Edge e joins `left[e]` and `right[e]`; no node has more edges than there are colours. If the two
    ends of a new edge lack different colours, these two colours are swapped along the chain of
    edges that have them alternately. With two colours this is the looping algorithm.

    Examples
    --------
    >>> edge_colouring("aabb", "xyxy", 2)
    [1, 0, 0, 1]
    """
    coloured: list[int] = []
    ends = (left, right)
    # For each side and node, the edge of each colour.
    edges: tuple[dict[Hashable, list[int | None]], ...] = ({}, {})
    for edge in range(len(left)):
        one, other = (
            nodes.setdefault(end[edge], [None] * colours) for nodes, end in zip(edges, ends)
        )
        colour, swapped = one.index(None), other.index(None)
        chain = []
        side, wanted, follower = 1, colour, other[colour]
        while follower is not None:
            chain.append(follower)
            side, wanted = 1 - side, colour + swapped - wanted
            follower = edges[side][ends[side][follower]][wanted]
        for link in chain:
            for nodes, end in zip(edges, ends):
                nodes[end[link]][coloured[link]] = None
        for link in chain:
            coloured[link] = colour + swapped - coloured[link]
            for nodes, end in zip(edges, ends):
                nodes[end[link]][coloured[link]] = link
        coloured.append(colour)
        one[colour] = other[colour] = edge
    return coloured
