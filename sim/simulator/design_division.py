"""Divides a design into parts, connects them, and orders the computation of what they read."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from amaranth.hdl import Fragment, Signal

from ..engines.amaranth_internals import Design, SignalDict, memory_rows, without
from ..engines.compiled.compiled_errors import CombinationalLoop
from ..engines.compiled.emit_c import LANES
from .design_parts import DividedDesign, Output, Part, Place, Task
from .design_reading import Edge, PartLogic, read_logic
from .equal_modules import EqualModules, equal_modules

__all__ = ["read_design"]

_MOST_LEVELS = 100
"""With more levels of wires the design stays whole."""


def read_design(design: Design, runs: int = 1) -> DividedDesign:
    """Read a design that Amaranth has prepared.

    Equal submodules become lanes, unless that makes a combinational loop of wires, or a long chain.

    Raises
    ------
    UnsupportedConstruct, CombinationalLoop
    """
    groups = equal_modules(design)
    try:
        return _Division(design, groups, runs).design
    except CombinationalLoop:
        if not groups:
            raise
    return _Division(design, [], runs).design


class _Division:
    """Makes a divided design."""

    def __init__(self, design: Design, groups: Sequence[EqualModules], runs: int) -> None:
        self._signals = SignalDict()
        self._owners = SignalDict()
        for part, group in enumerate(groups, 1):
            for module, signals in enumerate(group.signals):
                for at in group.outputs:
                    self._owners[signals[at]] = (part, module, at)
        modules = [
            read_logic(group.fragments[0], [group.signals[0][at] for at in group.inputs])
            for group in groups
        ]
        rest = self._rest(design.fragment, groups)
        self.parts = [
            Part(rest, 1, runs),
            *(Part(each, len(group.fragments), runs) for each, group in zip(modules, groups)),
        ]
        self._shown: dict[tuple[int, int], int] = {}
        self._locate(groups)
        self.parts[0].contents = [[memory.init for memory in rest.module.memories]]
        self._memories = {
            data: (self.parts[0], 0, number) for data, number in rest.memory_numbers.items()
        }
        edges = dict.fromkeys(rest.edges)
        for made, group in zip(self.parts[1:], groups):
            self._connect(made, group)
            self._clock(made, group)
            self._fill(made, group)
            for some in (*made.register_edges, *made.write_edges):
                edges |= {edge: None for edge in some if not edge.net.is_const}
        self.parts[0].drivers = [[self._output(signal)] for signal in self._read_by_rest]
        self._lay_out()
        self.design = DividedDesign(
            self.parts, list(self._tasks()), list(edges), self._signals, self._memories, runs
        )

    def _rest(self, top: Fragment, groups: Sequence[EqualModules]) -> PartLogic:
        if not groups:
            self._read_by_rest: list[Signal] = []
            return read_logic(top)
        removed = {each for group in groups for each in group.fragments}
        shown = SignalDict()
        for group in groups:
            for signals in group.signals:
                for at in group.inputs:
                    if signals[at] not in self._owners:
                        shown[signals[at]] = None
        self._read_by_rest = [signal for signal in self._owners if len(signal)]
        return read_logic(without(top, removed), self._read_by_rest, list(shown))

    def _locate(self, groups: Sequence[EqualModules]) -> None:
        """Note where each signal is."""
        for signal, nets in self.parts[0].logic.signals.items():
            self._signals[signal] = Place(self.parts[0], 0, nets)
        for part, group in zip(self.parts[1:], groups):
            inputs = set(group.inputs)
            nets_of = [part.logic.signals.get(signal) for signal in group.signals[0]]
            for module, signals in enumerate(group.signals):
                for at, (signal, nets) in enumerate(zip(signals, nets_of)):
                    if at not in inputs and nets is not None:
                        self._signals[signal] = Place(part, module, nets)

    def _output(self, signal: Signal) -> Output:
        """The output that a signal is, made if it is new."""
        if signal in self._owners:
            number, module, at = self._owners[signal]
            key = (number, at)
        else:
            number, module, key = 0, 0, (0, id(signal))
        if key not in self._shown:
            place = self._signals[signal]
            self._shown[key] = place.part.add_output(place.nets)
        return Output(number, self._shown[key], module)

    def _connect(self, part: Part, group: EqualModules) -> None:
        part.drivers = [
            [self._output(signals[at]) for signals in group.signals] for at in group.inputs
        ]

    def _clock(self, part: Part, group: EqualModules) -> None:
        """Name the edges for which a part waits as those of the rest."""

        def outside(edge: Edge) -> Edge:
            number, bit = part.logic.input(edge.net)
            signal = group.signals[0][group.inputs[number]]
            return Edge(self._signals[signal].nets[bit], edge.level)

        def named(edges: frozenset[Edge]) -> frozenset[Edge]:
            return frozenset(outside(edge) for edge in edges)

        part.register_edges = [named(edges) for edges in part.register_edges]
        part.write_edges = [[outside(edge) for edge in edges] for edges in part.write_edges]

    def _fill(self, part: Part, group: EqualModules) -> None:
        """Note the memories of a part, and what they hold at first."""
        numbers = [part.logic.memory_numbers[data] for data in group.memories[0]]
        for module, memories in enumerate(group.memories):
            found = dict(zip(numbers, memories))
            part.contents.append([memory_rows(found[number]) for number in sorted(found)])
            self._memories |= {data: (part, module, number) for number, data in found.items()}

    def _lay_out(self) -> None:
        registers = wires = 0
        for part in self.parts:
            part.first_register, part.first_wire = registers, wires
            registers += _whole(part.cells * len(part.logic.module.registers))
            wires += _whole(part.cells * part.output_words)

    def _tasks(self) -> Iterator[Task]:
        """Order the outputs: each after those on which it depends."""
        sorter: TopologicalSorter[tuple[int, int, int]] = TopologicalSorter()
        for number, part in enumerate(self.parts):
            for output in range(len(part.outputs)):
                depends = part.depends(output)
                for module in range(part.count):
                    before = [part.drivers[each][module] for each in depends]
                    sorter.add((number, output, module), *before)
        try:
            sorter.prepare()
        except CycleError:
            raise CombinationalLoop("Equal submodules depend on each other") from None
        levels = 0
        while sorter.is_active():
            ready = sorter.get_ready()
            sorter.done(*ready)
            levels += 1
            if levels > _MOST_LEVELS and len(self.parts) > 1:
                raise CombinationalLoop("Equal submodules are a long chain")
            yield from self._level(ready)

    def _level(self, ready: Sequence[tuple[int, int, int]]) -> Iterator[Task]:
        """The tasks of outputs that need not wait for each other, for whole vectors of cells."""
        wanted: dict[tuple[int, int], set[int]] = defaultdict(set)
        for number, output, module in ready:
            part = self.parts[number]
            for run in range(part.runs):
                wanted[number, part.cell(module, run) // part.lanes].add(output)
        last: Task | None = None
        for number, vector in sorted(wanted):
            outputs, lanes = tuple(sorted(wanted[number, vector])), self.parts[number].lanes
            task = Task(number, outputs, vector * lanes, (vector + 1) * lanes)
            if last and last[:2] == task[:2] and last.end == task.begin:
                last = last._replace(end=task.end)
            else:
                if last:
                    yield last
                last = task
        if last:
            yield last


def _whole(words: int) -> int:
    return -(-words // LANES) * LANES
