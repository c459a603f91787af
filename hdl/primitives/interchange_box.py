"""The interchange box: the datapath of the switches."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amaranth.hdl import Cat, Module, Shape, ShapeLike, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import MOST_RADIX, check_flag, check_integer, check_limit, check_radix
from ..fabric.payload_shape import check_shape
from .multiplexer import form_of, one_of

if TYPE_CHECKING:
    import enum
else:
    from amaranth.lib import enum  # a Python enum with a shape, which type checkers can't see

__all__ = ["BoxState", "InterchangeBox"]


class BoxState(enum.Enum, shape=2):
    """The four states of the 2 x 2 interchange box (Siegel et al., Fig. 1).

    The low bit is the number of the input shown by the upper output (0); the high bit is the
    complement of the input shown by the lower output (1). So a state needs no decoding.
    """

    STRAIGHT = 0b00
    LOWER_BROADCAST = 0b01
    UPPER_BROADCAST = 0b10
    EXCHANGE = 0b11


class InterchangeBox(wiring.Component):
    """A k x k crossbar without storage: each output shows one of the inputs.

    All outputs are combinational. A 2 x 2 box is set by one `BoxState`. In any other box, each
    output selects an input or is idle, which gives every one-to-one, broadcast and partial
    broadcast connection. An idle output is zero, unless it need not be `blank`.

    Parameters
    ----------
    radix : int
        Number of inputs, at least 2.
    shape : ShapeLike
        Shape of the data.
    outputs : int or None
        Number of outputs, at least 1; by default as many as inputs.
    blank : bool
        Whether an idle output must be zero. Otherwise it may show anything in exported Verilog,
        which saves tables.

    Members
    -------
    i : In(shape).array(radix)
    o : Out(shape).array(outputs)
    state : In(BoxState)
        2 x 2 only.
    select : In(range(radix)).array(outputs)
        All others: the input that each output shows.
    enable : In(outputs)
        All others: bit j is 0 while output j is idle.

    Raises
    ------
    TypeError, ValueError
        If a number is too small or too large, or the shape is none.

    Examples
    --------
    >>> from multicube.hdl import BoxState, InterchangeBox
    >>> box = InterchangeBox(2, shape=8)
    >>> BoxState(box.controls([1, 0])[("state",)])
    <BoxState.EXCHANGE: 3>
    """

    def __init__(
        self, radix: int, shape: ShapeLike, outputs: int | None = None, *, blank: bool = True
    ) -> None:
        radix = check_radix(radix)
        outputs = radix if outputs is None else check_integer("Outputs", outputs, 1)
        check_limit("Outputs", outputs, MOST_RADIX)
        check_shape(shape)
        self.radix = radix
        self.outputs = outputs
        self.shape = shape
        check_flag("Blank", blank)
        self.blank = blank
        if self.has_state:
            control = {"state": In(BoxState)}
        else:
            control = {"select": In(range(radix)).array(outputs), "enable": In(outputs)}
        super().__init__({"i": In(shape).array(radix), "o": Out(shape).array(outputs), **control})

    @property
    def has_state(self) -> bool:
        """Whether it is a 2 x 2 box, which is set by one `BoxState`."""
        return (self.radix, self.outputs) == (2, 2)

    def controls(self, inputs: Sequence[int | None]) -> dict[tuple[str | int, ...], int]:
        """The values of its controls with which each output shows an input.

        By path: `("state",)`, or `("select", output)` and `("enable",)`.

        Parameters
        ----------
        inputs : Sequence[int or None]
            For each output the input that it shows; None for any, or zero.

        Returns
        -------
        dict[tuple[str | int, ...], int]
            The value of each control, by its path.
        """
        shown = [number or 0 for number in inputs]
        if self.has_state:
            return {("state",): shown[0] | (shown[1] ^ 1) << 1}
        enable = sum((number is not None) << output for output, number in enumerate(inputs))
        selects: dict[tuple[str | int, ...], int] = {
            ("select", output): number for output, number in enumerate(shown)
        }
        return {**selects, ("enable",): enable}

    def set(self, m: Module, select: Sequence[ValueLike], enable: ValueLike) -> None:
        """Drive the control inputs so that each output shows the selected input.

        A 2 x 2 box has no idle outputs: there, the user of the outputs must apply `enable`.

        Parameters
        ----------
        m : Module
            The module that gets the assignments.
        select : Sequence[ValueLike]
            For each output the number of its input.
        enable : ValueLike
            Bit j is 1 if output j shows an input.
        """
        if self.has_state:
            upper, lower = (Value.cast(choice)[0] for choice in select)
            m.d.comb += self.state.as_value().eq(Cat(upper, ~lower))
        else:
            m.d.comb += [port.eq(choice) for port, choice in zip(self.select, select)]
            m.d.comb += self.enable.eq(enable)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.has_state:
            state = self.state.as_value()
            for output, lower in zip(self.o, (state[0], ~state[1])):
                with m.If(lower):
                    m.d.comb += output.eq(self.i[1])
                with m.Else():
                    m.d.comb += output.eq(self.i[0])
        elif form := form_of(platform, self.radix, Shape.cast(self.shape).width, blank=self.blank):
            words = [Value.cast(source) for source in self.i]
            for j, output in enumerate(self.o):
                enable = self.enable[j] if form.blank else 1
                chosen = [enable & (self.select[j] == i) for i in range(self.radix)]
                shown = one_of(m, platform, f"output_{j}", chosen, words, blank=self.blank)
                m.d.comb += output.eq(shown)
        else:
            for j, output in enumerate(self.o):
                with m.If(self.enable[j]), m.Switch(self.select[j]):
                    for i, source in enumerate(self.i):
                        with m.Case(i):
                            m.d.comb += output.eq(source)
        return m
