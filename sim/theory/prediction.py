"""Which formula predicts which network."""

from typing import TypedDict

from ...hdl.networks import MultistageNetwork, Network
from .multistage_cube import (
    attempts_by_recurrence,
    buffered_delay,
    dilated_throughput,
    replicated_throughput,
)

__all__ = ["Prediction", "predict"]


class Prediction(TypedDict):
    """What theory says of a network at a load; None where no formula applies."""

    latency_mean: float | None
    throughput: float | None
    attempts: float | None


def predict(network: Network, load: float, *, uniform: bool) -> Prediction:
    """Mean latency (cycles), throughput (packets a terminal and cycle) and mean attempts a packet.

    The formulas are those of Siegel et al., VI, for multistage networks under uniform traffic:

    - output-queued switches: the latency, for unlimited queues and a load below 1;
    - unbuffered switches: the throughput, of dilated or replicated networks too; with resubmission
      the attempts.

    Parameters
    ----------
    network : Network
    load : float
        Packets a terminal and cycle.
    uniform : bool
        Whether the traffic is.
    """
    prediction = Prediction(latency_mean=None, throughput=None, attempts=None)
    if not isinstance(network, MultistageNetwork) or not uniform:
        return prediction
    given = network.parameters
    radix, stages = network.radix, network.stages
    if given["switch"] == "unbuffered":
        if given["resubmit"]:
            prediction["attempts"] = _attempts(load, radix, stages)
            return prediction
        prediction["latency_mean"] = float(stages)
        copies, links = given["replication"], given["dilation"]
        if copies == 1:
            prediction["throughput"] = dilated_throughput(load, radix, stages, links)
        elif links == 1:
            prediction["throughput"] = replicated_throughput(load, radix, stages, copies)
        return prediction
    if given["switch"] == "output-queued" and given["replication"] == 1 and load < 1:
        prediction["latency_mean"] = buffered_delay(load, radix, stages)
    return prediction


def _attempts(load: float, radix: int, stages: int) -> float | None:
    try:
        return attempts_by_recurrence(load, radix, stages)
    except ValueError:
        return None
