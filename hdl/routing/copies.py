"""Fan-out by copies: who sends to whom, and when (Stanfill, 4.2, after Blelloch).

One that has a message for k others would need k times the time that it takes to send one. Instead
each that has a copy sends one to another that has none yet, so their number doubles with every
round.
"""

from collections.abc import Mapping, Sequence

from ..core.errors import InvalidValue

__all__ = ["copy_rounds"]


def copy_rounds(copies: Mapping[int, Sequence[int]]) -> list[list[tuple[int, int]]]:
    """The rounds in which messages are copied from some terminals to others.

    Sources and destinations stand in a row, ordered by the exclusive or of their numbers with that
    of the source. One that answers for a part of the row sends to the first of its second half,
    which then answers for that. So k destinations take log2(k + 1) rounds, rounded up; and where a
    source sends to all others of a hypercube, each message crosses one wire.

    Parameters
    ----------
    copies : Mapping[int, Sequence[int]]
        Of each source: its destinations.

    Returns
    -------
    list of list of tuple[int, int]
        By round: pairs of one that has a copy by then, and one that gets its copy in this round.

    Raises
    ------
    ValueError
        If a terminal would get two messages, or get one and be a source.

    >>> copy_rounds({0: [1, 2, 3], 8: [9]})
    [[(0, 2), (8, 9)], [(0, 1), (2, 3)]]
    """
    receivers = set(copies)
    rows: list[list[int]] = []
    for source, destinations in copies.items():
        for destination in destinations:
            if destination in receivers:
                raise InvalidValue(f"Copies must be one a terminal, not several for {destination}")
            receivers.add(destination)
        rows.append([source, *sorted(destinations, key=source.__xor__)])
    rounds = []
    while any(len(row) > 1 for row in rows):
        # The first half is the longer one, if one is.
        halves = [(row[: (len(row) + 1) // 2], row[(len(row) + 1) // 2 :]) for row in rows]
        rounds.append([(first[0], second[0]) for first, second in halves if second])
        rows = [half for pair in halves for half in pair if half]
    return rounds
