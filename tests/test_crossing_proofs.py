# amaranth: UnusedElaboratable=no
"""Proofs about the queue between two clocks: each of them may tick in any step, or not."""

from pathlib import Path

import pytest
from amaranth.hdl import DomainRenamer, EnableInserter, Module, Signal
from claims import Claims, needs_yosys
from long_runs import long
from multicube.hdl.terminals.clock_crossing import ClockCrossing
from proof_table import proves

pytestmark = needs_yosys


def crossed(
    depth: int, room: int | None = None, kind: type[ClockCrossing] = ClockCrossing
) -> Claims:
    """A queue that is offered 0, 1, 2, ... must show 0, 1, 2, ...; the numbers are modulo more than
    it holds, so that nothing lost, doubled, changed or out of order goes unnoticed."""
    claims = Claims()
    m = claims.m
    crossing = kind(4, depth=depth)
    write, read = claims.free(1, "write"), claims.free(1, "read")
    gated = EnableInserter({"write": write, "read": read})(crossing)
    m.submodules.crossing = DomainRenamer({"write": "sync", "read": "sync"})(gated)
    valid, ready = claims.free(1, "valid"), claims.free(1, "ready")
    sent, seen = Signal(4), Signal(4)
    m.d.comb += [
        crossing.i.valid.eq(valid),
        crossing.i.payload.eq(sent),
        crossing.o.ready.eq(ready),
    ]
    entered, left = valid & crossing.i.ready & write, crossing.o.valid & ready & read
    m.d.sync += [sent.eq(sent + entered), seen.eq(seen + left)]
    inside = (sent - seen)[:4]
    claims.claim(~crossing.o.valid | (crossing.o.payload == seen))
    claims.claim(inside <= (depth + 1 if room is None else room))
    # What is shown stays until it is taken.
    held = claims.past(crossing.o.valid & ~left)
    claims.claim(~held | crossing.o.valid)
    return claims


@proves(
    ClockCrossing,
    says="The queue is lossless and in order, and keeps the stream rule. It holds at most one "
    "item more than its depth. This is so whichever of the two clocks ticks in a step. Resets and "
    "metastability are left out.",
    sizes="depths 2, 4 and 8, items of 4 bits",
)
@pytest.mark.parametrize("depth", [2, long(4), long(8)])
def test_crossing_is_lossless(tmp_path: Path, depth: int) -> None:
    assert crossed(depth).hold(tmp_path)


def test_claims_about_the_crossing_can_be_broken(tmp_path: Path) -> None:
    """It does fill to the last place."""
    assert not crossed(4, room=4).hold(tmp_path)


class Hasty(ClockCrossing):
    """Moves items in any state of the register."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.o.valid.eq(1)
        return m


@pytest.mark.long
def test_proofs_find_a_crossing_that_shows_nothing(tmp_path: Path) -> None:
    assert not crossed(4, kind=Hasty).hold(tmp_path)
