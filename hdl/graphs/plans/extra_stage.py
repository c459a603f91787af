"""The Extra Stage Cube: a cube network with two paths for every pair (Adams and Siegel 1982).

A Generalized Cube of N = 2^n terminals gets one more column of boxes on its input side. This *extra
stage* pairs lines by digit 0, as the last stage does. Each of these two stages can be bypassed.
Stages are numbered in the order in which a packet meets them, as in all plans: 0 is the extra stage
(stage n of the paper), n is the last one (stage 0 of the paper).

- Normally the extra stage is bypassed, which leaves a Generalized Cube.
- If the last stage has a fault, it is bypassed instead, and the extra stage replaces it: digit 0 is
  routed first instead of last.
- If a box or link between the two stages is faulty, both are in use. There are then two paths: the
  extra stage passes a packet straight (the *primary* path) or exchanges it (the *secondary* path).
  Between the two stages the lines of the two paths differ in digit 0, so they share no box or link.

With b x b boxes there are b paths that share nothing between the two stages, of which two are used:
the secondary path leaves the extra stage by the next output, modulo b. (With XOR tags, by the
output whose number differs in the lowest bit.)

Any wiring will do whose stages replace each digit of the source by the same digit of the
destination: the omega network, the indirect cube and the flip network, too. The extra stage pairs
lines by the digit that the last stage replaces; no other stage changes it. The lines between the
stages hold each digit once, from the source or from the destination.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast, get_args

from ...fabric.checks import check_word
from ...fabric.errors import InvalidValue
from ...fabric.numerals import integer_of
from ..mask_rule import MaskRule
from ..tags import Routing, TagScheme, box_output, tag_digit
from .multistage import Digits, Hop, MultistagePlan, Stage, terminal_digits
from .named_plans import multistage_plan

__all__ = ["Configuration", "ExtraStagePlan", "Fault", "extra_stage_plan", "parse_faults"]

Kind = Literal["box", "link", "entry"]


@dataclass(frozen=True, order=True)
class Fault:
    """The place of a fault in a multistage network.

    Attributes
    ----------
    kind : "box", "link" or "entry"
        A box, the link that leaves a box, or the link that enters it.
    stage : int
    index : int
        The box's number in its stage, or the label of the line.

    Raises
    ------
    ValueError
        If the kind does not exist.
    """

    kind: Kind
    stage: int
    index: int

    def __post_init__(self) -> None:
        check_word("Fault", self.kind, get_args(Kind))

    def __str__(self) -> str:
        return f"{self.kind}:{self.stage}:{self.index}"

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """The fault that a text such as `box:1:3` stands for.

        Raises
        ------
        ValueError
            If the text does not describe a fault.
        """
        kind, *numbers = text.split(":")
        try:
            stage, index = map(integer_of, numbers)
        except ValueError:
            forms = ", ".join(f"{kind}:STAGE:NUMBER" for kind in get_args(Kind))
            raise InvalidValue(f"Fault must be one of {forms}, not {text!r}") from None
        return cls(cast(Kind, kind), stage, index)  # the constructor checks the kind

    def check(self, plan: MultistagePlan) -> None:
        """Raise ValueError if a plan does not have this place."""
        stages = len(plan.stages)
        if self.stage not in range(stages):
            raise InvalidValue(f"Stage of fault {self} must be from 0 to {stages - 1}")
        count = plan.columns[self.stage] if self.kind == "box" else plan.ports
        if self.index not in range(count):
            raise InvalidValue(f"Number of fault {self} must be from 0 to {count - 1}")


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Faults in the form of `Fault.parse`, separated by commas; none if the text is empty."""
    return tuple(Fault.parse(word.strip()) for word in text.split(",") if word.strip())


@dataclass(frozen=True)
class Configuration:
    """The configuration of an Extra Stage Cube.

    With both stages in use, a packet takes the secondary path if its primary path would use one of
    the lines to avoid. At a point between the two stages where digits i and above are routed, a
    primary path from S to D is on the line d_{n-1} ... d_i s_{i-1} ... s_0. So it meets a fault if
    these digits, some of D and the others of S, equal the label of the faulty place, except for a
    digit in which the lines of one box differ.

    The numbers have the digits of addresses in the order of a tag. In a Generalized Cube with boxes
    of 2^m ports that is the plain label of a line.

    Attributes
    ----------
    bypass_extra, bypass_last : bool
        Whether these stages are bypassed; at most one of them is.
    destination : int
        1 for the bits of the line that are from D, 0 for those from S.
    care : int
        1 for the bits that are compared.
    label : int
        The values of these bits on the lines to avoid.
    """

    bypass_extra: bool = False
    bypass_last: bool = False
    destination: int = 0
    care: int = 0
    label: int = 0

    def meets(self, source: int, destination: int) -> bool:
        """Whether a primary path uses a line to avoid; addresses are in the order of a tag."""
        line = destination & self.destination | source & ~self.destination
        return (line ^ self.label) & self.care == 0


NORMAL = Configuration(bypass_extra=True)
"""The configuration of a network without faults."""


class ExtraStagePlan(MultistagePlan):
    """The plan of an Extra Stage Cube: n + 1 stages, of which the first and the last are alike.

    `tags` are those of the network without the extra stage, which the terminals use. Inside the
    network, a tag has one more digit (`tag`).
    """

    @cached_property
    def _terminal_digits(self) -> tuple[Digits, Digits]:
        return terminal_digits(self.stages[1:], self.exit)

    @property
    def last(self) -> int:
        """Number of the last stage."""
        return len(self.stages) - 1

    def faults(self) -> Iterator[Fault]:
        """All single faults that the network tolerates.

        These are all boxes, and all links at a box. Links into and out of the extra stage and the
        last stage are those between the boxes and the multiplexers that bypass them. The terminals'
        own links to these multiplexers, and the multiplexers, are not duplicated and must work.
        """
        for stage, boxes in enumerate(self.columns):
            for box in range(boxes):
                yield Fault("box", stage, box)
            for line in range(self.ports):
                yield Fault("entry", stage, line)
                yield Fault("link", stage, line)

    def configure(self, faults: Iterable[Fault]) -> Configuration:
        """The configuration in which no packet meets a fault.

        Raises
        ------
        ValueError
            If the plan does not have such a place, or does not tolerate the faults. It tolerates
            any number in the extra stage, or any number in the last stage, or one between them.
        """
        faults = list(faults)
        for fault in faults:
            fault.check(self)
        if all(fault.stage == 0 for fault in faults):
            return NORMAL
        if all(fault.stage == self.last for fault in faults):
            return Configuration(bypass_last=True)
        avoided = {self._avoiding(fault) for fault in faults if fault.stage in range(1, self.last)}
        ends = any(fault.stage in (0, self.last) for fault in faults)
        if ends or len(avoided) > 1:
            raise InvalidValue(
                "Faults must all be in the extra stage, or all in the last stage, or be one "
                f"between them, not {', '.join(map(str, faults))}"
            )
        return avoided.pop()

    def _avoiding(self, fault: Fault) -> Configuration:
        """Both stages in use; primary paths through a place between them become secondary."""
        # On the lines that leave a stage, the digit that it routes is the destination's.
        routed = fault.stage if fault.kind == "link" else fault.stage - 1
        # The digits of the address that the digits of a label hold, of source or destination.
        held = list(range(self.code.digits))
        for stage in self.stages[: fault.stage + 1]:
            held = [held[j] for j in stage.entry]
        box = fault.kind == "box"
        line = self.line(fault.stage, fault.index, 0) if box else fault.index
        label = dict(zip(held, self.codes[fault.stage].split(line)))
        ones = [(1 << width) - 1 for width in self.code.widths]
        replaced = self._terminal_digits[0]
        compared = {*held} - ({replaced[fault.stage - 1]} if box else set())
        return Configuration(
            destination=self._ordered({j: ones[j] for j in replaced[:routed]}),
            care=self._ordered({j: ones[j] for j in compared}),
            label=self._ordered(label),
        )

    @cached_property
    def _order(self) -> TagScheme:
        """The order of the digits of a tag."""
        return self.tags()

    def _ordered(self, digits: Mapping[int, int]) -> int:
        """Digits of an address, by position, in the order of a tag; others are 0."""
        code = self.code.pack([digits.get(j, 0) for j in range(self.code.digits)])
        return self._order.in_stage_order(code)

    def address(self, terminal: int) -> int:
        """The address of a terminal in the order of a tag."""
        return self._order.in_stage_order(self.code.encode(terminal))

    def path(
        self,
        source: int,
        destination: int,
        configuration: Configuration = NORMAL,
        routing: Routing = "destination",
    ) -> list[Hop]:
        """The boxes between two terminals, without those of a bypassed stage.

        `routing` matters only with XOR tags of more than one bit per digit.
        """
        shift = self.shift(source, destination, configuration, routing)
        hops = self._route(source, destination, self._beside(source, shift, routing))
        return hops[configuration.bypass_extra : len(hops) - configuration.bypass_last]

    def paths(self, source: int, destination: int) -> list[list[Hop]]:
        """All paths with both stages in use, by the output of the extra stage: first the primary
        path, then the secondary one."""
        radix = self.radices[0]
        shifted = (self._beside(source, shift, "destination") for shift in range(radix))
        return [self._route(source, destination, output) for output in shifted]

    def shift(
        self,
        source: int,
        destination: int,
        configuration: Configuration,
        routing: Routing = "destination",
    ) -> int:
        """The output of the extra stage for a packet, relative to its input: 0 is straight.

        It is an XOR with XOR tags, and otherwise a difference modulo the radix.
        """
        if configuration.bypass_extra:
            return 0
        if configuration.bypass_last:
            ports = self._last_digit(source), self._last_digit(destination)
            return tag_digit(_relative(routing), *ports, self.radices[0])
        return int(configuration.meets(self.address(source), self.address(destination)))

    def mask_rule(
        self, configuration: Configuration, routing: Routing = "destination"
    ) -> MaskRule | None:
        """Which subnetworks are kept apart; None if all are, because one path is used per pair.

        Packets that meet a line to avoid come from sources with the same last digit as this line,
        and take the line beside it. That line is in their subnetwork if its mask has a 1 where the
        two digits differ. A subnetwork has such packets if it contains an address that agrees with
        the label of the line, since S and D are any two of its members.
        """
        if configuration.bypass_extra or configuration.bypass_last:
            return None
        digit = self._terminal_digits[0][-1]
        label = self._in_address_order(configuration.label)
        avoided = self.code.unpack(label)[digit]
        beside = box_output(_relative(routing), 1, avoided, self.radices[0])
        care = self._in_address_order(configuration.care)
        return MaskRule(label, care, (avoided ^ beside) << self.code.places[digit])

    def _in_address_order(self, ordered: int) -> int:
        """The inverse of `in_stage_order`."""
        bits = (1 << bit for bit in range(self.code.width))
        return sum(bit for bit in bits if self._order.in_stage_order(bit) & ordered)

    def _last_digit(self, terminal: int) -> int:
        """The digit that the extra stage and the last one route."""
        return self.code.split(terminal)[self._terminal_digits[0][-1]]

    def _beside(self, source: int, shift: int, routing: Routing) -> int:
        """The output of the extra stage."""
        return box_output(_relative(routing), shift, self._last_digit(source), self.radices[0])

    def _route(self, source: int, destination: int, first: int) -> list[Hop]:
        digits = self.code.split(destination)
        return self.route(source, [first, *(digits[j] for j in self._terminal_digits[1])])

    def crossed(self, hops: Iterable[Hop]) -> set[Fault]:
        """All places that a path uses."""
        return {
            place
            for hop in hops
            for place in (
                Fault("entry", hop.stage, self.line(hop.stage, hop.box, hop.input)),
                Fault("box", hop.stage, hop.box),
                Fault("link", hop.stage, self.line(hop.stage, hop.box, hop.output)),
            )
        }

    def tag(
        self,
        source: int,
        destination: int,
        configuration: Configuration = NORMAL,
        routing: Routing = "destination",
    ) -> int:
        """The tag inside the network: n + 1 digits, that of the extra stage on top.

        In an XOR or difference tag, the extra stage's digit is not 0 on a secondary path, and the
        last stage's digit undoes it. Their XOR, or sum, is the last digit of the terminals' tag,
        whichever stages are in use.
        """
        tags = self.tags(routing)
        tag = tags.tag(source, destination)
        first = shift = self.shift(source, destination, configuration, routing)
        if routing == "destination":
            first = self._beside(source, shift, routing)
        else:
            last, *others = tags.tag_code.unpack(tag)
            tag = tags.tag_code.pack([tag_digit(routing, shift, last, self.radices[0]), *others])
        return first << tags.tag_code.width | tag


def _relative(routing: Routing) -> Routing:
    """The relative tags by which the extra stage finds its output."""
    return "xor" if routing == "xor" else "difference"


def extra_stage_plan(ports: int, radix: int | str = 2, wiring: str = "cube") -> ExtraStagePlan:
    """The plan of an Extra Stage Cube; the arguments are those of `multistage_plan`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as there, or the wiring is not one of those named above.
    """
    plan = multistage_plan(wiring, ports, radix)
    sources, destinations = terminal_digits(plan.stages, plan.exit)
    if sources != destinations:
        raise InvalidValue(
            "An extra stage needs a wiring whose stages replace each digit of the source address "
            f"by the same digit of the destination, not {wiring}"
        )
    extra = Stage(tuple(range(len(sources))), sources[-1])
    return ExtraStagePlan(
        wiring, (plan.radices[-1], *plan.radices), (extra, *plan.stages), plan.exit
    )
