"""The paper's analysis of multistage cube networks (Siegel et al. 1989, section VI).

Every function is for uniform traffic, where each packet goes to any output with equal
probability. p is the load in packets a terminal and cycle, k the radix of the switches, and
c the length of a packet in cycles. Waiting times and delays are in cycles.
"""

from collections.abc import Iterator

__all__ = [
    "buffered_delay",
    "crossbar_throughput",
    "first_stage_waiting",
    "later_stage_waiting",
    "unbuffered_bandwidth_limit",
    "unbuffered_stages",
    "unbuffered_throughput",
    "unbuffered_throughput_approximation",
]


def _check_load(p: float, c: float = 1) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"Load p must be from 0 to 1, not {p}")
    if c * p >= 1 and c > 0:
        raise ValueError(f"Traffic intensity c*p must be below 1, not {c * p}")


def first_stage_waiting(p: float, k: int, c: float = 1) -> float:
    """Mean waiting time at a queue of the first stage, eq. (3): (c - 1/k) c p / 2 (1 - c p).

    Exact for infinite output queues.

    Raises
    ------
    ValueError
        If c p, the traffic intensity, is not from 0 to below 1.
    """
    _check_load(p, c)
    return (c - 1 / k) * c * p / (2 * (1 - c * p))


def later_stage_waiting(p: float, k: int, c: float = 1) -> float:
    """Mean waiting time at a queue of a later stage: (1 + 4 c p / 5 k) times the first stage's.

    The approximation printed below eq. (3). It is the limit for a stage deep in the network; the
    packets that leave the stages before are not independent, and wait for each other longer.

    A queueing model of the network (tests/test_statistics.py, c = 1) shows how good it is: deep
    in the network within 1.3 % for k = 2 and 2.6 % for k = 4 at loads up to 0.7, where the formula
    gives too much. The second stage has about 0.6 (k = 2) or 0.7 (k = 4) of the excess over the
    first, so the sum over few stages is up to 5 % too large, and the latency up to 2 %.
    """
    return (1 + 4 * c * p / (5 * k)) * first_stage_waiting(p, k, c)


def buffered_delay(
    p: float, k: int, stages: int, c: float = 1, *, cut_through: bool = True
) -> float:
    """Mean delay through a network of output-queued switches (VI-D).

    The waiting times at all stages, and the service time: `stages` + c - 1 cycles if packets cut
    through (for c = 1 there is no difference), `stages` times c if each switch stores all of one.
    """
    waiting = first_stage_waiting(p, k, c) + (stages - 1) * later_stage_waiting(p, k, c)
    return waiting + (stages + c - 1 if cut_through else stages * c)


def unbuffered_stages(p: float, k: int) -> Iterator[float]:
    """Packets on a line after stage 1, 2, ... of an unbuffered network: recurrence (1).

    p_i = 1 - (1 - p_(i-1) / k)^k, beginning with p_0 = p; conflicting packets but one are dropped.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"Load p must be from 0 to 1, not {p}")
    while True:
        p = 1 - (1 - p / k) ** k
        yield p


def unbuffered_throughput(p: float, k: int, stages: int) -> float:
    """Throughput of an unbuffered network, packets a terminal and cycle, by recurrence (1)."""
    rates = unbuffered_stages(p, k)
    rate = p
    for _ in range(stages):
        rate = next(rates)
    return rate


def unbuffered_throughput_approximation(p: float, k: int, stages: int) -> float:
    """The closed form (2), an upper bound of (1): 1 / ((k - 1) i / 2 k + 1 / p)."""
    if not 0 <= p <= 1:
        raise ValueError(f"Load p must be from 0 to 1, not {p}")
    return 1 / ((k - 1) * stages / (2 * k) + 1 / p) if p else 0.0


def unbuffered_bandwidth_limit(k: int, stages: int) -> float:
    """Bandwidth a terminal as the network grows, whatever the load: 2 k / (k - 1) log_k N."""
    return 2 * k / ((k - 1) * stages)


def crossbar_throughput(p: float, ports: int) -> float:
    """Throughput of an N x N crossbar: recurrence (1) with one stage of radix N."""
    return unbuffered_throughput(p, ports, 1)
