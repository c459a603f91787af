"""Which input each output of a pipelined router belongs to."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..primitives.arbiters import arbitrate
from .entry import at_header
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
        The input that it belongs to, one bit each: at first the last one. From registers.
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
            want, served, next_ = (
                Signal(len(entries), name=f"{name}_{j}") for name in ("want", "served", "next")
            )
            owner = Signal(len(entries), init=1 << len(entries) - 1, name=f"owner_{j}")
            tail, releases = (Signal(name=f"{name}_{j}") for name in ("tail", "releases"))
            begins = at_header(m, f"{j}", self.offered[j] & self.passed[j], tail)
            m.d.comb += [
                want.eq(Cat(self.want[i][j] for i in entries)),
                served.eq(want & owner),
                Cat(self.serves[i][j] for i in entries).eq(served),
                Cat(self.owner[j][i] for i in entries).eq(owner),
                self.offered[j].eq(served.any()),
                tail.eq(Cat(self.last[i] & own for i, own in zip(entries, owner)).any()),
                releases.eq(Mux(self.offered[j], self.passed[j] & tail, begins)),
                self.inside[j].eq(~begins),
            ]
            wanted = want if self.arbiter == "round-robin" else want & ~owner
            m.d.comb += next_.eq(self._next(m, j, owner, wanted, releases))
            with m.If(releases & wanted.any()):
                m.d.sync += owner.eq(next_)
        return m

    def _next(self, m: Module, j: int, owner: Value, wanted: Value, releases: Value) -> Value:
        """Which of the inputs that want an output gets it when it is released."""
        if self.arbiter != "round-robin":
            seed = self.seed.rotate_left(j % 32) if self.arbiter == "random" else Const(1, 32)
            request = wanted & releases.replicate(len(wanted))
            return arbitrate(m, self.arbiter, f"arbiter_{j}", request, seed)
        # The first one after the owner, which comes last: so the owner is all that must be kept.
        count = len(owner)
        found = []
        for at in range(count):
            turn: Value = owner[at]
            for earlier in range(at + 1 - count, at):
                turn = owner[earlier] | turn & ~wanted[earlier]
            found.append(wanted[at] & turn)
        return Cat(found)
