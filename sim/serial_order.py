"""Whether what processors saw of a shared memory can have come from one operation after another.

A *history* of a word of memory lists the operations on it and what they returned. It is *serial* if
there is an order of all of them, in which each processor's stand in the order in which it sent
them, such that performing them one by one returns what they returned and leaves what was left.
Words are independent of each other here: each has an order of its own.

If it is known when each operation was sent and answered, the order must also agree with that: what
was answered before another was sent comes before it (M. P. Herlihy and J. M. Wing,
"Linearizability", ACM TOPLAS 12, 1990). That asks more of the memory, and leaves less to search.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from ..hdl.combining.operations import Operation

__all__ = ["Access", "SerialOrder", "Undecided", "serial_order"]


@dataclass(frozen=True)
class Access:
    """An operation on a word that has been answered.

    Attributes
    ----------
    processor : int
    operation : Operation
    operand : int
        From 0 to 2^width - 1, as all values.
    reply : int, optional
        What it returned. None if that means nothing, or is not known.
    sent, answered : float
        When; by default, nothing is known.
    """

    processor: int
    operation: Operation
    operand: int
    reply: int | None = None
    sent: float = -inf
    answered: float = inf


class Undecided(Exception):
    """The search was given up."""


class SerialOrder(list[int]):
    """The order that was found: positions in the history."""


class _Search:
    """Depth first through the states: how far each processor is, and the value of the word.

    `ready` and `free` hold the processors whose next access returned a certain value, or anything.
    """

    def __init__(self, history: Sequence[Access], width: int) -> None:
        self.history = history
        self.width = width
        self.queues: dict[int, list[int]] = defaultdict(list)
        for number, access in enumerate(history):
            self.queues[access.processor].append(number)
        self.done = dict.fromkeys(self.queues, 0)
        # Of each processor, after so many accesses: when the first of the others was answered.
        self.deadlines: dict[int, list[float]] = {}
        for processor, queue in self.queues.items():
            answered = (history[number].answered for number in reversed(queue))
            self.deadlines[processor] = list(accumulate(answered, min, initial=inf))[::-1]
        self.ready: dict[int | None, dict[int, None]] = defaultdict(dict)
        for processor in self.queues:
            self._announce(processor)

    def _next(self, processor: int) -> Access | None:
        queue, done = self.queues[processor], self.done[processor]
        return self.history[queue[done]] if done < len(queue) else None

    def _announce(self, processor: int) -> None:
        access = self._next(processor)
        if access is not None:
            self.ready[self._reply(access)][processor] = None

    def _withdraw(self, processor: int) -> None:
        access = self._next(processor)
        if access is not None:
            del self.ready[self._reply(access)][processor]

    @staticmethod
    def _reply(access: Access) -> int | None:
        return access.reply if access.operation.replies else None

    def advance(self, processor: int, by: int) -> None:
        """Perform the next access of a processor, or undo its last."""
        self._withdraw(processor)
        self.done[processor] += by
        self._announce(processor)

    def choices(self, value: int) -> Iterator[int]:
        """Processors whose next access may come now, the most promising first."""
        limit = min(
            (self.deadlines[processor][done] for processor, done in self.done.items()), default=inf
        )
        fitting, blind = (
            [
                (processor, access)
                for processor in self.ready[reply]
                if (access := self._next(processor)) is not None and access.sent <= limit
            ]
            for reply in (value, None)
        )
        for processor, access in (*fitting, *blind):
            if self._changes_nothing(access):
                # So it may as well come now as later.
                return iter((processor,))
        # What was answered first was probably performed first. Not known when: of those of which
        # nothing is known, first those that leave what somebody has seen.
        awaited = {reply for reply, waiting in self.ready.items() if waiting}
        choices = [(access.answered, 0, processor) for processor, access in fitting]
        for processor, access in blind:
            lost = self.result(processor, value) not in awaited
            choices.append((access.answered, 2 if lost else 1, processor))
        return iter([processor for _, _, processor in sorted(choices)])

    def _changes_nothing(self, access: Access) -> bool:
        """Whether it leaves the word as it is, whenever it is performed."""
        if access.operation.kind == "load":
            return True
        reply = self._reply(access)
        return reply is not None and reply == access.operation.perform(
            reply, access.operand, self.width
        )

    def result(self, processor: int, value: int) -> int:
        access = self._next(processor)
        assert access is not None
        return access.operation.perform(value, access.operand, self.width)

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

    What a history has seen, and when, nearly always leaves one choice or a few, so that the search
    takes about as many steps as there are accesses. In the worst case their number grows
    exponentially with that of the processors: long histories of narrow words need times.

    Parameters
    ----------
    history : Iterable[Access]
        Each processor's accesses in the order in which it sent them.
    width : int
        Of a word in bits.
    initial : int
        Value of the word before.
    final : int, optional
        And after; None if not known.
    limit : int
        States after which the search is given up.

    Raises
    ------
    Undecided
        If it was.

    Examples
    --------
    >>> from multicube.hdl.combining.operations import find_operation
    >>> add = find_operation("fetch-and-add")
    >>> history = [Access(0, add, 1, 5), Access(1, add, 5, 0)]
    >>> serial_order(history, width=8, final=6)
    [1, 0]
    >>> serial_order(history, width=8, final=7) is None
    True
    """
    search = _Search(list(history), width)
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
            search.advance(processor, -1)
            order.pop()
            continue
        number = search.queues[processor][search.done[processor]]
        after = search.result(processor, value)
        search.advance(processor, 1)
        state = search.state(after)
        if state in seen:
            search.advance(processor, -1)
            continue
        if len(seen) >= limit:
            raise Undecided(f"No serial order found in {limit} states")
        seen.add(state)
        trail.append((processor, value))
        order.append(number)
        value = after
        pending.append(search.choices(value))
