"""The transfers of each algorithm that performs a collective."""

from collections.abc import Callable, Iterator, Sequence
from math import isqrt

from ...fabric.checks import check_limit
from .collective_program import Transfer

__all__ = ["CollectiveDraft", "Pair", "binomial_pairs"]

Pair = tuple[int, int]
"""The ranks of a sender and a receiver."""

_MOST_SCHEDULED = 1024
"""Most members of a schedule, for which the paths between any two of them are listed."""

_HEADER = 3
"""Cycles of a header from one terminal to the next, for the pieces of a chain."""


def binomial_pairs(count: int) -> list[Pair]:
    """The pairs of a binomial tree from rank 0: in each round all that have it send it on."""
    size = 1 << (count - 1).bit_length()
    return [
        (rank, rank + half)
        for half in (size >> level for level in range(1, size.bit_length()))
        for rank in range(0, count - half, 2 * half)
    ]


class CollectiveDraft:
    """The transfers of an algorithm between ranks; the root has rank 0."""

    def __init__(
        self, count: int, words: int, algorithm: str, pairs: Callable[[bool], Sequence[Pair]] | None
    ) -> None:
        self.count = count
        self.words = words
        self.algorithm = algorithm
        self.banks = 1
        self._scheduled = pairs

    def transfers(self, kind: str) -> Iterator[Transfer]:
        """All transfers of a kind of collective, in order."""
        return iter(getattr(self, f"_{kind}")())

    # What the kinds have in common.

    def _pairs(self, *, folding: bool) -> Sequence[Pair]:
        """The pairs of a tree, in the order in which a broadcast, or a reduction, uses them."""
        if self.algorithm == "schedule" and self._scheduled is not None:
            check_limit("Members of a schedule", self.count, _MOST_SCHEDULED)
            return self._scheduled(folding)
        if self.algorithm == "direct":
            tree = [(0, rank) for rank in range(1, self.count)]
        else:
            tree = binomial_pairs(self.count)
        return [(child, parent) for parent, child in reversed(tree)] if folding else tree

    def _vector(
        self, source: int, destination: int, *, bank: int = 0, banks: int = 1, folds: bool = False
    ) -> Transfer:
        return Transfer(source, destination, 0, 0, self.words, bank, banks, folds)

    def _pieces(self) -> list[tuple[int, int]]:
        """First word and length of the pieces in which a vector passes a chain.

        N words in pieces of c take (P - 2 + N / c) (c + h) cycles, if a header takes h to the next
        of P members. This is least at c = sqrt(N h / (P - 2)).
        """
        size = max(1, isqrt(self.words * _HEADER // max(1, self.count - 2)))
        return [(at, min(size, self.words - at)) for at in range(0, self.words, size)]

    def _chunks(self, first: int, last: int, count: int) -> tuple[int, int]:
        """First word and length of the chunks from one number to before another."""
        begin, end = first * self.words // count, last * self.words // count
        return begin, end - begin

    def _chunk(
        self, source: int, destination: int, chunks: tuple[int, int], *, folds: bool = False
    ) -> Iterator[Transfer]:
        first, words = chunks
        if words:
            yield Transfer(source, destination, first, first, words, folds=folds)

    # One for all, and all for one.

    def _broadcast(self) -> Iterator[Transfer]:
        if self.algorithm == "ring":
            for first, words in self._pieces():
                for rank in range(self.count - 1):
                    yield from self._chunk(rank, rank + 1, (first, words))
        elif self.algorithm == "halving":
            yield from self._halving_broadcast()
        else:
            for source, destination in self._pairs(folding=False):
                yield self._vector(source, destination)

    def _halving_broadcast(self) -> Iterator[Transfer]:
        """Each gets a chunk, and then the chunks are gathered by all (van de Geijn, Bruck)."""
        for parent, child in binomial_pairs(self.count):
            last = min(child + child - parent, self.count)
            yield from self._chunk(parent, child, self._chunks(child, last, self.count))
        held = 1
        while held < self.count:
            sent = min(held, self.count - held)
            for rank in range(self.count):
                to = (rank - held) % self.count
                if to:  # The root has all.
                    end = rank + sent
                    for first, last in ((rank, min(end, self.count)), (0, end - self.count)):
                        if first < last:
                            yield from self._chunk(rank, to, self._chunks(first, last, self.count))
            held += sent

    def _reduce(self) -> Iterator[Transfer]:
        if self.algorithm == "ring":
            for first, words in self._pieces():
                for rank in range(self.count - 1, 0, -1):
                    yield from self._chunk(rank, rank - 1, (first, words), folds=True)
        elif self.algorithm == "halving":
            yield from self._scattered_reduction()
            size = self._power
            for bit in range(size.bit_length() - 1):
                half = 1 << bit
                for rank in range(half, size, 2 * half):
                    chunks = self._chunks(rank, rank + half, size)
                    yield from self._chunk(rank, rank - half, chunks)
        else:
            for source, destination in self._pairs(folding=True):
                yield self._vector(source, destination, folds=True)

    def _allreduce(self) -> Iterator[Transfer]:
        if self.algorithm == "direct":
            self.banks = 2
            for step in range(1, self.count):
                for rank in range(self.count):
                    to = (rank + step) % self.count
                    yield self._vector(rank, to, banks=2, folds=True)
        elif self.algorithm == "ring":
            yield from self._ring_allreduce()
        elif self.algorithm == "doubling":
            yield from self._doubling_allreduce()
        elif self.algorithm == "halving":
            yield from self._scattered_reduction()
            size = self._power
            for bit in range(size.bit_length() - 1):
                half = 1 << bit
                for rank in range(size):
                    first = rank & -half
                    yield from self._chunk(
                        rank, rank ^ half, self._chunks(first, first + half, size)
                    )
            for rank in range(size, self.count):
                yield self._vector(rank - size, rank)
        else:
            yield from self._reduce()
            yield from self._broadcast()

    def _ring_allreduce(self) -> Iterator[Transfer]:
        """Sums of chunks go round once, and then the chunks themselves."""
        count = self.count
        parts = [self._chunks(chunk, chunk + 1, count) for chunk in range(count)]
        filled = [chunk for chunk, (_, words) in enumerate(parts) if words]
        for turn, folds in ((0, True), (1, False)):
            for step in range(count - 1):
                for rank in sorted((chunk - turn + step) % count for chunk in filled):
                    chunks = parts[(rank + turn - step) % count]
                    yield from self._chunk(rank, (rank + 1) % count, chunks, folds=folds)

    def _doubling_allreduce(self) -> Iterator[Transfer]:
        """In step k those that differ in bit k exchange all; others first give theirs to one."""
        size = self._power
        steps = size.bit_length() - 1
        self.banks = steps + 1
        every = (1 << self.banks) - 1
        for rank in range(size, self.count):
            yield self._vector(rank, rank - size, banks=every, folds=True)
        for step in range(steps):
            for rank in range(size):
                yield self._vector(
                    rank, rank ^ 1 << step, bank=step, banks=every & -2 << step, folds=True
                )
        for rank in range(size, self.count):
            yield self._vector(rank - size, rank, bank=steps, banks=1 << steps)

    @property
    def _power(self) -> int:
        """The largest power of two that is not more than the members."""
        return 1 << self.count.bit_length() - 1

    def _scattered_reduction(self) -> Iterator[Transfer]:
        """Each of a power of two of members gets the result of its chunk (recursive halving)."""
        size = self._power
        for rank in range(size, self.count):
            yield self._vector(rank, rank - size, folds=True)
        half = size // 2
        while half:
            for rank in range(size):
                first = (rank & -2 * half) + (0 if rank & half else half)
                chunks = self._chunks(first, first + half, size)
                yield from self._chunk(rank, rank ^ half, chunks, folds=True)
            half //= 2

    # Words of each.

    def _blocks(self, source: int, destination: int, first: int, last: int) -> Transfer:
        """The blocks from one rank to before another."""
        first, last = first * self.words, last * self.words
        return Transfer(source, destination, first, first, last - first)

    def _scatter(self) -> Iterator[Transfer]:
        if self.algorithm == "ring":
            for block in range(self.count - 1, 0, -1):
                for rank in range(block):
                    yield self._blocks(rank, rank + 1, block, block + 1)
        else:
            yield from self._block_tree()

    def _gather(self) -> Iterator[Transfer]:
        if self.algorithm == "ring":
            for block in range(1, self.count):
                for rank in range(block, 0, -1):
                    yield self._blocks(rank, rank - 1, block, block + 1)
        else:
            for parent, child, first, _, words in reversed([t[:5] for t in self._block_tree()]):
                yield Transfer(child, parent, first, first, words)

    def _block_tree(self) -> Iterator[Transfer]:
        """A scatter along a tree: each gets its own blocks, and those of all below it."""
        for parent, child in self._pairs(folding=False):
            below = 1 if self.algorithm == "direct" else child - parent
            yield self._blocks(parent, child, child, min(child + below, self.count))

    def _alltoall(self) -> Iterator[Transfer]:
        """In step s each sends to the member s behind it; in a ring, after the step before."""
        count = self.count
        for step in range(1, count):
            for rank in range(count):
                to = (rank + step) % count
                waits = self.algorithm == "ring" and step > 1
                # What came in the step before is from the member s - 1 in front.
                before = (step - 2) * count + (rank - step + 1) % count
                yield Transfer(
                    rank,
                    to,
                    to * self.words,
                    (count + rank) * self.words,
                    self.words,
                    after=before if waits else None,
                )

    def _barrier(self) -> Iterator[Transfer]:
        count = self.count
        if self.algorithm == "ring":
            for rank in range(count - 1):
                yield self._vector(rank, rank + 1, folds=True)
            for rank in range(count - 1):
                yield self._vector((rank - 1) % count, rank)
        elif self.algorithm == "doubling":
            # Dissemination: in step k each tells the member 2^k behind it all that it knows.
            steps = (count - 1).bit_length()
            self.banks = steps + 1
            every = (1 << self.banks) - 1
            for step in range(steps):
                for rank in range(count):
                    to = (rank + (1 << step)) % count
                    banks = every & -2 << step
                    yield self._vector(rank, to, bank=step, banks=banks, folds=True)
        else:
            yield from self._reduce()
            yield from self._broadcast()
