"""Which class of messages uses the wires of a link: the first by priority, or by weights."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..fabric.numerals import is_natural
from .round_robin import RoundRobin, lowest

__all__ = ["CLASS_ARBITERS", "MOST_WEIGHT", "ClassArbiter", "parse_weights"]

CLASS_ARBITERS = {
    "priority": "between classes, the lowest number first: others may wait forever; in turn else",
    "weighted": "between classes, by `weights`; in turn else",
}
"""The arbiters between classes, and whom they let go first."""

MOST_WEIGHT = 64


def parse_weights(text: str, classes: int) -> tuple[int, ...]:
    """The weights of classes from a text.

    >>> parse_weights("3:1", 2)
    (3, 1)

    Raises
    ------
    ValueError
        If it is not one number for each class, from 1 to 64, with colons between.
    """
    words = text.split(":")
    if not all(map(is_natural, words)) or len(words) != classes:
        raise InvalidValue(f"Weights must be {classes} numbers, as in 3:1, not {text!r}")
    return tuple(check_integer("Weight of a class", int(word), 1, MOST_WEIGHT) for word in words)


@dataclass(frozen=True)
class ClassArbiter:
    """Chooses among the channels of a link whose lowest digits are classes.

    Without weights a class waits while a lower one has something to send, for ever if that always
    has. With weights, of w_k of W flits that all classes are waiting to send, w_k are of class k: a
    class has w_k turns, the lowest class with turns left goes first, and all get new ones when none
    that waits has any. So class k waits for at most `longest_wait(k)` flits of others. No cycle is
    lost in either case. The channels of one class go in turn (`RoundRobin`).

    Attributes
    ----------
    classes : int
    weights : tuple[int, ...]
        Empty for priority.
    """

    classes: int
    weights: tuple[int, ...] = ()

    def longest_wait(self, own: int) -> int | None:
        """Flits of other classes that go before one of a class that waits; None for no bound."""
        if not self.weights:
            return 0 if own == 0 else None
        return sum(self.weights) - self.weights[own] + sum(self.weights[:own])

    def grant(self, m: Module, name: str, request: Sequence[Value]) -> list[Value]:
        """The one of the requests that is granted, of channels c * classes + k; all are taken.

        What is granted depends combinationally on the requests.

        Parameters
        ----------
        m : Module
            Where the logic is added.
        name : str
            Of its signals and submodules.
        request : Sequence[Value]
        """
        asks = Signal(self.classes, name=f"asks_{name}")
        own = [request[k :: self.classes] for k in range(self.classes)]
        m.d.comb += asks.eq(Cat(Cat(each).any() for each in own))
        first = self._weighed(m, name, asks) if self.weights else lowest(asks)
        chosen = Signal(self.classes, name=f"chosen_{name}")
        m.d.comb += chosen.eq(first)
        granted: list[Value] = list(request)
        for k, channels in enumerate(own):
            turns: Value = Cat(channels)
            if len(channels) > 1:
                m.submodules[f"{name}_{k}"] = arbiter = RoundRobin(len(channels))
                m.d.comb += [arbiter.request.eq(turns), arbiter.taken.eq(chosen[k])]
                turns = arbiter.granted
            for c in range(len(channels)):
                granted[c * self.classes + k] = turns[c] & chosen[k]
        return granted

    def _weighed(self, m: Module, name: str, asks: Signal) -> Value:
        """The class that goes first by weights, one bit each."""
        left = [
            Signal(range(weight + 1), init=weight, name=f"left_{name}_{k}")
            for k, weight in enumerate(self.weights)
        ]
        able, renewed = Signal.like(asks, name=f"able_{name}"), Signal(name=f"renewed_{name}")
        m.d.comb += [
            able.eq(asks & Cat(each != 0 for each in left)),
            renewed.eq(asks.any() & ~able.any()),
        ]
        first = lowest(Mux(able.any(), able, asks))
        for k, weight in enumerate(self.weights):
            m.d.sync += left[k].eq(Mux(renewed, weight, left[k]) - first[k])
        return first
