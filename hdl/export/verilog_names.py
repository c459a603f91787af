"""Names that every Verilog tool accepts."""

import re

from ..fabric.cell import SYNC
from ..fabric.checks import check_kind
from ..fabric.errors import InvalidValue
from ..fabric.pins import Path, Pin

__all__ = [
    "KEYWORDS",
    "check_name",
    "is_identifier",
    "legal_names",
    "net_name",
    "plain_name",
    "port_name",
]

_WORDS = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
checker class clocking cmos config const constraint context continue cover covergroup
coverpoint cross deassign default defparam design disable dist do edge else end endcase
endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface
endmodule endpackage endprimitive endprogram endproperty endsequence endspecify endtable
endtask enum event eventually expect export extends extern final first_match for force foreach
forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins
illegal_bins implements implies import incdir include initial inout input inside instance int
integer interconnect interface intersect join join_any join_none large let liblist library
local localparam logic longint macromodule matches medium modport module nand negedge nettype
new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed parameter
pmos posedge primitive priority program property protected pull0 pull1 pulldown pullup
pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime
ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always
s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
signed small soft solve specify specparam static string strong strong0 strong1 struct super
supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union
unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait
wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
"""

KEYWORDS = frozenset(_WORDS.split())
"""Reserved words of Verilog (IEEE 1364-2005) and SystemVerilog (IEEE 1800-2017, Annex B)."""


def is_identifier(name: str) -> bool:
    """Whether a name is valid in Verilog and SystemVerilog as it is, without escapes."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None and name not in KEYWORDS


def check_name(what: str, name: str) -> None:
    """Raise an error if a name is no text, a keyword, or not an identifier."""
    check_kind(what, name, str, "a text")
    if name in KEYWORDS:
        raise InvalidValue(f"{what} must not be the Verilog keyword {name!r}")
    if not is_identifier(name):
        raise InvalidValue(f"{what} must be a Verilog identifier, not {name!r}")


def port_name(path: Path) -> str:
    """The Verilog port of a leaf: its path, joined by two underscores.

    A keyword, such as `inside` of SystemVerilog, gets one more underscore behind it.
    """
    return plain_name("__".join(map(str, path)))


def net_name(pin: Pin) -> str:
    """The net that a driving leaf drives: a port of the top, or a wire named after the cell."""
    port = port_name(pin.path)
    return port if pin.cell is None else f"{pin.cell}__{port}"


def plain_name(name: str) -> str:
    """A name without the characters that only an escaped identifier has."""
    stem = re.sub(r"\W", "_", name, flags=re.ASCII)
    if is_identifier(stem):
        return stem
    return f"{stem}_" if stem in KEYWORDS else f"n{stem}"


def domain_port(domain: str, name: str) -> str:
    """A port for the clock or reset of a domain; Amaranth chooses the same name."""
    return name if domain == SYNC else f"{domain}_{name}"


def bit_range(width: int) -> str:
    """The range of a vector, before its name; nothing for a single bit."""
    return f"[{width - 1}:0] " if width > 1 else ""


def free_name(stem: str, taken: set[str]) -> str:
    """A name that is not taken, and is so from now on: the stem, or the stem and a number."""
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name


def legal_names(text: str) -> str:
    r"""Verilog text with each escaped identifier, such as `\ready$28 `, replaced by a plain one."""
    escaped = dict.fromkeys(re.findall(r"\\(\S+)(?=\s)", text))
    taken = set(re.findall(r"(?<![\\\w$])[A-Za-z_]\w*", text))
    plain = {name: free_name(plain_name(name), taken) for name in escaped}
    return re.sub(r"\\(\S+)\s", lambda match: plain[match[1]], text)
