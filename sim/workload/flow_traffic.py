"""Traffic of flows: a destination, a rate, a length and times for each, from a file or Python."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ...hdl.bench import SourcePlan
from ...hdl.bench.destination_table import CHANCE_BITS
from ...hdl.bench.flow_source import FlowSource, flow_entry
from ...hdl.bench.instruments import COUNT_BITS
from ...hdl.bench.stamp import stamp_for
from ...hdl.fabric.checks import check_field, check_number
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import integer_of, number_of
from ...hdl.networks.packet_network import PacketNetwork
from .csv_records import csv_records
from .matrix import alias_slots, shares_of

__all__ = ["Flow", "Flows", "is_flow_header", "parse_flows"]

_MOST = 2**31 - 1
"""Most cycles of a time."""

_FIRST = 3
"""The first cycle in which a `FlowSource` can generate a packet: it must draw a flow before."""

MOST_WINDOWS = 64
"""Most different times of the flows of a terminal: a counter for each is in its source."""


@dataclass(frozen=True)
class Flow:
    """Packets that a terminal sends to another.

    Attributes
    ----------
    source, destination : int
        Terminals.
    rate : float
        Packets per cycle while the flow is on, above 0 and at most 1.
    length : int, optional
        Flits of each packet; by default the length of all packets of the network.
    on, off, period : int, optional
        The flow is on from cycle `on` (0) until before cycle `off` of each period; by default for
        ever, and without a period only once. The first cycle of packets is 3.

    Raises
    ------
    TypeError, ValueError
        If a field has a value that is not allowed.

    Examples
    --------
    >>> from multicube.sim import Flow, pattern
    >>> pattern([Flow(0, 3, rate=0.2), Flow(1, 2, rate=0.1, length=4)], 4).terminals
    4
    """

    source: int
    destination: int
    rate: float
    length: int | None = None
    on: int | None = None
    off: int | None = None
    period: int | None = None

    def __post_init__(self) -> None:
        check_field(self, "source", "Source", 0, _MOST)
        check_field(self, "destination", "Destination", 0, _MOST)
        object.__setattr__(self, "rate", check_number("Rate", self.rate))
        if not 0 < self.rate <= 1:
            raise InvalidValue(f"Rate must be above 0 and at most 1, not {self.rate:g}")
        for name, least in (("length", 1), ("on", 0), ("off", 1), ("period", 1)):
            value = getattr(self, name)
            if value is not None:
                check_field(self, name, name.capitalize(), least, _MOST)
        first, end, period = self.window or (0, _MOST, _MOST)
        if not first < end:
            raise InvalidValue(f"Off must be after on, which is {first}, not {end}")
        if end > period:
            what = "Off" if self.off is not None else "On"
            raise InvalidValue(f"{what} must be within the period of {period} cycles, not {end}")
        if self.period is None and end <= _FIRST:
            raise InvalidValue(f"Off must be after {_FIRST}, the first cycle of packets, not {end}")

    @property
    def window(self) -> tuple[int, int, int] | None:
        """First cycle, first cycle after it, and period; None if it is always on."""
        if (self.on or 0) == 0 and self.off in (None, self.period):
            return None
        period = self.period or _MOST
        return self.on or 0, self.off or period, period

    @property
    def mean_rate(self) -> float:
        """Packets per cycle in the long run; without a period, while it is on."""
        if self.window is None or self.period is None:
            return self.rate
        first, end, period = self.window
        return self.rate * (end - first) / period


@dataclass(frozen=True)
class Flows:
    """The flows of all terminals.

    Attributes
    ----------
    flows : tuple[Flow, ...]
    terminals : int
    places : tuple[str, ...]
        What errors call the flows, one each.
    """

    flows: tuple[Flow, ...]
    terminals: int
    places: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.flows:
            raise InvalidValue("Flows must be given, at least one")
        for flow, place in zip(self.flows, self.places):
            for what in ("source", "destination"):
                terminal = getattr(flow, what)
                if terminal >= self.terminals:
                    raise InvalidValue(
                        f"{place}: {what} must be a terminal from 0 to {self.terminals - 1}, "
                        f"not {terminal}"
                    )
        for source, own in enumerate(self._own):
            total = math.fsum(flow.rate for flow in own)
            if total > 1 + 1e-9:
                raise InvalidValue(
                    f"Rates of source {source} must add up to at most 1 packet per cycle, not "
                    f"{total:.6g}"
                )
            windows = {flow.window for flow in own} - {None}
            if len(windows) > MOST_WINDOWS:
                raise InvalidValue(
                    f"Flows of source {source} must have at most {MOST_WINDOWS} different times, "
                    f"not {len(windows)}"
                )

    @cached_property
    def _own(self) -> list[list[Flow]]:
        own: list[list[Flow]] = [[] for _ in range(self.terminals)]
        for flow in self.flows:
            own[flow.source].append(flow)
        return own

    @property
    def matrix(self) -> np.ndarray:
        """Packets per cycle from each terminal (row) to each (column)."""
        matrix = np.zeros((self.terminals, self.terminals))
        for flow in self.flows:
            matrix[flow.source, flow.destination] += flow.mean_rate
        return matrix

    @property
    def load(self) -> float:
        """Packets per terminal per cycle."""
        return math.fsum(flow.mean_rate for flow in self.flows) / self.terminals

    def mean_length(self, default: float) -> float:
        """Mean flits of a packet, if those without a length have this one."""
        weights = [flow.mean_rate for flow in self.flows]
        return float(np.average([flow.length or default for flow in self.flows], weights=weights))

    def check(self, network: PacketNetwork) -> None:
        """Raise ValueError if the flows do not suit a network."""
        low, high = network.lengths
        for flow, place in zip(self.flows, self.places):
            if flow.length is None and low != high:
                raise InvalidValue(
                    f"{place}: length must be given, since packets have from {low} to {high} flits "
                    f"in this network"
                )
            if flow.length is not None and flow.length > high:
                raise InvalidValue(
                    f"{place}: length must be from 1 to {high} in this network, not {flow.length}"
                )
        for source, own in enumerate(self._own):
            flits = math.fsum(flow.mean_rate * (flow.length or high) for flow in own)
            if flits > 1 + 1e-9:
                raise InvalidValue(
                    f"Flows of source {source} must need at most 1 flit per cycle, "
                    f"rates times lengths, not {flits:.6g}"
                )

    def sources(self, network: PacketNetwork, seeds: Sequence[int], depth: int) -> SourcePlan:
        """Sources with these flows; `seeds` has the random state of each."""
        slots = max(2, 1 << max(map(len, self._own)).bit_length())  # one more, for none
        times = [sorted({flow.window for flow in own if flow.window}) for own in self._own]
        windows = max(map(len, times))
        entry = flow_entry(network.packet_of(stamp_for(network)), network.tags, windows)
        straps, contents = [], []
        for seed, own, known in zip(seeds, self._own, times):
            rows = [*known, *[(0, 0, 1)] * (windows - len(known))]
            strap = {"seed": seed}
            for place, name in enumerate(("on", "off", "period") if windows else ()):
                strap[name] = sum(
                    row[place] << COUNT_BITS * number for number, row in enumerate(rows)
                )
            straps.append(strap)
            entries = [0]
            for flow in own:
                values = {
                    "exists": 1,
                    "destination": network.tags.code.encode(flow.destination),
                    "length": flow.length or network.lengths[1],
                    "window": 1 + known.index(flow.window) if flow.window else 0,
                }
                entries.append(sum(values[name] << field.offset for name, field in entry))
            rates = np.array([0.0, *(flow.rate for flow in own)])
            rates[0] = max(0.0, 1 - math.fsum(rates))
            chances = shares_of(rates, slots << CHANCE_BITS)
            contents.append(
                {
                    "table": tuple(
                        chance
                        | entries[first] << CHANCE_BITS
                        | entries[other] << CHANCE_BITS + entry.size
                        for chance, first, other in alias_slots(chances, slots)
                    )
                }
            )
        parameters = {"depth": depth, "slots": slots, "windows": windows}
        return SourcePlan(FlowSource, parameters, straps, contents)

    @property
    def digest(self) -> str:
        """A short text that other flows do not have."""
        text = repr([astuple(flow) for flow in self.flows])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


_COLUMNS = tuple(each.name for each in fields(Flow))
_MUST = 3


def is_flow_header(line: str) -> bool:
    """Whether a line begins as the header of a file of flows."""
    return line.replace(" ", "").lower().startswith("source,")


def parse_flows(name: str, text: str, ports: int) -> Flows:
    """The flows of a file: CSV with the header `source,destination,rate,length,on,off,period`.

    The header may end after any column from `rate` on. What is empty is as if it were not given.
    `#` starts a comment.

    Raises
    ------
    ValueError
        If the file has an invalid line, or flows that do not suit each other; the message names the
        line.
    """

    def flow(words: list[str]) -> Flow:
        return Flow(**{n: _value(n, w) for n, w in zip(_COLUMNS, words)})

    found = csv_records(text, _COLUMNS, _MUST, flow, comments=True)
    return Flows(tuple(each for each, _ in found), ports, tuple(place for _, place in found))


def _value(name: str, word: str) -> Any:
    if not word and name not in _COLUMNS[:_MUST]:
        return None
    try:
        return number_of(word) if name == "rate" else integer_of(word)
    except ValueError:
        what = "a number" if name == "rate" else "an integer"
        raise InvalidValue(f"{name} must be {what}, not {word!r}") from None
