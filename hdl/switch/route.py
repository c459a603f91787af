"""Where a header may go: the gates of a routing relation, or a digit of the tag."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from amaranth.hdl import Module, Value
from amaranth.lib import data

from ..graphs.graph import End
from ..graphs.tags import Routing
from ..primitives.routing_tags import output_port, requested_outputs

__all__ = ["ClassedRoute", "DigitRoute", "RouteLogic"]


class RouteLogic(Protocol):
    """The gates of a routing relation, which give the same outputs as `Relation.route`.

    It must be hashable: routers with equal logic share a module.

    Attributes
    ----------
    address : int
        Width in bits of a node's position, which it needs; 0 if it needs none.
    rotates : int
        Bits by which the tag is rotated on the way out, so that the next switch finds its own on
        top.
    quick : bool
        Whether its gates are so few that they may be behind the queue: then no outputs are stored.
    masks : bool
        Whether it reads broadcast masks.
    """

    @property
    def address(self) -> int:
        """Width in bits of a node's position."""

    @property
    def rotates(self) -> int:
        """Bits by which the tag is rotated."""
        return 0

    @property
    def quick(self) -> bool:
        """Whether its gates are few."""
        return False

    @property
    def masks(self) -> bool:
        """Whether it reads broadcast masks."""
        return False

    def position(self, node: int) -> int:
        """The position of a node."""

    def exits(
        self, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> Mapping[End, Value]:
        """Whether a header may take an output, by the output's port and channel.

        Those left out are never taken. A terminal has port -1, -2, ...

        Parameters
        ----------
        m : Module
            Where signals may be added.
        name : str
            A suffix for their names.
        came : End or None
            Port and channel of the input; None for a terminal.
        here : Value
            The position of this node.
        tag : Value
            The tag of the header.
        """

    def copies(self, came: End | None, header: data.View) -> Mapping[End, Value]:
        """The outputs that a packet with a mask is for, in the same form: each gets a copy."""
        return {}


@dataclass(frozen=True)
class DigitRoute(RouteLogic):
    """The top digit of the tag names the output, as in the boxes of multistage networks.

    The digit of the next box is rotated to the top on the way out. A digit that names no output
    (radix 3, for example, has two-bit digits) is never taken.

    Attributes
    ----------
    outputs : int
    routing : "destination", "xor" or "difference"
        Whether the digit is the number of the output; that number exclusive-ored with the number of
        the input; or that number minus the number of the input, modulo the number of outputs.
    channels : int
        Virtual channels of an output, any of which a header may take if its input leads there.
    spare : int
        Bits of the tag behind the digits of all boxes, which the last one rotates back, too.
    """

    outputs: int
    routing: Routing = "destination"
    channels: int = 1
    spare: int = 0

    address = 0
    quick = True
    masks = True

    @property
    def rotates(self) -> int:
        return (self.outputs - 1).bit_length() + self.spare

    def position(self, node: int) -> int:
        """Not needed: boxes know no position."""
        return 0

    def exits(
        self, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> Mapping[End, Value]:
        """As in `RouteLogic`."""
        assert came is not None
        digit = output_port(tag, self.outputs, self.routing, came[0])
        named = [digit == j for j in range(self.outputs)]
        channels = range(self.channels)
        ends = {(j, c): bit for j, bit in enumerate(named) for c in channels}
        return ends | {(-1 - j, c): bit for j, bit in enumerate(named) for c in channels}

    def copies(self, came: End | None, header: data.View) -> Mapping[End, Value]:
        """As in `RouteLogic`."""
        assert came is not None
        requested = requested_outputs(header, self.outputs, self.routing, came[0])
        return {(j, 0): requested[j] for j in range(self.outputs)}


@dataclass(frozen=True)
class ClassedRoute(RouteLogic):
    """The gates of `Classed`: those of one class, for each. The input determines the class.

    Attributes
    ----------
    base : RouteLogic
    classes : int
    bits : int
        Width of the class, which is the lowest digit of the tag.
    """

    base: RouteLogic
    classes: int
    bits: int

    @property
    def address(self) -> int:
        return self.base.address

    @property
    def quick(self) -> bool:
        return self.base.quick

    def position(self, node: int) -> int:
        return self.base.position(node)

    def exits(
        self, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> Mapping[End, Value]:
        """As in `RouteLogic`; of all classes, since an input leads to outputs of its own only."""
        before = None if came is None else (came[0], came[1] // self.classes)
        found = self.base.exits(m, name, before, here, tag[self.bits :])
        return {
            self._outer(end, own): bit for end, bit in found.items() for own in range(self.classes)
        }

    def _outer(self, end: End, own: int) -> End:
        port, number = end
        if port >= 0:
            return port, number * self.classes + own
        return -1 - ((-1 - port) * self.classes + own), number
