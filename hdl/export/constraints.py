"""Timing constraints for exported Verilog: SDC, and XDC for Vivado."""

from collections.abc import Iterator, Mapping
from itertools import permutations

from ..fabric.checks import shown
from ..fabric.errors import InvalidType, InvalidValue
from ..fabric.fabric import Fabric

__all__ = ["PERIOD", "check_periods", "constraints"]

PERIOD = 10.0
"""The period of a clock in ns, if none is given."""


def check_periods(
    given: float | Mapping[str, float], clocks: Mapping[str, str]
) -> dict[str, float]:
    """The period of each clock of a fabric in ns.

    Parameters
    ----------
    given : float or Mapping[str, float]
        That of all clocks, or of some, by port; the others have `PERIOD`.
    clocks : Mapping[str, str]
        The port of each clock.
    """
    own = given if isinstance(given, Mapping) else dict.fromkeys(clocks.values(), given)
    for port, period in own.items():
        if port not in clocks.values():
            raise InvalidValue(
                f"Period must be that of one of {', '.join(clocks.values())}, not of {shown(port)}"
            )
        if isinstance(period, bool) or not isinstance(period, int | float):
            raise InvalidType(f"Period must be a number of ns, not {shown(period)}")
        if not 0 < period <= 1e6:
            raise InvalidValue(
                f"Period must be above 0 and at most 1000000 ns, not {shown(period)}"
            )
    return {domain: float(own.get(port, PERIOD)) for domain, port in clocks.items()}


def constraints(
    name: str,
    fabric: Fabric,
    clocks: Mapping[str, tuple[str, str]],
    periods: Mapping[str, float],
    asynchronous: Mapping[str, set[str]],
    *,
    vivado: bool = False,
) -> str:
    """The constraints of an exported module.

    Each clock has its period. Clocks with a crossing between them are unrelated: a path from one to
    the other may take a period of the faster one, so that the bits of a Gray code arrive within a
    cycle, and it is not checked for hold.

    Parameters
    ----------
    name : str
        The module.
    fabric : Fabric
    clocks : Mapping[str, tuple[str, str]]
        The ports of each clock and its reset.
    periods : Mapping[str, float]
        Of each clock, in ns.
    asynchronous : Mapping[str, set[str]]
        For each clock whose reset sets registers of others asynchronously, these others.
    vivado : bool
        Whether it is for Vivado (XDC); otherwise it is SDC.
    """
    return "\n".join(_lines(name, fabric, clocks, periods, asynchronous, vivado)) + "\n"


def _lines(
    name: str,
    fabric: Fabric,
    clocks: Mapping[str, tuple[str, str]],
    periods: Mapping[str, float],
    asynchronous: Mapping[str, set[str]],
    vivado: bool,
) -> Iterator[str]:
    yield f"# Constraints of module {name}, written by multicube. Times are in ns."
    yield "# Delays at its ports are those of the design around it."
    if vivado:
        yield "# If that has the clocks, leave out `create_clock`, and use read_xdc -ref"
        yield f"# {name} after the constraints that define them."
    for domain, period in periods.items():
        port = clocks[domain][0]
        yield f"create_clock -name {port} -period {period:g} [get_ports {port}]"
    crossed: set[tuple[str, str]] = set()
    for cell in fabric.cells.values():
        crossed |= {*permutations({cell.clocks.get(each, each) for each in cell.type.domains}, 2)}
    # Around the module, clocks have names of their own, and a reset is no port: Vivado finds clocks
    # by the module's ports, and paths of a reset by its port, which is a pin there.
    at = "-of_objects [get_ports {}]" if vivado else "{}"
    if crossed and vivado:
        yield "# Leave out paths between two ports that have the same clock."
    for begin, end in sorted(crossed):
        names = [clocks[domain][0] for domain in (begin, end)]
        first, second = (f"[get_clocks {at.format(name)}]" for name in names)
        path = f"-from {first} -to {second}"
        if vivado:
            both = at.format(f"{{{' '.join(names)}}}")
            bound = f"[get_property -min PERIOD [get_clocks {both}]]"
            yield f"set_max_delay -datapath_only {path} {bound}"
        else:
            yield f"set_max_delay {min(periods[begin], periods[end]):g} {path}"
            yield f"set_false_path -hold {path}"
    if asynchronous:
        yield "# Where these resets reach other clocks, synchronisers are set asynchronously."
    for begin, ends in asynchronous.items():
        for end in sorted(ends):
            reset = f"{'-through' if vivado else '-from'} [get_ports {clocks[begin][1]}]"
            yield f"set_false_path {reset} -to [get_clocks {at.format(clocks[end][0])}]"
