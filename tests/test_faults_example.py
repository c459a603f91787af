"""The example of faults: coverage as a formula and enumeration say, and measured throughput."""

import random
from itertools import product
from types import ModuleType

import pytest
from modules import load_example
from multicube.hdl.graphs.routing.relation import Relation


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_example("faults")


def test_coverage_of_a_cube_is_that_of_its_paths(example: ModuleType) -> None:
    """A link of a cube of 16 terminals carries 16 of the 256 pairs."""
    network = example.network_of("cube")
    (sample,) = example.sampled(network, 1, 1)
    assert sample.coverage == 1 - 16 / 256
    assert sample.network is network


def test_extra_stage_cube_avoids_any_single_link(example: ModuleType) -> None:
    network = example.network_of("Extra Stage Cube")
    for sample in example.sampled(network, 1, 8):
        assert sample.coverage == 1
    assert all(sample.coverage < 1 for sample in example.sampled(network, 8, 4))


@pytest.mark.parametrize("name", ["torus", "fat tree"])
def test_routers_are_cut_in_both_directions_and_get_tables(example: ModuleType, name: str) -> None:
    network = example.network_of(name)
    generator = random.Random(4)
    sample = example.with_tables(network, 3, generator)
    dead = {network.link_end(pin) for pin in sample.pins}
    graph = network.relation.graph
    assert len(dead) == 6
    pairs = {frozenset((graph.by_output[end].node, graph.by_output[end].peer)) for end in dead}
    assert len(pairs) <= 3
    assert sample.tables is not None
    around: Relation = network.relation.without(dead)
    for pair in product(range(16), repeat=2):
        assert not {channel[:2] for channel in around.path(*pair)} & dead


@pytest.mark.long
def test_measured_throughput_is_the_load_times_the_coverage(example: ModuleType) -> None:
    """Below saturation, as what is severed blocks nothing; three standard deviations."""
    for name in ("cube", "torus"):
        network = example.network_of(name)
        samples = [each for count in (0, 2, 4) for each in example.sampled(network, count, 2)]
        rates = example.throughputs(network, samples, 2000, 0.1)
        for sample, rate in zip(samples, rates):
            expected = 0.1 * sample.coverage
            assert abs(rate - expected) < 3 * (expected / (2000 * 16)) ** 0.5
