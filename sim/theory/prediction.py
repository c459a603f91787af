"""Which formula predicts which network."""

import math
from typing import TypedDict

from ...hdl.networks import DCSHNetwork, MultistageNetwork, Network
from .dcsh_torus import Locality, dcsh_latency
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

    The formulas are for uniform traffic: for the DCSH with packets of one length the latency of
    Ould-Khaoua and Sotudeh's model, for multistage networks those of Siegel et al., VI:

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
    if isinstance(network, DCSHNetwork) and uniform and len({*network.lengths}) == 1:
        prediction["latency_mean"] = _dcsh_latency(network, load)
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


def _dcsh_latency(network: DCSHNetwork, load: float) -> float | None:
    k, n = network.plan.k, network.plan.n
    whole = Locality(k, n, k, n, 1.0, network.lengths[0], network.parameters["decision"])
    latency = dcsh_latency(whole, load)
    return latency if math.isfinite(latency) else None


def _attempts(load: float, radix: int, stages: int) -> float | None:
    try:
        return attempts_by_recurrence(load, radix, stages)
    except ValueError:
        return None
