"""Programs of collective communication: transfers between memories, and what they wait for.

A transfer takes words from the memory of one terminal to that of another. A program lists them in
the order in which they would be done one after the other. A transfer waits for all earlier ones
that write what it reads (`dependencies`), and for nothing else, so transfers that do not need each
other overlap.

A memory has rows of words, and each row has one word in every *bank*. At the beginning all banks
hold the same. A transfer reads one bank, and stores or folds into several. Banks are needed where
words of a later step may come before a member has sent those of an earlier one: a bank keeps what
is to be sent in a step, and what comes later changes only the banks behind it.

Everything here is plain data, without hardware; `bench.collective_source` runs it on hardware.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

__all__ = ["CollectiveProgram", "Transfer"]


class Transfer(NamedTuple):
    """Words that one member sends to another.

    Attributes
    ----------
    source, destination : int
        Members: their ranks in an algorithm, terminals in a program.
    first, place : int
        The first row that is read, and that is written.
    words : int
        Number of rows, at least 1.
    bank : int
        The bank that is read.
    banks : int
        The banks that are written, a bit each.
    folds : bool
        Whether a word is merged with the one that is there, instead of taking its place.
    after : int or None
        Another transfer, by its place in the list, for which this one waits as well.
    """

    source: int
    destination: int
    first: int
    place: int
    words: int
    bank: int = 0
    banks: int = 1
    folds: bool = False
    after: int | None = None


@dataclass(frozen=True)
class CollectiveProgram:
    """A collective as transfers between the memories of terminals.

    Attributes
    ----------
    kind, algorithm : str
    members : tuple[int, ...]
        Terminals.
    transfers : tuple[Transfer, ...]
        Their ends are terminals.
    rows, banks : int
        Of each member's memory.
    inputs, outputs : tuple[tuple[int, ...], ...]
        For each member: the rows of its own words, and, in the last bank, those of its result, both
        in the order of the members where words are of or for each of them. None of a member that
        has no own words, or gets no result.
    """

    kind: str
    algorithm: str
    members: tuple[int, ...]
    transfers: tuple[Transfer, ...]
    rows: int
    banks: int
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        return (
            f"<CollectiveProgram {self.kind} by {self.algorithm}: {len(self.transfers)} transfers "
            f"between {len(self.members)} members>"
        )

    def cut(self, longest: int) -> "CollectiveProgram":
        """The same program with transfers of at most so many words, one behind the other."""
        pieces: list[Transfer] = []
        last: list[int] = []
        for each in self.transfers:
            after = None if each.after is None else last[each.after]
            for at in range(0, each.words, longest):
                pieces.append(
                    each._replace(
                        first=each.first + at,
                        place=each.place + at,
                        words=min(longest, each.words - at),
                        after=after,
                    )
                )
            last.append(len(pieces) - 1)
        return replace(self, transfers=tuple(pieces))

    def dependencies(self) -> list[tuple[int, ...]]:
        """For each transfer the earlier ones that it waits for: those that write what it reads."""
        written: dict[int, list[tuple[int, Transfer]]] = {each: [] for each in self.members}
        found = []
        for number, each in enumerate(self.transfers):
            end = each.first + each.words
            after = {
                other
                for other, write in written[each.source]
                if write.banks >> each.bank & 1
                and write.place < end
                and each.first < write.place + write.words
            }
            if each.after is not None:
                after.add(each.after)
            found.append(tuple(sorted(after)))
            written[each.destination].append((number, each))
        return found
