"""What stands around a design so that its speed can be measured: a harness of registers.

Every input bit of the design comes from a flip-flop of a scan-in chain, every output bit goes into
a flip-flop, and from there into a scan-out chain: pins `clk`, `rst` (if the design has a reset),
`scan_in` and `scan_out` are enough for any number of ports.

    given  <= given shifted up by one, scan_in comes in
    caught <= outputs of the design
    gone   <= (gone shifted up by one, the last bit of given comes in) XOR caught
    scan_out = the last bit of gone

- All paths through the design run from a register to a register. The flip-flop that catches an
  output has nothing in front of it, not even a multiplexer: what is measured is the design alone.
  The exclusive-or stands behind the catching register; it is the longest path of the harness.
- Nothing can be optimised away: each bit of `caught` changes what leaves by `scan_out` so many
  cycles later, and each bit of `given` can be anything. Besides, the design is mapped to primitives
  on its own, before the harness is put around it.
- The reset comes from a pin. Paths from pins are not timed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["HARNESS", "SUBJECT", "Port", "Roles", "find_roles", "harness_text", "ports_of"]

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
    """What the ports of a module are for. There may be no clock, and no reset."""

    clock: str | None
    reset: str | None
    inputs: list[Port]
    outputs: list[Port]

    @property
    def bits(self) -> tuple[int, int]:
        """All bits of the inputs, and of the outputs."""
        return sum(p.width for p in self.inputs), sum(p.width for p in self.outputs)


def ports_of(netlist: Mapping[str, Any], module: str) -> list[Port]:
    """The ports of a module in a netlist that Yosys wrote as JSON.

    Raises
    ------
    ValueError
        If a port goes both ways.
    """
    ports = []
    for name, port in netlist["modules"][module]["ports"].items():
        if port["direction"] not in ("input", "output"):
            raise ValueError(f"Port {name} is an {port['direction']}; inputs and outputs only")
        ports.append(Port(name, port["direction"], len(port["bits"])))
    return ports


def find_roles(ports: Sequence[Port], clock: str | None = None, reset: str | None = None) -> Roles:
    """Tell the clock and the reset from the other ports.

    Parameters
    ----------
    ports : Sequence[Port]
    clock, reset : str, optional
        Their names; empty if there is none. Looked for among usual names if not given.

    Raises
    ------
    ValueError
        If a name is not an input of one bit, several could be meant, or there are no outputs.
    """
    clock = _role("clock", ports, clock, _CLOCKS)
    reset = _role("reset", ports, reset, _RESETS)
    if clock is not None and clock == reset:
        raise ValueError(f"Clock and reset must be two ports, not both {clock}")
    outputs = [port for port in ports if port.direction == "output"]
    if not outputs:
        raise ValueError("A module without outputs can't be measured: nothing of it is needed")
    others = [p for p in ports if p.direction == "input" and p.name not in (clock, reset)]
    return Roles(clock, reset, others, outputs)


def _role(what: str, ports: Sequence[Port], given: str | None, usual: Sequence[str]) -> str | None:
    if given == "":
        return None
    names = [port.name for port in ports if port.direction == "input" and port.width == 1]
    if given is not None:
        if given not in names:
            allowed = ", ".join(names) or "none: there are none"
            raise ValueError(
                f"{what.capitalize()} must be an input of one bit ({allowed}), not {given!r}"
            )
        return given
    found = [name for name in names if name.lower() in usual]
    if len(found) > 1:
        raise ValueError(f"Name the {what} with --{what}: it could be {' or '.join(found)}")
    return found[0] if found else None


def harness_text(roles: Roles) -> str:
    """Verilog of the harness, and of an empty module that stands for the design."""
    taken, made = roles.bits
    pins = [name for name, role in (("clk", roles.clock), ("rst", roles.reset)) if role is not None]
    clocked = dict(zip(("clk", "rst"), (roles.clock, roles.reset)))
    stub = [f"input \\{clocked[pin]} " for pin in pins]
    links = [f".\\{clocked[pin]} ({pin})" for pin in pins]
    for ports, wires in ((roles.inputs, "given"), (roles.outputs, "made")):
        low = 0
        for name, direction, width in ports:
            stub.append(f"{direction} [{width - 1}:0] \\{name} ")
            links.append(f".\\{name} ({wires}[{low + width - 1}:{low}])")
            low += width
    reset = "  input rst,\n" if roles.reset is not None else ""
    given = ""
    if taken:
        given = (
            f"  reg [{taken - 1}:0] given;\n  always @(posedge clk) given <= {{given, scan_in}};\n"
        )
    last = f"given[{taken - 1}]" if taken else "scan_in"
    comma = ",\n  "
    return f"""\
(* blackbox *)
module {SUBJECT} (
  {comma.join(stub)}
);
endmodule

module {HARNESS} (
  input clk,
{reset}  input scan_in,
  output scan_out
);
{given}  wire [{made - 1}:0] made;
  reg [{made - 1}:0] caught, gone;
  always @(posedge clk) begin
    caught <= made;
    gone <= {{gone, {last}}} ^ caught;
  end
  assign scan_out = gone[{made - 1}];
  {SUBJECT} subject (
    {(comma + "  ").join(links)}
  );
endmodule
"""
