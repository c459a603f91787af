# amaranth: UnusedElaboratable=no
"""Hardware that performs operations on a memory word, and that combines two requests into one."""

from collections.abc import Callable

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from .combining_rules import Rules
from .memory import Operation, check_operations, operation_bits, overwritten, select_ones

__all__ = ["Combiner", "OperationUnit"]


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
        of_x = Signal(init=1)
        of_operand = Signal()
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
            if operation.function is overwritten and operation.size == largest
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
