"""Figure 9: the bandwidth of unbuffered networks against size, by formula (1) and on the RTL.

The formula is drawn up to 2^24 processors, the RTL is simulated up to 4,096.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ....hdl.families.multistage.multistage_network import MultistageNetwork
from ...measure.result import Result
from ...run.run import Run
from ...theory.unbuffered_bandwidth import crossbar_throughput, unbuffered_throughput
from ...workload.traffic import pattern
from ..item import Item, Options, Row, throughput_row
from ..panels import Lines, Panel, dots
from . import SOURCE

__all__ = [
    "FIG9",
    "LARGEST",
    "RADICES",
    "at_full_load",
    "measure_unbuffered",
    "measured_sizes",
    "stages_of",
]

RADICES = (2, 4, 8)
LARGEST = 4096
"""Ports of the largest network that is simulated."""
_SLOTS = 400_000
"""Terminals times cycles of a measurement, which gives a standard error below 0.001."""


def measure_unbuffered(
    ports: int, radix: int, loads: Sequence[float], options: Options, **parameters: Any
) -> list[Result]:
    """Throughput of an unbuffered network on the RTL, uniform traffic, at each load.

    Without buffers the network is steady once the first packets have passed all stages.
    """
    network = MultistageNetwork(ports, radix=radix, switch="unbuffered", **parameters)
    cycles = options.window(_SLOTS, ports, least=500)
    uniform = pattern("uniform", ports)
    runs = [Run(uniform, load, cycles, 2 * network.stages, options.seed, 16) for load in loads]
    return options.simulated(network, runs, bins=32)


def at_full_load(
    ports: int, radix: int, wanted: bool, options: Options, **parameters: Any
) -> Result | None:
    """The same at p = 1, if it is wanted."""
    return measure_unbuffered(ports, radix, [1.0], options, **parameters)[0] if wanted else None


def stages_of(ports: int, radix: int) -> int | None:
    """The n for which ports = radix^n, if there is one."""
    n = 1
    while radix**n < ports:
        n += 1
    return n if radix**n == ports else None


def measured_sizes(radix: int, options: Options) -> dict[int, int]:
    """The ports of the networks that are simulated, and their stages."""
    stages = {radix**n: n for n in range(1, 13) if radix**n <= LARGEST}
    return {radix: 1, 64: stages[64]} if options.quick else stages


_TOP = 24
"""log2 of the largest N of the figure."""
_CROSSBARS = (2, 4, 8, 16, 32, 64)
"""Ports of the crossbars that are simulated: of all that a single box can be."""


def _rows(options: Options) -> Iterator[Row]:
    every = [2**exponent for exponent in range(1, _TOP + 1)]
    for radix in RADICES:
        simulated = measured_sizes(radix, options)
        for ports in every:
            stages = stages_of(ports, radix)
            if stages is not None:
                result = at_full_load(ports, radix, ports in simulated, options)
                predicted = unbuffered_throughput(1, radix, stages)
                row = {"boxes": f"{radix}x{radix}", "ports": ports}
                yield row | throughput_row(result, predicted)
    crossbars = _CROSSBARS[:3] if options.quick else _CROSSBARS
    for ports in every:
        result = at_full_load(ports, ports, ports in crossbars, options)
        row = {"boxes": "crossbar", "ports": ports}
        yield row | throughput_row(result, crossbar_throughput(1, ports))


_NAMES = {
    "crossbar": "N x N crossbar",
    "8x8": "8 x 8 boxes",
    "4x4": "4 x 4 boxes",
    "2x2": "2 x 2 boxes",
}
"""The lines of the figure from above."""

FIG9 = Item(
    "siegel-fig9",
    "Bandwidth per processor of 2x2, 4x4, 8x8 boxes and crossbars, N up to 2^24",
    f"{SOURCE}, VI-B",
    columns="boxes | ports = N : , | measured = RTL : .4f | ci99 = ± 99 % : .4f"
    " | predicted = formula (1) : .4f | deviation : +.2%",
    rows=_rows,
    draw=Panel(
        "ports",
        [Lines("predicted", "-", lambda row: _NAMES[row["boxes"]]), dots()],
        ["boxes"],
        colour=lambda row: list(_NAMES).index(row["boxes"]),
        title="Unbuffered networks at p = 1: lines are formula (1), dots measured on the RTL",
        xlabel="N, number of processors",
        ylabel="bandwidth per processor (packets per cycle)",
        ylim=(0, 0.8),
        xlog=2,
        ticks=[2**exponent for exponent in range(0, _TOP + 1, 4)],
        legend={"reverse": True},
        size=(8, 5),
    ),
    notes=(
        "Packets per processor per cycle at p = 1. The paper gives no numbers for this figure.",
        "Its limit for the crossbar is 1 - 1/e = 0.6321.",
    ),
)
