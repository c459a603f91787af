"""Boxes of many ports: their logic and its compilation must not grow with the cube of the ports."""

import pytest
from long_runs import long
from multicube.sim.papers.item import Options
from multicube.sim.papers.siegel.fig9 import measure_unbuffered
from multicube.sim.theory.unbuffered_bandwidth import crossbar_throughput


@pytest.mark.long
@pytest.mark.parametrize("ports", [20, long(64)])
def test_wide_crossbar_has_the_bandwidth_of_the_formula(ports: int) -> None:
    """99 % intervals: 1.5 times their width is passed by chance once in 10,000 runs."""
    (result,) = measure_unbuffered(ports, ports, [1.0], Options(quick=True, engine="compiled"))
    assert result.throughput_ci99 is not None
    expected = crossbar_throughput(1, ports)
    assert abs(result.throughput - expected) < 1.5 * result.throughput_ci99, expected
