"""The multistage cube network and its topological equals, run in any of the ways of `SWITCHES`."""

from typing import Literal

from amaranth.hdl import ShapeLike

from ..checks import check_integer, check_limit, check_payload
from ..fabric import Fabric, Pin
from ..interfaces.extra_stage import widened
from ..interfaces.parity import PARITIES, place_parity, protected
from ..packet import Packet
from ..switches.circuit import POLICIES, CircuitLink
from ..switches.random_bits import scattered_seed
from ..switches.unbuffered import later_bits, verdict_delay
from ..topology.extra_stage import extra_stage_plan, parse_faults
from ..topology.multistage import multistage_plan
from ..topology.tags import Routing
from .boxes import box_types, end_types
from .columns import place_columns
from .extra_stage import Controls, Kind, controls, place_choice, place_stages
from .network import PacketNetwork, Terminals
from .switching import (
    NEUTRAL,
    OPTIONS,
    QUEUES,
    REFILLS,
    SWITCHES,
    parse_lengths,
    resolve_depth,
)
from .terminals import chosen_straps, place_copies, place_ends

__all__ = ["MultistageNetwork"]

LIMITS = {"ports": 2**16, "radix": 64, "dilation": 64, "replication": 64}
"""Largest values; beyond them elaboration takes hours."""


class MultistageNetwork(PacketNetwork):
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
        many cycles, a power of two. "auto" is 16 for wormhole, 8 for circuit, 0 for unbuffered.
    broadcast : int
        1 to give every packet a broadcast mask beside its tag.
    refill : "auto", "yes" or "no"
        Whether a slot freed in a cycle can be filled in it; "auto" is yes at depth 1 only.
    queues : "input" or "crosspoint"
        Cut-through: whether a box has a queue for each input, or for each pair of input and output.
    extra_stage : int
        1 for an Extra Stage Cube (`topology.extra_stage`): n + 1 stages, of which one is bypassed
        unless there are faults to avoid. Wiring cube, radix 2.
    parity : "none", "packet" or "byte"
        Whether packets carry parity inside the network; damaged ones are then discarded, and
        counted, instead of delivered. Packets of one flit.
    faults : str
        With an extra stage: what to avoid, as `topology.extra_stage.parse_faults` reads it.

    Attributes
    ----------
    plan : MultistagePlan
    configuration : Configuration or None
        How an extra stage is set.
    boxes : list[CellType]
        Of each stage.

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
        extra_stage: int = 0,
        parity: str = "none",
        faults: str = "",
    ) -> None:
        check_integer("Extra stage", extra_stage, 0, 1)
        if extra_stage and (wiring, radix) != ("cube", 2):
            raise ValueError(
                f"An extra stage needs wiring=cube and radix=2, not {wiring} and {radix}"
            )
        self.plan = (
            extra_stage_plan(ports) if extra_stage else multistage_plan(wiring, ports, radix)
        )
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
        check_payload(payload)
        check_integer("Hold limit", hold_limit, 1, 2**16)
        check_integer("Dilation", dilation, 1, LIMITS["dilation"])
        check_integer("Replication", replication, 1, LIMITS["replication"])
        check_integer("Resubmit", resubmit, 0, 2**16)
        check_integer("Broadcast", broadcast, 0, 1)
        _check_choice("Parity", parity, ("none", *PARITIES))
        if not isinstance(faults, str):
            raise TypeError(f"Faults must be text, not {faults!r}")
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
            "extra_stage": extra_stage,
            "parity": parity,
            "faults": faults,
        }
        self._check_combination()
        self.family = wiring
        self.ports = ports
        self.radix = radix
        self.packet = Packet(
            self.tags.code.width,
            payload,
            broadcast=bool(broadcast),
            flits=kind.flits and (switch != "circuit" or self.lengths != (1, 1)),
        )
        self.configuration = self.plan.configure(parse_faults(faults)) if extra_stage else None
        self.stages = len(self.plan.stages)
        if extra_stage:
            self.stages = len(self.plan.path(0, 0, self.configuration))
        self.drops = policy != "hold" or parity != "none"
        self.resubmits = resubmit > 0
        self.transparent = switch == "circuit"
        self.boxes = box_types(
            self.parameters, self._boxes_packet(), len(self.plan.stages), self.lengths[1]
        )
        for box in dict.fromkeys(self.boxes):
            box.build()  # What a box refuses, its network refuses when it is made, not later.
        self.ordered = replication == 1 and not (switch == "unbuffered" and self.resubmits)
        self.wiring_plan = None if extra_stage else self.plan
        self.isolates = True
        if self.configuration is not None:
            # With both of these stages in use, packets can leave the lines of their subnetwork.
            self.isolates = self.configuration.bypass_extra or self.configuration.bypass_last
            # A broadcast may take another of two paths than the packets for one of its outputs.
            self.ordered = self.isolates or not broadcast
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
        if "replication" in changed and given["policy"] == "drop" and switch != "unbuffered":
            raise ValueError(
                f"Parameter replication must be 1 with switch={switch} and policy=drop, "
                f"not {given['replication']}"
            )
        if given["faults"] and not given["extra_stage"]:
            raise ValueError(
                f"Faults can be avoided with extra_stage=1 only, not {given['faults']}"
            )
        if given["extra_stage"] and given["replication"] > 1:
            raise ValueError(
                f"Replication must be 1 with extra_stage=1, not {given['replication']}"
            )
        if given["parity"] != "none" and (
            given["switch"] in ("wormhole", "cut-through") or self.lengths != (1, 1)
        ):
            raise ValueError(f"Parity needs packets of one flit, not parity={given['parity']}")
        if "broadcast" in changed and given["radix"] & given["radix"] - 1:
            raise ValueError(
                f"Broadcast masks need a radix that is a power of two, not {given['radix']}"
            )

    def _protected(self, packet: Packet) -> Packet:
        """The packet with its parity, if there is one."""
        parity = self.parameters["parity"]
        return packet if parity == "none" else protected(packet, parity)

    def _boxes_packet(self) -> Packet:
        """The packet inside the network, where it may have one more digit and parity."""
        if not self.parameters["extra_stage"]:
            return self._protected(self.packet)
        if self.parameters["switch"] == "circuit":
            return widened(self._protected(self.packet))
        return self._protected(widened(self.packet))

    def place(self, fabric: Fabric) -> Terminals:
        if self.configuration is None:
            return self.place_controlled(fabric, None)
        return self.place_controlled(fabric, controls(self.plan, self.configuration))

    def place_controlled(self, fabric: Fabric, controls: Controls | None) -> Terminals:
        """As `place`, for a network whose extra stage, if any, is set in this way."""
        given = self.parameters
        packet = self._protected(self.packet)
        if controls is not None:
            terminals = self._place_extra_stage(fabric, controls)
        elif given["replication"] == 1:
            terminals = self._place_copy(fabric, "box", 0)
        else:
            copies = range(given["replication"])
            placed = [self._place_copy(fabric, f"box_{copy}", copy) for copy in copies]
            terminals = place_copies(fabric, packet, placed, drops=given["policy"] != "hold")
        ends = end_types(given, packet, self.tags, self.stages, self.lengths[1])
        if ends is not None:
            links = terminals.inputs, terminals.outputs
            inputs, outputs = place_ends(fabric, self.tags.code, *links, ends)
            terminals = terminals._replace(inputs=inputs, outputs=outputs)
        if given["parity"] == "none" or terminals.corrupted:
            return terminals
        links = terminals.inputs, terminals.outputs
        inputs, outputs, corrupted = place_parity(fabric, self.packet, given["parity"], *links)
        return terminals._replace(inputs=inputs, outputs=outputs, corrupted=corrupted)

    def _place_copy(self, fabric: Fabric, name: str, copy: int) -> Terminals:
        """Place and link the boxes."""

        def straps(stage: int, box: int) -> dict[str, int]:
            code = self.tags.code
            values = {
                "seed": scattered_seed(copy, stage, box),
                "delay": verdict_delay(self.stages, stage),
                "later": later_bits(code.width, code.digit_bits, stage),
            }
            return chosen_straps(self.boxes[stage], values)

        begin = len(fabric.cells)
        columns = place_columns(
            fabric,
            self.plan,
            self.boxes,
            name=name,
            dilation=self.parameters["dilation"],
            straps=straps,
        )
        return Terminals(*columns, **self._drop_pins(list(fabric.cells)[begin:]))

    def _drop_pins(self, boxes: list[str]) -> dict[str, list[Pin]]:
        if self.parameters["policy"] == "hold":
            return {}
        if self.packet.broadcast:
            return {"losses": [Pin(box, ("lost",)) for box in boxes]}
        return {"drops": [Pin(box, ("dropped",)) for box in boxes]}

    def _place_extra_stage(self, fabric: Fabric, controls: Controls) -> Terminals:
        """Place the boxes of an Extra Stage Cube, and what chooses the paths.

        The parity of packet streams is made over the tag that the boxes see. Circuits have it
        outside, in the words that pass them; there the responder checks the destination.
        """
        parity = self.parameters["parity"]
        circuits = self.parameters["switch"] == "circuit"
        packet = self._protected(self.packet) if circuits else self.packet
        kind = Kind(CircuitLink) if circuits else Kind()
        begin = len(fabric.cells)
        links = place_stages(fabric, self.plan, self.boxes[0], controls, kind)
        drops = self._drop_pins(
            [name for name in list(fabric.cells)[begin:] if name.startswith("box_")]
        )
        corrupted: list[Pin] = []
        if parity != "none" and not circuits:
            *links, corrupted = place_parity(fabric, widened(packet), parity, *links)
        links = place_choice(fabric, packet, self.tags.routing, controls, *links, kind)
        return Terminals(*links, corrupted=corrupted, **drops)

    def path(self, source: int, destination: int) -> list[Pin]:
        """As in `Network`; of several copies, or links in a bundle, always the first."""
        if self.configuration is not None:
            hops = self.plan.path(source, destination, self.configuration)
            return [Pin(f"box_{hop.stage}_{hop.box}", ("o", hop.output)) for hop in hops]
        name = "box" if self.parameters["replication"] == 1 else "box_0"
        links = [self.parameters["dilation"]] * (self.stages - 1) + [1]
        return [
            Pin(f"{name}_{hop.stage}_{hop.box}", ("o", hop.output * links[hop.stage]))
            for hop in self.plan.path(source, destination)
        ]


def _check_choice(what: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{what} must be one of {', '.join(choices)}, not {value!r}")
