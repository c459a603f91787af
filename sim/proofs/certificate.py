"""Certificates: what follows for a network from the contracts of its cells and its wires.

A certificate is data, with all that a program needs to check it that knows nothing of this library
(`tools/check_certificate.py`): the contracts, the order of the channels, the turns of their queues,
and what is concluded. The wires, and the rows of tables, it reads in the Verilog.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ...hdl.export.verilog import verilog_text
from ...hdl.export.verilog_names import check_name
from ...hdl.fabric.checks import check_number
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.pins import Pin
from ...hdl.graphs.partitions import Partition
from ...hdl.graphs.routing.deadlock import dependencies
from ...hdl.networks.memory_network import MemoryNetwork
from ...hdl.networks.packet_network import PacketNetwork
from .contracts import OF_MEMORY, OF_PACKETS, check_contracts, contracts_of, module_blocks
from .latency_bound import Hop, Lengths, packets_in, turns, waits
from .memory_certificate import memory_certificate
from .route_gates import route_rows

__all__ = ["certificate"]

FORMAT = "multicube certificate 1"

_MOST_SECONDS = 1_000_000


def certificate(
    network: PacketNetwork | MemoryNetwork,
    *,
    top: str = "network",
    limit: float = 600,
    tell: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """The certificate of a network, about the Verilog that `verilog_text` writes.

    Parameters
    ----------
    network : PacketNetwork or MemoryNetwork
        With memory, the certificate is that of `memory_certificate`.
    top : str
        Name of the module.
    limit : float
        Seconds after which a proof of a contract is given up, at most a million; 0 if none is
        tried.
    tell : Callable[[str], None], optional
        Called with a text about each step.

    Raises
    ------
    ValueError
        If it has cells for which there is no contract, or packets may deadlock, or not arrive; or
        the name or the limit is not as above.
    """
    check_name("Module name", top)
    if not 0 <= check_number("Limit", limit) <= _MOST_SECONDS:
        raise InvalidValue(f"Limit must be from 0 to {_MOST_SECONDS} seconds, not {limit:g}")
    steps: list[str] = []
    report = tell or (lambda text: None)

    def step(text: str) -> None:
        steps.append(text)
        report(text)

    memory = isinstance(network, MemoryNetwork)
    if not memory:
        _check(network)
    types = dict.fromkeys(cell.type for cell in network.fabric.cells.values())
    check_contracts(types, OF_MEMORY if memory else OF_PACKETS)
    report("writes the Verilog")
    verilog = verilog_text(network, top)
    if isinstance(network, MemoryNetwork):
        record = memory_certificate(network, top, verilog, limit, step)
    else:
        record = _composed(network, top, verilog, limit, step)
    return {**record, "steps": steps}


def _check(network: PacketNetwork) -> None:
    if not isinstance(network, PacketNetwork):
        raise InvalidValue(f"Network must carry packets, not {network.family!r}")
    for there, says in (
        (network.broadcasts, "masks"),
        (network.drops, "packets that are dropped"),
        (network.recovers, "packets that are discarded"),
        (network.groups, "groups"),
        (network.holds_links, "links that are held"),
        (network.classes > 1, "classes of messages"),
    ):
        if there:
            raise InvalidValue(f"There is no certificate of networks with {says}: {network}")


def _composed(
    network: PacketNetwork, top: str, verilog: str, limit: float, step: Callable[[str], None]
) -> dict[str, Any]:
    channels = _Channels(network)
    order = channels.order()  # before the proofs, which take long
    contracts, module_of = contracts_of(
        network.fabric.cells, top, module_blocks(verilog), limit, step
    )
    walks = _Walks(channels, contracts, module_of)
    step(f"{len(order)} channels in an order in which each waits for later ones only")
    fewest, most = network.lengths
    record: dict[str, Any] = {
        "format": FORMAT,
        "network": str(network),
        "top": top,
        "sha256": hashlib.sha256(verilog.encode()).hexdigest(),
        "lengths": [fewest, most],
        "terminals": [network.sources, network.sinks],
        "tag": network.packet["tag"].width,
        "tags": walks.tags(),
        "contracts": contracts,
        "order": [str(pin) for pin in order],
        "escapes": [str(pin) for pin in order if network.is_escape(pin)] if walks.choice else None,
        "rows": walks.rows(),
    }
    conditions = sorted(name for name, one in contracts.items() if "unproved" in one)
    record["conditions"] = conditions
    fair = all(one.get("fair", True) for one in contracts.values())
    if fair:
        step("all packets that are accepted are delivered: no deadlock, and all wait in turn")
    else:
        step("no deadlock; but arbiters are not fair, so a packet may wait for ever")
    record["delivers"] = fair
    timed = all(one.get("timed", one["kind"] == "table") for one in contracts.values())
    timed = timed and (most == 1 or not any(one.get("stages") for one in contracts.values()))
    timed = timed and (most == 1 or record["escapes"] in (None, record["order"]))
    record["bounds"] = walks.bounds(order) if fair and timed else None
    if record["bounds"] is not None:
        step(f"each packet is inside for at most {record['bounds']['most']} cycles")
    record["partitions"] = walks.partitions()
    if record["partitions"]:
        step(f"{len(record['partitions'])} partitions share no channel")
    return record


_Moves = Mapping[Pin, Collection[Pin]]


def _most_spent(
    moves: _Moves, starts: Iterable[Collection[Pin]], spent: Mapping[Pin, int]
) -> list[int]:
    """For each source, the most that is spent in channels on a way to a destination.

    Raises
    ------
    ValueError
        If a way has a circle.
    """
    left: dict[Pin, int] = {}
    try:
        for pin in TopologicalSorter(moves).static_order():
            left[pin] = spent[pin] + max((left[after] for after in moves[pin]), default=0)
    except CycleError as error:
        circle = ", ".join(map(str, error.args[1][:6]))
        raise InvalidValue(f"Packets can go in a circle: {circle}") from None
    return [max(left[pin] for pin in own) for own in starts]


class _Channels:
    """The channels of a network: where their packets go, and for which channels they wait."""

    def __init__(self, network: PacketNetwork) -> None:
        self.network = network
        self.nexts: dict[Pin, set[Pin]] = {}
        self.choices: dict[Pin, set[frozenset[Pin]]] = {}
        self.firsts: list[set[Pin]] = [set() for _ in range(network.sources)]
        self.longest = 0
        self.waits = dependencies(self._moves(), network.is_escape)

    def _moves(self) -> Iterator[Any]:
        for moves, starts in self.ways():
            for channel, nexts in moves.items():
                self.nexts.setdefault(channel, set()).update(nexts)
                self._choose(nexts)
            for firsts, own in zip(self.firsts, starts):
                firsts.update(own)
                self._choose(own)
            self.longest = max(self.longest, *_most_spent(moves, starts, dict.fromkeys(moves, 1)))
            yield moves

    def ways(self) -> Iterator[tuple[_Moves, list[Collection[Pin]]]]:
        """For each destination, `moves`, and `starts` for each source."""
        network = self.network
        for to in range(network.sinks):
            yield network.moves(to), [network.starts(each, to) for each in range(network.sources)]

    def _choose(self, among: Collection[Pin]) -> None:
        if len(among) > 1:
            choice = frozenset(among)
            for pin in choice:
                self.choices.setdefault(pin, set()).add(choice)

    def order(self) -> list[Pin]:
        """The channels, each before those that it waits for; those that are no escape channels
        come first."""
        try:
            found = [*TopologicalSorter(self.waits).static_order()][::-1]
        except CycleError as error:
            cycle = ", ".join(map(str, error.args[1][:6]))
            raise InvalidValue(
                f"Network can deadlock: channels wait for each other: {cycle}"
            ) from None
        rest = [pin for pin in self.nexts if pin not in self.waits]
        return [*rest, *found]


class _Walks:
    """The paths of packets through the channels of a network, with the contracts of its cells."""

    def __init__(
        self, channels: _Channels, contracts: dict[str, Any], module_of: dict[str, str]
    ) -> None:
        self.channels = channels
        self.network = channels.network
        self.nexts = channels.nexts
        self.contracts = contracts
        self.module_of = module_of
        self.firsts, self.choices = channels.firsts, channels.choices
        self.choice = any(one.get("choice") for one in contracts.values())

    def contract(self, pin: Pin) -> dict[str, Any]:
        return self.contracts[self.module_of[str(pin.cell)]]

    def hop(self, pin: Pin) -> Hop:
        """What is known of a channel, of which a pin is the output."""
        about = self.contract(pin)
        output = about["outputs"][int(pin.path[1])]
        before = about["queue"] == "output"
        last = not self.nexts[pin]
        # In turn at an output's own queue are all its inputs, also those that no packet comes from.
        rivals = len(output["inputs"] if before else self.rivals[pin])
        return Hop(
            rivals,
            output["wires"],
            about["depth"],
            last,
            before,
            about["stages"],
            self.tries(pin),
            self.network.is_escape(pin),
        )

    def tries(self, pin: Pin) -> int:
        """Most cycles in which a header that may take a channel could take one and does not."""
        about = self.contract(pin)
        if not about["choice"]:
            return 0
        choices = {*self.choices.get(pin, ())}
        if not about["equal"]:  # else one channel alone is taken by another, if not by it
            choices.add(frozenset((pin,)))
        rivals = (
            sum(len(about["outputs"][int(each.path[1])]["inputs"]) - 1 for each in choice)
            for choice in choices
        )
        return max((about["tries"] + turns for turns in rivals), default=0)

    @cached_property
    def rivals(self) -> dict[Pin, set[Pin | int]]:
        """The inputs from which packets go to a channel: the channels, and sources, before it."""
        found: dict[Pin, set[Pin | int]] = {pin: set() for pin in self.nexts}
        for pin, nexts in self.nexts.items():
            for after in nexts:
                found[after].add(pin)
        for source, own in enumerate(self.firsts):
            for first in own:
                found[first].add(source)
        return found

    def tags(self) -> list[list[int]] | list[int]:
        """The tag of each destination; or of each pair, if it depends on the source."""
        network, own = self.network, self.network.tags
        if own.routing == "destination":
            return [own.tag(0, to) for to in range(network.sinks)]
        return [[own.tag(s, d) for d in range(network.sinks)] for s in range(network.sources)]

    def rows(self) -> dict[str, Any]:
        """Where gates send packets, by module (`route_rows`)."""
        cells = self.network.fabric.cells
        types = {module: cells[cell].type for cell, module in self.module_of.items()}
        return {
            module: route_rows(types[module].build())
            for module, one in self.contracts.items()
            if one.get("route", {}).get("by") == "gates"
        }

    def bounds(self, order: Iterable[Pin]) -> dict[str, Any]:
        """The turns of queues, and the most cycles that a packet is inside."""
        network = self.network
        order = [*order]
        hops = {pin: self.hop(pin) for pin in order}
        lengths = Lengths(*network.lengths, self.channels.longest)
        found = turns(hops, order, self.nexts, lengths)
        wires = max(hop.wires for hop in hops.values())
        before = any(hop.before for hop in hops.values())
        entries = [waits(own, hops, found, wires, lengths) for own in self.firsts]
        # Cycles in the stages before a channel, and in its queue.
        spent = {
            pin: hop.stages + (1 + packets_in(hop.depth, lengths) * found[pin] if found[pin] else 0)
            for pin, hop in hops.items()
        }
        depth = next(iter(hops.values())).depth
        start = [0 if before else 1 + packets_in(depth, lengths) * own for own in entries]
        by_destination = [_most_spent(*ways, spent) for ways in self.channels.ways()]
        pairs = [[one + own for own in ways] for one, ways in zip(start, zip(*by_destination))]
        return {
            "hops": lengths.hops,
            "turns": [found[pin] for pin in order],
            "entries": entries,
            "pairs": pairs,
            "most": max(map(max, pairs)),
        }

    def partitions(self) -> list[list[list[int]]]:
        """Partitions in two halves that share no channel, as the members of the halves."""
        network = self.network
        try:
            network.confinement()
            halves = _halves(network.undivided)
        except InvalidValue:
            return []
        return halves if network.mask_rule is None else []


def _halves(whole: Partition) -> list[list[list[int]]]:
    """For each bit of addresses, the members with 0 and with 1, if that makes two halves."""
    (every,) = whole.subnetworks
    found = []
    for bit in range(whole.code.width):
        mask = every.mask & ~(1 << bit)
        with suppress(InvalidValue):  # not every mask confines packets
            sides = [replace(every, mask=mask, value=value << bit).members for value in range(2)]
            if len(sides[0]) == len(sides[1]) == every.size / 2:
                found.append(sides)
    return found
