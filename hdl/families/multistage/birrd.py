# amaranth: UnusedElaboratable=no
"""BIRRD, the reduction network of FEATHER: interchange boxes that add, set by a word per row."""

from typing import TYPE_CHECKING

from amaranth.hdl import Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Cell, CellType
from ...fabric.checks import check_integer
from ...fabric.fabric import Fabric
from ...fabric.fabric_component import FabricComponent
from ...fabric.payload_shape import check_payload
from ...fabric.pins import Pin
from ...graphs.plans.birrd_plan import ADD_LEFT, ADD_RIGHT, EXCHANGE, STRAIGHT, BirrdPlan
from ...operations.folds import Fold

if TYPE_CHECKING:
    import enum
else:
    from amaranth.lib import enum  # a Python enum with a shape, which type checkers can't see

__all__ = ["AddingBox", "AddingState", "BirrdNetwork", "WordDelay"]


class AddingState(enum.Enum, shape=2):
    """The four states of an adding box: those of `BoxState`, with sums in place of broadcasts."""

    STRAIGHT = STRAIGHT
    ADD_RIGHT = ADD_RIGHT
    ADD_LEFT = ADD_LEFT
    EXCHANGE = EXCHANGE


class AddingBox(wiring.Component):
    """A 2 x 2 interchange box that can add, with a register behind each output.

    The high bit of the state says that output 0 does not show input 0 alone, the low bit the same
    of output 1 and input 1; an output that does not shows the sum, or with `EXCHANGE` the other
    input. One cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a value: bits, or an integer.
    fold : str
        What it does instead of adding, as in `Fold`.

    Members
    -------
    state : In(AddingState)
    i : In(shape).array(2)
    o : Out(shape).array(2)

    Raises
    ------
    TypeError, ValueError
        If there is no such operation, or shape.
    """

    def __init__(self, shape: ShapeLike, fold: str = "add") -> None:
        check_payload(shape)
        self.shape = shape
        self.fold = Fold(fold, Shape.cast(shape))
        super().__init__(
            {"state": In(AddingState), "i": In(shape).array(2), "o": Out(shape).array(2)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left, right = self.i
        merged = Signal(self.shape)
        m.d.comb += merged.eq(self.fold.build(left, right))
        state = Value.cast(self.state)
        for output, own, other, moved in ((0, left, right, state[1]), (1, right, left, state[0])):
            with m.If(moved):
                m.d.sync += self.o[output].eq(Mux(state.all(), other, merged))
            with m.Else():
                m.d.sync += self.o[output].eq(own)
        return m


class WordDelay(wiring.Component):
    """Keeps the states of a row's boxes until the row is in front of them.

    Parameters
    ----------
    stages : int
    boxes : int
        Boxes of a stage.

    Members
    -------
    i_valid : In(1)
    word : In(AddingState).array(stages, boxes)
    state : Out(AddingState).array(stages, boxes)
        Those of stage s are s cycles late.
    o_valid : Out(1)
        `stages` cycles late; 0 after a reset.
    """

    def __init__(self, stages: int, boxes: int) -> None:
        self.stages = check_integer("Stages", stages, 1)
        self.boxes = check_integer("Boxes", boxes, 1)
        states = (self.stages, self.boxes)
        super().__init__(
            {
                "i_valid": In(1),
                "word": In(AddingState).array(*states),
                "state": Out(AddingState).array(*states),
                "o_valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = self.i_valid
        for stage in range(self.stages):
            later = Signal(1, name=f"valid_{stage}")
            m.d.sync += later.eq(valid)
            valid = later
            for box in range(self.boxes):
                state = Value.cast(self.word[stage][box])
                for cycle in range(stage):
                    kept = Signal(2, name=f"state_{stage}_{box}_{cycle}")
                    m.d.sync += kept.eq(state)
                    state = kept
                m.d.comb += Value.cast(self.state[stage][box]).eq(state)
        m.d.comb += self.o_valid.eq(valid)
        return m


class BirrdNetwork(FabricComponent):
    """BIRRD (Tong et al., FEATHER, 2024): a network that adds and reorders a row of values at once.

    Two butterflies back to back, of boxes that add (`AddingBox`). A row takes a cycle for each
    stage, and another can follow in every cycle; each brings its own control word, which
    `BirrdPlan.compiled` makes: for each input, the output at which its sum appears. Nothing waits,
    so there is no `ready`. It shares no hardware with `StageSequencedNetwork`, which holds back
    packets until a counter sets whole stages as their tags ask, by boxes without registers: here
    there are neither packets nor tags, and each box has a state and a register of its own.

    Parameters
    ----------
    ports : int
        Values of a row, a power of two from 4 to 256.
    shape : ShapeLike
        Shape of a value.
    fold : str
        What boxes do with two values: "add", or another of `Fold`.

    Attributes
    ----------
    plan : BirrdPlan
        Its stages, and the compiler of control words.

    Members
    -------
    i_valid : In(1)
    i : In(shape).array(ports)
    word : In(AddingState).array(stages, ports // 2)
    o_valid : Out(1)
        `i_valid`, as many cycles later as there are stages.
    o : Out(shape).array(ports)
        In that cycle; outputs that are nobody's destination show anything.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of these.

    Examples
    --------
    >>> from multicube.hdl import BirrdNetwork
    >>> network = BirrdNetwork(4, shape=16)
    >>> network.plan.compiled([2, 2, 0, 0])
    [[1, 1], [0, 3], [3, 3]]
    """

    def __init__(self, ports: int, *, shape: ShapeLike, fold: str = "add") -> None:
        self.plan = plan = BirrdPlan(ports)
        check_payload(shape)
        self.shape = shape
        self.fold = Fold(fold, Shape.cast(shape)).name
        states = (plan.stages, ports // 2)
        fabric = Fabric(
            {
                "i_valid": In(1),
                "i": In(shape).array(ports),
                "word": In(AddingState).array(*states),
                "o_valid": Out(1),
                "o": Out(shape).array(ports),
            }
        )
        delay = fabric.place(Cell("word", CellType(WordDelay, stages=states[0], boxes=states[1])))
        fabric.link(Pin(None, ("i_valid",)), Pin(delay.name, ("i_valid",)))
        fabric.link(Pin(delay.name, ("o_valid",)), Pin(None, ("o_valid",)))
        box = CellType(AddingBox, shape=shape, fold=fold)
        lines = [Pin(None, ("i", line)) for line in range(ports)]
        for stage in range(plan.stages):
            following = list(lines)
            for x in range(ports // 2):
                cell = fabric.place(Cell(f"box_{stage}_{x}", box, title=f"stage {stage}, box {x}"))
                fabric.link(Pin(None, ("word", stage, x)), Pin(delay.name, ("word", stage, x)))
                fabric.link(Pin(delay.name, ("state", stage, x)), Pin(cell.name, ("state",)))
                for port in range(2):
                    line = 2 * x + port
                    fabric.link(lines[line], Pin(cell.name, ("i", port)))
                    following[plan.after(stage, line)] = Pin(cell.name, ("o", port))
            lines = following
        for line, pin in enumerate(lines):
            fabric.link(pin, Pin(None, ("o", line)))
        super().__init__(fabric)
