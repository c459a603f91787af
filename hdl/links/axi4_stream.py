"""AXI4-Stream (Arm IHI 0051)."""

from amaranth.hdl import ShapeLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AxiStream"]


class AxiStream(wiring.Signature):
    """An AXI4-Stream. Signals without a shape are left out; the names are those of the standard.

    Members
    -------
    tvalid : Out(1)
    tready : In(1)
    tdata : Out(data)
    tid : Out(source)
    tdest : Out(destination)
    tuser : Out(user)
    tlast : Out(1)
    """

    def __init__(
        self,
        *,
        data: ShapeLike,
        source: ShapeLike | None = None,
        destination: ShapeLike | None = None,
        user: ShapeLike | None = None,
        last: bool,
    ) -> None:
        shapes = {"tid": source, "tdest": destination, "tuser": user, "tlast": 1 if last else None}
        super().__init__(
            {
                "tvalid": Out(1),
                "tready": In(1),
                "tdata": Out(data),
                **{name: Out(shape) for name, shape in shapes.items() if shape is not None},
            }
        )
