"""One component as one flat, tidy Verilog module.

Amaranth's own converter keeps every submodule, every alias of a field and each operand's natural
width, which linters dislike and readers too. Here Yosys flattens and tidies the netlist, operands
are brought to equal widths, and ports are declared once, in the order of the signature.
"""

import re
from collections.abc import Sequence

from amaranth.back import rtlil
from amaranth.back.verilog import find_yosys
from amaranth.lib import wiring

from .verilog_names import legal_names

__all__ = ["module_text"]

_TIDY = [
    "proc -norom",
    "flatten -separator __",
    # What one pass narrows or removes lets another narrow or remove more.
    *["opt -full -purge", "wreduce"] * 4,
    "opt -full -purge",
    "memory_collect",
    "opt_clean -purge",
    "write_rtlil",
]

_WRITE = [
    "bmuxmap",
    "opt_clean -purge",
    "write_verilog -noattr -simple-lhs -noparallelcase",
]


def module_text(component: wiring.Component, name: str, ports: Sequence[str]) -> str:
    """The Verilog of a component without its own hierarchy.

    Parameters
    ----------
    component : wiring.Component
    name : str
        Of the module.
    ports : Sequence[str]
        Names of all ports in the order in which they shall be declared. Those that do not exist
        (without bits, or a clock that is not used) are left out.
    """
    netlist = rtlil.convert(component, name=name, emit_src=False)
    netlist = _yosys(netlist, _TIDY)
    return _declare_ports(legal_names(_yosys(_equal_widths(netlist), _WRITE)), ports)


def _yosys(netlist: str, commands: list[str]) -> str:
    yosys = find_yosys(lambda version: version >= (0, 40))
    script = "\n".join([f"read_rtlil <<rtlil\n{netlist}\nrtlil", *commands])
    # Yosys warns of what `write_verilog` could not write were there processes left; errors raise.
    return yosys.run(["-q", "-"], script, ignore_warnings=True)


_COMPARE = {"$eq", "$ne", "$lt", "$le", "$gt", "$ge"}
_SELECT = {"$shr", "$shift"}
_COMBINE = {"$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor"}


def _equal_widths(netlist: str) -> str:
    """RTLIL in which unsigned operators have operands of equal width.

    Verilog would extend the shorter operand by itself, with a warning from every linter.
    """

    def rewrite(match: re.Match[str]) -> str:
        type_, name, body = match.groups()
        parameters = dict(re.findall(r"^    parameter \\(\S+) (.*)$", body, re.MULTILINE))
        inputs = dict(re.findall(r"^    connect \\(\S+) (.*)$", body, re.MULTILINE))
        if int(parameters.get("A_SIGNED", "1")) or int(parameters.get("B_SIGNED", "0")):
            return match[0]
        width = {pin: int(parameters.get(f"{pin}_WIDTH", "0")) for pin in "ABY"}
        wider = max(width["A"], width["B"])
        if type_ == "$logic_not" and width["A"] > 1:
            return _cell("$eq", name, {"A": inputs["A"], "B": f"{wider}'0"}, inputs["Y"], wider, 1)
        if type_ in _COMPARE:
            operands = {pin: _extended(inputs[pin], width[pin], wider) for pin in "AB"}
            return _cell(type_, name, operands, inputs["Y"], wider, width["Y"])
        if type_ in _COMBINE and wider <= width["Y"]:
            operands = {pin: _extended(inputs[pin], width[pin], width["Y"]) for pin in "AB"}
            return _cell(type_, name, operands, inputs["Y"], width["Y"], width["Y"])
        if type_ in _SELECT and width["Y"] == 1 and width["A"] <= 1 << width["B"] <= 64:
            # One bit out of several: a tree of multiplexers says so more plainly than a shift.
            choices = _extended(inputs["A"], width["A"], 1 << width["B"])
            return (
                f"  cell $bmux {name}\n    parameter \\S_WIDTH {width['B']}\n"
                f"    parameter \\WIDTH 1\n    connect \\A {choices}\n"
                f"    connect \\S {inputs['B']}\n    connect \\Y {inputs['Y']}\n  end\n"
            )
        return match[0]

    return re.sub(r"^  cell (\S+) (\S+)\n(.*?)^  end\n", rewrite, netlist, flags=re.M | re.S)


def _extended(operand: str, width: int, to: int) -> str:
    return f"{{ {to - width}'{'0' * (to - width)} {operand} }}" if width < to else operand


def _cell(
    type_: str, name: str, operands: dict[str, str], result: str, width: int, result_width: int
) -> str:
    lines = [f"  cell {type_} {name}"]
    for pin in operands:
        lines += [f"    parameter \\{pin}_SIGNED 0", f"    parameter \\{pin}_WIDTH {width}"]
    lines.append(f"    parameter \\Y_WIDTH {result_width}")
    lines += [f"    connect \\{pin} {operand}" for pin, operand in operands.items()]
    return "\n".join([*lines, f"    connect \\Y {result}", "  end", ""])


_DECLARATION = re.compile(r"  (wire|reg) (\[\d+:\d+\] )?(\w+)( = (\S+))?;")


def _declare_ports(text: str, ports: Sequence[str]) -> str:
    """Declare ports in the module's header only, and initial values by `initial`."""
    _, name, body = re.split(r"^module (\w+)\(.*?\);\n", text, maxsplit=1, flags=re.M | re.S)
    directions: dict[str, str] = {}
    declared: dict[str, str] = {}
    lines: list[str] = []
    initial: list[str] = []
    for line in body.rstrip().split("\n")[:-1]:
        if port := re.fullmatch(r"  (input|output) (?:\[\d+:\d+\] )?(\w+);", line):
            directions[port[2]] = port[1]
            continue
        if declaration := _DECLARATION.fullmatch(line):
            kind, width, net, _, value = declaration.groups(default="")
            if value:
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
