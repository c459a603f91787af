# amaranth: UnusedElaboratable=no
"""Operations of processors on a memory word, and the pairs of requests that can be combined.

Every operation is a map of the word. With operand e it replaces the value x by `function(x, e)` in
one indivisible step, and its reply is the old value x. All functions here are *associative*, and
combining needs nothing more (C. P. Kruskal, L. Rudolph and M. Snir, "Efficient synchronization on
multiprocessors with shared memory", ACM TOPLAS 10, 1988). Let a request f(e1) meet a later one
g(e2) for the same word. Both are replaced by one request with the same effect on the word as f
followed by g:

- f twice: f with the operand f(e1, e2), since f(f(x, e1), e2) = f(x, f(e1, e2));
- a load and g: g with the operand e2; f and a load: f with the operand e1;
- f and a store: a store of e2, whatever f is; a store and g: a store of g(e1, e2).

If the reply to the combined request is y, the reply to f(e1) is y, and the reply to g(e2) is
f(y, e1). So a box must remember f and e1, and nothing else of the operations. The order in which
requests meet is the serial order in which the memory appears to have performed them.

Another operation needs only a name and its function:

>>> from multicube.hdl.operations.memory import OPERATIONS, Operation, Rules
>>> xor = Operation("fetch-and-xor", lambda x, e: x ^ e)
>>> rules = Rules((*OPERATIONS, xor), "all")
>>> rules.combined(xor, xor).name
'fetch-and-xor'
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from amaranth.hdl import Module, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer, check_word, nearest
from ..fabric.errors import InvalidType, InvalidValue

__all__ = [
    "LOAD",
    "OPERATIONS",
    "OPERATION_SETS",
    "POLICIES",
    "Combiner",
    "Operation",
    "OperationUnit",
    "Policy",
    "Rules",
    "find_operation",
    "operation_bits",
    "parts_per_row",
    "words_per_row",
]

_SIZES = (0.25, 0.5, 1, 2)


@dataclass(frozen=True)
class Operation:
    """An operation on a word of memory. Words are signed, in two's complement.

    Attributes
    ----------
    name : str
        Its name in results and in the command, such as "fetch-and-add".
    function : Callable[[int, int], int]
        The new value, from the old one and the operand; associative. Its result is truncated to the
        width of a word.
    hardware : Callable[[Value, Value], Value], optional
        The same for signed Amaranth values. By default `function`, which works if it uses only
        operators that integers and Amaranth values share. Ignored if `ones` is given.
    kind : "update", "load" or "store"
        Whether the new value depends on both, on the old value only (the word is not changed), or
        on the operand only.
    fetching : str
        For an operation whose reply carries no value, such as a store: the name of the operation
        with the same function whose reply carries one. Empty if its own reply does.
    ones : Callable[[Value, Value], tuple[ValueLike, ValueLike]], optional
        For an operation that keeps each bit in which word and operand agree: whether the new value
        is 1 where only the word has a 1, and where only the operand has a 1. These operations share
        their hardware, one look-up table per bit.
    size : float
        Words that it reads and writes: 1; 2, for a double word; or 0.5 or 0.25, for a half-word or
        a byte (a quarter of a word). A double word is two words from an even one on.

    Raises
    ------
    ValueError
        If there is no such size or kind.
    """

    name: str
    function: Callable[[int, int], int]
    hardware: Callable[[Value, Value], Value] | None = None
    kind: Literal["update", "load", "store"] = "update"
    fetching: str = ""
    ones: Callable[[Value, Value], tuple[ValueLike, ValueLike]] | None = None
    size: float = 1

    def __post_init__(self) -> None:
        if self.size not in _SIZES:
            raise InvalidValue(f"Size must be 0.25, 0.5, 1 or 2 words, not {self.size!r}")
        check_word("Kind", self.kind, ("update", "load", "store"))

    @property
    def replies(self) -> bool:
        """Whether the reply carries the old value."""
        return not self.fetching

    def perform(self, value: int, operand: int, width: int) -> int:
        """The new value of a word of this width, or of the part that the operation changes.

        All arguments are integers from 0 to 2^width - 1.
        """
        result = self.function(_signed(value, width), _signed(operand, width))
        return result & ((1 << width) - 1)

    def build(self, value: Value, operand: Value) -> Value:
        """The new value of a word, in hardware."""
        chosen = self.choose(value, operand)
        if chosen is not None:
            return select_ones(value, operand, *chosen)
        build = self.hardware or self.function
        return build(value.as_signed(), operand.as_signed())

    def choose(self, value: Value, operand: Value) -> tuple[ValueLike, ValueLike] | None:
        """The result of `ones`, or None."""
        return self.ones and self.ones(value.as_signed(), operand.as_signed())

    def __repr__(self) -> str:
        return f"<Operation {self.name}>"


def select_ones(value: Value, operand: Value, of_value: Value, of_operand: Value) -> Value:
    """The ones that value and operand share, and those that only one has if it is selected."""
    width = len(value)
    return (
        (value & operand)
        | (value & Value.cast(of_value)[0].replicate(width))
        | (operand & Value.cast(of_operand)[0].replicate(width))
    )


def _signed(value: int, width: int) -> int:
    return value - (value >> (width - 1) << width)


def _second(_: Any, operand: Any) -> Any:
    return operand


def _ones_of_second(_: object, __: object) -> tuple[int, int]:
    return 0, 1


LOAD = Operation("load", lambda x, e: x, kind="load")

OPERATIONS: tuple[Operation, ...] = (
    LOAD,
    Operation("store", _second, None, "store", "fetch-and-store", _ones_of_second),
    Operation("fetch-and-store", _second, None, "store", "", _ones_of_second),
    Operation("fetch-and-add", lambda x, e: x + e),
    Operation("fetch-and-min", min, ones=lambda x, e: (x < e, ~(x < e))),
    Operation("fetch-and-max", max, ones=lambda x, e: (~(x < e), x < e)),
    Operation("fetch-and-or", lambda x, e: x | e, ones=lambda x, e: (1, 1)),
    Operation("fetch-and-and", lambda x, e: x & e, ones=lambda x, e: (0, 0)),
    Operation(
        "fetch-and-store-if-zero", lambda x, e: x or e, ones=lambda x, e: (x != 0, ~(x != 0))
    ),
    Operation(
        "fetch-and-store-if-nonnegative",
        lambda x, e: e if x >= 0 else x,
        ones=lambda x, e: (x[-1], ~x[-1]),
    ),
)
"""The operations of RP3 and of the Ultracomputer on words (Siegel et al., VII-E and F)."""

_DOUBLE: tuple[Operation, ...] = (
    Operation("load-double", lambda x, e: x, kind="load", size=2),
    Operation(
        "store-double", _second, None, "store", "fetch-and-store-double", _ones_of_second, size=2
    ),
)
_PARTIAL: tuple[Operation, ...] = tuple(
    Operation(
        f"store-{part}", _second, None, "store", f"fetch-and-store-{part}", _ones_of_second, size
    )
    for part, size in (("half", 0.5), ("byte", 0.25))
)

_ONLY_RP3 = {"fetch-and-min", "fetch-and-max"}
_ONLY_ULTRACOMPUTER = {"fetch-and-store-if-nonnegative"}
_ULTRACOMPUTER = tuple(op for op in OPERATIONS if op.name not in _ONLY_RP3)

OPERATION_SETS: dict[str, tuple[Operation, ...]] = {
    "all": OPERATIONS,
    "rp3": tuple(op for op in OPERATIONS if op.name not in _ONLY_ULTRACOMPUTER),
    "ultracomputer": _ULTRACOMPUTER,
    "ultracomputer-sizes": (*_ULTRACOMPUTER, *_DOUBLE, *_PARTIAL),
}
"""The operations that the boxes and memories of each machine implement.

`ultracomputer` has those on words, `ultracomputer-sizes` also loads and stores of double words, and
stores of half-words and bytes.
"""


def words_per_row(operations: tuple[Operation, ...]) -> int:
    """Words in a row of memory: two if there are operations on double words."""
    return max(1, *(int(operation.size) for operation in operations))


def parts_per_row(operations: tuple[Operation, ...]) -> int:
    """How many parts of a row have addresses: as many as the smallest operation makes of it."""
    return int(words_per_row(operations) / min(operation.size for operation in operations))


def operation_bits(operation: Operation, operations: tuple[Operation, ...], width: int) -> int:
    """Bits that an operation reads and writes in a row of this width.

    Raises
    ------
    ValueError
        If they are not a whole number.
    """
    parts = words_per_row(operations) / operation.size
    if width % parts:
        raise InvalidValue(
            f"Width of a row must be a multiple of {parts:g} for {operation.name}, not {width}"
        )
    return int(width // parts)


def find_operation(name: str, operations: tuple[Operation, ...] = OPERATIONS) -> Operation:
    """The operation of this name.

    Raises
    ------
    ValueError
        If there is no such operation.
    """
    for operation in operations:
        if operation.name == name:
            return operation
    names = [operation.name for operation in operations]
    raise InvalidValue(
        f"Operation must be one of {', '.join(names)}, not {name!r}{nearest(name, names)}"
    )


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
        return first in _ULTRACOMPUTER or first in _DOUBLE
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

    def second_reply(self, first: Operation, first_operand: int, reply: int, width: int) -> int:
        """The reply to the second request, from the reply to the combined one."""
        return first.perform(reply, first_operand, width)

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


def check_operations(operations: object) -> None:
    """Check a tuple of operations."""
    if not isinstance(operations, tuple) or not all(
        isinstance(operation, Operation) for operation in operations
    ):
        raise InvalidType(f"Operations must be a tuple of operations, not {operations!r}")
    names = [operation.name for operation in operations]
    if not names:
        raise InvalidValue("At least one operation is needed")
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue(f"Operations must have distinct names, not {name!r} twice")


class OperationUnit(wiring.Component):
    """Performs an operation on a value. Combinational.

    An operation on less than a row takes the lowest bits of `x` and `operand`, and its result is in
    the lowest bits of `result`; the others have no meaning.

    Parameters
    ----------
    operations : tuple[Operation, ...]
    width : int
        Width of a row in bits, at least 1: of a word, or of a double word if there are operations
        on these.
    used : frozenset[Operation], optional
        Those that can occur; the result for others is undefined. All by default.

    Members
    -------
    operation : In(range(len(operations)))
    x, operand : In(width)
    result : Out(width)
    """

    def __init__(
        self,
        operations: tuple[Operation, ...],
        width: int,
        *,
        used: frozenset[Operation] | None = None,
    ) -> None:
        check_operations(operations)
        width = check_integer("Width", width, 1)
        self.operations = operations
        self.width = width
        self.used = frozenset(operations) if used is None else used
        super().__init__(
            {
                "operation": In(range(len(operations))),
                "x": In(width),
                "operand": In(width),
                "result": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        of_x, of_operand = Signal(init=1), Signal()
        x, operand = self._extended(m)
        m.d.comb += self.result.eq(select_ones(x, operand, of_x, of_operand))
        groups: dict[Callable, list[int]] = {}
        for code, operation in enumerate(self.operations):
            if operation in self.used and operation.kind != "load":
                groups.setdefault(operation.function, []).append(code)
        with m.Switch(self.operation):
            for codes in groups.values():
                with m.Case(*codes):
                    operation = self.operations[codes[0]]
                    chosen = operation.choose(x, operand)
                    if chosen is None:
                        m.d.comb += self.result.eq(operation.build(x, operand))
                    else:
                        m.d.comb += [of_x.eq(chosen[0]), of_operand.eq(chosen[1])]
        return m

    def _extended(self, m: Module) -> tuple[Signal, Signal]:
        """The inputs, with the sign of the part that the operation takes in all bits above it."""
        smaller: dict[int, list[int]] = {}
        for code, operation in enumerate(self.operations):
            bits = operation_bits(operation, self.operations, self.width)
            if bits < self.width:
                smaller.setdefault(bits, []).append(code)
        if not smaller:
            return self.x, self.operand
        x, operand = (Signal(self.width, name=f"extended_{name}") for name in ("x", "operand"))
        m.d.comb += [x.eq(self.x), operand.eq(self.operand)]
        with m.Switch(self.operation):
            for bits, codes in smaller.items():
                with m.Case(*codes):
                    m.d.comb += [
                        x.eq(self.x[:bits].as_signed()),
                        operand.eq(self.operand[:bits].as_signed()),
                    ]
        return x, operand


class Combiner(wiring.Component):
    """Combines two requests into one. Combinational.

    Parameters
    ----------
    rules : Rules
    width : int
        Width of a word in bits, at least 1.

    Members
    -------
    first, second : In(range(len(operations)))
    first_operand, second_operand : In(width)
    possible : Out(1)
    operation : Out(range(len(operations)))
    operand : Out(width)
        The combined request, valid if `possible` is 1.
    """

    def __init__(self, rules: Rules, width: int) -> None:
        width = check_integer("Width", width, 1)
        self.rules = rules
        self.width = width
        code = range(len(rules.operations))
        super().__init__(
            {
                "first": In(code),
                "second": In(code),
                "first_operand": In(width),
                "second_operand": In(width),
                "possible": Out(1),
                "operation": Out(code),
                "operand": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rules, codes = self.rules, self.rules.codes
        table: dict[Operation, dict[Operation, list[int]]] = {}
        for first, second, result in rules.pairs():
            table.setdefault(first, {}).setdefault(result, []).append(codes[second])
        with m.Switch(self.first):
            for first, results in table.items():
                with m.Case(codes[first]), m.Switch(self.second):
                    for result, seconds in results.items():
                        with m.Case(*seconds):
                            m.d.comb += [self.possible.eq(1), self.operation.eq(codes[result])]
        pairs = list(rules.pairs())
        used = {second for first, second, _ in pairs if first.kind != "load"}
        largest = max(operation.size for operation in rules.operations)
        stores = [
            operation
            for operation in rules.operations
            if operation.function is _second and operation.size == largest
        ]
        unit = OperationUnit(rules.operations, self.width, used=frozenset(used.union(stores[:1])))
        m.submodules.unit = unit
        first_loads = Signal()
        loads = [codes[first] for first, _, _ in pairs if first.kind == "load"]
        m.d.comb += [
            unit.operation.eq(self.second),
            unit.x.eq(self.first_operand),
            unit.operand.eq(self.second_operand),
            first_loads.eq(self.first.matches(*loads) if loads else 0),
            self.operand.eq(unit.result),
        ]
        # After a load, the second operand passes unchanged, as if it were stored.
        with m.If(first_loads):
            if stores:
                m.d.comb += unit.operation.eq(codes[stores[0]])
            else:
                m.d.comb += self.operand.eq(self.second_operand)
        return m
