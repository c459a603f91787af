# amaranth: UnusedElaboratable=no
"""Which requests for a memory word can be combined into one, and what replaces them.

All functions of operations are *associative*, and combining needs nothing more (C. P. Kruskal,
L. Rudolph and M. Snir, "Efficient synchronization on multiprocessors with shared memory", ACM
TOPLAS 10, 1988). Let a request f(e1) meet a later one g(e2) for the same word. Both are replaced by
one request with the same effect on the word as f followed by g:

- f twice: f with the operand f(e1, e2), since f(f(x, e1), e2) = f(x, f(e1, e2));
- a load and g: g with the operand e2; f and a load: f with the operand e1;
- f and a store: a store of e2, whatever f is; a store and g: a store of g(e1, e2).

If the reply to the combined request is y, the reply to f(e1) is y, and the reply to g(e2) is
f(y, e1). So a box must remember f and e1, and nothing else of the operations. The order in which
requests meet is the serial order in which the memory appears to have performed them.

>>> from multicube.hdl.operations.combining_rules import Rules
>>> from multicube.hdl.operations.memory import OPERATIONS, Operation
>>> xor = Operation("fetch-and-xor", lambda x, e: x ^ e)
>>> rules = Rules((*OPERATIONS, xor), "all")
>>> rules.combined(xor, xor).name
'fetch-and-xor'
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..fabric.checks import check_word
from .memory import DOUBLE, OPERATION_SETS, OPERATIONS, Operation, check_operations

__all__ = ["POLICIES", "Policy", "Rules"]


@dataclass(frozen=True)
class Policy:
    """Which of the pairs of operations that can be combined a box does combine.

    Attributes
    ----------
    name : str
    allows : Callable[[Operation, Operation], bool]
    """

    name: str
    allows: Callable[[Operation, Operation], bool]

    def __repr__(self) -> str:
        return f"<Policy {self.name}>"


def _rp3(first: Operation, second: Operation) -> bool:
    return first == second or {first.name, second.name} == {"load", "fetch-and-add"}


_SIMPLE = {"load", "store", "fetch-and-store", "fetch-and-add"}


def _ultracomputer(first: Operation, second: Operation) -> bool:
    if first == second:
        return first in OPERATION_SETS["ultracomputer"] or first in DOUBLE
    return {first.name, second.name} <= _SIMPLE


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("none", lambda first, second: False),
        Policy("rp3", _rp3),
        Policy("ultracomputer", _ultracomputer),
        Policy("all", lambda first, second: True),
    )
}
"""`none`; `rp3`: equal operations, and loads with fetch-and-adds (a load is a fetch-and-add of 0);
`ultracomputer`: equal operations of those that this machine combines, and any two of load, store,
fetch-and-store and fetch-and-add; `all`: every pair that can be combined."""


class Rules:
    """How a box combines each pair of operations.

    Parameters
    ----------
    operations : tuple[Operation, ...]
        The position of an operation is its code in requests.
    policy : str or Policy
        A name must be one of `POLICIES`.

    Attributes
    ----------
    operations, policy
        The arguments; `policy` is always a `Policy`.

    Raises
    ------
    TypeError, ValueError
        If `operations` is not a tuple of operations with distinct names, or no such policy exists.
    """

    def __init__(
        self, operations: tuple[Operation, ...] = OPERATIONS, policy: str | Policy = "all"
    ) -> None:
        check_operations(operations)
        if not isinstance(policy, Policy):
            check_word("Policy", policy, POLICIES)
            policy = POLICIES[policy]
        self.operations = operations
        self.policy = policy

    def combined(self, first: Operation, second: Operation) -> Operation | None:
        """The operation that replaces two, or None if they can't be combined."""
        if first.size != second.size or not self.policy.allows(first, second):
            return None
        if first.kind == "load":
            result = second
        elif second.kind == "load" or first.function is second.function or first.kind == "store":
            result = first
        elif second.kind == "store":
            result = second
        else:
            return None
        needs_reply = first.replies or (second.replies and first.kind != "store")
        if needs_reply and not result.replies:
            fetching = [other for other in self.operations if other.name == result.fetching]
            return fetching[0] if fetching else None
        return result

    def operand(
        self, first: Operation, first_operand: int, second: Operation, operand: int, width: int
    ) -> int:
        """The operand of the combined operation."""
        if first.kind == "load":
            return operand
        return second.perform(first_operand, operand, width)

    def pairs(self) -> Iterator[tuple[Operation, Operation, Operation]]:
        """All pairs that can be combined, with the resulting operation."""
        for first in self.operations:
            for second in self.operations:
                result = self.combined(first, second)
                if result is not None:
                    yield first, second, result

    @property
    def combines(self) -> bool:
        """Whether any two requests combine."""
        return any(True for _ in self.pairs())

    @cached_property
    def codes(self) -> dict[Operation, int]:
        """The code of each operation."""
        return {operation: code for code, operation in enumerate(self.operations)}
