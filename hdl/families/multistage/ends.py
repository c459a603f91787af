"""Cells at the terminals of a network: interfaces, and links to several copies."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ...fabric.cell import Cell, CellType
from ...fabric.fabric import Fabric, Scope
from ...fabric.pins import Pin
from ...graphs.address_codes import AddressCode
from ...networks.network_records import Terminals
from ...primitives.random_bits import scattered_seed
from .switching_mode import Ends

__all__ = ["chosen_straps", "place_copies", "place_ends"]

Value = TypeVar("Value")


def chosen_straps(type_: CellType, values: Mapping[str, Value]) -> dict[str, Value]:
    """The values for which the type has an input."""
    return {name: value for name, value in values.items() if (name,) in type_.leaves}


def place_ends(
    fabric: Fabric | Scope, code: AddressCode, terminals: Terminals, ends: Ends
) -> Terminals:
    """Place an interface at each input of a network, and one at each output.

    The cells are `{name}_{terminal}`, and get the straps `seed` and `address` if they have them.

    Parameters
    ----------
    fabric : Fabric
    code : AddressCode
    terminals : Terminals
        The links of the network.
    ends : Ends
        Each cell has members `i` and `o`.
    """
    entries, exits = [], []
    for terminal, (entry, exit_) in enumerate(zip(*terminals)):
        values = {"seed": scattered_seed(terminal), "address": code.encode(terminal)}
        first, last = (
            fabric.place(Cell(f"{name}_{terminal}", type_, chosen_straps(type_, values))).name
            for name, type_ in ends
        )
        fabric.link(Pin(first, ("o",)), entry)
        fabric.link(exit_, Pin(last, ("i",)))
        entries.append(Pin(first, ("i",)))
        exits.append(Pin(last, ("o",)))
    return Terminals(entries, exits)


def place_copies(
    fabric: Fabric | Scope, copies: Sequence[Terminals], distributor: CellType, merger: CellType
) -> Terminals:
    """Connect each terminal to all copies of a network.

    Parameters
    ----------
    fabric : Fabric
    copies : Sequence[Terminals]
        The terminals of each copy.
    distributor : CellType
        Of the cells `distributor_{terminal}`, with members `i` and the array `o`.
    merger : CellType
        Of the cells `merger_{terminal}`, with the array `i` and `o`.
    """
    inputs, outputs = [], []
    for terminal in range(len(copies[0].inputs)):
        first, last = (
            fabric.place(
                Cell(
                    f"{name}_{terminal}",
                    type_,
                    chosen_straps(type_, {"seed": scattered_seed(terminal, role)}),
                )
            ).name
            for role, (name, type_) in enumerate((("distributor", distributor), ("merger", merger)))
        )
        for number, copy in enumerate(copies):
            fabric.link(Pin(first, ("o", number)), copy.inputs[terminal])
            fabric.link(copy.outputs[terminal], Pin(last, ("i", number)))
        inputs.append(Pin(first, ("i",)))
        outputs.append(Pin(last, ("o",)))
    return Terminals(inputs, outputs)
