"""The selection function of a router: which of the outputs that a header may take it waits for."""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..primitives.random_bits import RandomBits
from .shape import RouterShape

__all__ = ["SELECTIONS", "Selection", "Selector"]

Selection = Literal["first-free", "random", "least-count", "shortest-queue"]
SELECTIONS = {
    "first-free": "the first one that is free when it can leave",
    "random": "when it arrives, any: each shortest path with the same probability",
    "least-count": "when it arrives, that of the link that fewest packets have been sent to",
    "shortest-queue": "when it arrives, that of the link that fewest packets wait for",
}
"""The selection functions, and what a header takes of several outputs."""

COUNT_BITS = 32
"""Width of the counters of packets; they wrap around."""

_DRAWN_BITS = 24
"""Random bits of a choice: probabilities are exact to 2^-24."""


class Selector(wiring.Component):
    """Selects an output for each arriving header, of those that it may take. Combinational.

    If some of them are no escape channels, one of these is selected, and all escape channels stay
    permitted: a header must always be able to wait for them. Otherwise one of all is selected. So
    headers have fewer choices than without it, and no further channels wait for each other.

    With "least-count" those remain whose link has been selected least often, by packets of all
    inputs. With "shortest-queue" those remain whose link fewest packets wait for: packets in the
    queues of this router that have been sent to it, and one more if a packet holds an output of the
    link. Of those that remain, one is selected at random: an output of weight w with probability w
    by the sum of all weights.

    Parameters
    ----------
    shape : RouterShape
    selection : Selection
        Not "first-free".
    weights : int
        Bits of a weight.

    Members
    -------
    seed : In(32)
        Constant, not zero.
    offered : In(outputs * weights).array(inputs)
        The weights of all outputs for each arriving flit; 0 of those that it must not take.
    exits : Out(outputs).array(inputs)
        The outputs that it may take now, one bit each.
    accepted : In(1).array(inputs)
        Whether it is a header, and enters its queue.
    left : In(outputs).array(inputs)
        The `exits` of a header that leaves its queue; 0 if none does.
    held : In(outputs)
        The outputs that packets hold.
    """

    def __init__(self, shape: RouterShape, *, selection: Selection, weights: int = 1) -> None:
        self.shape = shape
        self.selection = selection
        self.weights = weights
        inputs, outputs = len(shape.inputs), len(shape.outputs)
        super().__init__(
            {
                "seed": In(32),
                "offered": In(outputs * weights).array(inputs),
                "exits": Out(outputs).array(inputs),
                "accepted": In(1).array(inputs),
                "left": In(outputs).array(inputs),
                "held": In(outputs),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outputs = self.shape.outputs
        links = [j for j, output in enumerate(outputs) if not output.is_terminal]
        adaptive = [j for j in links if not outputs[j].escape]
        escapes = [j for j in links if outputs[j].escape]
        less = self._less(m)
        for i, offered in enumerate(self.offered):
            weights = [offered.word_select(j, self.weights) for j in range(len(outputs))]
            own = [j for j in links if i in outputs[j].inputs]
            m.submodules[f"random_{i}"] = random = RandomBits(_DRAWN_BITS)
            m.d.comb += random.seed.eq(self.seed[::-1].rotate_left(i % 32))
            choice = Signal(name=f"adaptive_{i}")
            m.d.comb += choice.eq(Cat(weights[j].any() for j in own if j in adaptive).any())
            candidates = {
                j: weights[j] if j in adaptive else weights[j] & (~choice).replicate(self.weights)
                for j in own
            }
            taken = self._taken(m, i, candidates, less, random.value)
            m.d.comb += [
                self.exits[i][j].eq(
                    taken[j] | (choice & weights[j].any() if j in escapes else 0)
                    if j in taken
                    else weights[j].any()
                )
                for j in range(len(outputs))
            ]
        return m

    def _taken(
        self,
        m: Module,
        i: int,
        weights: dict[int, Value],
        less: dict[tuple[int, int], Value],
        draw: Value,
    ) -> dict[int, Value]:
        """Which of the candidates an input's header takes: those of weight 0 are none."""
        given = {j: Signal(name=f"given_{i}_{j}") for j in weights}
        m.d.comb += [given[j].eq(weight.any()) for j, weight in weights.items()]
        sums: list[Value] = [Const(0)]
        for j, weight in weights.items():
            beaten = Cat(
                given[k] & less[self._link(k), self._link(j)]
                for k in weights
                if (self._link(k), self._link(j)) in less
            ).any()
            width = self.weights + len(weights).bit_length()
            sums.append(Signal(width, name=f"sum_{i}_{j}"))
            m.d.comb += sums[-1].eq(sums[-2] + (weight & (~beaten).replicate(self.weights)))
        number = Signal.like(sums[-1], name=f"number_{i}")
        m.d.comb += number.eq((draw * sums[-1]) >> _DRAWN_BITS)
        return {
            j: (number >= before) & (number < after)
            for j, before, after in zip(weights, sums, sums[1:])
        }

    def _link(self, j: int) -> int:
        """The number of an output's link."""
        return next(number for number, link in enumerate(self.shape.links) if j in link)

    def _less(self, m: Module) -> dict[tuple[int, int], Value]:
        """For each two links, whether the first is to be preferred."""
        if self.selection == "random":
            return {}
        outputs = self.shape.outputs
        links = [
            number
            for number, link in enumerate(self.shape.links)
            if not outputs[link[0]].is_terminal
        ]
        comes, goes = [], []
        for i, exits in enumerate(self.exits):
            comes.append([bit & self.accepted[i] for bit in self._sent_to(exits, links)])
            goes.append(self._sent_to(self.left[i], links))
        keys: dict[int, Value] = {}
        for place, link in enumerate(links):
            count = Signal(COUNT_BITS, name=f"count_{link}")
            entering = sum((own[place] for own in comes), start=Const(0))
            if self.selection == "least-count":
                m.d.sync += count.eq(count + entering)
                keys[link] = count
            else:
                leaving = sum((own[place] for own in goes), start=Const(0))
                m.d.sync += count.eq(count + entering - leaving)
                keys[link] = count + Cat(self.held[j] for j in self.shape.links[link]).any()
        less: dict[tuple[int, int], Value] = {}
        for one, other in combinations(links, 2):
            for pair in ((one, other), (other, one)):
                less[pair] = Signal(name=f"less_{pair[0]}_{pair[1]}")
                m.d.comb += less[pair].eq(keys[pair[0]] < keys[pair[1]])
        return less

    def _sent_to(self, exits: Value, links: Sequence[int]) -> list[Value]:
        """The link that a header with these exits is sent to, one bit for each."""
        outputs = self.shape.outputs
        adaptive = Cat(exits[j] for j, output in enumerate(outputs) if not output.escape).any()
        return [
            Cat(
                exits[j] & (~adaptive if outputs[j].escape else 1) for j in self.shape.links[link]
            ).any()
            for link in links
        ]
