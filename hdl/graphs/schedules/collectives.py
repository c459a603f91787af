"""Collective communication by algorithms of the terminals: who sends which words to whom.

A *collective* moves the words of a group of terminals, the members, together: a broadcast, a
reduction, an all-to-all exchange. An algorithm makes a `CollectiveProgram` of it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from ...fabric.checks import check_integer, check_limit, check_several, check_word, shown
from ...fabric.errors import InvalidValue, TooLarge
from .collective_draft import CollectiveDraft, Pair
from .collective_program import CollectiveProgram

__all__ = ["ALGORITHMS", "KINDS", "check_collective", "check_group", "collective_program"]

KINDS = ("broadcast", "reduce", "allreduce", "gather", "scatter", "alltoall", "barrier")

ALGORITHMS: dict[str, tuple[str, ...]] = {
    "broadcast": ("direct", "tree", "ring", "halving", "schedule"),
    "reduce": ("direct", "tree", "ring", "halving", "schedule"),
    "allreduce": ("direct", "tree", "ring", "doubling", "halving", "schedule"),
    "gather": ("direct", "tree", "ring"),
    "scatter": ("direct", "tree", "ring"),
    "alltoall": ("direct", "ring"),
    "barrier": ("direct", "tree", "ring", "doubling", "schedule"),
}
"""For each kind of collective, the algorithms of terminals that perform it."""

_MOST_WORDS = 2**20
"""Most words of all members together: they are lists, and rows of memories."""

_MOST_TRANSFERS = 2**21
"""Most messages of a program, which are objects with lists."""


def check_group(members: Sequence[int], ports: int) -> tuple[int, ...]:
    """Return a group of terminals as a tuple.

    Raises
    ------
    TypeError, ValueError
        If it has fewer than two members, one twice, or one that is no terminal.
    """
    several = check_several("Group", members, "terminals")
    members = tuple(check_integer("Member of a group", each, 0, ports - 1) for each in several)
    if twice := {member for member, times in Counter(members).items() if times > 1}:
        raise InvalidValue(f"Group must have each member once, not {min(twice)} several times")
    if len(members) < 2:
        raise InvalidValue(f"Group must have at least 2 members, not {len(members)}")
    return members


def check_collective(kind: str, members: Sequence[int], root: int, words: int) -> tuple[int, int]:
    """The root and the length, if there is such a collective and they can be.

    Raises
    ------
    TypeError, ValueError
        If not.
    """
    check_word("Kind", kind, KINDS)
    root = check_integer("Root", root, 0)
    if root not in members:
        raise InvalidValue(f"Root must be a member of the group, not {shown(root)}")
    words = check_integer("Flits", words, 1)
    copies = len(members) ** 2 if kind == "alltoall" else len(members)
    check_limit("Words of all members together", words * copies, _MOST_WORDS)
    if kind == "barrier" and words != 1:
        raise InvalidValue(f"Flits of a barrier must be 1, as it carries no data, not {words}")
    return root, words


def collective_program(
    kind: str,
    algorithm: str,
    members: Sequence[int],
    root: int,
    words: int,
    *,
    pairs: Callable[[bool], Sequence[Pair]] | None = None,
) -> CollectiveProgram:
    """The transfers of an algorithm.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    algorithm : str
        One of its `ALGORITHMS`.
    members : Sequence[int]
        Different terminals, two or more.
    root : int
        One of them. It matters to all kinds but the all-to-all exchange.
    words : int
        Length of the vector of a broadcast or a reduction; otherwise what each member has for each
        other.
    pairs : callable, optional
        For the algorithm `schedule`: the ranks of senders and receivers of a broadcast from rank 0,
        in the order of time, or if its argument is true, of a reduction to it. The rank of a member
        is its distance from the root in the group, which is a circle.

    Raises
    ------
    ValueError
        If the algorithm is not one of this kind, or a number can't be.
    """
    check_collective(kind, members, root, words)
    check_word(f"Algorithm of {kind}", algorithm, ALGORITHMS[kind])
    count, at = len(members), tuple(members).index(root)
    draft = CollectiveDraft(count, words, algorithm, pairs)
    transfers = list(islice(draft.transfers(kind), _MOST_TRANSFERS + 1))
    if len(transfers) > _MOST_TRANSFERS:
        raise TooLarge(f"Messages of {kind} by {algorithm} must be at most {_MOST_TRANSFERS}")
    turned = [members[(at + rank) % count] for rank in range(count)]
    ranks = [(member - at) % count for member in range(count)]
    inputs, outputs, rows = _places(kind, ranks, words)
    return CollectiveProgram(
        kind,
        algorithm,
        tuple(members),
        tuple(
            each._replace(source=turned[each.source], destination=turned[each.destination])
            for each in transfers
        ),
        rows,
        draft.banks,
        inputs,
        outputs,
    )


def _places(
    kind: str, ranks: Sequence[int], words: int
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...], int]:
    """The rows of each member's own words and of its result, and how many there are."""
    count = len(ranks)

    def blocks(numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(each * words + word for each in numbers for word in range(words))

    vector, everything, nothing = blocks([0]), blocks(ranks), ()
    at_root = [rank == 0 for rank in ranks]
    if kind in ("gather", "scatter"):
        own = tuple(blocks([rank]) for rank in ranks)
        whole = tuple(everything if root else nothing for root in at_root)
        return (own, whole, count * words) if kind == "gather" else (whole, own, count * words)
    if kind == "alltoall":
        # Behind the words for others are those from them. What is for oneself does not move.
        results = tuple(
            blocks([other if other == rank else count + other for other in ranks]) for rank in ranks
        )
        return (everything,) * count, results, 2 * count * words
    sends = tuple(vector if root or kind != "broadcast" else nothing for root in at_root)
    gets = tuple(vector if root or kind != "reduce" else nothing for root in at_root)
    return sends, gets, words
