"""Delta networks and SW-banyans: multistage networks whose boxes need not be square."""

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Literal

from ...fabric.checks import check_integer
from ...fabric.errors import InvalidValue
from ...fabric.parameter_fields import fixed, integer, word
from ...graphs.plans.multistage import MultistagePlan
from ...graphs.plans.named_plans import PLANS, delta_plan
from ...graphs.plans.stage_radices import parse_radices
from ...networks.family import Family, Group
from ...networks.network_records import Confinement, Theory
from .multistage_network import MultistageNetwork
from .multistage_parameters import MOST_PORTS, StageParameters
from .switching import SWITCHES

__all__ = ["FAMILIES", "DeltaNetwork", "DeltaParameters", "SwBanyanNetwork", "SwBanyanParameters"]

_MOST_STAGES = 16


def _ends(default: int, description: str) -> Any:
    """The field for a number of inputs or outputs of a box, or for those of each stage."""
    return integer(default, description, least=2, most=64, form="AxBxC")


def _stages(description: str) -> Any:
    return integer("auto", description, least=1, most=_MOST_STAGES, choices=("auto",))


@dataclass(frozen=True, eq=False, kw_only=True)
class _RectangularParameters(StageParameters):
    """The parameters that delta networks and SW-banyans share.

    The fields named in `_SIZES` are the inputs of a box, its outputs, and the number of stages.
    """

    _SIZES: ClassVar[tuple[str, str, str]]

    switch: str = word(
        "unbuffered",
        "how a box switches",
        {name: kind.description for name, kind in SWITCHES.items() if kind.rectangular},
    )

    def _resolve_size(self) -> None:
        """Resolve the boxes: several equal numbers become one, and so do the stages."""
        *ends, stages = self._SIZES
        given = [self._numbers(name) for name in ends]
        count = self[stages]
        if count == "auto":
            count = max(map(len, given)) if max(map(len, given)) > 1 else 2
        for name, numbers in zip(ends, given):
            if len(numbers) not in (1, count):
                raise InvalidValue(
                    f"{name.capitalize()} must be one number, or {count} for {count} {stages}, "
                    f"not {self[name]}"
                )
            several = "x".join(map(str, numbers))
            self._resolve(**{name: numbers[0] if len(set(numbers)) == 1 else several})
        self._resolve(**{stages: count})
        inputs, outputs = self.sides
        for stage in range(count + 1):
            lines = prod(outputs[:stage]) * prod(inputs[stage:])
            if lines > MOST_PORTS:
                text = f"{self[ends[0]]} and {self[ends[1]]}"
                raise InvalidValue(
                    f"Lines between {stages} must be at most {MOST_PORTS}, not {lines} with "
                    f"{ends[0]} and {ends[1]} {text}"
                )

    def _numbers(self, name: str) -> tuple[int, ...]:
        """The numbers that a value such as 4 or 4x2 stands for."""
        title, value = name.capitalize(), self[name]
        try:
            numbers = parse_radices(str(value))
        except InvalidValue:
            raise InvalidValue(
                f"{title} must be a number of at least 2, or several such as 4x2, not {value!r}"
            ) from None
        for number in numbers:
            check_integer(title, number, 2, 64)
        return numbers

    @property
    def sides(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The inputs, and the outputs, of the boxes of each stage."""
        inputs, outputs, stages = self._SIZES
        sides = [self._numbers(name) for name in (inputs, outputs)]
        first, second = (each * self[stages] if len(each) == 1 else each for each in sides)
        return first, second

    @property
    def plan(self) -> MultistagePlan:
        return delta_plan(self["wiring"], *self.sides)


@dataclass(frozen=True, eq=False)
class DeltaParameters(_RectangularParameters):
    """The parameters of `DeltaNetwork`.

    Without `stages` there are as many as numbers of inputs or outputs, or two if each is one.
    """

    _SIZES = ("inputs", "outputs", "stages")

    inputs: int | str = _ends(4, "inputs of a box, or of those of each stage")
    outputs: int | str = _ends(3, "outputs of a box, or of those of each stage")
    stages: int | Literal["auto"] = _stages("stages of boxes")
    wiring: str = word("omega", "wiring plan", tuple(PLANS))


@dataclass(frozen=True, eq=False)
class SwBanyanParameters(_RectangularParameters):
    """The parameters of `SwBanyanNetwork`; `levels` are as `stages` of `DeltaParameters`."""

    _SIZES = ("fanout", "spread", "levels")

    fanout: int | str = _ends(2, "inputs of a box: arcs from a node towards the bases")
    spread: int | str = _ends(3, "outputs of a box: arcs from a node towards the apexes")
    levels: int | Literal["auto"] = _stages("levels of boxes")
    wiring: str = fixed("butterfly", "the recursive construction")


class _RectangularNetwork(MultistageNetwork):
    """A multistage network of boxes with a inputs and b outputs."""

    parameters: _RectangularParameters

    @property
    def theory(self) -> Theory | None:
        theory = super().theory
        if theory is None or self.plan.outputs == self.radices:
            return theory
        if theory.model != "unbuffered":
            return None  # The waiting times at later stages are known for square boxes only.
        shapes = tuple(zip(self.radices, self.plan.outputs))
        return theory._replace(arguments={**theory.arguments, "radices": shapes})

    @property
    def fault_plan(self) -> MultistagePlan | None:
        return super().fault_plan if self.plan.outputs == self.radices else None

    def single_paths(self) -> MultistagePlan:
        self._check_square("Permutations need")
        return super().single_paths()

    def confinement(self) -> Confinement:
        self._check_square("Partitions need")
        return super().confinement()

    def _check_square(self, need: str) -> None:
        for inputs, outputs in zip(self.radices, self.plan.outputs):
            if inputs != outputs:
                raise InvalidValue(
                    f"{need} boxes with as many inputs as outputs, not {inputs} and {outputs}"
                )


class DeltaNetwork(_RectangularNetwork):
    """A delta network (Patel 1981): n stages of a x b boxes from a^n sources to b^n sinks.

    The digits of a destination in base b are its tag: each stage is set by one digit, whatever the
    source. There is one path between any source and any sink. Stage s has a^(n-1-s) b^s boxes; the
    numbers a and b may differ from stage to stage. With a = b, Siegel et al. count it among the
    names of the multistage cube.

    Members
    -------
    i : In(stream.Signature(packet)).array(sources)
    o : Out(stream.Signature(packet)).array(sinks)
    """

    parameters_type = DeltaParameters
    parameters: DeltaParameters

    def _set_up(self) -> None:
        super()._set_up()
        self.family = "delta"


class SwBanyanNetwork(_RectangularNetwork):
    """An SW-banyan (Goke and Lipovski 1973) of L levels, from F^L bases to S^L apexes.

    Every node has a fanout of F arcs towards the bases, and a spread of S towards the apexes. The
    arcs of a level form complete bipartite graphs of F by S nodes; each is a box of F inputs and S
    outputs. So it is a delta network of such boxes, wired as a butterfly. With F = S, Siegel et al.
    count it among the names of the multistage cube.
    """

    parameters_type = SwBanyanParameters
    parameters: SwBanyanParameters

    def _set_up(self) -> None:
        super()._set_up()
        self.family = "sw-banyan"


FAMILIES = (
    Family(
        "delta",
        "stages of a x b boxes between a^n sources and b^n sinks",
        DeltaNetwork,
        Group.RECTANGULAR,
        papers=("patel",),
    ),
    Family(
        "sw-banyan",
        "boxes of F inputs and S outputs between F^L bases and S^L apexes",
        SwBanyanNetwork,
        Group.RECTANGULAR,
        papers=("goke-lipovski",),
    ),
)
