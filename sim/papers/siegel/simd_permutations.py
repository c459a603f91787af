"""Permutations of SIMD machines (V): passes as the paper counts them, found, and run on the RTL."""

from collections.abc import Iterator

from ....hdl.families.multistage.multistage_network import MultistageNetwork
from ....hdl.graphs.permutations import (
    bit_reversal,
    cyclic_shift,
    delta_shift,
    lambda_map,
    perfect_shuffle,
    random_permutation,
    segment_bit_reversal,
    segment_shuffle,
)
from ....hdl.graphs.schedules.decomposition import decompose, direct_passes
from ...run.run_passes import run_passes
from ..item import Item, Options, Row
from ..panels import Lines, Panel
from . import SOURCE

__all__ = ["PASSES"]


def _permutations(ports: int, seed: int) -> Iterator[tuple[str, int, list[int]]]:
    """Name, printed passes (for any permutation: the most), and destinations."""
    n = ports.bit_length() - 1
    yield "shift by -1", 1, cyclic_shift(ports, -1)
    yield "lambda, j = 3, k = 5", 1, lambda_map(ports, 3, 5)
    yield "delta, half, k = 1", 1, delta_shift(ports, n - 1, 1)
    yield "perfect shuffle", 2, perfect_shuffle(ports)
    yield "bit reversal", 2, bit_reversal(ports)
    yield "shuffle in halves", 2, segment_shuffle(ports, n - 1)
    yield "bit reversal in halves", 2, segment_bit_reversal(ports, n - 1)
    yield "any", 3, random_permutation(ports, seed)


def _rows(options: Options) -> Iterator[Row]:
    for ports in (8,) if options.quick else (8, 64, 256):
        network = MultistageNetwork(ports)
        for name, published, destinations in _permutations(ports, options.seed):
            passes = decompose(network.plan, destinations)
            results = run_passes(network, passes, engine=options.engine)
            yield {
                "ports": ports,
                "permutation": name,
                "published": published,
                "measured": len(passes),
                "direct": len(direct_passes(network.plan, destinations)),
                "slowest": max(result.latency.max or 0 for result in results),
                "stages": network.stages,
            }


PASSES = Item(
    "siegel-passes",
    "Permutations of SIMD machines on the Generalized Cube: passes, found and run on the RTL",
    f"{SOURCE}, V",
    columns="ports = N : , | permutation | published = paper | measured = passes"
    " | direct = direct ones | slowest = slowest packet, cycles | stages",
    rows=_rows,
    draw=Panel(
        "ports",
        [Lines("measured", "-o", "{permutation}"), Lines("direct", ":x")],
        ["permutation"],
        title="solid: passes; dotted: if packets go straight to their destinations",
        xlabel="N (terminals)",
        ylabel="passes",
        ylim=(0, None),
        xlog=2,
        ticks=True,
    ),
    notes=(
        "The paper: lambda and delta in one pass; shuffle and bit reversal, also in segments, in "
        "two; any in at most three, and for large N nobody knows how to find fewer. Passes lead "
        "through intermediate terminals. Each was run: without conflicts a packet takes as many "
        "cycles as there are stages.",
        "Direct: a part of the packets goes to its destinations in each pass, as the paper's two "
        "passes of the perfect shuffle do.",
    ),
    ignores=("cycles",),
)
