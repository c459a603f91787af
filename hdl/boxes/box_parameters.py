"""What the constructors of boxes share: their parameters, and the checks of these."""

from ..fabric.checks import MOST_RADIX, check_flag, check_integer, check_radix
from ..fabric.errors import InvalidValue
from ..graphs.tags import Routing, check_routing
from ..links.packet import Packet, check_tag
from ..primitives.routing_tags import check_outputs
from ..switch.route import DigitRoute
from ..switch.shape import RouterShape

__all__ = ["BoxParameters"]


class BoxParameters:
    """Parameters of boxes whose tags name an output, as attributes.

    Attributes
    ----------
    radix, outputs : int
    routing : Routing
    dilation_in, dilation_out : int
    digit_bits : int
        Width of the digit of the tag that the box uses.
    """

    def _set_up(
        self,
        packet: Packet,
        radix: int,
        routing: Routing,
        outputs: int | None = None,
        *,
        dilation: tuple[int, int] = (1, 1),
        flits: bool = False,
        most: int = 64,
        title: str = "a switch",
    ) -> tuple[RouterShape, DigitRoute]:
        """Check the parameters, and set the attributes; return shape and route.

        `dilation` are the links in the bundle of each input, and of each output. `flits` says
        whether packets must have flits, `most` how many inputs are possible, and
        `title` how messages call the box.

        Raises
        ------
        TypeError, ValueError
            If a number or the tag scheme is not possible, packets have no flits, or a tag is
            narrower than a digit.
        """
        self.radix = check_radix(radix)
        self.outputs = check_outputs(self.radix, outputs, routing)
        self.dilation_in, self.dilation_out = (check_integer("Dilation", n, 1) for n in dilation)
        check_integer(f"Input links of {title}", self.radix * self.dilation_in, 2, most)
        links = self.outputs * self.dilation_out
        check_integer(f"Output links of {title}", links, 2, MOST_RADIX)
        check_routing(routing, self.radix)
        if flits and not packet.flits:
            raise InvalidValue("Packet must have flits")
        check_tag(packet, self.outputs)
        self.routing = routing
        route = DigitRoute(self.outputs, routing)
        self.digit_bits = route.rotates
        shape = RouterShape.box(self.radix, self.outputs, self.dilation_in, self.dilation_out)
        return shape, route

    def _set_queue(self, depth: int, refill: bool | None) -> tuple[int, bool]:
        """The depth of a queue of packets, and whether it refills: by default at depth 1."""
        self.depth = check_integer("Depth", depth, 1)
        self.refill = self.depth == 1 if refill is None else refill
        check_flag("Refill", self.refill)
        return self.depth, self.refill
