# amaranth: UnusedElaboratable=no
"""Clos and Benes networks of plain boxes, each set on its own from outside."""

from collections.abc import Iterator

from amaranth.hdl import ShapeLike
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Cell, CellType
from ...fabric.checks import check_kind
from ...fabric.fabric import Fabric
from ...fabric.fabric_component import FabricComponent
from ...fabric.payload_shape import check_payload
from ...fabric.pins import Path, Pin
from ...graphs.permutations import Permutation
from ...primitives.interchange_box import BoxState, InterchangeBox
from ..clos.rearrangeable_graph import RearrangeableGraph

__all__ = ["BoxControlledNetwork"]


class BoxControlledNetwork(FabricComponent):
    """A network of interchange boxes with a control for each box, which passes every permutation.

    `controls` computes the controls for a permutation, by the looping algorithm or its
    generalization (`graphs.schedules.looping`). There are no tags and no arbitration. Other states,
    such as broadcasts, can be set too.

    Combinational: latency 0, one box of each stage between `i` and `o`. There are no registers or
    handshakes. Box x of stage s is the cell `box_{s}_{x}`.

    Parameters
    ----------
    graph : RearrangeableGraph
        A `Clos` or a `Benes`.
    shape : ShapeLike
        Shape of the data.

    Members
    -------
    i : In(shape).array(ports)
    o : Out(shape).array(ports)
    state_{s} : In(BoxState).array(boxes)
        For each stage s of 2 x 2 boxes.
    select_{s} : In(range(inputs)).array(boxes, outputs)
        For each stage s of other boxes: the input that each output shows.
    enable_{s} : In(outputs).array(boxes)
        For each stage s of other boxes: bit j is 0 while output j is idle, and shows zero.

    Raises
    ------
    TypeError
        If `graph` is neither.

    Examples
    --------
    >>> from multicube.hdl import BoxControlledNetwork
    >>> from multicube.hdl.families.clos.benes_graph import Benes
    >>> network = BoxControlledNetwork(Benes(4), shape=8)
    >>> list(network.controls([3, 1, 2, 0]).values())
    [3, 0, 0, 3, 3, 0]
    """

    def __init__(self, graph: RearrangeableGraph, *, shape: ShapeLike) -> None:
        check_kind("Graph", graph, RearrangeableGraph, "a Clos or Benes network")
        check_payload(shape)
        self.graph = graph
        self.shape = shape
        self.ports = graph.ports
        inputs, outputs = [0] * graph.nodes, [0] * graph.nodes
        for link in graph.links():
            outputs[link.node] += 1
            inputs[link.peer] += 1
        for entry, exit_ in zip(graph.entries, graph.exits):
            inputs[entry.node] += 1
            outputs[exit_.node] += 1
        self._types = [
            CellType(InterchangeBox, radix=inputs[own[0]], shape=shape, outputs=outputs[own[0]])
            for own in graph.columns
        ]
        fabric = Fabric(
            {
                "i": In(shape).array(self.ports),
                "o": Out(shape).array(self.ports),
                **self._control_members(),
            }
        )
        self._place(fabric)
        super().__init__(fabric)

    def _control_members(self) -> dict:
        found = {}
        for stage, (own, type_) in enumerate(zip(self.graph.columns, self._types)):
            box = type_.build()
            assert isinstance(box, InterchangeBox)
            if box.has_state:
                found[f"state_{stage}"] = In(BoxState).array(len(own))
            else:
                select = In(range(box.radix)).array(len(own), box.outputs)
                found |= {f"select_{stage}": select}
                found |= {f"enable_{stage}": In(box.outputs).array(len(own))}
        return found

    def _place(self, fabric: Fabric) -> None:
        graph = self.graph
        names = {}
        for stage, own in enumerate(graph.columns):
            for x, node in enumerate(own):
                names[node] = f"box_{stage}_{x}"
                title = f"stage {stage}, box {x}"
                fabric.place(Cell(names[node], self._types[stage], title=title))
                for outside, inside in self._paths(stage, x):
                    fabric.link(Pin(None, outside), Pin(names[node], inside))
        for link in graph.links():
            output, entry = ("o", link.port), ("i", link.peer_port)
            fabric.link(Pin(names[link.node], output), Pin(names[link.peer], entry))
        for t, (first, last) in enumerate(zip(graph.entries, graph.exits)):
            # A terminal's port counts down from -1.
            fabric.link(Pin(None, ("i", t)), Pin(names[first.node], ("i", -1 - first.port)))
            fabric.link(Pin(names[last.node], ("o", -1 - last.port)), Pin(None, ("o", t)))

    def _paths(self, stage: int, x: int) -> Iterator[tuple[Path, Path]]:
        """The controls of a box: their paths in this network's signature, and in the box's."""
        for inside in self._types[stage].leaves:
            name, *rest = inside
            if name not in ("i", "o"):
                yield (f"{name}_{stage}", x, *rest), inside

    def controls(self, destinations: Permutation) -> dict[Path, int]:
        """The values of all control inputs that pass a permutation, by their path.

        Each input X is then shown at output `destinations[X]`. Inputs that send nothing (None) are
        shown at the unused outputs, in order.

        Parameters
        ----------
        destinations : Permutation
            For each input the output that shows it, or None.

        Returns
        -------
        dict[Path, int]
            A value for each control input.

        Raises
        ------
        ValueError
            If it is not a permutation of the terminals, or the network does not pass every one.
        """
        found = {}
        for stage, column in enumerate(self.graph.settings(destinations)):
            box = self._types[stage].build()
            assert isinstance(box, InterchangeBox)
            for x, inputs in enumerate(column):
                values = box.controls(inputs)
                for outside, inside in self._paths(stage, x):
                    found[outside] = values[inside]
        return found
