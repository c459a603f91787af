"""The end of a link that carries nothing."""

from amaranth.hdl import Module, ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["LinkEnd"]


class LinkEnd(wiring.Component):
    """Accepts nothing and sends nothing: all its outputs are constant.

    It ends links that no packet uses, so that no combinational path leads over them.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))
    """

    auxiliary = True

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike) -> None:
        self.shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.i.ready.eq(0), self.o.valid.eq(0)]
        return m
