"""The model of Ould-Khaoua and Sotudeh: DCSH and torus under traffic with spheres of locality.

Equation numbers are the paper's (section III). m is the load in messages per node per cycle, all
times are in cycles. Beyond saturation the model has no solution; latencies are then infinite.

Conventions of the model, found by averaging over all pairs of nodes: a sphere message is for any
node of the sphere with equal probability, *including the sender*; a message for another sphere is
for any node outside with equal probability. Then (1) to (3) are exact. (The paper remarks that
beta = (N_s - 1) / (N - 1) makes traffic uniform. Unlike its equations, this excludes the sender;
with the equations it is beta = N_s / N.)

The docstring of each function lists misprints and their corrections. A correction must give terms
the right dimension (m L is a number, m L^2 a time), and blocking terms that follow from their
derivation: a message of one stream that meets another of rate m, each of whose messages holds the
channel for L, waits m L^2 / 2 on average.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...hdl.fabric.checks import check_field
from ...hdl.fabric.errors import InvalidValue

__all__ = [
    "Locality",
    "crossing_load",
    "dcsh_bisection",
    "dcsh_channels",
    "dcsh_latency",
    "dcsh_pins",
    "equal_torus_width",
    "saturation_load",
    "torus_bisection",
    "torus_channels",
    "torus_latency",
    "torus_pins",
    "zero_load_latency",
]


@dataclass(frozen=True)
class Locality:
    """A network of k^n nodes that is divided into spheres of locality.

    Attributes
    ----------
    k, n : int
        Nodes along a dimension, at least 2, and number of dimensions, at least 1.
    side, dimensions : int
        A sphere has `side` nodes along each of the lowest s = `dimensions` dimensions: k of them in
        the DCSH, k_s from 2 to k in the torus. s is from 1 to n.
    beta : float
        Probability that a message is for the sender's own sphere, from 0 to 1. It must be 1 if the
        sphere is the whole network.
    length : int
        Message length B in flits, at least 1.
    decision : int
        Decision time D_t in cycles, at least 1.
    """

    k: int
    n: int
    side: int
    dimensions: int
    beta: float
    length: int
    decision: int = 1

    def __post_init__(self) -> None:
        check_field(self, "k", "Nodes along a dimension k", 2)
        check_field(self, "n", "Dimensions n", 1)
        check_field(self, "side", "Side of a sphere", 2, self.k)
        check_field(self, "dimensions", "Dimensions of a sphere", 1, self.n)
        check_field(self, "length", "Length", 1)
        check_field(self, "decision", "Decision time", 1)
        if not 0 <= self.beta <= 1:
            raise InvalidValue(f"Fraction beta must be from 0 to 1, not {self.beta}")
        if self.sphere == self.nodes and self.beta != 1:
            raise InvalidValue(
                f"Fraction beta must be 1 if the sphere is the whole network, not {self.beta}"
            )

    @property
    def nodes(self) -> int:
        """N."""
        return self.k**self.n

    @property
    def sphere(self) -> int:
        """N_s, the number of nodes in a sphere.

        The paper's "k_s^s along a dimension" is their total number. Along a dimension there are
        k_s, as in (15), in alpha_sc = 1 / k_s, and in the sphere of eight nodes "along the row".
        """
        return self.side**self.dimensions

    @property
    def outside(self) -> float:
        """N / (N - N_s), since no message for another sphere is for the sender's; 0 if N = N_s."""
        return 0.0 if self.sphere == self.nodes else self.nodes / (self.nodes - self.sphere)


def _check_dcsh(setting: Locality) -> None:
    if setting.side != setting.k:
        raise InvalidValue(
            f"Sphere of a DCSH must be whole clusters of {setting.k} nodes, not {setting.side}"
        )


def dcsh_channels(setting: Locality) -> tuple[float, float]:
    """Mean number of channels that a message crosses in the sphere's dimensions, and in the others.

    (1), and (2), which is for messages to other spheres only. Exact.
    """
    _check_dcsh(setting)
    crossed = (setting.k - 1) / setting.k
    return (
        setting.dimensions * crossed,
        (setting.n - setting.dimensions) * crossed * setting.outside,
    )


def torus_channels(setting: Locality) -> tuple[float, float]:
    """As `dcsh_channels`, in the torus: (15), (16).

    An approximation: the mean distance in a ring of k nodes, including the sender, is k / 4 for
    even k. A message to another sphere is assumed to cross the sphere's dimensions as if they ended
    with the sphere, although there are k / k_s spheres along each of them; see `torus_latency`.
    """
    return (
        setting.dimensions * (setting.side - 1) / 4,
        (setting.n - setting.dimensions) * (setting.k - 1) / 4 * setting.outside,
    )


def zero_load_latency(setting: Locality, channels: tuple[float, float]) -> float:
    """Latency without load, eq. (3): a_sc D_t + (1 - beta) a_nsc D_t + B."""
    inside, outside = channels
    return (inside + (1 - setting.beta) * outside) * setting.decision + setting.length


def dcsh_latency(setting: Locality, m: float) -> float:
    """Mean latency of the DCSH, (4) to (14).

    Starting with L = B at the destination (6), the switching element of each dimension adds its
    decision time, the wait at the multiplexer (10), (12), and the wait of a stream for another
    where they meet. There are n steps from L_0 to L_n, so dimension i takes L_(i-1) to L_i. (The
    printed indices are one too high: they would make s + 1 steps up to L_s.)

    - (11), (13): the printed D_i is D_t, the only decision time.
    - (11): the printed L_nsc in the term with alpha^3 should be L_sc. The term is for the streams
      that skip dimension i, whether or not they have passed i + 1: fractions alpha (1 - alpha) and
      alpha^2 of the messages, each waiting for the other: 2 alpha^3 (1 - alpha) m L^2 / 2. They
      wait for messages that continue in the sphere's dimensions. (13) has the same form throughout.
    - Without load the steps give (beta s + (1 - beta) n) D_t + B: D_t for each dimension, even one
      that is skipped, which (3) does not count. Both are kept as printed; they differ by at most
      n D_t / k.
    """
    _check_dcsh(setting)
    k, skips = setting.k, 1 / setting.k
    passes = 1 - skips
    latency = sphere_latency = float(setting.length)
    for i in range(1, setting.n + 1):
        local = i <= setting.dimensions
        rate = m if local else (1 - setting.beta) * m * setting.outside
        waiting = (k - 2) * passes * rate * latency**2 / (2 * (k - 1))
        latency = (
            setting.decision
            + latency
            + passes * waiting
            + skips**3 * passes * rate * latency**2
            + skips * passes**3 * rate * (latency + waiting) ** 2
        )
        if i == setting.dimensions:
            sphere_latency = latency
    return _queued(setting, sphere_latency, latency, m)


def torus_latency(
    setting: Locality, m: float, *, directions: int = 2, whole_rings: bool = False
) -> float:
    """Mean latency of the bidirectional torus, (17) to (26), and (14).

    As `dcsh_latency`, except that a message continues over several channels of a dimension, on
    average h = (k - 2) / 4 after the first. At each of them it takes the decision time, and may
    wait for a message that enters there. L0 = L + h D_t + m' L0^2 / 2 is the latency seen from the
    dimension's first channel. A message that enters waits for one that continues; their rate is
    m' = h m.

    - (17) gives m_sc: the index is missing in print. (Its factor N / (N - 1), for messages that are
      not for the sender, is inconsistent with (1) and (15), but within 0.1 % of 1.)
    - (20), (21) and the left side of (22) have the rate m' = h m of (22), which is printed like the
      m on its right side. The same holds in (25) and (26), with k in place of k_s.
    - (21), (26): the root is that of 1 - 2 m' (h D_t + L). The printed form has no parentheses, and
      adds a time to a number. With them it is the solution of the equation for L0 above, and L0
      approaches h D_t + L without load.
    - (23) is missing: it is (20) for messages to other spheres.
    - (19), (24): `a` is alpha, the probability of skipping a dimension, not a mean distance. The
      polynomials are correct. Of the streams that skip a dimension, two have passed the one before
      (in either direction) and two have not. Each waits for the three others, which gives
      alpha^2 (1 + 2 alpha - 2 alpha^2). Of the streams that pass it, the two that have skipped the
      one before are a single stream: (1 - alpha)^3 (1 + 3 alpha).
    - (15), (19) send *all* messages through rings of k_s nodes in the sphere's dimensions. Messages
      for other spheres cross rings of k nodes there. With `whole_rings` they do: their alpha and h
      are those of k, and m' of these dimensions is the rate of all messages that continue there,
      beta h_s + (1 - beta) h times m_sc, with h_s for the sphere. (17) and (18) are not changed.
      Without load this is within 2 % of the mean over all pairs of nodes of the paper's figures.

    Parameters
    ----------
    setting : Locality
    m : float
    directions : int
        2 as printed: half of the messages go in each direction of a dimension. With 1, all of them
        go in one direction.
    whole_rings : bool
        Whether messages for other spheres cross whole rings in the sphere's dimensions.
    """
    sphere_rate = m * setting.nodes / (directions * (setting.nodes - 1))
    other_rate = (1 - setting.beta) * m * setting.outside / directions
    short, long = (setting.side - 2) / 4, (setting.k - 2) / 4
    mean = setting.beta * short + (1 - setting.beta) * long if whole_rings else short
    crossed = setting.k if whole_rings else setting.side

    def ring(latency: float, k: int, rate: float, going_on: float) -> float:
        """The latency seen from the dimension before, from the one seen from the one behind."""
        a = 1 / k
        unhindered = (k - 2) / 4 * setting.decision + latency
        root = 1 - 2 * going_on * unhindered
        if root < 0:
            return math.inf
        # (1 - sqrt(root)) / going_on, or its limit if there is no traffic.
        first = 2 * unhindered / (1 + math.sqrt(root))
        routing = first + going_on / 2 * first**2 - latency
        return (
            setting.decision
            + latency
            + (1 - a) * routing
            + a**2 * (1 + 2 * a - 2 * a**2) * rate * latency**2 / 2
            + (1 - a) ** 3 * (1 + 3 * a) * rate * (latency + routing) ** 2 / 2
        )

    sphere = other = float(setting.length)
    for i in range(1, setting.n + 1):
        if i <= setting.dimensions:
            sphere = ring(sphere, setting.side, sphere_rate, mean * sphere_rate)
            other = ring(other, crossed, sphere_rate, mean * sphere_rate)
        else:
            other = ring(other, setting.k, other_rate, long * other_rate)
        if math.isinf(sphere) or math.isinf(other):
            return math.inf
    return _queued(setting, sphere, other, m)


def _queued(setting: Locality, sphere: float, other: float, m: float) -> float:
    """Latency including the wait at the source, an M/M/1 queue: (14)."""
    service = setting.beta * sphere + (1 - setting.beta) * other
    return service / (1 - m * service) if m * service < 1 else math.inf


def saturation_load(latency: Callable[[float], float]) -> float:
    """The load from which on a latency, a function of the load, is infinite."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if math.isinf(latency(middle)):
            high = middle
        else:
            low = middle
    return low


def crossing_load(
    first: Callable[[float], float], second: Callable[[float], float]
) -> float | None:
    """The lowest load at which the second latency is above the first; None if it never is.

    Both are functions of the load. They are compared up to the load at which the first becomes
    infinite, in steps of a thousandth of it.
    """
    limit = saturation_load(first)
    for step in range(1001):
        load = limit * step / 1000
        if second(load) > first(load):
            return load
    return None


def dcsh_bisection(k: int, width: int) -> int:
    """Wires across the middle of a k x k DCSH with channels of `width` bits, (27): k^2 W."""
    return k**2 * width


def torus_bisection(k: int, width: int) -> int:
    """Wires across the middle of a k x k torus, (28): 4 k W, as 4 k^2 / k = 4 N / k.

    In each of k rows two links are cut, in both directions. The printed middle term lacks W.
    """
    return 4 * k * width


def dcsh_pins(k: int, width: int) -> int:
    """Pins of a node of a k x k DCSH, (29): one channel out and k - 1 in, in each dimension."""
    return 2 * k * width


def torus_pins(width: int) -> int:
    """Pins of a node of a two-dimensional torus, (30): four channels out, four in."""
    return 8 * width


def equal_torus_width(k: int, width: int) -> int:
    """Channel width of a k x k torus that costs as many wires or pins as a DCSH, (31).

    It is k / 4 times the width, rounded up as printed.
    """
    return -(-k // 4) * width
