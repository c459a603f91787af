"""Memories as modules of their own, which a design for standard cells can replace.

Modules have one of a few names, whatever the size of the memory, and parameters: `memory_1wr` has a
write port and a reader. Each writes at the rising edge of `w_clk`; a reader `r` shows its row
within the cycle, `s` in the next one, and `t` also what is just being written there. With several
readers there are several letters: `memory_1wrs`.

    #(WIDTH, DEPTH, ADDRESS, GRANULE)
    w_clk, w0_en [WIDTH / GRANULE], w0_addr [ADDRESS], w0_data [WIDTH]
    r0_addr, r0_data                of a reader `r`
    r0_clk, r0_en, r0_addr, r0_data     of others
"""

import re
from collections.abc import Iterator, Sequence

from amaranth.hdl import ClockSignal, Instance, Module, Shape, Value
from amaranth.lib.memory import Memory

from ..fabric.errors import InvalidValue
from .style import Style

__all__ = ["memory_part", "with_memories"]

_WRITERS, _COMBINATIONAL, _SYNCHRONOUS, _TRANSPARENT = "w", "r", "s", "t"


def memory_part(memory: Memory, style: Style) -> object:
    """What stands for a memory in a module: itself, an instance, or logic.

    Raises
    ------
    ValueError
        If its contents would be lost.
    """
    rows = [Value.cast(row).value if isinstance(row, Value) else row for row in memory.data.init]
    if not memory.write_ports:
        return memory.elaborate(None) if style.initial else _table(memory)
    contents = any(_number(memory, row) for row in rows)
    if not style.initial and contents:
        raise InvalidValue("Without initial values a memory that begins with contents is not right")
    domains = {port.domain for port in memory.write_ports}
    here = style.memories == "inline" or contents or memory.depth < 2
    if here or len(domains) > 1 or not _width(memory):
        return memory.elaborate(None)
    (domain,) = domains
    kinds = "".join(_reader(port, memory) for port in memory.read_ports)
    width, writers = _width(memory), memory.write_ports
    granule = width // max(1, len(writers[0].en))
    m = Module()
    pins: list[tuple[str, str, object]] = [("i", "w_clk", ClockSignal(domain))]
    for number, port in enumerate(writers):
        pins += [
            ("i", f"w{number}_en", port.en),
            ("i", f"w{number}_addr", port.addr),
            ("i", f"w{number}_data", Value.cast(port.data)),
        ]
    for number, (kind, reader) in enumerate(zip(kinds, memory.read_ports)):
        if kind != _COMBINATIONAL:
            pins += [
                ("i", f"r{number}_clk", ClockSignal(reader.domain)),
                ("i", f"r{number}_en", reader.en),
            ]
        pins += [
            ("i", f"r{number}_addr", reader.addr),
            ("o", f"r{number}_data", Value.cast(reader.data)),
        ]
    m.submodules.memory = Instance(
        f"memory_{len(writers)}{_WRITERS}{kinds}",
        ("p", "WIDTH", width),
        ("p", "DEPTH", memory.depth),
        ("p", "ADDRESS", len(writers[0].addr)),
        ("p", "GRANULE", granule),
        *pins,
    )
    return m


def _width(memory: Memory) -> int:
    return Shape.cast(memory.shape).width


def _number(memory: Memory, row: object) -> int:
    """A row of the contents as a number."""
    constant = Value.cast(memory.shape.const(row)) if hasattr(memory.shape, "const") else None
    return int(row) if constant is None else constant.value  # type: ignore[call-overload]


def _reader(port: object, memory: Memory) -> str:
    if port.domain == "comb":  # type: ignore[attr-defined]
        return _COMBINATIONAL
    return _TRANSPARENT if port.transparent_for else _SYNCHRONOUS  # type: ignore[attr-defined]


def _table(memory: Memory) -> Module:
    """A memory that is never written, as logic."""
    m = Module()
    for port in memory.read_ports:
        with m.Switch(port.addr):
            for address, row in enumerate(memory.data.init):
                with m.Case(address):
                    m.d[port.domain] += Value.cast(port.data).eq(_number(memory, row))
    return m


_INSTANCE = re.compile(r"^  (memory_(\d+)w([rst]*)) #\(", re.MULTILINE)


def with_memories(
    texts: Sequence[str], prefix: str, style: Style
) -> tuple[list[str], tuple[str, ...]]:
    """The modules of the memories in some modules, and these; their names have a prefix. Beside
    them the names of the memories' modules, written or not."""
    found = {each.groups() for text in texts for each in _INSTANCE.finditer(text)}
    modules = []
    if style.memories != "external":
        for kind, writers, readers in sorted(found):
            gate = f"{prefix}_clock_gate" if style.memories == "gated" and writers == "1" else ""
            lines = _module(f"{prefix}_{kind}", int(writers), readers, gate, style.initial)
            modules.append("\n".join(lines))
            if gate and not any(gate in text for text in modules[:-1]):
                modules.append(_GATE.format(name=gate))
    names = tuple(f"{prefix}_{kind}" for kind, *_ in sorted(found))
    return [*modules, *(_INSTANCE.sub(rf"  {prefix}_\1 #(", text) for text in texts)], names


_GATE = """\
// The clock in those cycles in which `en` is 1. Libraries have a cell for it.
module {name} (
  input clk,
  input en,
  output gated
);
  reg open;
  /* verilator lint_off LATCH */
  always @*
    if (!clk) open = en;
  /* verilator lint_on LATCH */
  assign gated = clk & open;
endmodule"""


def _module(name: str, writers: int, readers: str, gate: str, initial: bool) -> Iterator[str]:
    ports = ["input w_clk"]
    for number in range(writers):
        ports += [
            f"input [WIDTH / GRANULE - 1:0] w{number}_en",
            f"input [ADDRESS - 1:0] w{number}_addr",
            f"input [WIDTH - 1:0] w{number}_data",
        ]
    for number, kind in enumerate(readers):
        clocked = kind != _COMBINATIONAL
        ports += [f"input r{number}_clk", f"input r{number}_en"] if clocked else []
        out = "output reg" if clocked else "output"
        ports += [f"input [ADDRESS - 1:0] r{number}_addr", f"{out} [WIDTH - 1:0] r{number}_data"]
    yield f"module {name} #("
    yield "  parameter WIDTH = 1,\n  parameter DEPTH = 2,\n  parameter ADDRESS = 1,"
    yield "  parameter GRANULE = 1\n) ("
    yield ",\n".join(f"  {port}" for port in ports)
    yield ");"
    if _TRANSPARENT in readers:
        yield "  integer p;"
    yield from _gated(gate, initial) if gate else _plain(writers, initial)
    for number, kind in enumerate(readers):
        row = f"rows[r{number}_addr]"
        if gate:
            yield from _selected(number)
            row = f"r{number}_row"
        if kind == _COMBINATIONAL:
            yield f"  assign r{number}_data = {row};"
            continue
        yield f"  always @(posedge r{number}_clk)"
        yield f"    if (r{number}_en) begin"
        yield f"      r{number}_data <= {row};"
        if kind == _TRANSPARENT:
            for writer in range(writers):
                at = f"w{writer}_addr == r{number}_addr"
                part = "p * GRANULE +: GRANULE"
                yield "      for (p = 0; p < WIDTH / GRANULE; p = p + 1)"
                yield f"        if (w{writer}_en[p] && {at})"
                yield f"          r{number}_data[{part}] <= w{writer}_data[{part}];"
        yield "    end"
    yield "endmodule"


def _plain(writers: int, initial: bool) -> Iterator[str]:
    yield "  reg [WIDTH - 1:0] rows [0:DEPTH - 1];\n  integer part;"
    if initial:
        yield "  integer row;\n  initial"
        yield "    for (row = 0; row < DEPTH; row = row + 1) rows[row] = {WIDTH{1'b0}};"
    yield "  always @(posedge w_clk) begin"
    for number in range(writers):
        part = "part * GRANULE +: GRANULE"
        yield "    for (part = 0; part < WIDTH / GRANULE; part = part + 1)"
        yield f"      if (w{number}_en[part])"
        yield f"        rows[w{number}_addr][{part}] <= w{number}_data[{part}];"
    yield "  end"


def _gated(gate: str, initial: bool) -> Iterator[str]:
    part = "part * GRANULE +: GRANULE"
    yield "  wire [DEPTH * WIDTH - 1:0] all;"
    yield "  genvar row, part;\n  generate"
    yield "    for (row = 0; row < DEPTH; row = row + 1) begin : rows"
    yield "      localparam [ADDRESS - 1:0] AT = row;"
    yield "      reg [WIDTH - 1:0] value;"
    if initial:
        yield "      initial value = {WIDTH{1'b0}};"
    yield "      assign all[row * WIDTH +: WIDTH] = value;"
    yield "      for (part = 0; part < WIDTH / GRANULE; part = part + 1) begin : parts"
    yield "        wire written;"
    yield f"        {gate} gate (.clk(w_clk), .en(w0_en[part] && w0_addr == AT), .gated(written));"
    yield "        always @(posedge written)"
    yield f"          value[{part}] <= w0_data[{part}];"
    yield "      end\n    end\n  endgenerate"


def _selected(number: int) -> Iterator[str]:
    """The row that a reader selects."""
    row, at = f"r{number}_row", f"r{number}_at"
    yield f"  reg [WIDTH - 1:0] {row};\n  integer {at};"
    yield "  always @* begin"
    yield f"    {row} = {{WIDTH{{1'b0}}}};"
    yield f"    for ({at} = 0; {at} < DEPTH; {at} = {at} + 1)"
    yield f"      if (r{number}_addr == {at}[ADDRESS - 1:0])"
    yield f"        {row} = all[{at} * WIDTH +: WIDTH];"
    yield "  end"
