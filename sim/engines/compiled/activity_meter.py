"""Counts how often the bits of wires, registers and memories change while compiled code runs.

The code compares all observed words after each cycle, and visits only the bits that have changed.
It is a program of its own, so that runs without it pay nothing.
"""

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from ....hdl.fabric.pins import Pin
from .build import load_libraries
from .c_structures import c_fields
from .emit_c import DRIVER, LANES, element_bytes
from .ir import WORD
from .lowered_module import Module
from .program import Group
from .words import word_widths

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["ActivityMeter", "Bits"]

_OBSERVER = (
    DRIVER
    + """
typedef struct {
  uint32_t toggles;
  uint32_t high;           /* cycles of falling edges less those of rising edges, modulo 2^32 */
} Count;

typedef struct {
  const uint32_t *words;   /* NULL for the wires of this cycle */
  const int64_t *index;    /* of each observed word */
  const uint32_t *mask;    /* its bits */
  const int64_t *first;    /* the first of its counts */
  uint32_t *old;           /* its value in the cycle before */
  Count *counts;           /* of each bit; those of a word follow each other */
  long count;
} Observed;

typedef struct {
  const Observed *observed;
  long observed_count;
  long cycle;
  long begun;
} Observer;

static void compare(const Context *c, Observer *o) {
  for (const Observed *s = o->observed; s < o->observed + o->observed_count; s++) {
    const uint32_t *words = s->words ? s->words : c->now;
    for (long i = 0; i < s->count; i++) {
      uint32_t word = words[s->index[i]] & s->mask[i], changed = word ^ s->old[i];
      if (!changed) continue;
      s->old[i] = word;
      if (!o->begun) continue;
      for (; changed; changed &= changed - 1) {
        int bit = __builtin_ctz(changed);
        Count *count = s->counts + s->first[i] + bit;
        count->toggles++;
        count->high += word >> bit & 1 ? -o->cycle : o->cycle;
      }
    }
  }
  o->begun = 1;
}

void look(Context *c, Observer *o) { settle(c); compare(c, o); }

/* As `run`. A cycle is compared when nothing can change its inputs any more. */
long watch(Context *c, Observer *o, long cycles) {
  for (long n = 0; n < cycles; n++) {
    look(c, o);
    if (!run(c, 1)) return n;
    o->cycle++;
  }
  return cycles;
}
"""
)


class _CObserved(ctypes.Structure):
    _fields_ = c_fields("Observed", _OBSERVER)


class _CObserver(ctypes.Structure):
    _fields_ = c_fields("Observer", _OBSERVER)


class Bits(NamedTuple):
    """What was counted of the bits of a value, the lowest first.

    Attributes
    ----------
    toggles : np.ndarray
        How often each has changed.
    high : np.ndarray
        In how many cycles each was 1.
    """

    toggles: np.ndarray
    high: np.ndarray

    def part(self, low: int, width: int) -> "Bits":
        return Bits(self.toggles[low : low + width], self.high[low : low + width])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> "Bits":
        return Bits(*(np.concatenate(each) for each in zip(*parts)))


class _Words:
    """Words of one array that are observed, with their widths, and what is counted of them."""

    def __init__(
        self, array: np.ndarray | None, index: Sequence[int], widths: Sequence[int]
    ) -> None:
        self.array = array
        self.widths = np.array(widths, np.int64)
        self.index = np.array(index, np.int64)
        self.mask = ((1 << self.widths) - 1).astype(np.uint32)
        self.first = np.cumsum(self.widths) - self.widths
        self.old = np.zeros(len(index), np.uint32)
        self.counts = np.zeros((int(self.widths.sum()), 2), np.uint32)

    def c(self) -> _CObserved:
        arrays = (self.index, self.mask, self.first, self.old, self.counts)
        words = None if self.array is None else self.array.ctypes.data
        return _CObserved(words, *(each.ctypes.data for each in arrays), len(self.index))

    def close(self, cycles: int) -> None:
        """Add the cycles from the last rising edge of each bit to the end."""
        bits = np.arange(len(self.counts)) - np.repeat(self.first, self.widths)
        still = np.repeat(self.old, self.widths) >> bits.astype(np.uint32) & 1
        self.counts[:, 1] += still * np.uint32(cycles)

    def bits(self, word: int, low: int, width: int) -> Bits:
        """Those from a bit of a word on, and in the words that follow it."""
        first = int(self.first[word]) + low
        return Bits(*self.counts[first : first + width].T)


class ActivityMeter:
    """Counts changes of bits in a run of a machine, from cycle to cycle.

    The values are those at the ends of cycles, when all is settled: a cycle has no glitches. The
    first cycle is that in which the machine is when the meter is made.

    Parameters
    ----------
    machine : Machine
    pins : Sequence[Pin]
        Outputs of cells, and inputs of the boundary.
    cells : Sequence[str]
        The cells whose registers and memories are observed.
    run : int
    """

    def __init__(
        self, machine: "Machine", pins: Sequence[Pin], cells: Sequence[str], run: int = 0
    ) -> None:
        self._machine = machine
        self._run = run
        self.cycles = 0
        self._pins: dict[Pin, tuple[int, int]] = {}
        self._states: dict[str, tuple[_Words, int]] = {}
        self._memories: dict[tuple[str, int], tuple[_Words, int, int]] = {}
        self._wires = self._observed_pins(pins)
        self._all = [self._wires, *self._observed_cells(cells)]
        self._c_observed = (_CObserved * len(self._all))(*(each.c() for each in self._all))
        self._c = _CObserver(ctypes.addressof(self._c_observed), len(self._all), 0, 0)
        (self._library,) = load_libraries([(_OBSERVER, ("look", "watch"))])
        self._library.look.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self._library.watch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
        self._library.watch.restype = ctypes.c_long

    def _observed_pins(self, pins: Sequence[Pin]) -> _Words:
        index: list[int] = []
        widths: list[int] = []
        for pin in pins:
            width = self._machine.width(pin)
            self._pins[pin] = len(index), width
            for word, part in enumerate(word_widths(width)):
                index.append(self._machine.wire(self._run, pin, word))
                widths.append(part)
        return _Words(None, index, widths)

    def _observed_cells(self, cells: Sequence[str]) -> list[_Words]:
        groups: dict[int, tuple[Group, list[str]]] = {}
        for cell in cells:
            group = self._machine.group(cell)
            groups.setdefault(id(group), (group, []))[1].append(cell)
        found = []
        for group, names in groups.values():
            registers = group.module.registers
            places = [self._machine.place(self._run, name) for name in names]
            index = [
                (place // LANES * len(registers) + number) * LANES + place % LANES
                for place in places
                for number in range(len(registers))
            ]
            words = _Words(group.state, index, [each.width for each in registers] * len(names))
            found.append(words)
            for at, name in enumerate(names):
                self._states[name] = words, at * len(registers)
            for number, rows in group.memories.items():
                size = rows[0].nbytes
                spans = [range(p * size // 4, -(-(p + 1) * size // 4)) for p in places]
                index = [word for span in spans for word in span]
                words = _Words(rows, index, [WORD] * len(index))
                found.append(words)
                at = 0
                for name, place, span in zip(names, places, spans):
                    self._memories[name, number] = words, at, 8 * (place * size % 4)
                    at += len(span)
        return found

    def advance(self, context: object, cycles: int) -> int:
        """Run the machine; return how many cycles were done."""
        done: int = self._library.watch(context, ctypes.byref(self._c), cycles)
        self.cycles += done
        return done

    def close(self, context: object) -> None:
        """End the count with the change to the present cycle."""
        self._library.look(context, ctypes.byref(self._c))
        for each in self._all:
            each.close(self.cycles)

    def module(self, cell: str) -> Module:
        """The registers and memories of a cell, and the names of its signals."""
        return self._machine.group(cell).module

    def wire(self, pin: Pin) -> Bits:
        """The bits of an observed pin."""
        word, width = self._pins[pin]
        return self._wires.bits(word, 0, width)

    def register(self, cell: str, number: int) -> Bits:
        """The bits of a register (`Module.registers`) of an observed cell."""
        words, first = self._states[cell]
        width = self.module(cell).registers[number].width
        return words.bits(first + number, 0, width)

    def memory(self, cell: str, number: int) -> list[Bits]:
        """The bits of each row of a memory (`Module.memories`) of an observed cell."""
        memory = self.module(cell).memories[number]
        widths = word_widths(memory.width)
        if memory.registers is not None:
            return [
                Bits.joined([self.register(cell, each) for each in row]) for row in memory.registers
            ]
        words, first, low = self._memories[cell, number]
        size = 8 * element_bytes(memory.width)
        return [
            Bits.joined(
                [
                    words.bits(first, low + (row * len(widths) + word) * size, width)
                    for word, width in enumerate(widths)
                ]
            )
            for row in range(memory.rows)
        ]
