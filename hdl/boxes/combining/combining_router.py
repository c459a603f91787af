# amaranth: UnusedElaboratable=no
"""A router between processors and memory modules in any graph, which combines requests."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Meter
from ...fabric.checks import check_integer
from ...fabric.errors import InvalidValue
from ...links.memory_link import MemoryLink, check_link
from ...operations.combining_rules import Policy, Rules
from ...switch.route import RouteLogic
from ...switch.shape import RouterShape
from .combining_switch import CombiningSwitch
from .queue import CombiningQueue
from .wait_buffer import WaitBuffer

__all__ = ["CombiningRouter", "way_digit"]


def way_digit(inputs: Sequence[int]) -> int:
    """Bits that the way back needs for an output to which these inputs lead."""
    return (len(inputs) - 1).bit_length() if inputs else 0


class CombiningRouter(CombiningSwitch):
    """Carries requests to memory modules, and their replies back the same way.

    A tag has the *module*, in its lowest bits, and above it the *way*. The module is the tag by
    which a request is routed (`RouteLogic`, or a table outside); it does not change. The way is
    empty, 0, where a request enters the network. Each router adds the number of the input by which
    the request came, at the bottom; and takes it off when the reply returns. So replies need no
    routes: they retrace the way of their request, whatever the graph is.

    Parameters
    ----------
    link : MemoryLink
        Its tags have the module and the way.
    shape : RouterShape
        The inputs, the outputs, and the turns between them. The channels of a link have wires of
        their own.
    logic : RouteLogic or None
        Finds the one output that a request takes; None if outputs are looked up outside.
    module : int
        Bits of the module in a tag, at least 1.
    depth, wait, policy, merge
        As in `CombiningSwitch`.

    Members
    -------
    i, o, combined
        As in `CombiningSwitch`.
    waiting : Out(range(pairs * wait + 1))
        Number of records in the wait buffers. Absent if nothing combines.
    address : In(logic.address)
        Position of the node. Constant. Only if the logic needs it.
    tag : Out(module).array(inputs)
        Without logic: the modules of the arriving requests.
    exits : In(outputs).array(inputs)
        Without logic: the outputs that these take, one bit each; combinationally.

    Raises
    ------
    ValueError
        If the tags of the link have no room for the number of an input.
    """

    def __init__(
        self,
        link: MemoryLink,
        shape: RouterShape,
        *,
        logic: RouteLogic | None = None,
        module: int,
        depth: int = 4,
        wait: int = 4,
        policy: str | Policy = "all",
        merge: Literal["pairwise", "unlimited"] = "pairwise",
    ) -> None:
        check_link(link)
        module = check_integer("Module", module, 1)
        sources = [output.inputs for output in shape.outputs]
        least = module + max(map(way_digit, sources))
        if link.tag < least:
            raise InvalidValue(
                f"Tag of a link must have at least {least} bits for the module and an input, "
                f"not {link.tag}"
            )
        self.shape = shape
        self.logic = logic
        self.module = module
        inputs, outputs = len(shape.inputs), len(shape.outputs)
        members: dict[str, Any] = {}
        if logic is None:
            members = {"tag": Out(module).array(inputs), "exits": In(outputs).array(inputs)}
        elif logic.address:
            members = {"address": In(logic.address)}
        if Rules(link.operations, policy).combines:
            members["waiting"] = Out(range(sum(map(len, sources)) * wait + 1))
            self.meters = (*self.meters, Meter("waiting", "waiting", "level"))
        super().__init__(
            link,
            sources,
            inputs=inputs,
            depth=depth,
            wait=wait,
            policy=policy,
            merge=merge,
            lengths=(1, 1),
            members=members,
        )

    def _wanted(self, m: Module, i: int) -> Sequence[Value]:
        module = self.i[i].request.payload.tag[: self.module]
        if self.logic is None:
            m.d.comb += self.tag[i].eq(module)
            return list(self.exits[i])
        here = self.address if self.logic.address else Const(0, 0)
        entry = self.shape.inputs[i]
        came = None if entry.is_terminal else entry.end
        found = self.logic.exits(m, f"{i}", came, here, module)
        return [found.get(output.end, Const(0)) for output in self.shape.outputs]

    def _wait_buffers(
        self, m: Module, queues: Mapping[int, CombiningQueue]
    ) -> dict[tuple[int, int], WaitBuffer]:
        waits = super()._wait_buffers(m, queues)
        taken = sum((wait.take for wait in waits.values()), start=Const(0))
        m.d.sync += self.waiting.eq(self.waiting + self.combined - taken)
        return waits

    def _digit(self, j: int) -> int:
        return way_digit(self.sources[j])

    def _later(self, j: int) -> Value:
        return Const((1 << self.module) - 1, self.link.tag)

    def _rest(self, j: int, tag: Value) -> Value:
        return tag[self.module : self.link.tag - self._digit(j)]

    def _onward(self, j: int, place: int, tag: Value) -> Value:
        return Cat(tag[: self.module], Const(place, self._digit(j)), self._rest(j, tag))

    def _back(self, j: int, tag: Value) -> tuple[Value, Value]:
        way = tag[self.module :]
        return way[: self._digit(j)], self._second(j, way[self._digit(j) :], tag)

    def _second(self, j: int, rest: Value, tag: Value) -> Value:
        return Cat(tag[: self.module], rest)
