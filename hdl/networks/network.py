"""What all networks have in common, and what those that carry packets do.

Generic code (benches, runs, the command, export) asks a network what it can do by the attributes
and methods here, and never which class or family it is.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

from amaranth.hdl import ShapeLike
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..core.errors import InvalidValue
from ..core.fabric import Fabric, FabricComponent, Pin, Scope
from ..core.parameters import Parameters
from ..primitives.packet import Packet
from ..topology.multistage import MultistagePlan
from ..topology.tags import TagScheme

__all__ = ["Network", "PacketNetwork", "Readings", "Terminals", "Theory", "Window"]


class Terminals(NamedTuple):
    """Where a network's terminals attach: a stream to send into and one to receive from each."""

    inputs: list[Pin]
    outputs: list[Pin]


class Theory(NamedTuple):
    """A formula that tells what a network does under uniform traffic, and its arguments.

    `model` is the name of one of `multicube.sim.theory.prediction.MODELS`.
    """

    model: str
    arguments: dict[str, Any]


class Window(NamedTuple):
    """A span of a run that was measured: its cycles, and the packets that the network took in it.

    `packet` is what its links carried, if it was packets.
    """

    cycles: int
    injected: int
    packet: Packet | None


Readings = Mapping[str, Mapping[str, Mapping[str, int]]]
"""What the meters of a network's cells have counted: by statistic, cell and port of the meter."""


class Network(FabricComponent, ABC):
    """A network as a component, with as many terminals as it has ports.

    Its arguments are those of its `parameters_type`, where each is described, and `family`.

    Attributes
    ----------
    family : str
        Name of the network in the catalogue.
    parameters : Parameters
        All arguments of the constructor, as a record and by name; "auto" is resolved.
    ports : int
        Number of terminals.
    ordered : bool
        Whether packets of one flow (source and destination) keep their order.
    stages : int
        Switches on every path; in a network with paths of several lengths, on the longest.
    zero_load_cycles : int
        Most cycles that a header needs to pass them if it never waits (where boxes combine: if
        each took one cycle). As many as stages, if a network does not say otherwise.
    lengths : tuple[int, int]
        Fewest and most cycles that a packet occupies a link: its flits, if each takes one.
    longest_delay : int
        Most cycles after which a dropped packet is sent again; 0 if none is.
    drops : bool
        Whether some packets may not arrive, by definition: it drops them, or finds them damaged.
    resubmits : bool
        Whether it sends dropped packets again, so that none is lost.
    broadcasts : bool
        Whether a packet may be for several terminals.
    has_memory : bool
        Whether it stands between processors and memory: requests go in, and replies come back.
    wiring_plan : MultistagePlan or None
        What a drawing of it shows, if it is a multistage network.
    restarts : bool
        Whether it is as after a reset once it is empty, so that runs can follow each other.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as its field allows, or they don't go together.
    """

    parameters_type: ClassVar[type[Parameters]]

    family: str = ""
    parameters: Parameters
    ports: int
    ordered: bool
    stages: int
    zero_load_cycles: int = 0
    lengths: tuple[int, int] = (1, 1)
    longest_delay: int = 0
    drops: bool = False
    resubmits: bool = False
    broadcasts: bool = False
    has_memory: bool = False
    wiring_plan: MultistagePlan | None = None
    restarts: bool = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "parameters_type" in cls.__dict__:
            cls.__signature__ = inspect.signature(cls.parameters_type)

    def __init__(self, *values: Any, family: str = "", **named: Any) -> None:
        self.parameters = self.parameters_type(*values, **named)
        self._set_up()
        self.zero_load_cycles = self.zero_load_cycles or self.stages
        if family:
            self.family = family
        super().__init__(self._joined)

    @abstractmethod
    def _set_up(self) -> None:
        """Set all attributes, from `parameters`."""

    @abstractmethod
    def _joined(self) -> Fabric:
        """The network between its own ports."""

    def altered(self, **parameters: Any) -> Self:
        """The same network with other values for some parameters.

        It stays of its family, unless what is altered tells families apart.
        """
        told = {about.name for about in self.parameters.described() if not about.listed}
        family = "" if told & parameters.keys() else self.family
        return type(self)(family=family, **self.parameters | parameters)

    def __reduce__(self) -> tuple:
        return _again, (type(self), self.family, dict(self.parameters))

    @property
    def chosen(self) -> dict[str, Any]:
        """The parameters with which `build` makes this network from its family."""
        return {
            about.name: self.parameters[about.name]
            for about in self.parameters.described()
            if about.listed
        }

    @property
    def theory(self) -> Theory | None:
        """The formula for this network under uniform traffic, if there is one."""
        return None

    @property
    def fault_plan(self) -> MultistagePlan | None:
        """The plan whose stages, boxes and lines name the places of faults, if there is one."""
        return None

    def single_paths(self) -> MultistagePlan:
        """The plan of boxes with one path between two terminals, on which permutations are set.

        Raises
        ------
        ValueError
            If this network has no such plan.
        """
        raise InvalidValue(f"Network must be a multistage network, not {self.family!r}")

    def moves(self, destination: int) -> Mapping[Pin, Collection[Pin]]:
        """The channels of a network whose packets wait for each other, as `topology.deadlock` asks.

        For each output that a header for a terminal may come by: those that it may take next.

        Raises
        ------
        ValueError
            If its packets don't wait for channels.
        """
        raise InvalidValue(f"Deadlock is looked for in networks of packets, not in {self.family}")

    def is_escape(self, channel: Pin) -> bool:
        """Whether a header may always wait for this channel: not all are, if it has a choice."""
        return True

    def statistics(self, readings: Readings, window: Window) -> dict[str, Any]:
        """What is told of a window besides packets and latencies.

        `readings` are those of the meters that this network's cells declare.
        """
        return {}

    @staticmethod
    def told(statistics: Mapping[str, Any]) -> list[str]:
        """Lines of text that say what `statistics` found."""
        return [f"{name}: {value}" for name, value in statistics.items()]


def _again(kind: type[Network], family: str, parameters: dict[str, Any]) -> Network:
    """The network that was pickled: it is sent as its parameters, and made anew."""
    return kind(family=family, **parameters)


class PacketNetwork(Network):
    """A network that carries packets: one input and one output stream a terminal.

    The header of a packet that never waits takes a cycle for each switch that it passes. A subclass
    sets `ports` and `tags` in `_set_up`.

    Attributes
    ----------
    tags : TagScheme
        How a packet's tag follows from source and destination.
    packet : Packet
        Layout of a packet on every link.
    flits : bool
        Whether packets are of several flits.
    consumes_tags : bool
        Whether a packet's tag is used up on its way: at an output it only says where that is.
    isolates : bool
        Whether it is known of every size that packets of disjoint subnetworks never share a channel
        (`topology.partitions`), as far as their tags can be partitioned. If not, `channels` tells.
    punctual : bool
        Whether a packet that nothing hinders takes `path` in whichever cycle it comes.
    combine : str
        By what operation on their payloads packets to the same terminal become one, or "none".
    transparent : bool
        Whether an output may show in a cycle what an input does in it, or wait for its own `ready`.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)
    """

    tags: TagScheme
    flits: bool = False
    consumes_tags: bool = False
    isolates: bool = False
    punctual: bool = True
    combine: str = "none"
    transparent: bool = False

    def _joined(self) -> Fabric:
        link = stream.Signature(self.packet)
        fabric = Fabric({"i": In(link).array(self.ports), "o": Out(link).array(self.ports)})
        terminals = self.place(fabric)
        for index, (entry, exit_) in enumerate(zip(terminals.inputs, terminals.outputs)):
            fabric.link(Pin(None, ("i", index)), entry)
            fabric.link(exit_, Pin(None, ("o", index)))
        return fabric

    @property
    def packet(self) -> Packet:
        return self.packet_of(self.parameters["payload"])

    def packet_of(self, payload: ShapeLike) -> Packet:
        """The layout of a packet with another payload, which `place` can be given."""
        return Packet(self.tags.code.width, payload, broadcast=self.broadcasts, flits=self.flits)

    @property
    def sphere(self) -> int:
        """Terminals of a sphere of locality, if traffic does not say how many.

        Those whose addresses differ in the lowest digit only.
        """
        return self.tags.code.radix

    @abstractmethod
    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        """Add this network's cells and links to a fabric, and say where its terminals are.

        Its links carry `packet`, which is one of `packet_of`; by default its own.
        """

    @abstractmethod
    def path(self, source: int, destination: int) -> list[Pin]:
        """The outputs of cells that a packet passes between two terminals.

        Without those of interfaces at the terminals, such as one that sends packets again.
        """

    def channels(self, source: int, destination: int) -> Iterable[Pin]:
        """All outputs of cells that packets between two terminals may pass, on whichever path.

        They are those of `path`, unless headers have a choice.
        """
        return self.path(source, destination)

    def moves(self, destination: int) -> Mapping[Pin, Collection[Pin]]:
        """As in `Network`: the channels of `path`, unless headers have a choice."""
        moves: dict[Pin, set[Pin]] = {}
        for source in range(self.ports):
            pins = self.path(source, destination)
            for before, after in pairwise(pins):
                moves.setdefault(before, set()).add(after)
            moves.setdefault(pins[-1], set())
        return moves
