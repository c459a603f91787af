"""The energy that a design in standard cells takes in a cycle.

What inputs and registers did in a run is known by their changes per cycle and their share of
cycles at 1. Random bits with these statistics go through the gates, `_CYCLES` of them, each bit by
itself, and each change is multiplied with the energy that the library gives for it, inside the cell
and for the capacitance of the inputs that it drives. Wires have none.

OpenSTA is not asked: versions before 2020 derive the activity of registers from their inputs
whatever they are given, and count rise and fall for each change.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .liberty_file import CellEnergies

__all__ = ["CycleEnergy", "Switching", "cycle_energy", "driving", "names_of"]

_CYCLES = 4096
_SEED = 1
_Bits = np.ndarray
_Wire = int | str
"""The number of a net in Yosys' JSON; constants are "0", "1" and "x"."""


class Switching(NamedTuple):
    """The switching activity of a bit in a run.

    Attributes
    ----------
    changes : float
        Changes per cycle.
    high : float
        The share of cycles in which it is 1.

    Examples
    --------
    >>> from multicube.sim.synthesis import Switching
    >>> Switching(changes=0.5, high=0.25).high
    0.25
    """

    changes: float
    high: float


class CycleEnergy(NamedTuple):
    """Energy of a cycle, in pJ, and the power at rest.

    Attributes
    ----------
    clock : float
        Of clock pins: inside flip-flops, latches and gates of the clock.
    cells : float
        Inside cells, of all other changes.
    nets : float
        Of the capacitance of inputs that other cells drive.
    leakage : float
        Power of cells at rest, in W.
    known : int
        Bits of inputs and registers whose activity in the run is known.
    """

    clock: float
    cells: float
    nets: float
    leakage: float
    known: int

    @property
    def total(self) -> float:
        """Energy of a cycle, in pJ, without leakage."""
        return self.clock + self.cells + self.nets


def names_of(module: Mapping[str, Any]) -> dict[_Wire, list[str]]:
    """The names in the source of each bit of a module that Yosys wrote as JSON."""
    names: dict[_Wire, list[str]] = {}
    for name, net in module["netnames"].items():
        bits = [] if net["hide_name"] else net["bits"]
        for number, bit in enumerate(bits, net.get("offset", 0)):
            names.setdefault(bit, []).append(f"{name}[{number}]" if len(bits) > 1 else name)
    return names


def driving(module: Mapping[str, Any]) -> Iterator[tuple[str, str, _Wire]]:
    """Cell, pin and net of each output of a cell."""
    for name, cell in module["cells"].items():
        for pin, direction in cell["port_directions"].items():
            if direction == "output":
                yield name, pin, cell["connections"][pin][0]


def cycle_energy(
    netlist: Path,
    functions: Path,
    library: tuple[float, Mapping[str, CellEnergies]],
    clock: str,
    switching: Mapping[str, Switching],
) -> CycleEnergy:
    """The energy of a cycle.

    Parameters
    ----------
    netlist, functions : Path
        The mapped design, flat, and the cells of the library, as Yosys writes them in JSON.
    library : tuple[float, Mapping[str, CellEnergies]]
        What `cell_energies` finds in it.
    clock : str
        Name of the clock.
    switching : Mapping[str, Switching]
        By the names of bits in the design.
    """
    (module,) = json.loads(netlist.read_text("utf-8"))["modules"].values()
    cells = json.loads(functions.read_text("utf-8"))["modules"]
    voltage, energies = library
    (root,) = module["ports"][clock]["bits"]
    waves = _Waves(module, cells, root, switching)
    loads: dict[_Wire, float] = {}
    for cell in module["cells"].values():
        for pin, capacitance in energies[cell["type"]].capacitances.items():
            net = cell["connections"].get(pin, ["x"])[0]
            loads[net] = loads.get(net, 0.0) + capacitance
    counts = {"clock": 0.0, "cells": 0.0, "nets": 0.0}
    leakage = 0.0
    for cell in module["cells"].values():
        taken: CellEnergies = energies[cell["type"]]
        leakage += taken.leakage
        for pin, (net, *_) in cell["connections"].items():
            kind = "clock" if net in waves.clocks else "cells"
            if pin in taken.tables:
                counts[kind] += waves.changes(net) * taken.energy(pin, loads.get(net, 0.0))
            else:
                counts[kind] += waves.changes(net) * taken.own.get(pin, 0.0)
    for net, load in loads.items():
        kind = "clock" if net in waves.clocks else "nets"
        counts[kind] += waves.changes(net) * load * voltage**2 / 2
    return CycleEnergy(**counts, leakage=leakage, known=waves.known)


_MODULE = re.compile(r"__memory\.rows\[(?:(\d+)\]|(\d+)\]\.value)")
"""Where a row is in a memory's own module, plain or with gated clocks."""


class _Waves:
    """What each net of a netlist does in some cycles.

    A clock, and what gates of it drive, changes twice in the cycles in which it follows the clock.
    Of these nets `clocks` has the bits while the clock is 0, and `_bits` those while it is 1.
    """

    def __init__(
        self,
        module: Mapping[str, Any],
        cells: Mapping[str, Any],
        clock: _Wire,
        switching: Mapping[str, Switching],
    ) -> None:
        self._cells = cells
        self._random = np.random.default_rng(_SEED)
        self._bits: dict[_Wire, _Bits] = {
            "0": np.zeros(_CYCLES, bool),
            "1": np.ones(_CYCLES, bool),
            "x": np.zeros(_CYCLES, bool),
            clock: np.ones(_CYCLES, bool),
        }
        self.clocks = {clock: self._bits["0"]}
        self.known = 0
        for net, names in names_of(module).items():
            keys = [_MODULE.sub(r"[\1\2]", name) for name in names]
            given = next((switching[key] for key in keys if key in switching), None)
            if given is not None and net not in self._bits:
                self._bits[net] = self._wave(*given)
                self.known += 1
        self._drivers = {net: module["cells"][name] for name, _, net in driving(module)}
        for net in self._drivers:
            self._find(net)

    def changes(self, net: _Wire) -> float:
        """Changes of a net per cycle."""
        bits = self._bits.get(net)
        if bits is None:
            return 0.0
        if net in self.clocks:
            return 2 * float((bits != self.clocks[net]).mean())
        return float((bits[1:] != bits[:-1]).mean())

    def _wave(self, changes: float, high: float) -> _Bits:
        """Random bits: a change to the other value has the same probability in each cycle."""
        if high in (0, 1) or not changes:
            return np.full(_CYCLES, high >= 0.5)
        chances = (changes / 2 / (1 - high), changes / 2 / high)
        draws = self._random.random(_CYCLES)
        bits = np.empty(_CYCLES, bool)
        now = bool(draws[0] < high)
        for cycle, draw in enumerate(draws):
            now ^= bool(draw < chances[now])
            bits[cycle] = now
        return bits

    def _find(self, net: _Wire) -> None:
        """Find what a net does, and before it what it depends on: without recursion."""
        waiting = [net]
        while waiting:
            net = waiting[-1]
            cell = self._drivers.get(net)
            if net in self._bits or cell is None:
                self._bits.setdefault(net, self._bits["0"])
                waiting.pop()
                continue
            gates = self._cells[cell["type"]]
            stored = [c for c in gates["cells"].values() if "DFF" in c["type"]]
            if stored:
                # A register of which nothing is known: as if its input changed every fourth cycle.
                self._bits[net] = self._wave(0.25, 0.5)
                waiting.pop()
                continue
            inputs = {
                port["bits"][0]: cell["connections"][pin][0]
                for pin, port in gates["ports"].items()
                if port["direction"] == "input"
            }
            missing = [each for each in inputs.values() if each not in self._bits]
            if missing:
                waiting += missing
                continue
            out = next(pin for pin, bits in cell["connections"].items() if bits[0] == net)
            (bit,) = gates["ports"][out]["bits"]
            inside = {pin: self._bits[given] for pin, given in inputs.items()}
            self._bits[net] = _evaluated(gates, bit, inside)
            if not self.clocks.keys().isdisjoint(inputs.values()):
                low = {pin: self.clocks.get(at, self._bits[at]) for pin, at in inputs.items()}
                if ((off := _evaluated(gates, bit, low)) != self._bits[net]).any():
                    self.clocks[net] = off
            waiting.pop()


_GATES: dict[str, Callable[..., _Bits]] = {
    "$_NOT_": lambda a: ~a,
    "$_AND_": lambda a, b: a & b,
    "$_OR_": lambda a, b: a | b,
    "$_XOR_": lambda a, b: a ^ b,
    "$_ANDNOT_": lambda a, b: a & ~b,
    "$_DLATCH_P_": lambda d: d,
    "$_DLATCH_N_": lambda d: d,
}
"""A latch passes what comes in: in most uses it is transparent in half of each cycle."""


def _evaluated(gates: Mapping[str, Any], bit: _Wire, inside: dict[_Wire, _Bits]) -> _Bits:
    """A bit inside a cell, from its inputs."""
    if bit not in inside:
        for gate in gates["cells"].values():
            pins = gate["connections"]
            out = "Q" if "Q" in pins else "Y"
            if pins[out][0] == bit:
                given = [
                    _evaluated(gates, pins[pin][0], inside)
                    for pin in ("A", "B", "D")
                    if pin in pins
                ]
                inside[bit] = _GATES[gate["type"]](*given)
                break
        else:
            inside[bit] = np.full(_CYCLES, bit == "1")
    return inside[bit]
