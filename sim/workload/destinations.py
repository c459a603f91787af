"""Where packets go: the destinations of a traffic pattern."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...hdl.bench.sources import BIAS_BITS
from ...hdl.fabric.checks import check_limit
from ...hdl.fabric.errors import InvalidValue
from ...hdl.graphs.address_codes import AddressCode
from ...hdl.networks.packet_network import PacketNetwork
from .matrix import MOST_ENTRIES, destination_tables, table_slots

__all__ = ["Destinations", "check_spheres", "sphere_matrix"]


@dataclass(frozen=True)
class Destinations:
    """With probability `bias` a packet goes to its sender's favourite terminal.

    All other packets go to a random terminal. With probability `spread` a packet is a broadcast
    with a random mask. In a network with memory, terminals stand for memory modules; requests for
    the favourite are for its word 0.

    Attributes
    ----------
    favourites : tuple[int, ...]
        Favourite destination of each terminal, as many as there are terminals.
    bias, spread : float
    local : bool
        Whether `bias` is the fraction of packets for the sender's sphere of locality, which is the
        block of terminals that contains the sender. These packets are uniform in the sphere, all
        others uniform outside it.
    sphere : int
        Terminals in a sphere; 0 for the network's own size.
    tabled : bool
        Whether the sources draw from tables where they can't draw local traffic otherwise: if
        spheres are no blocks of addresses, or get less than their share of all packets.
    digitwise : Callable, optional
        Function that gives the favourites instead, for a network's code of addresses.
    matrix : np.ndarray, optional
        Weights of the destinations (columns) of each terminal (row), instead of uniform ones.
    """

    favourites: tuple[int, ...]
    bias: float = 0
    spread: float = 0
    local: bool = False
    sphere: int = 0
    tabled: bool = False
    digitwise: Callable[[AddressCode], Sequence[int]] | None = None
    matrix: np.ndarray | None = field(default=None, compare=False)

    @property
    def uniform(self) -> bool:
        """Whether all destinations are equally likely, including the sender."""
        plain = self.bias == 0 and self.spread == 0
        return plain and not self.local and self.matrix is None

    @property
    def fixed(self) -> bool:
        """Whether all packets of a terminal have the same destination."""
        return self.bias == 1 and not self.local

    def of(self, code: AddressCode) -> Sequence[int]:
        """The favourite of each terminal of a network with this code of addresses."""
        return self.digitwise(code) if self.digitwise else self.favourites

    def reach(self, sinks: int) -> bool:
        """Whether they have a meaning for this number of sinks."""
        if self.matrix is not None:
            return self.matrix.shape[1] == sinks
        if self.local or self.digitwise is not None:
            return len(self.favourites) == sinks
        return max(self.favourites) < sinks

    def fitted(self, network: PacketNetwork) -> "Destinations":
        """What the sources of a network draw from: the same, or a matrix.

        Raises
        ------
        ValueError
            If the spheres do not divide the network, or a matrix would be too large.
        """
        if not self.tabled:
            return self
        ports, size = network.ports, self.sphere or network.sphere
        check_spheres("locality", size, ports)
        plain = replace(self, tabled=False, sphere=size)
        if size == ports or (self.bias * ports >= size and _is_block(network.code, size)):
            return plain
        check_limit("Entries of a traffic matrix", ports**2, MOST_ENTRIES)
        return replace(plain, bias=0, local=False, matrix=sphere_matrix(self.bias, size, ports))

    def scope(self, network: PacketNetwork) -> tuple[float, int]:
        """The probability that a source draws from the favourite's block, and the block's mask.

        A fraction 1 - bias must go outside the sphere of S of the N terminals. So the source draws
        a fraction (1 - bias) / (1 - S / N) from all terminals, including the sphere.
        """
        if not self.local:
            return self.bias, 0
        size = self.sphere or network.sphere
        scope = network.tags.code.block_mask(size)
        share = size / network.ports
        if share == 1:
            return 1, scope
        if self.bias < share:
            raise InvalidValue(
                f"Fraction BETA of sphere must be at least {share:g}, its share of all terminals, "
                f"not {self.bias:g}"
            )
        return (self.bias - share) / (1 - share), scope

    def straps(self, code: AddressCode) -> list[dict[str, int]]:
        """What the sources of all terminals need to draw destinations."""
        bias = round(self.bias * 2**BIAS_BITS)
        return [{"bias": bias, "favourite": code.encode(to)} for to in self.of(code)]

    def network_straps(self, network: PacketNetwork) -> dict[str, int]:
        """What they need besides in a network without memory."""
        bias, scope = self.scope(network)
        spread = {"spread": round(self.spread * 2**BIAS_BITS)} if network.broadcasts else {}
        return {"bias": round(bias * 2**BIAS_BITS), "scope": scope, **spread}

    @property
    def parts(self) -> dict[str, Any]:
        """The parameters of the tables that only some sources have."""
        return {} if self.matrix is None else {"slots": table_slots(self.matrix)}

    def tables(self, code: AddressCode) -> list[dict[str, tuple[int, ...]]]:
        """The contents of the sources' tables."""
        if self.matrix is None:
            return []
        return [{"table": table} for table in destination_tables(self.matrix, code)]


def check_spheres(what: str, size: int, ports: int) -> None:
    """Check that spheres of so many terminals divide all of them."""
    if ports % size:
        raise InvalidValue(
            f"Terminals SIZE of {what} must divide {ports}, the number of all, not {size}"
        )


def sphere_matrix(bias: float, size: int, ports: int) -> np.ndarray:
    """The matrix of which a fraction `bias` stays in the sphere, which has not all terminals."""
    sphere = np.arange(ports) // size
    inside = sphere[:, None] == sphere
    return np.where(inside, bias / size, (1 - bias) / (ports - size))


def _is_block(code: AddressCode, size: int) -> bool:
    """Whether the terminals of a sphere are all those that agree in some bits of their codes."""
    try:
        code.block_mask(size)
    except InvalidValue:
        return False
    return True
