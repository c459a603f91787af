"""A preset: a network of a family with the parameters of a machine, and the machine's figures."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Field", "Figure", "Preset"]


@dataclass(frozen=True)
class Figure:
    """An effective bandwidth of one path that the paper gives for packets of some size.

    Attributes
    ----------
    data_bits : int
        Data bits per packet.
    megabits : float
        Mbit/s.
    """

    data_bits: int
    megabits: float


@dataclass(frozen=True)
class Field:
    """A field of a machine's packets, as far as its width follows from the paper.

    Attributes
    ----------
    name : str
    bits : int
    reason : str
        What the width follows from.
    """

    name: str
    bits: int
    reason: str


@dataclass(frozen=True)
class Preset:
    """The network of a machine.

    Attributes
    ----------
    description : str
    family : str
        The family that it belongs to.
    defaults : dict[str, Any]
        Values for the parameters of this family.
    cycle_ns : float or None
        The printed cycle time of a box, in nanoseconds.
    path_bits : int or None
        The printed width of a data path in bits.
    fields : tuple[Field, ...]
        The fields of a packet besides its data.
    bandwidths : tuple[Figure, ...]
        The printed effective bandwidths, for 128 processors.
    source : str
        Section of the paper (Siegel et al.), or the paper and the section.
    example : dict[str, Any]
        Parameters of a small network of its kind; see `Family`.
    papers : tuple[str, ...]
        As in `Family`.
    """

    description: str
    family: str
    defaults: dict[str, Any]
    cycle_ns: float | None
    path_bits: int | None
    fields: tuple[Field, ...] = ()
    bandwidths: tuple[Figure, ...] = field(default_factory=tuple)
    source: str = ""
    example: dict[str, Any] = field(default_factory=lambda: {"ports": 8})
    papers: tuple[str, ...] = ()
