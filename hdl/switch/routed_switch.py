"""What switches with routes have in common: their ports, their routing, and the selection."""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from .route import RouteLogic
from .selection import SELECTIONS, Selection, Selector
from .shape import RouterShape

__all__ = ["RoutedSwitch"]


class RoutedSwitch(wiring.Component):
    """A switch whose inputs and outputs are those of a `RouterShape`.

    Which outputs a header may take is computed by `logic`, or looked up in a table outside, by the
    port `tag` (combinationally, in the same cycle).

    Parameters
    ----------
    packet : Packet
    shape : RouterShape
    logic : RouteLogic or None
        None if outputs are looked up outside.
    selection : Selection
        Which of several outputs a header waits for; without a choice it changes nothing.
    weights : int
        Without logic: bits of the weight of an output, for the random selection.
    random : bool
        Whether it draws random numbers for something else than the selection.
    members : dict
        Further members.

    Members
    -------
    address : In(logic.address)
        Position of the node. Constant. Only if the logic needs it.
    seed : In(32)
        If it draws random numbers: constant, not zero.
    i : In(stream.Signature(packet)).array(inputs)
    o : Out(stream.Signature(packet)).array(outputs)
    tag : Out(width).array(inputs)
        Without logic: the tags of the arriving headers.
    exits : In(outputs * weights).array(inputs)
        Without logic: the outputs that each of these may take, one bit each; or their weights.

    Raises
    ------
    ValueError
        If the selection is unknown.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        logic: RouteLogic | None,
        selection: Selection,
        weights: int,
        random: bool = False,
        members: Mapping[str, Any],
    ) -> None:
        if selection not in SELECTIONS:
            raise InvalidValue(
                f"Selection must be one of {', '.join(SELECTIONS)}, not {selection!r}"
            )
        self.packet = packet
        self.shape = shape
        self.logic = logic
        self.selection = selection if shape.choice else "first-free"
        self.weights = weights
        ports = stream.Signature(packet)
        inputs, outputs = len(shape.inputs), len(shape.outputs)
        own = {"i": In(ports).array(inputs), "o": Out(ports).array(outputs)}
        if logic is None:
            own["tag"] = Out(packet.members["tag"]).array(inputs)
            own["exits"] = In(outputs * weights).array(inputs)
        elif logic.address:
            own["address"] = In(logic.address)
        if random or self.selection != "first-free":
            own["seed"] = In(32)
        super().__init__({**own, **members})

    def _exits(self, i: int) -> list[int]:
        """The outputs that worms of an input can leave by."""
        return [j for j, output in enumerate(self.shape.outputs) if i in output.inputs]

    def _permitted(self, m: Module, i: int, tag: Value) -> Value:
        """The outputs that a header with this tag may take from input i, one bit each (or their
        weights)."""
        if self.logic is None:
            m.d.comb += self.tag[i].eq(tag)
            return self.exits[i]
        entry = self.shape.inputs[i]
        here = self.address if self.logic.address else Const(0, 0)
        came = None if entry.is_terminal else entry.end
        found = self.logic.exits(m, f"{i}", came, here, tag)
        return Cat(found.get(output.end, Const(0)) for output in self.shape.outputs)

    def _selector(self, m: Module) -> Selector | None:
        """The selection function, if headers are sent to an output when they arrive."""
        if self.selection == "first-free":
            return None
        m.submodules.selector = selector = Selector(
            self.shape, selection=self.selection, weights=self.weights
        )
        m.d.comb += selector.seed.eq(self.seed)
        return selector
