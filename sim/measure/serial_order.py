"""Finds a serial order of the operations on a shared memory that explains their replies.

A *history* of a word of memory lists the operations on it and their replies. It is *serial* if its
operations have an order, keeping the order in which each processor sent its own, such that
performing them one at a time gives the recorded replies and the final value. Words are independent
of each other: each has its own order.

If the times at which operations were sent and answered are known, the order must also agree with
them: an operation that was answered before another was sent comes before it (M. P. Herlihy and
J. M. Wing, "Linearizability", ACM TOPLAS 12, 1990). This requires more of the memory, and makes the
search shorter.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from ...hdl.fabric.errors import MulticubeError
from ...hdl.operations.memory import Operation

__all__ = ["Access", "SerialOrder", "Undecided", "is_serializable", "serial_order"]


@dataclass(frozen=True)
class Access:
    """An answered operation on a word.

    Attributes
    ----------
    processor : int
        The number of the processor that asked.
    operation : Operation
        What it asked for.
    operand : int
        From 0 to 2^width - 1, like all values.
    reply : int, optional
        The value returned. None if it has no meaning or is not known.
    sent, answered : float
        Times. By default, nothing is known about them.
    offset, bits : int
        The part of the word that the operation reads and changes: so many bits from the one with
        number `offset` on; all, if `bits` is 0. Operand and reply are values of this part.
    """

    processor: int
    operation: Operation
    operand: int
    reply: int | None = None
    sent: float = -inf
    answered: float = inf
    offset: int = 0
    bits: int = 0

    def read(self, value: int) -> int:
        """The part of the word that the operation reads."""
        return value >> self.offset & (1 << self.bits) - 1 if self.bits else value

    def after(self, value: int, width: int) -> int:
        """The word after the operation."""
        if not self.bits:
            return self.operation.perform(value, self.operand, width)
        part = self.operation.perform(self.read(value), self.operand, self.bits)
        mask = (1 << self.bits) - 1 << self.offset
        return value & ~mask | part << self.offset

    @property
    def whole(self) -> int | None:
        """The value that the whole word had, if the reply contains it."""
        return self.reply if self.operation.replies and not self.bits else None

    def fits(self, value: int) -> bool:
        """Whether the word may have had this value."""
        if self.reply is None or not self.operation.replies:
            return True
        return self.reply == self.read(value)


class Undecided(MulticubeError):
    """The search was given up."""


class SerialOrder(list[int]):
    """The order found, as positions in the history."""


class _Search:
    """Depth-first search of the states, each the progress of every processor and the word's value.

    Each access takes the word from one value, its reply if that is known, to another. A serial
    order is therefore a path through the values that takes each access once. The search may leave a
    value only if the remaining accesses that start from it can be reached again.

    `ready` maps a value to the processors whose next access returned it; under None are those whose
    next access may have returned any value.
    """

    def __init__(self, history: Sequence[Access], width: int, final: int | None) -> None:
        self.history = history
        self.width = width
        self.final = final
        self.queues: dict[int, list[int]] = defaultdict(list)
        for number, access in enumerate(history):
            self.queues[access.processor].append(number)
        self.done = dict.fromkeys(self.queues, 0)
        # For each processor and number of its accesses done: the earliest answer of the rest.
        self.deadlines: dict[int, list[float]] = {}
        for processor, queue in self.queues.items():
            answered = (history[number].answered for number in reversed(queue))
            self.deadlines[processor] = list(accumulate(answered, min, initial=inf))[::-1]
        self.ends = [self._end(access) for access in history]
        # Among the remaining accesses: how many change a value, leave it unchanged, or lead to it;
        # and how many lead to an unknown value.
        self.changing: Counter[int | None] = Counter()
        self.leaving: Counter[int | None] = Counter()
        self.leading: Counter[int] = Counter()
        self.unknown = 0
        # What an access to a part finds in the others is not known.
        self.partial = any(access.bits for access in history)
        for number in range(len(history)):
            self._count(number, 1)
        self.ready: dict[int | None, dict[int, None]] = defaultdict(dict)
        for processor in self.queues:
            self._announce(processor)

    def _end(self, access: Access) -> int | None:
        """The value that an access leaves; None if it is not known."""
        reply = access.whole
        if access.bits:
            return None
        if access.operation.kind == "store":
            return access.operand
        if reply is None:
            return None
        return access.operation.perform(reply, access.operand, self.width)

    def _count(self, number: int, by: int) -> None:
        access, end = self.history[number], self.ends[number]
        reply = access.whole
        if reply is not None:
            (self.leaving if reply == end else self.changing)[reply] += by
        if end is None:
            self.unknown += by * (access.operation.kind != "load")
        elif end != reply:
            self.leading[end] += by

    def _next(self, processor: int) -> int | None:
        queue, done = self.queues[processor], self.done[processor]
        return queue[done] if done < len(queue) else None

    def _announce(self, processor: int) -> None:
        number = self._next(processor)
        if number is not None:
            self.ready[self.history[number].whole][processor] = None

    def _withdraw(self, processor: int) -> None:
        number = self._next(processor)
        if number is not None:
            del self.ready[self.history[number].whole][processor]

    def perform(self, processor: int) -> None:
        """Perform the next access of a processor."""
        self._withdraw(processor)
        self._count(self.queues[processor][self.done[processor]], -1)
        self.done[processor] += 1
        self._announce(processor)

    def undo(self, processor: int) -> None:
        """Undo the last access of a processor."""
        self._withdraw(processor)
        self.done[processor] -= 1
        self._count(self.queues[processor][self.done[processor]], 1)
        self._announce(processor)

    def choices(self, value: int) -> Iterator[int]:
        """Processors whose next access may come next in the order, the most promising first."""
        limit = min(
            (self.deadlines[processor][done] for processor, done in self.done.items()), default=inf
        )
        fitting, blind = (
            [
                (self.history[number].answered, processor, number)
                for processor in self.ready[reply]
                if (number := self._next(processor)) is not None
                and self.history[number].sent <= limit
                and self.history[number].fits(value)
            ]
            for reply in (value, None)
        )
        for _, processor, number in (*fitting, *blind):
            if self._changes_nothing(number, value):
                # It leaves the word unchanged, so performing it now excludes nothing.
                return iter((processor,))
        back = self.leading[value] + self.unknown
        if self.leaving[value] and not back:
            return iter(())
        # The operation answered first was probably performed first.
        choices = sorted(fitting) if self.changing[value] <= back + 1 else []
        if self.changing[value] <= back:
            # A store whose value no reply shows can come before any other store.
            hidden = [choice for choice in blind if self._is_hidden(choice[2])]
            choices += hidden[:1] or sorted(blind)
        return iter([processor for _, processor, _ in choices])

    def _changes_nothing(self, number: int, value: int) -> bool:
        """Whether an access that may come next leaves the word unchanged."""
        access = self.history[number]
        if access.operation.kind == "load":
            return True
        if access.bits:
            # Only if its reply allows no other time: a store may be needed later, to change it.
            known = access.reply is not None and access.operation.replies
            return known and access.after(value, self.width) == value
        return access.whole == value == self.ends[number]

    def _is_hidden(self, number: int) -> bool:
        """Whether the value that an access leaves is no other's reply, and not the final value."""
        end = self.ends[number]
        return (
            not self.unknown
            and not self.partial
            and self.final not in (None, end)
            and not self.changing[end]
            and not self.leaving[end]
        )

    def result(self, processor: int, value: int) -> int:
        number = self._next(processor)
        assert number is not None
        return self.history[number].after(value, self.width)

    def state(self, value: int) -> tuple[int, ...]:
        return (*self.done.values(), value)


def serial_order(
    history: Iterable[Access],
    *,
    width: int,
    initial: int = 0,
    final: int | None = None,
    limit: int = 1_000_000,
) -> SerialOrder | None:
    """A serial order of a history of one word, or None if there is none.

    Replies and times nearly always leave one choice or a few, so the search takes about as many
    steps as there are accesses. In the worst case the number of steps is exponential in the number
    of processors: for long histories of narrow words, give times.

    Parameters
    ----------
    history : Iterable[Access]
        The accesses of each processor in the order in which it sent them.
    width : int
        Width of a word in bits.
    initial : int
        Value of the word before the accesses.
    final : int, optional
        Value after them; None if it is not known.
    limit : int
        Number of states after which the search is given up.

    Raises
    ------
    Undecided
        If the search was given up.

    Examples
    --------
    >>> from multicube.hdl.operations.memory import find_operation
    >>> add = find_operation("fetch-and-add")
    >>> history = [Access(0, add, 1, 5), Access(1, add, 5, 0)]
    >>> serial_order(history, width=8, final=6)
    [1, 0]
    >>> serial_order(history, width=8, final=7) is None
    True
    """
    search = _Search(list(history), width, final)
    value = initial
    order = SerialOrder()
    trail: list[tuple[int, int]] = []
    seen = {search.state(value)}
    pending = [search.choices(value)]
    while True:
        if len(order) == len(search.history) and final in (None, value):
            return order
        processor = next(pending[-1], None)
        if processor is None:
            pending.pop()
            if not trail:
                return None
            processor, value = trail.pop()
            search.undo(processor)
            order.pop()
            continue
        number = search.queues[processor][search.done[processor]]
        after = search.result(processor, value)
        search.perform(processor)
        state = search.state(after)
        if state in seen:
            search.undo(processor)
            continue
        if len(seen) >= limit:
            raise Undecided(f"No serial order found in {limit} states")
        seen.add(state)
        trail.append((processor, value))
        order.append(number)
        value = after
        pending.append(search.choices(value))


def is_serializable(
    histories: Mapping[int, Iterable[Access]],
    *,
    width: int,
    initial: Mapping[int, int],
    final: Sequence[int] | Mapping[int, int],
) -> bool:
    """Whether each word of a memory has a serial order.

    Parameters
    ----------
    histories : Mapping[int, Iterable[Access]]
        History of each word, as `serial_order` takes it.
    width : int
        Width of a word in bits.
    initial : Mapping[int, int]
        Words that were not zero at the beginning.
    final : Sequence[int]
        Final values of all words.

    Raises
    ------
    Undecided
        If a search was given up.
    """
    return all(
        serial_order(history, width=width, initial=initial.get(word, 0), final=final[word])
        is not None
        for word, history in histories.items()
    )
