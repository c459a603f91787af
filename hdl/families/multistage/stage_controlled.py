# amaranth: UnusedElaboratable=no
"""The flip network of STARAN and ASPRO: one control line for all boxes of a stage.

Siegel et al. call this individual stage control (VII-A). There are no routing tags and no
arbitration: n lines from a central controller set the whole network to one of 2^n permutations.
"""

from collections.abc import Sequence

from amaranth.hdl import Module, ShapeLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Cell, CellType
from ...fabric.checks import check_integer, check_limit
from ...fabric.errors import InvalidValue
from ...fabric.fabric import Fabric, Scope
from ...fabric.fabric_component import FabricComponent
from ...fabric.payload_shape import check_payload
from ...fabric.pins import Pin
from ...graphs.plans.multistage import MultistagePlan
from ...graphs.plans.named_plans import multistage_plan
from ...networks.stage_columns import Columns, place_columns
from ...primitives.interchange_box import BoxState, InterchangeBox
from .multistage_parameters import MOST_PORTS

__all__ = ["StageControlledNetwork", "StageControls", "place_stage_controlled"]


class StageControls(wiring.Component):
    """Sets the state of the boxes of each stage. Wires only: the state is the control bit, twice.

    Parameters
    ----------
    bits : Sequence[int]
        For each stage, in the order in which data pass them: the bit of `control` that sets it.

    Members
    -------
    control : In(n)
        One bit per stage: 0 straight, 1 exchange.
    state : Out(BoxState).array(n)

    Raises
    ------
    TypeError, ValueError
        If `bits` is not a permutation of the numbers 0 to n - 1.
    """

    def __init__(self, bits: Sequence[int]) -> None:
        for bit in bits:
            bit = check_integer("Bit", bit, 0, len(bits) - 1)
        if len(set(bits)) != len(bits):
            raise InvalidValue(f"Bits must name each stage once, not {tuple(bits)}")
        self.bits = tuple(bits)
        stages = len(self.bits)
        super().__init__({"control": In(stages), "state": Out(BoxState).array(stages)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for bit, state in zip(self.bits, self.state):
            m.d.comb += state.as_value().eq(self.control[bit].replicate(2))
        return m


def place_stage_controlled(
    fabric: Fabric | Scope, plan: MultistagePlan, box: CellType, control: Pin, bits: Sequence[int]
) -> Columns:
    """Place the boxes of a plan, and a cell `controls` that sets all boxes of a stage equally.

    Parameters
    ----------
    fabric : Fabric
    plan : MultistagePlan
        A plan of radix 2.
    box : CellType
        With members `i` and `o`, arrays of two, and `state`, a `BoxState`.
    control : Pin
        The driver of the controls, one bit per stage.
    bits : Sequence[int]
        For each stage, the bit of `control` that sets it.
    """
    columns = place_columns(fabric, plan, [box] * len(plan.stages))
    fabric.place(Cell("controls", CellType(StageControls, bits=tuple(bits))))
    fabric.link(control, Pin("controls", ("control",)))
    for s in range(len(plan.stages)):
        for x in range(plan.boxes):
            fabric.link(Pin("controls", ("state", s)), Pin(f"box_{s}_{x}", ("state",)))
    return columns


class StageControlledNetwork(FabricComponent):
    """A multistage network of plain interchange boxes with one control line per stage.

    Bit j of `control` sets the stage that decides bit j of the output. Hence input X is shown at
    output P(X) XOR `control`, where P is the permutation of the wiring with all boxes straight: the
    identity for flip, cube, indirect-cube and omega, bit reversal for baseline, and a rotation of
    the bits by one place for butterfly. These are 2^n of the N! permutations, n = log2 N. If P is
    the identity, sending the output through once more with the same control restores the input.

    Combinational: latency 0, n boxes between `i` and `o`. There are no registers or handshakes.

    Parameters
    ----------
    ports : int
        Inputs and outputs, a power of two from 2 to 65,536.
    wiring : str
        "cube", "omega", "baseline", "indirect-cube", "butterfly" or "flip".
    shape : ShapeLike
        Shape of the data.

    Attributes
    ----------
    plan : MultistagePlan
        The wiring of the boxes.
    straight : list[int]
        The output at which each input is shown under control 0: P.

    Members
    -------
    control : In(n)
        Bit by bit, 0 sets a stage to straight and 1 to exchange.
    i : In(shape).array(ports)
    o : Out(shape).array(ports)

    Raises
    ------
    TypeError, ValueError
        If the number of ports is no power of two or too large, there is no such wiring, or the
        shape is none.

    Examples
    --------
    >>> from multicube.hdl import StageControlledNetwork
    >>> StageControlledNetwork(8, wiring="baseline", shape=16).straight
    [0, 4, 2, 6, 1, 5, 3, 7]
    """

    def __init__(self, ports: int, *, wiring: str = "flip", shape: ShapeLike) -> None:
        self.plan = plan = multistage_plan(wiring, ports)
        check_limit("Ports", ports, MOST_PORTS)
        check_payload(shape)
        self.ports = ports
        self.wiring = wiring
        self.shape = shape
        tags = plan.tags("xor")
        self.straight = [tags.destination(0, source) for source in range(ports)]
        fabric = Fabric(
            {
                "control": In(len(plan.stages)),
                "i": In(shape).array(ports),
                "o": Out(shape).array(ports),
            }
        )
        columns = place_stage_controlled(
            fabric,
            plan,
            CellType(InterchangeBox, radix=2, shape=shape),
            Pin(None, ("control",)),
            tags.destination_digits,
        )
        for line, (entry, exit_) in enumerate(zip(columns.inputs, columns.outputs)):
            fabric.link(Pin(None, ("i", line)), entry)
            fabric.link(exit_, Pin(None, ("o", line)))
        super().__init__(fabric)
