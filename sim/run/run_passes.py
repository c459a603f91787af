"""Runs permutations on a network in several passes."""

from collections.abc import Sequence
from typing import Any

from ...hdl.fabric.checks import check_kind, check_several
from ...hdl.graphs.permutations import Permutation, check_permutation
from ...hdl.networks.packet_network import PacketNetwork
from ..measure.result import Result
from ..workload.traffic import Trace, TracePacket
from .simulation import whole_run

__all__ = ["run_passes"]


def run_passes(
    network: PacketNetwork, passes: Sequence[Permutation], **options: Any
) -> list[Result]:
    """Run the passes of a permutation, each after the network has drained.

    All packets of a pass are sent in the same cycle. If they do not conflict, each takes as long as
    if it were alone, and `latency.max` of the result is `network.zero_load_cycles`.

    Parameters
    ----------
    network : PacketNetwork
        The network, which has as many inputs as outputs.
    passes : sequence of Permutation
        The passes, as `graphs.schedules.decomposition` finds them: the output that each input
        sends to, or None.
    **options : Any
        Arguments of `simulate`, but for the network and its traffic.

    Returns
    -------
    list of Result
        One for each pass.

    Raises
    ------
    SimulationError
        If packets were lost, misrouted, duplicated or reordered.
    TypeError, ValueError
        If a pass is not a permutation of the network's terminals, or an option is not allowed.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import run_passes
    >>> straight, crossed = run_passes(build("cube", ports=4), [[0, 1, 2, 3], [1, 0, 3, 2]])
    >>> straight.latency.max, crossed.latency.max
    (2, 2)
    """
    check_kind("Network", network, PacketNetwork, "a network of packets")
    passes = check_several("Passes", passes, "permutations")
    for destinations in passes:
        check_permutation(destinations, network.ports)
    return [
        whole_run(
            network,
            traffic=Trace(
                f"pass {number}",
                tuple(
                    TracePacket(0, source, destination)
                    for source, destination in enumerate(destinations)
                    if destination is not None
                ),
            ),
            **options,
        )
        for number, destinations in enumerate(passes, 1)
    ]
