"""All that the library uses of Amaranth's private interfaces, which its next version may change.

No other module imports them (`tests/test_amaranth_versions.py`). Where versions differ, what is
offered here is that of Amaranth 0.5.
"""

from collections.abc import Container, Iterable, Sequence
from itertools import chain
from typing import Any

from amaranth.hdl import Fragment, Signal, Value
from amaranth.hdl import _ast as ast
from amaranth.hdl import _nir as nir
from amaranth.hdl._ast import SignalDict
from amaranth.hdl._ir import Design, NetlistDriver, NetlistEmitter, PortDirection, RequirePosedge
from amaranth.hdl._mem import MemoryData, MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim._async import (
    AsyncProcess,
    ChangedTrigger,
    DomainReset,
    EdgeTrigger,
    ProcessContext,
    SampleTrigger,
    TestbenchContext,
    TickTrigger,
)
from amaranth.sim._base import BaseProcess
from amaranth.sim._pyrtl import pin_blame, value_to_string
from amaranth.sim.pysim import (
    PySimEngine,
    _PyEngineState,
    _PyMemoryState,
    _PySignalState,
    _PyTriggerState,
    _VCDWriter,
)

__all__ = [
    "AsyncProcess",
    "BaseProcess",
    "ChangedTrigger",
    "Design",
    "DomainReset",
    "EdgeTrigger",
    "Matches",
    "MemoryData",
    "MemoryInstance",
    "MemoryState",
    "PriorityMatch",
    "ProcessContext",
    "PySimEngine",
    "RequirePosedge",
    "SampleTrigger",
    "SignalDict",
    "SignalState",
    "SimulationState",
    "TestbenchContext",
    "TickTrigger",
    "TriggerState",
    "VcdWriter",
    "ast",
    "combinational_signals",
    "component_design",
    "femtoseconds",
    "free_design",
    "free_netlist",
    "memories",
    "memory_rows",
    "nir",
    "pin_blame",
    "ports_netlist",
    "read_resets",
    "read_signals",
    "value_to_string",
    "without",
]

SignalState, MemoryState, SimulationState = _PySignalState, _PyMemoryState, _PyEngineState
TriggerState, VcdWriter = _PyTriggerState, _VCDWriter


class _Matches(nir.Cell):
    """Whether a value is one of some patterns, as a cell of Amaranth 0.5."""

    def __init__(self, module: int, value: nir.Value, patterns: Sequence[str], place: Any) -> None:
        super().__init__(module, src_loc=place)
        self.value, self.patterns = value, patterns

    def output_nets(self, self_idx: int) -> set[nir.Net]:
        return {nir.Net.from_cell(self_idx, 0)}


class _PriorityMatch(nir.Cell):
    """The first of some bits that is 1, as a cell of Amaranth 0.5."""

    def __init__(self, module: int, en: nir.Net, inputs: nir.Value, place: Any) -> None:
        super().__init__(module, src_loc=place)
        self.en, self.inputs = en, inputs

    def output_nets(self, self_idx: int) -> set[nir.Net]:
        return {nir.Net.from_cell(self_idx, bit) for bit in range(len(self.inputs))}


_one_cell = hasattr(nir, "Match")
"""Whether a choice is a single cell, as after 0.5."""

Matches, PriorityMatch = (
    (_Matches, _PriorityMatch) if _one_cell else (nir.Matches, nir.PriorityMatch)
)


def _two_cells(netlist: nir.Netlist) -> nir.Netlist:
    """The netlist with two cells for each choice: the comparisons, and the first that holds."""
    for index, cell in enumerate(netlist.cells if _one_cell else ()):
        if isinstance(cell, nir.Match):
            nets = []
            for patterns in cell.patterns:
                nets.append(nir.Net.from_cell(len(netlist.cells), 0))
                made = _Matches(cell.module_idx, cell.value, patterns, cell.src_loc)
                netlist.cells.append(made)
            netlist.cells[index] = _PriorityMatch(
                cell.module_idx, cell.en, nir.Value(nets), cell.src_loc
            )
    return netlist


_MOST_BITS = 2**16
"""Width of the widest value, as in Amaranth's simulator."""


class _Emitter(NetlistEmitter):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._computed: dict[tuple[Any, ...], nir.Value] = {}

    def emit_rhs(self, module_idx: int, value: Value) -> Any:
        # A shift to the left is the one operator whose result may be much wider than its operands.
        shift = isinstance(value, ast.Operator) and value.operator == "<<"
        if shift and (width := len(value)) > _MOST_BITS:
            place = ":".join(map(str, value.src_loc or ("unknown location",)))
            raise OverflowError(
                f"Value defined at {place} is {width} bits wide, which is unlikely to simulate in "
                "reasonable time"
            )
        return super().emit_rhs(module_idx, value)

    def emit_operator(
        self, module_idx: int, operator: str, *inputs: nir.Value, src_loc: Any
    ) -> nir.Value:
        # Amaranth computes an expression again wherever it stands.
        key = (module_idx, operator, inputs)
        if key not in self._computed:
            self._computed[key] = super().emit_operator(
                module_idx, operator, *inputs, src_loc=src_loc
            )
        return self._computed[key]

    def emit_assign(
        self, module: int, domain: Any, lhs: Value, start: int, rhs: Any, cond: Any, *, src_loc: Any
    ) -> None:
        super().emit_assign(module, domain, lhs, start, rhs, cond, src_loc=src_loc)
        # In a simulation, who assigns one of some parts drives all of them, whether or not it can
        # be chosen.
        if self.all_undef_to_ff and isinstance(lhs, ast.Part):
            parts, never = nir.Value.from_const(0, len(lhs.value)), nir.Net.from_const(0)
            super().emit_assign(module, domain, lhs.value, 0, parts, never, src_loc=src_loc)

    def emit_drivers(self) -> None:
        # In a simulation, bits of a register to which nothing is assigned are set from outside, and
        # no reset changes them. Amaranth makes them part of a register that has one driver only.
        for signal, drivers in self.drivers.items() if self.all_undef_to_ff else ():
            driver, *_ = drivers.values()
            assigned = 0
            for each in driver.assignments:
                assigned |= (1 << len(each.value)) - 1 << each.start
            if driver.domain is not None and assigned.bit_count() < len(signal):
                drivers.setdefault(
                    None, NetlistDriver(driver.module_idx, signal, None, src_loc=driver.src_loc)
                )
        super().emit_drivers()


def _netlist(design: Design, all_undef_to_ff: bool = False) -> nir.Netlist:
    """As Amaranth's `build_netlist`, without what only modules of a hierarchy need."""
    netlist = nir.Netlist()
    emitter = _Emitter(netlist, design, all_undef_to_ff=all_undef_to_ff)
    emitter.emit_fragment(design.fragment, None)
    if _has_cycle(netlist):
        netlist.check_comb_cycles()  # says which
    netlist.resolve_all_nets()
    return _two_cells(netlist)


_BIT_BY_BIT = ("~", "&", "|", "^", "m")
"""Operators of which a bit depends on the bits at its own place, and on a condition."""


def _has_cycle(netlist: nir.Netlist) -> bool:
    """Whether a bit depends on itself.

    Amaranth's own check takes the square of the width for an operator whose bits depend on all bits
    of its operands. Here all bits of such an operator depend on its first bit, which depends on
    those.
    """

    def sources(net: nir.Net) -> Iterable[nir.Net]:
        if net.is_const:
            return ()
        if net.is_late:
            return (netlist.connections[net],)
        cell = netlist.cells[net.cell]
        dense = isinstance(cell, nir.Part) or (
            isinstance(cell, nir.Operator) and cell.operator not in _BIT_BY_BIT
        )
        if dense and net.bit:
            return (nir.Net.from_cell(net.cell, 0),)
        return (source for source, _ in cell.comb_edges_to(net.bit))

    busy: set[nir.Net] = set()
    done: set[nir.Net] = set()
    outputs = (net for at, cell in enumerate(netlist.cells) for net in cell.output_nets(at))
    for start in (*outputs, *chain.from_iterable(netlist.signals.values())):
        path = [start]
        while path:
            net = path[-1]
            if net in done or net in busy:
                done.add(path.pop())
                busy.discard(net)
                continue
            busy.add(net)
            for source in sources(net):
                if source in busy:
                    return True
                if source not in done:
                    path.append(source)
    return False


def component_design(component: wiring.Component, name: str) -> Design:
    """A component whose ports are those of its signature, their names joined by two underscores."""
    ports = {}
    for path, member, value in component.signature.flatten(component):
        direction = PortDirection.Input if member.flow == In else PortDirection.Output
        ports["__".join(map(str, path))] = (Value.cast(value), direction)
    return Fragment.get(component, None).prepare(ports=ports, hierarchy=(name,))


def ports_netlist(design: Design) -> nir.Netlist:
    """The netlist of a design with ports.

    Raises
    ------
    nir.CombinationalCycle
    OverflowError
        If a shift to the left makes a value of more than 65,536 bits.
    """
    return _netlist(design)


def without(fragment: Fragment, removed: Container[Fragment]) -> Fragment:
    """A copy of the tree of a prepared fragment that lacks some subtrees."""
    if type(fragment) is not Fragment:
        return fragment
    copy = Fragment(src_loc=fragment.src_loc)
    copy.statements, copy.domains = fragment.statements, fragment.domains
    copy.subfragments = [
        (without(each, removed), name, place)
        for each, name, place in fragment.subfragments
        if each not in removed
    ]
    return copy


def free_design(fragment: Fragment, shown: Sequence[Signal] = ()) -> Design:
    """A prepared fragment as a design without inputs, which has some signals in any case."""
    ports = [(f"shown_{at}", each, PortDirection.Output) for at, each in enumerate(shown)]
    return Design(fragment, ports, hierarchy=("top",))


def free_netlist(design: Design) -> nir.Netlist:
    """The netlist of a `free_design`: what nothing drives is a register without a clock.

    Raises
    ------
    nir.CombinationalCycle
    OverflowError
        If a shift to the left makes a value of more than 65,536 bits.
    """
    return _netlist(design, all_undef_to_ff=True)


def combinational_signals(design: Design) -> list[Signal]:
    """The signals that a design drives without a clock."""
    found: list[Signal] = []
    for fragment in design.fragments:
        for statement in fragment.statements.get("comb", ()):
            found += statement._lhs_signals()
        if isinstance(fragment, MemoryInstance):
            for port in fragment._read_ports:
                if port._domain == "comb":
                    found += Value.cast(port._data)._rhs_signals()
    return found


def read_signals(value: Value) -> Iterable[Signal]:
    """The signals that a value is made of; none if a row of a memory is in it."""
    try:
        return tuple(value._rhs_signals())
    except NotImplementedError:
        return ()


def memories(design: Design) -> list[tuple[MemoryData, str]]:
    """The memories of a design, and their hierarchical names."""
    return [
        (fragment._data, ".".join(info.name[1:]))
        for fragment, info in design.fragments.items()
        if isinstance(fragment, MemoryInstance)
    ]


def memory_rows(memory: MemoryData) -> tuple[int, ...]:
    """What the rows of a memory hold at first."""
    return tuple(memory._init._raw)


def read_resets(design: Design) -> list[tuple[Signal, Signal, bool]]:
    """The data of read ports with a clock, the resets of their domains, and which need no clock."""
    found = []
    for fragment in design.fragments:
        for port in fragment._read_ports if isinstance(fragment, MemoryInstance) else ():
            if port._domain == "comb":
                continue
            domain = fragment.domains[port._domain]
            data = Value.cast(port._data)
            if domain.rst is not None and isinstance(data, Signal) and not data.reset_less:
                found.append((data, domain.rst, domain.async_reset))
    return found


def femtoseconds(time: Any) -> int:
    """A time, as Amaranth's simulator counts it: after 0.5 it is a `Period`."""
    return time.femtoseconds if hasattr(time, "femtoseconds") else int(time * 1e15)
