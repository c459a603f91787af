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
from amaranth.back.verilog import YosysError, find_yosys
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

from ..fabric.errors import InvalidValue, MulticubeError
from ..primitives.clearing import NEEDS_INITIAL
from .combinational import ModulePaths, module_paths
from .memory_modules import memory_part
from .readable import readable
from .style import Style
from .target import TARGETS, Target
from .verilog_names import legal_names, plain_name

__all__ = [
    "ExportedModule",
    "ModuleTemplate",
    "Storage",
    "exported_module",
    "module_storage",
    "module_text",
    "with_multiplexers",
]

_OPTIMISE = [
    "opt_expr -full",
    "opt_merge",
    "opt_reduce -full",
    "opt_merge",
    "opt_share",
    "opt_dff",
    "opt_clean -purge",
]
"""As `opt -full`, without `opt_muxtree`: it can remove branches that are taken (YosysHQ/yosys#5957,
in the Yosys that comes with Amaranth)."""

_FLATTEN = ["proc -norom", "flatten -separator __", *_OPTIMISE]
_NARROW = ["wreduce", *_OPTIMISE]
_COLLECT = ["memory_collect", "opt_clean -purge"]

_MOST_PASSES = 6
"""Each pass of `_NARROW` narrows or removes cells, which lets the next narrow or remove more."""

_WRITE = [
    "bmuxmap",
    "opt_clean -purge",
    "write_verilog -noattr -simple-lhs -noparallelcase",
    "write_json",
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
    alike: bool = False,
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
    alike : bool
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
    netlist = _without_numbered(netlist)
    netlist = _without_aliases(_tidied(netlist, alike))
    if clocked:
        netlist = _active_low(netlist)
    text, begin, cells = _yosys(_equal_widths(netlist), _WRITE).partition("\n{\n")
    text = legal_names(text + "\n")
    if not style.initial:
        text = re.sub(r"^  initial begin\n(?:    \S+ = \S+;\n)*  end\n", "", text, flags=re.M)
    text = readable(_declare_ports(text, ports, initial_values=style.initial))
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


_MARK = "ASYNC_REG"
"""The attribute of the flip-flops of synchronisers, for the tools of vendors."""

_MARKED = rf"^  attribute \\{_MARK} .*\n(?:  attribute .*\n)*  wire .*\\(\S+)$"


def _marked(text: str, registers: Sequence[str]) -> str:
    """Verilog with the mark on some registers."""
    for register in registers:
        declaration = rf"^  reg (\[\d+:0\] )?{register};$"
        text = re.sub(declaration, rf'  (* {_MARK} = "TRUE" *)\n\g<0>', text, flags=re.MULTILINE)
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
                        attrs={_MARK: "TRUE"},
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
            Signal(name=f"stage{number}", init=1, attrs={_MARK: "TRUE"})
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


def _tidied(netlist: str, alike: bool) -> str:
    """A netlist after all tidying.

    Yosys narrows cells in the order of the numbers that it has given to their names, and it gives
    free numbers anew: so the order depends on what it did before, as on the width of a payload. A
    process that has only read a netlist numbers the names as they come.
    """
    if not alike:
        passes = [*_FLATTEN, *_NARROW * _MOST_PASSES, *_COLLECT]
        return _yosys(netlist, [*passes, "write_rtlil"])
    netlist = _yosys(netlist, [*_FLATTEN, "write_rtlil"])
    for _ in range(_MOST_PASSES):
        before = netlist
        netlist = _yosys(before, [*_NARROW, "write_rtlil"])
        if sorted(netlist.splitlines()) == sorted(before.splitlines()):
            break  # nothing became narrower; only attributes change places
    return _yosys(netlist, [*_COLLECT, "write_rtlil"])


def _yosys(netlist: str, commands: Sequence[str]) -> str:
    yosys = find_yosys(lambda version: version >= (0, 40))
    script = "\n".join([f"read_rtlil <<rtlil\n{netlist}\nrtlil", *commands])
    # Yosys warns that `write_verilog` could not write processes, but none are left; errors raise.
    try:
        return yosys.run(["-q", "-"], script, ignore_warnings=True)
    except YosysError as error:
        # What the machine refused it is no fault of the netlist.
        said = str(error)
        refused = re.search(r"(.*\S) *\(os error \d+\)|^(.*MemoryError.*)", said, re.M)
        if refused or not said:
            reason = refused[0].strip() if refused else "it was killed"
            raise MulticubeError(f"Yosys can't be run: {reason}") from None
        raise


def _without_numbered(netlist: str) -> str:
    """RTLIL in which wires that Amaranth named or numbered, `\\$signal` or `\\o__valid$12`, have no
    public name.

    They join ports of submodules, and Yosys then keeps the names of these: `queue_8__o__valid`.
    Registers with a name of their own keep it. Which signals have none depends on the Python.
    """

    made_up = r"\\(\S+\$\d+|\$\S+)"

    def unnamed(module: re.Match[str]) -> str:
        wires = re.findall(
            rf"((?:^  attribute .*\n)*)^  wire (?:width \d+ )?{made_up}$", module[0], re.M
        )
        stored = rf"\\(init|{_MARK}) "
        inner = {
            name
            for attributes, name in wires
            if name[0] == "$" or not re.search(stored, attributes)
        }
        return re.sub(
            rf"(?<!^    connect ){made_up}(?=\s)",  # but the port of a submodule
            lambda name: f"${name[1]}" if name[1] in inner else name[0],
            module[0],
            flags=re.M,
        )

    return re.sub(r"^module .*?^end$", unnamed, netlist, flags=re.M | re.S)


def _without_aliases(netlist: str) -> str:
    """RTLIL without the bits of inner wires that only repeat another bit of the same wire.

    Yosys has replaced them by the other bit wherever they were read, so nothing reads them, but
    linters that look at whole wires take them for combinational loops.
    """
    bits = r" \[[\d:]+\]"
    more = rf"{bits}(?: \1{bits})*(?: \}})?"
    alias = rf"^  connect (?:\{{ )?(\$\S+){more} (?:\{{ )?\1{more}\n"
    return re.sub(alias, "", netlist, flags=re.M)


_COMPARE = {"$eq", "$ne", "$lt", "$le", "$gt", "$ge"}
_UNARY = {"$neg", "$not"}
_COMBINE = {"$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor"}
_LEFT = {"$shl", "$sshl"}
_RIGHT = {"$shr", "$sshr", "$shift"}


def _equal_widths(netlist: str) -> str:
    """RTLIL in which the operands of operators are as wide as the results.

    Verilog would extend or cut them implicitly, with a warning from every linter.
    """

    def rewrite(match: re.Match[str]) -> str:
        type_, name, body = match.groups()
        parameters = dict(re.findall(r"^    parameter \\(\S+) (.*)$", body, re.MULTILINE))
        pins = dict(re.findall(r"^    connect \\(\S+) (.*)$", body, re.MULTILINE))
        a, b, y = (int(parameters.get(f"{pin}_WIDTH", "0")) for pin in "ABY")
        signed = [parameters.get(f"{pin}_SIGNED") == "1" for pin in "AB"]
        result = (pins.get("Y", ""), y)
        if type_ == "$logic_not" and a > 1:
            return _cell("$eq", name, A=(pins["A"], a), B=(f"{a}'0", a), Y=result)
        if type_ in _COMPARE:
            wider = max(a, b)
            left = _fitted(pins["A"], a, wider, all(signed))
            right = _fitted(pins["B"], b, wider, all(signed))
            return _cell(type_, name, all(signed), A=(left, wider), B=(right, wider), Y=result)
        if type_ in _UNARY:
            operand = _fitted(pins["A"], a, y, signed[0])
            return _cell(type_, name, A=(operand, y), Y=result)
        if type_ in _COMBINE:
            left = _fitted(pins["A"], a, y, all(signed))
            right = _fitted(pins["B"], b, y, all(signed))
            return _cell(type_, name, A=(left, y), B=(right, y), Y=result)
        if type_ in _LEFT and not signed[1]:
            left = _fitted(pins["A"], a, y, signed[0])
            return _cell(type_, name, A=(left, y), B=(pins["B"], b), Y=result)
        if type_ in _RIGHT and not signed[1] and b <= 6:
            # A few bits out of several: a selection says so more plainly than a shift.
            operand, width = pins["A"], a
            if type_ == "$shr" and y > a:  # fills with zeros, but only above the result
                operand, width = _fitted(operand, a, y, signed[0]), y
            fill = signed[0] and type_ != "$shr"
            field = _fitted(operand, width, (1 << b) - 1 + y, fill)
            choices = [f"{field} [{at + y - 1}:{at}]" for at in reversed(range(1 << b))]
            return (
                f"  cell $bmux {name}\n"
                f"    parameter \\S_WIDTH {b}\n    parameter \\WIDTH {y}\n"
                f"    connect \\A {{ {' '.join(choices)} }}\n"
                f"    connect \\S {pins['B']}\n    connect \\Y {pins['Y']}\n  end\n"
            )
        return match[0]

    return re.sub(r"^  cell (\S+) (\S+)\n(.*?)^  end\n", rewrite, netlist, flags=re.M | re.S)


def _fitted(operand: str, width: int, to: int, signed: bool) -> str:
    """An operand extended with zeros or its sign, or truncated, to another width."""
    if width < to:
        fill = f"{operand} [{width - 1}] " * (to - width) if signed else f"{to - width}'0 "
        return f"{{ {fill}{operand} }}"
    return f"{operand} [{to - 1}:0]" if width > to else operand


def _cell(type_: str, name: str, signed: bool = False, **pins: tuple[str, int]) -> str:
    """An RTLIL cell, each pin with its width."""
    lines = [f"  cell {type_} {name}"]
    for pin, (operand, width) in pins.items():
        if pin != "Y":
            lines.append(f"    parameter \\{pin}_SIGNED {signed:d}")
        lines += [f"    parameter \\{pin}_WIDTH {width}", f"    connect \\{pin} {operand}"]
    return "\n".join([*lines, "  end", ""])


_DECLARATION = re.compile(r"  (wire|reg) (\[\d+:\d+\] )?(\w+)( = (\S+))?;")


_RESET_PORT = re.compile(r"^  wire (input \d+) (\\(?:\w+_)?rst)\n", re.MULTILINE)


def _active_low(netlist: str) -> str:
    """RTLIL of a module whose asynchronous resets are active at 0 at their ports.

    The flip-flops take the port as it is; whatever else a reset drives has its inverse.
    """
    for input_, reset in _RESET_PORT.findall(netlist):
        port = f"{reset}_n"
        inverter = _cell("$not", f"{reset}_inverter", A=(port, 1), Y=(reset, 1))
        netlist = re.sub(
            rf"(    parameter \\ARST_POLARITY )1(\n(?:    .*\n)*?    connect \\ARST )"
            rf"{re.escape(reset)}\n",
            lambda match: f"{match[1]}0{match[2]}{port}\n",  # noqa: B023
            netlist,
        )
        netlist = netlist.replace(
            f"  wire {input_} {reset}\n", f"  wire {input_} {port}\n  wire {reset}\n{inverter}"
        )
    return netlist


def _declare_ports(text: str, ports: Sequence[str], *, initial_values: bool = True) -> str:
    """Declare ports only in the module's header, and initial values with `initial`."""
    _, name, body = re.split(r"^module (\w+)\(.*?\);\n", text, maxsplit=1, flags=re.M | re.S)
    directions: dict[str, str] = {}
    declared: dict[str, str] = {}
    lines: list[str] = []
    initial: list[str] = []
    for line in body.rstrip().split("\n")[:-1]:
        if "[-1:0]" in line:  # of width 0, such as the address of a memory of one row
            continue
        if port := re.fullmatch(r"  (input|output) (?:\[\d+:\d+\] )?(\w+);", line):
            directions[port[2]] = port[1]
            continue
        if declaration := _DECLARATION.fullmatch(line):
            kind, width, net, _, value = declaration.groups(default="")
            if value and initial_values:
                initial.append(f"    {net} = {value};")
            if net in directions:
                reg = "reg " if kind == "reg" else ""
                declared[net] = f"  {directions[net]} {reg}{width}{net}"
                continue
            line = f"  {kind} {width}{net};"
        lines.append(line)
    missing = declared.keys() - set(ports)
    assert not missing, f"ports of {name} that its signature lacks: {missing}"
    if initial:
        lines += ["  initial begin", *initial, "  end"]
    head = ",\n".join(declared[port] for port in ports if port in declared)
    return "\n".join([f"module {name} (", head, ");", *lines, "endmodule"])
