"""Which outputs of a module, and of a fabric, depend on which inputs within a cycle.

A module is examined bit by bit, as Yosys lists its cells; a fabric port by port.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.lib.wiring import In

from ..fabric.cell import Cell
from ..fabric.fabric import Fabric
from ..fabric.pins import Path, Pin
from .verilog_names import domain_port, plain_name, port_name

__all__ = ["FabricPaths", "ModulePaths", "fabric_paths", "module_paths", "pattern_of"]

_BITWISE = {"$and", "$or", "$xor", "$xnor", "$not", "$pos", "$buf", "$mux"}
"""Bit i of the output depends on bit i of `A` and `B`, and on all of `S`."""

_CLOCKED = re.compile(r"\$(s?d|ad|ald|dffs|s|_)\w*(ff|latch|DFF|DLATCH)\w*")


@dataclass(frozen=True)
class ModulePaths:
    """What the outputs of a module depend on within a cycle.

    Attributes
    ----------
    inputs : Mapping[str, frozenset[str]]
        For each output, the inputs from which a path without a register leads to it.
    asynchronous : frozenset[str]
        Inputs that set or clear registers without waiting for a clock.
    """

    inputs: Mapping[str, frozenset[str]]
    asynchronous: frozenset[str]


def module_paths(netlist: str, multiplexer: str) -> ModulePaths:
    """The paths of the only module of a netlist, as `write_json` of Yosys writes it.

    Cells whose type begins with `multiplexer` have words `i__0` ..., `code`, and `o`.
    """
    (module,) = json.loads(netlist)["modules"].values()
    sources: dict[int, list[int]] = {}
    resets: list[int] = []
    for cell in module["cells"].values():
        for output, inputs in _cell_paths(cell, multiplexer):
            sources[output] = [bit for bit in inputs if isinstance(bit, int)]
        resets += [bit for bit in _at_once(cell) if isinstance(bit, int)]
    starts = {
        bit: 1 << number
        for number, port in enumerate(module["ports"].values())
        if port["direction"] == "input"
        for bit in port["bits"]
    }
    names = [plain_name(name) for name in module["ports"]]
    reach = _Reach(sources, starts)

    def inputs_of(bits: Iterable[int | str]) -> frozenset[str]:
        mask = 0
        for bit in bits:
            if isinstance(bit, int):
                mask |= reach.of(bit)
        return frozenset(name for at, name in enumerate(names) if mask >> at & 1)

    return ModulePaths(
        {
            plain_name(name): inputs_of(port["bits"])
            for name, port in module["ports"].items()
            if port["direction"] == "output"
        },
        inputs_of(resets),
    )


def _at_once(cell: Mapping[str, Any]) -> list[int | str]:
    """What sets a register without waiting for a clock."""
    pins = cell["connections"] if _CLOCKED.fullmatch(cell["type"]) else {}
    return [bit for pin in ("ARST", "ALOAD", "SET", "CLR") for bit in pins.get(pin, [])]


def _cell_paths(cell: Mapping[str, Any], multiplexer: str) -> Iterator[tuple[int, list[int | str]]]:
    """Each bit of a cell's outputs, and the bits that it depends on; constants are texts."""
    type_, pins = cell["type"], cell["connections"]
    if type_.startswith(multiplexer):
        words = [bits for pin, bits in pins.items() if pin.startswith("i__")]
        for at, bit in enumerate(pins["o"]):
            yield bit, [*pins["code"], *(word[at] for word in words)]
    elif type_.startswith("$mem"):
        ports = int(cell["parameters"]["RD_PORTS"], 2)
        clocked = int(cell["parameters"]["RD_CLK_ENABLE"], 2)
        width, bits = (len(pins[pin]) // max(ports, 1) for pin in ("RD_DATA", "RD_ADDR"))
        for port in range(ports):
            if clocked >> port & 1:
                continue
            address = pins["RD_ADDR"][port * bits : (port + 1) * bits]
            for bit in pins["RD_DATA"][port * width : (port + 1) * width]:
                yield bit, address
    elif _CLOCKED.fullmatch(type_):
        # A register that is set asynchronously shows it at once.
        for bit in pins["Q"]:
            yield bit, _at_once(cell)
    elif type_ in _BITWISE:
        for at, bit in enumerate(pins["Y"]):
            own = [pins[pin][at] for pin in "AB" if pin in pins and at < len(pins[pin])]
            yield bit, [*own, *pins.get("S", [])]
    else:
        directions = cell.get("port_directions", {})
        inputs = [
            bit for pin, bits in pins.items() if directions.get(pin) == "input" for bit in bits
        ]
        for pin, bits in pins.items():
            if directions.get(pin) == "output":
                for bit in bits:
                    yield bit, inputs


class _Reach:
    """Which starts lead to a node, in a graph without cycles."""

    def __init__(self, sources: Mapping[int, list[int]], starts: Mapping[int, int]) -> None:
        self._sources = sources
        self._masks = dict(starts)

    def of(self, node: int) -> int:
        stack = [node]
        while stack:
            at = stack[-1]
            if at in self._masks:
                stack.pop()
                continue
            own = self._sources.get(at, [])
            if missing := [source for source in own if source not in self._masks]:
                stack += missing
                continue
            mask = 0
            for source in own:
                mask |= self._masks[source]
            self._masks[at] = mask
            stack.pop()
        return self._masks[node]


_NUMBER = re.compile(r"(?<=_)\d+(?=_|$)")


def pattern_of(port: str) -> str:
    """The name of a port without its numbers: equal for ports that differ in numbers alone."""
    return re.sub(_NUMBER, "#", port)


@dataclass(frozen=True)
class FabricPaths:
    """What is not clocked in a fabric.

    Attributes
    ----------
    inputs : Mapping[str, frozenset[str]]
        For each output port, the input ports from which a path without a register leads to it.
    asynchronous : Mapping[str, set[str]]
        For each clock whose reset sets registers of other clocks at once, these others.
    """

    inputs: Mapping[str, frozenset[str]]
    asynchronous: Mapping[str, set[str]]

    def listed(self) -> list[dict[str, list[str]]]:
        """For JSON: outputs that depend on the same inputs are together."""
        grouped: dict[frozenset[str], list[str]] = {}
        for output, inputs in self.inputs.items():
            if inputs:
                grouped.setdefault(inputs, []).append(output)
        return [{"from": sorted(inputs), "to": outputs} for inputs, outputs in grouped.items()]

    def comments(self) -> Iterator[str]:
        """For the header of a file: ports that differ in numbers alone are together."""
        grouped: dict[str, set[str]] = {}
        for output, inputs in self.inputs.items():
            if inputs:
                grouped.setdefault(pattern_of(output), set()).update(map(pattern_of, inputs))
        if not grouped:
            yield "// No output depends on an input within a cycle."
            return
        yield "// Within a cycle, without a register between (the JSON lists each port):"
        for output, patterns in grouped.items():
            yield f"//   {output} depends on {', '.join(sorted(patterns))}"


def fabric_paths(
    fabric: Fabric, paths_of: Mapping[str, ModulePaths], resets: Mapping[str, str], reset: str
) -> FabricPaths:
    """The paths of a fabric's module, from those of its cells.

    Parameters
    ----------
    fabric : Fabric
    paths_of : Mapping[str, ModulePaths]
        By the name of the cell.
    resets : Mapping[str, str]
        The reset port of each clock of the fabric.
    reset : str
        The name of the reset in the modules of cells.
    """
    inputs = [path for path, leaf in fabric.boundary.items() if leaf.flow == In and leaf.width]
    outputs = [path for path, leaf in fabric.boundary.items() if leaf.flow != In and leaf.width]
    starts = [*resets.values(), *map(port_name, inputs)]
    # A reset is a pin of the boundary here, too.
    pins = [*(Pin(None, (domain, "rst")) for domain in resets), *(Pin(None, p) for p in inputs)]
    readers: dict[Pin, list[Pin]] = defaultdict(list)
    for name, cell in fabric.cells.items():
        for output, port in _between_pins(cell, paths_of[name], reset):
            if isinstance(port, str):
                readers[Pin(None, (cell.clocks.get(port, port), "rst"))].append(Pin(name, output))
            elif port[0] not in cell.straps:
                readers[fabric.drivers[Pin(name, port)]].append(Pin(name, output))
    # Ports of several bits may seem to depend on each other in a circle: until nothing changes.
    masks: dict[Pin, int] = defaultdict(int)
    masks |= {pin: 1 << number for number, pin in enumerate(pins)}
    waiting = pins
    while waiting:
        pin = waiting.pop()
        mask = masks[pin]
        for reader in readers.get(pin, ()):
            if masks[reader] | mask != masks[reader]:
                masks[reader] |= mask
                waiting.append(reader)
    drivers = {port_name(path): fabric.drivers[Pin(None, path)] for path in outputs}
    found = {
        port: frozenset(start for at, start in enumerate(starts) if masks[driver] >> at & 1)
        for port, driver in drivers.items()
    }
    return FabricPaths(found, _asynchronous(fabric, paths_of, reset))


def _asynchronous(
    fabric: Fabric, paths_of: Mapping[str, ModulePaths], reset: str
) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, cell in fabric.cells.items():
        clocks = {domain: cell.clocks.get(domain, domain) for domain in cell.type.domains}
        for domain, own in clocks.items():
            others = set(clocks.values()) - {own}
            if others and domain_port(domain, reset) in paths_of[name].asynchronous:
                found.setdefault(own, set()).update(others)
    return found


def _between_pins(cell: Cell, own: ModulePaths, reset: str) -> Iterator[tuple[Path, Path | str]]:
    """An output of a cell, and an input of it, or the domain of a reset, on which it depends."""
    paths: dict[str, Path] = {port_name(path): path for path in cell.type.leaves}
    domains = {domain_port(domain, reset): domain for domain in cell.type.domains}
    for output, ports in own.inputs.items():
        if output in paths:
            for port in sorted(ports):
                if (found := paths.get(port) or domains.get(port)) is not None:
                    yield paths[output], found
