"""The multistage cube network and its topological equals, run in any of the ways of `SWITCHES`."""

from typing import Literal

from amaranth.hdl import ShapeLike

from ..checks import check_integer, check_limit
from ..fabric import Cell, CellType, Fabric, Pin
from ..interfaces.circuit import CircuitInitiator, CircuitResponder
from ..interfaces.retry import RetryInterface, RetryReceiver
from ..packet import Packet
from ..switches import InputQueuedSwitch, OutputQueuedSwitch
from ..switches.circuit import CircuitBox
from ..switches.random_bits import scattered_seed
from ..switches.rejecting_wormhole import RejectingWormholeSwitch
from ..switches.wormhole import CutThroughSwitch, WormholeSwitch
from ..topology.multistage import multistage_plan
from ..topology.tags import Routing
from .columns import Columns, place_columns
from .network import Network, Terminals
from .switching import POLICIES, QUEUES, REFILLS, SWITCHES, parse_lengths, resolve_depth

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
        self.boxes = [self._box()] * self.stages
        self.ordered = replication == 1 and not (switch == "unbuffered" and self.resubmits)
        super().__init__()

    def _check_combination(self) -> None:
        """Raise ValueError if a parameter does not go with the others."""
        given = self.parameters
        switch = given["switch"]
        neutral = {"dilation": 1, "replication": 1, "resubmit": 0, "broadcast": 0, "refill": "auto"}
        neutral["queues"] = "input"
        changed = [name for name, value in neutral.items() if given[name] != value]
        for name in changed:
            if name not in SWITCHES[switch].options:
                raise ValueError(
                    f"Parameter {name} must be {neutral[name]} with switch={switch}, "
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
                        f"Parameter {name} must be {neutral[name]} with resubmission, "
                        f"not {given[name]}"
                    )
        if "broadcast" in changed and given["radix"] & given["radix"] - 1:
            raise ValueError(
                f"Broadcast masks need a radix that is a power of two, not {given['radix']}"
            )

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
        columns = place_columns(fabric, self.plan, self.boxes)
        if self.parameters["switch"] == "circuit":
            terminals = self._circuit_ends(fabric, columns)
        elif self.parameters["policy"] == "drop":
            terminals = self._rejecting_ends(fabric, columns)
        else:
            return Terminals(columns.inputs, columns.outputs)
        if self.drops:
            boxes = [name for name in fabric.cells if name.startswith("box_")]
            drops = [Pin(name, ("dropped",)) for name in boxes]
            return terminals._replace(drops=drops)
        return terminals

    def _circuit_ends(self, fabric: Fabric, columns: Columns) -> Terminals:
        """What makes circuits of packets, and packets of circuits."""
        initiator = CellType(
            CircuitInitiator, packet=self.packet, delay=self.parameters["resubmit"]
        )
        responder = CellType(CircuitResponder, packet=self.packet, tags=self.tags)
        return self._ends(fabric, columns, "initiator", initiator, "responder", responder)

    def _rejecting_ends(self, fabric: Fabric, columns: Columns) -> Terminals:
        """What keeps packets until they can't be rejected any more."""
        retry = CellType(
            RetryInterface,
            packet=self.packet,
            length_max=self.lengths[1],
            delay=self.parameters["resubmit"],
            stages=self.stages,
        )
        receiver = CellType(RetryReceiver, packet=self.packet)
        return self._ends(fabric, columns, "retry", retry, "receiver", receiver)

    def _ends(
        self,
        fabric: Fabric,
        columns: Columns,
        first: str,
        sender: CellType,
        last: str,
        receiver: CellType,
    ) -> Terminals:
        """Place a network interface at each end of the columns, by these names and types."""
        inputs, outputs = [], []
        for terminal, (entry, exit_) in enumerate(zip(columns.inputs, columns.outputs)):
            values = {"seed": scattered_seed(terminal), "address": self.tags.code.encode(terminal)}
            for name, type_ in ((first, sender), (last, receiver)):
                straps = {pin: value for pin, value in values.items() if (pin,) in type_.leaves}
                fabric.place(Cell(f"{name}_{terminal}", type_, straps))
            fabric.link(Pin(f"{first}_{terminal}", ("o",)), entry)
            fabric.link(exit_, Pin(f"{last}_{terminal}", ("i",)))
            inputs.append(Pin(f"{first}_{terminal}", ("i",)))
            outputs.append(Pin(f"{last}_{terminal}", ("o",)))
        return Terminals(inputs, outputs)

    def path(self, source: int, destination: int) -> list[Pin]:
        return [
            Pin(f"box_{hop.stage}_{hop.box}", ("o", hop.output))
            for hop in self.plan.path(source, destination)
        ]


def _check_choice(what: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{what} must be one of {', '.join(choices)}, not {value!r}")
