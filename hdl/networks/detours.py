# amaranth: UnusedElaboratable=no
"""The cells at terminals whose packets go by way of an intermediate terminal."""

from collections.abc import Mapping, Sequence

from ..fabric.cell import Cell, CellType
from ..fabric.fabric import Fabric, Scope
from ..fabric.pins import Pin
from ..graphs.routing.relation import Relation
from ..links.packet import Packet
from ..primitives.random_bits import scattered_seed
from ..routers.detour import DetourEnd, LeastDelayDetour, RandomDetour
from ..switch.shape import RouterShape
from .network_records import Terminals

__all__ = ["place_detours"]


def place_detours(
    fabric: Fabric | Scope,
    relation: Relation,
    shapes: Sequence[RouterShape],
    packet: Packet,
    inner: Terminals,
    levels: Mapping[tuple[int, int], Pin],
    depth: int,
) -> Terminals:
    """Place the cells `detour_{terminal}` and `end_{terminal}`; returns the terminals outside.

    Parameters
    ----------
    fabric : Fabric or Scope
    relation : Relation
        With `phases`.
    shapes : Sequence[RouterShape]
        The shape of each node's router.
    packet : Packet
        The packet at terminals.
    inner : Terminals
        Those of the routers, with `detoured(packet)`.
    levels : Mapping
        For each node and output of its router, the number of flits in the queue behind it.
    depth : int
        Most of them.
    """
    phases = relation.phases
    assert phases is not None
    end = CellType(DetourEnd, packet=packet)
    inputs, outputs = [], []
    for terminal, (entry, exit_) in enumerate(zip(*inner)):
        name, last = f"detour_{terminal}", f"end_{terminal}"
        node = relation.graph.homes[terminal]
        straps = {"seed": scattered_seed(terminal)}
        if relation.detour == "random":
            kind = CellType(RandomDetour, packet=packet, terminals=relation.ports)
            fabric.place(Cell(name, kind, straps))
        else:
            kind = _least_delay(phases, shapes[node], packet, depth)
            straps["own"] = terminal
            fabric.place(Cell(name, kind, straps, _rows(phases, shapes[node], terminal)))
            for number, channel in enumerate(_channels(shapes[node])):
                fabric.link(levels[node, channel], Pin(name, ("level", number)))
        fabric.place(Cell(last, end))
        fabric.link(Pin(name, ("o",)), entry)
        fabric.link(exit_, Pin(last, ("i",)))
        inputs.append(Pin(name, ("i",)))
        outputs.append(Pin(last, ("o",)))
    return Terminals(inputs, outputs)


def _channels(shape: RouterShape) -> list[int]:
    """The outputs that are channels of links; they come first."""
    return [j for j, output in enumerate(shape.outputs) if not output.is_terminal]


def _least_delay(
    phases: tuple[Relation, Relation], shape: RouterShape, packet: Packet, depth: int
) -> CellType:
    links = tuple(link for link in shape.links if not shape.outputs[link[0]].is_terminal)
    return CellType(
        LeastDelayDetour,
        packet=packet,
        terminals=phases[1].ports,
        links=links,
        depth=depth,
        hops=_most(phases),
    )


def _most(phases: tuple[Relation, Relation]) -> int:
    return max(max(map(max, phase.lengths)) for phase in phases)


def _rows(
    phases: tuple[Relation, Relation], shape: RouterShape, terminal: int
) -> dict[str, tuple[int, ...]]:
    """The contents of the memories of a `LeastDelayDetour`."""
    bits = _most(phases).bit_length()
    first, second = phases
    size = 1 << (second.ports - 1).bit_length()

    def row(phase: Relation, to: int) -> int:
        path = phase.path(terminal, to)
        number = 0
        if len(path) > 1:
            output = shape.output((path[0].port, path[0].number))
            number = next(n for n, link in enumerate(shape.links) if output in link)
        return number << bits | len(path) - 1

    onward = [0] * (size * size)
    for via, lengths in enumerate(second.lengths):
        onward[via * size : via * size + len(lengths)] = lengths
    terminals = range(second.ports)
    return {
        "direct": tuple(row(second, to) for to in terminals),
        "detour": tuple(row(first, to) for to in terminals),
        "onward": tuple(onward),
    }
