"""Faults at random places of a network."""

import random
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from ...hdl.fabric.cell import CellType
from ...hdl.fabric.checks import check_kind, check_several
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Fabric
from ...hdl.fabric.pins import Pin
from ...hdl.networks.network import Network
from ..engines.compiled.ir import Words
from ..engines.compiled.netlist import lowered
from .injection import Injection, StateBits, parse_fault

__all__ = ["RANDOM_FORM", "injections", "network_cells", "network_links", "state_of"]

RANDOM_FORM = "random:COUNT:link|cell|state, with what follows a place, and :seed=NUMBER"
"""The form of faults at random places, for messages."""

_RANDOM = re.compile(
    r"random:(?P<count>[0-9]{1,9}):(?P<kind>link|cell|state)(?P<rest>:.*?)??(:seed=(?P<seed>[0-9]{1,18}))?"
)

_LEAST_EFFECT = re.compile(r":(flip|stuck[01])(?=:|$)")


def injections(network: Network, texts: Sequence[str]) -> list[Injection]:
    """The faults that texts stand for; those at random places are drawn here.

    Raises
    ------
    TypeError, ValueError
        If a text has neither one of the `FORMS` nor the `RANDOM_FORM`, or a network has fewer
        places than faults.
    """
    found: list[Injection] = []
    for text in check_several("Faults", texts, "texts"):
        check_kind("Fault", text, str, "a text")
        found += _drawn(network, text) if text.startswith("random:") else [parse_fault(text)]
    return found


def _drawn(network: Network, text: str) -> list[Injection]:
    form = _RANDOM.fullmatch(text)
    if form is None:
        raise InvalidValue(f"Random faults must be {RANDOM_FORM}, not {text!r}")
    generator = random.Random(f"faults {form['seed'] or 1}")
    amount, rest = int(form["count"]), form["rest"] or ""
    if form["kind"] == "state":
        rows = [(each, width) for each, width in state_of(network) if width]
        begins = [0, *accumulate(width for _, width in rows)]
        bits = begins.pop()
        _check(amount, bits, "bits of state")
        faults = []
        for bit in sorted(generator.sample(range(bits), amount)):
            row = bisect_right(begins, bit) - 1
            faults.append(_at(str(rows[row][0]), rest, bit - begins[row]))
        return faults
    cells = form["kind"] == "cell"
    places = network_cells(network) if cells else network_links(network)
    _check(amount, len(places), f"{form['kind']}s")
    return [
        _at(f"{form['kind']}:{place}", rest, None) for place in generator.sample(places, amount)
    ]


def _check(amount: int, available: int, what: str) -> None:
    if amount > available:
        raise InvalidValue(f"Random faults must be at most the {available} {what}, not {amount}")


def _at(place: str, rest: str, bit: int | None) -> Injection:
    """The fault at a place; in state, at this bit unless the text names one."""
    if bit is not None:
        rest = _LEAST_EFFECT.sub(rf":\1={bit}", rest) or f":flip={bit}"
    return parse_fault(place + rest)


def network_links(network: Network) -> list[Pin]:
    """The outputs that drive the links between two cells of a network, in order."""
    fabric = network.fabric
    found = []
    for a, b in fabric.links:
        if a.cell is not None and b.cell is not None and a.cell != b.cell:
            found += [*_streams(fabric, a), *_streams(fabric, b)]
    return sorted(found)


def network_cells(network: Network) -> list[str]:
    """The routers or boxes of a network: its cells at the ends of its links, in order."""
    fabric = network.fabric
    found = set()
    for a, b in fabric.links:
        if any(_streams(fabric, a)) or any(_streams(fabric, b)):
            found |= {a.cell, b.cell}
    return sorted(cell for cell in found if cell is not None)


def _streams(fabric: Fabric, end: Pin) -> Iterator[Pin]:
    """The outputs with a handshake at an end of a link, which has one in each direction or not."""
    for suffix in fabric.resolve(end):
        pin = Pin(end.cell, (*end.path, *suffix[:-1]))
        if suffix[-1:] == ("valid",) and fabric.sends_stream(pin):
            yield pin


class _Row(NamedTuple):
    name: str
    row: int | None
    width: int


def state_of(network: Network) -> list[tuple[StateBits, int]]:
    """All registers and rows of memories of a network that have names, with their widths.

    Each is listed once. Tables of routes are not state: they are constant.
    """
    known: dict[CellType, list[_Row]] = {}
    found = []
    for cell in network.fabric.cells.values():
        if cell.type.auxiliary:
            continue
        if cell.type not in known:
            known[cell.type] = list(_rows(cell.type))
        found += [(StateBits(cell.name, name, row), width) for name, row, width in known[cell.type]]
    return found


def _rows(type_: CellType) -> list[_Row]:
    module = lowered(type_)
    rows: list[_Row] = []
    seen: set[int] = set()
    # A register may have several names. Those with numbers are not the same on every engine.
    plain: dict[Words, str] = {}
    for name in sorted(module.signal_names, key=lambda name: ("$" in name, name)):
        plain.setdefault(module.signals(name)[0], name)
    for name in sorted(module.signal_names):
        words, width = module.signals(name)
        numbers = [node.attr for node in words if node.op == "register"]
        whole = len(numbers) == len(words) and all(
            node.width == module.registers[node.attr].width for node in words
        )
        if whole and numbers and seen.isdisjoint(numbers):
            seen.update(numbers)
            rows.append(_Row(plain[words], None, width))
    for memory in module.memories:
        rows += [_Row(memory.name, row, memory.width) for row in range(memory.rows)]
    return rows
