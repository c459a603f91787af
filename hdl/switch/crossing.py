"""The crossbar of a switch, and the wires of its links."""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Shape, Signal, Value
from amaranth.lib import stream

from ..primitives.class_arbiter import ClassArbiter
from ..primitives.interchange_box import InterchangeBox
from ..primitives.multiplexer import one_of
from .shared_wires import shared_wires

__all__ = ["cross"]


def cross(
    m: Module,
    platform: Any,
    words: Mapping[int, Value],
    outputs: Sequence[stream.Interface],
    links: Sequence[Sequence[int]],
    uses: Sequence[Mapping[int, Value]],
    offered: Sequence[Value],
    *,
    numbers: Sequence[Value] = (),
    marked: bool = False,
    refill: bool = False,
    quick: bool = False,
    passed: list[Signal] | None = None,
    arbiter: ClassArbiter | None = None,
) -> list[Signal]:
    """Show words at outputs; return, for each output, whether what it shows leaves if it is valid.

    If every word can come to every output, and links have one channel each, this is an
    `InterchangeBox`. Otherwise each link has a multiplexer: there are wires for those turns only
    that some word makes.

    Parameters
    ----------
    m : Module
    platform : object
    words : Mapping[int, Value]
        By number of the input.
    outputs : Sequence[stream.Interface]
    links : Sequence[Sequence[int]]
        The numbers of the outputs that share the wires of a link.
    uses : Sequence[Mapping[int, Value]]
        For each output, by the inputs that can come to it: whether it shows this one's word.
    offered : Sequence[Value]
        Whether there is a word for an output.
    numbers : Sequence[Value]
        For each output, the number of the input that it shows, if it is known: for a box.
    marked : bool
        Whether bit 0 of a word says that it is there. Then this sets `offered`, from what a
        multiplexer shows, and links have one channel each.
    refill : bool
        As in `shared_wires`.
    quick : bool
        Whether a short path is worth more tables.
    passed : list[Signal], optional
        The signals that are set and returned.
    arbiter : ClassArbiter, optional
        As in `shared_wires`.
    """
    passed = passed or [Signal(name=f"passed_{j}") for j in range(len(outputs))]
    box = None
    if numbers and len(words) > 1 and len(links) == len(outputs):
        shape = next(iter(words.values())).shape()
        m.submodules.box = box = InterchangeBox(len(words), shape, len(outputs), blank=False)
        m.d.comb += [port.eq(word) for port, word in zip(box.i, words.values())]
        box.set(m, numbers, ~0)
    for number, link in enumerate(links):
        channels = [(offered[j], outputs[j].ready) for j in link]
        turns = shared_wires(m, number, channels, refill=refill, arbiter=arbiter).taken
        if box is None:
            sources = sorted({i for j in link for i in uses[j]})
            selected = Signal(len(sources), name=f"selected_{number}")
            m.d.comb += selected.eq(
                Cat(
                    Cat(uses[j][i] & turn for j, turn in zip(link, turns) if i in uses[j]).any()
                    for i in sources
                )
            )
            own, name = [words[i] for i in sources], f"link_{number}"
            payload: Any = one_of(m, platform, name, selected, own, quick=quick, blank=marked)
            if len(link) > 1:
                shared = Signal.like(Value.cast(payload), name=f"shared_{number}")
                m.d.comb += shared.eq(payload)
                payload = shared
            if marked:
                m.d.comb += offered[link[0]].eq(payload[0])
                payload = payload[1:]
        for j, turn in zip(link, turns):
            m.d.comb += [
                passed[j].eq(outputs[j].ready & turn),
                outputs[j].valid.eq(offered[j] & (passed[j] if len(link) > 1 else 1)),
                outputs[j].payload.eq(_whole(payload if box is None else box.o[j], outputs[j])),
            ]
    return passed


def _whole(word: Value, output: stream.Interface) -> Value:
    """A word with its top bit, which is not among the wires if it is always 1."""
    missing = Shape.cast(output.payload.shape()).width - len(Value.cast(word))
    return Cat(word, ~Const(0, missing))
