"""Omega networks by a randomly chosen intermediate processor (3.9), in two routings on the RTL."""

from collections.abc import Iterator, Sequence

import numpy as np

from ....hdl.catalogue.catalogue import build
from ....hdl.graphs.permutations import bit_reversal, cyclic_shift, random_permutation
from ....hdl.networks.packet_network import PacketNetwork
from ...run.workload_run import run_workload
from ...workload.workload import Workload, WorkloadMessage
from ..item import Item, Options, Row
from ..panels import Lines, Panel
from . import SOURCE

__all__ = ["INTERMEDIATE"]


def _cycles(
    network: PacketNetwork, to: Sequence[int], via: Sequence[int] | None, engine: str
) -> int:
    """Cycles until the last of the messages of a permutation has arrived."""
    count = len(to)
    if via is None:
        messages = [WorkloadMessage(x, x, y) for x, y in enumerate(to)]
    else:
        messages = [WorkloadMessage(x, x, middle) for x, middle in enumerate(via)]
        messages += [
            WorkloadMessage(count + x, middle, y, after=(x,))
            for x, (middle, y) in enumerate(zip(via, to))
        ]
    return run_workload(network, Workload("permutation", tuple(messages)), engine=engine).cycles


def _rows(options: Options) -> Iterator[Row]:
    random = np.random.default_rng(options.seed)
    for ports in (16,) if options.quick else (16, 64, 256, 1024):
        network = build("omega", ports=ports)
        assert isinstance(network, PacketNetwork)
        for name, to in (
            ("shift by one", cyclic_shift(ports, 1)),
            ("random", random_permutation(ports, options.seed)),
            ("bit reversal", bit_reversal(ports)),
        ):
            via = random.integers(0, ports, ports).tolist()
            direct = _cycles(network, to, None, options.engine)
            twice = _cycles(network, to, via, options.engine)
            yield {
                "ports": ports,
                "stages": ports.bit_length() - 1,
                "permutation": name,
                "direct": direct,
                "measured": twice,
                "ratio": twice / direct,
            }


INTERMEDIATE = Item(
    "stanfill-intermediate",
    "Omega networks by a randomly chosen intermediate processor",
    f"{SOURCE}, 3.9",
    columns="ports = N : , | stages = log2 N | permutation | direct = directly : ,"
    " | measured = by another : , | ratio = times : .2f",
    rows=_rows,
    draw=Panel(
        "ports",
        [Lines("direct", "-o", "{permutation}"), Lines("measured", "--s")],
        ["permutation"],
        title="solid: directly; dashed: by a random processor",
        xlabel="N (processors)",
        ylabel="cycles to the last message",
        xlog=2,
        ylog=2,
        ticks=True,
    ),
    notes=(
        "A message from every processor, all at once; cycles until the last has come. By another: "
        "each goes to a processor chosen at random, which sends it on when it has come. The paper: "
        "some patterns cause a traffic jam, and this makes two random routings of them.",
    ),
    ignores=("cycles",),
)
