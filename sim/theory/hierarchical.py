"""Hierarchical networks of two levels: cost, distances and delays (Dandamudi and Eager, 1990, III).

Clusters are hypercubes of n = 2^d nodes, K of which are joined by another network; in all there are
N = K n nodes. Each node sends at rate lambda: with probability alpha to its own cluster, itself
included, and else to another one, always uniformly. Packets take each shortest path with the same
probability. A link has a queue in each direction, taken to be M/M/1 and independent of all others.
Delays are infinite if any queue that is used is saturated.
"""

from dataclasses import dataclass
from math import comb, inf, isfinite, log2
from typing import Protocol

__all__ = ["Hypercube", "Rates", "StaticNetwork", "TwoLevel", "utilisation"]


@dataclass(frozen=True)
class Rates:
    """How often nodes send, and links serve.

    Attributes
    ----------
    arrival : float
        lambda: packets that a node sends per time.
    cluster, joining : float
        mu_CL and mu_NCL: packets that a link within a cluster, or between clusters, can carry per
        time in each direction.
    length : float
        Mean flits of a packet. If it is finite, the network has a clock: packets arrive at a link
        with the same probability in each cycle, lengths are geometric, and each flit takes a link
        the same number of cycles.
    cycle : float
        Time of a clock cycle.
    streams : int
        With a clock: streams of packets that enter each queue, each with the same rate, and with
        one packet at most in a cycle.
    """

    arrival: float
    cluster: float
    joining: float
    length: float = inf
    cycle: float = 0
    streams: int = 1

    def time(self, load: float, service: float) -> float:
        """The mean time in the queue of a link: M/M/1, or with a clock that of discrete time
        (Pollaczek and Khinchine), where a packet also waits for those that come in its cycle."""
        if load >= service:
            return inf
        if not isfinite(self.length):
            return 1 / (service - load)
        mean = 1 / (service * self.cycle)
        squares = (2 - 1 / self.length) * mean**2
        at_once = mean * (1 - 1 / self.streams)
        waiting = load * self.cycle * (squares - mean + at_once) / (2 * (1 - load / service))
        return (mean + waiting) * self.cycle


class StaticNetwork(Protocol):
    """What both kinds of networks have in common."""

    @property
    def nodes(self) -> int:
        """N."""

    def links(self, replication: int = 1) -> float:
        """L, with parallel links in the place of each joining link."""

    def distance(self, alpha: float) -> float:
        """P: mean number of links on the path of a packet."""

    def delay(self, alpha: float, rates: Rates) -> float:
        """R: mean time from sending a packet to its arrival."""


def utilisation(load: float, service: float) -> float:
    """The share of time that a link is in use; 1 if it is saturated."""
    return min(load / service, 1)


@dataclass(frozen=True)
class Hypercube:
    """The reference: one hypercube, whose clusters are subcubes in its lowest d dimensions.

    Attributes
    ----------
    dimension : float
        D = log2 N. (BH/CCC is compared with a hypercube of as many nodes, whether or not there is
        one.)
    cluster : int
        d.
    """

    dimension: float
    cluster: int

    @classmethod
    def like(cls, network: "TwoLevel") -> "Hypercube":
        """The reference of a hierarchical network."""
        return cls(log2(network.nodes), network.cluster)

    @property
    def nodes(self) -> int:
        """N."""
        return round(2**self.dimension)

    def links(self, replication: int = 1) -> float:
        """Equation (1)."""
        d, n = self.dimension, self.nodes
        return self.cluster * n / 2 + (d - self.cluster) * n / 2 * replication

    @property
    def joining_distance(self) -> float:
        """Links between clusters on the path of a packet to another cluster: (4), less d / 2."""
        size, n = self.nodes, 2**self.cluster
        return (self.dimension - self.cluster) * size / 2 / (size - n)

    def distance(self, alpha: float) -> float:
        """Equation (5)."""
        return self.cluster / 2 + (1 - alpha) * self.joining_distance

    def delay(self, alpha: float, rates: Rates) -> float:
        """Equation (15)."""
        size, n = self.nodes, 2**self.cluster
        joining = (1 - alpha) * rates.arrival * size / 2 / (size - n)
        within = self.cluster / 2 * rates.time(rates.arrival / 2, rates.cluster)
        if alpha == 1:
            return within
        return within + (1 - alpha) * self.joining_distance * rates.time(joining, rates.joining)


@dataclass(frozen=True)
class TwoLevel:
    """A hierarchical network of hypercubes.

    Attributes
    ----------
    top : "bh", "br", "cc" or "ccc"
        The network of level 2: a hypercube, a ring in both directions, a complete network, or
        cube-connected cycles.
    cluster : int
        d.
    dimension : int
        D - d = log2 K; for "ccc" D_c, where K = D_c 2^D_c.
    """

    top: str
    cluster: int
    dimension: int

    @property
    def name(self) -> str:
        """As the paper writes it."""
        return f"BH/{self.top.upper()}"

    @property
    def clusters(self) -> int:
        """K."""
        return (self.dimension if self.top == "ccc" else 1) << self.dimension

    @property
    def nodes(self) -> int:
        """N."""
        return self.clusters << self.cluster

    @property
    def joining_links(self) -> float:
        """Links of level 2."""
        k, dimension = self.clusters, self.dimension
        return {"bh": dimension * k / 2, "br": k, "cc": k * (k - 1) / 2, "ccc": 3 * k / 2}[self.top]

    def links(self, replication: int = 1) -> float:
        """Equations (6), (9), (11), (13)."""
        return self.cluster * self.nodes / 2 + self.joining_links * replication

    @property
    def joining_distance(self) -> float:
        """P_level2: mean links of level 2 between different clusters. An approximation for "ccc"
        (Wittie, 1981), and for rings of odd size."""
        k, dimension = self.clusters, self.dimension
        return {
            "bh": dimension * k / 2 / (k - 1),
            "br": k**2 / (4 * (k - 1)),
            "cc": 1.0,
            "ccc": 7 / 4 * dimension - 3 + (dimension + 1) / 2 ** (dimension - 1),
        }[self.top]

    def distance(self, alpha: float) -> float:
        """Equations (7), (8), (10), (12), (14)."""
        return alpha * self.cluster / 2 + (1 - alpha) * (self.cluster + self.joining_distance)

    def joining_load(self, alpha: float, rates: Rates) -> float:
        """lambda_link,NCL: arrivals at a link of level 2, in each direction. With "ccc" the mean of
        all: links across the cube carry more than those of the cycles."""
        sent = self.nodes * (1 - alpha) * rates.arrival
        return sent * self.joining_distance / (2 * self.joining_links)

    def passing(self, j: int) -> float:
        """p(j): the probability that a packet to another cluster takes some j-level link on its way
        out, which leads from distance j of the interface node to distance j - 1."""
        d = self.cluster
        farther = sum(comb(d, k) for k in range(j, d + 1))
        return farther / ((d - j + 1) * comb(d, j - 1) * 2**d)

    def cluster_load(self, j: int, alpha: float, rates: Rates) -> float:
        """lambda_link,CL,j: arrivals at a j-level link, in each direction; equation (16)."""
        leaving = 2**self.cluster * rates.arrival * (1 - alpha) * self.passing(j)
        return alpha * rates.arrival / 2 + leaving

    def delay(self, alpha: float, rates: Rates) -> float:
        """Equations (17) to (21)."""
        d = self.cluster
        within = leaving = 0.0
        for j in range(1, d + 1):
            links = (d - j + 1) * comb(d, j - 1)
            time = rates.time(self.cluster_load(j, alpha, rates), rates.cluster)
            within += links * time / (d * 2 ** (d - 1))
            leaving += links * time * self.passing(j)
        total = alpha * d / 2 * within if alpha else 0.0
        if alpha < 1:
            joining = rates.time(self.joining_load(alpha, rates), rates.joining)
            total += (1 - alpha) * (2 * leaving + self.joining_distance * joining)
        return total
