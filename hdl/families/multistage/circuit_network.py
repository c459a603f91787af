"""The multistage cube network and its equivalents as circuit-switching networks."""

from numbers import Integral

from amaranth.hdl import ShapeLike
from amaranth.lib.wiring import In, Out

from ...boxes.circuit import CircuitBox, Policy
from ...fabric.cell import CellType
from ...fabric.checks import check_integer, check_kind
from ...fabric.fabric import Fabric
from ...fabric.fabric_component import FabricComponent
from ...fabric.payload_shape import check_payload
from ...fabric.pins import Pin
from ...graphs.plans.named_plans import multistage_plan
from ...graphs.tags import Routing
from ...links.circuit_link import CircuitLink
from ...links.packet import Packet
from ...networks.stage_columns import place_columns

__all__ = ["CircuitNetwork"]


class CircuitNetwork(FabricComponent):
    """A b^n-terminal multistage network of circuit boxes, with bare circuit links at its terminals.

    It is for designs with their own network interfaces; `CircuitInitiator` and `CircuitResponder`
    convert the links to streams. A path through the n stages takes n cycles to set up if it meets
    no conflict: a request that rises at input S in cycle t is seen at output D in cycle t + n.

    Parameters
    ----------
    ports : int
        Terminals, a power of the radix.
    radix : int
        Inputs and outputs of a box.
    wiring : str
        One of `graphs.plans.named_plans.PLANS`: cube, omega, baseline, indirect-cube, butterfly,
        flip.
    payload : ShapeLike
        The content of a word besides the tag (and instead of it, once the path is set up).
    flits : bool
        Words have a bit `last`, which `CircuitInitiator` needs for packets of several words.
    reply : ShapeLike, optional
        A word of data from the destination to the source. None: there is no reply.
    routing : "destination", "xor" or "difference"
        The tag scheme. XOR tags need a radix that is a power of two.
    policy : "hold", "drop" or "modified-hold"
        What becomes of a request that does not get its output: it waits, it is rejected, or it is
        rejected after `hold_limit` cycles.
    hold_limit : int
        Cycles that a refused request waits with the policy "modified-hold", at least 1.
    broadcast : bool
        Headers have a broadcast mask, and circuits are trees.

    Attributes
    ----------
    plan : MultistagePlan
        The wiring of the boxes.
    tags : TagScheme
        How tags are computed.
    packet : Packet
        The layout of a word.
    box : CellType
        Type of all cells `box_{stage}_{number}`.

    Members
    -------
    i : In(CircuitLink(packet, reply)).array(ports)
    o : Out(CircuitLink(packet, reply)).array(ports)

    Raises
    ------
    TypeError, ValueError
        If a parameter has no such value, or two do not fit together.

    Examples
    --------
    >>> from multicube.hdl import CircuitNetwork
    >>> network = CircuitNetwork(8, payload=8)
    >>> len(network.path(0, 5))
    3
    """

    def __init__(
        self,
        ports: int = 8,
        *,
        radix: int = 2,
        wiring: str = "cube",
        payload: ShapeLike = 16,
        flits: bool = False,
        reply: ShapeLike | None = None,
        routing: Routing = "destination",
        policy: Policy = "hold",
        hold_limit: int = 16,
        broadcast: bool = False,
    ) -> None:
        check_kind("Policy", policy, str, "a word")
        hold_limit = check_integer("Hold limit", hold_limit, 1)
        for what, flag in (("Flits", flits), ("Broadcast", broadcast)):
            check_kind(what, flag, bool | int, "True or False")
        self.plan = multistage_plan(wiring, ports, radix)
        self.tags = self.plan.tags(routing)
        ports, radix = self.plan.ports, self.plan.radix
        if isinstance(payload, Integral):
            payload = check_integer("Payload", payload, 1)
        check_payload(payload)
        if reply is not None:
            check_payload(reply)
        self.ports = ports
        self.packet = Packet(self.tags.code.width, payload, flits=flits, broadcast=broadcast)
        self.reply = reply
        self.box = CellType(
            CircuitBox,
            packet=self.packet,
            reply=reply,
            radix=radix,
            routing=routing,
            policy=policy,
            hold_limit=hold_limit,
        )
        link = CircuitLink(self.packet, reply)
        fabric = Fabric({"i": In(link).array(ports), "o": Out(link).array(ports)})
        columns = place_columns(fabric, self.plan, [self.box] * len(self.plan.stages))
        for index, (entry, exit_) in enumerate(zip(columns.inputs, columns.outputs)):
            fabric.link(Pin(None, ("i", index)), entry)
            fabric.link(exit_, Pin(None, ("o", index)))
        super().__init__(fabric)

    def path(self, source: int, destination: int) -> list[Pin]:
        """The outputs of boxes that a circuit between two terminals holds.

        Parameters
        ----------
        source : int
            The terminal that asks for it.
        destination : int
            The terminal that it leads to.

        Returns
        -------
        list[Pin]
            One output for each stage.
        """
        return [
            Pin(f"box_{hop.stage}_{hop.box}", ("o", hop.output))
            for hop in self.plan.path(source, destination)
        ]
