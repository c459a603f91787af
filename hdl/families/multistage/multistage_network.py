"""The multistage cube network and its equivalents, in any of the switching modes of `SWITCHES`."""

from collections.abc import Callable, Collection
from typing import Any, ClassVar

from ...boxes.unbuffered import later_bits, verdict_delay
from ...fabric.cell import CellType
from ...fabric.errors import InvalidValue
from ...fabric.fabric import Fabric, Scope
from ...fabric.layout import Layout
from ...fabric.pins import Pin
from ...fabric.wires import Lane
from ...graphs.mask_rule import MaskRule
from ...graphs.plans.extra_stage import (
    Configuration,
    ExtraStagePlan,
    extra_stage_plan,
    parse_faults,
)
from ...graphs.plans.multistage import MultistagePlan
from ...graphs.plans.named_plans import ALIASES, PLANS
from ...links.circuit_link import CircuitLink
from ...links.packet import Packet
from ...networks.channel_model import ChannelModel, cycles_of_flit
from ...networks.family import Family, Group
from ...networks.network_records import LinkCounts, Terminals, Theory
from ...networks.packet_network import PacketNetwork
from ...networks.stage_columns import place_columns
from ...networks.stage_layout import Part, stage_layout
from ...primitives.random_bits import scattered_seed
from ...routers.credit_link import CreditLink
from ...terminals.circuit_parity import CircuitParityChecker
from ...terminals.parity import Granularity, place_parity, protected
from .ends import chosen_straps, place_copies, place_ends
from .extra_stage_cells import widened
from .extra_stage_network import Controls, Kind, controls, place_choice, place_stages
from .multistage_parameters import MultistageParameters, StageParameters

__all__ = ["FAMILIES", "MultistageNetwork"]


class MultistageNetwork(PacketNetwork):
    """A b^n-terminal multistage network of b x b switches (Siegel et al., III to VI).

    Stages may also have switches of different radices, and the number of terminals is then their
    product. Every path passes n switches; an unblocked header takes n cycles, and a packet of c
    flits takes n + c - 1. Box x of stage s is the cell `box_{s}_{x}` (`box_{c}_{s}_{x}` in copy c
    of a replicated network). All boxes of a stage have the same type, and so do all boxes of one
    radix unless the network is dilated, since a packet's tag contains all that they need.

    With an extra stage (`graphs.plans.extra_stage`) there are n + 1 stages, one of which is
    bypassed unless there are faults to avoid.

    Attributes
    ----------
    plan : MultistagePlan
        The wiring of the boxes.
    configuration : Configuration or None
        The configuration of the extra stage, if there is one.
    radices : tuple[int, ...]
        Of the boxes of each stage that is in use.
    boxes : list[CellType]
        The type of the boxes of each stage.

    Members
    -------
    i : In(stream.Signature(packet)).array(sources)
    o : Out(stream.Signature(packet)).array(sinks)

    Examples
    --------
    >>> from multicube.hdl import MultistageNetwork
    >>> network = MultistageNetwork(8, wiring="omega")
    >>> network.stages, len(network.boxes)
    (3, 3)
    """

    parameters_type: ClassVar[type[StageParameters]] = MultistageParameters
    parameters: StageParameters
    isolates = True
    plan: MultistagePlan
    radices: tuple[int, ...]
    configuration: Configuration | None = None

    def _set_up(self) -> None:
        given = self.parameters
        assert given.resubmit != "auto"  # resolved by the record
        self.family = given.plan.name
        self.lengths = given.lengths
        self.longest_delay = given.resubmit
        self.drops = given.rejects or given.parity != "none"
        self.resubmits = given.resubmit > 0
        self.broadcasts = bool(given.broadcast)
        # Endpoints of several classes share the wires of their terminal.
        self.transparent = given.switching.circuits or given.classes > 1
        self.flits = given.switching.has_flits(self.lengths[1])
        self.ordered = given.replication == 1 and given.switching.keeps_order(given)
        if given.extra_stage:
            assert isinstance(given, MultistageParameters)
            assert given.ports != "auto"  # resolved by the record
            self.plan = plan = extra_stage_plan(given.ports, given.radix, given.wiring)
            self.configuration = plan.configure(parse_faults(given.faults))
            hops = plan.path(0, 0, self.configuration)
            self.radices = tuple(plan.radices[hop.stage] for hop in hops)
            # A broadcast may take a different path than the packets for one of its outputs.
            self.ordered = not (self._has_two_paths and self.broadcasts)
        else:
            self.plan = given.plan
            self.wiring_plan = self.plan if given.classes == 1 else None
            self.radices = self.plan.radices
        self.classes = given.classes
        self.sources = self.plan.sources * self.classes
        self.sinks = self.plan.sinks * self.classes
        self.stages = len(self.radices)
        self.zero_load_cycles = given.switching.header_cycles(given, self.stages)
        self.zero_load_cycles += (self.stages - 1) * (given.decision + given.latency - 2)
        tags = self.plan.tags(given.routing)
        self.tags = tags if self.classes == 1 else tags.with_classes(self.classes)
        self.boxes = self._boxes(self.packet)
        for box in dict.fromkeys(self.boxes):
            box.build()  # An invalid box must be rejected now, not during elaboration.

    @property
    def radix(self) -> int:
        """The radix of all boxes.

        Raises
        ------
        ValueError
            If stages differ.
        """
        return self.plan.radix

    @property
    def extra_plan(self) -> ExtraStagePlan:
        """The plan of a network with an extra stage.

        Raises
        ------
        ValueError
            If it has none.
        """
        if not isinstance(self.plan, ExtraStagePlan):
            raise InvalidValue("Network must have an extra stage")
        return self.plan

    @property
    def _has_two_paths(self) -> bool:
        """Whether both outer stages of an Extra Stage Cube are in use."""
        used = self.configuration
        return used is not None and not (used.bypass_extra or used.bypass_last)

    @property
    def mask_rule(self) -> MaskRule | None:
        if self.configuration is None:
            return None
        return self.extra_plan.mask_rule(self.configuration, self.tags.routing)

    @property
    def theory(self) -> Theory | None:
        if self._has_two_paths:
            return None  # The loads of links are unequal.
        if self.parameters.has_links:
            return None
        return self.parameters.switching.theory(self.parameters, self.radices)

    @property
    def link_counts(self) -> LinkCounts:
        """The number of links between stages, without a bisection, since boxes belong to no
        terminal."""
        lines = sum(code.count for code in self.plan.leaving[:-1])
        return LinkCounts(lines * self.parameters.dilation * self.parameters.replication)

    def lane(self, output: Pin) -> Lane:
        given = self.parameters
        inside = self.joins_switches(output) or str(output.cell).startswith("link_")
        if given.dilation > 1 or given.lanes == 1 or not inside:
            return Lane()
        return Lane(channel=int(output.path[1]) % given.lanes)

    def joins_switches(self, output: Pin) -> bool:
        kind, *numbers = str(output.cell).split("_")
        if kind == "bypass" and output.path[0] == "o":
            return int(numbers[0]) == 0
        first = 0 if self.configuration is None else 1
        return kind == "box" and first <= int(numbers[-2]) < len(self.plan.stages) - 1

    @property
    def fault_plan(self) -> MultistagePlan | None:
        return self.plan if self.parameters.replication == self.classes == 1 else None

    def single_paths(self) -> MultistagePlan:
        single_paths = {"dilation": 1, "replication": 1, "extra_stage": 0, "classes": 1}
        for name, single in single_paths.items():
            if (value := getattr(self.parameters, name)) != single:
                raise InvalidValue(
                    f"Permutations need one path between two terminals: {name} must be "
                    f"{single}, not {value}"
                )
        return self.plan

    def _boxes(self, packet: Packet) -> list[CellType]:
        """The boxes of each stage, for packets of this layout at the terminals."""
        boxes = self.parameters.switching.boxes(self.parameters, self._inside(packet), self.plan)
        equal: dict[CellType, CellType] = {}  # equal types share what is known of their ports
        return [equal.setdefault(box, box) for box in boxes]

    def _protected(self, packet: Packet) -> Packet:
        """The packet with its parity, if any."""
        parity = self.parameters.parity
        return packet if parity == "none" else protected(packet, parity)

    def _inside(self, packet: Packet) -> Packet:
        """The packet inside the network, where it may have one more digit and parity."""
        if self.configuration is None:
            return self._protected(packet)
        if self.parameters.switching.circuits:
            return self._widened(self._protected(packet))
        return self._protected(self._widened(packet))

    def _widened(self, packet: Packet) -> Packet:
        """The packet with the digit of the extra stage."""
        return widened(packet, self.tags.tag_code.widths[0])

    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        if self.configuration is None:
            return self.place_controlled(fabric, None, packet)
        return self.place_controlled(fabric, controls(self.extra_plan, self.configuration), packet)

    def place_controlled(
        self, fabric: Fabric | Scope, controls: Controls | None, packet: Packet | None = None
    ) -> Terminals:
        """Add the cells and links to a fabric, with an extra stage that is configured from outside.

        Parameters
        ----------
        fabric : Fabric or Scope
            The fabric.
        controls : Controls or None
            The configuration of the extra stage: constants, or pins that drive it; None without
            one.
        packet : Packet, optional
            What its links carry: a result of `packet_of`; by default its own layout.

        Returns
        -------
        Terminals
            For each source the pin that it sends to, and for each sink the pin that it gets packets
            from.
        """
        given = self.parameters
        packet = packet or self.packet
        boxes = self._boxes(packet)
        # With circuits, parity is outside, in the words that pass through them; with packets it is
        # inside an extra stage, computed over the tag that the boxes see.
        parity = None if given.parity == "none" else given.parity
        inside = parity if controls is not None and not given.switching.circuits else None
        if controls is not None:
            terminals = self._place_extra_stage(fabric, packet, boxes, controls, parity=inside)
        elif given.replication == 1:
            terminals = self._place_copy(fabric, boxes, "box", 0)
        else:
            copies = [
                self._place_copy(fabric, boxes, f"box_{copy}", copy, f"copy {copy}, ")
                for copy in range(given.replication)
            ]
            joined = given.switching.copies(given, self._protected(packet))
            terminals = place_copies(fabric, copies, *joined)
        # The interfaces see the packet with its parity, which is generated before them.
        ends = given.switching.ends(given, self._protected(packet), self.tags, self.stages)
        if ends is not None:
            terminals = place_ends(fabric, self.tags.code, terminals, ends)
        if parity is None or inside is not None:
            return terminals
        return Terminals(*place_parity(fabric, packet, parity, *terminals, self._checker(packet)))

    def _checker(self, packet: Packet) -> CellType | None:
        """The checker of the parity of circuits that carry several words."""
        if not packet.flits:
            return None
        size = {"parity": self.parameters.parity, "length": self.lengths[1]}
        return CellType(CircuitParityChecker, packet=packet, **size)

    def _place_copy(
        self, fabric: Fabric | Scope, boxes: list[CellType], name: str, copy: int, within: str = ""
    ) -> Terminals:
        """Place and link the boxes."""

        values: dict[str, Callable[[int, int], int]] = {
            "seed": lambda stage, box: scattered_seed(copy, stage, box),
            "delay": lambda stage, box: verdict_delay(self.stages, stage),
            "later": lambda stage, box: later_bits(self.tags.tag_code.widths, stage),
        }
        chosen = [chosen_straps(type_, values) for type_ in boxes]

        def straps(stage: int, box: int) -> dict[str, int]:
            return {name: value(stage, box) for name, value in chosen[stage].items()}

        columns = place_columns(
            fabric,
            self.plan,
            boxes,
            name=name,
            within=within,
            lanes=self.parameters.lanes,
            ends=self.classes,
            link=self._link(boxes),
            straps=straps,
        )
        return Terminals(*columns)

    def _link(self, boxes: list[CellType]) -> CellType | None:
        """The type of the links between stages, if they take several cycles."""
        given = self.parameters
        if given.latency == 1 or len(boxes) == 1:
            return None
        exit_ = boxes[0].parameters["exit"]
        guarded = exit_.switching != "wormhole"
        return CellType(
            CreditLink,
            packet=boxes[0].parameters["packet"],
            channels=given.lanes,
            latency=given.latency,
            depth=given.depth,
            guarded=tuple(range(given.lanes)) if guarded else (),
            needed=exit_.longest,
        )

    def _place_extra_stage(
        self,
        fabric: Fabric | Scope,
        packet: Packet,
        boxes: list[CellType],
        controls: Controls,
        *,
        parity: Granularity | None,
    ) -> Terminals:
        """Place the boxes of an Extra Stage Cube, the choice of paths, and parity between them."""
        kind = Kind()
        if self.parameters.switching.circuits:
            packet, kind = self._protected(packet), Kind(CircuitLink)
        links = place_stages(fabric, self.extra_plan, boxes, controls, kind)
        if parity is not None:
            links = place_parity(fabric, self._widened(packet), parity, *links)
        return Terminals(*place_choice(fabric, packet, self.tags, controls, *links, kind))

    @property
    def layout(self) -> Layout:
        given = self.parameters
        bypassed = () if self.configuration is None else (0, len(self.plan.stages) - 1)
        names = ["box"]
        if given.replication > 1:
            names = [f"box_{copy}" for copy in range(given.replication)]
        parts = [
            Part(self.plan, name, given.lanes, copy, bypassed=bypassed, ends=self.classes)
            for copy, name in enumerate(names)
        ]
        return stage_layout(parts, self.fabric)

    @property
    def channel_model(self) -> ChannelModel:
        given = self.parameters
        plain: dict[str, Any] = {"dilation": 1, "replication": 1, "broadcast": 0}
        plain |= {"extra_stage": 0, "channels": 1, "policy": "hold", "parity": "none"}
        queued = ("input-queued", "output-queued", "single-buffered")
        given.check_bounded(plain, (*queued, "wormhole", "cut-through", "store-and-forward"))
        depth, between = int(given.depth), given.between
        refills = given.refill == "yes" or (given.refill == "auto" and depth == 1)
        if given.switch == "output-queued":
            late = int(not refills)
            return ChannelModel(depth, (1, 1), lambda pin: 1, at_outputs=True, late=late)
        slow = depth < given.full_rate_depth and not (refills and self.classes == 1)

        def inside(pin: Pin) -> bool:
            return int(str(pin.cell).split("_")[1]) < self.stages - 1

        def cycles(pin: Pin) -> int | None:
            own = int(pin.path[1]) % self.classes
            return cycles_of_flit(self.classes, own, between, slow=slow and inside(pin))

        def latency(pin: Pin) -> int:
            return given.link_cycles(given.latency) if inside(pin) else 1

        if given.pipeline:
            depth += 2 * given.pipeline - 1  # at an output
        store = given.switch == "store-and-forward"
        header = given.header_cycles
        return ChannelModel(depth, self.lengths, cycles, latency, slow, header, store)

    def _path(self, source: int, destination: int) -> list[Pin]:
        if self.configuration is not None:
            hops = self.extra_plan.path(source, destination, self.configuration, self.tags.routing)
            return [Pin(f"box_{hop.stage}_{hop.box}", ("o", hop.output)) for hop in hops]
        name = "box" if self.parameters.replication == 1 else "box_0"
        links = [self.parameters.lanes] * (self.stages - 1) + [self.classes]
        terminal, own = divmod(destination, self.classes)
        return [
            Pin(f"{name}_{hop.stage}_{hop.box}", ("o", hop.output * links[hop.stage] + own))
            for hop in self.plan.path(source // self.classes, terminal)
        ]

    def _alternatives(self, channel: Pin) -> Collection[Pin]:
        """The links of a bundle, or the virtual channels of a link for one class."""
        lanes = self.parameters.lanes
        if lanes == self.classes or int(str(channel.cell).split("_")[-2]) == self.stages - 1:
            return (channel,)
        number = int(channel.path[1])
        first = number // lanes * lanes + number % self.classes
        return [Pin(channel.cell, ("o", n)) for n in range(first, first + lanes, self.classes)]


_PAPERS: dict[str, tuple[str, ...]] = {
    "omega": ("lawrie",),
    "baseline": ("wu-feng",),
    "indirect-cube": ("pease",),
    "flip": ("batcher",),
}
"""Where a wiring is from; see `Family.papers`."""

FAMILIES = tuple(
    Family(
        name,
        description,
        MultistageNetwork,
        Group.MULTISTAGE,
        {"wiring": name},
        aliases=tuple(alias for alias, plan in ALIASES.items() if plan == name),
        papers=_PAPERS.get(name, ()),
    )
    for name, (_, description) in PLANS.items()
)
