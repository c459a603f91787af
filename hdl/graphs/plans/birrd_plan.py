"""The plan of BIRRD, and its compiler: control words with which boxes add values on their way."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from operator import add
from random import Random
from typing import Any

from ...fabric.checks import check_field, check_integer, check_power_of_two, check_several
from ...fabric.errors import InvalidValue

__all__ = ["ADD_LEFT", "ADD_RIGHT", "EXCHANGE", "STRAIGHT", "BirrdPlan"]

STRAIGHT, ADD_RIGHT, ADD_LEFT, EXCHANGE = range(4)
"""The states of a box. With `ADD_LEFT` its left output is the sum, its right one the right input;
with `ADD_RIGHT` its right output is the sum, its left one the left input."""

_MOST_PORTS = 256
_TRIES = 50
"""How often the search for a word begins anew before it gives up."""
_STEPS = 20
"""Most steps of a try, as a multiple of the terminals."""

Word = list[list[int]]
"""The state of each box, stage by stage."""

_Link = tuple[int, int]
"""An output of a stage: the stage, and the line."""


def _reversed(line: int, bits: int) -> int:
    """The line whose lowest bits are reversed."""
    low = int(f"{line & (1 << bits) - 1:0{bits}b}"[::-1], 2)
    return line >> bits << bits | low


@dataclass(frozen=True)
class BirrdPlan:
    """The Butterfly Interconnect for Reduction and Reordering in Dataflows (Tong et al., 2024).

    N = 2^n lines pass 2 n stages of N / 2 boxes (three stages if N is 4): two butterflies back to
    back. Box j of a stage has lines 2 j, its left one, and 2 j + 1. Behind stage i the lowest
    min(n, i + 2, 2 n - i) bits of a line's number are reversed. A box is an interchange box whose
    broadcasts are replaced by sums (`STRAIGHT`, `EXCHANGE`, `ADD_LEFT`, `ADD_RIGHT`).

    Attributes
    ----------
    ports : int
        N, a power of two from 4 to 256.

    Raises
    ------
    TypeError, ValueError
        If it is no such number.
    """

    ports: int

    def __post_init__(self) -> None:
        check_field(self, "ports", "Ports", 4, _MOST_PORTS)
        check_power_of_two("Ports", self.ports)

    @property
    def _bits(self) -> int:
        return self.ports.bit_length() - 1

    @property
    def stages(self) -> int:
        """Stages of boxes."""
        return 2 * self._bits - (self._bits == 2)

    def after(self, stage: int, line: int) -> int:
        """Where a line that leaves a stage is in the next one, or at the outputs.

        Parameters
        ----------
        stage : int
            From 0.
        line : int
            From 0, at the stage's outputs.

        Returns
        -------
        int
            The line.
        """
        if stage == self.stages - 1:
            return line
        return _reversed(line, min(self._bits, stage + 2, 2 * self._bits - stage))

    def performed(
        self, values: Sequence[Any], word: Word, merge: Callable[[Any, Any], Any] = add
    ) -> list[Any]:
        """What stands at the outputs if these values are at the inputs.

        Parameters
        ----------
        values : Sequence
            One for each input.
        word : list[list[int]]
            The states of the boxes of each stage.
        merge : callable
            What boxes do with two values, the left one first.

        Returns
        -------
        list
            One for each output.
        """
        for stage, states in enumerate(word):
            following = [None] * self.ports
            for box, state in enumerate(states):
                left, right = values[2 * box : 2 * box + 2]
                shown = [left, right] if state != EXCHANGE else [right, left]
                if state in (ADD_LEFT, ADD_RIGHT):
                    shown[state == ADD_RIGHT] = merge(left, right)
                for port, value in enumerate(shown):
                    following[self.after(stage, 2 * box + port)] = value
            values = following
        return list(values)

    def compiled(self, destinations: Sequence[int | None]) -> Word:
        """A control word that leads each input to an output, and adds those that have the same one.

        All orders of 4 or 8 values are possible and most of 16, and many sums, such as those of
        equally many neighbours; not all (`InvalidValue`). What stands at outputs that are nobody's
        destination is undefined.

        An input chooses a line in the middle; its path before and behind it follows. Inputs of
        different sums must not share a link, and those of one sum that do in the first half must
        stay together. An input takes the cheapest line, and those in its way choose again. If that
        does not end, it begins anew; so a word that exists may not be found.

        Parameters
        ----------
        destinations : Sequence[int or None]
            For each input, an output, or None if its value is not used.

        Returns
        -------
        list[list[int]]
            The states of the boxes of each stage.

        Raises
        ------
        TypeError, ValueError
            If it is not for these ports, or no word was found.

        Examples
        --------
        >>> from multicube.hdl import BirrdPlan
        >>> plan = BirrdPlan(4)
        >>> plan.performed([1, 2, 3, 4], plan.compiled([3, 0, 3, None]))[::3]
        [2, 4]
        """
        given = check_several("Destinations", destinations, "numbers of outputs, or None")
        if len(given) != self.ports:
            raise InvalidValue(f"Destinations must be {self.ports}, not {len(given)}")
        for to in given:
            if to is not None:
                check_integer("Destination", to, 0, self.ports - 1)
        wanted = {source: to for source, to in enumerate(given) if to is not None}
        for seed in range(_TRIES):
            search = _Search(self, wanted, seed)
            if search.run():
                return self._word(search.chosen, wanted)
        raise InvalidValue("Destinations must be such that paths are apart; none were found")

    def _word(self, chosen: dict[int, int], wanted: dict[int, int]) -> Word:
        word = [[STRAIGHT] * (self.ports // 2) for _ in range(self.stages)]
        turns: dict[tuple[int, int], dict[int, int]] = {}
        for source, middle in chosen.items():
            line = source
            for stage, output in self.path(source, middle, wanted[source]):
                turns.setdefault((stage, line // 2), {})[line % 2] = output % 2
                line = self.after(stage, output)
        for (stage, box), ways in turns.items():
            if len(ways) == 2 and ways[0] == ways[1]:
                word[stage][box] = ADD_RIGHT if ways[0] else ADD_LEFT
            elif any(entry != output for entry, output in ways.items()):
                word[stage][box] = EXCHANGE
        return word

    def path(self, source: int, middle: int, destination: int) -> tuple[_Link, ...]:
        """The outputs of stages that a value passes, by a line in front of stage n.

        Parameters
        ----------
        source, middle, destination : int
            The input, the line in front of stage n, and the output.

        Returns
        -------
        tuple[tuple[int, int], ...]
            Stage and line of each output.
        """
        return self.first[source][middle] + self.second[middle][destination]

    @cached_property
    def first(self) -> list[dict[int, tuple[_Link, ...]]]:
        """For each input, the way to each line in front of stage n."""
        return [dict(self._ways(line, range(self._bits))) for line in range(self.ports)]

    @cached_property
    def second(self) -> list[dict[int, tuple[_Link, ...]]]:
        """For each line in front of stage n, the way to each output that it leads to."""
        stages = range(self._bits, self.stages)
        return [dict(self._ways(line, stages)) for line in range(self.ports)]

    def _ways(self, line: int, stages: range) -> Iterator[tuple[int, tuple[_Link, ...]]]:
        for turns in product(range(2), repeat=len(stages)):
            at, links = line, []
            for stage, turn in zip(stages, turns):
                links.append((stage, at & ~1 | turn))
                at = self.after(*links[-1])
            yield at, tuple(links)


class _Search:
    """Lines in the middle for inputs, so that no link has two owners.

    An input takes the cheapest line, and inputs in its way have to choose again. A link costs the
    more the more often it was fought over, so that those who can avoid it do.

    Attributes
    ----------
    chosen : dict[int, int]
        By input.
    """

    def __init__(self, plan: BirrdPlan, wanted: dict[int, int], seed: int) -> None:
        self.plan = plan
        self.wanted = wanted
        self.chosen: dict[int, int] = {}
        self.users: dict[_Link, dict[int, int]] = defaultdict(dict)
        self.price: dict[_Link, int] = defaultdict(lambda: 1)
        self.random = Random(seed)

    def _links(self, source: int, middle: int) -> Iterator[tuple[_Link, int]]:
        """The links of a path, and who may use them: a sum, in the first half by one middle."""
        to, ports = self.wanted[source], self.plan.ports
        for link in self.plan.first[source][middle]:
            yield link, to * ports + middle
        for link in self.plan.second[middle][to]:
            yield link, -to - 1

    def _others(self, source: int, middle: int) -> set[int]:
        """The inputs in the way of a path."""
        return {
            other
            for link, owner in self._links(source, middle)
            for other, its in self.users[link].items()
            if its != owner
        }

    def _cost(self, source: int, middle: int) -> tuple[int, float]:
        fought = sum(
            self.price[link]
            for link, owner in self._links(source, middle)
            if any(its != owner for its in self.users[link].values())
        )
        return fought, self.random.random()

    def run(self) -> bool:
        """Whether all inputs have a line now."""
        left = deque(self.wanted)
        for _ in range(_STEPS * self.plan.ports):
            if not left:
                return True
            source = left.popleft()
            ways = [
                middle
                for middle, outputs in enumerate(self.plan.second)
                if self.wanted[source] in outputs
            ]
            middle = min(ways, key=lambda each: self._cost(source, each))
            for other in self._others(source, middle):
                for link, _ in self._links(other, self.chosen.pop(other)):
                    del self.users[link][other]
                    self.price[link] += 1
                left.append(other)
            self.chosen[source] = middle
            for link, owner in self._links(source, middle):
                self.users[link][source] = owner
        return not left
