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
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast, get_args

from ..core.errors import InvalidValue
from .multistage import Digits, Hop, MultistagePlan, Stage, multistage_plan
from .tags import Routing

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
        if self.kind not in get_args(Kind):
            raise InvalidValue(
                f"Fault must be one of {', '.join(get_args(Kind))}, not {self.kind!r}"
            )

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
            stage, index = map(int, numbers)
        except ValueError:
            forms = ", ".join(f"{kind}:STAGE:NUMBER" for kind in get_args(Kind))
            raise InvalidValue(f"Fault must be one of {forms}, not {text!r}") from None
        return cls(cast(Kind, kind), stage, index)  # the constructor checks the kind

    def check(self, plan: MultistagePlan) -> None:
        """Raise ValueError if a plan does not have this place."""
        stages = len(plan.stages)
        if self.stage not in range(stages):
            raise InvalidValue(f"Stage of fault {self} must be from 0 to {stages - 1}")
        count = plan.boxes if self.kind == "box" else plan.ports
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
    these bits, some of D and the others of S, equal the label of the faulty place, except for a bit
    in which the lines of one box differ.

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

    def exchanges(self, source: int, destination: int) -> bool:
        """Whether the extra stage exchanges packets between two terminals."""
        if self.bypass_extra:
            return False
        if self.bypass_last:
            return (source ^ destination) & 1 == 1
        line = destination & self.destination | source & ~self.destination
        return (line ^ self.label) & self.care == 0


NORMAL = Configuration(bypass_extra=True)
"""The configuration of a network without faults."""


class ExtraStagePlan(MultistagePlan):
    """The plan of an Extra Stage Cube: n + 1 stages of 2 x 2 boxes between 2^n terminals.

    `tags` are those of the Generalized Cube, which the terminals use. Inside the network, a tag has
    one more digit (`tag`).
    """

    @cached_property
    def _terminal_digits(self) -> tuple[Digits, Digits]:
        digits = tuple(stage.digit for stage in self.stages[1:])
        return digits, digits

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
        for stage in range(len(self.stages)):
            for box in range(self.boxes):
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
        care = self.ports - 1
        label = fault.index
        if fault.kind == "box":
            care &= ~(1 << self.stages[fault.stage].digit)
            label = self.line(fault.stage, fault.index, 0)
        below = (1 << self.last - routed) - 1
        return Configuration(destination=(self.ports - 1) & ~below, care=care, label=label)

    def path(
        self, source: int, destination: int, configuration: Configuration = NORMAL
    ) -> list[Hop]:
        """The boxes between two terminals, without those of a bypassed stage."""
        exchange = configuration.exchanges(source, destination)
        hops = self._route(source, destination, exchange)
        return hops[configuration.bypass_extra : len(hops) - configuration.bypass_last]

    def paths(self, source: int, destination: int) -> tuple[list[Hop], list[Hop]]:
        """The primary and the secondary path with both stages in use."""
        return self._route(source, destination, False), self._route(source, destination, True)

    def _route(self, source: int, destination: int, exchange: bool) -> list[Hop]:
        digits = self.code.split(destination)
        outputs = [source & 1 ^ exchange, *(digits[stage.digit] for stage in self.stages[1:])]
        hops = []
        line = source
        for s, output in enumerate(outputs):
            box, port = self.port(s, line)
            hops.append(Hop(s, box, port, output))
            line = self.line(s, box, output)
        return hops

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

        In an XOR tag, the extra stage's digit is 1 for an exchange, and the last stage's digit
        undoes it. Together they are digit 0 of the terminals' tag, whichever stages are in use.
        """
        exchange = configuration.exchanges(source, destination)
        tag = self.tags(routing).tag(source, destination)
        if routing == "xor":
            return (exchange << self.last) | (tag ^ exchange)
        return (source & 1 ^ exchange) << self.last | tag


def extra_stage_plan(ports: int) -> ExtraStagePlan:
    """The plan of an Extra Stage Cube with this number of terminals, a power of two.

    Raises
    ------
    TypeError, ValueError
        If the number of terminals is not as above.
    """
    cube = multistage_plan("cube", ports)
    return ExtraStagePlan("cube", 2, (Stage(cube.exit, 0), *cube.stages), cube.exit)
