"""The ports of an exported top module: its clocks and resets, and those of the fabric."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from amaranth.lib import data
from amaranth.lib.wiring import In

from ..fabric.fabric import Fabric
from .verilog_names import domain_port, port_name

__all__ = ["CLOCK", "PLAIN_CLOCK", "Clock", "port_list"]


CLOCK = ("clk", "rst")
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

    name: str = CLOCK[0]
    reset: str = CLOCK[1]
    active_low: bool = False
    inner: str = CLOCK[1]

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


PLAIN_CLOCK = Clock()


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


def port_list(fabric: Fabric, clock: Clock = PLAIN_CLOCK) -> list[dict[str, Any]]:
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
