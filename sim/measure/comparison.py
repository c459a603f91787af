"""Load sweeps side by side: the units of their rates, and labels that tell them apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...hdl.fabric.checks import check_kind, check_several, check_word
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network
from ..workload.traffic import short_name
from .curve import Sweep
from .frame import Curves
from .result import Result
from .units import PER, UNITS, unit_name, units_in_packet

__all__ = ["Comparison", "distinct_labels", "is_square", "rate_factor", "rate_factors", "size_of"]


@dataclass(frozen=True)
class Comparison(Curves):
    """Load sweeps of several networks.

    The rates of the sweeps are not converted; `factors` does that.

    Attributes
    ----------
    sweeps : Sequence[Sweep]
        The sweeps, one for each network.
    labels : Sequence[str]
        Names of the networks in tables and figures; if empty, the words that distinguish them.
    per : str
        What rates are divided by: "terminal", "wire" or "bisection".
    unit : str
        Packets or flits per terminal; per link, rates are always in flits.
    partial : bool
        Whether it was interrupted; some sweeps, or loads of the last one, are then missing.

    Raises
    ------
    TypeError, ValueError
        If there are not as many labels as sweeps, one is no text, or there is no such unit.
    """

    _kind = "comparison"

    sweeps: Sequence[Sweep]
    labels: Sequence[str] = ()
    per: str = "terminal"
    unit: str = "packets"
    partial: bool = False

    def __post_init__(self) -> None:
        sweeps = tuple(check_several("Sweeps", self.sweeps, "sweeps"))
        for sweep in sweeps:
            check_kind("Sweep", sweep, Sweep, "a sweep")
        check_word("Per", self.per, PER)
        check_word("Unit", self.unit, UNITS)
        labels = tuple(check_several("Labels", self.labels, "texts"))
        for label in labels:
            check_kind("Label", label, str, "a text")
        labels = labels or tuple(distinct_labels(sweeps))
        if len(labels) != len(sweeps):
            raise InvalidValue(
                f"Labels must be {len(sweeps)}, one for each network, not {len(labels)}"
            )
        object.__setattr__(self, "sweeps", sweeps)
        object.__setattr__(self, "labels", labels)

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.labels)}>"

    @property
    def factors(self) -> list[float]:
        """What one packet per terminal per cycle is in the unit of the comparison, by sweep."""
        return rate_factors(self.sweeps, self.per, self.unit)

    @property
    def drawn(self) -> "Comparison":
        """The comparison without the sweeps of which there is no point."""
        pairs = [pair for pair in zip(self.sweeps, self.labels) if pair[0].points]
        sweeps, labels = zip(*pairs) if pairs else ((), ())
        return Comparison(sweeps, labels, self.per, self.unit, self.partial)

    def to_json(self) -> dict[str, Any]:
        """All as plain lists, dictionaries, numbers and strings.

        Returns
        -------
        dict[str, Any]
            The unit of converted rates; and of each sweep the label, the factor and what
            `Sweep.to_json` gives.
        """
        return {
            "partial": self.partial,
            "per": self.per,
            "unit": unit_name(self.per, self.unit),
            "sweeps": [
                {"label": label, "rate_factor": factor, **sweep.to_json()}
                for label, factor, sweep in zip(self.labels, self.factors, self.sweeps)
            ],
        }

    def _labelled(self) -> Iterator[tuple[dict[str, Any], Result]]:
        for label, sweep in zip(self.labels, self.sweeps):
            for point in sweep.points:
                yield {"label": label}, point


def rate_factor(
    network: Network, per: str, unit: str = "packets", *, packet_length: float | None = None
) -> float:
    """What one packet per terminal per cycle is in another unit.

    A link has as many data wires as a flit has data bits. Flits per link are therefore also data
    bits per data wire, which compares networks of different widths fairly.

    Parameters
    ----------
    network : Network
    per : str
        What rates are divided by, one of `units.PER`.
    unit : str
        Packets or flits per terminal; per link, rates are always in flits.
    packet_length : float, optional
        Mean flits of a packet; by default that of the network (`Network.mean_length`).

    Raises
    ------
    ValueError
        If there is no such unit, or the network does not know its links or its bisection.
    """
    check_word("Per", per, PER)
    length = network.mean_length() if packet_length is None else packet_length
    converted = units_in_packet(unit, length)
    if per == "terminal":
        return converted
    counts = network.link_counts
    links = None if counts is None else counts.total if per == "wire" else counts.bisection
    if not links:
        what = "number of links between switches" if per == "wire" else "bisection"
        raise InvalidValue(f"The {what} of {network} is not known: compare per terminal instead")
    return network.sources * length / links


def rate_factors(
    sweeps: Sequence[Sweep], per: str = "terminal", unit: str = "packets"
) -> list[float]:
    """The `rate_factor` of each sweep, for the packets that it measured."""
    return [
        rate_factor(sweep.network, per, unit, packet_length=sweep.packet_length) for sweep in sweeps
    ]


def is_square(sweeps: Sequence[Sweep]) -> bool:
    """Whether all networks have as many sinks as sources; if not, rates are per source."""
    return all(sweep.network.sources == sweep.network.sinks for sweep in sweeps)


def size_of(network: Network, kind: str = "") -> str:
    """How many terminals, of some kind, a network has, as text."""
    if network.sources == network.sinks:
        return f"{network.sources} {kind}terminals"
    return f"{network.sources} {kind}sources, {network.sinks} {kind}sinks"


def distinct_labels(sweeps: Sequence[Sweep]) -> list[str]:
    """For each sweep the name of its network, and the words in which it differs from others.

    A parameter is shown if another network of the same family has another value, or if it is a
    number, such as a depth, that all networks have and in which some differ; but not if its value
    is one that a summary leaves out.
    """
    networks = [sweep.network for sweep in sweeps]
    several_sizes = len(set(map(size_of, networks))) > 1
    several_patterns = len({sweep.traffic for sweep in sweeps}) > 1
    found = []
    for network, sweep in zip(networks, sweeps):
        words, plain = [], network.parameters.plain()
        for name, value in network.chosen.items():
            shared = all(isinstance(each.chosen.get(name), int) for each in networks)
            others = [each for each in networks if shared or each.family == network.family]
            differs = any(each.chosen[name] != value for each in others)
            if differs and value != plain.get(name):
                words.append(f"{name}={value}")
        if several_sizes and f"ports={network.sources}" not in words:
            words.append(f"({size_of(network)})")
        if several_patterns:
            words.append(short_name(sweep.traffic))
        found.append(" ".join([network.family, *words]))
    return found
