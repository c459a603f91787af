# amaranth: UnusedElaboratable=no
"""A component that is paused unless it is enabled for a cycle."""

from amaranth.hdl import EnableInserter, Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..hdl.fabric.cell import CellType
from ..hdl.fabric.fabric_component import member

__all__ = ["Paused", "PausedNode"]


class Paused(wiring.Component):
    """A component whose registers and memories change only in cycles in which `enable` is 1.

    Parameters
    ----------
    type_ : CellType
        Type of the component.
    without : frozenset[str]
        Outputs that nothing reads. They are no members, and synthesis removes what is only for
        them.

    Members
    -------
    Those of the component that are not in `without`, and:

    enable : In(1)
    clear : In(1)
        An enabled cycle resets the registers. Memories keep their contents.
    """

    def __init__(self, type_: CellType, without: frozenset[str] = frozenset()) -> None:
        self.type = type_
        self.without = without
        members = type_.build().signature.members.items()
        kept = {name: port for name, port in members if name not in without}
        super().__init__({**kept, "enable": In(1), "clear": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner = self.type.build()
        m.submodules.inner = EnableInserter(self.enable)(ResetInserter(self.clear)(inner))
        for path, leaf in self.type.leaves.items():
            if path[0] in self.without:
                continue
            inside, outside = member(inner, path), member(self, path)
            m.d.comb += inside.eq(outside) if leaf.flow == In else outside.eq(inside)
        return m


class PausedNode(Paused):
    """A paused box or router: synthesis can keep its module, by this name."""
