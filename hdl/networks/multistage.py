"""The multistage cube network and its topological equals, run in any of the ways of `SWITCHES`."""

from collections.abc import Mapping
from typing import Literal

from amaranth.hdl import ShapeLike

from ..checks import check_integer, check_limit
from ..fabric import Cell, CellType, Fabric, Pin
from ..interfaces.circuit import CircuitInitiator, CircuitResponder
from ..interfaces.replication import Distributor, Merger
from ..interfaces.resubmission import Acceptor, Resubmitter
from ..interfaces.retry import RetryInterface, RetryReceiver
from ..packet import Packet
from ..switches import InputQueuedSwitch, OutputQueuedSwitch
from ..switches.circuit import CircuitBox
from ..switches.random_bits import scattered_seed
from ..switches.rejecting_wormhole import RejectingWormholeSwitch
from ..switches.unbuffered import UnbufferedSwitch, later_bits, verdict_delay
from ..switches.wormhole import CutThroughSwitch, WormholeSwitch
from ..topology.multistage import multistage_plan
from ..topology.tags import Routing
from .columns import place_columns
from .network import Network, Terminals
from .switching import (
    NEUTRAL,
    OPTIONS,
    POLICIES,
    QUEUES,
    REFILLS,
    SWITCHES,
    parse_lengths,
    resolve_depth,
)

__all__ = ["MultistageNetwork"]

LIMITS = {"ports": 2**16, "radix": 64, "payload": 2**12, "dilation": 64, "replication": 64}
"""Largest values; beyond them elaboration takes hours."""


class MultistageNetwork(Network):
    """A b^n-port multistage network of b x b switches (Siegel et al., III to VI).

    Every path passes n switches; an unhindered header takes n cycles, and a packet of c flits
    n + c - 1. The box of stage s and number x is the cell `box_{s}_{x}` (`box_{c}_{s}_{x}` in copy
    c of a replicated network); all boxes of a stage are of one type, and all of the network unless
    it is dilated, since a packet's tag tells them all they need.

    Parameters
    ----------
    ports : int
        Terminals, a power of the radix, at most 65,536.
    radix : int
        Ports of a switch, from 2 to 64.
    wiring : str
        One of `topology.multistage.PLANS`: cube, omega, baseline, indirect-cube, butterfly, flip.
    switch : str
        One of `switching.SWITCHES`.
    depth : int or "auto"
        Packets (wormhole, cut-through: flits) that fit into each queue, from 1 to 65,536. "auto"
        is 4, or twice the greatest length for cut-through, or what the switch has by definition.
    payload : ShapeLike
        Shape of the payload, or its width in bits, from 1 to 4,096.
    routing : "destination" or "xor"
        What the tag holds. XOR tags need a radix that is a power of two.
    length : int or str
        Flits of a packet, or "LOW:HIGH". Wormhole, cut-through and circuit.
    policy : "auto", "hold", "drop" or "modified-hold"
        What becomes of a blocked packet or request. Unbuffered switches drop, wormhole switches
        hold or drop, circuit switches can do all three.
    hold_limit : int
        Cycles for which "modified-hold" holds a request before it drops it.
    dilation : int
        Links in the place of each one between two stages. Unbuffered.
    replication : int
        Copies of the network, of which each packet takes one at random.
    resubmit : int or "auto"
        If not 0, a dropped packet is sent again by its source after a random delay of 1 up to so
        many cycles, a power of two. "auto" is 16 for wormhole and circuit, 0 for unbuffered.
    broadcast : int
        1 to give every packet a broadcast mask beside its tag.
    refill : "auto", "yes" or "no"
        Whether a slot freed in a cycle can be filled in it; "auto" is yes at depth 1 only.
    queues : "input" or "crosspoint"
        Cut-through: whether a box has a queue for each input, or for each pair of input and output.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above, or does not go with the switch.
    """

    def __init__(
        self,
        ports: int = 8,
        *,
        radix: int = 2,
        wiring: str = "cube",
        switch: str = "output-queued",
        depth: int | Literal["auto"] = "auto",
        payload: ShapeLike = 16,
        routing: Routing = "destination",
        length: int | str = 1,
        policy: str = "auto",
        hold_limit: int = 16,
        dilation: int = 1,
        replication: int = 1,
        resubmit: int | Literal["auto"] = "auto",
        broadcast: int = 0,
        refill: str = "auto",
        queues: str = "input",
    ) -> None:
        self.plan = multistage_plan(wiring, ports, radix)
        self.tags = self.plan.tags(routing)
        if switch not in SWITCHES:
            raise ValueError(f"Switch must be one of {', '.join(SWITCHES)}, not {switch!r}")
        kind = SWITCHES[switch]
        self.lengths = parse_lengths(length)
        if not kind.flits and self.lengths != (1, 1):
            raise ValueError(f"Length must be 1 with switch={switch}, not {length}")
        depth = resolve_depth(switch, depth, self.lengths[1])
        if policy == "auto":
            policy = kind.policies[0]
        _check_choice("Policy", policy, POLICIES)
        if policy not in kind.policies:
            allowed = " or ".join(kind.policies)
            raise ValueError(f"Policy must be {allowed} with switch={switch}, not {policy}")
        if resubmit == "auto":
            resubmit = 0 if policy == "hold" else kind.resubmit
        _check_choice("Refill", refill, REFILLS)
        _check_choice("Queues", queues, QUEUES)
        if isinstance(payload, int):
            check_integer("Payload", payload, 1)
            check_limit("Payload", payload, LIMITS["payload"])
        check_integer("Hold limit", hold_limit, 1, 2**16)
        check_integer("Dilation", dilation, 1, LIMITS["dilation"])
        check_integer("Replication", replication, 1, LIMITS["replication"])
        check_integer("Resubmit", resubmit, 0, 2**16)
        check_integer("Broadcast", broadcast, 0, 1)
        check_limit("Ports", ports, LIMITS["ports"])
        check_limit("Radix", radix, LIMITS["radix"])
        self.parameters = {
            "ports": ports,
            "radix": radix,
            "wiring": wiring,
            "switch": switch,
            "depth": depth,
            "payload": payload,
            "routing": routing,
            "length": length,
            "policy": policy,
            "hold_limit": hold_limit,
            "dilation": dilation,
            "replication": replication,
            "resubmit": resubmit,
            "broadcast": broadcast,
            "refill": refill,
            "queues": queues,
        }
        self._check_combination()
        self.family = wiring
        self.ports = ports
        self.radix = radix
        self.packet = Packet(
            self.tags.code.width, payload, broadcast=bool(broadcast), flits=kind.flits
        )
        self.stages = len(self.plan.stages)
        self.drops = policy != "hold"
        self.resubmits = resubmit > 0
        self.boxes = self._boxes()
        self.ordered = replication == 1 and not (switch == "unbuffered" and self.resubmits)
        super().__init__()

    def _check_combination(self) -> None:
        """Raise ValueError if a parameter does not go with the others."""
        given = self.parameters
        switch = given["switch"]
        changed = [name for name in OPTIONS if given[name] != NEUTRAL[name]]
        for name in changed:
            if name not in SWITCHES[switch].options:
                raise ValueError(
                    f"Parameter {name} must be {NEUTRAL[name]} with switch={switch}, "
                    f"not {given[name]}"
                )
        if "resubmit" in changed:
            if given["policy"] == "hold":
                raise ValueError(
                    f"Parameter resubmit must be 0 with policy=hold, not {given['resubmit']}"
                )
            if given["resubmit"] & given["resubmit"] - 1:
                raise ValueError(f"Resubmit must be a power of two, not {given['resubmit']}")
            for name in ("dilation", "replication", "broadcast"):
                if name in changed:
                    raise ValueError(
                        f"Parameter {name} must be {NEUTRAL[name]} with resubmission, "
                        f"not {given[name]}"
                    )
        if "broadcast" in changed and given["radix"] & given["radix"] - 1:
            raise ValueError(
                f"Broadcast masks need a radix that is a power of two, not {given['radix']}"
            )

    def _boxes(self) -> list[CellType]:
        """Of each stage."""
        given = self.parameters
        if given["switch"] != "unbuffered":
            return [self._box()] * self.stages
        inside = given["dilation"]
        return [
            CellType(
                UnbufferedSwitch,
                packet=self.packet,
                radix=self.radix,
                routing=given["routing"],
                dilation_in=1 if stage == 0 else inside,
                dilation_out=1 if stage == self.stages - 1 else inside,
                reject=self.stages if given["resubmit"] else 0,
            )
            for stage in range(self.stages)
        ]

    def _box(self) -> CellType:
        given = self.parameters
        common = {"packet": self.packet, "radix": self.radix, "routing": given["routing"]}
        queue = {
            "depth": given["depth"],
            "refill": {"auto": None, "yes": True, "no": False}[given["refill"]],
        }
        match given["switch"], given["policy"]:
            case "circuit", policy:
                limit = given["hold_limit"] if policy == "modified-hold" else 1
                return CellType(CircuitBox, policy=policy, hold_limit=limit, **common)
            case "wormhole", "drop":
                return CellType(RejectingWormholeSwitch, **common)
            case "wormhole", _:
                return CellType(WormholeSwitch, **common, **queue)
            case "cut-through", _:
                size = {"depth": given["depth"], "length": self.lengths[1]}
                return CellType(CutThroughSwitch, queues=given["queues"], **common, **size)
            case "output-queued", _:
                return CellType(OutputQueuedSwitch, **common, **queue)
            case _:
                return CellType(InputQueuedSwitch, **common, **queue)

    def place(self, fabric: Fabric) -> Terminals:
        number = self.parameters["replication"]
        if number == 1:
            return self._place_copy(fabric, "box", 0)
        copies = [self._place_copy(fabric, f"box_{copy}", copy) for copy in range(number)]
        return self._join(fabric, copies)

    def _place_copy(self, fabric: Fabric, name: str, copy: int) -> Terminals:
        """Place the boxes, and what belongs between them and the terminals."""

        def straps(stage: int, box: int) -> dict[str, int]:
            values = {
                "seed": scattered_seed(copy, stage, box),
                "delay": verdict_delay(self.stages, stage),
                "later": later_bits(self.tags.code.width, self.tags.code.digit_bits, stage),
            }
            return _straps(self.boxes[stage], values)

        begin = len(fabric.cells)
        inputs, outputs = place_columns(
            fabric,
            self.plan,
            self.boxes,
            name=name,
            dilation=self.parameters["dilation"],
            straps=straps,
        )
        boxes = list(fabric.cells)[begin:]
        ends = self._ends()
        if ends is not None:
            inputs, outputs = self._place_ends(fabric, inputs, outputs, *ends)
        if not self.drops:
            return Terminals(inputs, outputs)
        if self.packet.broadcast:
            return Terminals(inputs, outputs, losses=[Pin(box, ("lost",)) for box in boxes])
        return Terminals(inputs, outputs, drops=[Pin(box, ("dropped",)) for box in boxes])

    def _ends(self) -> tuple[tuple[str, CellType], tuple[str, CellType]] | None:
        """Name and type of the network interfaces in front of the columns and behind them."""
        packet, resubmit = self.packet, self.parameters["resubmit"]
        match self.parameters["switch"], self.parameters["policy"]:
            case "circuit", _:
                return (
                    ("initiator", CellType(CircuitInitiator, packet=packet, delay=resubmit)),
                    ("responder", CellType(CircuitResponder, packet=packet, tags=self.tags)),
                )
            case "wormhole", "drop":
                retry = {"length_max": self.lengths[1], "delay": resubmit, "stages": self.stages}
                return (
                    ("retry", CellType(RetryInterface, packet=packet, **retry)),
                    ("receiver", CellType(RetryReceiver, packet=packet)),
                )
            case "unbuffered", _ if resubmit:
                retry = {"stages": self.stages, "delay": resubmit}
                return (
                    ("resubmitter", CellType(Resubmitter, packet=packet, **retry)),
                    ("acceptor", CellType(Acceptor, packet=packet)),
                )
            case _:
                return None

    def _place_ends(
        self,
        fabric: Fabric,
        entries: list[Pin],
        exits: list[Pin],
        *ends: tuple[str, CellType],
    ) -> tuple[list[Pin], list[Pin]]:
        inputs, outputs = [], []
        for terminal, (entry, exit_) in enumerate(zip(entries, exits)):
            values = {
                "seed": scattered_seed(terminal),
                "address": self.tags.code.encode(terminal),
            }
            first, last = (
                fabric.place(Cell(f"{name}_{terminal}", type_, _straps(type_, values))).name
                for name, type_ in ends
            )
            fabric.link(Pin(first, ("o",)), entry)
            fabric.link(exit_, Pin(last, ("i",)))
            inputs.append(Pin(first, ("i",)))
            outputs.append(Pin(last, ("o",)))
        return inputs, outputs

    def _join(self, fabric: Fabric, copies: list[Terminals]) -> Terminals:
        """Lead each terminal to all copies, by a random choice, and back."""
        kind = {"packet": self.packet, "copies": len(copies)}
        distributor = CellType(Distributor, **kind)
        merger = CellType(Merger, policy="drop" if self.drops else "fair", **kind)
        inputs, outputs = [], []
        for terminal in range(self.ports):
            ends = []
            for name, type_ in (("distributor", distributor), ("merger", merger)):
                straps = _straps(type_, {"seed": scattered_seed(terminal, len(ends))})
                ends.append(fabric.place(Cell(f"{name}_{terminal}", type_, straps)).name)
            first, last = ends
            for number, copy in enumerate(copies):
                fabric.link(Pin(first, ("o", number)), copy.inputs[terminal])
                fabric.link(copy.outputs[terminal], Pin(last, ("i", number)))
            inputs.append(Pin(first, ("i",)))
            outputs.append(Pin(last, ("o",)))
        drops = [pin for copy in copies for pin in copy.drops]
        if self.drops:
            drops += [Pin(pin.cell, ("dropped",)) for pin in outputs]
        losses = [pin for copy in copies for pin in copy.losses]
        return Terminals(inputs, outputs, drops, losses)

    def path(self, source: int, destination: int) -> list[Pin]:
        """As in `Network`; of several copies, or links in a bundle, always the first."""
        name = "box" if self.parameters["replication"] == 1 else "box_0"
        links = [self.parameters["dilation"]] * (self.stages - 1) + [1]
        return [
            Pin(f"{name}_{hop.stage}_{hop.box}", ("o", hop.output * links[hop.stage]))
            for hop in self.plan.path(source, destination)
        ]


def _straps(type_: CellType, values: Mapping[str, int]) -> dict[str, int]:
    """Those of the values for which the type has an input."""
    return {name: value for name, value in values.items() if (name,) in type_.leaves}


def _check_choice(what: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{what} must be one of {', '.join(choices)}, not {value!r}")
