"""What switches with routes have in common: their ports, their routing, and the selection."""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_word
from ..fabric.errors import InvalidValue
from ..graphs.graph import End
from ..links.packet import Packet
from ..primitives.request_queue import RequestQueue
from ..primitives.routing_tags import forwarded
from .broadcast import CopyTracker
from .route import RouteLogic
from .selection import SELECTIONS, Selection, Selector
from .shape import RouterShape

__all__ = ["RoutedSwitch"]


class RoutedSwitch(wiring.Component):
    """A switch whose inputs and outputs are those of a `RouterShape`.

    Which outputs a header may take is computed by `logic`, or looked up in a table outside, by the
    port `tag` (combinationally, in the same cycle).

    A packet with a broadcast mask is for all outputs that the logic finds. Each takes its copy when
    it can, and the packet leaves its input with the last one (`CopyTracker`).

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
    o : Out(stream.Signature(packet)).array(outputs * shape.lanes)
    tag : Out(width).array(inputs)
        Without logic: the tags of the arriving headers.
    exits : In(outputs * weights).array(inputs)
        Without logic: the outputs that each of these may take, one bit each; or their weights.

    Raises
    ------
    ValueError
        If the selection is unknown, or packets have masks that the logic does not read.
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
        check_word("Selection", selection, SELECTIONS)
        if packet.broadcast and not (logic is not None and logic.masks):
            raise InvalidValue("Packet must have no broadcast mask, which its routes do not read")
        self.packet = packet
        self.shape = shape
        self.logic = logic
        self.selection = selection if shape.choice else "first-free"
        self.weights = weights
        ports = stream.Signature(packet)
        inputs, outputs = len(shape.inputs), len(shape.outputs)
        own = {"i": In(ports).array(inputs), "o": Out(ports).array(outputs * shape.lanes)}
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
        here = self.address if self.logic.address else Const(0, 0)
        return self._by_output(self.logic.exits(m, f"{i}", self._came(i), here, tag))

    def _found(self, m: Module, i: int, tag: Value) -> Value:
        """The exits of a header with a tag, one bit for each that its input leads to."""
        route = Signal(len(self.shape.outputs), name=f"route_{i}")
        m.d.comb += route.eq(self._permitted(m, i, tag))
        return Cat(route[j] for j in self._exits(i))

    def _request_queue(
        self, m: Module, i: int, depth: int, *, enabled: bool = False
    ) -> RequestQueue:
        """The queue of an input whose outputs are read a cycle ahead."""
        outputs = len(self._exits(i))
        queue = RequestQueue(self.packet, outputs=outputs, depth=depth, key="tag", enabled=enabled)
        m.submodules[f"queue_{i}"] = queue
        wiring.connect(m, wiring.flipped(self.i[i]), queue.i)
        m.d.comb += queue.wanted.eq(self._found(m, i, queue.coming))
        return queue

    def _requested(self, m: Module, i: int, header: data.View) -> Value:
        """As `_permitted`; the outputs that each get a copy, if packets have masks."""
        if self.logic is not None and self.packet.broadcast:
            return self._by_output(self.logic.copies(self._came(i), header))
        return self._permitted(m, i, header.tag)

    def _came(self, i: int) -> End | None:
        entry = self.shape.inputs[i]
        return None if entry.is_terminal else entry.end

    def _by_output(self, found: Mapping[End, Value]) -> Value:
        return Cat(found.get(output.end, Const(0)) for output in self.shape.outputs)

    def _copies(
        self, m: Module, i: int, source: stream.Interface, requested: Value, taken: Value
    ) -> Value:
        """The outputs that the packet with a mask at input i is to be offered to, one bit each.

        It leaves `source` with its last copy. `taken` says, one bit each, which outputs take what
        they are offered in this cycle.
        """
        m.submodules[f"copies_{i}"] = copies = CopyTracker(len(self.shape.outputs))
        m.d.comb += [
            copies.valid.eq(source.valid),
            copies.requested.eq(requested),
            copies.taken.eq(taken),
            source.ready.eq(copies.done),
        ]
        return copies.left

    def _forwarded(self, word: data.View) -> Value:
        """A word as it leaves: its tag is rotated, if the next switch finds its own digit so."""
        rotates = self.logic.rotates if self.logic is not None else 0
        return forwarded(word, rotates) if rotates else word.as_value()

    def _selector(self, m: Module) -> Selector | None:
        """The selection function, if headers are sent to an output when they arrive."""
        if self.selection == "first-free":
            return None
        m.submodules.selector = selector = Selector(
            self.shape, selection=self.selection, weights=self.weights
        )
        m.d.comb += selector.seed.eq(self.seed)
        return selector
