"""A harness of registers around a design, with which its speed can be measured.

Every input bit of the design comes from a flip-flop of a scan-in chain. Every output bit goes into
a flip-flop, and from there into a scan-out chain. The pins `clk`, `rst` (if the design has a
reset), `scan_in` and `scan_out` therefore suffice for any number of ports; further clocks have pins
too, `clk_0` and so on, but the chains have the clock `clk`.

    taken  <= taken shifted up by one, scan_in comes in
    caught <= outputs of the design
    gone   <= (gone shifted up by one, the last bit of taken comes in) XOR caught
    scan_out = the last bit of gone

- All paths through the design run from register to register. The flip-flop that captures an output
  has nothing in front of it, not even a multiplexer, so only the design is measured. The
  exclusive-or is behind the capturing register; it is the longest path of the harness.
- Nothing can be optimised away: each bit of `caught` affects `scan_out` in a later cycle, and each
  bit of `taken` can have any value. Besides, the design is mapped to primitives on its own, before
  the harness is put around it.
- The reset comes from a pin. Paths from pins are not timed.

Each bit of the harness is an instance of one of two small modules, which are synthesised separately
(`synth_* -noflatten`): Yosys passes recurse along chains, and some thousand flip-flops would
exhaust the stack.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...hdl.fabric.errors import InvalidValue

__all__ = [
    "HARNESS",
    "SUBJECT",
    "Port",
    "Roles",
    "find_roles",
    "harness_text",
    "input_of",
    "ports_of",
]

SUBJECT = "multicube_subject"
"""Name of the module that is measured."""

HARNESS = "multicube_harness"
"""Name of the module around it."""

_CLOCKS = ("clk", "clock", "aclk", "ck", "sysclk", "clk_i", "clock_i", "i_clk", "i_clock")
_RESETS = (
    *("rst", "reset", "arst", "areset", "srst"),
    *("rst_n", "rstn", "rst_b", "reset_n", "resetn", "nrst", "nreset", "aresetn", "arst_n"),
    *("rst_i", "rst_ni", "reset_i", "reset_ni", "arst_ni", "i_rst", "i_reset", "i_rst_n"),
)


class Port(NamedTuple):
    """A port of a module: `direction` is "input" or "output", `width` in bits."""

    name: str
    direction: str
    width: int


class Roles(NamedTuple):
    """The roles of a module's ports. There may be no clock and no reset, or further clocks."""

    clock: str | None
    reset: str | None
    inputs: list[Port]
    outputs: list[Port]
    other_clocks: Sequence[str] = ()

    @property
    def bits(self) -> tuple[int, int]:
        """Number of bits of all inputs, and of all outputs."""
        return sum(p.width for p in self.inputs), sum(p.width for p in self.outputs)


def input_of(roles: Roles, net: str) -> str:
    """The input that a net of the chain drives, such as `taken[7]`; or the net itself."""
    if bit := re.fullmatch(r"taken\[(\d+)\]_?", net):
        last = 0
        for port in roles.inputs:
            last += port.width
            if int(bit[1]) <= last:
                return port.name
    return net


def ports_of(netlist: Mapping[str, Any], module: str) -> list[Port]:
    """The ports of a module in a netlist that Yosys wrote as JSON.

    Raises
    ------
    ValueError
        If a port is bidirectional.
    """
    ports = []
    for name, port in netlist["modules"][module]["ports"].items():
        if port["direction"] not in ("input", "output"):
            raise InvalidValue(f"Port {name} is an {port['direction']}; inputs and outputs only")
        ports.append(Port(name, port["direction"], len(port["bits"])))
    return ports


def find_roles(
    ports: Sequence[Port],
    clock: str | None = None,
    reset: str | None = None,
    other_clocks: Sequence[str] = (),
) -> Roles:
    """Find the clock and the reset among the ports.

    Parameters
    ----------
    ports : Sequence[Port]
    clock, reset : str, optional
        Their names; empty if there is none. If not given, usual names are looked for.
    other_clocks : Sequence[str]
        Names of further clocks.

    Raises
    ------
    ValueError
        If a name is not an input of one bit, several ports could be meant, or there is no output.
    """
    for other in other_clocks:
        _role("other clock", ports, other, ())
    clock = _role("clock", [p for p in ports if p.name not in other_clocks], clock, _CLOCKS)
    reset = _role("reset", ports, reset, _RESETS)
    if clock is not None and clock == reset:
        raise InvalidValue(f"Clock and reset must be two ports, not both {clock}")
    outputs = [port for port in ports if port.direction == "output"]
    if not outputs:
        raise InvalidValue(
            "A module without outputs can't be measured: all of it is optimised away"
        )
    known = (clock, reset, *other_clocks)
    others = [p for p in ports if p.direction == "input" and p.name not in known]
    return Roles(clock, reset, others, outputs, tuple(other_clocks))


def _role(what: str, ports: Sequence[Port], given: str | None, usual: Sequence[str]) -> str | None:
    if given == "":
        return None
    names = [port.name for port in ports if port.direction == "input" and port.width == 1]
    if given is not None:
        if given not in names:
            allowed = ", ".join(names) or "there is none"
            raise InvalidValue(
                f"{what.capitalize()} must be an input of one bit ({allowed}), not {given!r}"
            )
        return given
    found = [name for name in names if name.lower() in usual]
    if len(found) > 1:
        raise InvalidValue(f"Name the {what} with --{what}: it could be {' or '.join(found)}")
    return found[0] if found else None


def harness_text(roles: Roles) -> str:
    """Verilog of the harness, and of an empty module in place of the design."""
    others = {f"clk_{n}": name for n, name in enumerate(roles.other_clocks)}
    ends = {"clk": roles.clock, "rst": roles.reset, **others}
    ports = [f"input \\{name} " for name in ends.values() if name is not None]
    links = [f".\\{name} ({pin})" for pin, name in ends.items() if name is not None]
    for group, wires, first in ((roles.inputs, "taken", 1), (roles.outputs, "made", 0)):
        low = first
        for name, direction, width in group:
            ports.append(f"{direction} [{width - 1}:0] \\{name} ")
            links.append(f".\\{name} ({wires}[{low + width - 1}:{low}])")
            low += width
    n, m = roles.bits
    chain = f"[{n - 1}:0] (.clk(clk), .i(taken[{n - 1}:0]), .o(taken[{n}:1]));"
    return _HARNESS.format(
        ports=",\n  ".join(ports),
        links=",\n    ".join(links),
        pins="".join(f"  input {pin},\n" for pin in (*(["rst"] * bool(roles.reset)), *others)),
        chain=f"  {HARNESS}_input scan_in_bits {chain}\n" if n else "",
        n=n,
        m=m,
        last=m - 1,
    )


_HARNESS = f"""\
(* blackbox *)
module {SUBJECT} (
  {{ports}}
);
endmodule

module {HARNESS}_input (input clk, input i, output reg o);
  always @(posedge clk) o <= i;
endmodule

module {HARNESS}_output (input clk, input made, input i, output reg o);
  reg caught;
  always @(posedge clk) begin
    caught <= made;
    o <= i ^ caught;
  end
endmodule

module {HARNESS} (
  input clk,
{{pins}}  input scan_in,
  output scan_out
);
  wire [{{n}}:0] taken;
  wire [{{m}}:0] gone;
  wire [{{last}}:0] made;
  assign taken[0] = scan_in;
  assign gone[0] = taken[{{n}}];
  assign scan_out = gone[{{m}}];
{{chain}}  {HARNESS}_output scan_out_bits [{{last}}:0] (
    .clk(clk), .made(made), .i(gone[{{last}}:0]), .o(gone[{{m}}:1])
  );
  {SUBJECT} subject (
    {{links}}
  );
endmodule
"""
