"""The units of rates: packets or flits, per cycle and terminal or link."""

from ...hdl.fabric.checks import check_word

__all__ = ["PER", "UNITS", "unit_name", "units_in_packet"]

UNITS = ("packets", "flits")
"""What loads and rates count."""

PER = {"terminal": "terminal", "wire": "link", "bisection": "link of the bisection"}
"""What the rates of a comparison are divided by."""


def units_in_packet(unit: str, packet_length: float) -> float:
    """How many of a unit a packet of a mean length in flits is.

    Raises
    ------
    ValueError
        If there is no such unit.
    """
    check_word("Unit", unit, UNITS)
    return packet_length if unit == "flits" else 1.0


def unit_name(per: str, unit: str, *, square: bool = True) -> str:
    """The unit of the rates that `comparison.rate_factor` converts to.

    `square` says whether networks have as many sinks as sources; if not, rates are per source.
    """
    if per == "terminal":
        return f"{unit} per {PER[per] if square else 'source'} per cycle"
    return f"flits per {PER[per]} per cycle"
