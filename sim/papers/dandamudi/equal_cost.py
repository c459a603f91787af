"""A hierarchical network and a hypercube of equal cost, measured with the same messages.

The hypercube has flits of 32 bits. The other network has flits so wide that it costs as much:

- *links*, as Dandamudi and Eager count: links times the bits of a flit.
- *silicon*: the 4-input tables of all routers on an ECP5, with their routing. One router of each
  shape is synthesised alone, with flits of two widths. Tables lie on the line through both points.

Messages have 512 bits, so a wider flit means fewer flits in a message.

Routers have a queue for each input channel. With wormhole switching it holds 4 flits. *Packet*
switching stores whole messages and forwards them, in queues of 32 flits: this is hardware, unlike
the paper's unlimited queues, so that its tables can be counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from ....hdl.catalogue.catalogue import build
from ....hdl.fabric.errors import InvalidValue
from ....hdl.families.graph_network import GraphNetwork
from ....hdl.networks.network import Network
from ....hdl.networks.routed import RoutedNetwork
from ...measure.result import Result
from ...run.run import Run
from ...run.simulation import simulate_runs
from ...synthesis.measurement import Setup
from ...synthesis.node_area import mean_area
from ...theory.hierarchical import Hypercube, TwoLevel
from ...workload.traffic import pattern
from ..item import Options, throughput_of

__all__ = [
    "BITS",
    "LOAD",
    "SWITCHINGS",
    "WIDTH",
    "Cost",
    "Measured",
    "Speed",
    "cost_of",
    "cube_of",
    "equal_width",
    "family_of",
    "measured",
    "message_flits",
    "reference_speeds",
    "speeds_of",
]

BITS = 512
"""Bits of a message."""
WIDTH, _WIDE = 32, 96
"""Bits of a flit in the hypercube, and the second width with which routers are synthesised."""
LOAD = 0.1 * WIDTH / BITS
"""Messages per node and cycle at which delays are measured: a tenth of a flit in the hypercube."""
SWITCHINGS: dict[str, dict[str, Any]] = {
    "wormhole": {"switch": "wormhole", "depth": 4},
    "packet": {"switch": "store-and-forward", "depth": 32},
}
"""Parameters of the routers."""
_CYCLES, _QUICK_CYCLES, _WARMUP = 3000, 300, 1000
_SOURCE_DEPTH = 32
_FLAGS = "-nowidelut"


class Cost(NamedTuple):
    """What all routers of a network take with flits of some bits."""

    width: int
    tables: float
    flip_flops: float


def equal_width(budget: float, narrow: Cost, wide: Cost) -> int:
    """The widest flit with which a network takes no more tables than `budget`, if they lie
    on a line.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> equal_width(400, Cost(32, 200, 0), Cost(96, 360, 0))
    112
    """
    slope = (wide.tables - narrow.tables) / (wide.width - narrow.width)
    width = int(narrow.width + (budget - narrow.tables) / slope)
    if width < 1:
        raise InvalidValue(f"Tables must be more than {budget:g} for flits of one bit")
    return width


def message_flits(width: int, bits: int = BITS) -> int:
    """Flits of a message if each has at most `width` bits."""
    return -(-bits // width)


@dataclass(frozen=True)
class Speed:
    """What messages find in a network.

    Attributes
    ----------
    throughput, throughput_ci : float
        Messages per node and cycle that are delivered if nodes offer as many as the network takes,
        and half the 99 % confidence interval.
    delay, delay_ci : float or None
        Mean cycles from generation to delivery of the last flit, at `LOAD`; None if saturated.
    """

    throughput: float
    throughput_ci: float
    delay: float | None
    delay_ci: float | None

    @classmethod
    def of(cls, loaded: Result, full: Result) -> "Speed":
        """From the runs at `LOAD` and at full load."""
        rate, mean, ci99 = throughput_of(full), loaded.latency.mean, loaded.latency.ci99
        if loaded.saturated or rate <= LOAD:
            mean = ci99 = None
        return cls(rate, full.throughput_ci99 or 0, mean, ci99)


def speeds_of(
    network: Network, flits: int, points: Sequence[tuple[float, int]], options: Options
) -> list[Speed]:
    """The speeds with local traffic, by alpha and d."""
    cycles = options.cycles or (_QUICK_CYCLES if options.quick else _CYCLES)
    runs = [
        Run(
            pattern(f"locality:{alpha}:{1 << d}", network.ports),
            load,
            cycles,
            _WARMUP,
            options.seed,
            _SOURCE_DEPTH,
        )
        for alpha, d in points
        for load in (LOAD, 1 / flits)
    ]
    results = simulate_runs(network, runs, engine=options.engine, bins=2)
    return [Speed.of(*pair) for pair in zip(results[::2], results[1::2])]


def cost_of(network: RoutedNetwork, width: int, seed: int) -> Cost:
    area = mean_area(network.fabric, Setup("ecp5-85k", 0, _FLAGS, 600.0), most=1, seed=seed)
    tables, registers = (area[field].mean * network.ports for field in ("tables", "flip_flops"))
    return Cost(width, tables, registers)


def cube_of(dimension: int, switching: str) -> RoutedNetwork:
    routers = {"length": message_flits(WIDTH), "payload": WIDTH, **SWITCHINGS[switching]}
    network = build("hypercube", n=dimension, routing="ecube", **routers)
    assert isinstance(network, RoutedNetwork)
    return network


def reference_speeds(
    dimension: int, switching: str, alphas: Sequence[float], sizes: Sequence[int], options: Options
) -> dict[tuple[float, int], Speed]:
    """The speeds of a hypercube, by alpha and d."""
    points = [*product(alphas, sizes)]
    network = cube_of(dimension, switching)
    return dict(zip(points, speeds_of(network, message_flits(WIDTH), points, options)))


@dataclass(frozen=True)
class Measured:
    """A network at equal cost.

    Attributes
    ----------
    width : int
        Bits of a flit that the cost allows. Messages have `flits` flits.
    flits : int
    tables, flip_flops : float
        Of the network over those of the hypercube, with flits no wider than these messages need.
    speeds : Mapping[float, Speed]
        By alpha.
    """

    width: int
    flits: int
    tables: float
    flip_flops: float
    speeds: Mapping[float, Speed]


def family_of(network: TwoLevel) -> str:
    """The words that build a network."""
    if network.top == "ccc":
        return f"bh-ccc cluster={network.cluster} cycles={network.dimension}"
    d = network.cluster
    return f"bh-{network.top} dimension={d + network.dimension} cluster={d}"


def measured(
    network: TwoLevel, references: Mapping[str, Cost], alphas: Sequence[float], options: Options
) -> dict[tuple[str, str], Measured]:
    """A network with the flits that each kind of cost allows, by switching and cost.

    Parameters
    ----------
    network : TwoLevel
    references : Mapping[str, Cost]
        The hypercube, by switching.
    alphas : Sequence[float]
    options : Options
    """
    relation = build(family_of(network)).relation  # All routers share its survey and its tables.
    reference = Hypercube.like(network)
    found: dict[tuple[str, str], Measured] = {}
    for switching, budget in references.items():
        base = GraphNetwork(graph=relation, **SWITCHINGS[switching])
        narrow, wide = (
            cost_of(base.altered(payload=width, length=message_flits(width)), width, options.seed)
            for width in (WIDTH, _WIDE)
        )
        widths = {
            "links": int(WIDTH * reference.links() / network.links()),
            "silicon": equal_width(budget.tables, narrow, wide),
        }
        speeds: dict[int, Mapping[float, Speed]] = {}
        for cost, width in widths.items():
            flits = message_flits(width)
            if flits not in speeds:
                points = [(alpha, network.cluster) for alpha in alphas]
                own = speeds_of(base.altered(length=flits), flits, points, options)
                speeds[flits] = dict(zip(alphas, own))
            used = -(-BITS // flits)  # bits of a flit that messages fill
            slope = (wide.tables - narrow.tables) / (_WIDE - WIDTH)
            tables = narrow.tables + (used - WIDTH) * slope
            found[switching, cost] = Measured(
                width,
                flits,
                tables / budget.tables,
                narrow.flip_flops / budget.flip_flops,
                speeds[flits],
            )
    return found
