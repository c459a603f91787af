"""Permutations in several passes: through intermediate terminals, or a part of them at a time.

Siegel et al., section V: a Generalized Cube performs bit reversal and the perfect shuffle in two
passes and every permutation in at most three. The functions here find these passes.
"""

import functools
import random
from collections.abc import Hashable, Iterable, Sequence

from ...fabric.errors import InvalidValue
from ..address_codes import AddressCode
from ..permutations import Permutation, check_permutation
from ..plans.multistage import Digits, MultistagePlan
from .colouring import edge_colouring
from .passes import links, passable

__all__ = ["decompose", "direct_passes"]

SEARCHED = 32
"""Largest number of terminals for which two passes are searched for."""

ATTEMPTS = 100
TRIALS = 20_000
"""Restarts of a search, and its steps per restart: about a second in all."""


def direct_passes(plan: MultistagePlan, destinations: Permutation) -> list[list[int | None]]:
    """Passes that each send some of the packets directly to their destinations.

    Each pass takes the inputs in order, and all those whose paths do not conflict with the inputs
    already taken. This gives the paper's two passes of the perfect shuffle, first the inputs 0x..x
    and then 1x..x. It does not always give the smallest number of such passes.

    Raises
    ------
    ValueError
        If it is no permutation of the plan's terminals.
    """
    check_permutation(destinations, plan.ports)
    # For each pass, the links that it uses and the destinations.
    passes: list[tuple[set[int], list[int | None]]] = []
    for source, destination in enumerate(destinations):
        if destination is None:
            continue
        path = _path(plan, source, destination)
        fitting = next((own for own in passes if own[0].isdisjoint(path)), None)
        if fitting is None:
            fitting = set(), [None] * plan.ports
            passes.append(fitting)
        used, sent = fitting
        used.update(path)
        sent[source] = destination
    return [sent for _, sent in passes]


def decompose(plan: MultistagePlan, destinations: Permutation) -> list[list[int | None]]:
    """Passes through intermediate terminals that together perform a permutation.

    All packets move in each pass, and each pass starts where the one before it ended. There are

    - one if the network passes the permutation;
    - two for boxes of 2^m ports if every bit of the output is an exclusive or of bits of the input,
      or the complement of one (bit reversal, shuffles, also inside segments);
    - two in the baseline network, where the second pass is the mirror image of the first: together
      they are a Benes network;
    - two for up to 32 terminals if a search finds them, as it does for all 40,320 permutations of
      eight terminals in every wiring, and for most of 32 in the Generalized Cube;
    - three otherwise, the second of which is the same for all permutations. Whether two are always
      enough is an open problem (section V).

    Inputs that send nothing are assigned the unused outputs, in order, to find the passes.

    Returns
    -------
    list of list of (int or None)
        For each pass, the output that each input sends to.

    Raises
    ------
    ValueError
        If it is not a permutation of the plan's terminals, or the plan is not one of `PLANS`, or
        its stages have boxes of several radices and it needs three passes.
    """
    check_permutation(destinations, plan.ports)
    if passable(plan, destinations):
        return [list(destinations)]
    unused = iter(sorted(set(range(plan.ports)).difference(destinations)))
    full = [next(unused) if to is None else to for to in destinations]
    through = _linear(plan, full)
    if through is None and plan.ports <= SEARCHED and not _mirrored(*_orders(plan)):
        through = _searched(plan, full)
    if through is None:
        through = _looped(plan, full)
    return _passes(destinations, [*through, full])


def _path(plan: MultistagePlan, source: int, destination: int) -> list[int]:
    """The links of a path, as numbers that are distinct across stages."""
    return [
        stage * plan.ports + before[source] + after[destination]
        for stage, (before, after) in enumerate(links(plan))
    ]


def _passes(destinations: Permutation, through: list[list[int]]) -> list[list[int | None]]:
    """Passes from the terminals at which each packet is after each pass; unused inputs get None."""
    active = [x for x, to in enumerate(destinations) if to is not None]
    at = list(range(len(destinations)))
    passes = []
    for then in through:
        sent: list[int | None] = [None] * len(at)
        for x in active:
            sent[at[x]] = then[x]
        passes.append(sent)
        at = then
    return passes


def _searched(plan: MultistagePlan, destinations: Sequence[int]) -> list[list[int]] | None:
    """The intermediate terminals of two passes, found by search; None if none are found.

    A search that takes long has started badly: it is restarted with the packets in another order.
    """
    paths = _paths(plan)
    second = len(plan.stages) * plan.ports
    order = list(range(plan.ports))
    via = [0] * plan.ports
    trials = 0

    def extend(placed: int, used: int) -> bool:
        nonlocal trials
        if placed == plan.ports:
            return True
        source = order[placed]
        for middle in range(plan.ports):
            needed = paths[source][middle] | paths[middle][destinations[source]] << second
            trials -= 1
            if not used & needed and trials > 0:
                via[source] = middle
                if extend(placed + 1, used | needed):
                    return True
        return False

    for attempt in range(ATTEMPTS):
        trials = TRIALS
        if extend(0, 0):
            return [via]
        random.Random(attempt).shuffle(order)
    return None


@functools.lru_cache(maxsize=8)
def _paths(plan: MultistagePlan) -> list[list[int]]:
    """The links of each path, by source and destination, as bits of one number."""
    return [
        [sum(1 << link for link in _path(plan, x, y)) for y in range(plan.ports)]
        for x in range(plan.ports)
    ]


def _linear(plan: MultistagePlan, destinations: Sequence[int]) -> list[list[int]] | None:
    """The intermediate terminals of two passes, if the permutation is affine over GF(2).

    The network passes such a permutation if all leading minors of its matrix are 1, with the rows
    (bits of the output) and columns (bits of the input) in the order in which the stages use them.
    Gaussian elimination makes any matrix a product of two such matrices: where a pivot is 0, a
    later column is added to it. The inverse of these additions is the first pass; the resulting
    matrix is the second.
    """
    if not plan.code.is_plain:
        return None
    offset = destinations[0]
    width = plan.ports.bit_length() - 1
    columns = [destinations[1 << bit] ^ offset for bit in range(width)]
    if any(_product(columns, x) ^ offset != to for x, to in enumerate(destinations)):
        return None
    replaced, chosen = (
        [bit for digit in digits for bit in _bits(digit, code)]
        for digits, code in zip(_orders(plan), (plan.source_code, plan.code))
    )
    # For each bit of the intermediate terminal: what it adds to the input and, so far, to the
    # output.
    input_, output = [0] * width, [0] * width
    for before, after in zip(replaced, chosen):
        input_[after] = 1 << before
        output[after] = columns[before]
    for step, (pivot, row) in enumerate(zip(replaced, chosen)):
        later = replaced[step + 1 :]
        if not output[pivot] >> row & 1:
            other = next(bit for bit in later if output[bit] >> row & 1)
            output[pivot] ^= output[other]
            input_[pivot] ^= input_[other]
        for bit in later:
            if output[bit] >> row & 1:
                output[bit] ^= output[pivot]
    via = [0] * plan.ports
    for middle in range(plan.ports):
        via[_product(input_, middle)] = middle
    return [via]


def _product(columns: Sequence[int], x: int) -> int:
    """A matrix of bits times a column of bits."""
    total = 0
    for bit, column in enumerate(columns):
        if x >> bit & 1:
            total ^= column
    return total


def _bits(digit: int, code: AddressCode) -> range:
    """The bits of a digit, from the top: a box of 2^m ports acts as m stages of 2 x 2 boxes."""
    place = code.places[digit]
    return range(place + code.widths[digit] - 1, place - 1, -1)


def _orders(plan: MultistagePlan) -> tuple[Digits, Digits]:
    """The source digits that the stages replace, and the destination digits that they choose.

    Both orders are the same in the Generalized Cube and opposite in the baseline network. In the
    butterfly, the digit that is chosen last is replaced first.
    """
    scheme = plan.tags()
    replaced, chosen = scheme.source_digits, scheme.destination_digits
    if replaced not in (chosen, chosen[::-1], chosen[-1:] + chosen[:-1]):
        raise InvalidValue(f"No general method to pass a permutation is known for {plan.name}")
    return replaced, chosen


def _mirrored(replaced: Digits, chosen: Digits) -> bool:
    """Whether a second pass is the mirror image of the first."""
    return replaced == chosen[::-1]


def _looped(plan: MultistagePlan, destinations: Sequence[int]) -> list[list[int]]:
    """The intermediate terminals of two or three passes that perform any permutation.

    Stage k of the first pass chooses a digit c_k for every packet, such that packets that meet in a
    box have different digits, both in this stage and in the stage of the last pass that replaces
    this digit (the looping algorithm of the Benes network, for boxes of any size). So the first
    pass ends at the digits c_0, c_1, .... The last pass may start at any terminals where, for every
    k, k of the digits depend only on c_0 to c_{k-1}. If the order of the digits allows it, these
    are the terminals at which the first pass ends. Otherwise a pass between them, which is the same
    for all permutations, moves the packets there.
    """
    if len(set(plan.radices)) > 1:
        raise InvalidValue(
            "Passes for every permutation are known only for boxes of one radix, "
            f"not {plan.radix_text}"
        )
    replaced, chosen = _orders(plan)
    n = len(chosen)
    mirrored = _mirrored(replaced, chosen)
    rotated = replaced != chosen and not mirrored
    inputs = [plan.code.split(x) for x in range(plan.ports)]
    outputs = [plan.code.split(to) for to in destinations]
    digits: list[Digits] = [()] * plan.ports
    leaving: list[Hashable]
    for k in range(n):
        entering = [(c, *(x[j] for j in replaced[k + 1 :])) for c, x in zip(digits, inputs)]
        if rotated and k == n - 1:
            # A middle pass begins and ends with this digit, so it depends on the last pass, too.
            leaving = [(c[:-1], y[chosen[0]]) for c, y in zip(digits, outputs)]
        else:
            leaving = [(c, *(y[j] for j in chosen[: n - 1 - k])) for c, y in zip(digits, outputs)]
        colours = edge_colouring(entering, leaving, plan.radix)
        digits = [(*c, colour) for c, colour in zip(digits, colours)]

    def terminals(values: Iterable[Digits]) -> list[int]:
        places = [chosen.index(j) for j in range(n)]
        return [plan.code.join([value[place] for place in places]) for value in values]

    if mirrored:
        return [terminals(digits)]
    if rotated:
        second = [(c[-1], *_turned(c[:-2], plan.radix), c[-2]) for c in digits]
    else:
        second = [_turned(c, plan.radix) for c in digits]
    return [terminals(digits), terminals(second)]


def _turned(digits: Digits, radix: int) -> Digits:
    """Digits in reverse order, with those of the second half added to their mirror images.

    Without the additions, the network would not pass this reversal.
    """
    size = len(digits)
    return tuple(
        (digits[j] + digits[size - 1 - j]) % radix if 2 * j > size - 1 else digits[j]
        for j in reversed(range(size))
    )
