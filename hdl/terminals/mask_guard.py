# amaranth: UnusedElaboratable=no
"""The check of the privileged port of a network that does not keep all subnetworks apart."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..graphs.mask_rule import MaskRule

__all__ = ["MaskGuard"]


class MaskGuard(wiring.Component):
    """Refuses to write masks of subnetworks that the network does not keep apart (`MaskRule`).

    Combinational. A refused write changes no mask.

    Parameters
    ----------
    width : int
        Width of a mask.
    rule : MaskRule

    Members
    -------
    mask, mask_member : In(width)
    mask_write : In(1)
        From the privileged port.
    write : Out(1)
        To the interfaces of all terminals.
    refused : Out(1)
        There is a write in this cycle, and it is refused.
    """

    def __init__(self, width: int, rule: MaskRule) -> None:
        self.rule = rule
        super().__init__(
            {
                "mask": In(width),
                "mask_member": In(width),
                "mask_write": In(1),
                "write": Out(1),
                "refused": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rule = self.rule
        applies = ((self.mask_member ^ rule.label) & rule.care & ~self.mask) == 0
        kept = ~applies | ((self.mask & rule.free) == rule.free)
        m.d.comb += [
            self.write.eq(self.mask_write & kept),
            self.refused.eq(self.mask_write & ~kept),
        ]
        return m
