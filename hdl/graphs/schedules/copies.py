"""Fan-out by copies: which terminal sends to which, and when (Stanfill, 4.2, after Blelloch).

Sending a message to k destinations one after the other takes k times as long as sending it to one.
Instead, in each round every terminal that has a copy sends one to a terminal that has none, so the
number of copies doubles per round.
"""

from collections.abc import Mapping, Sequence

from ...fabric.errors import InvalidValue

__all__ = ["copy_rounds"]


def copy_rounds(copies: Mapping[int, Sequence[int]]) -> list[list[tuple[int, int]]]:
    """The rounds in which messages are copied from some terminals to others.

    Each source and its destinations form a row, ordered by the exclusive or of their numbers with
    that of the source. The first terminal of the row sends to the first of its second half; then
    each half is treated in the same way. So k destinations take log2(k + 1) rounds, rounded up. If
    a source sends to all other nodes of a hypercube, each message crosses one wire.

    Parameters
    ----------
    copies : Mapping[int, Sequence[int]]
        The destinations of each source.

    Returns
    -------
    list of list of tuple[int, int]
        By round: pairs of a terminal that has a copy and one that receives it in this round.

    Raises
    ------
    ValueError
        If a terminal would receive two messages, or receive one and also be a source.

    >>> copy_rounds({0: [1, 2, 3], 8: [9]})
    [[(0, 2), (8, 9)], [(0, 1), (2, 3)]]
    """
    receivers = set(copies)
    rows: list[list[int]] = []
    for source, destinations in copies.items():
        for destination in destinations:
            if destination in receivers:
                raise InvalidValue(
                    f"Copies must be one per terminal, not several for {destination}"
                )
            receivers.add(destination)
        rows.append([source, *sorted(destinations, key=source.__xor__)])
    rounds = []
    while any(len(row) > 1 for row in rows):
        # If the halves differ, the first is the longer one.
        halves = [(row[: (len(row) + 1) // 2], row[(len(row) + 1) // 2 :]) for row in rows]
        rounds.append([(first[0], second[0]) for first, second in halves if second])
        rows = [half for pair in halves for half in pair if half]
    return rounds
