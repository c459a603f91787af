"""Selects the formula that predicts a network."""

import math
from collections.abc import Callable, Sequence
from typing import TypedDict

from ...hdl.fabric.checks import check_flag, check_kind, check_number
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network
from .buffered_delay import buffered_delay, serial_delay
from .dcsh_torus import Locality, dcsh_latency
from .unbuffered_bandwidth import attempts_by_recurrence, enhanced_throughput, sinks_per_source

__all__ = ["MODELS", "Prediction", "predict"]


class Prediction(TypedDict):
    """The prediction for a network at a load; None where no formula applies.

    Attributes
    ----------
    latency_mean : float or None
        Mean latency, in cycles.
    throughput : float or None
        Packets per terminal and cycle.
    attempts : float or None
        Mean number of times that a packet is offered to the network.
    """

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

    Where there are not as many sinks as sources, the throughput is per source.

    The formulas are for uniform traffic. For the DCSH with packets of one length, it is the latency
    of Ould-Khaoua and Sotudeh's model. For multistage networks they are those of Siegel et al., VI:

    - output-queued switches, and cut-through switches with crosspoint queues: the latency;
    - unbuffered switches: the throughput, also of dilated and replicated networks; with
      resubmission the attempts.

    Each value is None outside the assumptions of its formula, which are stated at the functions of
    `MODELS`.

    Parameters
    ----------
    network : Network
        The network.
    load : float
        Packets per terminal per cycle.
    uniform : bool
        Whether the traffic is uniform.

    Returns
    -------
    Prediction
        `latency_mean` in cycles, `throughput` in packets per terminal per cycle, and `attempts`.

    Raises
    ------
    TypeError, ValueError
        If the load is no number, or below 0.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import predict
    >>> round(predict(build("cube", ports=16), 0.2, uniform=True)["latency_mean"], 1)
    4.3
    """
    check_kind("Network", network, Network, "a network")
    load = check_number("Load", load)
    if not 0 <= load < math.inf:
        raise InvalidValue(f"Load must be at least 0, and finite, not {load}")
    check_flag("Uniform", uniform)
    prediction = Prediction(latency_mean=None, throughput=None, attempts=None)
    theory = network.theory
    if uniform and theory is not None and load <= 1:
        prediction.update(MODELS[theory.model](load, **theory.arguments))
    return prediction


def _buffered(load: float, radices: Sequence[int], depth: int) -> _Some:
    """Output-queued switches: for a load below 1 at which their queues are hardly ever full.

    The formula is for unlimited queues. A queue of the first stage gets a number of packets per
    cycle that is binomial, with generating function A(z) = (1 - p/k + p z/k)^k. The probability
    that it holds more than d packets falls as z^-d, where z > 1 is the root of A(z) = z. There is a
    prediction if this, times the number of stages, is at most `_FULL`. Measured latencies are
    then at most 5 % longer; with fuller queues packets block those behind them, and the network
    saturates.
    """
    likely = (_FULL / len(radices)) ** (-1 / depth)
    if not all(_falls(load, k, likely) for k in radices):
        return {}
    return {"latency_mean": buffered_delay(load, radices, len(radices))}


def _crosspoints(
    load: float, radices: Sequence[int], depth: int, length: int, cut_through: bool = True
) -> _Some:
    """Cut-through switches with crosspoint queues, for packets of one length: as `_buffered`.

    The packets for an output are in k queues. Taken together they are an output queue, in which c
    cycles count as one. If the probability that this queue holds more than d packets falls as
    z^-d, that of one of the k falls as (1 + k (z - 1))^-d. A queue has room for depth / c packets,
    rounded down. With store-and-forward one packet less can wait, since another one is being
    stored or sent.
    """
    depth = depth if cut_through else depth - length
    if depth < length:
        return {}
    traffic = load * length
    likely = (_FULL / len(radices)) ** (-length / (depth - depth % length))
    if not all(_falls(traffic, k, 1 + (likely - 1) / k) for k in radices):
        return {}
    return {
        "latency_mean": serial_delay(load, radices, len(radices), length, cut_through=cut_through)
    }


def _falls(load: float, k: int, z: float) -> bool:
    """Whether the probability that an unlimited queue holds more than d packets falls as z^-d."""
    return load < 1 and (1 + load / k * (z - 1)) ** k <= z


def _unbuffered(
    load: float, radices: Sequence[int | tuple[int, int]], dilation: int, replication: int
) -> _Some:
    """Unbuffered switches, basic, dilated or replicated: at any load.

    `radices` has pairs for boxes that are not square. Rates are then per source.

    Replicated networks are as `_has_formula` says.
    """
    throughput = None
    stages = len(radices)
    if _has_formula(radices, replication):
        accepted = enhanced_throughput(load, radices, stages, dilation, replication)
        throughput = accepted * sinks_per_source(radices)
    return {"latency_mean": float(stages), "throughput": throughput}


def _has_formula(radices: Sequence[int | tuple[int, int]], replication: int) -> bool:
    """Whether an unbuffered network is not replicated, or has at least `_MANY` terminals.

    The copies of a replicated network are taken to be independent, although a source sends into
    one copy at a time. In a smaller network this underestimates the throughput by more than 2 %,
    and overestimates the attempts by up to 20 %.
    """
    sources = math.prod(radix if isinstance(radix, int) else radix[0] for radix in radices)
    return replication == 1 or sources >= _MANY


def _resubmission(
    load: float, radices: Sequence[int], delay: int, dilation: int, replication: int
) -> _Some:
    """Unbuffered switches whose packets are sent again: for loads that the network carries.

    The formula takes a new attempt to be independent of the last one. Packets that collided and are
    sent again soon collide again: the delays must be drawn from at least `_APART` cycles. (From one
    cycle, the formula is up to 18 % too low.) Replicated networks are as `_has_formula` says.
    """
    size = radices, len(radices), dilation, replication
    if delay < _APART or not _has_formula(radices, replication):
        return {}
    if load > enhanced_throughput(1, *size):
        return {}
    return {"attempts": attempts_by_recurrence(load, *size)}


def _dcsh(
    load: float, *, k: int, n: int, decision: int, length: int, depth: int, full_rate: bool
) -> _Some:
    """DCSH: for long worms, at loads up to half of that at which the model saturates.

    The model is for wormhole switching at its purest. A message is taken to hold each channel, and
    its source, for all of its remaining latency: decision times and waits included. So a message of
    one flit that never waits would hold its source for n D_t + 1 cycles; in the hardware it is
    one, and the channel is free in the next cycle. (For k = 8, n = 2, one flit, the model saturates
    at a load of 0.27, the hardware at 0.9.) This holds for worms so long that queues and
    decision times hardly matter: there is a prediction if the length is at least `_LONG` times
    n D_t + depth. Queues of depth 1 without refill pass a flit only every other cycle: they have
    not the `full_rate` that the model assumes.

    The model also takes the source to be an M/M/1 queue, and the waits to be independent. Near
    saturation it is too high or too low by a factor of two.
    """
    setting = Locality(k, n, k, n, 1.0, length, decision)
    if not full_rate or length < _LONG * (n * decision + depth):
        return {}
    if math.isinf(dcsh_latency(setting, 2 * load)):
        return {}
    return {"latency_mean": dcsh_latency(setting, load)}


_FULL = 2e-3
"""Largest sum over the stages of the probabilities that an unlimited queue exceeds the depth."""

_MANY = 16
"""Fewest terminals of a replicated network."""

_APART = 8
"""Fewest cycles from which the delay of a new attempt is drawn."""

_LONG = 4
"""Length of a worm, as a multiple of the decision times of its path and the flits of a queue."""

MODELS: dict[str, Callable[..., _Some]] = {
    "buffered": _buffered,
    "crosspoints": _crosspoints,
    "unbuffered": _unbuffered,
    "resubmission": _resubmission,
    "dcsh": _dcsh,
}
"""The formulas by the name that `Network.theory` gives: functions of the load and arguments."""
