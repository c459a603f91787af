"""A cube network with several paths per pair: fewer terminals for the same number of boxes.

A cube network of n stages of b x b boxes has b^n terminals and one path per pair. With P times
fewer terminals and the same stages, there are P paths per pair. In RP3, "four stages of 4x4 boxes"
would give 256 ports, "but the number of ports is reduced to 128 in exchange for providing dual
paths between the ports" (Siegel et al., VII-E).

The paper does not say how these are wired. Here, labels of lines have m bits, for 2^m terminals. A
box with b = 2^r ports joins lines whose labels differ only in r bits, and replaces these bits. That
makes n r = m + p replacements, where P = 2^p: p more than there are bits. So the lowest p bits are
replaced twice:

- The first stage replaces the top r - p bits by those of the destination, and the lowest p bits by
  *any* value: the number of the path.
- Each stage after it replaces the next r bits by those of the destination, from the top down.
- The last stage replaces the r lowest bits by those of the destination, and with them the number of
  the path.

Between the first and the last stage, the paths of a pair differ in the lowest bits of their lines,
which no box there replaces, so they share no box and no link. With P = b the first stage replaces
only these bits; for b = 2 this is the Extra Stage Cube (`extra_stage`) with both of its stages
always in use.

>>> from multicube.hdl.graphs.plans.redundant_paths import redundant_path_plan
>>> plan = redundant_path_plan(128, radix=4, paths=2)
>>> [stage.bits for stage in plan.stages]
[(0, 6), (4, 5), (2, 3), (0, 1)]
>>> plan.boxes
32
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from ...fabric.checks import check_integer, check_radix
from ...fabric.errors import InvalidValue
from ..address_codes import AddressCode, Numbers
from .multistage import Hop

__all__ = ["BitStage", "RedundantPathPlan", "TagBit", "redundant_path_plan"]


class TagBit(NamedTuple):
    """The meaning of a tag bit: a bit of the destination's address, or of the path's number."""

    kind: Literal["module", "path"]
    bit: int


@dataclass(frozen=True)
class BitStage:
    """A column of boxes.

    Attributes
    ----------
    bits : tuple[int, ...]
        Lines whose labels differ only in these bits share a box; the values of these bits, the
        lowest first, are the box port.
    sets : tuple[TagBit, ...]
        The bits that replace them.
    """

    bits: tuple[int, ...]
    sets: tuple[TagBit, ...]


@dataclass(frozen=True)
class RedundantPathPlan:
    """Stages of radix-b boxes between b^n / P inputs and as many outputs, with P paths per pair.

    The members that `networks.stage_columns.place_columns` needs are as in `MultistagePlan`.

    Attributes
    ----------
    name : str
        The name of the topology.
    radix : int
        Inputs, and outputs, of a box.
    paths : int
        Paths from an input to an output.
    stages : tuple[BitStage, ...]
        In the order in which a packet meets them.
    width : int
        Bits of a label.
    """

    name: str
    radix: int
    paths: int
    stages: tuple[BitStage, ...]
    width: int

    @property
    def code(self) -> AddressCode:
        """The code of terminal addresses: binary numbers."""
        return AddressCode(2, self.width)

    @property
    def ports(self) -> int:
        return self.code.count

    sources = sinks = ports

    @property
    def outputs(self) -> tuple[int, ...]:
        """Outputs of a box of each stage."""
        return (self.radix,) * len(self.stages)

    @property
    def boxes(self) -> int:
        """Number of boxes in one stage."""
        return self.ports // self.radix

    @property
    def digit_bits(self) -> int:
        """Width of the digit of a tag that one stage uses."""
        return (self.radix - 1).bit_length()

    @property
    def columns(self) -> tuple[int, ...]:
        """Number of boxes in each stage."""
        return (self.boxes,) * len(self.stages)

    def relabel(self, stage: int, line: Numbers) -> Numbers:
        """The label in a stage of a line with this label before it: lines keep their labels."""
        return line

    def port(self, stage: int, line: Numbers) -> tuple[Numbers, Numbers]:
        """The box and box port of the line with this label in a stage."""
        bits = self.stages[stage].bits
        return _gathered(line, self._others[stage]), _gathered(line, bits)

    def line(self, stage: int, box: Numbers, port: Numbers) -> Numbers:
        """The label of the line at a box port: the inverse of `port`."""
        bits = self.stages[stage].bits
        return _scattered(box, self._others[stage]) | _scattered(port, bits)

    @cached_property
    def tag_bits(self) -> tuple[TagBit, ...]:
        """The meaning of each tag bit, the lowest first: those are the digit of the last stage."""
        return tuple(bit for stage in reversed(self.stages) for bit in stage.sets)

    def tag(self, destination: int, path: int = 0) -> int:
        """The tag that leads to a destination by one of the paths, from any source.

        Raises
        ------
        ValueError
            If the destination or path does not exist.
        """
        destination = check_integer("Destination", destination, 0, self.ports - 1)
        path = check_integer("Path", path, 0, self.paths - 1)
        values = {"module": destination, "path": path}
        return sum(
            (values[kind] >> bit & 1) << position
            for position, (kind, bit) in enumerate(self.tag_bits)
        )

    def path(self, source: int, destination: int, path: int = 0) -> list[Hop]:
        """The boxes between two terminals on one of the paths, and the box ports used in each."""
        source = check_integer("Source", source, 0, self.ports - 1)
        tag = self.tag(destination, path)
        hops = []
        line = source
        for s in range(len(self.stages)):
            output = tag >> (len(self.stages) - 1 - s) * self.digit_bits & self.radix - 1
            box, port = self.port(s, line)
            hops.append(Hop(s, box, port, output))
            line = self.line(s, box, output)
        return hops

    @cached_property
    def _others(self) -> list[tuple[int, ...]]:
        """For each stage, the bits of a line's label that make up the number of its box."""
        return [
            tuple(bit for bit in range(self.width) if bit not in stage.bits)
            for stage in self.stages
        ]


def _gathered(label: Numbers, bits: tuple[int, ...]) -> Any:
    """The number formed by these bits of a label, the lowest first."""
    return sum((label >> bit & 1) << position for position, bit in enumerate(bits))


def _scattered(number: Numbers, bits: tuple[int, ...]) -> Any:
    """The inverse of `_gathered`."""
    return sum((number >> position & 1) << bit for position, bit in enumerate(bits))


def redundant_path_plan(ports: int, radix: int = 2, paths: int = 2) -> RedundantPathPlan:
    """The plan of a cube network with several paths for every pair.

    Parameters
    ----------
    ports : int
        Number of inputs and of outputs: a power of the radix, at least the second, divided by the
        number of paths.
    radix : int
        Inputs and outputs of a box, a power of two.
    paths : int
        Paths between any two terminals, a power of two from 2 up to the radix.
    """
    radix = check_radix(radix)
    ports = check_integer("Ports", ports, 2)
    paths = check_integer("Paths", paths, 2)
    if radix & (radix - 1):
        raise InvalidValue(f"Several paths need a radix that is a power of two, not {radix}")
    if paths & (paths - 1) or paths > radix:
        raise InvalidValue(f"Paths must be a power of two up to the radix {radix}, not {paths}")
    stages = 2
    while radix**stages < ports * paths:
        stages += 1
    if radix**stages != ports * paths:
        raise InvalidValue(
            f"Ports times paths must be a power of the radix {radix}, at least {radix**2}, "
            f"not {ports} times {paths}"
        )
    digit, spare, width = radix.bit_length() - 1, paths.bit_length() - 1, ports.bit_length() - 1
    top = tuple(range(width - digit + spare, width))
    low = tuple(range(spare))
    columns = [
        BitStage(
            (*low, *top),
            (*(TagBit("path", bit) for bit in low), *(TagBit("module", bit) for bit in top)),
        )
    ]
    for s in reversed(range(stages - 1)):
        bits = tuple(range(s * digit, (s + 1) * digit))
        columns.append(BitStage(bits, tuple(TagBit("module", bit) for bit in bits)))
    return RedundantPathPlan("cube", radix, paths, tuple(columns), width)
