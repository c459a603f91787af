"""The multistage cube network and its topological equals, built from k x k packet switches."""

from amaranth.hdl import ShapeLike
from amaranth.lib.wiring import Component

from ..checks import check_integer, check_limit
from ..fabric import Cell, CellType, Fabric, Pin
from ..packet import Packet
from ..switches import InputQueuedSwitch, OutputQueuedSwitch
from ..topology.multistage import multistage_plan
from ..topology.tags import Routing
from .network import Network, Terminals

__all__ = ["SWITCHES", "MultistageNetwork"]

SWITCHES: dict[str, type[Component]] = {
    "input-queued": InputQueuedSwitch,
    "output-queued": OutputQueuedSwitch,
}
"""The kinds of switch that a multistage network can be made of, by name."""

LIMITS = {"ports": 2**16, "radix": 64, "depth": 2**16, "payload": 2**12}
"""Largest values; beyond them elaboration takes hours."""


class MultistageNetwork(Network):
    """A b^n-port multistage network of b x b packet switches (Siegel et al., III).

    Every path passes n switches; an unhindered packet takes n cycles. There is one path between
    two terminals, so packets of one flow keep their order. The box of stage s and number x is the
    cell `box_{s}_{x}`; all boxes are of one type, since a packet's tag tells them all they need.

    Parameters
    ----------
    ports : int
        Terminals, a power of the radix, at most 65,536.
    radix : int
        Ports of a switch, from 2 to 64.
    wiring : str
        One of `topology.multistage.PLANS`: cube, omega, baseline, indirect-cube, butterfly, flip.
    switch : str
        One of `SWITCHES`.
    depth : int
        Packets that fit into each queue, from 1 to 65,536.
    payload : ShapeLike
        Shape of the payload, or its width in bits, from 1 to 4,096.
    routing : "destination" or "xor"
        What the tag holds. XOR tags need a radix that is a power of two.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    ordered = True

    def __init__(
        self,
        ports: int = 8,
        *,
        radix: int = 2,
        wiring: str = "cube",
        switch: str = "output-queued",
        depth: int = 4,
        payload: ShapeLike = 16,
        routing: Routing = "destination",
    ) -> None:
        self.plan = multistage_plan(wiring, ports, radix)
        self.tags = self.plan.tags(routing)
        if switch not in SWITCHES:
            raise ValueError(f"Switch must be one of {', '.join(SWITCHES)}, not {switch!r}")
        check_integer("Depth", depth, 1)
        if isinstance(payload, int):
            check_integer("Payload", payload, 1)
            check_limit("Payload", payload, LIMITS["payload"])
        check_limit("Ports", ports, LIMITS["ports"])
        check_limit("Radix", radix, LIMITS["radix"])
        check_limit("Depth", depth, LIMITS["depth"])
        self.parameters = {
            "ports": ports,
            "radix": radix,
            "wiring": wiring,
            "switch": switch,
            "depth": depth,
            "payload": payload,
            "routing": routing,
        }
        self.family = wiring
        self.ports = ports
        self.radix = radix
        self.packet = Packet(self.tags.code.width, payload)
        self.stages = len(self.plan.stages)
        self.box = CellType(
            SWITCHES[switch], packet=self.packet, radix=radix, depth=depth, routing=routing
        )
        super().__init__()

    def place(self, fabric: Fabric) -> Terminals:
        plan = self.plan
        # pins[line]: where the line with this label, as the last column left it, comes from.
        inputs: list[Pin] = []
        pins: list[Pin] = []
        for s, stage in enumerate(plan.stages):
            for x in range(plan.boxes):
                fabric.place(Cell(f"box_{s}_{x}", self.box))
            entries: list[Pin] = []
            for label in range(plan.ports):
                box, port = plan.port(s, plan.relabel(label, stage.entry))
                entries.append(Pin(f"box_{s}_{box}", ("i", port)))
            if s == 0:
                inputs = entries
            else:
                for driver, entry in zip(pins, entries):
                    fabric.link(driver, entry)
            ports = [plan.port(s, label) for label in range(plan.ports)]
            pins = [Pin(f"box_{s}_{box}", ("o", port)) for box, port in ports]
        outputs = list(pins)
        for label, pin in enumerate(pins):
            outputs[plan.relabel(label, plan.exit)] = pin
        return Terminals(inputs, outputs)

    def path(self, source: int, destination: int) -> list[Pin]:
        return [
            Pin(f"box_{hop.stage}_{hop.box}", ("o", hop.output))
            for hop in self.plan.path(source, destination)
        ]
