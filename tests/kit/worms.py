# amaranth: UnusedElaboratable=no
"""Wormhole packets as lists of flits, and terminals that send them at random."""

import random
from collections.abc import Iterable
from typing import Any

from multicube.hdl import PacketNetwork

Worm = list[int]
Name = tuple[int, int, int]
"""Source, destination and number of a packet."""


def worm(
    network: PacketNetwork, source: int, destination: int, number: int, length: int, mask: int = 0
) -> Worm:
    """The flits of a packet: source, number and index are its payload.

    Only the header has tag and mask: behind it, these bits are data.
    """
    width = network.tags.code.width
    flits = []
    for index in range(length):
        field = (5 * index + 3 * number + 1) % (1 << width)
        tag, marks = field, ~field % (1 << width)
        if index == 0:
            tag, marks = network.tags.tag(source, destination), mask
        name = index << 12 | number % 256 << 4 | source
        fields = {"tag": tag, "mask": marks, "payload": name, "last": index == length - 1}
        given = {key: fields[key] for key in network.packet.members}
        flits.append(network.packet.const(given).as_value().value)
    return flits


def destinations(network: PacketNetwork, source: int, destination: int, mask: int) -> list[int]:
    """By the definition: those whose own tag differs from this one's only where the mask is 1."""
    tag = network.tags.tag(source, destination)
    ports = range(network.ports)
    return [port for port in ports if (network.tags.tag(source, port) ^ tag) & ~mask == 0]


class Load:
    """Random packets of the network's lengths, as fast as it takes them, up to some cycle."""

    def __init__(self, network: PacketNetwork, cycles: int, *, seed: int) -> None:
        print("seed", seed)
        self.network, self.cycles = network, cycles
        self.random = random.Random(seed)
        self.rest: list[Worm] = [[] for _ in range(network.ports)]
        self.numbers = [0] * network.ports
        self.sent: dict[Name, Worm] = {}
        """What must arrive; a packet with a mask goes to several destinations."""

    def offer(self, port: int, cycle: int) -> int | None:
        if cycle < self.cycles and not self.rest[port]:
            length = self.random.randint(*self.network.lengths)
            destination, number = self.random.randrange(self.network.ports), self.numbers[port]
            mask, tags = 0, self.network.tags
            if self.network.packet.broadcast:
                mask = self.random.getrandbits(tags.code.width) & self.random.getrandbits(99)
            flits = worm(self.network, port, destination, number, length, mask)
            for other in destinations(self.network, port, destination, mask):
                self.sent[port, other, number] = flits
            self.rest[port] = flits[:]
            self.numbers[port] += 1
        return self.rest[port].pop(0) if self.rest[port] else None

    def check(self, trace: Iterable[Any]) -> int:
        """Each packet arrives whole, unmixed, unchanged and once. Returns how many were overtaken
        by a later one of the same source and destination."""
        packet = self.network.packet
        came: dict[Name, Worm] = {}
        parts: dict[int, Worm] = {}
        flows: dict[tuple[int, int], int] = {}
        overtaken = 0
        for cycle in trace:
            for output, flit in cycle.moved():
                parts.setdefault(output, []).append(flit)
                if flit >> packet["last"].offset:
                    flits = parts.pop(output)
                    name = flits[0] >> packet["payload"].offset
                    source, number = name & 15, name >> 4 & 255
                    assert (source, output, number) not in came
                    came[source, output, number] = flits
                    overtaken += number < flows.get((source, output), -1)
                    flows[source, output] = number
        assert not parts
        assert came == self.sent
        return overtaken
