# amaranth: UnusedElaboratable=no
"""A few of the cases of `make nightly`, which the other files of tests do not have."""

import shutil

import nightly
import pytest
from long_runs import long
from multicube.hdl import FAMILIES
from multicube.hdl.fabric.cell import CellType
from random_modules import RandomLogic, RandomMemory, lock_step, results, side_by_side


@pytest.mark.parametrize("seed", [long(seed) for seed in (1, 2, 3, 4)])
def test_random_networks_in_lock_step(seed: int) -> None:
    print(nightly.networks(seed, verilog=seed > 1))


@pytest.mark.long
@pytest.mark.parametrize("seed", [10, 11, 2621])
def test_random_modules_in_lock_step_on_three_engines(seed: int) -> None:
    """Batches of odd seeds as tables of operations; Verilator's DFG is wrong in the last one."""
    nightly.modules(seed)


@pytest.mark.long
def test_memory_of_one_row_on_three_engines() -> None:
    """Its address has no bits, so the Verilog has no port for it."""
    seed = next(seed for seed in range(100) if RandomMemory(seed=seed).depth == 1)
    fabric = side_by_side([CellType(RandomMemory, seed=seed)])
    lock_step(fabric, results(fabric), seed, 20, verilog=True)


@pytest.mark.long
def test_branches_that_are_taken_stay_in_exported_verilog() -> None:
    """Of a module for which Yosys's `opt_muxtree` removes some (YosysHQ/yosys#5957)."""
    fabric = side_by_side([CellType(RandomLogic, seed=1919495686, resets=True)])
    lock_step(fabric, results(fabric), 2, 20, verilog=True)


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        "--seed=28 --modules=0 --cells=0 --networks=1 --benches=0",  # a small one, in two seconds
        long("--seed=1 --modules=20 --cells=0 --networks=0 --benches=0"),
        long("--seed=1 --modules=0 --cells=0 --networks=4 --benches=0"),
        long("--seed=1 --modules=0 --cells=0 --networks=0 --benches=3"),
        long("--seed=6 --modules=0 --cells=3 --networks=0 --benches=0"),
    ],
)
def test_generated_code_has_no_undefined_behaviour(words: str) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    assert nightly.sanitized(words.split()) == 0


@pytest.mark.parametrize("seed", [long(3), long(1), long(2)])
def test_random_benches_in_lock_step(seed: int) -> None:
    print(nightly.benches(seed, verilog=seed == 1))


def test_networks_are_of_many_families() -> None:
    """And a seed always makes the same one."""
    found = [next(nightly.random_networks(seed)) for seed in range(5)]
    again = next(nightly.random_networks(3))
    assert (found[3].family, found[3].parameters) == (again.family, again.parameters)
    assert len({network.family for network in found}) > 3
    assert all(network.family in FAMILIES for network in found)


def test_a_failure_says_what_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(seed: int, **options: bool) -> None:
        if seed == 8:
            raise ValueError("amiss")

    monkeypatch.setattr(nightly, "modules", fails)
    words = ["--seed=7", "--modules=30", "--cells=0", "--networks=0", "--benches=0"]
    monkeypatch.setattr(nightly.sys, "argv", ["", *words])
    assert nightly.main() == 1
    assert capsys.readouterr().out == (
        "Seed 7: 30 modules, 0 of cells, 0 networks, 0 benches\n"
        "amiss\n  repeat: --seed 8 --modules 10 --cells 0 --networks 0 --benches 0\n"
        "1 failures\n"
    )
