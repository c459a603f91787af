"""Makes the Verilog of a module of what Yosys writes: plain, and the same for all widths."""

import re
from collections.abc import Sequence

from .yosys import run_yosys

__all__ = [
    "MARK",
    "WRITE",
    "active_low",
    "declare_ports",
    "equal_widths",
    "in_order",
    "tidied",
    "without_aliases",
    "without_numbered",
]


MARK = "ASYNC_REG"
"""The attribute of the flip-flops of synchronisers, for the tools of vendors."""

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

WRITE = [
    "bmuxmap",
    "opt_clean -purge",
    "write_verilog -noattr -simple-lhs -noparallelcase",
    "write_json",
]

_COMPARE = {"$eq", "$ne", "$lt", "$le", "$gt", "$ge"}

_UNARY = {"$neg", "$not"}

_COMBINE = {"$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor"}

_LEFT = {"$shl", "$sshl"}

_RIGHT = {"$shr", "$sshr", "$shift"}

_DECLARATION = re.compile(r"  (wire|reg) (\[\d+:\d+\] )?(\w+)( = (\S+))?;")

_RESET_PORT = re.compile(r"^  wire (input \d+) (\\(?:\w+_)?rst)\n", re.MULTILINE)

_CELL = re.compile(r"^  cell \S+ (\$\S+)$", re.MULTILINE)

_CONNECTION = re.compile(r"^  connect .*\n", re.MULTILINE)

_PRIVATE_NAME = re.compile(r"(?<!\S)\$\S+")

_PRIVATE_WIRE = re.compile(r"(?:^  attribute .*\n)*^  wire (?:.* )?(\$\S+)\n", re.MULTILINE)


def tidied(netlist: str, parametric: bool) -> str:
    """A netlist after all tidying.

    Yosys narrows cells in the order of the numbers that it has given to their names, and it gives
    free numbers anew: so the order depends on what it did before, as on the width of a payload, and
    so does which of its names a wire keeps. A process that has only read a netlist numbers the
    names as they come; here they come in the order of the cells.
    """
    if not parametric:
        passes = [*_FLATTEN, *_NARROW * _MOST_PASSES, *_COLLECT]
        return run_yosys(netlist, [*passes, "write_rtlil"])

    def after(passes: Sequence[str], netlist: str) -> str:
        return in_order(run_yosys(netlist, [*passes, "write_rtlil"]))

    netlist = after(_FLATTEN, netlist)
    for _ in range(_MOST_PASSES):
        before = netlist
        netlist = after(_NARROW, before)
        if sorted(netlist.splitlines()) == sorted(before.splitlines()):
            break  # nothing became narrower; only attributes change places
    return after(_COLLECT, netlist)


def in_order(netlist: str) -> str:
    """A netlist of one module whose private names are numbered as its cells use them.

    Its connections follow the cells, by their numbers.
    """
    wires = {found[1]: found[0] for found in _PRIVATE_WIRE.finditer(netlist)}
    begin, _, rest = _PRIVATE_WIRE.sub("", netlist).partition("\nmodule ")
    head, _, body = rest.partition("\n")
    cells = set(_CELL.findall(body))
    connections = _CONNECTION.findall(body)
    names: dict[str, str] = {}
    for name in [*_PRIVATE_NAME.findall(body), *wires]:
        if name in wires or name in cells:
            names.setdefault(name, f"${'wire' if name in wires else 'cell'}${len(names):07}")

    def renamed(text: str) -> str:
        return _PRIVATE_NAME.sub(lambda found: names.get(found[0], found[0]), text)

    declared = "".join(renamed(wires[name]) for name in names if name in wires)
    last = "".join(sorted(map(renamed, connections), key=_by_numbers))
    body, end, after = renamed(_CONNECTION.sub("", body)).rpartition("end\n")
    return f"{begin}\nmodule {head}\n{declared}{body}{last}{end}{after}"


def _by_numbers(line: str) -> str:
    return re.sub(r"\d+", lambda number: number[0].zfill(9), line)


def without_numbered(netlist: str) -> str:
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
        stored = rf"\\(init|{MARK}) "
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


def without_aliases(netlist: str) -> str:
    """RTLIL without the bits of inner wires that only repeat another bit of the same wire.

    Yosys has replaced them by the other bit wherever they were read, so nothing reads them, but
    linters that look at whole wires take them for combinational loops.
    """
    bits = r" \[[\d:]+\]"
    more = rf"{bits}(?: \1{bits})*(?: \}})?"
    alias = rf"^  connect (?:\{{ )?(\$\S+){more} (?:\{{ )?\1{more}\n"
    return re.sub(alias, "", netlist, flags=re.M)


def equal_widths(netlist: str) -> str:
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


def active_low(netlist: str) -> str:
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


def declare_ports(text: str, ports: Sequence[str], *, initial_values: bool = True) -> str:
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
