# amaranth: UnusedElaboratable=no
"""The box of a combining network (Siegel et al., IV-B)."""

from collections.abc import Sequence
from typing import Literal

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.wiring import In

from ...fabric.checks import check_radix
from ...links.memory_link import MemoryLink, check_link, check_tag
from ...operations.combining_rules import Policy, Rules
from ...primitives.pacing import Lengths
from .combining_switch import CombiningSwitch

__all__ = ["CombiningBox"]


class CombiningBox(CombiningSwitch):
    """A k x k box that carries requests forward and replies back, and combines requests.

    The top digit of a request's tag names its output (`MemoryLink`). It needs no longer be kept
    behind the box, and the number of the input has its place.

    Parameters
    ----------
    link : MemoryLink
        The top digit of a tag must name an output.
    radix : int
        Number of inputs and of outputs, at least 2. All inputs lead to all outputs.
    depth, wait, policy, merge, lengths
        As in `CombiningSwitch`.

    Members
    -------
    i, o, combined
        As in `CombiningSwitch`.
    later : In(link.tag)
        The bits of a tag, as it arrives, that later boxes use (`boxes.unbuffered.later_bits`).
        Constant. Absent if nothing combines.

    Raises
    ------
    ValueError
        If the link's tag is narrower than a digit.
    """

    def __init__(
        self,
        link: MemoryLink,
        *,
        radix: int = 2,
        depth: int = 4,
        wait: int = 4,
        policy: str | Policy = "all",
        merge: Literal["pairwise", "unlimited"] = "pairwise",
        lengths: Lengths = (1, 1),
    ) -> None:
        check_link(link)
        radix = check_radix(radix)
        check_tag(link, radix)
        self.radix = radix
        later = {"later": In(link.tag)} if Rules(link.operations, policy).combines else {}
        super().__init__(
            link,
            [range(radix)] * radix,
            inputs=radix,
            depth=depth,
            wait=wait,
            policy=policy,
            merge=merge,
            lengths=lengths,
            members=later,
        )

    @property
    def digit_bits(self) -> int:
        """Width of the digit of the tag that this box uses."""
        return (self.radix - 1).bit_length()

    def _wanted(self, m: Module, i: int) -> Sequence[Value]:
        digit = self.i[i].request.payload.tag[self.link.tag - self.digit_bits :]
        return [digit == j for j in range(self.radix)]

    def _later(self, j: int) -> Value:
        return Cat(Const(0, self.digit_bits), self.later)[: self.link.tag]

    def _rest(self, j: int, tag: Value) -> Value:
        return tag[: self.link.tag - self.digit_bits]

    def _onward(self, j: int, place: int, tag: Value) -> Value:
        return Cat(Const(place, self.digit_bits), self._rest(j, tag))

    def _back(self, j: int, tag: Value) -> tuple[Value, Value]:
        return tag[: self.digit_bits], self._second(j, tag[self.digit_bits :], tag)

    def _second(self, j: int, rest: Value, tag: Value) -> Value:
        return Cat(rest, Const(j, self.digit_bits))
