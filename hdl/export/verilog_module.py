"""Export of one component as one flat, tidy Verilog module.

Amaranth's own converter keeps every submodule, every alias of a field, and the natural width of
each operand, which linters and readers dislike. Here Yosys flattens and tidies the netlist,
operands are brought to equal widths, and Verilog ports are declared once, in the order of the
signature.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from amaranth.back import rtlil
from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Const,
    Instance,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib import wiring
from amaranth.lib.cdc import AsyncFFSynchronizer, FFSynchronizer
from amaranth.lib.memory import Memory

from ..fabric.errors import InvalidValue
from ..primitives.clearing import NEEDS_INITIAL
from .combinational import ModulePaths, module_paths
from .memory_modules import memory_part
from .readable import readable
from .style import Style
from .target import TARGETS, Target
from .verilog_names import legal_names, plain_name
from .yosys import run_yosys
from .yosys_text import (
    MARK,
    WRITE,
    active_low,
    declare_ports,
    equal_widths,
    tidied,
    without_aliases,
    without_numbered,
)

__all__ = [
    "ExportedModule",
    "ModuleTemplate",
    "Storage",
    "exported_module",
    "module_storage",
    "module_text",
    "with_multiplexers",
]


_USUAL, _PLAIN = TARGETS["lut4"], Style()


class ExportedModule(NamedTuple):
    """The Verilog of a component, and the paths in it that no register interrupts."""

    text: str
    paths: ModulePaths


def module_text(
    component: wiring.Component,
    name: str,
    ports: Sequence[str],
    target: Target = _USUAL,
    style: Style = _PLAIN,
) -> str:
    """The Verilog of a component, as `exported_module`."""
    return exported_module(component, name, ports, target, style).text


def exported_module(
    component: wiring.Component,
    name: str,
    ports: Sequence[str],
    target: Target = _USUAL,
    style: Style = _PLAIN,
    *,
    parametric: bool = False,
) -> ExportedModule:
    """The Verilog of a component without its own hierarchy.

    Parameters
    ----------
    component : wiring.Component
    name : str
        Name of the module.
    ports : Sequence[str]
        Names of all Verilog ports in the order of declaration. Ports that do not exist (of width 0,
        or an unused clock) are left out.
    target : Target
    style : Style
    parametric : bool
        Whether components that differ in widths alone must have texts that differ in numbers alone.

    Raises
    ------
    ValueError
        If it needs initial values, and the style has none.
    """
    clocked = style.reset != "sync"
    netlist = rtlil.convert(
        component,
        name=name,
        emit_src=False,
        platform=_Exporting(target, style),
        missing_domain=lambda domain: ClockDomain(domain, async_reset=clocked),
    )
    if not style.initial and rf"attribute \{NEEDS_INITIAL}" in netlist:
        raise InvalidValue(
            "Without initial values a memory that is cleared after a reset is not right"
        )
    netlist = without_numbered(netlist)
    netlist = without_aliases(tidied(netlist, parametric))
    if clocked:
        netlist = active_low(netlist)
    text, begin, cells = run_yosys(equal_widths(netlist), WRITE).partition("\n{\n")
    text = legal_names(text + "\n")
    if not style.initial:
        text = re.sub(r"^  initial begin\n(?:    \S+ = \S+;\n)*  end\n", "", text, flags=re.M)
    text = readable(declare_ports(text, ports, initial_values=style.initial))
    text = _marked(text, re.findall(_MARKED, netlist, re.MULTILINE))
    return ExportedModule(text, module_paths(begin + cells, _MULTIPLEXER))


_MULTIPLEXER = "multiplexer"
"""Instances of `multiplexer_4x36` choose among 4 words of 36 bits, in the form of the target; of
`multiplexer_quick_4x36`, in that for a short path."""

_INSTANCE = re.compile(rf"^  ({_MULTIPLEXER}_(quick_)?(\d+)x(\d+)) ", re.MULTILINE)


def with_multiplexers(texts: Sequence[str], prefix: str, target: Target = _USUAL) -> list[str]:
    """The modules of the multiplexers in some modules, and these; their names have a prefix.

    The attribute `keep_hierarchy` tells synthesis tools to optimise such a module by itself.
    """
    found = {each.groups() for text in texts for each in _INSTANCE.finditer(text)}
    modules = []
    for name, quick, count, width in sorted(found):
        ports = [*(f"i__{number}" for number in range(int(count))), "code", "o"]
        form = target.quick if quick else target.multiplexer
        assert form is not None, f"{target.name} has no multiplexers"
        text = module_text(form(int(count), int(width)), f"{prefix}_{name}", ports)
        modules.append(f"(* keep_hierarchy *)\n{text}")
    return [*modules, *(_INSTANCE.sub(rf"  {prefix}_\1 ", text) for text in texts)]


_MARKED = rf"^  attribute \\{MARK} .*\n(?:  attribute .*\n)*  wire .*\\(\S+)$"


def _marked(text: str, registers: Sequence[str]) -> str:
    """Verilog with the mark on some registers."""
    for register in registers:
        declaration = rf"^  reg (\[\d+:0\] )?{register};$"
        text = re.sub(declaration, rf'  (* {MARK} = "TRUE" *)\n\g<0>', text, flags=re.MULTILINE)
    return text


class _Exporting:
    """A platform that marks the flip-flops of synchronisers, which are otherwise Amaranth's own,
    and makes instances of multiplexers.

    Amaranth asks a platform for synchronisers and memories by these methods, and `one_of` for
    multiplexers.
    """

    def __init__(self, target: Target, style: Style) -> None:
        self.multiplexer, self.quick = target.multiplexer, target.quick
        self._style = style

    def get_memory(self, memory: Memory) -> object:
        return memory_part(memory, self._style)

    @staticmethod
    def get_multiplexer(
        m: Module, name: str, code: Value, words: Sequence[Value], *, quick: bool = False
    ) -> Signal:
        shown = Signal(len(words[0]), name=name)
        kind = f"{_MULTIPLEXER}_quick" if quick else _MULTIPLEXER
        m.submodules[f"multiplexer_{name}"] = Instance(
            f"{kind}_{len(words)}x{len(shown)}",
            *(("i", f"i__{number}", word) for number, word in enumerate(words)),
            ("i", "code", code),
            ("o", "o", shown),
        )
        return shown

    @staticmethod
    def get_ff_sync(given: FFSynchronizer) -> Module:
        m = Module()
        m.d.comb += given.o.eq(
            _chain(
                m,
                given._o_domain,
                given.i,
                [
                    Signal(
                        given.i.shape(),
                        name=f"stage{number}",
                        init=given._init,
                        reset_less=given._reset_less,
                        attrs={MARK: "TRUE"},
                    )
                    for number in range(given._stages)
                ],
            )
        )
        return m

    @staticmethod
    def get_async_ff_sync(given: AsyncFFSynchronizer) -> Module:
        m = Module()
        m.domains.asynchronous = ClockDomain(async_reset=True, local=True)
        stages = [
            Signal(name=f"stage{number}", init=1, attrs={MARK: "TRUE"})
            for number in range(given._stages)
        ]
        m.d.comb += [
            ClockSignal("asynchronous").eq(ClockSignal(given._o_domain)),
            ResetSignal("asynchronous").eq(given.i if given._edge == "pos" else ~given.i),
            given.o.eq(_chain(m, "asynchronous", Const(0), stages)),
        ]
        return m


def _chain(m: Module, domain: str, first: Value, stages: Sequence[Signal]) -> Signal:
    """Flip-flops one behind the other; the last of them."""
    m.d[domain] += [stage.eq(before) for before, stage in zip((first, *stages), stages)]
    return stages[-1]


class ModuleTemplate:
    """The text of a module, from which others are made that differ in what their memories hold.

    Parameters
    ----------
    text : str
        As `module_text`.
    name : str
        Name of the module.
    """

    def __init__(self, text: str, name: str) -> None:
        self._head, _, self._rest = text.partition(f"module {name} (")
        assert self._rest, f"there is no module {name}"

    def text(self, name: str, contents: Mapping[str, Sequence[int]]) -> str:
        """The module with another name and other rows; rows that are not given are zero."""
        written = [self._head, f"module {name} ("]
        at = 0
        for memory, block in self._blocks(contents):
            width, depth = int(block["top"] or 0) + 1, int(block["last"]) + 1
            given = contents[memory]
            rows = [*given, *[0] * (depth - len(given))]
            written.append(self._rest[at : block.start("rows")])
            digits = -(-width // 4)
            written += [
                f"    {plain_name(memory)}[{row}] = {width}'h{value:0{digits}x};\n"
                for row, value in enumerate(rows)
            ]
            at = block.end("rows")
        return "".join([*written, self._rest[at:]])

    def _blocks(self, memories: Iterable[str]) -> list[tuple[str, re.Match[str]]]:
        """Where the rows of memories are set, in the order of the text."""
        blocks = [(memory, _rows(memory, self._rest)) for memory in memories]
        return sorted(blocks, key=lambda each: each[1].start())


class Storage(NamedTuple):
    """A register or a memory of a module: its name, its width, and the rows of a memory."""

    name: str
    width: int
    rows: int | None


def module_storage(text: str) -> Iterator[Storage]:
    """The registers and memories that the text of a module declares."""
    declared = r"^  (?:output )?reg (?:\[(\d+):0\] )?(\w+)(?: \[(\d+):0\])?[;,]?$"
    for top, name, last in re.findall(declared, text, re.MULTILINE):
        yield Storage(name, int(top or 0) + 1, int(last) + 1 if last else None)


def _rows(memory: str, text: str) -> re.Match[str]:
    """Where a module sets the rows of a memory; its width and its number of rows."""
    found = re.search(
        rf"^  reg (\[(?P<top>\d+):0\] )?{plain_name(memory)} \[(?P<last>\d+):0\];\n"
        r"  initial begin\n(?P<rows>.*?)^  end\n",
        text,
        re.MULTILINE | re.DOTALL,
    )
    assert found is not None, f"memory {memory} has no rows"
    return found
