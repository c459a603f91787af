"""The base class of all networks.

Generic code (test benches, runs, the command, export) asks a network about its capabilities through
the attributes and methods here, and never about its class or family.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

from ..fabric.checks import check_integer, nearest
from ..fabric.diagram import Diagram
from ..fabric.digest import Digest
from ..fabric.errors import InvalidType, InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.fabric_component import FabricComponent
from ..fabric.layout import Layout, arranged
from ..fabric.parameters import Parameters, with_parameters
from ..fabric.pins import Pin
from ..fabric.wires import Lane, Wire, named_wires, streams
from ..graphs.address_codes import AddressCode
from ..graphs.partitions import Partition
from ..graphs.permutations import Permutation
from ..graphs.plans.multistage import MultistagePlan, equal_ports
from ..graphs.plans.multistage_graph import MultistageGraph
from ..graphs.routing.relation import Relation
from ..graphs.schedules.looping import BoxSettings
from ..support.shown import html_of
from .flits import geometric_mean
from .graph_layout import fabric_layout
from .network_records import Confinement, LinkCounts, Readings, Theory, Window

__all__ = ["Network"]


_ACCOUNTED = ("dropped", "corrupted")
"""What the accounting of packets counts; no statistics."""

_ONLY_LANE = Lane()


class Network(FabricComponent, ABC):
    """A network as a component.

    Attributes
    ----------
    family : str
        Name of the network in the catalogue.
    parameters : Parameters
        All arguments of the constructor, as a record and by name; "auto" is resolved.
    sources, sinks : int
        Number of terminals that send, and of those that receive.
    ports : int
        Number of terminals, if all send and receive. To set it sets both numbers; to read it is a
        ValueError if they differ.
    ordered : bool
        Whether packets of one flow (source and destination) stay in order.
    stages : int
        Number of switches on every path; if paths differ in length, on the longest.
    zero_load_cycles : int
        Most cycles that a header needs to pass them if it never waits (with combining boxes: if
        each took one cycle). Equal to `stages`, unless a network says otherwise.
    lengths : tuple[int, int]
        Fewest and most cycles that a packet occupies a link: its flits, if each takes one cycle.
    classes : int
        Classes of messages. If there are several, terminals are endpoints of one class each, which
        send to each other only: endpoint t * classes + k is that of class k at terminal t.
    longest_delay : int
        Longest delay in cycles before a dropped packet is sent again; 0 if none is.
    drops : bool
        Whether some packets may not arrive by design: it drops them, or finds them damaged.
    resubmits : bool
        Whether it resends dropped packets, so that none is lost.
    broadcasts : bool
        Whether a packet may be for several terminals.
    has_memory : bool
        Whether it connects processors and memory: requests enter, and replies come back.
    terminal_kind : str
        What its terminals are called.
    rearrangeable : bool
        Whether it passes every permutation if all its boxes are set centrally.
    wiring_plan : MultistagePlan or None
        The plan of its boxes, if it is a multistage network and they make up all of it.
    relation : Relation or None
        The routing and its `graph`, if it is described as nodes and links: for measures.
    restarts : bool
        Whether it is as after reset once it is empty, so that runs can follow each other.
    reset_cycles : int
        Cycles of a reset after which it is as when it was new. After a shorter one it does the
        same, but it may accept packets only when so many cycles are over.

    Raises
    ------
    TypeError, ValueError
        If a field does not allow an argument, or arguments are not compatible.
    """

    parameters_type: ClassVar[type[Parameters]]

    family: str = ""
    parameters: Parameters
    sources: int
    sinks: int
    ordered: bool = True
    stages: int
    zero_load_cycles: int = 0
    lengths: tuple[int, int] = (1, 1)
    classes: int = 1
    longest_delay: int = 0
    drops: bool = False
    resubmits: bool = False
    broadcasts: bool = False
    has_memory: bool = False
    terminal_kind: str = "terminal"
    rearrangeable: bool = False
    wiring_plan: MultistagePlan | None = None
    relation: Relation | None = None
    restarts: bool = True
    reset_cycles: int = 1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "parameters_type" in cls.__dict__:
            cls.__signature__ = inspect.signature(cls.parameters_type)
            if about := cls.__dict__.get("__doc__"):
                cls.__doc__ = with_parameters(about, cls.parameters_type)

    def __init__(self, *values: Any, family: str = "", **named: Any) -> None:
        self.parameters = self._checked(*values, **named)
        self._set_up()
        self.zero_load_cycles = self.zero_load_cycles or self.stages
        if family:
            self.family = family
        super().__init__(self._joined)

    def _checked(self, *values: Any, **named: Any) -> Parameters:
        """The record of the constructor's arguments."""
        named = self.parameters_type.named(named)
        try:
            inspect.signature(self.parameters_type).bind(*values, **named)
        except TypeError as error:
            known = [about.name for about in self.parameters_type.described()]
            meant = (nearest(name, known) for name in named if name not in known)
            raise InvalidType(f"{type(self).__name__}(): {error}{next(meant, '')}") from None
        return self.parameters_type(*values, **named)

    @abstractmethod
    def _set_up(self) -> None:
        """Set all attributes, from `parameters`."""

    @cached_property
    def described(self) -> Relation | None:
        """Its `relation`, or that of the boxes of its `wiring_plan`, if either is known."""
        if self.relation is None and self.wiring_plan is not None:
            return MultistageGraph(self.wiring_plan)
        return self.relation

    @property
    def ports(self) -> int:
        """Number of terminals, if all send and receive.

        To set it sets both numbers.

        Raises
        ------
        InvalidValue
            If the numbers differ, when it is read.
        """
        return equal_ports(self.sources, self.sinks)

    @ports.setter
    def ports(self, ports: int) -> None:
        self.sources = self.sinks = ports

    @abstractmethod
    def _joined(self) -> Fabric:
        """The network between its own boundary ports."""

    def altered(self, **parameters: Any) -> Self:
        """The same network with other values for some parameters.

        Its family stays the same, unless one of these parameters distinguishes families.

        Parameters
        ----------
        **parameters : Any
            The new values, by name.

        Returns
        -------
        Self
            A network of the same class.
        """
        unlisted = {about.name for about in self.parameters.described() if not about.listed}
        family = "" if unlisted & parameters.keys() else self.family
        return type(self)(family=family, **self.parameters | parameters)

    def __str__(self) -> str:
        """Family and parameters, in the words of `build`."""
        return f"{self.family} {self.parameters_type.summary(self.chosen)}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the parameters, and a drawing."""
        return html_of("network", self)

    def __reduce__(self) -> tuple:
        return _again, (type(self), self.family, dict(self.parameters))

    @cached_property
    def digest(self) -> str:
        """All that this network is, to tell whether it is the same as another one.

        Its class and parameters say that, with the graph as it was read if that is in a file. If
        code of a user describes it, its cells and wires do, and this code says what is measured.
        """
        about = Digest(type(self), self.family, self.parameters)
        if about.foreign:
            plain = {
                name: v for name, v in self.parameters.items() if isinstance(v, str | float | int)
            }
            about = Digest(type(self), type(self.parameters), plain, self.fabric.digest)
        return str(about)

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
        """The formula for this network under uniform traffic, or None."""
        return None

    def check_class(self, source: int, destination: int) -> None:
        """Check that packets between two endpoints stay in their class.

        Parameters
        ----------
        source, destination : int
            Endpoints.

        Raises
        ------
        InvalidValue
            If they are of two classes.
        """
        if (source - destination) % self.classes:
            raise InvalidValue(
                f"Packets must stay in their class: endpoint {source} is of class "
                f"{source % self.classes}, and {destination} of {destination % self.classes}"
            )

    def mean_length(self, operations: Sequence[str] = ()) -> float:
        """Mean cycles that a packet occupies a link: its flits, if each takes one cycle.

        In a network with memory, of requests for these operations; all are equally frequent.

        Parameters
        ----------
        operations : Sequence[str]
            Names of operations of a network with memory; all if none are given.

        Returns
        -------
        float
            Cycles.
        """
        return geometric_mean(self.parameters.get("length", 1)) or sum(self.lengths) / 2

    @property
    @abstractmethod
    def code(self) -> AddressCode:
        """The code of the terminals' addresses, or of the numbers of memory modules."""

    @property
    def link_counts(self) -> LinkCounts | None:
        """How many links it has, or None if its links are not alike."""
        return None

    @property
    def fault_plan(self) -> MultistagePlan | None:
        """The plan whose stages, boxes and lines name the places of faults, or None."""
        return None

    def tables_around(self, dead: Collection[Pin]) -> Mapping[str, Mapping[str, Sequence[int]]]:
        """Routing tables that lead around dead links: memories by cell and name.

        They may be written into a network in which no packet is (`levels`).

        Parameters
        ----------
        dead : Collection[Pin]
            The outputs that drive them. Both directions of a link are avoided.

        Returns
        -------
        Mapping[str, Mapping[str, Sequence[int]]]
            By the name of a cell and of a memory in it: its new words.

        Raises
        ------
        ValueError
            If this network has no tables that can be replaced, a terminal can't be reached, or
            packets could deadlock.
        """
        raise InvalidValue(f"Network must have tables=rewritable, which {self.family!r} has not")

    @property
    def levels(self) -> Sequence[tuple[str, str]]:
        """The registers, by cell and name, that are all 0 if no packet is in its queues.

        Raises
        ------
        ValueError
            If the network does not show how full its queues are.
        """
        raise InvalidValue(f"Network {self.family!r} does not show the levels of its queues")

    def single_paths(self) -> MultistagePlan:
        """The plan of boxes with one path per pair of terminals, on which permutations are set up.

        Returns
        -------
        MultistagePlan
            Stages, boxes, and the lines between them.

        Raises
        ------
        ValueError
            If this network has no such plan.
        """
        raise InvalidValue(f"Network must be a multistage network, not {self.family!r}")

    def rearranged(self, destinations: Permutation) -> BoxSettings:
        """The settings of the boxes of a rearrangeable network that pass a permutation.

        Parameters
        ----------
        destinations : Permutation
            For each source the terminal that it sends to, or None.

        Returns
        -------
        BoxSettings
            For each box, the output of each of its inputs.

        Raises
        ------
        ValueError
            If it is not a permutation of the terminals, parameters do not allow it, or the network
            is not rearrangeable.
        """
        raise InvalidValue(f"Network must be rearrangeable, not {self.family!r}")

    @property
    def undivided(self) -> Partition:
        """All terminals in one subnetwork.

        To halve it makes further partitions.
        """
        return Partition.whole(self.code)

    @abstractmethod
    def confinement(self) -> Confinement:
        """What keeps packets, or requests, inside their subnetwork.

        In a network with memory a subnetwork has processors, and the memory modules of their
        numbers.

        Returns
        -------
        Confinement
            The interface that is placed at each terminal, and what it needs.

        Raises
        ------
        ValueError
            If it can't be partitioned.
        """

    def moves(self, destination: int) -> Mapping[Pin, Collection[Pin]]:
        """The channels on which a packet for a terminal may wait, and those that it may wait for on
        each.

        For each output that a header for the terminal may use, these are the outputs that it may
        take next, as `graphs.routing.deadlock` needs them.

        Parameters
        ----------
        destination : int
            The terminal; in a network with memory, the memory module.

        Returns
        -------
        Mapping[Pin, Collection[Pin]]
            By the output of a cell, outputs of cells.

        Raises
        ------
        ValueError
            If its packets do not wait for channels.
        """
        raise InvalidValue(f"Deadlock can be checked for packet networks only, not {self.family}")

    def is_escape(self, channel: Pin) -> bool:
        """Whether this is an escape channel; all are, unless headers have a choice.

        Parameters
        ----------
        channel : Pin
            The output that drives the channel.

        Returns
        -------
        bool
            False only if a header can leave its queue by another channel.
        """
        return True

    def lane(self, output: Pin) -> Lane:
        """The direction and virtual channel of the link that an output of a cell drives.

        It is needed only where the ends of the link do not determine it.

        Parameters
        ----------
        output : Pin
            The output.

        Returns
        -------
        Lane
            Direction in words, and number of the channel.
        """
        return _ONLY_LANE

    def joins_switches(self, output: Pin) -> bool:
        """Whether the wires that an output of a cell drives are a link between two switches.

        A link of several cycles, or one through a bypass, is so at one of its cells only.

        Parameters
        ----------
        output : Pin
            The output, which leads to no terminal.

        Returns
        -------
        bool
            False if it leads to or from what stands between a switch and its terminals, or goes on
            with a link that is one already.
        """
        return True

    def path(self, source: int, destination: int) -> list[Pin]:
        """The outputs of cells on the path of a packet between two terminals.

        In a network with memory it is the path of a request from a processor to a memory module.
        Where there are several paths, it is the first, or the one that a packet takes if all are
        free. Interfaces at the terminals, such as one that resends packets, are not included.

        Parameters
        ----------
        source : int
            The terminal that sends.
        destination : int
            The terminal that receives, or the memory module.

        Returns
        -------
        list[Pin]
            One output for each cell, in order.

        Raises
        ------
        TypeError, ValueError
            If there are no such terminals.
        """
        source = check_integer("Source", source, 0, self.sources - 1)
        return self._path(source, check_integer("Destination", destination, 0, self.sinks - 1))

    @abstractmethod
    def _path(self, source: int, destination: int) -> list[Pin]:
        """`path`, of terminals that there are."""

    @property
    def layout(self) -> Layout:
        """Where a drawing shows its cells and terminals: by default, linked cells are close."""
        return fabric_layout(self.fabric)

    @cached_property
    def diagram(self) -> Diagram:
        """The network as a picture: nodes, the lines between them, and its terminals."""
        return arranged(str(self), self.fabric, self.layout, self.wires)

    @cached_property
    def wires(self) -> dict[Pin, Wire]:
        """The wires of each stream inside the network, by the output that drives it.

        Their names are those of links in results.
        """
        found = streams(self.fabric).each()
        inside = ((driver, receiver) for driver, receiver in found if driver.cell is not None)
        return named_wires(self.fabric, inside, self.lane, self.terminal_kind)

    def statistics(self, readings: Readings, window: Window) -> dict[str, Any]:
        """The statistics of a window other than packets and latencies.

        By default, of each statistic that meters count, the sum of the events in the window, or
        the `mean` and the `max` of the levels.

        Parameters
        ----------
        readings : Readings
            What the meters count that this network's cells declare.
        window : Window
            The cycles and packets that they were counted in.

        Returns
        -------
        dict[str, Any]
            Numbers, lists and dictionaries, by the name of the statistic.
        """
        return {
            name: window.levels(counts)
            if "max" in next(iter(counts))
            else sum(each["measured"] for each in counts)
            for name, counts in ((name, cells.values()) for name, cells in readings.items())
            if name not in _ACCOUNTED
        }

    @staticmethod
    def statistics_lines(statistics: Mapping[str, Any]) -> list[str]:
        """Lines of text that describe the results of `statistics`.

        Parameters
        ----------
        statistics : Mapping[str, Any]
            What `statistics` returned.

        Returns
        -------
        list[str]
            The lines.
        """
        return [f"{name}: {value}" for name, value in statistics.items()]


def _again(kind: type[Network], family: str, parameters: dict[str, Any]) -> Network:
    """Rebuild a pickled network: only its parameters are stored."""
    return kind(family=family, **parameters)
