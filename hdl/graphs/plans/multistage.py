"""Wiring plans of the multistage cube and the networks that are topologically equivalent to it.

Each plan has a column of boxes per stage and a permutation of *digits* on the way into it. All of
these networks have one path from each input to each output. They differ in the labels of the lines
between the stages, and so in the permutations that they pass. Stages are numbered from 0 in the
order in which a packet meets them (Siegel et al. number those of the Generalized Cube from n - 1
down to 0).

The boxes of a stage have a radix, and N is the product of the radices; if all are b, there are
n = log_b N stages of N/b boxes (III-E). The rule for all radices: a permutation of digits carries
each digit with its radix. So the digit in which the lines of a box differ has the radix of the box,
and the address digits that name its ports in a source and in a destination have it, too.

A box may have a inputs and b outputs (Patel's delta networks). It then replaces a digit of radix a
by one of radix b. So n stages of such boxes lead from a^n sources to b^n sinks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...fabric.errors import InvalidValue
from ..address_codes import AddressCode, MixedCode, Numbers
from ..tags import Routing, TagScheme

__all__ = ["Hop", "MultistagePlan", "Stage", "equal_ports", "terminal_digits"]


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
    """One box of a path: its position, and the box ports that the path uses.

    Attributes
    ----------
    stage, box : int
        The stage, counted from the sources, and the number of the box in it, from 0.
    input, output : int
        The ports of the box, from 0.
    """

    stage: int
    box: int
    input: int
    output: int


@dataclass(frozen=True)
class MultistagePlan:
    """Stages of boxes between sources and sinks; of both there are N, unless boxes are not square.

    Attributes
    ----------
    name : str
        The name of the topology, such as "omega".
    radices : tuple[int, ...]
        Inputs of a box of each stage.
    stages : tuple[Stage, ...]
        In the order in which a packet meets them.
    exit : tuple[int, ...]
        How lines are relabelled on the way out, in the form of `Stage.entry`.
    outputs : tuple[int, ...]
        Outputs of a box of each stage; by default as many as inputs.
    """

    name: str
    radices: tuple[int, ...]
    stages: tuple[Stage, ...]
    exit: Digits
    outputs: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", self.outputs or self.radices)

    @cached_property
    def code(self) -> AddressCode:
        """The code of the numbers of sinks."""
        digits = self._terminal_digits[1]
        outputs = self.outputs[-len(digits) :]
        return MixedCode.of([outputs[digits.index(j)] for j in range(len(digits))])

    @cached_property
    def source_code(self) -> AddressCode:
        """The code of the numbers of sources."""
        return self.tags().source_code

    @property
    def cube_numbers(self) -> tuple[int, ...] | None:
        """The stages' numbers in papers on cubes; None if lines change places between stages.

        Such a number is the digit in which the lines that meet in a box differ. An extra stage, the
        first, has the highest.
        """
        orders = [self.exit, *(stage.entry for stage in self.stages)]
        if any(order != tuple(range(len(order))) for order in orders):
            return None
        first, *others = (stage.digit for stage in self.stages)
        return (len(others) if first in others else first, *others)

    @property
    def sources(self) -> int:
        return self.source_code.count

    @property
    def sinks(self) -> int:
        return self.code.count

    @cached_property
    def ports(self) -> int:
        """Number of sources and of sinks; ValueError if they differ."""
        return equal_ports(self.sources, self.sinks)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Number of boxes in each stage."""
        return tuple(code.count // radix for code, radix in zip(self.codes, self.radices))

    @property
    def radix(self) -> int:
        """The radix of all boxes; ValueError if stages differ."""
        return self._common(self.radices)

    @property
    def boxes(self) -> int:
        """Number of boxes in every stage; ValueError if stages differ."""
        return self._common(self.columns)

    def _common(self, values: tuple[int, ...]) -> int:
        if len(set(values)) > 1:
            raise InvalidValue(f"Stages must have boxes of one radix here, not {self.radix_text}")
        return values[0]

    @property
    def radix_text(self) -> str:
        """The radix of all boxes, or those of all stages, as `multistage_plan` takes them."""
        same = len(set(self.radices)) == 1
        return "x".join(map(str, self.radices[:1] if same else self.radices))

    @cached_property
    def codes(self) -> tuple[AddressCode, ...]:
        """The code of the labels of the lines into the boxes of each stage."""
        before = [self.source_code, *self.leaving]
        return tuple(code.permuted(stage.entry) for code, stage in zip(before, self.stages))

    @cached_property
    def leaving(self) -> tuple[AddressCode, ...]:
        """The code of the labels of the lines that leave each stage."""
        leaving = []
        code = self.source_code
        for stage, outputs in zip(self.stages, self.outputs):
            code = code.permuted(stage.entry).with_radix(stage.digit, outputs)
            leaving.append(code)
        return tuple(leaving)

    @cached_property
    def _box_codes(self) -> tuple[AddressCode, ...]:
        """The code of the numbers of boxes in each stage: labels without the digit of the port."""
        return tuple(
            MixedCode.of([radix for j, radix in enumerate(code.radices) if j != stage.digit])
            for code, stage in zip(self.codes, self.stages)
        )

    def relabel(self, stage: int, line: Numbers) -> Numbers:
        """The label in a stage of a line with this label before it, or of an array of lines.

        Before the first stage the label is the number of the source; with `stage` one more than
        that of the last, the result is the number of the sink.
        """
        behind = stage == len(self.stages)
        entry = self.exit if behind else self.stages[stage].entry
        before = self.leaving[stage - 1] if stage else self.source_code
        after = self.code if behind else self.codes[stage]
        old = before.split(line)
        return after.join([old[j] for j in entry])

    def port(self, stage: int, line: Numbers) -> tuple[Numbers, Numbers]:
        """The box, and its input, of the line with this label in a stage, or of all in an array."""
        digits = self.codes[stage].split(line)
        port = digits.pop(self.stages[stage].digit)
        return self._box_codes[stage].join(digits), port

    def line(self, stage: int, box: Numbers, port: Numbers) -> Numbers:
        """The label of the line at an output of a box, or of all in arrays.

        With square boxes this is the inverse of `port`.
        """
        digits = self._box_codes[stage].split(box)
        digits.insert(self.stages[stage].digit, port)
        return self.leaving[stage].join(digits)

    def path(self, source: int, destination: int) -> list[Hop]:
        """The boxes between an input and an output, and the box ports used in each."""
        to = self.code.split(destination)
        return self.route(source, [to[digit] for digit in self._terminal_digits[1]])

    def route(self, source: int, outputs: Sequence[int]) -> list[Hop]:
        """The boxes that are passed from an input if these are their outputs, stage by stage."""
        hops = []
        line = source
        for s, output in enumerate(outputs):
            if (s, line, output) not in self._hops:
                box, port = self.port(s, self.relabel(s, line))
                self._hops[s, line, output] = Hop(s, box, port, output), self.line(s, box, output)
            hop, line = self._hops[s, line, output]
            hops.append(hop)
        return hops

    @cached_property
    def _hops(self) -> dict[tuple[int, int, int], tuple[Hop, int]]:
        """By stage, line before it and output: the box that is passed, and the line behind it."""
        return {}

    def tags(self, routing: Routing = "destination") -> TagScheme:
        """The tags that route packets through this plan.

        Raises
        ------
        ValueError
            If the tag scheme does not exist, or does not fit the radices.
        """
        inputs = () if self.outputs == self.radices else self.radices
        return TagScheme(routing, self.code, *self._terminal_digits, inputs)

    @cached_property
    def _terminal_digits(self) -> tuple[Digits, Digits]:
        """For each stage, the source digit that names the input port, and the destination digit
        that names the output port, of the boxes on a path."""
        return terminal_digits(self.stages, self.exit)


def equal_ports(sources: int, sinks: int) -> int:
    """The number of sources and of sinks, which must be equal.

    Parameters
    ----------
    sources, sinks : int
        The two numbers.

    Returns
    -------
    int
        Either of them.

    Raises
    ------
    ValueError
        If they differ.

    Examples
    --------
    >>> from multicube.hdl.graphs.plans.multistage import equal_ports
    >>> equal_ports(8, 8)
    8
    """
    if sources != sinks:
        raise InvalidValue(
            f"There must be as many sources as sinks here, not {sources} and {sinks}"
        )
    return sources


def terminal_digits(stages: Sequence[Stage], exit_: Digits) -> tuple[Digits, Digits]:
    """For each stage, the position of the source digit that it replaces, and that of the
    destination digit that it chooses.

    Parameters
    ----------
    stages : Sequence[Stage]
        The stages of a plan.
    exit_ : Digits
        The permutation of digits behind the last stage.

    Returns
    -------
    tuple[Digits, Digits]
        The positions in the source, and those in the destination.
    """
    # Follow each digit of a line's label: ("source", j) at first, ("stage", s) once replaced.
    label: list[tuple[str, int]] = [("source", j) for j in range(len(exit_))]
    source_digits = []
    for s, stage in enumerate(stages):
        label = [label[j] for j in stage.entry]
        _, replaced = label[stage.digit]
        source_digits.append(replaced)
        label[stage.digit] = ("stage", s)
    label = [label[j] for j in exit_]
    destination_digits = [label.index(("stage", s)) for s in range(len(stages))]
    return tuple(source_digits), tuple(destination_digits)
