"""The permutations of Siegel et al., section V, and which of them the networks pass at once."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from multicube.hdl import build
from multicube.hdl.graphs.address_codes import AddressCode
from multicube.hdl.graphs.permutations import (
    PERMUTATIONS,
    bit_reversal,
    complement,
    cyclic_shift,
    delta_shift,
    lambda_map,
    perfect_shuffle,
    segment_bit_reversal,
    segment_shuffle,
    tornado,
    transpose,
)
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.sim import simulate

POWERS = (2, 4, 8, 16, 64)
SEGMENTED = {"delta": 0, "segment-shuffle": 1, "segment-bit-reversal": 1}
"""The permutations inside segments of 2^J terminals, and the least J."""


def digits(x: int, n: int) -> str:
    """x_{n-1} ... x_0 as text."""
    return format(x, f"0{n}b")


def width(ports: int) -> int:
    return int(math.log2(ports))


def conflicts(name: str, ports: int, radix: int, destinations: list[int]) -> int:
    """Links that more than one packet wants when every terminal sends at once."""
    plan = multistage_plan(name, ports, radix)
    used = Counter(
        (hop.stage, hop.box, hop.output)
        for source, destination in enumerate(destinations)
        for hop in plan.path(source, destination)
    )
    return sum(count > 1 for count in used.values())


@pytest.mark.parametrize("ports", POWERS)
def test_perfect_shuffle_rotates_left(ports: int) -> None:
    n = width(ports)
    for x, y in enumerate(perfect_shuffle(ports)):
        bits = digits(x, n)
        assert digits(y, n) == bits[1:] + bits[0]


@pytest.mark.parametrize("ports", POWERS)
def test_bit_reversal_reverses(ports: int) -> None:
    n = width(ports)
    for x, y in enumerate(bit_reversal(ports)):
        assert digits(y, n) == digits(x, n)[::-1]


@pytest.mark.parametrize("ports", POWERS)
def test_complement_inverts(ports: int) -> None:
    n = width(ports)
    flip = str.maketrans("01", "10")
    for x, y in enumerate(complement(ports)):
        assert digits(y, n) == digits(x, n).translate(flip)


@pytest.mark.parametrize("ports", [*POWERS, 9, 36])
def test_transpose_exchanges_rows_and_columns(ports: int) -> None:
    columns = 2 ** (width(ports) // 2) if ports in POWERS else math.isqrt(ports)
    matrix = np.arange(ports).reshape(-1, columns)
    # Element y of the transposed matrix is the one that was sent there.
    assert [transpose(ports).index(y) for y in range(ports)] == matrix.T.flatten().tolist()


@pytest.mark.parametrize("ports", [*POWERS, 27])
def test_cyclic_shift_adds(ports: int) -> None:
    for k in (-1, 0, 1, 3, ports, ports + 1):
        for x, y in enumerate(cyclic_shift(ports, k)):
            assert y in range(ports)
            assert (y - x - k) % ports == 0


def test_lambda_is_the_papers_map() -> None:
    # 3X + 2 modulo 8.
    assert lambda_map(8, 3, 2) == [2, 5, 0, 3, 6, 1, 4, 7]
    for k in range(8):
        assert lambda_map(8, 1, k) == cyclic_shift(8, k)


def test_tornado_of_an_odd_base() -> None:
    """Two of five nodes onward: ceil(5 / 2) - 1."""
    assert tornado(AddressCode(5, 1)) == [2, 3, 4, 0, 1]


def test_delta_shifts_inside_segments() -> None:
    # Segments of four: each shifts by one on its own.
    assert delta_shift(8, 2, 1) == [1, 2, 3, 0, 5, 6, 7, 4]
    for j, k in itertools.product(range(5), (-1, 1, 2, 5)):
        for x, y in enumerate(delta_shift(16, j, k)):
            high, low = digits(x, 4)[: 4 - j], int(digits(x, 4)[4 - j :] or "0", 2)
            assert digits(y, 4) == high + (digits((low + k) % 2**j, j) if j else "")


def test_segments_are_permuted_on_their_own() -> None:
    assert segment_shuffle(8, 2) == [0, 2, 1, 3, 4, 6, 5, 7]
    for ports in POWERS[1:]:
        n = width(ports)
        for j in range(1, n + 1):
            for x in range(ports):
                high, low = digits(x, n)[: n - j], digits(x, n)[n - j :]
                assert digits(segment_shuffle(ports, j)[x], n) == high + low[1:] + low[0]
                assert digits(segment_bit_reversal(ports, j)[x], n) == high + low[::-1]


def test_figure_6() -> None:
    # The paper's example: input j to output j - 1 modulo N.
    assert cyclic_shift(8, -1) == [7, 0, 1, 2, 3, 4, 5, 6]
    assert conflicts("cube", 8, 2, cyclic_shift(8, -1)) == 0


@pytest.mark.parametrize("ports", POWERS)
@pytest.mark.parametrize("name", PERMUTATIONS)
def test_all_are_bijections(name: str, ports: int) -> None:
    function, words = PERMUTATIONS[name]
    for numbers in itertools.product((1, 3), repeat=len(words)):
        if name in SEGMENTED and numbers[0] > width(ports):
            continue
        assert sorted(function(ports, *numbers)) == list(range(ports))


@pytest.mark.parametrize("ports", [0, 1, 3, 72, -16])
def test_transpose_rejects_ports(ports: int) -> None:
    message = f"Ports of a transpose must be a square or a power of two, not {ports}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        transpose(ports)


@pytest.mark.parametrize("name", ["perfect-shuffle", "bit-reversal", *SEGMENTED])
@pytest.mark.parametrize("ports", [0, 1, 3, 27, -8])
def test_bit_permutations_reject_ports(name: str, ports: int) -> None:
    function, words = PERMUTATIONS[name]
    message = f"Ports of this permutation must be a power of two, not {ports}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        function(ports, *(0 for _ in words))


@pytest.mark.parametrize(("ports", "j"), [(8, 2), (8, 0), (27, 3), (27, 9)])
def test_lambda_rejects_factor(ports: int, j: int) -> None:
    message = f"Factor j of lambda must have no common factor with {ports}, not {j}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        lambda_map(ports, j, 1)


@pytest.mark.parametrize("name", SEGMENTED)
def test_segments_reject_exponent(name: str) -> None:
    function, words = PERMUTATIONS[name]
    least = SEGMENTED[name]
    for j in (-1, least - 1, 4):
        message = f"Exponent j of {name} must be from {least} to 3, not {j}"
        with pytest.raises(ValueError, match=f"^{message}$"):
            function(8, j, *(1 for _ in words[1:]))


@pytest.mark.parametrize("ports", POWERS)
def test_cube_passes_lambda_and_delta(ports: int) -> None:
    factors = range(1, ports, 2) if ports < 64 else (1, 3, 21, 63)
    shifts = range(ports) if ports < 64 else (0, 5, 63)
    for j, k in itertools.product(factors, shifts):
        assert conflicts("cube", ports, 2, lambda_map(ports, j, k)) == 0
    for j, k in itertools.product(range(width(ports) + 1), (1, 2, ports - 1)):
        assert conflicts("cube", ports, 2, delta_shift(ports, j, k)) == 0


@pytest.mark.parametrize(("ports", "radix"), [(16, 4), (64, 4), (64, 8)])
def test_wider_boxes_pass_at_least_as_much(ports: int, radix: int) -> None:
    for destinations in (
        lambda_map(ports, 5, 3),
        delta_shift(ports, 3, 1),
        cyclic_shift(ports, -1),
        complement(ports),
    ):
        assert conflicts("cube", ports, radix, destinations) == 0


@pytest.mark.parametrize("ports", [8, 16, 64])
def test_cube_blocks_shuffle_and_reversal(ports: int) -> None:
    # Not in one pass (section V).
    assert conflicts("cube", ports, 2, perfect_shuffle(ports)) > 0
    assert conflicts("cube", ports, 2, bit_reversal(ports)) > 0


@pytest.mark.parametrize("ports", [8, 16, 64])
def test_shuffle_passes_in_two_halves(ports: int) -> None:
    # Section V: first the terminals 0x..x send, then the terminals 1x..x.
    plan = multistage_plan("cube", ports, 2)
    shuffle = perfect_shuffle(ports)
    for half in (range(ports // 2), range(ports // 2, ports)):
        used = Counter(
            (hop.stage, hop.box, hop.output) for x in half for hop in plan.path(x, shuffle[x])
        )
        assert max(used.values()) == 1


def test_number_of_passable_permutations() -> None:
    # N^(N/2) settings, each another permutation: 16 of 24 for N = 4.
    for name in PLANS:
        passed = [p for p in itertools.permutations(range(4)) if not conflicts(name, 4, 2, [*p])]
        assert len(passed) == 16


@pytest.mark.one_in(8)
@pytest.mark.parametrize("traffic", ["lambda:3:1", "delta:1:1", "shift:-1", "identity"])
@pytest.mark.parametrize("switch", ["output-queued", "input-queued"])
def test_passable_permutation_at_full_load(switch: str, traffic: str) -> None:
    network = build("cube", ports=4, switch=switch, depth=2)
    result = simulate(network, traffic=traffic, load=1, cycles=60, warmup=20, bins=32)
    assert result.throughput == 1
    assert result.latency.histogram == [0, 0, 240]
    assert result.terminals == {"injected": [60] * 4, "delivered": [60] * 4}
    assert set(result.links.values()) <= {0, 1}
    assert not result.saturated


@pytest.mark.one_in(2)
@pytest.mark.parametrize("switch", ["output-queued", "input-queued"])
def test_blocked_permutation_at_full_load(switch: str) -> None:
    # X and X + 4 go to outputs that differ in the last digit only: they share two links.
    network = build("cube", ports=8, switch=switch)
    assert conflicts("cube", 8, 2, bit_reversal(8)) == 8
    result = simulate(
        network, traffic="bit-reversal", load=1, cycles=60, warmup=80, bins=32, source_depth=64
    )
    assert result.saturated
    assert result.throughput == 0.5
    assert result.terminals["delivered"] == [30] * 8
