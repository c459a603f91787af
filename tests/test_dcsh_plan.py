"""Where the channels of a DCSH lead, and which permutations it makes in SIMD mode."""

import itertools
import random

import pytest
from long_runs import long
from multicube.hdl.families.dcsh.dcsh_graph import DCSH, Crossing
from multicube.hdl.graphs.permutations import Permutation
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.graphs.schedules.passes import passable
from refusals import refusals

SIZES = [(2, 1), (2, 3), (3, 2), (4, 2), (5, 1), (3, 3)]


def digits(k: int, n: int, node: int) -> list[int]:
    return [node // k**i % k for i in range(n)]


@pytest.mark.parametrize(("k", "n"), SIZES)
def test_channels_are_heard_by_who_differs_in_one_digit(k: int, n: int) -> None:
    plan = DCSH(k, n)
    assert plan.nodes == k**n
    heard = {
        (owner, i, receiver) for owner, i, receivers in plan.channels() for receiver in receivers
    }
    expected = {
        (a, i, b)
        for a, b in itertools.product(range(k**n), repeat=2)
        for i in range(n)
        if [j for j in range(n) if digits(k, n, a)[j] != digits(k, n, b)[j]] == [i]
    }
    assert heard == expected
    assert len(heard) == n * (k - 1) * k**n
    for owner, i, receivers in plan.channels():
        assert [plan.slot(owner, i, receiver) for receiver in receivers] == list(range(k - 1))
        assert plan.others(owner, i) == receivers
        assert plan.cluster(owner, i)[plan.position(owner, i)] == owner


@pytest.mark.parametrize(("k", "n"), SIZES)
def test_paths_cross_the_highest_dimension_first(k: int, n: int) -> None:
    plan = DCSH(k, n)
    for source, destination in itertools.product(range(k**n), repeat=2):
        path = plan.path(source, destination)
        a, b = digits(k, n, source), digits(k, n, destination)
        assert [hop.dimension for hop in path] == [i for i in range(n)[::-1] if a[i] != b[i]]
        assert len(path) == plan.distance(source, destination)
        node = source
        for owner, i, receiver in path:
            assert owner == node
            assert receiver in plan.others(node, i)
            node = receiver
        assert node == destination
        assert plan.next_dimension(destination, destination) is None


def check_steps(plan: DCSH, destinations: Permutation, steps: list[list[Crossing]]) -> None:
    """Each node sends and hears at most one message a step; all arrive."""
    where = {x: x for x, to in enumerate(destinations) if to is not None}
    for step in steps:
        assert len({crossing.dimension for crossing in step}) <= 1
        for ends in ("owner", "receiver"):
            assert len({getattr(crossing, ends) for crossing in step}) == len(step)
        moves = {crossing.owner: crossing.receiver for crossing in step}
        assert all(crossing.receiver in plan.others(*crossing[:2]) for crossing in step)
        where = {x: moves.get(node, node) for x, node in where.items()}
        assert len(set(where.values())) == len(where)
    assert all(destinations[x] == node for x, node in where.items())


@pytest.mark.long
@pytest.mark.parametrize(("inverse", "wiring"), [long(False, "omega"), (True, "flip")])
def test_emulates_all_that_the_omega_network_passes_and_nothing_else(
    inverse: bool, wiring: str
) -> None:
    """k = 2, n = 3: all 40,320 permutations, of which the network passes 4,096."""
    plan, network = DCSH(2, 3), multistage_plan(wiring, 8)
    passed = 0
    for destinations in itertools.permutations(range(8)):
        if passable(network, destinations):
            passed += 1
            steps = plan.emulate(destinations, inverse=inverse)
            assert len(steps) == 3
            check_steps(plan, destinations, steps)
        else:
            with pytest.raises(ValueError, match=r"^Permutation does not pass: messages of"):
                plan.emulate(destinations, inverse=inverse)
    assert passed == 4096


@pytest.mark.parametrize(("k", "n"), [(3, 2), (4, 2), (3, 3)])
@pytest.mark.parametrize(("inverse", "wiring"), [(False, "omega"), (True, "flip")])
def test_emulates_omega_networks_of_larger_boxes(
    k: int, n: int, inverse: bool, wiring: str
) -> None:
    """Partial permutations, random: passed by both or by none; some of each."""
    plan, network = DCSH(k, n), multistage_plan(wiring, k**n, k)
    generator = random.Random(3)
    verdicts = set()
    for _ in range(400):
        full = generator.sample(range(k**n), k**n)
        keep = generator.random() ** 2
        destinations = [to if generator.random() < keep else None for to in full]
        passes = passable(network, destinations)
        verdicts.add(passes)
        if passes:
            check_steps(plan, destinations, plan.emulate(destinations, inverse=inverse))
        else:
            with pytest.raises(ValueError, match="meet in node"):
                plan.emulate(destinations, inverse=inverse)
    assert verdicts == {False, True}


test_plan_rejects = refusals(
    DCSH,
    (1, 2, "Cluster size k must be at least 2, not 1"),
    (2, 0, "Dimensions n must be at least 1, not 0"),
)


def test_emulation_rejects_what_is_no_permutation() -> None:
    with pytest.raises(ValueError, match=r"^Destination 1 must be given only once$"):
        DCSH(2, 1).emulate([1, 1])
