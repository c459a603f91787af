"""Runs whose switching activity is measured in their window."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import astuple, replace
from typing import Any

import numpy as np
from amaranth.hdl import Shape, ShapeLike
from amaranth.lib import data
from amaranth.lib.wiring import Out

from ...hdl.bench import Bench
from ...hdl.bench.twin import with_twin
from ...hdl.export.cell_modules import storage_of
from ...hdl.export.verilog_names import net_name, port_name
from ...hdl.fabric.cell import CellType
from ...hdl.fabric.errors import MulticubeError
from ...hdl.fabric.pins import Pin
from ..engines import ActivityEngine
from ..engines.compiled.activity_meter import ActivityMeter, Bits
from ..measure.activity import Activity, TypeActivity
from ..measure.result import Result
from .observers import Ask, Observer
from .probe import crossings
from .saif import write_saif
from .stored import matched

__all__ = ["ActivityWatch"]


class ActivityWatch(Observer):
    """Measures the activity of a network while the input `measure` of its bench is 1.

    Parameters
    ----------
    path : path-like, optional
        SAIF file for what was counted, with the names of the network's Verilog.

    Attributes
    ----------
    place : OnBench
        Where the observed network is on the bench, once that is prepared.

    Raises
    ------
    MulticubeError
        In `end`, if payloads have changed what the network does, so that its twin did something
        else.
    """

    needs = ActivityEngine
    purpose = "measure activity"

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = path
        self._window = ExitStack()
        self.meter: ActivityMeter | None = None

    def prepare(self, bench: Bench) -> Bench:
        """The bench with a twin of its network, whose activity it is."""
        self.place = with_twin(bench)
        return self.place.bench

    def begin(self, engine: ActivityEngine) -> None:
        self._engine = engine
        self._drivers = self.place.drivers()

    def answer(self, ask: Ask, method: str, *arguments: Any) -> Any:
        answer = ask(method, *arguments)
        match method, *arguments:
            case "set", "measure", value, *_:
                if value and self.meter is None:
                    cells = [self.place.cell(name) for name in self.place.fabric.cells]
                    pins = list(self._drivers.values())
                    self.meter = self._window.enter_context(self._engine.activity(pins, cells))
                elif not value:
                    self._window.close()
        return answer

    def end(self, results: Sequence[Result]) -> list[Result]:
        """The results, with the activity; it is written to the file too."""
        self._window.close()
        results = [replace(result, activity=self.activity()) for result in results]
        if self._path is not None:
            self.save(self._path)
        return results

    def close(self) -> None:
        self._window.close()

    def nets(self) -> Iterator[tuple[Pin, Bits]]:
        """The pins of the network that drive others, and what was counted of them."""
        assert self.meter is not None
        for driver, pin in self._drivers.items():
            yield driver, self.meter.wire(pin)

    def storage(self) -> Iterator[tuple[str, list[tuple[str, Bits]]]]:
        """The network's cells, and what was counted of their registers and rows of memories.

        The names are those of the Verilog. Registers that it lacks, because they are not needed,
        are left out.
        """
        assert self.meter is not None
        for type_, cells in self.place.fabric.types().items():
            module = self.meter.module(self.place.cell(cells[0].name))
            found = list(matched(module, storage_of(type_)))
            for cell in cells:
                name = self.place.cell(cell.name)
                yield cell.name, [(each.name, each.read(self.meter, name)) for each in found]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was counted to a SAIF file, with the names of the network's Verilog."""
        if self.meter is not None:
            network = self.place.fabric.digest
            write_saif(path, network, self.meter.cycles, self._named_nets(), self.storage())

    def _named_nets(self) -> Iterator[tuple[str, Bits]]:
        """The nets of the network's top module: its ports, and the wires between cells."""
        assert self.meter is not None
        fabric = self.place.fabric
        for driver, bits in self.nets():
            yield net_name(driver), bits
        for path, leaf in fabric.boundary.items():
            if leaf.flow == Out:
                driver = fabric.drivers[Pin(None, path)]
                if driver in self._drivers:
                    yield port_name(path), self.meter.wire(self._drivers[driver])

    def activity(self) -> Activity | None:
        """What was counted since the beginning of the window; None if it has not begun."""
        place, meter = self.place, self.meter
        if meter is None:
            return None
        for cell in place.checks:
            if self._engine.get(Pin(cell, ("differs",))):
                raise MulticubeError(f"Payloads change what the network does, as {cell} has seen")
        toggles = {driver: bits.toggles for driver, bits in self.nets()}
        types = [
            self._of_type(type_, [cell.name for cell in cells], toggles)
            for type_, cells in place.fabric.types().items()
        ]
        outside = [pin for pin in toggles if pin.cell is None]
        network = place.bench.network
        terminals = TypeActivity(
            "terminals", max(network.sources, network.sinks), *self._split(outside, toggles)
        )
        crossed = crossings(self._engine, place.bench)
        return Activity(
            cycles=meter.cycles,
            flits=sum(crossed[output] for output in place.bench.deliveries),
            types=[*_merged(types), terminals],
            nets={net_name(driver): int(each.sum()) for driver, each in toggles.items()},
        )

    def _of_type(
        self, type_: CellType, names: Sequence[str], toggles: Mapping[Pin, np.ndarray]
    ) -> TypeActivity:
        assert self.meter is not None
        driven = [Pin(name, path) for name in names for path in type_.leaves]
        payload, control = self._split([pin for pin in driven if pin in toggles], toggles)
        cells = [self.place.cell(name) for name in names]
        module = self.meter.module(cells[0])
        kept = {
            number for each in module.memories for row in each.registers or () for number in row
        }
        clocked = [number for number in range(len(module.registers)) if number not in kept]
        memories = range(len(module.memories))
        return TypeActivity(
            type=type_.name,
            cells=len(cells),
            payload=payload,
            control=control,
            registers=_sum(self.meter.register(cell, each) for cell in cells for each in clocked),
            memory=_sum(
                row for cell in cells for each in memories for row in self.meter.memory(cell, each)
            ),
            register_bits=len(cells)
            * sum(each.width for each in storage_of(type_) if each.rows is None),
            memory_bits=len(cells) * sum(each.rows * each.width for each in module.memories),
        )

    def _split(self, pins: Sequence[Pin], toggles: Mapping[Pin, np.ndarray]) -> tuple[int, int]:
        """Changes of payload bits, and of all other bits, of these pins."""
        payload = total = 0
        for pin in pins:
            total += int(toggles[pin].sum())
            payload += int(
                toggles[pin][_is_data(self.place.fabric.resolve(pin)[()][0].shape)].sum()
            )
        return payload, total - payload


_DATA = ("payload", "operand", "value")
"""Fields of packets, requests and replies that hold what is sent."""


def _is_data(shape: ShapeLike) -> np.ndarray:
    """Which bits of a leaf are in fields that hold what is sent."""
    found = np.zeros(Shape.cast(shape).width, bool)
    if isinstance(shape, data.Layout):
        for name, part in shape:
            inner = True if name in _DATA else _is_data(part.shape)
            found[part.offset : part.offset + part.width] = inner
    return found


def _sum(bits: Iterable[Bits]) -> int:
    return sum(int(each.toggles.sum()) for each in bits)


def _merged(types: Iterable[TypeActivity]) -> list[TypeActivity]:
    """Types of the same name, such as routers at an edge and inside, as one."""
    merged: dict[str, TypeActivity] = {}
    for each in types:
        if each.type in merged:
            both = zip(astuple(merged[each.type])[1:], astuple(each)[1:])
            each = TypeActivity(each.type, *map(sum, both))
        merged[each.type] = each
    return list(merged.values())
