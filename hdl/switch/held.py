"""Outputs that belong to a worm as long as their arbiter holds its grant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream

from ..primitives.class_arbiter import ClassArbiter
from ..primitives.multiplexer import has_blank_form
from ..primitives.round_robin import RoundRobin
from .crossing import cross

__all__ = ["Head", "hold"]


@dataclass
class Head:
    """What waits at an input, or in one of several queues of it.

    Attributes
    ----------
    word : Value
        As it leaves.
    valid : Value
        Whether there is a word.
    active : Value
        Whether it requests outputs: from a header to the tail, even while the next flit has not
        arrived.
    aims : Mapping[int, Value]
        By output, or by bundle of outputs: whether this is one that the word, or its worm, is for;
        without meaning if the head is not active.
    copies : Signal, optional
        If it may be for several outputs at once: those that take their copy, one bit each. Set by
        `hold`.
    served : dict[int, Value]
        By the same: whether it takes the word, if it is valid, in this cycle. Set by `hold`.
    leaves : Value
        Whether any does. Set by `hold`.
    """

    word: Value
    valid: Value
    active: Value
    aims: Mapping[int, Value]
    copies: Signal | None = None
    served: dict[int, Value] = field(default_factory=dict)
    leaves: Value = field(default_factory=Signal)


def hold(
    m: Module,
    platform: Any,
    heads: Sequence[Head],
    outputs: Sequence[stream.Interface],
    links: Sequence[Sequence[int]] | None = None,
    *,
    worms: bool,
    lanes: int = 1,
    refill: bool = False,
    quick: bool = False,
    between: ClassArbiter | None = None,
) -> None:
    """Send the words of heads to the outputs that they want: to each in turn (`RoundRobin`).

    An arbiter holds its grant until the tail of the worm has left; in the next cycle, another
    header can follow. So there is no register for the worms. The word of a head that is not granted
    waits.

    The lanes of a bundle choose one after the other, each in turn among the words that no other
    lane has: the first lane that shows no word gets one first.

    Parameters
    ----------
    m : Module
    platform : object
    heads : Sequence[Head]
    outputs : Sequence[stream.Interface]
    links : Sequence[Sequence[int]], optional
        The numbers of the outputs that share the wires of a link; by default none do.
    worms : bool
        Whether packets have several words, of which the last one has `last` set.
    lanes : int
        Outputs of a bundle: lane l of bundle b is number b * lanes + l. Without worms.
    refill, quick : bool
        As in `cross`.
    between : ClassArbiter, optional
        The `arbiter` of `cross`.
    """
    count, everything = len(outputs), list(range(len(heads)))
    entries = [[i for i in everything if j // lanes in heads[i].aims] for j in range(count)]
    arbiters = {j: RoundRobin(len(own)) for j, own in enumerate(entries) if own}
    # Nothing is, where no packet ever comes.
    numbered = bool(heads) and lanes == 1 and not quick
    numbered = numbered and all(own == everything for own in entries)
    # Whether there is a word may be a further bit of a multiplexer.
    most, width = max(map(len, entries), default=0), len(heads[0].word) + 1 if heads else 0
    marked = worms and all(len(link) == 1 for link in links or ())
    marked = marked and has_blank_form(platform, most, width)
    numbered = numbered and not marked
    # One choice after the other: fewer tables for worms, and a shorter path with two inputs.
    chained = numbered and (worms or len(heads) == 2) and heads[0].copies is None
    uses: list[dict[int, Value]] = [{} for _ in entries]
    offered: list[Value] = [Const(0)] * count
    for j, arbiter in arbiters.items():
        m.submodules[f"arbiter_{j}"] = arbiter
        for at, i in enumerate(entries[j]):
            # The number of the grant is known before it is known that there is one.
            here = heads[i].aims[j] & (arbiter.grant == at) if numbered else arbiter.granted[at]
            uses[j][i] = here
        offered[j] = Signal(name=f"offered_{j}")
        if not worms:
            m.d.comb += offered[j].eq(arbiter.request.any())
        elif chained:
            for i, bit in uses[j].items():
                with m.If(bit):
                    m.d.comb += offered[j].eq(heads[i].valid)
        elif not marked:
            m.d.comb += offered[j].eq(Cat(heads[i].valid & bit for i, bit in uses[j].items()).any())
    for bundle in range(count // lanes):
        own = range(bundle * lanes, (bundle + 1) * lanes)
        request = Cat(heads[i].active & heads[i].aims[bundle] for i in entries[own[0]])
        if lanes > 1:
            _share(m, bundle, request, [arbiters[j] for j in own], [outputs[j] for j in own])
        elif own[0] in arbiters:
            m.d.comb += arbiters[own[0]].request.eq(request)
    passed = cross(
        m,
        platform,
        {i: Cat(head.valid, head.word) if marked else head.word for i, head in enumerate(heads)},
        outputs,
        [[j] for j in range(count)] if links is None else links,
        uses,
        offered,
        numbers=[arbiters[j].grant for j in range(count)] if numbered else (),
        marked=marked,
        refill=refill,
        quick=quick,
        arbiter=between,
    )
    for j, arbiter in arbiters.items():
        leaves = offered[j] & passed[j] & outputs[j].payload.last if worms else passed[j]
        m.d.comb += arbiter.taken.eq(leaves)
        for i, bit in uses[j].items():
            before = heads[i].served.get(j // lanes, Const(0, 1))
            heads[i].served[j // lanes] = before | bit & passed[j]
    for i, head in enumerate(heads):
        if head.copies is not None:
            m.d.comb += head.copies.eq(Cat(head.served[at] for at in head.aims))
        if not chained:
            head.leaves = Cat(head.served.values()).any()
            continue
        head.leaves = Signal(name=f"leaves_{i}")
        for j in range(count):
            with m.If(uses[j][i]):
                m.d.comb += head.leaves.eq(passed[j] & (1 if worms else offered[j]))


def _share(
    m: Module,
    bundle: int,
    request: Value,
    arbiters: Sequence[RoundRobin],
    lanes: Sequence[stream.Interface],
) -> None:
    """Let each lane of a bundle choose among the words that no other lane shows."""
    asked = Signal(len(request), name=f"request_{bundle}")
    m.d.comb += asked.eq(request)
    kept = [Signal(len(request), name=f"kept_{bundle}_{lane}") for lane in range(len(lanes))]
    for lane, (arbiter, output) in enumerate(zip(arbiters, lanes)):
        free: Value = asked
        for other in range(len(lanes)):
            if other != lane:
                free = free & ~kept[other]
        for earlier in arbiters[:lane]:
            free = free & ~earlier.granted
        m.d.comb += arbiter.request.eq(free)
        m.d.sync += kept[lane].eq(Mux(output.ready, 0, arbiter.granted))
