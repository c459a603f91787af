"""The gates of the routing of single-stage cubes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from ...graphs.graph import End
from ...switch.route import RouteLogic
from .single_stage_graph import Lambda, SingleStageCube, Way

__all__ = ["SingleStageLogic"]


@dataclass(frozen=True)
class SingleStageLogic(RouteLogic):
    """`SingleStageCube.route` in gates (`RouteLogic`).

    The position of a node has one of its loops in the lowest m bits, then m bits of which that of
    its stage is 1, and the number of the stage on top.

    The channel follows from the one by which a packet comes, from its direction, and from whether
    there is a cut at this stage. In a Lambda network the direction is a sum of products for each
    input, or a row of a memory that all inputs of the router read.

    Attributes
    ----------
    plan : SingleStageCube
    """

    plan: SingleStageCube

    @property
    def address(self) -> int:
        return 2 * self.plan.stages + self.plan.ring.difference_bits

    def position(self, node: int) -> int:
        plan, count = self.plan, self.plan.stages
        stage = plan.stage(node)
        return plan.loops(node)[0] | 1 << count + stage | stage << 2 * count

    def exits(
        self, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> Mapping[End, Value]:
        """As in `RouteLogic`."""
        plan, count = self.plan, self.plan.stages
        own, among, stage = here[:count], here[count : 2 * count], here[2 * count :]
        label, wanted = tag[: -len(stage)], tag[-len(stage) :]
        if len(label) < count:
            # The bits above that of the destination's stage are one place higher.
            label = Cat(Mux(wanted > i, label[i % len(label)], label[i - 1]) for i in range(count))
        differs = Signal(count, name=f"differs_{name}")
        bit, goes, back = (Signal(name=f"{what}_{name}") for what in ("bit", "goes", "back"))
        m.d.comb += [
            differs.eq(label ^ own),
            bit.eq(self._bit(came, label, differs, among, wanted == stage)),
            goes.eq((wanted != stage) | (differs & ~among).any()),
        ]
        if isinstance(plan, Lambda):
            m.d.comb += back.eq(self._backward(m, plan, wanted, stage, differs))
        found: dict[End, Value] = {(-1, 0): ~goes}
        if plan.terminals_of_node == 2:
            found = {(-1 - loop, 0): ~goes & (bit == loop) for loop in range(2)}
        way = None if came is None else Way(came[0] >= 2, came[1])
        for backward in (False, True) if plan.two_way else (False,):
            for (channel, here_so), port in product(self._channels(way, backward, among), range(2)):
                # A packet turns back only on the other loop.
                turns = came is not None and (came[0] >= 2) != backward and came[0] % 2 == port
                if not turns:
                    leaves = goes & (back == backward) & (bit == port) & here_so
                    found[2 * backward + port, channel] = leaves
        return found

    def _channels(
        self, came: Way | None, backward: bool, among: Value
    ) -> Iterable[tuple[int, Value]]:
        """The channels in which packets go on that came in some way, and whether they do at this
        stage. A stage where none come so may be counted to any."""
        stages: dict[int, list[int]] = {}
        for stage, ways in enumerate(self.plan.passages):
            for before, after in ways:
                if before == came and after is not None and after.backward == backward:
                    stages.setdefault(after.channel, []).append(stage)
        if len(stages) == 1:
            return [(channel, Const(1)) for channel in stages]
        return [(channel, Cat(among[at] for at in own).any()) for channel, own in stages.items()]

    def _bit(
        self, came: End | None, label: Value, differs: Value, among: Value, there: Value
    ) -> Value:
        """The bit of the loop that a packet takes; `there` in the stage of its destination."""
        wanted = (label & among).any()
        if self.plan.terminals_of_node == 2:
            return wanted
        stays = Const(came[0] % 2) if came is not None else (differs & among.rotate_right(1)).any()
        return Mux(there, stays, wanted)

    def _backward(
        self, m: Module, plan: Lambda, wanted: Value, stage: Value, differs: Value
    ) -> Value:
        """Whether a packet goes backward."""
        ring = plan.ring
        ahead = wanted - stage
        difference = Mux(wanted < stage, ahead + ring.stages, ahead)[: len(stage)]
        resultant = (Cat(differs, differs) >> stage)[: ring.stages]
        if plan.lookup == "logic":
            inputs = Cat(difference, resultant[1:])
            return Cat(
                inputs & (product.ones | product.zeros) == product.ones for product in ring.logic
            ).any()
        try:
            table = m.submodules.directions
        except AttributeError:
            table = Memory(shape=1, depth=len(ring.rows), init=ring.rows)
            m.submodules.directions = table
        port = table.read_port(domain="comb")
        m.d.comb += port.addr.eq(Cat(resultant, difference))
        return port.data
