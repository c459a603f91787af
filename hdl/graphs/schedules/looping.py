"""Settings of the boxes of Clos and Benes networks for a permutation: the looping algorithm.

A permutation is a bipartite multigraph: the boxes of the first stage on one side, those of the last
stage on the other, and an edge for each packet. The colour of an edge is the middle box, or the
inner network, that its packet takes: packets of one box must take different ones. So n colours are
enough for boxes of n terminals, since an edge colouring with as many colours as edges meet always
exists (Koenig, 1916); with two colours it is the looping algorithm (Opferman and Tsao-Wu, 1971).
"""

from collections.abc import Iterator, Sequence

from ...fabric.checks import check_integer
from ...fabric.errors import InvalidValue
from ..permutations import Permutation, check_permutation
from .colouring import edge_colouring

__all__ = ["BoxSettings", "benes_loops", "benes_settings", "clos_settings", "completed"]

BoxSettings = list[list[tuple[int | None, ...]]]
"""For each stage and box, the input that each of its outputs shows; None for an idle output."""


def completed(destinations: Permutation) -> list[int]:
    """The full permutation in which inputs that send nothing get the unused outputs, in order."""
    check_permutation(destinations, len(destinations))
    unused = iter(sorted(set(range(len(destinations))).difference(destinations)))
    return [next(unused) if to is None else to for to in destinations]


def clos_settings(destinations: Permutation, n: int, m: int) -> BoxSettings:
    """The settings of a three-stage Clos network that pass a permutation.

    Parameters
    ----------
    destinations : Permutation
        Of a multiple of n terminals. Inputs that send nothing get the unused outputs, in order.
    n : int
        Terminals of a box of the first and of the last stage.
    m : int
        Middle boxes, at least n.

    Raises
    ------
    TypeError, ValueError
        If it is not a permutation, or there are fewer than n middle boxes.

    Examples
    --------
    Four terminals, boxes of two; the packets of each outer box take different middle boxes:

    >>> clos_settings([3, 2, 1, 0], 2, 2)
    [[(0, 1), (0, 1)], [(1, 0), (1, 0)], [(1, 0), (1, 0)]]
    """
    n = check_integer("Terminals of a box", n, 1)
    m = check_integer("Middle boxes", m, 1)
    if len(destinations) % n:
        raise InvalidValue(f"Terminals must be a multiple of {n}, not {len(destinations)}")
    if m < n:
        raise InvalidValue(f"Middle boxes must be at least {n} to pass every permutation, not {m}")
    full = completed(destinations)
    boxes = len(full) // n
    middles = edge_colouring([x // n for x in range(len(full))], [to // n for to in full], m)
    first: list[list[int | None]] = [[None] * m for _ in range(boxes)]
    middle: list[list[int | None]] = [[None] * boxes for _ in range(m)]
    last: list[list[int | None]] = [[None] * n for _ in range(boxes)]
    for x, (to, box) in enumerate(zip(full, middles)):
        first[x // n][box] = x % n
        middle[box][to // n] = x // n
        last[to // n][to % n] = box
    return [[tuple(box) for box in column] for column in (first, middle, last)]


def benes_settings(destinations: Permutation) -> BoxSettings:
    """The settings of a Benes network of 2 x 2 boxes that pass a permutation.

    Stages k and 2 (n - 1) - k of the 2n - 1 join lines that differ in bit k only (`Benes`).

    Parameters
    ----------
    destinations : Permutation
        Of 2^n terminals. Inputs that send nothing get the unused outputs, in order.

    Raises
    ------
    ValueError
        If it is not a permutation, or the number of terminals is not a power of two.

    Examples
    --------
    >>> benes_settings([3, 2, 1, 0])
    [[(0, 1), (0, 1)], [(1, 0), (1, 0)], [(1, 0), (1, 0)]]
    """
    first: BoxSettings = []
    last: BoxSettings = []
    for bit, entering, leaving, inner in _halvings(destinations):
        first.append(_column(entering, inner, bit))
        if 2 << bit < len(destinations):
            # Seen from the outputs, the packets come from the inner networks.
            last.append(_column(leaving, inner, bit, back=True))
    return [*first, *reversed(last)]


def benes_loops(destinations: Permutation) -> list[list[tuple[int, int]]]:
    """The boxes of a Benes network, loop by loop, in the order in which the looping algorithm sets
    them: each by its stage, and its number there.

    A packet of a box of the first stage takes one inner network. In the box of the last stage to
    which it leads, the other packet must come from the other one. This packet comes from a box of
    the first stage, whose other packet must take the first inner network again, and so on, until
    the loop is closed. Boxes of the middle stage are loops of their own.

    Parameters
    ----------
    destinations : Permutation
        As in `benes_settings`; so are the errors.

    Examples
    --------
    >>> benes_loops([3, 2, 1, 0])
    [[(0, 0), (2, 1)], [(0, 1), (2, 0)], [(1, 0)], [(1, 1)]]
    """
    found = []
    for bit, entering, leaving, _ in _halvings(destinations):
        first, last = bit, 2 * (len(destinations).bit_length() - 2) - bit
        inputs, outputs = ([_box(line, bit) for line in lines] for lines in (entering, leaving))
        with_input, with_output = _partners(inputs), _partners(outputs)
        left = dict.fromkeys(range(len(entering)))
        while left:
            packet = start = next(iter(left))
            loop: dict[tuple[int, int], None] = {}  # in order; the ends of a middle box are one
            while packet in left:
                loop |= {(first, inputs[packet]): None, (last, outputs[packet]): None}
                other = with_output[packet]
                del left[packet], left[other]
                packet = with_input[other]
            assert packet == start
            found.append([*loop])
    return found


def _partners(boxes: Sequence[int]) -> list[int]:
    """For each packet, the other one of its box."""
    both: dict[int, int] = {}
    for packet, box in enumerate(boxes):
        both[box] = both.get(box, 0) + packet
    return [both[box] - packet for packet, box in enumerate(boxes)]


def _halvings(destinations: Permutation) -> Iterator[tuple[int, list[int], list[int], list[int]]]:
    """From the outer stages to the middle one: the bit in which lines of a box differ, the line on
    which each packet enters the one stage, that on which it leaves the other, and the inner network
    that it takes between them; in the middle stage, the output of its box.
    """
    count = len(destinations)
    if count < 2 or count & (count - 1):
        raise InvalidValue(f"Terminals of a Benes network must be a power of two, not {count}")
    entering, leaving = list(range(count)), completed(destinations)
    middle = count.bit_length() - 2
    for bit in range(middle):
        inputs, outputs = ([_box(line, bit) for line in lines] for lines in (entering, leaving))
        inner = edge_colouring(inputs, outputs, 2)
        yield bit, entering, leaving, inner
        entering, leaving = (
            [line & ~(1 << bit) | half << bit for line, half in zip(lines, inner)]
            for lines in (entering, leaving)
        )
    yield middle, entering, leaving, [line >> middle for line in leaving]


def _box(line: int, bit: int) -> int:
    """The box of a stage that joins lines which differ in this bit."""
    return line >> bit + 1 << bit | line & (1 << bit) - 1


def _column(
    lines: Sequence[int], ports: Sequence[int], bit: int, back: bool = False
) -> list[tuple[int | None, ...]]:
    """A stage in which the packet on each line leaves by one of its box's ports; or `back`, in
    which it came by this port, and leaves on the line."""
    found: list[list[int | None]] = [[None, None] for _ in range(len(lines) // 2)]
    for line, port in zip(lines, ports):
        ends = line >> bit & 1, port
        came, leaves = reversed(ends) if back else ends
        found[_box(line, bit)][leaves] = came
    return [tuple(box) for box in found]
