"""Kinds of arbiters that choose one of several requests anew in every cycle."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike

from ..fabric.checks import check_limit, check_word
from .random_bits import MOST_RANDOM, RandomOrder
from .round_robin import RoundRobin, lowest, lowest_rank

__all__ = ["ARBITERS", "arbitrate", "check_arbiter", "least_recent"]

ARBITERS = {
    "round-robin": "in turn",
    "fixed": "always the lowest number: others may wait forever",
    "random": "any with the same probability",
    "least-recent": "the one whose last grant is longest ago",
}
"""The kinds of arbiters, and what they grant."""


_PAIRS = 8
"""Most requests of which all pairs are compared."""


def check_arbiter(arbiter: str, inputs: int) -> str:
    """Check a kind of arbiter, and that it can have so many inputs; return it."""
    check_word("Arbiter", arbiter, ARBITERS)
    if arbiter == "random":
        check_limit("Inputs that a random arbiter chooses from", inputs, MOST_RANDOM)
    return arbiter


def arbitrate(
    m: Module, arbiter: str, name: str, request: Value, seed: Value, used: ValueLike = 1
) -> Value:
    """The granted one of some requests, one bit each; zero if there is none.

    What is granted depends combinationally on the requests, and otherwise on
    registers. With "round-robin" and "least-recent" a request that stays waits for at most one
    grant of each other; with "random" it is granted as soon as any other, in the mean; with "fixed"
    it may wait forever.

    Parameters
    ----------
    m : Module
        Where the logic is added.
    arbiter : str
        One of `ARBITERS`.
    name : str
        Name of its submodules and signals.
    request : Value
    seed : Value
        Only for "random": 32 bits, constant, not zero. Arbiters with the same seed make the same
        choices.
    used : ValueLike
        Whether the grant is used; if it is not, "round-robin" stays at the request that it granted.
    """
    count = len(request)
    if arbiter == "round-robin":
        m.submodules[name] = turn = RoundRobin(count)
        m.d.comb += [turn.request.eq(request), turn.taken.eq(used)]
        return turn.granted
    if arbiter == "fixed":
        return lowest(request)
    if arbiter == "random":
        m.submodules[name] = order = RandomOrder(count)
        m.d.comb += order.seed.eq(seed)
        return order.first(m, name, request)
    return least_recent(m, name, request)


def least_recent(m: Module, name: str, request: Value, used: ValueLike = 1) -> Value:
    """The request whose last grant is longest ago, one bit each; zero if there is none.

    As `arbitrate` with "least-recent"; but a grant that is not `used` does not count as one.
    """
    count = len(request)
    granted = Signal(count, name=f"{name}_granted")
    served = granted & Value.cast(used).replicate(count)
    if count > _PAIRS:
        _least_recent(m, name, request, granted, served)
        return granted
    # before[j][i]: j's last grant is longer ago than i's.
    before = [[Const(0)] * count for _ in range(count)]
    for j in range(count):
        for i in range(j + 1, count):
            older = Signal(init=1, name=f"{name}_{j}_before_{i}")
            before[j][i], before[i][j] = older, ~older
    m.d.comb += granted.eq(_first(request, before))
    for j in range(count):
        for i in range(j + 1, count):
            with m.If(served[j] | served[i]):
                m.d.sync += before[j][i].eq(served[i])
    return granted


def _least_recent(m: Module, name: str, request: Value, granted: Signal, served: Value) -> None:
    """Set `granted` to the request whose last grant is longest ago, of many.

    Each request has a rank, 0 for the longest. A grant moves its request to the last rank, and
    requests ranked behind it move up by one. This takes k log k gates; pairs would take k^2.
    """
    count = len(request)
    bits = range((count - 1).bit_length())
    # Bit i of rank[b] is bit b of the rank of request i: all ranks are computed side by side.
    rank = [
        Signal(count, init=sum((i >> b & 1) << i for i in range(count)), name=f"{name}_rank_{b}")
        for b in bits
    ]
    m.d.comb += granted.eq(lowest_rank(m, name, request, rank))
    own = [(served & plane).any().replicate(count) for plane in rank]
    after: Value = Const(0, count)
    same: Value = ~Const(0, count)
    for b in reversed(bits):
        after |= same & rank[b] & ~own[b]
        same &= ~(rank[b] ^ own[b])
    moves = Signal(count, name=f"{name}_moves")
    m.d.comb += moves.eq(Mux(served.any(), after, 0))
    borrow: Value = moves
    for b in bits:
        last = served if count - 1 >> b & 1 else Const(0, count)
        m.d.sync += rank[b].eq((rank[b] ^ borrow) & ~served | last)
        borrow = borrow & ~rank[b]


def _first(request: Value, before: list[list[Value]]) -> Value:
    """The request that comes before all others: bit i of `before[j]` is 1 if j is before i."""
    numbers = range(len(request))
    return Cat(
        request[i] & ~Cat(request[j] & before[j][i] for j in numbers if j != i).any()
        for i in numbers
    )
