"""The structural top module of an exported fabric, and the comment that describes it."""

from collections.abc import Iterator, Sequence

from amaranth.lib.wiring import In

from ..fabric.cell import Cell, Leaf
from ..fabric.fabric import Fabric
from ..fabric.pins import Path, Pin
from .cell_modules import CellModules, clock_ports
from .combinational import FabricPaths, pattern_of
from .style import RESETS, Style
from .target import Target
from .top_ports import Clock, port_list
from .verilog_names import bit_range, net_name, port_name

__all__ = ["UNTITLED", "heading", "top_module"]

UNTITLED = "an interconnection network"


def top_module(
    name: str, fabric: Fabric, modules: CellModules, clock: Clock, style: Style
) -> Iterator[str]:
    """The lines of the module that wires the cells."""
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
            for port, net in zip(clock_ports(cell.type, style), nets)
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


def heading(
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
    yield f"// Module {name}: {title or UNTITLED}."
    yield f"// Written by multicube: {_cells(fabric)}."
    yield f"// Made for {target.description} (--target {target.name})."
    yield "//"
    rows: dict[tuple[str, str, str], list[str]] = {}
    for port in port_list(fabric, clock):
        pattern = pattern_of(port["name"])
        fields = ", ".join(
            f"{field} [{at['offset'] + at['width'] - 1}:{at['offset']}]"
            for field, at in port.get("fields", {}).items()
            if at["width"]
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
    yield from paths.comments()
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
