"""What switched in a network during a run, and an estimate of the energy that this takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from ...hdl.fabric.checks import check_number
from ...hdl.fabric.errors import InvalidValue

__all__ = ["Activity", "Energy", "TypeActivity"]


@dataclass(frozen=True)
class Energy:
    """The energy of what happens to one bit, relative to a change of a wire between two cells.

    Attributes
    ----------
    wire : float
        A change of a wire between cells, with the gates that it drives.
    register : float
        A change of a bit of a register or of a memory, with the gates that follow.
    clock : float
        A cycle of the clock at a bit of a register. Memories are clocked only when they are
        written, which `register` contains.

    Raises
    ------
    TypeError, ValueError
        If a value is not a number of at least 0.

    Examples
    --------
    >>> from multicube.sim import Energy
    >>> Energy(wire=1.0, register=2.0)
    Energy(wire=1.0, register=2.0, clock=0.1)
    """

    wire: float = 1.0
    register: float = 0.5
    clock: float = 0.1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= check_number(f"Energy of a {name}", value) < inf:
                raise InvalidValue(
                    f"Energy of a {name} must be at least 0, and finite, not {value:g}"
                )


@dataclass(frozen=True)
class TypeActivity:
    """What switched in all cells of one type, in the measured cycles.

    Attributes
    ----------
    type : str
        Name of the type; "terminals" for what the terminals send.
    cells : int
        The number of cells of this type.
    payload, control : int
        Changes of bits of the wires that these cells drive: of the payloads of streams, and of all
        others, which are tags and handshakes. A wire counts once, whatever the number of cells that
        it leads to.
    registers, memory : int
        Changes of bits of registers, and of rows of memories.
    register_bits, memory_bits : int
        How many there are; bits of registers as in the Verilog.
    """

    type: str
    cells: int
    payload: int
    control: int
    registers: int = 0
    memory: int = 0
    register_bits: int = 0
    memory_bits: int = 0

    @property
    def wires(self) -> int:
        """Changes of bits of all wires that these cells drive."""
        return self.payload + self.control

    def energy(self, cycles: int, energy: Energy) -> float:
        """The energy of so many cycles."""
        return (
            energy.wire * self.wires
            + energy.register * (self.registers + self.memory)
            + energy.clock * self.register_bits * cycles
        )


@dataclass(frozen=True)
class Activity:
    """Switching activity of a network, in the window of a run.

    Changes are counted from cycle to cycle, between settled values: there are no glitches.

    Attributes
    ----------
    cycles : int
        Cycles that were observed.
    flits : int
        Flits, or in a network with memory replies, that were delivered in them.
    types : list[TypeActivity]
        By type of the cells.
    nets : dict[str, int]
        Changes of all bits of each wire between cells, by its name in the Verilog.
    """

    cycles: int
    flits: int
    types: list[TypeActivity]
    nets: dict[str, int] = field(repr=False)

    def energy_per_flit(self, energy: Energy | None = None) -> dict[str, float] | None:
        """The energy of the window per flit delivered, by type of cell; None if there was none.

        Parameters
        ----------
        energy : Energy, optional
            The energy of each event, relative to a change of a wire.

        Returns
        -------
        dict[str, float] or None
            Energy by the type of cells; None if no flit was delivered.
        """
        if not self.flits:
            return None
        chosen = energy or Energy()
        return {each.type: each.energy(self.cycles, chosen) / self.flits for each in self.types}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Activity":
        """The activity of which `dataclasses.asdict` gave these values.

        Parameters
        ----------
        record : Mapping[str, Any]
            The values by name.

        Returns
        -------
        Activity
            The activity.
        """
        types = [TypeActivity(**each) for each in record["types"]]
        return cls(**{**record, "types": types})
