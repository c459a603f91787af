"""The results of a load sweep."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...hdl.fabric.parameters import plain_values
from ...hdl.networks.network import Network
from ...hdl.support.counted import counted
from ...hdl.support.shown import html_of
from .frame import Curves
from .result import Result

__all__ = ["Sweep", "saturation_interval"]


@dataclass(frozen=True)
class Sweep(Curves):
    """Results of one network at increasing loads.

    Attributes
    ----------
    network : Network
        The network.
    traffic : str
        Name of the traffic.
    points : list[Result]
        In order of increasing load.
    zero_load : Result or None
        At a load of 0.01 flits per terminal per cycle.
    partial : bool
        Whether the sweep was interrupted; runs that had not ended are then missing.
    lost : tuple[float, ...]
        Loads that are missing because the processes that simulated them were killed.

    Examples
    --------
    >>> from multicube import sweep
    >>> sweep("cube", [0.1], ports=4, refine=False, processes=1, cycles=200, warmup=20)
    ... # doctest: +ELLIPSIS
    <Sweep of cube ports=4 ...: uniform traffic, 1 load from 0.1 to 0.1, not saturated>
    """

    _kind = "sweep"

    network: Network
    traffic: str
    points: list[Result]
    zero_load: Result | None
    partial: bool = False
    lost: tuple[float, ...] = ()

    def __repr__(self) -> str:
        loads = [point.offered_load for point in self.points]
        span = counted(len(loads), "load")
        if loads:
            span += f" from {loads[0]:g} to {loads[-1]:g}"
        end = "not saturated"
        if self.saturation_interval is not None:
            end = "saturates from {:g} to {:g}".format(*self.saturation_interval)
        return f"<Sweep of {self.network}: {self.traffic} traffic, {span}, {end}>"

    @property
    def packet_length(self) -> float:
        """Mean flits of a packet as it is generated."""
        for result in (*self.points, self.zero_load):
            if result is not None:
                return result.packet_length
        return self.network.mean_length()

    @property
    def zero_load_latency(self) -> float | None:
        """Mean latency in cycles when packets hardly ever meet."""
        return None if self.zero_load is None else self.zero_load.latency.mean

    @property
    def saturation_throughput(self) -> float | None:
        """Highest throughput, packets per terminal per cycle; None if no point is saturated."""
        if not any(point.saturated for point in self.points):
            return None
        return max(point.throughput for point in self.points)

    @property
    def sustained_throughput(self) -> float | None:
        """Throughput at the highest load, if that is saturated; None if it is not.

        It is less than the highest throughput where a network delivers less the more it is offered.
        """
        last = self.points[-1] if self.points else None
        return last.throughput if last and last.saturated else None

    @property
    def saturation_interval(self) -> tuple[float, float] | None:
        """Highest load below saturation, and lowest saturated load; None if none is saturated."""
        return saturation_interval(self.points)

    def to_json(self) -> dict[str, Any]:
        """All points, and the values derived from them.

        Returns
        -------
        dict[str, Any]
            The values by name.
        """
        return {
            "network": self.network.family,
            "parameters": plain_values(self.network.chosen),
            "traffic": self.traffic,
            "partial": self.partial,
            "lost": list(self.lost),
            "zero_load_latency": self.zero_load_latency,
            "saturation_throughput": self.saturation_throughput,
            "sustained_throughput": self.sustained_throughput,
            "saturation_interval": self.saturation_interval,
            "points": [point.to_json() for point in self.points],
        }

    def _repr_html_(self) -> str | None:
        """What a notebook shows: a table of the points, and their plot."""
        return html_of("sweep", self)

    def _labelled(self) -> Iterator[tuple[dict[str, Any], Result]]:
        return (({}, point) for point in self.points)


def saturation_interval(points: Sequence[Result]) -> tuple[float, float] | None:
    """Highest load below saturation, and lowest saturated load; None if none is saturated.

    Points that were not decided, since their windows were too short, don't count.
    """
    saturated = [point.offered_load for point in points if point.saturated]
    if not saturated:
        return None
    first = min(saturated)
    carried = [
        point.offered_load
        for point in points
        if point.saturated is False and point.offered_load < first
    ]
    return max(carried, default=0.0), first
