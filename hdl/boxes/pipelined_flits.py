"""A switch for packets of several flits with registers between its arbiters and its crossbar."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..graphs.tags import Routing
from ..links.packet import Packet
from ..primitives.places import Places
from ..primitives.routing_tags import forwarded, output_port
from ..routers.pipelined_router import PipelinedRouter
from ..switch.entry import inside_packet
from ..switch.rules import check_room
from ..switch.shape import InputChannel, OutputChannel, RouterShape
from .wormhole import check_flits

__all__ = ["PipelinedFlitSwitch"]


class PipelinedFlitSwitch(wiring.Component):
    """A wormhole or cut-through switch for a faster clock: a `PipelinedRouter` without links.

    An unhindered header takes `pipeline` + 2 cycles, one less if the output that it takes already
    belongs to its input. The flits behind it follow, one per cycle. With a depth of 3 or more every
    input and every output carries one flit per cycle.

    All outputs but the payload's multiplexers come from registers. `o[*].ready` leads only to the
    arbiters of the next cycle and to the queues' read pointers.

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
    TypeError, ValueError
        If a parameter is not as above, or the packet's tag is narrower than a digit.
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
        self.digit_bits = check_flits(packet, radix, routing, outputs)
        self.pipeline = check_integer("Pipeline", pipeline, 1, 2)
        check_integer(f"Depth with pipeline={pipeline}", depth, 2)
        self.room = check_integer("Room", room, 1)
        check_room(depth, room, "with cut-through switching")
        if packet.broadcast:
            raise InvalidValue(f"Packets must have no broadcast mask with pipeline={pipeline}")
        self.packet = packet
        self.radix = radix
        self.outputs = radix if outputs is None else outputs
        self.depth = depth
        self.routing = routing
        ports = stream.Signature(packet)
        super().__init__({"i": In(ports).array(radix), "o": Out(ports).array(self.outputs)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        everything = tuple(range(self.radix))
        # Inputs with credits, since these are counted here.
        shape = RouterShape(
            tuple(InputChannel((i, 0), credits=True) for i in everything),
            tuple(OutputChannel((-1 - j, 0), everything) for j in range(self.outputs)),
        )
        m.submodules.router = router = PipelinedRouter(
            self.packet, shape, depth=self.depth, pipeline=self.pipeline
        )
        for i, (source, entry) in enumerate(zip(self.i, router.i)):
            taken = source.valid & source.ready
            inside = inside_packet(m, f"{i}", taken, source.payload.last)
            places = Places(m, f"free_{i}", router.places, router.freed[i], taken)
            wanted = output_port(router.tag[i], self.outputs, self.routing, i)
            m.d.comb += [
                source.ready.eq(Mux(inside, places.free(), places.free(self.room))),
                entry.valid.eq(taken),
                entry.payload.eq(source.payload),
                router.exits[i].eq(Cat(wanted == j for j in range(self.outputs))),
            ]
        for output, exit_ in zip(self.o, router.o):
            m.d.comb += [
                output.valid.eq(exit_.valid),
                output.payload.eq(forwarded(exit_.payload, self.digit_bits)),
                exit_.ready.eq(output.ready),
            ]
        return m
