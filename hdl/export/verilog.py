"""Verilog export: each distinct module once, and a structural top that wires the cells.

Amaranth converts every submodule anew, even if many are equal; a network of thousands of boxes
would take minutes and hundreds of megabytes. Here the text grows by only a few lines per cell.

The text is plain Verilog (2001) without vendor extensions: Yosys, Verilator and Icarus read it
without warnings, and so should any synthesis tool. Equal fabrics give equal text.

The name of a Verilog port is its path in the signature, joined by two underscores: `i__3__payload`
is the payload of input stream 3. The top also has `clk` (rising edge) and `rst` (synchronous,
active high), or the names given by its `Clock`; and, for each further clock of a fabric, a clock
and a reset whose names begin with that clock's name: `terminal_3_clk`.

Flip-flops of synchronisers between two clocks have the attribute `ASYNC_REG`. For tables of an
FPGA, choices of four to ten words are modules of their own, with the attribute `keep_hierarchy`, in
the form that takes the fewest of its tables (`target`, `primitives.multiplexer`).
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from amaranth.lib import data
from amaranth.lib.wiring import In

from ..fabric.cell import Cell, CellType, Leaf
from ..fabric.checks import check_flag, check_kind, check_path, shown
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.fabric_component import FabricComponent
from ..fabric.pins import Path, Pin
from ..support.output_file import check_output, is_regular, whole_file
from ..support.printable import printable
from .combinational import FabricPaths, ModulePaths, fabric_paths, pattern_of
from .constraints import PERIOD, check_periods, constraints
from .fusesoc import core_text, memories_file
from .ip_xact import ip_xact_text
from .memory_modules import with_memories
from .parametric import with_parameter
from .style import RESETS, Style
from .target import Target, find_target
from .verilog_module import (
    ModuleTemplate,
    Storage,
    exported_module,
    module_storage,
    with_multiplexers,
)
from .verilog_names import bit_range, check_name, domain_port, net_name, plain_name, port_name
from .wrapper import instantiation, wrapper_text

__all__ = ["Clock", "Style", "port_list", "storage_of", "verilog_text", "write_verilog"]

_CLOCK = ("clk", "rst")
"""The names of the clock and reset in the modules of cells."""


@dataclass(frozen=True)
class Clock:
    """The names and the polarity of the top's clock (rising edge) and reset (synchronous).

    Attributes
    ----------
    name, reset : str
        Names of the ports of clock and reset, a bit each.
    active_low : bool
        Whether the reset is active at 0.
    inner : str
        If so, the wire inside that is active at 1.
    """

    name: str = _CLOCK[0]
    reset: str = _CLOCK[1]
    active_low: bool = False
    inner: str = _CLOCK[1]

    @property
    def ports(self) -> tuple[str, str]:
        return self.name, self.reset

    @property
    def nets(self) -> tuple[str, str]:
        """The nets that drive the clock and the reset of cells: ports, or an internal wire."""
        return self.name, self.inner if self.active_low else self.reset

    def of(self, domain: str) -> "Clock":
        """The same for a clock of a fabric: only the usual one has these names as they are."""
        name, reset, inner = (domain_port(domain, word) for word in (*self.ports, self.inner))
        return replace(self, name=name, reset=reset, inner=inner)


_OWN = Clock()
_PLAIN = Style()

_Contents = tuple[tuple[str, tuple[int, ...]], ...]
_UNTITLED = "an interconnection network"

# All lint rules that Verilator is told to ignore. Old versions know these names too.
_WAIVE = """\
// One file holds all modules, whatever its name.
/* verilator lint_off DECLFILENAME */
// Inside a switch, a bit of a sum or of a concatenation may be unused.
/* verilator lint_off UNUSED */"""
_WAIVE_CROSSING = """\
// A reset enters other clock domains through asynchronous inputs of synchronisers.
/* verilator lint_off SYNCASYNCNET */"""
_WAIVE_CROSSING_ENDS = "/* verilator lint_on SYNCASYNCNET */"
_WAIVE_UNUSED_ENDS = "/* verilator lint_on UNUSED */"
_WAIVE_OPEN = """\
// Outputs of cells that nothing reads are left unconnected.
/* verilator lint_off PINCONNECTEMPTY */"""
_WAIVE_OPEN_ENDS = "/* verilator lint_on PINCONNECTEMPTY */"
_WAIVE_CLOCK = """\
// No logic here is clocked; the ports are those that every network has.
/* verilator lint_off UNUSED */"""
_WAIVE_ENDS = "/* verilator lint_on DECLFILENAME */"


def _fields(layout: Any, name: str = "", offset: int = 0) -> Iterator[tuple[str, int, int]]:
    """Name, lowest bit and width of each field of a layout; inner fields follow their field.

    The layout may be that of a class of structures, `data.Struct`.
    """
    try:
        fields = data.Layout.cast(layout)
    except TypeError:  # a number, or an enumeration
        return
    for key, field in fields:
        full = f"{name}.{key}" if name else str(key)
        yield full, offset + field.offset, field.width
        yield from _fields(field.shape, full, offset + field.offset)


def port_list(fabric: Fabric, clock: Clock = _OWN) -> list[dict[str, Any]]:
    """The Verilog ports of a fabric's module, in the order of their declaration.

    Parameters
    ----------
    fabric : Fabric
    clock : Clock

    Returns
    -------
    list of dict
        For each port `name`, `direction` ("input" or "output") and `width` in bits. If its shape is
        a layout, `fields` maps the name of each field to its lowest bit (`offset`) and its `width`.
        The name of a field inside a field is joined with a dot. Ports of width 0 are left out.
    """
    ports: list[dict[str, Any]] = [
        {"name": name, "direction": "input", "width": 1}
        for domain in fabric.clocks
        for name in clock.of(domain).ports
    ]
    for path, leaf in fabric.boundary.items():
        if not leaf.width:
            continue
        direction = "input" if leaf.flow == In else "output"
        port = {"name": port_name(path), "direction": direction, "width": leaf.width}
        if fields := list(_fields(leaf.shape)):
            port["fields"] = {
                name: {"offset": offset, "width": width} for name, offset, width in fields
            }
        ports.append(port)
    return ports


class _Modules:
    """The text of each distinct module, its name, and the names of its Verilog ports."""

    def __init__(self, top: str, fabric: Fabric, target: Target, style: Style, alike: bool) -> None:
        self.texts: list[str] = []
        self.paths: dict[str, ModulePaths] = {}
        self._of: dict[object, tuple[str, set[str]]] = {}
        names: set[str] = set()
        numbers: dict[str, int] = {}
        for type_, cells in fabric.types().items():
            # Memory contents are part of a module's text: cells with different contents share none,
            # but their texts differ in the rows only, if there are any.
            templates: dict[tuple[tuple[str, bool], ...], tuple[ModuleTemplate, ModulePaths]] = {}
            for contents in dict.fromkeys(_frozen(cell) for cell in cells):
                base = name = plain_name(f"{top}_{type_.name}")
                while name in names:
                    numbers[base] = numbers.get(base, 1) + 1
                    name = f"{base}_{numbers[base]}"
                names.add(name)
                memories = tuple((memory, any(row)) for memory, row in contents)
                if memories in templates and style.initial:
                    template, paths = templates[memories]
                    text = template.text(name, dict(contents))
                else:
                    template, paths = templates[memories] = _template(
                        type_, contents, target, style, alike
                    )
                    text = template.text(name, {})
                header = re.search(r"\((.*?)\);", text, re.DOTALL)
                assert header is not None, f"there is no module {name}"
                present = set(re.findall(r"(\w+),?$", header[1], re.MULTILINE))
                self._of[type_, contents] = name, present
                self.paths[name] = paths
                title = f"// {type_!r}\n" if "\n" not in repr(type_) else ""
                self.texts.append(title + text)
        whole = with_multiplexers(self.texts, top, target)
        self.texts, self.memories = with_memories(whole, top, style)

    def __len__(self) -> int:
        return len(self.texts)

    def of(self, cell: Cell) -> tuple[str, set[str]]:
        return self._of[cell.type, _frozen(cell)]


def _clocks(type_: CellType, style: Style) -> list[str]:
    """The clocks and resets of a cell's module."""
    names = (_CLOCK[0], style.reset_name)
    return [domain_port(domain, name) for domain in type_.domains for name in names]


def _ports(type_: CellType, style: Style) -> list[str]:
    return [*_clocks(type_, style), *map(port_name, type_.leaves)]


@lru_cache(maxsize=256)
def _template(
    type_: CellType, contents: _Contents, target: Target, style: Style, alike: bool
) -> tuple[ModuleTemplate, ModulePaths]:
    """The module of a cell type whose memories have these contents, and its paths."""
    component, ports = type_.build(dict(contents)), _ports(type_, style)
    name = plain_name(type_.name)
    for port, count in Counter(ports).items():
        if count > 1:
            raise InvalidValue(f"Port name {port!r} of {type_.name} is that of {count} ports")
    text, paths = exported_module(component, name, ports, target, style, alike=alike)
    return ModuleTemplate(text, name), paths


def storage_of(type_: CellType) -> tuple[Storage, ...]:
    """The registers and memories in the Verilog module of a cell type, by their names there."""
    template, _ = _template(type_, (), find_target("lut4"), _PLAIN, alike=False)
    return tuple(module_storage(template.text(type_.name, {})))


def _frozen(cell: Cell) -> _Contents:
    return tuple(sorted(cell.contents.items()))


def _top(name: str, fabric: Fabric, modules: _Modules, clock: Clock, style: Style) -> Iterator[str]:
    ports = {port_name(path): leaf for path, leaf in fabric.boundary.items() if leaf.width}
    clocks = {domain: clock.of(domain) for domain in fabric.clocks}
    yield f"module {name} ("
    clocked = [f"  input {port}" for each in clocks.values() for port in each.ports]
    yield ",\n".join(clocked) + ("," if ports else "")
    for index, (port, leaf) in enumerate(ports.items()):
        direction = "input" if leaf.flow == In else "output"
        comma = "," if index < len(ports) - 1 else ""
        yield f"  {direction} {bit_range(leaf.width)}{port}{comma}"
    yield ");"
    if clock.active_low and style.reset == "sync":
        for each in clocks.values():
            yield f"  wire {each.inner};\n  assign {each.inner} = ~{each.reset};"
    read = set(fabric.drivers.values())
    instances = []
    for cell in fabric.cells.values():
        module, present = modules.of(cell)
        nets = (
            net
            for domain in cell.type.domains
            for net in _nets(clocks[cell.clocks.get(domain, domain)], style)
        )
        connections = [
            f".{port}({net})"
            for port, net in zip(_clocks(cell.type, style), nets)
            if port in present
        ]
        for path, leaf in cell.type.leaves.items():
            if port_name(path) not in present:
                continue
            net = _connection(fabric, cell, path, leaf, read)
            connections.append(f".{port_name(path)}({net})")
            if leaf.flow != In and net:
                yield f"  wire {bit_range(leaf.width)}{net};"
        joined = ",\n    ".join(connections)
        instances.append(f"  {module} {cell.name} (\n    {joined}\n  );")
    yield from instances
    for path, leaf in fabric.boundary.items():
        if leaf.flow != In and leaf.width:
            yield f"  assign {port_name(path)} = {net_name(fabric.drivers[Pin(None, path)])};"
    yield "endmodule"


def _nets(clock: Clock, style: Style) -> tuple[str, str]:
    """The nets that drive the clock and the reset of cells."""
    return clock.nets if style.reset == "sync" else clock.ports


def _connection(fabric: Fabric, cell: Cell, path: Path, leaf: Leaf, read: set[Pin]) -> str:
    pin = Pin(cell.name, path)
    if leaf.flow != In:
        return net_name(pin) if pin in read else ""
    if path[0] in cell.straps:
        return f"{leaf.width}'d{int(cell.straps[str(path[0])])}"
    return net_name(fabric.drivers[pin])


def _cells(fabric: Fabric) -> str:
    if len(fabric.cells) == 1:
        return "1 cell"
    kinds = len(fabric.types())
    return f"{len(fabric.cells)} cells, " + (
        "all of one type" if kinds == 1 else f"of {kinds} types"
    )


def _heading(
    name: str,
    fabric: Fabric,
    title: str,
    clock: Clock,
    target: Target,
    style: Style,
    paths: FabricPaths,
    memories: Sequence[str],
) -> Iterator[str]:
    """A comment that describes how to use the top."""
    yield f"// Module {name}: {title or _UNTITLED}."
    yield f"// Written by multicube: {_cells(fabric)}."
    yield f"// Made for {target.description} (--target {target.name})."
    yield "//"
    rows: dict[tuple[str, str, str], list[str]] = {}
    for port in port_list(fabric, clock):
        pattern = pattern_of(port["name"])
        fields = ", ".join(
            f"{field} [{at['offset'] + at['width'] - 1}:{at['offset']}]"
            for field, at in port.get("fields", {}).items()
        )
        direction = f"{port['direction']:<6} {bit_range(port['width'])}".rstrip()
        rows.setdefault((pattern, direction, fields), []).append(port["name"])
    level = f"synchronous, active {'low' if clock.active_low else 'high'}"
    if style.reset != "sync":
        level = f"{RESETS[style.reset]}; released in step with the clock"
    notes: dict[str, str] = {}
    for domain in fabric.clocks:
        pattern, reset = (pattern_of(port) for port in clock.of(domain).ports)
        other = "; asynchronous to other clocks" if domain in paths.asynchronous else ""
        notes |= {pattern: "rising edge", reset: f"{level}{other}"}
    column = max(len(pattern) for pattern, _, _ in rows)
    for (pattern, direction, fields), names in rows.items():
        note = notes.get(pattern, fields) or ""
        count = f"({len(names)} of them) " if len(names) > 1 else ""
        yield f"//   {pattern:<{column}}  {direction:<14}  {count}{note}".rstrip()
    yield "//"
    if any(path[-1] == "valid" for path in fabric.boundary):
        yield "// A stream passes one item at each rising edge at which its `valid` and `ready` are"
        yield "// both 1; once `valid` is 1, it and `payload` must stay until then."
    if any(str(path[-1]).endswith("_tvalid") for path in fabric.boundary):
        yield "// The streams are those of AXI4-Stream (Arm IHI 0051)."
    if any(str(path[-1]).endswith("_awvalid") for path in fabric.boundary):
        yield "// The ports are those of AXI4 (Arm IHI 0022)."
    if any(str(path[-1]).endswith("_stb") for path in fabric.boundary):
        bursts = any(str(path[-1]).endswith("_cti") for path in fabric.boundary)
        kind = "registered feedback" if bursts else "classic cycles"
        yield f"// The ports are those of Wishbone B4, with {kind}."
    yield from paths.told()
    start = f"the values that `{clock.reset}` gives them"
    if len(fabric.clocks) > 1:
        yield "// The clocks need no relation. Tell the tools so, and that paths between two"
        yield "// of them must be shorter than a cycle of the faster one, as the .sdc and .xdc do."
        start = "the values that resets give them"
    if paths.asynchronous:
        yield "// A reset that is asynchronous to other clocks sets synchronisers there at once, so"
        yield "// it must come from a flip-flop; it ends there after edges of the other clock."
    if style.initial:
        yield f"// Registers and memories start with {start}, or with zero."
    else:
        yield "// Registers and memories have no values before the first reset."
    if memories:
        whose = "another file must have" if style.memories == "external" else "can be replaced"
        yield f"// Memories are the modules {', '.join(memories)}, which {whose}."


def _paths(fabric: Fabric, modules: _Modules, clock: Clock, style: Style) -> FabricPaths:
    of = {name: modules.paths[modules.of(cell)[0]] for name, cell in fabric.cells.items()}
    resets = {domain: clock.of(domain).reset for domain in fabric.clocks}
    return fabric_paths(fabric, of, resets, style.reset_name)


def _check_names(name: str, fabric: Fabric, clock: Clock) -> None:
    check_name("Module name", name)
    taken: dict[str, str] = {}
    for each in map(clock.of, fabric.clocks):
        for what, word in zip(("Clock", "Reset"), each.ports):
            check_name(f"{what} name", word)
        if each.name == each.reset:
            raise InvalidValue(f"Clock and reset must have different names, not both {each.name!r}")
        taken |= dict.fromkeys((*each.ports, *each.nets), "the clock and reset")
    named = [("Port", "__".join(map(str, path))) for path in fabric.boundary]
    named += [("Cell", cell) for cell in fabric.cells]
    named += [
        ("Net", net_name(driver))
        for driver in dict.fromkeys(fabric.drivers.values())
        if driver.cell is not None
    ]
    for what, word in named:
        check_name(f"{what} name", word)
        if word in taken:
            raise InvalidValue(f"{what} name {word!r} is already taken by {taken[word]}")
        taken[word] = f"a {what.lower()}"


def _fabric_of(given: Fabric | FabricComponent) -> Fabric:
    fabric = given.fabric if isinstance(given, FabricComponent) else given
    check_kind("Fabric", fabric, Fabric, "a network or a Fabric")
    return fabric


def _styled(clock: Clock, style: Style) -> Clock:
    """The clock of the top, with the reset of a style."""
    check_kind("Clock", clock, Clock, "a Clock")
    check_kind("Style", style, Style, "a Style")
    if style.reset == "sync" or clock.active_low:
        return clock
    return replace(clock, reset=f"{clock.reset}_n", active_low=True)


def verilog_text(
    fabric: Fabric | FabricComponent,
    name: str = "network",
    *,
    title: str = "",
    clock: Clock = _OWN,
    target: str = "lut4",
    style: Style = _PLAIN,
    parameter: bool = False,
) -> str:
    """A fabric as plain Verilog (2001), for Yosys, Verilator, Icarus and vendors' tools.

    Parameters
    ----------
    fabric : Fabric or FabricComponent
        A network, or its fabric.
    name : str
        Name of the top module, and prefix of all others.
    title : str
        A few words that describe the module, for the comment at the head.
    clock : Clock
    target : "lut4", "lut6" or "asic"
        What it is made for: tables of four or six inputs, or standard cells (`TARGETS`).
    style : Style
        What memories and resets are.
    parameter : bool
        Whether the width of payloads is a parameter of the modules, `PAYLOAD`.

    Raises
    ------
    ValueError
        If a name is not a Verilog identifier, or is taken, a pin of the fabric has no driver, or
        there is no such target, or a cell needs initial values that the style leaves out; or the
        payload can't be a parameter.
    """
    check_flag("Parameter", parameter)
    if parameter:
        _payload(fabric)
    own = (name, title, _styled(clock, style), find_target(target), style)
    text = _exported(_fabric_of(fabric), *own, alike=parameter).text
    return _with_payload(fabric, text, own) if parameter else text


def _with_payload(
    network: Fabric | FabricComponent, text: str, own: tuple[str, str, Clock, Target, Style]
) -> str:
    """The Verilog of a network, with the width of payloads as a parameter."""
    component, own_width = _payload(network)

    def wider(width: int) -> str:
        return _exported(_fabric_of(component.altered(payload=width)), *own, alike=True).text

    return with_parameter(own_width, text, wider)


def _payload(network: Fabric | FabricComponent) -> tuple[FabricComponent, int]:
    """A network whose payloads' width can be a parameter, and this width."""
    width: int | None = getattr(network, "parameters", {}).get("payload")
    if not isinstance(network, FabricComponent) or width is None:
        raise InvalidValue(f"Only the payload of a network can be a parameter, not of {network!r}")
    return network, width


class _Exported(NamedTuple):
    """A text, its paths from inputs to outputs, and memories that another file must have."""

    text: str
    paths: FabricPaths
    external: tuple[str, ...]


def _exported(
    fabric: Fabric,
    name: str,
    title: str,
    clock: Clock,
    target: Target,
    style: Style,
    *,
    alike: bool = False,
) -> _Exported:
    """The Verilog, `alike` for all widths."""
    check_kind("Title", title, str, "a text")
    _check_names(name, fabric, clock)
    fabric.check()
    modules = _Modules(name, fabric, target, style, alike)
    title = " ".join(title.split())
    if title != printable(title):
        raise InvalidValue(f"Title must be a text, not {shown(title)}")
    paths = _paths(fabric, modules, clock, style)
    told = _heading(name, fabric, title, clock, target, style, paths, modules.memories)
    heading = "\n".join(told)
    top = "\n".join(_top(name, fabric, modules, clock, style))
    structure = [_WAIVE_OPEN, top, _WAIVE_OPEN_ENDS] if "()" in top else [top]
    if ".clk(" not in top:
        structure = [_WAIVE_CLOCK, *structure, _WAIVE_UNUSED_ENDS]
    parts = [*modules.texts, _WAIVE_UNUSED_ENDS, *structure]
    if len(fabric.clocks) > 1:
        parts = [_WAIVE_CROSSING, *parts, _WAIVE_CROSSING_ENDS]
    parts = [heading, _WAIVE, *parts, _WAIVE_ENDS]
    external = modules.memories if style.memories == "external" else ()
    return _Exported("\n\n".join(parts) + "\n", paths, external)


def write_verilog(
    fabric: Fabric | FabricComponent,
    path: str | os.PathLike[str],
    name: str = "network",
    *,
    title: str = "",
    clock: Clock = _OWN,
    target: str = "lut4",
    style: Style = _PLAIN,
    parameter: bool = False,
    core: bool = False,
    period: float | Mapping[str, float] = PERIOD,
) -> dict[str, Any]:
    """Write a network's Verilog to a file, its ports as JSON to `<path>.json` beside it, and its
    timing constraints: `net.sdc` and, for Vivado, `net.xdc` beside `net.v`.

    Either all files are written, or none. Nothing is written beside standard output (`-`), a device
    or a FIFO.

    Parameters
    ----------
    fabric : Fabric or FabricComponent
        A network, or its fabric.
    path : path-like
        The file; `-` is standard output.
    name : str
        Name of the top module, and prefix of all others.
    title : str
        A few words that describe the module, for the comment at the head.
    clock : Clock
        Names of clock and reset, and how the reset works.
    target : str
        What it is made for: one of `hdl.export.target.TARGETS`.
    style : Style
        What memories and resets are.
    parameter : bool
        Whether the width of payloads is a parameter of the modules, `PAYLOAD`; the lists of ports
        have its default.
    core : bool
        Whether to write files for projects too, beside `net.v`: a FuseSoC core `net.core`, an
        IP-XACT component `net.xml`, a SystemVerilog wrapper with arrays of interfaces `net.sv`, and
        an instantiation template `net.veo`. External memories are named there as a file
        `net_memories.v`, which is not written.
    period : float or Mapping[str, float]
        The period of the clocks in the constraints, in ns; or of each clock, by its port.

    Returns
    -------
    dict
        A summary: `top`, `target`, `modules` (number of modules of cells), `cells`, `ports` (see
        `port_list`), `paths`: outputs (`to`) that depend within a cycle on inputs (`from`), and
        `external`: modules of memories that another file must have.

    Raises
    ------
    ValueError
        If a name is no Verilog identifier or is taken, a pin of the fabric has no driver, a file
        can't be written, a core file can't name the Verilog file, or the payload can't be a
        parameter.

    Examples
    --------
    >>> from multicube import build, write_verilog
    >>> summary = write_verilog(build("cube", ports=4), "net.v")
    >>> summary["top"], summary["cells"]
    ('network', 4)
    """
    check_flag("Parameter", parameter)
    if parameter:
        _payload(fabric)
    given, fabric = fabric, _fabric_of(fabric)
    check_path("Output", path)
    check_flag("Core", core)
    made_for = find_target(target)
    clock = _styled(clock, style)
    clocks = {domain: clock.of(domain).ports for domain in fabric.clocks}
    periods = check_periods(period, {domain: ports[0] for domain, ports in clocks.items()})
    path = os.fspath(path)
    regular = is_regular(path)
    suffixes = [*(_CORE if core else ()), *((".sdc", ".xdc") if regular else ())]
    beside = {suffix: _beside(path, suffix) for suffix in suffixes}
    for output in (path, *([f"{path}.json"] if regular else []), *beside.values()):
        check_output(output)
    own_text = (name, title, clock, made_for, style)
    text, paths, external = _exported(fabric, *own_text, alike=parameter)
    if parameter:
        text = _with_payload(given, text, own_text)
    summary: dict[str, Any] = {
        "top": name,
        "target": target,
        "modules": len(fabric.types()),
        "cells": len(fabric.cells),
        "ports": port_list(fabric, clock),
        "paths": paths.listed(),
        "external": list(external),
    }
    own = (name, fabric, clocks, periods, paths.asynchronous)
    file, ports, said = FilePath(path).name, summary["ports"], title or _UNTITLED
    plain = frozenset(port for pair in clocks.values() for port in pair)
    made = {
        ".core": lambda: core_text(
            name, file, description=said, target=made_for, external=external
        ),
        ".xml": lambda: ip_xact_text(
            name, _file_types(file, beside, external), ports, description=said
        ),
        ".sv": lambda: wrapper_text(name, ports, plain),
        ".veo": lambda: instantiation(name, ports),
        ".sdc": lambda: constraints(*own),
        ".xdc": lambda: constraints(*own, vivado=True),
    }
    texts = {path: text, **{beside[suffix]: made[suffix]() for suffix in suffixes}}
    if regular:
        texts[f"{path}.json"] = json.dumps(summary, indent=1) + "\n"
    with ExitStack() as files:
        for output, text in texts.items():
            files.enter_context(whole_file(output)).write_text(text)
    return summary


_CORE = (".core", ".xml", ".sv", ".veo")
"""The suffixes of files with which projects and tools use a module."""

_KINDS = {
    ".core": "a core file",
    ".xml": "an IP-XACT file",
    ".sv": "a wrapper",
    ".veo": "a template",
    ".sdc": "constraints",
    ".xdc": "constraints",
}


def _file_types(verilog: str, beside: Mapping[str, str], external: Sequence[str]) -> dict[str, str]:
    """The types of files for IP-XACT."""
    types = {".sv": "systemVerilogSource", ".sdc": "SDC", ".xdc": "xdc"}
    others = {FilePath(beside[suffix]).name: type_ for suffix, type_ in types.items()}
    sources = [verilog, memories_file(verilog)] if external else [verilog]
    return {**dict.fromkeys(sources, "verilogSource"), **others}


def _beside(path: str, suffix: str) -> str:
    """The path of a file beside a Verilog file.

    Raises
    ------
    ValueError
        If it would be that of the Verilog file, or is for a core that can't name the Verilog file.
    """
    name = FilePath(path).name
    if suffix in _CORE:
        if not is_regular(path):
            raise InvalidValue(f"A core file needs a Verilog file that it can name, not {path}")
        if not re.fullmatch(r"[A-Za-z0-9_.+-]+", name):
            raise InvalidValue(
                "A core file can only name a file of ASCII letters, digits, '_', '.', '+' and '-', "
                f"not {shown(name)}"
            )
    if FilePath(path).suffix == suffix:
        raise InvalidValue(
            f"Output {path} would be taken for {_KINDS[suffix]}: it must not end in {suffix}"
        )
    return os.fspath(FilePath(path).with_suffix(suffix)) if name else path + suffix
