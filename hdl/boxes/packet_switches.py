"""Buffered packet switches: k x k boxes for single-flit packets (Siegel et al., IV-A).

With a broadcast mask (III-B, III-C), a packet may be for several outputs. Each output takes its
copy when it has room, independently of the others, and in turn with all other packets that request
it. The packet leaves its input when the last output has its copy. No copy waits for another one, so
a broadcast can no more deadlock or starve than the same number of one-to-one packets.

In a dilated network (VI-A) each link is a bundle of lanes to the same place. A packet takes any
free lane of the bundle that it wants, so packets of a flow may overtake each other.
"""

from ..graphs.tags import Routing
from ..links.packet import Packet
from ..switch.entry import InputQueue, OutputQueue
from ..switch.output_queued import OutputQueued
from ..switch.switch import Switch
from .box_parameters import BoxParameters

__all__ = ["InputQueuedSwitch", "OutputQueuedSwitch"]


class OutputQueuedSwitch(BoxParameters, OutputQueued):
    """A switch with a queue at each output that accepts arrivals from all inputs in one cycle.

    This is the switch of the paper's analysis (VI-D). A packet leaves one cycle after it arrived,
    if no other is before it; every output carries one packet per cycle. `o` comes from registers
    and memories. `i[*].ready` depends combinationally on `i[*]` (packets compete in turn for the
    last free slots of a queue; see `ArrivalQueue`) and, with `refill`, on `o[*].ready`.

    With `dilation_out` above 1 there is a `LaneQueue` for each output: its free lanes show the next
    packets, `i[*].ready` does not depend on `o[*].ready`, and each lane has room for one packet
    more.

    Parameters
    ----------
    packet : Packet
        The tag's top digit names the output. A digit that names no output (radix 3, for example,
        has two-bit digits) is never taken, and so blocks its input: tags must come from a
        `TagScheme`. With a mask, the tag names all outputs for which its digit would differ only
        where the mask's top bits are 1.
    radix : int
        Number of inputs, at least 2, and of outputs.
    depth : int
        Packets that fit into each queue, at least 1.
    routing : "destination", "xor" or "difference"
        Whether the digit is the number of the output; that number exclusive-ored with the number of
        the input (which needs a radix that is a power of two); or that number minus the number of
        the input, modulo the radix.
    refill : bool, optional
        Whether a slot freed in a cycle can be filled in the same cycle. Only depth 1 needs this for
        full throughput, and there it is the default; otherwise the default is the shorter path.
    dilation_in, dilation_out : int
        Links in the bundle of each input and of each output, at least 1; link l of bundle b is
        number b * dilation + l. At most 64 input links are possible.
    outputs : int, optional
        Number of outputs, at least 2, if there are not as many as inputs. Tags must then be
        destination tags.
    separate : bool, optional
        Whether each input has memories of its own in each queue, as in `ArrivalQueue`. Only without
        `dilation_out`.

    Members
    -------
    i : In(stream.Signature(packet)).array(radix * dilation_in)
    o : Out(stream.Signature(packet)).array(outputs * dilation_out)

    Raises
    ------
    ValueError
        If the packet's tag is narrower than a digit.

    Examples
    --------
    >>> from multicube.hdl import OutputQueuedSwitch
    >>> from multicube.hdl.links.packet import Packet
    >>> box = OutputQueuedSwitch(Packet(3, 16), radix=2, depth=4)
    >>> len(box.i), len(box.o)
    (2, 2)
    """

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        routing: Routing = "destination",
        refill: bool | None = None,
        dilation_in: int = 1,
        dilation_out: int = 1,
        outputs: int | None = None,
        separate: bool | None = None,
    ) -> None:
        dilation = dilation_in, dilation_out
        shape, route = self._set_up(packet, radix, routing, outputs, dilation=dilation)
        self.separate = separate
        entry = OutputQueue(*self._set_queue(depth, refill), separate)
        super().__init__(packet, shape, route=route, entry=entry)


class InputQueuedSwitch(BoxParameters, Switch):
    """A switch with a queue at each input link; only the packets at the heads compete.

    A packet leaves one cycle after it arrived, if no other is before it. Each output takes packets
    from the inputs in turn (`RoundRobin`) and holds a choice until the packet is taken; a packet
    that waits blocks those behind it. `o[*].valid` and `.payload` depend only on registers and
    memories, and so does `i[*].ready`, except with `refill`, when it depends on `o[*].ready`.

    The lanes of a bundle choose one after the other, each in turn among the packets that no other
    lane has: the first lane that shows no packet gets one first.

    Parameters
    ----------
    packet : Packet
        The tag's top digit names the output. A digit that names no output is never taken, and so
        blocks its input.
    radix : int
        Number of inputs, at least 2, and of outputs.
    depth : int
        Packets that fit into each queue, at least 1.
    routing : "destination", "xor" or "difference"
        Whether the digit is the number of the output; that number exclusive-ored with the number of
        the input; or that number minus the number of the input, modulo the radix.
    refill : bool, optional
        Whether a slot freed in a cycle can be filled in the same cycle; by default only with depth
        1.
    dilation_in, dilation_out : int
        Links in the bundle of each input and of each output, at least 1.
    outputs : int, optional
        Number of outputs, at least 2, if there are not as many as inputs.

    Raises
    ------
    ValueError
        If the packet's tag is narrower than a digit.

    Examples
    --------
    >>> from multicube.hdl import InputQueuedSwitch
    >>> from multicube.hdl.links.packet import Packet
    >>> box = InputQueuedSwitch(Packet(3, 16), radix=2, depth=4)
    >>> len(box.i), len(box.o)
    (2, 2)
    """

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        routing: Routing = "destination",
        refill: bool | None = None,
        dilation_in: int = 1,
        dilation_out: int = 1,
        outputs: int | None = None,
    ) -> None:
        dilation = dilation_in, dilation_out
        shape, route = self._set_up(packet, radix, routing, outputs, dilation=dilation)
        entry = InputQueue(*self._set_queue(depth, refill))
        super().__init__(packet, shape, route=route, entry=entry, single=True)
