"""Finds equal submodules of a design: those that one compiled module can simulate as its lanes.

Two submodules are equal if they have the same statements, memories and submodules, and their
signals are the same ones at the same places. What the rows of memories hold at first may differ.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from amaranth.hdl import ClockDomain, Fragment, Shape, Signal

from ...hdl.fabric.digest import digest
from ..engines.amaranth_internals import Design, MemoryData, MemoryInstance, RequirePosedge, ast

__all__ = ["FEWEST", "WORTH", "EqualModules", "equal_modules"]

FEWEST = 4
"""Equal submodules that are worth lanes, ..."""

WORTH = 2000
"""... if their texts together have so many words: operators, signals and constants."""


class _Incomparable(Exception):
    """It has an assertion, a print, or what is no logic."""


class _Contents:
    """What one fragment has, without its subfragments.

    Attributes
    ----------
    words : list
        Its text. A signal is a number, by its first appearance.
    signals : list[Signal]
        By this number.
    driven, read, clocks : set[int]
        Identities of the signals that it drives, that have a place in its statements, and that
        are clocks or asynchronous resets of what it drives.
    comparable : bool
    """

    def __init__(self, fragment: Fragment) -> None:
        self.words: list[object] = []
        self.signals: list[Signal] = []
        self.driven: set[int] = set()
        self.read: set[int] = set()
        self.clocks: set[int] = set()
        self.memory: MemoryData | None = None
        self._numbers: dict[int, int] = {}
        self.comparable = True
        try:
            self._fragment(fragment)
        except _Incomparable:
            self.comparable = False

    def _fragment(self, fragment: Fragment) -> None:
        if isinstance(fragment, MemoryInstance):
            self._memory(fragment)
        elif type(fragment) is not Fragment and not isinstance(fragment, RequirePosedge):
            raise _Incomparable
        for domain, statements in fragment.statements.items():
            self.words.append("domain")
            if domain != "comb":
                self._domain(fragment.domains[domain])
            for statement in statements:
                self.driven |= {id(each) for each in statement._lhs_signals()}
            self._statements(statements)

    def _memory(self, fragment: MemoryInstance) -> None:
        self.memory = fragment._data
        shape = Shape.cast(self.memory.shape)
        self.words += ["memory", shape.width, shape.signed, self.memory.depth]
        for port in (*fragment._read_ports, *fragment._write_ports):
            read = port in fragment._read_ports
            self.words += ["port", read, *(port._transparent_for if read else ())]
            if port._domain != "comb":
                self._domain(fragment.domains[port._domain])
            for value in (port._addr, port._data, port._en):
                self._value(value)
            if read:
                self.driven |= {id(each) for each in port._data._lhs_signals()}

    def _domain(self, domain: ClockDomain) -> None:
        self.words += ["clock", domain.clk_edge, domain.async_reset, self._number(domain.clk)]
        self.clocks.add(id(domain.clk))
        if domain.rst is not None:
            self.words.append(self._number(domain.rst))
            (self.clocks if domain.async_reset else self.read).add(id(domain.rst))

    def _number(self, signal: Signal) -> int:
        number = self._numbers.get(id(signal))
        if number is None:
            number = self._numbers[id(signal)] = len(self.signals)
            self.signals.append(signal)
            shape = signal.shape()
            self.words += ["new", shape.width, shape.signed, signal.init, signal.reset_less]
        return number

    def _statements(self, statements: list[ast.Statement]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign():
                    self.words.append("=")
                    self._value(statement.lhs)
                    self._value(statement.rhs)
                case ast.Switch():
                    self.words.append("switch")
                    self._value(statement.test)
                    for patterns, inner, *_ in statement.cases:
                        self.words += ["case", patterns]
                        self._statements(inner)
                    self.words.append("end")
                case _:
                    raise _Incomparable

    def _value(self, value: ast.Value) -> None:
        match value:
            case ast.Signal():
                self.words.append(self._number(value))
                self.read.add(id(value))
            case ast.Const():
                self.words += ["const", value.value, repr(value.shape())]
            case ast.Operator():
                self.words += [value.operator, len(value.operands)]
                for each in value.operands:
                    self._value(each)
            case ast.Slice():
                self.words += ["slice", value.start, value.stop]
                self._value(value.value)
            case ast.Part():
                self.words += ["part", value.width, value.stride]
                self._value(value.value)
                self._value(value.offset)
            case ast.Concat():
                self.words += ["cat", len(value.parts)]
                for each in value.parts:
                    self._value(each)
            case ast.SwitchValue():
                self.words += ["choice", len(value.cases)]
                self._value(value.test)
                for patterns, each in value.cases:
                    self.words.append(patterns)
                    self._value(each)
            case _:
                raise _Incomparable


class _Subtree:
    """A fragment with all below it.

    Attributes
    ----------
    key : str
        The same for equal ones; but it does not say which signals several fragments share.
    size : int
        Words of the text.
    comparable : bool
    """

    def __init__(self, fragment: Fragment) -> None:
        self.fragment = fragment
        self.contents = _Contents(fragment)
        self.inner: list[_Subtree] = [_Subtree(each) for each, *_ in fragment.subfragments]
        self.size: int = len(self.contents.words) + sum(each.size for each in self.inner)
        self.comparable: bool = self.contents.comparable and all(
            each.comparable for each in self.inner
        )
        self.key: str = digest(repr(self.contents.words), [each.key for each in self.inner])

    def each(self) -> Iterator[_Contents]:
        """What each fragment has."""
        yield self.contents
        for inner in self.inner:
            yield from inner.each()

    @cached_property
    def signals(self) -> tuple[dict[int, Signal], tuple[int, ...]]:
        """Its signals by their identities, and the numbers of those of all fragments in turn."""
        known: dict[int, Signal] = {}
        numbers: dict[int, int] = {}
        places = []
        for contents in self.each():
            for signal in contents.signals:
                known[id(signal)] = signal
                places.append(numbers.setdefault(id(signal), len(numbers)))
        return known, tuple(places)

    def union(self, what: str) -> set[int]:
        """The signals that some of the fragments drive, read or have as a clock."""
        return set().union(*(getattr(each, what) for each in self.each()))


@dataclass
class EqualModules:
    """Submodules that are equal.

    Attributes
    ----------
    fragments : list[Fragment]
    signals : list[list[Signal]]
        Those of each submodule, in the same order.
    memories : list[list[MemoryData]]
    inputs : list[int]
        Which signals come from elsewhere.
    outputs : list[int]
        Which ones are driven here and used elsewhere.
    """

    fragments: list[Fragment]
    signals: list[list[Signal]]
    memories: list[list[MemoryData]]
    inputs: list[int]
    outputs: list[int]


def equal_modules(design: Design) -> list[EqualModules]:
    """The largest equal submodules of a design that are worth lanes.

    A submodule is no lane if it has assertions, prints or instances of foreign modules, makes a
    clock or an asynchronous reset, computes with a clock, or drives only some bits of a signal.
    The clocks of equal ones are the same signals.
    """
    top = _Subtree(design.fragment)
    return _Search(top).found()


def _is_worth(count: int, size: int) -> bool:
    return count >= FEWEST and count * size >= WORTH


class _Search:
    def __init__(self, top: _Subtree) -> None:
        self._top = top
        self._uses: Counter[int] = Counter()
        self._drivers: Counter[int] = Counter()
        for contents in top.each():
            self._uses.update(map(id, contents.signals))
            self._drivers.update(contents.driven)
        self._clocks = top.union("clocks")
        self._counts: Counter[str] = Counter()
        self._count(top)

    def _count(self, tree: _Subtree) -> None:
        self._counts[tree.key] += 1
        for inner in tree.inner:
            self._count(inner)

    def found(self) -> list[EqualModules]:
        groups: dict[object, list[_Subtree]] = defaultdict(list)
        self._visit(self._top, groups)
        return [
            self._modules(each) for each in groups.values() if _is_worth(len(each), each[0].size)
        ]

    def _visit(self, tree: _Subtree, groups: dict[object, list[_Subtree]]) -> None:
        for inner in tree.inner:
            if _is_worth(self._counts[inner.key], inner.size) and self._is_lane(inner):
                known, places = inner.signals
                same = tuple((at, each) for at, each in enumerate(known) if each in self._clocks)
                groups[inner.key, places, same].append(inner)
            else:
                self._visit(inner, groups)

    def _is_lane(self, tree: _Subtree) -> bool:
        if not tree.comparable or type(tree.fragment) is not Fragment:
            return False
        driven, read = tree.union("driven"), tree.union("read")
        inside = Counter(each for contents in tree.each() for each in contents.driven)
        return not (driven | read) & self._clocks and all(
            self._drivers[each] == count for each, count in inside.items()
        )

    def _modules(self, trees: list[_Subtree]) -> EqualModules:
        signals = [list(tree.signals[0].values()) for tree in trees]
        driven = [tree.union("driven") for tree in trees]
        shared: set[int] = set()
        for tree, known in zip(trees, signals):
            inside = Counter(id(each) for contents in tree.each() for each in contents.signals)
            for at, signal in enumerate(known):
                elsewhere = self._uses[id(signal)] > inside[id(signal)]
                if elsewhere or id(signal) in self._clocks:
                    shared.add(at)
        first = [id(each) in driven[0] for each in signals[0]]
        return EqualModules(
            [tree.fragment for tree in trees],
            signals,
            [[each.memory for each in tree.each() if each.memory] for tree in trees],
            inputs=[at for at in sorted(shared) if not first[at]],
            outputs=[at for at in sorted(shared) if first[at]],
        )
