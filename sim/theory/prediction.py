"""Selects the formula that predicts a network."""

import math
from collections.abc import Callable
from typing import TypedDict

from ...hdl.networks import Network
from .dcsh_torus import Locality, dcsh_latency
from .multistage_cube import (
    attempts_by_recurrence,
    buffered_delay,
    dilated_throughput,
    replicated_throughput,
)

__all__ = ["MODELS", "Prediction", "predict"]


class Prediction(TypedDict):
    """The prediction for a network at a load; None where no formula applies."""

    latency_mean: float | None
    throughput: float | None
    attempts: float | None


class _Some(TypedDict, total=False):
    """The values that one formula predicts."""

    latency_mean: float | None
    throughput: float | None
    attempts: float | None


def predict(network: Network, load: float, *, uniform: bool) -> Prediction:
    """Mean latency (cycles), throughput (packets per terminal per cycle) and attempts per packet.

    The formulas are for uniform traffic. For the DCSH with packets of one length, it is the latency
    of Ould-Khaoua and Sotudeh's model. For multistage networks they are those of Siegel et al., VI:

    - output-queued switches: the latency, for unlimited queues and a load below 1;
    - unbuffered switches: the throughput, also of dilated and replicated networks; with
      resubmission the attempts.

    Parameters
    ----------
    network : Network
    load : float
        Packets per terminal per cycle.
    uniform : bool
        Whether the traffic is uniform.
    """
    prediction = Prediction(latency_mean=None, throughput=None, attempts=None)
    theory = network.theory
    if uniform and theory is not None:
        prediction.update(MODELS[theory.model](load, **theory.arguments))
    return prediction


def _buffered(load: float, radix: int, stages: int) -> _Some:
    if load >= 1:
        return {}
    return {"latency_mean": buffered_delay(load, radix, stages)}


def _unbuffered(load: float, radix: int, stages: int, dilation: int, replication: int) -> _Some:
    throughput = None
    if replication == 1:
        throughput = dilated_throughput(load, radix, stages, dilation)
    elif dilation == 1:
        throughput = replicated_throughput(load, radix, stages, replication)
    return {"latency_mean": float(stages), "throughput": throughput}


def _resubmission(load: float, radix: int, stages: int) -> _Some:
    try:
        return {"attempts": attempts_by_recurrence(load, radix, stages)}
    except ValueError:
        return {}


def _dcsh(load: float, k: int, n: int, decision: int, length: int) -> _Some:
    latency = dcsh_latency(Locality(k, n, k, n, 1.0, length, decision), load)
    return {"latency_mean": latency if math.isfinite(latency) else None}


MODELS: dict[str, Callable[..., _Some]] = {
    "buffered": _buffered,
    "unbuffered": _unbuffered,
    "resubmission": _resubmission,
    "dcsh": _dcsh,
}
"""The formulas by the name that `Network.theory` gives: functions of the load and arguments."""
