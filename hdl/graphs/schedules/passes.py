"""Which permutations a multistage network passes at once, and the box settings for them.

A permutation is a list: element X is the output that input X sends to, or None if X sends nothing
(Siegel et al., section V). A network *passes* it if no two of its paths share a link. The paths are
those of the routing tags, so tags and settings lead to the same connections.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...fabric.errors import InvalidValue
from ..permutations import Permutation, check_permutation
from ..plans.multistage import Hop, MultistagePlan

__all__ = [
    "Conflict",
    "Settings",
    "conflicts",
    "connections",
    "links",
    "passable",
    "settings",
    "state_name",
]

Settings = list[list[tuple[int, ...]]]
"""For each stage and box, the input that each of its outputs is connected to; no input twice."""


class Conflict(NamedTuple):
    """A link that the paths of several sources need: an output of a box.

    Its string form describes it in words.
    """

    stage: int
    box: int
    output: int
    sources: tuple[int, ...]

    def __str__(self) -> str:
        sources = " and ".join(map(str, self.sources))
        return f"inputs {sources} need output {self.output} of box {self.box} in stage {self.stage}"


def _hops(plan: MultistagePlan, destinations: Permutation) -> Iterator[tuple[int, Hop]]:
    check_permutation(destinations, plan.ports)
    for source, destination in enumerate(destinations):
        if destination is not None:
            for hop in plan.path(source, destination):
                yield source, hop


def conflicts(plan: MultistagePlan, destinations: Permutation) -> list[Conflict]:
    """The links that more than one path of a permutation needs, in the order of the stages.

    Raises
    ------
    ValueError
        If it is not a permutation of the plan's terminals.
    """
    users: dict[tuple[int, int, int], list[int]] = {}
    for source, hop in _hops(plan, destinations):
        users.setdefault((hop.stage, hop.box, hop.output), []).append(source)
    return [
        Conflict(*link, tuple(sources))
        for link, sources in sorted(users.items())
        if len(sources) > 1
    ]


def passable(plan: MultistagePlan, destinations: Permutation) -> bool:
    """Whether all paths of a permutation fit into the network at the same time.

    Raises
    ------
    ValueError
        If it is not a permutation of the plan's terminals.
    """
    check_permutation(destinations, plan.ports)
    pairs = [(x, to) for x, to in enumerate(destinations) if to is not None]
    return all(
        len({before[x] + after[to] for x, to in pairs}) == len(pairs)
        for before, after in links(plan)
    )


@functools.lru_cache(maxsize=8)
def links(plan: MultistagePlan) -> list[tuple[list[int], list[int]]]:
    """The links of all paths, as numbers `box * radix + output` in each stage that they cross.

    Returns
    -------
    list of tuple
        For each such stage, a number per source and one per destination; their sum is the link,
        because a link's label has some digits of the source and some of the destination.
    """

    def numbers(source: int, destination: int) -> list[int]:
        return [
            hop.box * plan.radices[hop.stage] + hop.output for hop in plan.path(source, destination)
        ]

    first = numbers(0, 0)
    by_source = [numbers(source, 0) for source in range(plan.ports)]
    by_destination = [
        [number - least for number, least in zip(numbers(0, destination), first)]
        for destination in range(plan.ports)
    ]
    return [
        ([row[s] for row in by_source], [row[s] for row in by_destination])
        for s in range(len(first))
    ]


def settings(plan: MultistagePlan, destinations: Permutation) -> Settings:
    """The box settings that pass a permutation.

    If some inputs send nothing, the remaining outputs of a box are connected to its remaining
    inputs in order. For a full permutation there is exactly one setting.

    Raises
    ------
    ValueError
        If it is not a permutation of the plan's terminals, or the network does not pass it; the
        message names the first conflict.
    """
    shown: list[list[dict[int, int]]] = [[{} for _ in range(count)] for count in plan.columns]
    for _, hop in _hops(plan, destinations):
        box = shown[hop.stage][hop.box]
        if hop.output in box:
            raise InvalidValue(f"Permutation does not pass: {conflicts(plan, destinations)[0]}")
        box[hop.output] = hop.input
    return [
        [_completed(box, radix) for box in column] for column, radix in zip(shown, plan.radices)
    ]


def _completed(shown: dict[int, int], radix: int) -> tuple[int, ...]:
    idle = iter([port for port in range(radix) if port not in shown.values()])
    return tuple(shown[port] if port in shown else next(idle) for port in range(radix))


def connections(plan: MultistagePlan, settings: Settings) -> list[int]:
    """The permutation that the box settings perform: the inverse of `settings`.

    Raises
    ------
    ValueError
        If the settings do not give each box one permutation of its ports.
    """
    sizes = [len(column) for column in settings]
    if sizes != list(plan.columns):
        raise InvalidValue(
            f"Settings must be for stages of {', '.join(map(str, plan.columns))} boxes, not {sizes}"
        )
    # at[line]: the input of the network whose packet is on the line with this label.
    at = list(range(plan.ports))
    for s, (radix, column) in enumerate(zip(plan.radices, settings)):
        entered = list(at)
        for label, source in enumerate(at):
            entered[plan.relabel(s, label)] = source
        for x, box in enumerate(column):
            if sorted(box) != list(range(radix)):
                raise InvalidValue(
                    f"Setting of a box must be a permutation of its {radix} ports, not {box}"
                )
            for output, input_ in enumerate(box):
                at[plan.line(s, x, output)] = entered[plan.line(s, x, input_)]
    destinations = list(at)
    for label, source in enumerate(at):
        destinations[source] = plan.relabel(len(plan.stages), label)
    return destinations


def state_name(setting: Sequence[int | None]) -> str:
    """The name of a setting in the literature: straight or exchange.

    Any other setting is written as the input that each output is connected to, with x for none.
    """
    if list(setting) == list(range(len(setting))):
        return "straight"
    if list(setting) == [1, 0]:
        return "exchange"
    return " ".join("x" if one is None else str(one) for one in setting)
