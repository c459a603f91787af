"""Routing tags: the part of a packet's header that sets the boxes on its path (Siegel et al.,
III-C and III-E).

An address or tag is written digit by digit, the most significant digit on top; each digit takes as
many bits as its radix needs. If all radices are powers of two, that is the plain binary number. A
tag holds one digit per stage, *in the order of the stages*: a box reads the top digit and rotates
it to the bottom. So no box needs to know its stage, and the tag has its original value when the
packet arrives.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Literal

from ..fabric.checks import shown
from ..fabric.errors import InvalidValue
from .address_codes import AddressCode, MixedCode

__all__ = [
    "ROUTINGS",
    "TagScheme",
    "address_tags",
    "box_input",
    "box_output",
    "check_routing",
    "matching_digits",
    "tag_digit",
]


Routing = Literal["destination", "xor", "difference"]
ROUTINGS: tuple[Routing, ...] = ("destination", "xor", "difference")


def check_routing(routing: object, *radices: int) -> None:
    """Check that a tag scheme exists, and fits the radices of boxes.

    Parameters
    ----------
    routing : object
        The name of the tag scheme.
    *radices : int
        The radices that it must fit.

    Raises
    ------
    ValueError
        If there is no such scheme, or XOR tags meet a radix that is no power of two.

    Examples
    --------
    >>> from multicube.hdl.graphs.tags import check_routing
    >>> check_routing("xor", 2, 4)
    """
    if not isinstance(routing, str) or routing not in ROUTINGS:
        *others, last = ROUTINGS
        raise InvalidValue(f"Routing must be {', '.join(others)} or {last}, not {shown(routing)}")
    for radix in radices:
        if routing == "xor" and radix & (radix - 1):
            raise InvalidValue(f"XOR tags need a radix that is a power of two, not {radix}")


def tag_digit(routing: Routing, input_: int, output: int, radix: int) -> int:
    """The digit of a tag that leads through a box of this radix from an input to an output.

    Parameters
    ----------
    routing : "destination", "xor" or "difference"
        The tag scheme.
    input_ : int
        The input at which the packet is.
    output : int
        The output by which it should leave.
    radix : int
        Inputs and outputs of the box.

    Returns
    -------
    int
        The digit.

    Examples
    --------
    >>> from multicube.hdl.graphs.tags import tag_digit
    >>> tag_digit("xor", 1, 0, radix=2)
    1
    """
    if routing == "xor":
        return output ^ input_
    return output if routing == "destination" else (output - input_) % radix


def box_output(routing: Routing, digit: int, input_: int, radix: int) -> int:
    """The output that a digit of a tag names at an input of a box.

    Parameters
    ----------
    routing : "destination", "xor" or "difference"
        The tag scheme.
    digit : int
        The digit of the tag.
    input_ : int
        The input at which the packet is.
    radix : int
        Outputs of the box.

    Returns
    -------
    int
        The number of the output.

    Examples
    --------
    >>> from multicube.hdl.graphs.tags import box_output
    >>> box_output("difference", 2, 2, radix=3)
    1
    """
    if routing == "xor":
        return digit ^ input_
    return digit if routing == "destination" else (digit + input_) % radix


def box_input(routing: Routing, digit: int, output: int, radix: int) -> int:
    """The input of a box at which a digit of an XOR or difference tag names this output.

    Parameters
    ----------
    routing : "xor" or "difference"
        The tag scheme.
    digit : int
        The digit of the tag.
    output : int
        The output that it names.
    radix : int
        Inputs of the box.

    Returns
    -------
    int
        The number of the input.

    Examples
    --------
    >>> from multicube.hdl.graphs.tags import box_input
    >>> box_input("xor", 1, 0, radix=2)
    1
    """
    return digit ^ output if routing == "xor" else (output - digit) % radix


def matching_digits(digit: int, mask: int, radix: int) -> list[int]:
    """The digits that agree with one in the bits in which a mask is 0.

    Parameters
    ----------
    digit : int
        The digit.
    mask : int
        A 1 in each bit that may differ.
    radix : int
        How many digits there are.

    Returns
    -------
    list[int]
        The digits, in ascending order.

    Examples
    --------
    >>> from multicube.hdl.graphs.tags import matching_digits
    >>> matching_digits(1, 2, radix=4)
    [1, 3]
    """
    return [other for other in range(radix) if (other ^ digit) & ~mask == 0]


@dataclass(frozen=True)
class TagScheme:
    """How the tags of a network are computed from source and destination, and back.

    On a path, stage s (0 is the first that a packet meets) is entered at the box port named by
    source digit `source_digits[s]` and left at the box port named by destination digit
    `destination_digits[s]`. The *destination* tag holds the latter. The *XOR* tag holds the
    exclusive or of the two, and the *difference* tag the latter minus the former, modulo the radix
    of the stage: in both, 0 means straight.

    Attributes
    ----------
    routing : "destination", "xor" or "difference"
        What the tag holds.
    code : AddressCode
        Code of the terminals' addresses; of those of sinks, if sources have another.
    source_digits, destination_digits : tuple[int, ...]
        Position of the digit that each stage uses; 0 is the least significant.
    inputs : tuple[int, ...]
        Inputs of a box of each stage, if a stage has boxes of other numbers of inputs and outputs;
        otherwise empty.

    Raises
    ------
    ValueError
        If the tag scheme does not exist; if it is XOR and a radix is not a power of two; or if it
        compares digits of sources and destinations, but their addresses have other radices in other
        places, and not all are powers of two.
    """

    routing: Routing
    code: AddressCode
    source_digits: tuple[int, ...]
    destination_digits: tuple[int, ...]
    inputs: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_routing(self.routing, *self.code.radices)
        equal = not self.inputs and (self.source_code == self.code or self.code.is_plain)
        if self.routing != "destination" and not equal:
            raise InvalidValue(
                "Routing must be destination if sources have other digits "
                f"({_radices(self.source_code)}) than destinations ({_radices(self.code)}), "
                f"not {self.routing}"
            )

    def with_classes(self, classes: int) -> "TagScheme":
        """The tags of several classes of messages: the class is one more digit of an address, its
        lowest, and the last digit of the tag."""
        aligned = getattr(self.code, "aligned", False)
        code = MixedCode.of([classes, *self.code.radices], aligned=aligned)
        sources, destinations = (
            (*(digit + 1 for digit in own), 0)
            for own in (self.source_digits, self.destination_digits)
        )
        inputs = (*self.inputs, classes) if self.inputs else ()
        return TagScheme(self.routing, code, sources, destinations, inputs)

    @cached_property
    def tag_code(self) -> AddressCode:
        """The code of tags: the digit of the last stage is the least significant."""
        return self.code.permuted(self.destination_digits[::-1])

    @cached_property
    def source_code(self) -> AddressCode:
        """The code of sources: the digit that a stage replaces has the radix of its boxes."""
        stages = self.source_digits
        if self.inputs:
            return MixedCode.of([self.inputs[stages.index(j)] for j in range(len(stages))])
        return self.tag_code.permuted(
            [len(stages) - 1 - stages.index(j) for j in range(len(stages))]
        )

    def tag(self, source: int, destination: int) -> int:
        """The tag of a packet between two addresses, as it enters the first stage."""
        from_, to = self.source_code.split(source), self.code.split(destination)
        return self._packed(
            tag_digit(self.routing, from_[i], to[j], self.code.radices[j])
            for i, j in zip(self.source_digits, self.destination_digits)
        )

    def destination(self, tag: int, source: int) -> int:
        """The destination of a packet with this tag."""
        from_ = self.source_code.split(source)
        to = [0] * self.code.digits
        for digit, i, j in zip(self._unpacked(tag), self.source_digits, self.destination_digits):
            to[j] = box_output(self.routing, digit, from_[i], self.code.radices[j])
        return self.code.join(to)

    def source(self, tag: int, destination: int) -> int | None:
        """The source of a packet with this XOR or difference tag; None for a destination tag."""
        if self.routing == "destination":
            return None
        to = self.code.split(destination)
        from_ = [0] * self.code.digits
        for digit, i, j in zip(self._unpacked(tag), self.source_digits, self.destination_digits):
            from_[i] = box_input(self.routing, digit, to[j], self.code.radices[j])
        return self.source_code.join(from_)

    def _packed(self, stages: Iterable[int]) -> int:
        """The tag with these digits, the first stage's first."""
        return self.tag_code.pack(list(stages)[::-1])

    def _unpacked(self, tag: int) -> list[int]:
        return self.tag_code.unpack(tag)[::-1]

    def in_stage_order(self, code: int) -> int:
        """A code of destination digits rearranged as a tag: the top digit for stage 0."""
        digits = self.code.unpack(code)
        return self._packed(digits[j] for j in self.destination_digits)

    def broadcast(self, source: int, outputs: Iterable[int]) -> tuple[int, int]:
        """The tag and the broadcast mask that send one packet to all of the given outputs.

        A 1 in the mask means both values of this bit of the tag, of those that are digits of a box.
        So the outputs must be all those whose tags agree in some bits; with destination tags, all
        those whose addresses agree in some bits. Where the mask is 1, the tag is 0. The boxes could
        also reach sets of outputs that no mask describes (Siegel et al., III-C).

        Raises
        ------
        ValueError
            If no mask describes these outputs.
        """
        wanted = set(outputs)
        if not wanted:
            raise InvalidValue("A broadcast must have at least one output, not none")
        tags = {self.tag(source, output) for output in wanted}
        first = min(tags)
        mask = 0
        for tag in tags:
            mask |= tag ^ first
        if self.destinations(first, mask, source) != sorted(wanted):
            where = "tag" if self.routing == "difference" else "address"
            raise InvalidValue(
                f"Outputs of a broadcast must be all that agree in some {where} bits, "
                f"not {', '.join(map(str, sorted(wanted)))}"
            )
        return first & ~mask, mask

    def destinations(self, tag: int, mask: int, source: int) -> list[int]:
        """The destinations of the copies of a packet with this tag and broadcast mask, in order."""
        digits = (self.tag_code.unpack(each) for each in (tag, mask))
        stages = [
            matching_digits(digit, care, radix)
            for digit, care, radix in zip(*digits, self.tag_code.radices)
        ]
        return sorted(
            self.destination(self.tag_code.pack(copy), source) for copy in product(*stages)
        )


def _radices(code: AddressCode) -> str:
    """The radices of a code, the most significant first."""
    return "x".join(map(str, reversed(code.radices)))


def address_tags(code: AddressCode) -> TagScheme:
    """Tags that hold the address of the destination, the most significant digit on top.

    Parameters
    ----------
    code : AddressCode
        The digits of addresses.

    Returns
    -------
    TagScheme
        How tags are computed.
    """
    digits = tuple(reversed(range(code.digits)))
    return TagScheme("destination", code, digits, digits)
