"""Which formula predicts which network."""

from ...hdl.networks import MultistageNetwork, Network
from .multistage_cube import buffered_delay

__all__ = ["predicted_latency"]


def predicted_latency(network: Network, load: float, *, uniform: bool) -> float | None:
    """Mean latency in cycles that theory predicts; None where no formula applies.

    Output-queued multistage networks under uniform traffic have one (Siegel et al., VI-D); it
    assumes unlimited queues, and a load below 1.
    """
    if (
        isinstance(network, MultistageNetwork)
        and network.parameters["switch"] == "output-queued"
        and uniform
        and load < 1
    ):
        return buffered_delay(load, network.radix, network.stages)
    return None
