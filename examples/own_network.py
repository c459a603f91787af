"""Cube-connected cycles: a network of one's own (docs/how-to/own-network.md walks through it).

python examples/own_network.py 3 --load 0.1 --verilog ccc3.v
"""

from collections.abc import Iterator
from dataclasses import dataclass

import click
from multicube.hdl import write_verilog
from multicube.hdl.fabric.parameter_fields import integer
from multicube.hdl.graphs.graph import Channel, Link
from multicube.hdl.graphs.routing.relation import RoutedGraph
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.sim import simulate

AROUND, ACROSS = 0, 1  # the two ports of a node


@dataclass(frozen=True)
class CubeConnectedCycles(RoutedGraph):
    """A hypercube with a ring of n nodes at each corner (Preparata and Vuillemin, 1981).

    Node n w + p is at position p of corner w. Port 0 leads around to position p + 1, port 1 across
    to the corner whose bit p differs.

    A packet goes around, and across at each position p where bit p of its corner is wrong. In
    position 0 it changes to the next channel. So the channels that it takes only rise: by number,
    then by position, then from across to around. They can't wait for each other in a cycle.
    """

    n: int = integer(3, "dimensions: there are n 2^n nodes", least=3, most=10, title="Dimension n")

    @property
    def nodes(self) -> int:
        return self.n << self.n

    def links(self) -> Iterator[Link]:
        for node in range(self.nodes):
            corner, position = divmod(node, self.n)
            around = self.n * corner + (position + 1) % self.n
            across = self.n * (corner ^ 1 << position) + position
            yield Link(node, AROUND, around, AROUND, channels=3)
            yield Link(node, ACROSS, across, ACROSS, channels=3)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        corner, position = divmod(node, self.n)
        number = 0
        if came is not None:
            number = came.number + (came.port == AROUND and position == 0)
        if (corner ^ destination // self.n) >> position & 1:
            yield Channel(node, ACROSS, number)
        elif node != destination:
            yield Channel(node, AROUND, number)


class CubeConnectedCyclesNetwork(RoutedNetwork):
    """Its hardware."""

    description = CubeConnectedCycles
    family = "ccc"


@click.command()
@click.argument("n", type=int, default=3)
@click.option("--load", default=0.05, show_default=True, help="Packets per terminal and cycle.")
@click.option("--verilog", help="A file for its Verilog.")
def main(n: int, load: float, verilog: str | None) -> None:
    """Build cube-connected cycles, prove them free of deadlock, and simulate them."""
    network = CubeConnectedCyclesNetwork(n, length=4)
    click.echo(f"{network}: {network.ports} terminals, at most {network.stages - 1} links")
    result = simulate(network, load=load, cycles=4000, seed=1)
    click.echo(f"{result.delivered} packets, mean latency {result.latency.mean:.1f} cycles")
    if verilog:
        write_verilog(network.fabric, verilog)


if __name__ == "__main__":
    main()
