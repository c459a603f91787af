"""The shape of a router: its inputs and outputs, and the turns between them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple

from ..graphs.graph import End, Turn
from ..graphs.routing.classed import class_of

__all__ = [
    "SWITCHINGS",
    "InputChannel",
    "OutputChannel",
    "RouterShape",
    "Switching",
    "space_needed",
]

Switching = Literal["wormhole", "cut-through", "store-and-forward", "packet"]
SWITCHINGS = {
    "wormhole": "a header leaves as soon as an output is free",
    "cut-through": "only while the queue behind the link has room for its whole packet",
    "store-and-forward": "only when, in addition, its whole packet has arrived",
}
"""The ways in which a `WormRouter` switches packets, and when a header may leave."""


class InputChannel(NamedTuple):
    """An input of a router: a channel of an arriving link, or what a terminal sends.

    Attributes
    ----------
    end : End
        The link's port and the channel's number. The ports of terminals are -1, -2, ...
    escape : bool
        Whether it is an escape channel.
    credits : bool
        Whether the sender counts credits: its flits always find room.
    """

    end: End
    escape: bool = True
    credits: bool = False

    @property
    def is_terminal(self) -> bool:
        return self.end[0] < 0


class OutputChannel(NamedTuple):
    """An output of a router, and the inputs whose worms can leave by it.

    `interval` is that of its link: the cycles for a flit.
    """

    end: End
    inputs: tuple[int, ...]
    escape: bool = True
    interval: int = 1

    @property
    def is_terminal(self) -> bool:
        return self.end[0] < 0


@dataclass(frozen=True)
class RouterShape:
    """What routers of one kind have in common, whatever their position.

    Links come first, by port and by channel, and then the terminals.

    Attributes
    ----------
    inputs : tuple[InputChannel, ...]
        What comes in: from links and from terminals.
    outputs : tuple[OutputChannel, ...]
        What goes out: to links and to terminals.
    choice : bool
        Whether headers may have a choice of outputs.
    equal_choices : bool
        Whether any two of them with a choice have the same one, or no output in common.
    lanes : int
        Wires side by side that each output has: a bundle of links to the same place.
    """

    inputs: tuple[InputChannel, ...]
    outputs: tuple[OutputChannel, ...]
    choice: bool = False
    equal_choices: bool = False
    lanes: int = 1

    @classmethod
    def of(
        cls,
        inputs: Iterable[InputChannel],
        outputs: Iterable[tuple[End, bool, int]],
        entries: int,
        exits: int,
        *,
        turns: Collection[Turn],
        choice: bool,
        equal_choices: bool = False,
        classes: int = 1,
    ) -> "RouterShape":
        """The shape with these channels of links (outputs with whether they are escape channels,
        and their interval), numbers of inputs and outputs of terminals, and the turns between them.

        There are no turns from one of several classes of messages to another (`class_of`).
        """
        own = [(-1 - number, 0) for number in range(max(entries, exits))]
        sides = [*sorted(inputs), *map(InputChannel, own[:entries])]

        def leads(entry: InputChannel, output: End | None) -> bool:
            return Turn(None if entry.is_terminal else entry.end, output) in turns

        def sources(end: End, output: End | None) -> tuple[int, ...]:
            own = class_of(end, classes)
            return tuple(
                i
                for i, entry in enumerate(sides)
                if class_of(entry.end, classes) == own and leads(entry, output)
            )

        links = [
            OutputChannel(end, sources(end, end), escape, interval)
            for end, escape, interval in sorted(outputs)
        ]
        outside = [OutputChannel(end, sources(end, None)) for end in own[:exits]]
        return cls(tuple(sides), (*links, *outside), choice, choice and equal_choices)

    @classmethod
    def box(cls, inputs: int, outputs: int, lanes_in: int = 1, lanes: int = 1) -> "RouterShape":
        """The shape of a box: turns from all inputs to all outputs, each of which is a bundle."""
        return replace(cls.of_stage(inputs, outputs, channels=(lanes_in, 1)), lanes=lanes)

    @classmethod
    def of_stage(
        cls,
        inputs: int,
        outputs: int,
        *,
        channels: tuple[int, int] = (1, 1),
        credits: bool = False,
        last: bool = False,
        classes: int = 1,
    ) -> "RouterShape":
        """The shape of the boxes of a stage, with turns from all inputs to all outputs of a class.

        Parameters
        ----------
        inputs, outputs : int
            Links into a box, and out of it.
        channels : tuple[int, int]
            Virtual channels of each of these; a header may take any channel of its link and class.
        credits : bool
            Whether the senders before it count credits.
        last : bool
            Whether terminals are behind it.
        classes : int
            Classes of messages: channel c * classes + k is of class k.
        """
        before, behind = channels
        sides = [(i, c) for i in range(inputs) for c in range(before)]
        ends = [(-1 - j if last else j, c) for j in range(outputs) for c in range(behind)]
        own = [
            tuple(n for n, (_, c) in enumerate(sides) if c % classes == k) for k in range(classes)
        ]
        return cls(
            tuple(InputChannel(end, credits=credits) for end in sides),
            tuple(OutputChannel(end, own[end[1] % classes]) for end in ends),
            choice=behind > classes,
            equal_choices=behind > classes,
        )

    @cached_property
    def links(self) -> list[tuple[int, ...]]:
        """For each link that leaves, and each terminal, the outputs that are its channels.

        Links of a bundle are numbered one after the other.
        """
        if self.lanes > 1:
            return [(number,) for number in range(len(self.outputs) * self.lanes)]
        numbered = enumerate(self.outputs)
        ports = groupby(numbered, key=lambda pair: pair[1].end[0])
        return [tuple(number for number, _ in channels) for _, channels in ports]

    @property
    def most_inputs(self) -> int:
        """The most inputs that can turn to one output."""
        return max(len(output.inputs) for output in self.outputs)

    @property
    def credited_inputs(self) -> list[int]:
        """Inputs whose senders count credits."""
        return [i for i, one in enumerate(self.inputs) if one.credits]

    @property
    def link_outputs(self) -> list[int]:
        """Outputs that are channels of links."""
        return [j for j, one in enumerate(self.outputs) if not one.is_terminal]

    def guarded_outputs(self, switching: Switching) -> list[int]:
        """Outputs that a header may take only if the queue behind the link has space."""
        return [j for j, one in enumerate(self.outputs) if _is_guarded(one, switching)]

    def guarded_inputs(self, switching: Switching) -> list[int]:
        """Inputs with `ready`: whether the queue has space. Links with credits have none."""
        found = [i for i, one in enumerate(self.inputs) if _is_guarded(one, switching)]
        return [i for i in found if not self.inputs[i].credits]

    def output(self, end: End) -> int:
        """The number of the output with this port and channel."""
        return self._outputs[end]

    def input(self, end: End) -> int:
        """The number of the input with this port and channel."""
        return self._inputs[end]

    @cached_property
    def _outputs(self) -> dict[End, int]:
        return {output.end: number for number, output in enumerate(self.outputs)}

    @cached_property
    def _inputs(self) -> dict[End, int]:
        return {entry.end: number for number, entry in enumerate(self.inputs)}


def _is_guarded(channel: InputChannel | OutputChannel, switching: Switching) -> bool:
    if channel.is_terminal or switching == "packet":
        return False
    return switching != "wormhole" or not channel.escape


def space_needed(switching: Switching, depth: int, longest: int) -> int:
    """Free places of a queue that a header waits for, where it does: all of them, or as many as the
    longest packet has flits."""
    return depth if switching == "wormhole" else longest
