"""Export as Verilog: each distinct module once, and a structural top that wires the cells.

Amaranth converts every submodule anew, however many are alike; a network of thousands of boxes
would take minutes and hundreds of megabytes. Here a network's text grows by a few lines a cell.

A port's name is its path in the signature joined by two underscores: `i__3__payload` is the
payload of input stream 3. The top also has `clk` (rising edge) and `rst` (synchronous, high).
"""

import json
import os
import re
from collections.abc import Iterator

from amaranth.back import verilog
from amaranth.lib import data
from amaranth.lib.wiring import In

from .fabric import Cell, Fabric, Leaf, Path, Pin
from .output_file import whole_file

__all__ = ["port_list", "verilog_text", "write_verilog"]


def _flat(path: Path) -> str:
    return "__".join(map(str, path))


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def port_list(fabric: Fabric) -> list[dict[str, object]]:
    """The ports of a fabric's Verilog module.

    Returns
    -------
    list of dict
        Of each port `name`, `direction` ("input" or "output") and `width` in bits; where its shape
        is a layout, `fields` maps the name of each field to its lowest bit and its width.
    """
    ports: list[dict[str, object]] = [
        {"name": name, "direction": "input", "width": 1} for name in ("clk", "rst")
    ]
    for path, leaf in fabric.boundary.items():
        direction = "input" if leaf.flow == In else "output"
        port: dict[str, object] = {
            "name": _flat(path),
            "direction": direction,
            "width": leaf.width,
        }
        if isinstance(leaf.shape, data.Layout):
            port["fields"] = {
                str(name): {"offset": field.offset, "width": field.width}
                for name, field in leaf.shape
            }
        ports.append(port)
    return ports


class _Modules:
    """The text of each distinct module, its name, and the names of its ports."""

    def __init__(self, top: str, fabric: Fabric) -> None:
        self.texts: list[str] = []
        self._of: dict[object, tuple[str, set[str]]] = {}
        names: set[str] = set()
        for type_, cells in fabric.types().items():
            # Memory contents are part of a module's text: cells that differ in them share none.
            for contents in dict.fromkeys(_frozen(cell) for cell in cells):
                name, number = f"{top}_{type_.name}", 1
                while name in names:
                    number += 1
                    name = f"{top}_{type_.name}_{number}"
                names.add(name)
                text = verilog.convert(
                    type_.build(dict(contents)),
                    name=name,
                    emit_src=False,
                    strip_internal_attrs=True,
                )
                header = re.search(rf"^module {name}\((.*?)\);", text, re.MULTILINE | re.DOTALL)
                assert header is not None, f"Yosys wrote no module {name}"
                ports = set(header[1].replace(",", " ").split())
                self._of[type_, contents] = name, ports
                self.texts.append(text.strip())

    def of(self, cell: Cell) -> tuple[str, set[str]]:
        return self._of[cell.type, _frozen(cell)]


def _frozen(cell: Cell) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple(sorted(cell.contents.items()))


def _wire(pin: Pin) -> str:
    """The net that a driving leaf drives: a port of the top, or a wire named after the cell."""
    return _flat(pin.path) if pin.cell is None else f"{pin.cell}__{_flat(pin.path)}"


def _top(name: str, fabric: Fabric, modules: _Modules) -> Iterator[str]:
    ports = {_flat(path): leaf for path, leaf in fabric.boundary.items() if leaf.width}
    yield f"module {name} ("
    yield "  input clk,\n  input rst" + ("," if ports else "")
    for index, (port, leaf) in enumerate(ports.items()):
        direction = "input" if leaf.flow == In else "output"
        comma = "," if index < len(ports) - 1 else ""
        yield f"  {direction} {_range(leaf.width)}{port}{comma}"
    yield ");"
    read = set(fabric.drivers.values())
    instances = []
    for cell in fabric.cells.values():
        module, present = modules.of(cell)
        connections = [f".{port}({port})" for port in ("clk", "rst") if port in present]
        for path, leaf in cell.type.leaves.items():
            if _flat(path) not in present:
                continue
            net = _connection(fabric, cell, path, leaf, read)
            connections.append(f".{_flat(path)}({net})")
            if leaf.flow != In and net:
                yield f"  wire {_range(leaf.width)}{net};"
        joined = ",\n    ".join(connections)
        instances.append(f"  {module} {cell.name} (\n    {joined}\n  );")
    yield from instances
    for path, leaf in fabric.boundary.items():
        if leaf.flow != In and leaf.width:
            yield f"  assign {_flat(path)} = {_wire(fabric.drivers[Pin(None, path)])};"
    yield "endmodule"


def _connection(fabric: Fabric, cell: Cell, path: Path, leaf: Leaf, read: set[Pin]) -> str:
    pin = Pin(cell.name, path)
    if leaf.flow != In:
        return _wire(pin) if pin in read else ""
    if path[0] in cell.straps:
        return f"{leaf.width}'d{cell.straps[str(path[0])]}"
    return _wire(fabric.drivers[pin])


def verilog_text(fabric: Fabric, name: str = "network") -> str:
    """A fabric as plain Verilog (2001), for Yosys, Verilator, Icarus and vendors' tools.

    Parameters
    ----------
    fabric : Fabric
    name : str
        Name of the top module, and prefix of all others.

    Raises
    ------
    ValueError
        If the name is not a Verilog identifier, or a pin of the fabric has no driver.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"Module name must be a Verilog identifier, not {name!r}")
    fabric.check()
    modules = _Modules(name, fabric)
    return "\n\n".join([*modules.texts, "\n".join(_top(name, fabric, modules))]) + "\n"


def write_verilog(
    fabric: Fabric, path: str | os.PathLike[str], name: str = "network"
) -> dict[str, object]:
    """Write a fabric's Verilog to a file, and its ports as JSON to `<path>.json` beside it.

    Parameters
    ----------
    fabric : Fabric
        Of a network: `network.fabric`.
    path : path-like
    name : str
        Name of the top module.

    Returns
    -------
    dict
        What was written: `top`, `modules` (number of modules of cells), `cells`, and `ports`.

    Raises
    ------
    ValueError
        As `verilog_text`, or if the folder does not exist.
    """
    with whole_file(path) as verilog_file, whole_file(f"{os.fspath(path)}.json") as ports_file:
        verilog_file.write_text(verilog_text(fabric, name))
        summary = {
            "top": name,
            "modules": len(fabric.types()),
            "cells": len(fabric.cells),
            "ports": port_list(fabric),
        }
        ports_file.write_text(json.dumps(summary, indent=1) + "\n")
    return summary
