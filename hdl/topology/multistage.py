"""Wiring plans of the multistage cube and the networks that are topologically equivalent to it.

Each plan has a column of boxes per stage and a permutation of *digits* on the way into it. All of
these networks have n = log_b N stages of N/b boxes and one path from each input to each output.
They differ in the labels of the lines between the stages, and so in the permutations that they
pass. Stages are numbered from 0 in the order in which a packet meets them (Siegel et al. number
those of the Generalized Cube from n - 1 down to 0).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..core.checks import check_integer, check_radix
from ..core.errors import InvalidValue
from .tags import AddressCode, Routing, TagScheme

__all__ = ["ALIASES", "PLANS", "Hop", "MultistagePlan", "Stage", "multistage_plan"]

Digits = tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """A column of boxes.

    Attributes
    ----------
    entry : tuple[int, ...]
        How lines are relabelled on their way in: digit j of the new label is digit `entry[j]` of
        the old one (0 is the least significant).
    digit : int
        Lines whose labels differ only in this digit share a box; its value is the box port.
    """

    entry: Digits
    digit: int


class Hop(NamedTuple):
    """One box of a path: its position, and the box ports that the path uses."""

    stage: int
    box: int
    input: int
    output: int


@dataclass(frozen=True)
class MultistagePlan:
    """Stages of radix-b boxes between b^n inputs and b^n outputs.

    Attributes
    ----------
    name : str
    radix : int
    stages : tuple[Stage, ...]
        In the order in which a packet meets them.
    exit : tuple[int, ...]
        How lines are relabelled on the way out, in the form of `Stage.entry`.
    """

    name: str
    radix: int
    stages: tuple[Stage, ...]
    exit: Digits

    @property
    def code(self) -> AddressCode:
        return AddressCode(self.radix, len(self.exit))

    @property
    def ports(self) -> int:
        return self.code.count

    @property
    def boxes(self) -> int:
        """Number of boxes in one stage."""
        return self.ports // self.radix

    def relabel(self, line: int, digits: Digits) -> int:
        """The label of a line after its digits are permuted."""
        old = self.code.split(line)
        return self.code.join([old[j] for j in digits])

    def port(self, stage: int, line: int) -> tuple[int, int]:
        """The box and box port of the line with this label in a stage."""
        digits = self.code.split(line)
        port = digits.pop(self.stages[stage].digit)
        return self.code.join(digits), port

    def line(self, stage: int, box: int, port: int) -> int:
        """The label of the line at a box port: the inverse of `port`."""
        digits = self.code.split(box)[: self.code.digits - 1]
        digits.insert(self.stages[stage].digit, port)
        return self.code.join(digits)

    def path(self, source: int, destination: int) -> list[Hop]:
        """The boxes between an input and an output, and the box ports used in each."""
        hops = []
        line = source
        to = self.code.split(destination)
        for s, (stage, digit) in enumerate(zip(self.stages, self._terminal_digits[1])):
            line = self.relabel(line, stage.entry)
            box, port = self.port(s, line)
            hops.append(Hop(s, box, port, to[digit]))
            line = self.line(s, box, to[digit])
        return hops

    def tags(self, routing: Routing = "destination") -> TagScheme:
        """The tags that route packets through this plan.

        Raises
        ------
        ValueError
            If the tag scheme does not exist, or does not fit the radix.
        """
        return TagScheme(routing, self.code, *self._terminal_digits)

    @cached_property
    def _terminal_digits(self) -> tuple[Digits, Digits]:
        """For each stage, the source digit that names the input port, and the destination digit
        that names the output port, of the boxes on a path."""
        # Follow each digit of a line's label: ("source", j) at first, ("stage", s) once replaced.
        label: list[tuple[str, int]] = [("source", j) for j in range(self.code.digits)]
        source_digits = []
        for s, stage in enumerate(self.stages):
            label = [label[j] for j in stage.entry]
            _, replaced = label[stage.digit]
            source_digits.append(replaced)
            label[stage.digit] = ("stage", s)
        label = [label[j] for j in self.exit]
        destination_digits = [label.index(("stage", s)) for s in range(len(self.stages))]
        return tuple(source_digits), tuple(destination_digits)


def _identity(n: int) -> Digits:
    return tuple(range(n))


def _rotated(n: int, low: int, by: int) -> Digits:
    """The lowest `low` digits rotated by `by` positions towards the top; the others unchanged."""
    return tuple((j - by) % low if j < low else j for j in range(n))


def _swapped(n: int, a: int, b: int) -> Digits:
    digits = list(range(n))
    digits[a], digits[b] = digits[b], digits[a]
    return tuple(digits)


def _generalized_cube(n: int) -> tuple[list[Stage], Digits]:
    return [Stage(_identity(n), digit) for digit in reversed(range(n))], _identity(n)


def _indirect_cube(n: int) -> tuple[list[Stage], Digits]:
    return [Stage(_identity(n), digit) for digit in range(n)], _identity(n)


def _omega(n: int) -> tuple[list[Stage], Digits]:
    return [Stage(_rotated(n, n, 1), 0)] * n, _identity(n)


def _flip(n: int) -> tuple[list[Stage], Digits]:
    unshuffle = _rotated(n, n, -1)
    return [Stage(_identity(n) if s == 0 else unshuffle, 0) for s in range(n)], unshuffle


def _baseline(n: int) -> tuple[list[Stage], Digits]:
    later = [Stage(_rotated(n, n - s, -1), 0) for s in range(n - 1)]
    return [Stage(_identity(n), 0), *later], _identity(n)


def _butterfly(n: int) -> tuple[list[Stage], Digits]:
    later = [Stage(_swapped(n, 0, n - 1 - s), 0) for s in range(n - 1)]
    return [Stage(_identity(n), 0), *later], _identity(n)


PLANS: dict[str, tuple[Callable[[int], tuple[list[Stage], Digits]], str]] = {
    "cube": (_generalized_cube, "Generalized Cube: stages n-1 down to 0 pair lines by digit"),
    "omega": (_omega, "a perfect shuffle of all lines in front of every stage"),
    "baseline": (_baseline, "each stage halves the network: inverse shuffles of ever fewer digits"),
    "indirect-cube": (_indirect_cube, "indirect binary n-cube: digits 0 up to n-1"),
    "butterfly": (_butterfly, "b-ary n-fly: digit 0 trades places with ever lower digits"),
    "flip": (_flip, "inverse omega: an inverse shuffle behind every stage"),
}
"""For each plan, by name: its stages as a function of n, and its description."""

ALIASES: dict[str, str] = {
    "generalized-cube": "cube",
    "multistage-cube": "cube",
    "multistage-shuffle-exchange": "omega",
    "delta": "omega",
    "bidelta": "omega",
    "indirect-binary-n-cube": "indirect-cube",
    "sw-banyan": "butterfly",
    "fly": "butterfly",
}
"""Other names in the literature for the same wiring, by name."""


def multistage_plan(name: str, ports: int, radix: int = 2) -> MultistagePlan:
    """The wiring plan of a multistage network.

    Parameters
    ----------
    name : str
        One of `PLANS`.
    ports : int
        Number of inputs and of outputs, a power of the radix (at least the radix itself).
    radix : int
        Inputs and outputs of a box, at least 2.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    if name not in PLANS:
        raise InvalidValue(f"Wiring must be one of {', '.join(PLANS)}, not {name!r}")
    radix = check_radix(radix)
    ports = check_integer("Ports", ports, 2)
    stages = 1
    while radix**stages < ports:
        stages += 1
    if radix**stages != ports:
        raise InvalidValue(f"Ports must be a power of the radix {radix}, not {ports}")
    columns, exit_ = PLANS[name][0](stages)
    return MultistagePlan(name, radix, tuple(columns), exit_)
