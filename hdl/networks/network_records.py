"""What a network says of itself and of its runs: records that generic code reads."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from amaranth.lib import wiring

from ..fabric.cell import CellType
from ..fabric.fabric import Fabric
from ..fabric.pins import Pin
from ..graphs.mask_rule import MaskRule
from ..links.packet import Packet

__all__ = ["Confinement", "LinkCounts", "Readings", "Terminals", "Theory", "Window"]


class Terminals(NamedTuple):
    """The attachment of a network's terminals.

    Attributes
    ----------
    inputs : list[Pin]
        For each source, the stream into which it sends.
    outputs : list[Pin]
        For each sink, the stream from which it receives.
    """

    inputs: list[Pin]
    outputs: list[Pin]


class Theory(NamedTuple):
    """A formula that predicts the performance under uniform traffic, and its arguments.

    Attributes
    ----------
    model : str
        The name of one of `multicube.sim.theory.prediction.MODELS`.
    arguments : dict[str, Any]
        Its arguments, without the load.
    """

    model: str
    arguments: dict[str, Any]


class Confinement(NamedTuple):
    """What keeps packets, or requests, inside their subnetwork, whatever their tags.

    Attributes
    ----------
    interface : CellType
        A kind of `PartitionInterface`, for each terminal.
    link : wiring.Signature
        The link of a terminal to its interface, as the terminal sees it.
    mask_bits : int
        Width of a mask.
    address : Callable[[int], int]
        What the interface of a terminal has as its address.
    place : Callable[[Fabric], Terminals]
        Adds the network to a fabric. It has no outputs if replies return on the same links.
    rule : MaskRule or None
        Which subnetworks are kept apart; None if all are.
    """

    interface: CellType
    link: wiring.Signature
    mask_bits: int
    address: Callable[[int], int]
    place: "Callable[[Fabric], Terminals]"
    rule: MaskRule | None = None


class Window(NamedTuple):
    """A measured span of a run.

    Attributes
    ----------
    cycles : int
        How long it was.
    injected : int
        Packets that the network took in it.
    packet : Packet or None
        The layout of what the links carried, if they carried packets.
    """

    cycles: int
    injected: int
    packet: Packet | None

    def levels(self, readings: Collection[Mapping[str, int]]) -> dict[str, float]:
        """The mean and the maximum of some levels, by the readings of their meters.

        Parameters
        ----------
        readings : Collection[Mapping[str, int]]
            Of at least one meter.

        Returns
        -------
        dict[str, float]
            `mean` of all cycles and meters, and `max`.
        """
        total = sum(counts["sum"] for counts in readings)
        return {
            "mean": total / (len(readings) * max(1, self.cycles)),
            "max": max(counts["max"] for counts in readings),
        }


class LinkCounts(NamedTuple):
    """The links between a network's switches, each in one direction.

    Virtual channels share their link. Links to terminals do not count. A bus is one link, whatever
    the number of its nodes, and so is a channel of which several nodes receive all.

    Attributes
    ----------
    total : int
        The number of all links.
    bisection : int or None
        Links between two halves of the nodes, divided so that they are as few as possible; None if
        that number is not known.
    """

    total: int
    bisection: int | None = None


Readings = Mapping[str, Mapping[str, Mapping[str, int]]]
"""The counts of the meters of a network's cells: by statistic, cell, and output of the meter."""
