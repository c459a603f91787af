"""The unbuffered packet switch: a k x k box that drops blocked packets (Siegel et al.)."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Meter
from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..graphs.tags import Routing
from ..links.packet import Packet
from ..links.verdict_link import VerdictLink
from ..primitives.interchange_box import InterchangeBox
from ..primitives.random_bits import RandomOrder
from ..primitives.round_robin import number_of
from ..primitives.routing_tags import forwarded, requested_outputs
from .box_parameters import BoxParameters

__all__ = ["UnbufferedSwitch", "later_bits", "verdict_delay"]


def verdict_delay(stages: int, stage: int) -> int:
    """The value of the strap `delay` of the boxes of a stage; the first stage is 0."""
    return 2 * (stages - stage) - 1


def later_bits(widths: Sequence[int], stage: int) -> int:
    """The value of the strap `later` of the boxes of a stage: the bits of the tag that later stages
    use, in the tag's form at this stage (this stage's digit on top, used ones at the bottom).

    `widths` are those of the digits of a tag, the last stage's first.
    """
    *used, own = widths[len(widths) - 1 - stage :][::-1]
    return (1 << sum(widths) - own) - (1 << sum(used))


class UnbufferedSwitch(BoxParameters, wiring.Component):
    """A switch without queues: packets that request the same link compete once; losers are dropped.

    There is one register per link, at the outputs. Packets compete in the cycle in which they
    arrive. The winner is random, with equal chances, and is shown at the output in the next cycle.
    Each output carries one packet per cycle. Inputs are always ready. A packet is dropped if it
    loses, or if it meets an output whose current packet was not taken (only at the edge of a
    network). All outputs except `dropped` and `i[*].ready` come from registers.

    In a *dilated* network (VI-A) each link is a bundle of links to the same place. An output has as
    many winners as its bundle has links; they fill its links from the first on.

    The copies of a broadcast compete separately, but with the same rank at all outputs.

    A *reject signal* (`reject`) tells the source of each packet whether it arrived. All packets
    move one stage per cycle, so all verdicts can move back one stage per cycle. With n stages, each
    box of stage s remembers for 2 (n - s) - 1 cycles by which link it sent the packet of each
    input. Then it passes on the verdict that arrives on that link at that time. For the verdict, a
    packet has arrived when it is in an output register of the last stage.

    Parameters
    ----------
    packet : Packet
        The tag's top digit names the output. A packet whose digit names no output (radix 3, for
        example, has two-bit digits) is dropped. Single flits only.
    radix : int
        Number of input bundles, at least 2, and of output bundles.
    routing : "destination", "xor" or "difference"
        Whether the digit is the number of the output; that number exclusive-ored with the number of
        the input (which needs a radix that is a power of two); or that number minus the number of
        the input, modulo the radix.
    dilation_in, dilation_out : int
        Links in each bundle, at least 1; link l of bundle b is number b * dilation + l. At most 64
        inputs are possible.
    reject : int
        Number of stages of the network if verdicts go back to the sources; 0 if not. A broadcast
        can't have a verdict, since some of its copies may arrive and others not.
    outputs : int, optional
        Number of output bundles, at least 2, if there are not as many as of inputs. Tags must then
        be destination tags.

    Members
    -------
    i : In(stream.Signature(packet)).array(radix * dilation_in)
    o : Out(stream.Signature(packet)).array(outputs * dilation_out)
        With `reject` each is a `VerdictLink(packet)`.
    seed : In(32)
        Seed of the random choice, as in `RandomBits`. Constant.
    delay : In(range(2 * reject))
        Only with `reject`: `verdict_delay(reject, stage)`. Constant.
    dropped : Out(radix * dilation_in)
        Bit i is 1 in a cycle in which the packet of input i is dropped. Packets with a broadcast
        mask have `outputs` bits per input, one for the copy to each output.
    later : In(tag)
        Only with a broadcast mask: `later_bits(widths, stage)`. Constant.
    lost : Out(range(radix * dilation_in * 2**tag + 1))
        Only with a broadcast mask: number of destinations of the copies dropped in this cycle,
        2^m for a copy with m bits set in its mask for the stages to come.

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
        routing: Routing = "destination",
        dilation_in: int = 1,
        dilation_out: int = 1,
        reject: int = 0,
        outputs: int | None = None,
    ) -> None:
        dilation = dilation_in, dilation_out
        title = "an unbuffered switch"
        shape, _ = self._set_up(packet, radix, routing, outputs, dilation=dilation, title=title)
        reject = check_integer("Reject", reject, 0)
        if packet.flits:
            raise InvalidValue("Packets of an unbuffered switch must be single flits")
        if packet.broadcast and reject:
            raise InvalidValue("Packets with a broadcast mask can't have a reject signal")
        if packet.broadcast and self.outputs & (self.outputs - 1):
            raise InvalidValue(
                "Broadcast masks of unbuffered switches need a radix that is a power of two, "
                f"not {self.outputs}"
            )
        self.packet = packet
        self.reject = reject
        # A dropped packet with a broadcast mask counts as several.
        copies, packets = Meter("dropped", "lost", "number"), Meter("dropped", "dropped", "pulses")
        self.meters = (copies if packet.broadcast else packets,)
        link = VerdictLink(packet) if reject else stream.Signature(packet)
        inputs, leaving = len(shape.inputs), len(shape.outputs) * shape.lanes
        super().__init__(
            {
                "i": In(link).array(inputs),
                "o": Out(link).array(leaving),
                "seed": In(32),
                **({"delay": In(range(2 * reject))} if reject else {}),
                **self._losses(inputs),
            }
        )

    def _losses(self, inputs: int) -> dict[str, wiring.Member]:
        if not self.packet.broadcast:
            return {"dropped": Out(inputs)}
        tag_bits = self.packet.members["tag"]
        return {
            "dropped": Out(inputs * self.outputs),
            "later": In(tag_bits),
            "lost": Out(range((inputs << tag_bits) + 1)),
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs = range(len(self.i))
        wants = [Signal(self.outputs, name=f"wants_{i}") for i in inputs]
        for i, source in enumerate(self.i):
            bundle = i // self.dilation_in
            wanted = requested_outputs(source.payload, self.outputs, self.routing, bundle)
            m.d.comb += [source.ready.eq(1), wants[i].eq(Mux(source.valid, wanted, 0))]
        chosen = self._compete(m, wants)
        # A link that still holds a packet accepts no other.
        free = [~port.valid | port.ready for port in self.o]
        wins = [[choice & room for choice, room in zip(row, free)] for row in chosen]
        if self.packet.broadcast:
            self._count_copies(m, wants, wins)
        else:
            sent = Cat(Cat(links).any() for links in wins)
            m.d.comb += self.dropped.eq(Cat(port.valid for port in self.i) & ~sent)
        self._send(m, chosen, free)
        if self.reject:
            self._return_verdicts(m, wins)
        return m

    def _compete(self, m: Module, wants: list[Signal]) -> list[list[Value]]:
        """For each input and output link, whether the link is assigned to the input's packet."""
        inputs = range(len(wants))
        m.submodules.order = order = RandomOrder(len(wants))
        m.d.comb += order.seed.eq(self.seed)
        chosen: list[list[Value]] = [[] for _ in inputs]
        for output in range(self.outputs):
            if self.dilation_out == 1:
                # A single link needs no count of the packets ahead.
                request = Signal(len(wants), name=f"request_{output}")
                winner = Signal(len(wants), name=f"winner_{output}")
                m.d.comb += [
                    request.eq(Cat(wanted[output] for wanted in wants)),
                    winner.eq(order.first(m, f"output_{output}", request)),
                ]
                for i in inputs:
                    chosen[i].append(winner[i])
                continue
            for i in inputs:
                ahead = [wants[x][output] & order.before[x][i] for x in inputs if x != i]
                for link in range(self.dilation_out):
                    turn = sum(ahead, start=0) == link
                    choice = Signal(name=f"chosen_{i}_{output}_{link}")
                    m.d.comb += choice.eq(wants[i][output] & turn)
                    chosen[i].append(choice)
        return chosen

    def _count_copies(self, m: Module, wants: list[Signal], wins: list[list[Value]]) -> None:
        lost = 0
        for i, source in enumerate(self.i):
            bundles = [
                wins[i][first : first + self.dilation_out]
                for first in range(0, len(self.o), self.dilation_out)
            ]
            dropped = wants[i] & ~Cat(Cat(bundle).any() for bundle in bundles)
            m.d.comb += self.dropped.word_select(i, self.outputs).eq(dropped)
            lost = lost + (sum(dropped, start=0) << sum(source.payload.mask & self.later, start=0))
        m.d.comb += self.lost.eq(lost)

    def _send(self, m: Module, chosen: list[list[Value]], free: list[Value]) -> None:
        """Send through as many interchange boxes as all links need, into the registers."""
        inputs, links = len(self.i), len(self.o)
        width = inputs if self.outputs == self.radix else links
        for plane, first in enumerate(range(0, links, width)):
            box = InterchangeBox(inputs, self.packet, width)
            m.submodules[f"box_{plane}"] = box
            for i, source in enumerate(self.i):
                m.d.comb += box.i[i].eq(forwarded(source.payload, self.digit_bits))
            ports = self.o[first : first + width]
            columns = [[row[first + at] for row in chosen] for at in range(len(ports))]
            used = [Cat(column).any() for column in columns]
            select = [number_of(Cat(column)) for column in columns]
            box.set(m, select + [0] * (width - len(ports)), Cat(used))
            for at, port in enumerate(ports):
                with m.If(free[first + at]):
                    m.d.sync += [port.valid.eq(used[at]), port.payload.eq(box.o[at])]

    def _return_verdicts(self, m: Module, wins: list[list[Value]]) -> None:
        row = data.ArrayLayout(
            data.StructLayout({"sent": 1, "link": range(len(self.o))}), len(self.i)
        )
        ring = Memory(shape=row, depth=1 << len(self.delay), init=[])
        m.submodules.ring = ring
        now = ring.write_port()
        then = ring.read_port(domain="comb")
        m.d.sync += now.addr.eq(now.addr + 1)
        m.d.comb += [now.en.eq(1), then.addr.eq(now.addr - self.delay)]
        accepted = Cat(port.accepted for port in self.o)
        for i, source in enumerate(self.i):
            m.d.comb += [
                now.data[i].sent.eq(Cat(wins[i]).any()),
                now.data[i].link.eq(number_of(Cat(wins[i]))),
            ]
            m.d.sync += source.accepted.eq(
                then.data[i].sent & accepted.bit_select(then.data[i].link, 1)
            )
