"""Boxes with registers between their arbiters, their crossbar and their links."""

from ..fabric.checks import MOST_RADIX, check_integer
from ..graphs.tags import Routing
from ..links.packet import Packet
from ..switch.entry import InputQueue
from ..switch.pipelined import Pipelined
from ..switch.rules import check_room
from .box_parameters import BoxParameters

__all__ = ["PipelinedFlitSwitch", "PipelinedSwitch"]


class PipelinedSwitch(BoxParameters, Pipelined):
    """An input-queued switch for a faster clock, with one or two cycles more: `Pipelined`.

    Parameters, members and errors are those of `InputQueuedSwitch`, without `refill`, bundles and
    broadcasts; `depth` is from 2 to 64, and `pipeline` 1 or 2. At an output there is room for
    another packet, or for three more with pipeline=2.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        pipeline: int,
        routing: Routing = "destination",
        outputs: int | None = None,
    ) -> None:
        shape, route = self._set_up(packet, radix, routing, outputs)
        self.depth = depth
        super().__init__(packet, shape, route=route, entry=InputQueue(depth), pipeline=pipeline)


class PipelinedFlitSwitch(BoxParameters, Pipelined):
    """A wormhole or cut-through switch for a faster clock: `Pipelined`, without credits.

    An unhindered header takes `pipeline` + 2 cycles, one less if the output that it takes already
    belongs to its input. The flits behind it follow, one per cycle. With a depth of 2 or more, or
    of 3 with pipeline=2, every input and every output carries one flit per cycle.

    All outputs come from registers. `o[*].ready` leads only to the arbiters of the next cycle, to
    the queues' read pointers and to the enables of the outputs' registers.

    Parameters
    ----------
    packet : Packet
        With flits, without a broadcast mask. The tag's top digit names the output, as in
        `WormholeSwitch`.
    radix : int
        Number of inputs, at least 2, and of outputs.
    depth : int
        Flits that fit into the queue of each input, at least 2.
    pipeline : int
        1: an output's input is found in the cycle before its header leaves, and a flit crosses the
        switch in the cycle after it has left its queue. 2: the exits of headers, too, are found in
        a cycle of their own.
    routing : "destination", "xor" or "difference"
        As in `WormholeSwitch`.
    outputs : int, optional
        Number of outputs, if there are not as many as inputs.
    room : int
        Free places that an input needs to take a header: 1 for wormhole switching; the flits of the
        longest packet for cut-through, so that there is room for all of it.

    Members
    -------
    i : In(stream.Signature(packet)).array(radix)
    o : Out(stream.Signature(packet)).array(outputs)

    Raises
    ------
    ValueError
        If the packet's tag is narrower than a digit.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        pipeline: int,
        routing: Routing = "destination",
        outputs: int | None = None,
        room: int = 1,
    ) -> None:
        shape, route = self._set_up(packet, radix, routing, outputs, flits=True, most=MOST_RADIX)
        check_integer(f"Depth with pipeline={pipeline}", depth, 2)
        self.room = check_integer("Room", room, 1)
        check_room(depth, room, "with cut-through switching")
        self.depth = depth
        super().__init__(
            packet,
            shape,
            route=route,
            entry=InputQueue(depth, room=room),
            pipeline=pipeline,
            credits=False,
        )
