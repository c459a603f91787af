# amaranth: UnusedElaboratable=no
"""Proofs of arbiters and of random orders, for ever."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Const, Signal
from claims import Claims, FickleArbiter, any_bits, needs_yosys
from long_runs import long
from multicube.hdl.primitives.arbiters import arbitrate
from multicube.hdl.primitives.joint_arbiter import JointArbiter
from multicube.hdl.primitives.random_bits import RandomBits, RandomOrder
from multicube.hdl.primitives.round_robin import RoundRobin
from multicube.hdl.primitives.xoroshiro import Xoroshiro128
from proof_table import proves

__all__ = ["any_bits"]

pytestmark = needs_yosys


def arbiter(
    claims: Claims, count: int, kind: type[RoundRobin] = RoundRobin
) -> tuple[RoundRobin, Signal, Signal]:
    claims.m.submodules.arbiter = dut = kind(count)
    request, taken = claims.free(count, "request"), claims.free(1, "taken")
    claims.m.d.comb += [dut.request.eq(request), dut.taken.eq(taken)]
    return dut, request, taken


def grants_and_holds(count: int, kind: type[RoundRobin] = RoundRobin) -> Claims:
    claims = Claims()
    dut, request, taken = arbiter(claims, count, kind)
    claims.claim(~request.any() | request.bit_select(dut.grant, 1))
    claims.claim(dut.granted == request.any() << dut.grant)
    waiting = claims.past(request.any() & ~taken)
    before = claims.past(dut.grant)
    claims.claim(~claims.began | ~waiting | ~request.bit_select(before, 1) | (dut.grant == before))
    return claims


@pytest.mark.long
@proves(
    RoundRobin,
    says="If there is a request, exactly one is granted. It stays granted until it is taken or "
    "withdrawn.",
    sizes="2, 3, 4, 8 and 9 requests",
)
@pytest.mark.parametrize("count", [long(2), 3, long(4), long(8), long(9)])
def test_round_robin_grants_and_holds(tmp_path: Path, count: int) -> None:
    assert grants_and_holds(count).hold(tmp_path)


def waits_of(claims: Claims, count: int) -> Signal:
    """How many others were served since some requester, any of them, put its request up."""
    dut, request, taken = arbiter(claims, count)
    who = claims.symbol(max(1, (count - 1).bit_length()), "who")
    claims.assume(who < count)
    wants = request.bit_select(who, 1)
    waits = Signal(range(count + 2))
    with claims.m.If(~wants | (taken & (dut.grant == who))):
        claims.m.d.sync += waits.eq(0)
    with claims.m.Elif(taken & (waits <= count)):
        claims.m.d.sync += waits.eq(waits + 1)
    return waits


@pytest.mark.long
@proves(
    RoundRobin,
    says="The arbiter is fair: a request that stays waits for at most `count` - 1 others.",
    sizes="2, 3, 4, 8 and 9 requests",
)
@pytest.mark.parametrize("count", [long(2), 3, long(4), long(8), long(9)])
def test_round_robin_is_fair(tmp_path: Path, count: int) -> None:
    claims = Claims()
    claims.claim(waits_of(claims, count) <= count - 1)
    assert claims.hold(tmp_path)


def test_proofs_find_a_bound_that_is_too_low(tmp_path: Path) -> None:
    claims = Claims()
    claims.claim(waits_of(claims, 3) <= 1)
    assert not claims.hold(tmp_path)


@pytest.mark.long
def test_proofs_find_a_grant_that_moves(tmp_path: Path) -> None:
    assert not grants_and_holds(2, FickleArbiter).hold(tmp_path)


def one_of_all(claims: Claims, kind: str, count: int, waits: int | None = None) -> None:
    """Exactly one request is granted, if there is any; each waits for a number of others."""
    m = claims.m
    request = claims.free(count, "request")
    granted = Signal(count)
    m.d.comb += granted.eq(arbitrate(m, kind, "arbiter", request, Const(1, 32)))
    claims.claim((granted & ~request) == 0)
    claims.claim((granted & (granted - 1)) == 0)
    claims.claim(granted.any() == request.any())
    if waits is not None:
        who, other = (claims.symbol(max(1, (count - 1).bit_length()), x) for x in ("who", "other"))
        claims.assume(who < count)
        passed = Signal(range(waits + 2))
        with m.If(~request.bit_select(who, 1) | granted.bit_select(who, 1)):
            m.d.sync += passed.eq(0)
        with m.Elif(granted.bit_select(other, 1) & (passed <= waits)):
            m.d.sync += passed.eq(passed + 1)
        claims.claim(passed <= waits)


@proves(
    says="The arbiter `least-recent` grants exactly one request if there is one. It is fair: a "
    "request that stays sees each other one granted at most once.",
    sizes="2, 3, 5 and 9 requests",
)
@pytest.mark.parametrize("count", [long(2), 3, long(5), long(9)])
def test_least_recent_arbiter_is_fair(tmp_path: Path, count: int) -> None:
    claims = Claims()
    one_of_all(claims, "least-recent", count, 1)
    assert claims.hold(tmp_path)


@proves(
    says="The arbiters `random` and `fixed` grant exactly one request if there is one, whatever "
    "the random bits are.",
    sizes="2, 3 and 5 requests",
)
@pytest.mark.parametrize("kind", ["random", long("fixed")])
@pytest.mark.parametrize("count", [long(2), 3, long(5)])
def test_arbiters_grant_one_request(
    tmp_path: Path, any_bits: Claims, kind: str, count: int
) -> None:
    one_of_all(any_bits, kind, count)
    assert any_bits.hold(tmp_path)


@pytest.mark.parametrize("kind", ["random", "fixed"])
@pytest.mark.long
def test_proofs_find_arbiters_that_are_not_fair(
    tmp_path: Path, any_bits: Claims, kind: str
) -> None:
    one_of_all(any_bits, kind, 2, 3)
    assert not any_bits.hold(tmp_path)


@proves(
    RandomOrder,
    says="In each cycle all items are in a strict order, and their ranks agree with it, whatever "
    "the random bits are.",
    sizes="2, 3, 4 and 5 items",
)
@pytest.mark.parametrize("count", [long(2), 3, long(4), long(5)])
def test_random_order_is_an_order(tmp_path: Path, any_bits: Claims, count: int) -> None:
    any_bits.m.submodules.order = order = RandomOrder(count)
    items = range(count)
    for i, j in itertools.permutations(items, 2):
        any_bits.claim(order.before[i][j] ^ order.before[j][i])
        any_bits.claim(order.before[i][j] == (order.rank[i] < order.rank[j]))
    for i, j, k in itertools.permutations(items, 3):
        any_bits.claim(~order.before[i][j] | ~order.before[j][k] | order.before[i][k])
    assert any_bits.hold(tmp_path)


def joint(radix: int, waits: int = 1) -> Claims:
    claims = Claims()
    m, ports = claims.m, range(radix)
    m.submodules.dut = dut = JointArbiter(radix)
    request, free = claims.free(radix, "request"), claims.free(radix, "free")
    wanted = [claims.free(radix, f"wanted_{i}") for i in ports]
    m.d.comb += [dut.request.eq(request), dut.free.eq(free)]
    m.d.comb += [port.eq(value) for port, value in zip(dut.wanted, wanted)]
    possible = [request[i] & wanted[i].any() & ((wanted[i] & ~free) == 0) for i in ports]
    for i in ports:
        claims.claim(~dut.granted[i] | possible[i])
        others = [possible[j] & (wanted[i] & wanted[j]).any() for j in ports if j != i]
        claims.claim(~possible[i] | Cat(others).any() | dut.granted[i])
    for i, j in itertools.combinations(ports, 2):
        claims.claim(~(dut.granted[i] & dut.granted[j]) | ((wanted[i] & wanted[j]) == 0))
    claims.claim(dut.granted.any() == Cat(possible).any())
    # A request for one output that stays.
    bits = (radix - 1).bit_length()
    who, other, where = (claims.symbol(bits, name) for name in ("who", "other", "where"))
    claims.assume((who < radix) & (other < radix) & (who != other))
    only, passed = Signal(), Signal(range(waits + 2))
    for i in ports:
        with m.If(who == i):
            m.d.comb += only.eq(request[i] & (wanted[i] == 1 << where))
    overtakes = Signal()
    for j in ports:
        with m.If(other == j):
            m.d.comb += overtakes.eq(dut.granted[j] & wanted[j].bit_select(where, 1))
    with m.If(~only | dut.granted.bit_select(who, 1)):
        m.d.sync += passed.eq(0)
    with m.Elif(overtakes & (passed <= waits)):
        m.d.sync += passed.eq(passed + 1)
    claims.claim(passed <= waits)
    return claims


@pytest.mark.long
@proves(
    JointArbiter,
    says="Only a request whose outputs are all free is granted. No output is granted twice, and "
    "at least one request is granted if any can be. The arbiter is fair: a request for one output "
    "that stays is overtaken by each other input at most once.",
    sizes="radix 2, 3 and 4",
)
@pytest.mark.parametrize("radix", [long(2), 3, long(4)])
def test_joint_arbiter_is_fair(tmp_path: Path, radix: int) -> None:
    assert joint(radix).hold(tmp_path)


@pytest.mark.long
def test_proofs_find_that_a_joint_request_waits(tmp_path: Path) -> None:
    assert not joint(2, waits=0).hold(tmp_path)


GENERATORS: dict[str, Callable[[], RandomBits | Xoroshiro128]] = {
    "8 bits": lambda: RandomBits(8),
    "40 bits": lambda: RandomBits(40),
    "Xoroshiro": Xoroshiro128,
}


@proves(
    RandomBits,
    Xoroshiro128,
    says="If the seed is not zero, the state never becomes zero, at which the generator would "
    "stop.",
    sizes="`RandomBits` of 8 and 40 bits, and `Xoroshiro128`",
)
@pytest.mark.parametrize("kind", ["8 bits", long("40 bits"), long("Xoroshiro")])
def test_random_bits_never_stop(tmp_path: Path, kind: str) -> None:
    claims = Claims()
    generator = GENERATORS[kind]()
    state = claims.inside("random", generator)
    seed = claims.symbol(len(generator.seed), "seed")
    claims.assume(seed != 0)
    claims.m.d.comb += generator.seed.eq(seed)
    # All registers but the one that says that the seed has been taken.
    bits = Cat(value for name, value in state.items() if name not in ("started", "valid"))
    begun = state.get("started", state.get("valid"))
    claims.claim(~begun | bits.any())
    assert claims.hold(tmp_path, 2, inductive=True)
