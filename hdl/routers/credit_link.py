"""A link of several cycles, whose sender counts the free places of the queues behind it."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..links.packet import Packet
from ..primitives.places import Places

__all__ = ["CreditLink"]


class CreditLink(wiring.Component):
    """Registers on the wires of a link, and a counter of credits for each of its channels.

    A flit enters only if the receiver's queue has a place for it, so the receiver never makes it
    wait. Its credit comes back as many cycles after it has left this queue. So a place is in use
    for 2 `latency` cycles at least: a channel runs at full rate, one flit per cycle, if its queue
    has that many places. (A link of one cycle needs no such component.)

    `i[*].ready` and `open` depend on registers only.

    Parameters
    ----------
    packet : Packet
    channels : int
        Number of virtual channels. They share the wires: at most one of them sends in a cycle, and
        the payloads at all inputs are the same.
    latency : int
        Cycles from `i` to the head of the receiver's queue, at least 2.
    depth : int
        Places of the receiver's queue for each channel, at least 1.
    guarded : tuple[int, ...]
        Channels that headers may enter only if there is space.
    needed : int
        How many places must be free for that.
    levels : bool
        Whether it has an output for the number of places in use.

    Members
    -------
    i : In(stream.Signature(packet)).array(channels)
    o : Out(stream.Signature(packet)).array(channels)
        Its `ready` is not looked at.
    freed : In(1).array(channels)
        A flit leaves the receiver's queue.
    open : Out(1).array(len(guarded))
        Whether `needed` places are free.
    level : Out(range(depth + 1)).array(channels)
        With `levels`: places of each queue that are in use, or promised to flits on their way.
    """

    auxiliary = True

    def __init__(
        self,
        packet: Packet,
        *,
        channels: int,
        latency: int,
        depth: int,
        guarded: tuple[int, ...] = (),
        needed: int = 1,
        levels: bool = False,
    ) -> None:
        self.packet = packet
        self.channels = check_integer("Channels", channels, 1)
        self.latency = check_integer("Latency", latency, 2)
        self.depth = check_integer("Depth", depth, 1)
        self.guarded = guarded
        self.needed = needed
        self.levels = levels
        ports = stream.Signature(packet)
        members = {
            "i": In(ports).array(channels),
            "o": Out(ports).array(channels),
            "freed": In(1).array(channels),
        }
        if guarded:
            members["open"] = Out(1).array(len(guarded))
        if levels:
            members["level"] = Out(range(depth + 1)).array(channels)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sent: Value = Cat(port.valid & port.ready for port in self.i)
        back: Value = Cat(self.freed)
        payload: Value = self.i[0].payload.as_value()
        for stage in range(self.latency - 1):
            stages = [
                (sent, Signal(self.channels, name=f"sent_{stage}")),
                (back, Signal(self.channels, name=f"back_{stage}")),
                (payload, Signal(len(payload), name=f"payload_{stage}", reset_less=True)),
            ]
            m.d.sync += [after.eq(before) for before, after in stages]
            sent, back, payload = (after for _, after in stages)
        for c in range(self.channels):
            leaves = self.i[c].valid & self.i[c].ready
            places = Places(m, f"free_{c}", self.depth, back[c], leaves)
            m.d.comb += [
                self.i[c].ready.eq(places.free()),
                self.o[c].valid.eq(sent[c]),
                self.o[c].payload.eq(payload),
            ]
            if self.levels:
                m.d.comb += self.level[c].eq(places.level)
            if c in self.guarded:
                m.d.comb += self.open[self.guarded.index(c)].eq(places.free(self.needed))
        return m
