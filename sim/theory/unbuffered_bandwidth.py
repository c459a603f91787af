"""The throughput of unbuffered multistage networks: recurrence (1) and Fig. 9 (Siegel et al., VI).

Every function is for uniform traffic, where each packet goes to any output with equal
probability. p is the load in packets per terminal per cycle, k the radix of the switches. Where k
may be several numbers, they are the radices of the stages, in the order in which a packet meets
them. A pair (a, b) among them stands for boxes of a inputs and b outputs.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TypeVar

from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.errors import InvalidValue

__all__ = [
    "Radix",
    "attempts",
    "attempts_by_recurrence",
    "crossbar_throughput",
    "dilated_stages",
    "dilated_throughput",
    "each_radix",
    "enhanced_throughput",
    "replicated_throughput",
    "returned_rate",
    "sinks_per_source",
    "survival",
    "unbuffered_bandwidth_limit",
    "unbuffered_stages",
    "unbuffered_throughput",
    "unbuffered_throughput_approximation",
]


def _check_load(p: float) -> None:
    if not 0 <= p <= 1:
        raise InvalidValue(f"Load p must be from 0 to 1, not {p}")


Radix = int | Sequence[int]
"""The radix of all stages, or those of each stage."""

Shape = int | tuple[int, int]
"""The radix of a box, or its inputs and its outputs."""

Boxes = int | Sequence[Shape]
"""As `Radix`, for boxes that need not be square."""

_Each = TypeVar("_Each", int, Shape)


def each_radix(k: int | Sequence[_Each], stages: int, least: int = 0) -> tuple[int | _Each, ...]:
    """The radix of each stage; ValueError if there are not as many as stages, or one is below 1."""
    stages = check_integer("Stages", stages, least)
    for shape in k if isinstance(k, Sequence) else [k]:
        for side in _sides(shape):
            check_integer("Radix k", side, 1)
    if not isinstance(k, Sequence):
        return (k,) * stages
    if len(k) != stages:
        raise InvalidValue(f"Stages must be {len(k)}, the number of radices, not {stages}")
    return tuple(k)


def _sides(shape: Shape) -> tuple[int, int]:
    """The inputs and the outputs of a box."""
    return shape if isinstance(shape, tuple) else (shape, shape)


def sinks_per_source(k: Boxes) -> float:
    """The number of sinks of a network of these boxes, divided by that of its sources."""
    sides = map(_sides, k if isinstance(k, Sequence) else [k])
    return math.prod(outputs / inputs for inputs, outputs in sides)


def unbuffered_stages(p: float, k: Boxes) -> Iterator[float]:
    """Packets on a line after stage 1, 2, ... of an unbuffered network: recurrence (1).

    p_i = 1 - (1 - p_(i-1) / k)^k with the radix k of stage i, starting with p_0 = p. All but one of
    conflicting packets are dropped. With boxes of a inputs and b outputs it is Patel's recurrence
    p_i = 1 - (1 - p_(i-1) / b)^a.
    """
    _check_load(p)
    for inputs, outputs in map(_sides, k if isinstance(k, Sequence) else repeat(k)):
        p = 1 - (1 - p / outputs) ** inputs
        yield p


def unbuffered_throughput(p: float, k: Boxes, stages: int) -> float:
    """Throughput of an unbuffered network, packets per terminal per cycle, by recurrence (1).

    If there are not as many sinks as sources: p is the load per source, and this the throughput per
    sink. `sinks_per_source` times it is the throughput per source.
    """
    return [p, *unbuffered_stages(p, each_radix(k, stages))][-1]


def unbuffered_throughput_approximation(p: float, k: int, stages: int) -> float:
    """The closed form (2), an upper bound of (1): 1 / ((k - 1) i / 2 k + 1 / p)."""
    _check_load(p)
    return 1 / ((k - 1) * stages / (2 * k) + 1 / p) if p else 0.0


def unbuffered_bandwidth_limit(k: int, stages: int) -> float:
    """Bandwidth per terminal as the network grows, at any load: 2 k / (k - 1) log_k N.

    Raises
    ------
    TypeError, ValueError
        If k is not at least 2, or `stages` not at least 1.
    """
    k = check_integer("Radix", k, 2)
    stages = check_integer("Stages", stages, 1)
    return 2 * k / ((k - 1) * stages)


def crossbar_throughput(p: float, ports: int) -> float:
    """Throughput of an N x N crossbar: recurrence (1) with one stage of radix N."""
    return unbuffered_throughput(p, ports, 1)


def _at_most(distribution: Sequence[float], limit: int) -> list[float]:
    """The distribution of a number of packets, limited to at most `limit`."""
    return [*distribution[:limit], sum(distribution[limit:])]


def _sum_of(distribution: Sequence[float], count: int) -> list[float]:
    """The distribution of the sum of `count` independent numbers."""
    total = [1.0]
    for _ in range(count):
        longer = [0.0] * (len(total) + len(distribution) - 1)
        for a, chance in enumerate(total):
            for b, likely in enumerate(distribution):
                longer[a + b] += chance * likely
        total = longer
    return total


def _thinned(distribution: Sequence[float], k: int) -> list[float]:
    """The distribution of how many packets, of a random number, choose one of k outputs."""
    return [
        sum(
            chance
            * math.comb(number, chosen)
            * (1 / k) ** chosen
            * (1 - 1 / k) ** (number - chosen)
            for number, chance in enumerate(distribution)
            if number >= chosen
        )
        for chosen in range(len(distribution))
    ]


def dilated_throughput(
    p: float, k: Boxes, stages: int, dilation: int, *, terminal_links: int = 1
) -> float:
    """Throughput of an unbuffered network with `dilation` links in place of each (VI-A).

    The paper only mentions the recurrence (Kruskal and Snir 1983). The number of packets in a
    bundle after a stage is the sum of those for it in k independent bundles, limited to `dilation`;
    each packet goes to each of the k outputs with probability 1/k. It starts with one link per
    input, which has a packet with probability p. The terminal has `terminal_links` links to the
    last stage: 1, as in the hardware of this library, or up to `dilation` if it can accept several
    packets per cycle. Exact if winners are random. With dilation 1 it is recurrence (1).

    Raises
    ------
    TypeError, ValueError
        If p is not from 0 to 1, `terminal_links` is not from 1 to `dilation`, or another number is
        too small.
    """
    _check_load(p)
    stages = check_integer("Stages", stages, 1)
    sides = [
        (check_integer("Radix", inputs, 2), check_integer("Radix", outputs, 2))
        for inputs, outputs in map(_sides, each_radix(k, stages))
    ]
    dilation = check_integer("Dilation", dilation, 1)
    terminal_links = check_integer("Links of a terminal", terminal_links, 1, dilation)
    bundle = [1 - p, p]
    for stage, box in enumerate(sides, start=1):
        bundle = _behind(bundle, box, dilation if stage < stages else terminal_links)
    return _mean(bundle)


def dilated_stages(p: float, k: int, dilation: int) -> Iterator[float]:
    """Packets in a bundle of links after stage 1, 2, ... of a dilated network without end.

    The recurrence of `dilated_throughput`, where the terminals have `dilation` links.
    """
    _check_load(p)
    bundle = [1 - p, p]
    while True:
        bundle = _behind(bundle, (k, k), dilation)
        yield _mean(bundle)


def _behind(bundle: Sequence[float], box: tuple[int, int], links: int) -> list[float]:
    """How many packets are in a bundle of so many links behind a box, from those before it.

    The sum is kept at 1: its rounding error would grow by the factor of the inputs in each stage.
    """
    inputs, outputs = box
    behind = _at_most(_sum_of(_thinned(bundle, outputs), inputs), links)
    total = sum(behind)
    return [chance / total for chance in behind]


def _mean(distribution: Sequence[float]) -> float:
    return sum(number * chance for number, chance in enumerate(distribution))


def replicated_throughput(p: float, k: Radix, stages: int, copies: int) -> float:
    """Throughput of a replicated unbuffered network (VI-A): 1 - (1 - p_n(p / d))^d for d copies.

    Each packet takes a random copy, and a terminal accepts one packet per cycle. The copies are
    taken to be independent, which is not quite true: a source sends into one copy at a time.

    Raises
    ------
    TypeError, ValueError
        If p is not from 0 to 1, or `copies` is not at least 1.
    """
    _check_load(p)
    copies = check_integer("Copies", copies, 1)
    return 1 - (1 - unbuffered_throughput(p / copies, k, stages)) ** copies


def _check_stable(p: float, k: int, stages: int) -> None:
    _check_load(p)
    limit = unbuffered_bandwidth_limit(k, stages)
    if p >= limit:
        raise InvalidValue(
            f"Load p must be below 2 k / (k - 1) stages, here {limit:.4g}, not {p}: "
            "beyond it the network is unstable"
        )


def returned_rate(p: float, k: int, stages: int) -> float:
    """Rate q at which dropped packets return to a source that resubmits them (VI-B).

    q = n p^2 / (2 k / (k - 1) - n p) for n stages. With this q, the throughput by approximation (2)
    at load p + q is p. The formula ignores that a source sends at most one packet per cycle;
    `attempts_by_recurrence` does not. Where p + q is above 1 (for p from
    1 / (1 + n (k - 1) / 2 k) on), the formula describes no network.

    Raises
    ------
    ValueError
        If p is negative, or not below 2 k / (k - 1) n, where the network becomes unstable.
    """
    _check_stable(p, k, stages)
    return stages * p * p / (2 * k / (k - 1) - stages * p)


def survival(p: float, k: int, stages: int) -> float:
    """Probability s that an attempt succeeds if dropped packets are resubmitted (VI-B).

    s = 1 - (k - 1) p n / 2 k for n stages; errors and limits are those of `returned_rate`.
    """
    _check_stable(p, k, stages)
    return 1 - (k - 1) * p * stages / (2 * k)


def attempts(p: float, k: int, stages: int) -> float:
    """Mean number tau of attempts per packet if dropped packets are resubmitted (VI-B).

    tau = 1 / s; errors and limits are those of `returned_rate`.
    """
    return 1 / survival(p, k, stages)


def enhanced_throughput(
    p: float, k: Boxes, stages: int, dilation: int = 1, copies: int = 1
) -> float:
    """Throughput of an unbuffered network that is dilated or replicated, or neither (VI-A).

    `dilated_throughput` of each copy at load p / copies, merged as in `replicated_throughput`.
    """
    if dilation == 1:  # the same by both, but for rounding
        each = unbuffered_throughput(p / copies, k, stages)
    else:
        each = dilated_throughput(p / copies, k, stages, dilation)
    return each if copies == 1 else 1 - (1 - each) ** copies


def attempts_by_recurrence(
    p: float, k: Radix, stages: int, dilation: int = 1, copies: int = 1
) -> float:
    """As `attempts`, by recurrence (1) in place of its approximation (2).

    This is the load at which the throughput is p, divided by p. For dilated and replicated
    networks it is the throughput by `enhanced_throughput`.

    Raises
    ------
    ValueError
        If p is negative, or above the throughput of the network at load 1.
    """
    _check_load(p)
    size = (k, stages, dilation, copies)
    limit = enhanced_throughput(1, *size)
    if p > limit:
        raise InvalidValue(
            f"Load p must be at most {limit:.4g}, which the network carries, not {p}"
        )
    low, high = p, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if enhanced_throughput(middle, *size) < p:
            low = middle
        else:
            high = middle
    return high / p if p else 1.0
