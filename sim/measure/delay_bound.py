"""A bound on the latency of every flow, whatever is sent: counted along the order of channels.

The channels of a network that can't deadlock have an order: packets wait only for later ones. From
the last to the first, what a header waits for at each is counted:

- an arbiter that lets n inputs go in turn lets n - 1 other packets go first, at most;
- each of them, and the packet itself, needs room behind the channel, which is there as soon as as
  many flits have left the queue there, and how long those take is known by the order;
- over a link of several cycles flits and credits take as long: all places can be on that way;
- each flit shares the wires of its link with other virtual channels.

So the bound holds if all terminals send as fast as they can, to the worst destinations. It is the
product of the numbers of inputs along a path, roughly, as the share that round robin leaves to a
packet from afar is. Terminals must take a flit in every cycle, and send the flits of a packet one
after the other.

A queue at an output is entered when as many packets have left it as there are inputs, and left
after the packets before. One at a crosspoint has packets for one output, which wait for no others:
it counts as the queue of its input.

The idea is that of bounds for wormhole networks with best effort (Rahmati et al., 2009), here with
queues of any depth, packets of any lengths, and virtual channels.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from math import inf
from typing import NamedTuple

from ...hdl.fabric.checks import check_integer, check_kind
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.pins import Pin
from ...hdl.networks.channel_model import ChannelModel
from ...hdl.networks.packet_network import PacketNetwork

__all__ = ["DelayBounds", "FlowBound", "delay_bounds"]

_Queue = Pin | int
"""The queue behind a channel, or the number of the terminal behind which it is."""


class FlowBound(NamedTuple):
    """Most cycles of a packet between two terminals.

    Attributes
    ----------
    source, destination : int
        The terminals.
    cycles : int or None
        None if there is no bound.
    """

    source: int
    destination: int
    cycles: int | None


@dataclass(frozen=True)
class _Times:
    """Most cycles of packets at the head of a queue.

    Attributes
    ----------
    whole : float
        From when a header is there until its tail has left.
    rest : float
        Of a packet whose header has left.
    """

    whole: float = 0
    rest: float = 0


class DelayBounds:
    """Bounds on the latency in the network of all flows of a network: see `delay_bounds`.

    A latency is counted as runs do: from the cycle in which the header is offered to the network to
    that in which the tail is taken.
    """

    def __init__(self, network: PacketNetwork) -> None:
        self._network = network
        self._model: ChannelModel = network.channel_model
        self._first: dict[tuple[int, int], Pin] = {}
        self._after: dict[_Queue, set[Pin]] = defaultdict(set)
        moves: list[dict[Pin, Pin | None]] = []
        before: dict[Pin, set[_Queue]] = defaultdict(set)
        for destination in range(network.sinks):
            nexts = {
                channel: _only(network, found) if found else None
                for channel, found in network.moves(destination).items()
            }
            moves.append(nexts)
            for channel, after in nexts.items():
                before[channel] |= set()
                if after is not None:
                    before[after].add(channel)
                    self._after[channel].add(after)
            for source in range(destination % network.classes, network.sources, network.classes):
                first = _only(network, network.starts(source, destination))
                self._first[source, destination] = first
                before[first].add(source)
                self._after[source].add(first)
        order = self._ordered(before)
        self._inputs = {channel: len(found) for channel, found in before.items()}
        self._pass: dict[Pin, float] = self._passing(order, before)
        self._times: dict[_Queue, _Times] = {}
        for queue in [*reversed(order), *range(network.sources)]:
            self._times[queue] = self._at_head(queue)
        self._over = {channel: self._by(channel) for channel in order}
        self._onward = [*map(self._along, moves)]

    def __repr__(self) -> str:
        return f"<DelayBounds of {self._network}>"

    def __reduce__(self) -> tuple[type["DelayBounds"], tuple[PacketNetwork]]:
        return DelayBounds, (self._network,)  # the rest follows from it

    def of(self, source: int, destination: int) -> FlowBound:
        """The bound for packets from one terminal to another, of its class of messages.

        Raises
        ------
        TypeError, ValueError
            If there are no such terminals, or they are of different classes.
        """
        network = self._network
        source = check_integer("Source", source, 0, network.sources - 1)
        destination = check_integer("Destination", destination, 0, network.sinks - 1)
        network.check_class(source, destination)
        return self._flow(source, destination)

    def _flow(self, source: int, destination: int) -> FlowBound:
        first = self._first[source, destination]
        if self._model.at_outputs:
            total = self._entering(first) - 1
        else:
            total = 1 + self._through(source, self._model.depth)
        total += self._onward[destination][first]
        return FlowBound(source, destination, None if total == inf else int(total))

    def _along(self, nexts: Mapping[Pin, Pin | None]) -> dict[Pin, float]:
        """Most cycles of a packet from each channel on, by these next ones."""
        found: dict[Pin, float] = {}
        for first in nexts:
            way = [first]
            while way[-1] not in found and (after := nexts.get(way[-1])) is not None:
                way.append(after)
            total: float = 0
            for channel in reversed(way):
                total = found.setdefault(channel, self._over[channel] + total)
        return found

    def _by(self, channel: Pin) -> float:
        """Most cycles of a packet by a channel: the link, and the queue there or behind it."""
        model = self._model
        if model.at_outputs:
            return model.depth * self._times[channel].whole
        behind = self._through(channel, model.depth - 1) if self._after[channel] else 0
        return model.latency(channel) + behind

    def _through(self, queue: _Queue, room: int) -> float:
        """Most cycles of a packet in a queue, with so many flits before it, all of whole packets
        or of one that is leaving."""
        before = self._leaving(queue, room - self._model.lengths[0] + 1) if room else 0
        return before + self._times[queue].whole

    def all(self) -> Iterable[FlowBound]:
        """Those of all flows."""
        classes = self._network.classes
        for source in range(self._network.sources):
            for destination in range(source % classes, self._network.sinks, classes):
                yield self._flow(source, destination)

    @property
    def worst(self) -> FlowBound:
        """The flow of the highest bound; one without a bound if there is any."""
        return max(self.all(), key=lambda flow: inf if flow.cycles is None else flow.cycles)

    def _ordered(self, before: dict[Pin, set[_Queue]]) -> list[Pin]:
        """The channels, each behind those that packets come from."""
        graph = {
            channel: [one for one in found if isinstance(one, Pin)]
            for channel, found in before.items()
        }
        try:
            return [*TopologicalSorter(graph).static_order()]
        except CycleError:
            raise InvalidValue(
                f"Latency has no bound in {self._network.family}: its packets can deadlock"
            ) from None

    def _passing(self, order: Iterable[Pin], before: dict[Pin, set[_Queue]]) -> dict[Pin, float]:
        """Most cycles that a packet needs over a channel behind which there always is room.

        Its flits may be spread over all channels before, where each waits for wires and credits.
        """
        longest = self._model.lengths[1]
        slowest: dict[Pin, float] = {}
        trips: dict[Pin, int] = {}
        links: dict[Pin, int] = {}
        found = {}
        for channel in order:
            cycles = self._model.cycles(channel)
            own = inf if cycles is None else cycles
            earlier = [one for one in before[channel] if isinstance(one, Pin)]
            slowest[channel] = max([own, 1 + self._model.slow, *(slowest[one] for one in earlier)])
            waits = [max(trips[one], self._credits(one, longest)) for one in earlier]
            trips[channel] = max(waits, default=0)
            links[channel] = 1 + max((links[one] for one in earlier), default=0)
            found[channel] = own
            if longest > 1:
                spread = (slowest[channel] - 1) * links[channel] + trips[channel]
                found[channel] += (longest - 1) * slowest[channel] + spread
        return found

    def _credits(self, channel: Pin, flits: int) -> int:
        """Most cycles of flits in which all places behind a channel wait for flits or credits.

        A flit comes some cycles after its place is taken, and the credit as many after it has left.
        """
        return -(-flits // self._model.depth) * 2 * (self._model.latency(channel) - 1)

    def _at_head(self, queue: _Queue) -> _Times:
        """What happens to packets at the head of a queue, when that of all later ones is known."""
        if self._model.at_outputs:
            return _Times(self._at_output(queue))
        longest = self._model.lengths[1]
        whole: float = 0
        rest: float = 0
        for channel in self._after[queue]:
            needs = self._pass[channel]
            turns = self._inputs[channel]
            if self._after[channel]:
                round_ = turns * needs + self._emptied(channel, turns, turns * longest)
                left = needs + self._emptied(channel, 1, longest - 1)
            else:
                round_, left = turns * needs, needs
            whole, rest = max(whole, round_ + (needs if self._model.store else 0)), max(rest, left)
        return _Times(whole + self._model.decision - 1, rest if longest > 1 else 0)

    def _emptied(self, channel: Pin, packets: int, flits: int) -> float:
        """Most cycles until there has been room behind a channel for packets of so many flits.

        The flits that leave are those in the queue and then those of the packets, except for the
        last that it has room for.
        """
        if not flits:
            return 0
        depth, longest = self._model.depth, self._model.lengths[1]
        stored = self._leaving(channel, min(flits, depth))
        own = self._whole(channel, packets - depth // longest)
        return min(self._leaving(channel, flits), stored + own) + self._credits(channel, flits)

    def _leaving(self, queue: _Queue, flits: int) -> float:
        """Most cycles until as many flits have left a queue, whose first packet may be leaving."""
        least = self._model.lengths[0]
        others = self._whole(queue, -(-(flits - 1) // least))
        return max(self._times[queue].rest + others, self._whole(queue, -(-flits // least)))

    def _whole(self, queue: _Queue, packets: int) -> float:
        """Most cycles of so many packets, one after the other."""
        return packets * self._times[queue].whole if packets > 0 else 0

    def _at_output(self, queue: _Queue) -> float:
        """Most cycles of a packet at the head of a queue at an output, or of one that is sent."""
        waits = max(map(self._entering, self._after[queue]), default=1)
        link = (self._model.cycles(queue) or 1) if isinstance(queue, Pin) else 1
        return link - 1 + waits

    def _entering(self, channel: Pin) -> float:
        """Most cycles of a packet until it has entered the queue at an output."""
        late = self._model.late
        # A single place is empty between two packets; of several, others are taken then.
        between = late if self._model.depth == 1 else 0
        packets = self._inputs[channel] * (self._times[channel].whole + between)
        return packets + late - between


def delay_bounds(network: PacketNetwork) -> DelayBounds:
    """Bounds on the latency of all flows of a network, which no run exceeds.

    Parameters
    ----------
    network : PacketNetwork
        A network of queues with fair arbiters.

    Returns
    -------
    DelayBounds
        The bounds, by flow.

    Raises
    ------
    ValueError
        If there is none, or the network is not of queues with arbiters that are fair: packets have
        a choice of channels, or are dropped or copied.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import delay_bounds
    >>> delay_bounds(build("mesh", k=2, n=1)).of(0, 1)
    FlowBound(source=0, destination=1, cycles=26)
    """
    check_kind("Network", network, PacketNetwork, "a network of packets")
    return DelayBounds(network)


def _only(network: PacketNetwork, channels: Collection[Pin]) -> Pin:
    """The channel of which a packet has no choice."""
    if len(channels) != 1:
        raise InvalidValue(
            "Latency has a bound only if packets have no choice of channels, "
            f"not in {network.family}: multicube prove may prove one"
        )
    return next(iter(channels))
