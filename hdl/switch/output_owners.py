"""Which input each output of a pipelined router belongs to."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..primitives.arbiters import arbitrate
from ..primitives.round_robin import lowest
from .shape import RouterShape

__all__ = ["OutputOwners"]


class OutputOwners(wiring.Component):
    """Which input each output of a router belongs to. An input's flit is offered to its own output.

    An output passes to another input when the tail of a worm leaves, or when its owner offers
    nothing and is not inside a worm, if another one wants it: in the next cycle, so one packet can
    follow another without a gap. So it stays with its owner while nobody else wants it. A header
    whose output belongs to another input waits for one cycle at least. An input that wants an
    output waits for at most one worm from each other input, with round-robin or least-recent
    arbiters.

    `offered` and `serves` depend on `want` and registers.

    Parameters
    ----------
    shape : RouterShape
    arbiter : str
        One of `ARBITERS`.

    Members
    -------
    seed : In(32)
        For random arbiters.
    want : In(outputs).array(inputs)
        The output of the flit at each input, one bit each; 0 if there is none.
    last : In(inputs)
        Whether it is a tail.
    passed : In(outputs)
        What is offered to this output leaves.
    offered : Out(outputs)
    serves : Out(outputs).array(inputs)
        To which output the flit of each input is offered.
    inside : Out(outputs)
        Whether a worm has begun to leave by it, and its tail has not left.
    owner : Out(inputs).array(outputs)
        The input that it belongs to, one bit each; 0 before the first one. From registers.
    """

    def __init__(self, shape: RouterShape, arbiter: str) -> None:
        self.shape = shape
        self.arbiter = arbiter
        inputs, outputs = len(shape.inputs), len(shape.outputs)
        super().__init__(
            {
                "seed": In(32),
                "want": In(outputs).array(inputs),
                "last": In(inputs),
                "passed": In(outputs),
                "offered": Out(outputs),
                "serves": Out(outputs).array(inputs),
                "inside": Out(outputs),
                "owner": Out(inputs).array(outputs),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for j, output in enumerate(self.shape.outputs):
            entries = output.inputs
            if not entries:
                continue
            owner, want, served, others, next_ = (
                Signal(len(entries), name=f"{name}_{j}")
                for name in ("owner", "want", "served", "others", "next")
            )
            tail, releases, inside = (
                Signal(name=f"{name}_{j}") for name in ("tail", "releases", "inside")
            )
            m.d.comb += [
                want.eq(Cat(self.want[i][j] for i in entries)),
                served.eq(want & owner),
                Cat(self.serves[i][j] for i in entries).eq(served),
                Cat(self.owner[j][i] for i in entries).eq(owner),
                self.offered[j].eq(served.any()),
                tail.eq(Cat(self.last[i] & own for i, own in zip(entries, owner)).any()),
                releases.eq(Mux(self.offered[j], self.passed[j] & tail, ~inside)),
                others.eq(want & ~owner),
                self.inside[j].eq(inside),
                next_.eq(self._next(m, j, owner, others, releases)),
            ]
            with m.If(self.offered[j] & self.passed[j]):
                m.d.sync += inside.eq(~tail)
            with m.If(releases & others.any()):
                m.d.sync += owner.eq(next_)
        return m

    def _next(self, m: Module, j: int, owner: Value, others: Value, releases: Value) -> Value:
        """Which other input gets an output that is released."""
        if self.arbiter == "round-robin":
            # The first one after the owner, so the owner is all that must be kept.
            after = Cat(owner[:at].any() for at in range(len(owner)))
            later = Signal(len(owner), name=f"later_{j}")
            m.d.comb += later.eq(others & after)
            return Mux(later.any(), lowest(later, quick=True), lowest(others, quick=True))
        seed = self.seed.rotate_left(j % 32) if self.arbiter == "random" else Const(1, 32)
        request = others & releases.replicate(len(others))
        return arbitrate(m, self.arbiter, f"arbiter_{j}", request, seed)
