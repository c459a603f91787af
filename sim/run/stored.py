"""Finds the registers of a cell's Verilog among those of the compiled engine."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...hdl.export.verilog_module import Storage
from ...hdl.export.verilog_names import plain_name
from ..engines.compiled.activity_meter import ActivityMeter, Bits
from ..engines.compiled.ir import WORD, Node, Words
from ..engines.compiled.lowered_module import Module

__all__ = ["Stored", "matched"]

_Place = tuple[int, int]
"""Number of a register of a module, and a bit of it."""


@dataclass(frozen=True)
class Stored:
    """A register, or a row of a memory, of all cells of a type.

    Attributes
    ----------
    name : str
        As in the Verilog; a row has its number in brackets.
    width : int
    places : tuple, optional
        Of a register: where each bit is; None for a bit that is always 0.
    row : tuple[int, int], optional
        Of a row of a memory: the numbers of the memory and of the row.
    """

    name: str
    width: int
    places: tuple[_Place | None, ...] = ()
    row: tuple[int, int] | None = None

    def read(self, meter: ActivityMeter, cell: str) -> Bits:
        """What a meter has counted of its bits in a cell."""
        if self.row is not None:
            memory, row = self.row
            return meter.memory(cell, memory)[row].part(0, self.width)
        nothing = Bits(np.zeros(1, np.uint32), np.zeros(1, np.int64))
        return Bits.joined(
            [
                nothing if place is None else meter.register(cell, place[0]).part(place[1], 1)
                for place in self.places
            ]
        )


def matched(module: Module, storage: Iterable[Storage]) -> Iterator[Stored]:
    """The registers and rows of memories of a Verilog module that a compiled module has too.

    Their names are the same but for the dots between submodules. A register that consists of
    others' inverted or computed bits has no match.
    """
    signals = _by_plain_name(module.signal_names)
    memories = _by_plain_name(each.name for each in module.memories)
    numbers = {memory.name: number for number, memory in enumerate(module.memories)}
    for name, width, rows in storage:
        if rows is not None and name in memories:
            number = numbers[memories[name]]
            if rows <= module.memories[number].rows and width <= module.memories[number].width:
                for row in range(rows):
                    yield Stored(f"{name}[{row}]", width, row=(number, row))
        elif rows is None and name in signals:
            words, whole = module.signals(signals[name])
            places = _places(words, whole)
            if places is not None and width <= whole:
                yield Stored(name, width, tuple(places[:width]))


def _by_plain_name(names: Iterable[str]) -> dict[str, str]:
    """Hierarchical names by those in Verilog, but for those that would be the same."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(plain_name(name.replace(".", "__")), []).append(name)
    return {plain: each[0] for plain, each in found.items() if len(each) == 1}


def _places(words: Words, width: int) -> list[_Place | None] | None:
    """Where the bits of a signal are in registers; None if it is not made of registers."""
    places: list[_Place | None] = []
    for number, node in enumerate(words):
        part = _bits(node)
        if part is None:
            return None
        size = min(WORD, width - WORD * number)
        places += (part + [None] * size)[:size]
    return places


def _bits(node: Node) -> list[_Place | None] | None:
    match node.op:
        case "register":
            return [(node.attr, bit) for bit in range(node.width)]
        case "const":
            return [None] * node.width if node.attr == 0 else None
        case "slice":
            inner = _bits(node.args[0])
            return None if inner is None else inner[node.attr : node.attr + node.width]
        case "cat":
            bits: list[_Place | None] = [None] * node.width
            for part, low in zip(node.args, node.attr):
                inner = _bits(part)
                if inner is None:
                    return None
                bits[low : low + len(inner)] = inner
            return bits
    return None
