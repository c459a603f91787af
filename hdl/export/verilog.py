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
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from ..fabric.checks import check_flag, check_kind, check_path, shown
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.fabric_component import FabricComponent
from ..support.output_file import check_output, is_regular, whole_file
from ..support.printable import printable
from .cell_modules import PLAIN_STYLE, CellModules
from .combinational import FabricPaths, fabric_paths
from .constraints import PERIOD, check_periods, constraints
from .fusesoc import core_text, memories_file
from .ip_xact import ip_xact_text
from .parametric import PARAMETER, of_any_width, with_parameter
from .style import Style
from .target import Target, find_target
from .top_module import UNTITLED, heading, top_module
from .top_ports import PLAIN_CLOCK, Clock, port_list
from .verilog_names import check_name, net_name
from .wrapper import instantiation, wrapper_text

__all__ = ["verilog_text", "write_verilog"]


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


def _paths(fabric: Fabric, modules: CellModules, clock: Clock, style: Style) -> FabricPaths:
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
    clock: Clock = PLAIN_CLOCK,
    target: str = "lut4",
    style: Style = PLAIN_STYLE,
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
    payload = _payload(fabric) if parameter else None
    own = (name, title, _styled(clock, style), find_target(target), style)
    text = _exported(_fabric_of(fabric), *own, parametric=parameter).text
    return text if payload is None else _with_payload(payload, text, own)


class _Payload(NamedTuple):
    """The width of a network's payloads, and its fabric with payloads of a width, built once."""

    width: int
    fabric: Callable[[int], Fabric]


def _payload(network: Fabric | FabricComponent) -> _Payload:
    """The payloads of a network whose width can be a parameter."""
    own = getattr(network, "parameters", {}).get("payload")
    if not isinstance(network, FabricComponent) or not isinstance(own, int):
        raise InvalidValue(
            "Only a network's payload that is a number of bits can be a parameter, "
            f"not that of {shown(network)}"
        )

    @cache
    def fabric(width: int) -> Fabric:
        return (network if width == own else network.altered(payload=width)).fabric

    return _Payload(own, fabric)


def _with_payload(payload: _Payload, text: str, own: tuple[str, str, Clock, Target, Style]) -> str:
    """The Verilog of a network, with the width of payloads as a parameter."""

    def wider(width: int) -> str:
        return _exported(payload.fabric(width), *own, parametric=True).text

    return with_parameter(payload.width, text, wider)


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
    parametric: bool = False,
) -> _Exported:
    """The Verilog; if `parametric`, its text is the same for all widths but for numbers."""
    check_kind("Title", title, str, "a text")
    _check_names(name, fabric, clock)
    fabric.check()
    modules = CellModules(name, fabric, target, style, parametric)
    title = " ".join(title.split())
    if title != printable(title):
        raise InvalidValue(f"Title must be a text, not {shown(title)}")
    paths = _paths(fabric, modules, clock, style)
    head = heading(name, fabric, title, clock, target, style, paths, modules.memories)
    top = "\n".join(top_module(name, fabric, modules, clock, style))
    structure = [_WAIVE_OPEN, top, _WAIVE_OPEN_ENDS] if "()" in top else [top]
    if ".clk(" not in top:
        structure = [_WAIVE_CLOCK, *structure, _WAIVE_UNUSED_ENDS]
    parts = [*modules.texts, _WAIVE_UNUSED_ENDS, *structure]
    if len(fabric.clocks) > 1:
        parts = [_WAIVE_CROSSING, *parts, _WAIVE_CROSSING_ENDS]
    parts = ["\n".join(head), _WAIVE, *parts, _WAIVE_ENDS]
    external = modules.memories if style.memories == "external" else ()
    return _Exported("\n\n".join(parts) + "\n", paths, external)


def write_verilog(
    fabric: Fabric | FabricComponent,
    path: str | os.PathLike[str],
    name: str = "network",
    *,
    title: str = "",
    clock: Clock = PLAIN_CLOCK,
    target: str = "lut4",
    style: Style = PLAIN_STYLE,
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
        Whether the width of payloads is a parameter of the modules, `PAYLOAD`; the list of ports
        has its default.
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
        A summary: `top`, `target`, `modules` (number of modules of cells), `cells`, `parameters`
        (of the module, with their defaults), `ports` (see `port_list`), `paths`: outputs (`to`)
        that depend within a cycle on inputs (`from`), and `external`: modules of memories that
        another file must have.

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
    payload = _payload(fabric) if parameter else None
    parameters = {PARAMETER: payload.width} if payload else {}
    fabric = _fabric_of(fabric)
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
    text, paths, external = _exported(fabric, *own_text, parametric=parameter)
    if payload:
        text = _with_payload(payload, text, own_text)
    summary: dict[str, Any] = {
        "top": name,
        "target": target,
        "modules": len(fabric.types()),
        "cells": len(fabric.cells),
        "parameters": parameters,
        "ports": port_list(fabric, clock),
        "paths": paths.listed(),
        "external": list(external),
    }
    own = (name, fabric, clocks, periods, paths.asynchronous)
    file, ports, said = FilePath(path).name, summary["ports"], title or UNTITLED

    def of_ports(text: Callable[[Sequence[Mapping[str, Any]]], str]) -> str:
        if payload is None:
            return text(ports)
        fabric_of = payload.fabric
        return of_any_width(payload.width, lambda width: text(port_list(fabric_of(width), clock)))

    plain = frozenset(port for pair in clocks.values() for port in pair)
    made = {
        ".core": lambda: core_text(
            name, file, description=said, target=made_for, external=external
        ),
        ".xml": lambda: of_ports(
            lambda ports: ip_xact_text(
                name, _file_types(file, beside, external), ports, parameters, description=said
            )
        ),
        ".sv": lambda: of_ports(lambda ports: wrapper_text(name, ports, plain, parameters)),
        ".veo": lambda: instantiation(name, ports, parameters),
        ".sdc": lambda: constraints(*own),
        ".xdc": lambda: constraints(*own, vivado=True),
    }
    texts = {path: text, **{beside[suffix]: made[suffix]() for suffix in suffixes}}
    if regular:
        texts[f"{path}.json"] = json.dumps(summary, indent=1) + "\n"
    with ExitStack() as files:
        for output, text in texts.items():
            files.enter_context(whole_file(output)).write_text(text, "utf-8")
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
