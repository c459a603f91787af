# amaranth: UnusedElaboratable=no
"""Random modules and random networks in lock step on three engines: every output, every cycle.

Besides, many equal cells with random logic of single bits, and random wires between them. The
compiled engine and the exported Verilog in Verilator are compared with Amaranth's simulator.
`make nightly` runs 1,000 modules, 100 fabrics of such cells, 100 networks with random bits at their
inputs, and 50 networks on their benches, with traffic, from a new seed. A failure names the seed of
the batch of modules, or of the network, and the options that repeat it alone. With `--sanitize` the
generated C is compiled with -fsanitize=undefined,address, and Verilator is left out.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.lib.wiring import Out
from joblib import Parallel, delayed
from multicube.hdl import FAMILIES, Network, build
from multicube.hdl.bench import bench_for
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Run
from multicube.sim.engines.compiled import emit_c
from multicube.sim.engines.compiled.planes import FEWEST
from multicube.sim.workload.class_traffic import network_traffic
from random_cells import COUNTS, fewest_sliced, longest_part, random_cells
from random_modules import (
    BINARY,
    UNARY,
    WIDTHS,
    Operators,
    RandomLogic,
    RandomMemory,
    flat,
    lock_step,
    results,
    side_by_side,
)

KINDS = ("modules", "cells", "networks", "benches")

BATCH = 10
"""Modules that are simulated side by side: Verilator and compilers start once for all."""

MOST_CELLS = 40
"""Cells of the largest random network."""

TRAFFIC = ("uniform", "hotspot:0.3")
"""Of those that every network takes."""

COUNTING = ("sink", "processor", "source")
"""Cells of a bench whose outputs are compared."""

OPTIONS = "-mno-avx2 -fsanitize=undefined,address -fno-sanitize-recover=all"
"""Without AVX2, whose gathers are not checked."""


def random_types(seed: int) -> list[CellType]:
    """A batch of modules."""
    rng = random.Random(seed)
    types = []
    for _ in range(BATCH - 6):
        # One of four is wide: such a module takes as long as all others.
        wide = rng.choice((257, 513, 600)) if rng.random() < 0.25 else 0
        resets = rng.random() < 0.5
        types.append(CellType(RandomLogic, seed=rng.getrandbits(32), wide=wide, resets=resets))
    types += [CellType(RandomMemory, seed=rng.getrandbits(32)) for _ in range(3)]
    for _ in range(3):
        operator = rng.choice([*BINARY, *UNARY])
        left, right = rng.choices(WIDTHS, k=2)
        types.append(CellType(Operators, operator=operator, left=left, right=right))
    return types


@contextmanager
def most_statements(count: int) -> Iterator[None]:
    """Larger modules are compiled as tables of operations."""
    before, emit_c.STRAIGHT = emit_c.STRAIGHT, count
    try:
        yield
    finally:
        emit_c.STRAIGHT = before


def modules(seed: int, *, verilog: bool = True, cycles: int = 20) -> None:
    """A batch of random modules; of three batches one as tables, and one sliced."""
    fabric = side_by_side(random_types(seed))
    sliced = FEWEST if seed % 3 else 1
    with most_statements(emit_c.STRAIGHT if seed % 3 != 1 else 0), fewest_sliced(sliced):
        lock_step(fabric, results(fabric), seed, cycles, verilog=verilog)


def cells(seed: int, *, verilog: bool = True, cycles: int = 20) -> None:
    """Equal cells with single bits between them, sliced however few; half in small parts."""
    fabric = random_cells(seed, COUNTS[seed % len(COUNTS)])
    with fewest_sliced(1), longest_part(seed % 2 * 293 + 7):
        lock_step(fabric, results(fabric), seed, cycles, verilog=verilog and seed % 7 == 0)


def random_networks(seed: int) -> Iterator[Network]:
    """Small networks of any family, with some of their parameters chosen at random; without end."""
    rng = random.Random(seed)
    while True:
        family = FAMILIES[rng.choice(list(FAMILIES))]
        given: dict[str, Any] = dict(family.example)
        for parameter in rng.sample(family.parameters, min(2, len(family.parameters))):
            if parameter.choices:
                given[parameter.name] = rng.choice(parameter.choices)
            elif parameter.number:
                given[parameter.name] = rng.randrange(9)
        try:
            network = build(family.name, **given)
            if len(network.fabric.cells) <= MOST_CELLS:
                yield network
        except ValueError:  # these parameters do not go together
            continue


def networks(seed: int, *, verilog: bool = True, cycles: int = 60) -> str:
    """A random network, with random bits at all inputs; says which one it was."""
    network = next(random_networks(seed))
    fabric = flat(network.fabric)
    outputs = [Pin(None, path) for path, leaf in fabric.boundary.items() if leaf.flow == Out]
    said = f"{network.family} {network.chosen}"
    try:
        with fewest_sliced(1 if seed % 2 else FEWEST):
            lock_step(fabric, outputs, seed, cycles, verilog=verilog)
    except Exception as error:
        raise AssertionError(f"{said}: {error}") from error
    return said


def benches(seed: int, *, verilog: bool = True, cycles: int = 60) -> str:
    """A random network on its bench, under random traffic; says which one it was."""
    # Packets that become one can't be traced.
    network = next(
        each for each in random_networks(seed) if getattr(each, "combine", "none") == "none"
    )
    rng = random.Random(seed)
    traffic = network_traffic(rng.choice(TRAFFIC), network)
    run = Run(traffic, rng.choice((0.1, 0.5, 1.0)), seed=seed, source_depth=rng.choice((2, 8)))
    bench = flat(bench_for(network, run.sources(network), bins=8, time=run.time_bits(network)))
    said = f"{network.family} {network.chosen} under {traffic.name}, load {run.load}"
    counters = [pin for pin in results(bench) if str(pin.cell).startswith(COUNTING)]
    inputs = {"send": 1, "measure": 1}
    assert set(inputs) <= {path[0] for path in bench.boundary}
    try:
        with fewest_sliced(1 if seed % 2 else FEWEST):
            lock_step(bench, counters, seed, cycles, verilog=verilog, fixed=inputs)
    except Exception as error:
        raise AssertionError(f"{said}: {error}") from error
    return said


def failure(check: Callable[..., Any], seed: int, *, verilog: bool) -> str | None:
    """What is wrong in a case; None if nothing is."""
    try:
        check(seed, verilog=verilog)
    except Exception as error:
        return str(error)
    return None


def sanitized(words: list[str]) -> int:
    """Run this file again, with checks in the generated C; return its status."""
    asked = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "CC": "gcc",
            "CFLAGS": f"-O1 {OPTIONS}",
            "LD_PRELOAD": asked.stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0",  # Python itself keeps what it has allocated
            "MULTICUBE_CACHE": cache,
        }
        command = [sys.executable, __file__, *words, "--no-verilog"]
        return subprocess.run(command, env=environment, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first case")
    parser.add_argument("--modules", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--cells", type=int, default=100, help="fabrics of them (default: 100)")
    parser.add_argument("--networks", type=int, default=100, help="how many (default: 100)")
    parser.add_argument("--benches", type=int, default=50, help="how many (default: 50)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--no-verilog", action="store_true", help="without Verilator")
    parser.add_argument("--sanitize", action="store_true", help="check the C as it runs")
    options = parser.parse_args()
    if options.sanitize:
        counts = [f"--{name}={getattr(options, name)}" for name in ("seed", *KINDS, "jobs")]
        return sanitized(counts)
    batches = -(-options.modules // BATCH)
    print(
        f"Seed {options.seed}: {batches * BATCH} modules, {options.cells} of cells, "
        f"{options.networks} networks, {options.benches} benches",
        flush=True,
    )
    sizes = dict(zip(KINDS, (BATCH, 1, 1, 1)))
    counts = dict(zip(KINDS, (batches, options.cells, options.networks, options.benches)))
    checks = dict(zip(KINDS, (modules, cells, networks, benches)))
    cases = [
        (kind, seed)
        for kind, count in counts.items()
        for seed in range(options.seed, options.seed + count)
    ]
    tried = Parallel(n_jobs=options.jobs, return_as="generator")(
        delayed(failure)(checks[kind], seed, verilog=not options.no_verilog) for kind, seed in cases
    )
    failures = 0
    for (kind, seed), said in zip(cases, tried):
        if said is not None:
            failures += 1
            alone = " ".join(f"--{each} {sizes[each] if each == kind else 0}" for each in KINDS)
            print(f"{said}\n  repeat: --seed {seed} {alone}", flush=True)
    print(f"{failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
