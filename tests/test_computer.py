"""Parallel computers: programs in C on the cores of a network."""

import json
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import exit_status
from long_runs import long
from multicube.hdl import build
from multicube.hdl.computer import minerva_core
from multicube.hdl.computer.computer import Computer
from multicube.hdl.computer.computer_node import COUNTERS
from multicube.hdl.fabric.errors import InvalidValue, MulticubeError
from multicube.sim import ComputerRun, ProgramFault, run_computer
from multicube.sim.computer.compilation import compile_program
from multicube.sim.engines.compiled import CompiledEngine

NETWORKS = [
    pytest.param("combining ports=4", id="boxes that combine"),
    long("combining ports=4 combine=none", id="boxes that don't"),
    long("combining-graph network=torus:k=2,n=2", id="routers that combine"),
    long("connection-machine n=2", id="packets, out of order"),
    long("torus k=2 n=2", id="packets, in order"),
]


def write(folder: Path, code: str) -> Path:
    path = folder / "program.c"
    path.write_text('#include "multicube.h"\n' + code)
    return path


def run(folder: Path, code: str, network: str = "combining ports=4", **options: Any) -> ComputerRun:
    return run_computer(write(folder, code), build(network), **options)


UPDATES = """
volatile int sum, bits = 12, mask = 15, parity, mc_last, least = 50, most = -50;
short halves[4] = {1, -2, 3};
const int constants[4] = {10, 20, 30, 40};
mc_own int mine = 7;
volatile int owns[4], replies[4];

int main(void) {
  int id = mc_id();
  replies[id] = mc_fetch_add(&sum, 1 << id);
  mc_fetch_or(&bits, 1 << id);
  mc_fetch_and(&mask, ~(1 << id));
  mc_fetch_xor(&parity, 3 << id);
  mc_swap(&mc_last, id + 1);
  mc_fetch_min(&least, -3 * id);
  mc_fetch_max(&most, -3 * id - 1);
  halves[id] += constants[id];
  mine += id;
  owns[id] = mine;
  mc_barrier();
  mc_print("core ");
  mc_print_int(-id);
  mc_print("\\n");
  return 0;
}
"""


@pytest.mark.parametrize("network", NETWORKS)
def test_updates_of_shared_words(network: str, tmp_path: Path) -> None:
    """Each is indivisible, whatever carries it, and what is a core's own is its own."""
    done = run(tmp_path, UPDATES, network)
    shared = done.shared
    assert (shared["sum"], shared["bits"], shared["mask"]) == ([15], [15], [0])
    assert (shared["parity"], shared["least"], shared["most"]) == ([3 ^ 6 ^ 12 ^ 24], [-9], [-1])
    assert shared["mc_last"][0] in (1, 2, 3, 4)
    assert not any("barrier" in name for name in shared)
    halves = [word >> 16 * half & 0xFFFF for word in shared["halves"] for half in (0, 1)]
    assert halves == [11, 18, 33, 40]
    assert shared["owns"] == [7, 8, 9, 10]
    assert done.results == [0] * 4
    assert sorted(line.text for line in done.console) == ["core -1", "core -2", "core -3", "core 0"]
    order = sorted(range(4), key=lambda core: shared["replies"][core])
    sums = [sum(1 << core for core in order[:at]) for at in range(4)]
    assert [shared["replies"][core] for core in order] == sums
    assert done.requests - done.combined == sum(done.memory_requests)
    assert (done.combined > 0) == (network.startswith("combining") and "none" not in network)


def test_a_program_is_warned_of_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if it goes wrong."""
    path = write(tmp_path, "int main(void) { int x; if (x = 0) return 1; for (;;); }")
    for _ in range(2):
        assert "[-Wparentheses]" in compile_program(path).warnings
        assert exit_status("computer", "run", str(path), "combining", "ports=2", "--cycles=9") == 2
        assert re.search(r"\[-Wparentheses](?s:.*)\nmulticube: Core 0, ", capsys.readouterr().err)


def test_every_cycle_of_a_core_is_counted_once(tmp_path: Path) -> None:
    """In each, an instruction ends or the core waits for one thing at most, until it has ended."""
    image = compile_program(write(tmp_path, UPDATES))
    computer = Computer(
        build("combining ports=4"),
        program=image.program,
        local=image.own,
        local_rows=len(image.own),
        shared=image.shared,
        shared_words=image.shared_words,
    )
    counted = [0] * len(COUNTERS)
    with CompiledEngine(computer) as engine:
        for _ in range(1000):
            engine.step(1)
            now = [engine.read(["core_0"], name)[0] for name in COUNTERS]
            changes = [after - before for before, after in zip(counted, now)]
            assert sorted(changes)[:-1] == [0] * (len(COUNTERS) - 1)
            assert max(changes) <= 1
            counted = now
    done = run(tmp_path, UPDATES)
    assert [done.cores[name][0] for name in COUNTERS] == counted
    for core, end in enumerate(done.cores["ended"]):
        assert sum(each[core] for name, each in done.cores.items() if name != "ended") == end + 1
    assert done.cycles == 1 + max(done.cores["ended"])


ARITHMETIC = """
volatile int a = -1000003, b = 17, zero, results[8], times[3];
int main(void) {
  if (mc_id()) {
    return 0;
  }
  results[0] = a * b;
  results[1] = a / b;
  results[2] = a % b;
  results[3] = (unsigned)a / b;
  results[4] = (unsigned)a % b;
  results[5] = a / zero;
  results[6] = (int)((long long)a * a >> 32);
  results[7] = a >> 3 & b ^ 5;
  int began = mc_cycle();
  __asm__ volatile(".rept 10\\n addi a5, a5, 1\\n .endr" ::: "a5");
  times[0] = mc_cycle() - began;
  began = mc_cycle();
  __asm__ volatile(".rept 10\\n srli a5, a5, 1\\n .endr" ::: "a5");
  times[1] = mc_cycle() - began;
  began = mc_cycle();
  __asm__ volatile(".rept 10\\n divu a5, a5, a4\\n li a4, 3\\n li a5, 90\\n .endr" ::: "a4", "a5");
  times[2] = mc_cycle() - began;
  return 0;
}
"""


def test_arithmetic(tmp_path: Path) -> None:
    """As in C, with the division by zero of RISC-V; only divisions take long."""
    shared = run(tmp_path, ARITHMETIC).shared
    a, b = -1000003, 17
    unsigned = a + 2**32
    expected = [a * b, -(-a // b), -(-a % b), unsigned // b, unsigned % b, -1, a * a >> 32]
    assert shared["results"] == [*expected, a >> 3 & b ^ 5]
    adds, shifts, divisions = shared["times"]
    assert 20 <= adds <= shifts <= adds + 10
    assert divisions > 9 * 32


@pytest.mark.long
def test_the_published_core_computes_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its divider starts too often, which takes only time. (Own memories of a size of their own:
    nodes of the same parameters are elaborated once.)"""
    ours = run(tmp_path, UPDATES)
    monkeypatch.setattr(minerva_core, "_OnlyDivisions", lambda divider, divides: divider)
    published = run(tmp_path, UPDATES, stack=1 << 16)
    assert published.cycles > 1.5 * ours.cycles
    names = ("sum", "bits", "mask", "parity", "least", "most", "halves", "owns")
    assert [published.shared[name] for name in names] == [ours.shared[name] for name in names]


SHORT = """
volatile int next;
int main(void) { return mc_fetch_add(&next, 3) + mc_count(); }
"""


@pytest.mark.long
@pytest.mark.parametrize("engine", ["amaranth", long("verilator")])
def test_engines_agree(engine: str, tmp_path: Path) -> None:
    """Every count, and every word of memory, in a computer of two cores."""
    first, second = (
        run(tmp_path, SHORT, "combining ports=2", engine=each).to_json()
        for each in ("compiled", engine)
    )
    assert second.pop("engine") == engine
    assert first.pop("engine") == "compiled"
    assert first == second
    assert sorted(first["results"]) == [2, 5]


MESSAGES = """
volatile int mistakes;
__attribute__((section("another"))) volatile int sum;
mc_own int got;
int main(void) {
  int id = mc_id(), count = mc_count(), sender;
  for (int i = 0; id == 1 && i < 50; i++) {
    __asm__ volatile("nop");
  }
  for (int i = 0; i < 3; i++) {
    mc_send((id + 1) % count, 10 * id + i);
  }
  for (got = 0; got < 3; got++) {
    int word = mc_receive(&sender);
    if (sender != (id + count - 1) % count || word != 10 * sender + got) {
      mc_fetch_add(&mistakes, 1);
    }
    mc_fetch_add(&sum, word);
  }
  return mc_arrived();
}
"""


def test_messages_beside_shared_memory(tmp_path: Path) -> None:
    """A torus keeps their order; requests, replies and messages have a copy of it each. A global
    in a section of its own name is shared, too."""
    done = run(tmp_path, MESSAGES, "torus k=2 n=2")
    assert done.shared == {"mistakes": [0], "sum": [sum(range(3)) * 4 + 3 * (10 + 20 + 30)]}
    assert done.results == [0] * 4
    assert done.cores["wait_message"][2] > 50  # for core 1, which sends later
    crossed = {name: flits for name, flits in done.links.items() if name.startswith("message")}
    assert sum(flits for name, flits in crossed.items() if name.endswith("message end 0")) == 3


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("combining ports=2", "Messages need a network that carries packets, not combining"),
        ("torus k=2 n=1 classes=2", "Messages need a network of one class, not 2"),
    ],
)
def test_messages_are_refused(tmp_path: Path, network: str, message: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{message}$"):
        run(tmp_path, MESSAGES, network)


WRONG = {
    "a store outside": (
        "int *p;\nint main(void) {\n  if (mc_id() == 2)\n    *(volatile int *)p = 1;\n"
        "  return 0;\n}\n",
        r"Core 2, cycle \d+, program.c:5: access outside: a store to 0x00000000",
    ),
    "a load far away": (
        "volatile int few[4];\nint main(void) {\n  return few[mc_id() * 1000000 + 1000000];\n}\n",
        r"Core 0, cycle \d+, program.c:4: access outside: a load from 0x803d0900",
    ),
    "a stack that is too small": (
        "__attribute__((noinline)) int deep(int *above, int n) {\n  int here[64];\n"
        "  here[0] = n + above[0];\n  return n ? deep(here, n - 1) + here[n & 63] : 0;\n}\n"
        "int main(void) {\n  int first[64];\n  first[0] = mc_id();\n"
        "  return mc_id() == 3 ? deep(first, 50) : 0;\n}\n",
        r"Core 3, cycle \d+, program.c:[2-5]: stack overflow: a store to 0x00ffff[0-9a-f]{2}",
    ),
    "an update of a word that is not shared": (
        "int main(void) {\n  volatile int here = 0;\n  return mc_fetch_add(&here, 1);\n}\n",
        r"Core 0, cycle \d+, program.c:4: access outside: a store to 0x1100....",
    ),
    "a word that is not aligned": (
        "int *volatile at = (int *)0x80000001;\nint main(void) {\n  return *at;\n}\n",
        r"Core 0, cycle \d+, program.c:4: a load from 0x80000001, which is not a multiple of .*",
    ),
    "an illegal instruction": (
        'int main(void) {\n  __asm__ volatile(".word 0xffffffff");\n  return 0;\n}\n',
        r"Core 0, cycle \d+, program.c:3: an illegal instruction, 0xffffffff",
    ),
    "a jump to nowhere": (
        "int main(void) {\n  void (*volatile next)(void) = 0;\n  next();\n  return 0;\n}\n",
        r"Core 0, cycle \d+, program.c:4: a jump outside of the program, to 0x00000000",
    ),
    "globals that have no room": (
        "volatile int many[1 << 20];\nint main(void) {\n  return many[mc_id()];\n}\n",
        r"Shared words must be at most 262144 on 4 terminals, not 1048576",
    ),
    "globals that have no addresses": (
        "volatile int many[1 << 28];\nint main(void) {\n  return many[mc_id()];\n}\n",
        r"program.c: error: globals are too large by 805306368 bytes",
    ),
    "no end": (
        "volatile int flag;\nint main(void) {\n  if (mc_id() > 1)\n    while (!flag) {\n    }\n"
        "  return 0;\n}\n",
        r"Core 2, cycle 3000, program.c:5: the program has not ended in 3000 cycles "
        r"\(1 other has not either\)",
    ),
    "a mistake": (
        "int main(void) {\n  return 0 }\n",
        r"program.c:3:11: error: expected ';' after return statement",
    ),
    "a function that is not there": (
        "int other(int);\nint main(void) {\n  return other(1);\n}\n",
        r"program.c:4: error: undefined symbol: other",
    ),
    "C's own atomics": (
        "_Atomic int count;\nvolatile double half;\nint main(void) {\n  half /= 2;\n"
        "  return count++ < 0;\n}\n",
        r"program.c:6: error: undefined symbol: __atomic_fetch_add_4 \(shared words are updated "
        r"by mc_fetch_add and the like\)",
    ),
    "a constructor": (
        "volatile int x;\n__attribute__((constructor)) void set(void) { x = 1; }\n"
        "int main(void) {}\n",
        "program.c: error: no constructors: cores begin at main",
    ),
    "a thread-local variable": (
        "_Thread_local int own = 5;\nint main(void) { return own++; }\n",
        "program.c: error: no thread-local variables: a core's own are mc_own",
    ),
    "a main without a result": (
        "void main(void) {}\n",
        r"program.c:2:1: error: return type of 'main' is not 'int' .*",
    ),
    "a function of the runtime": (
        "void mc_print(const char *text) {}\nint main(void) {}\n",
        "program.c: error: duplicate symbol: mc_print",
    ),
    "no main": ("int other(void) {\n  return 0;\n}\n", "program.c: error: undefined symbol: main"),
}


@pytest.mark.parametrize(("code", "message"), WRONG.values(), ids=WRONG)
def test_wrong_programs_end_in_one_line(
    code: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Which core, when, and where in the source."""
    path = write(tmp_path, code)
    words = ("computer", "run", str(path), "combining", "ports=4", "--cycles", "3000")
    assert exit_status(*words) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(f"multicube: {message}\n", err), err


def test_what_was_printed_before_a_fault_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = """
    #include "multicube.h"
    int main(void) {
      for (int n = 0; n < 99; n++) mc_print_int(n);
      mc_print("\\nlast");
      *(volatile int *)0x70000000 = mc_id();
    }
    """
    path = write(tmp_path, code)
    counted = "".join(map(str, range(99)))
    printed = f"core 0: {counted}\ncore 1: {counted}\ncore 0: last\ncore 1: last\n"
    for options in [], ["--json"]:
        assert exit_status("computer", "run", str(path), "combining", "ports=2", *options) == 2
        shown, error = capsys.readouterr()
        assert shown == ("" if options else printed)
        assert "access outside" in error
    with pytest.raises(ProgramFault, match="has not ended in 600 cycles") as raised:
        run(tmp_path, code, "combining ports=2", cycles=600)
    before = raised.value.console
    copy = pickle.loads(pickle.dumps(raised.value))  # as another process gets it
    assert (str(copy), copy.console) == (str(raised.value), before)
    assert [line.core for line in before] == [0, 1]
    assert all(counted.startswith(line.text) for line in before)


def test_main_may_print_any_text_and_return_nothing(tmp_path: Path) -> None:
    """It returns 0 then, and what is printed is in UTF-8, also if its last byte is missing."""
    text = "100 % grüßt\\t≤ 3 µs \\xc3"
    done = run(tmp_path, f'int main(void) {{ mc_print("{text}"); }}', "combining ports=2")
    assert done.results == [0, 0]
    assert [line.text for line in done.console] == ["100 % grüßt\t≤ 3 µs \ufffd"] * 2


def test_cores_that_send_nothing_use_no_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "int main(void) {}\n")
    assert exit_status("computer", "run", str(path), "combining", "ports=2") == 0
    assert not re.search("busiest|module", capsys.readouterr().out)


@pytest.mark.long
def test_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "volatile int x;\nint main(void) { return mc_fetch_add(&x, 1) > 2; }\n")
    assert exit_status("computer", "run", str(path), "torus", "k=2", "n=2", "--json") == 1
    said = json.loads(capfd.readouterr().out)
    assert sorted(said["results"]) == [0, 0, 0, 1]
    assert said["shared"] == {"x": [4]}
    assert exit_status("computer", "run", str(path), "torus", "k=2", "n=2") == 1
    out = capfd.readouterr().out
    assert f"{said['cycles']} cycles on engine compiled" in out
    assert f"core {said['results'].index(1)} returned 1" in out


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(sys.modules, "minerva.core", raising=False)
    monkeypatch.setattr(minerva_core, "_INSIDE", {"no_such_core": "sources"})
    with pytest.raises(MulticubeError, match=r"no_such_core is not installed: pip install 'multi"):
        run(tmp_path, SHORT, "combining ports=2 depth=5")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stack": 100}, "Stack must be a multiple of 16 bytes, not 100"),
        ({"cycles": 0}, "Cycles must be .*, not 0"),
        ({"defines": ["2N"]}, "Macro must be NAME or NAME=VALUE, not '2N'"),
        ({"vcd_cores": [0]}, "Cores for waveforms need a file for them"),
        ({"vcd": "a.vcd", "vcd_cores": [1, 1]}, r"Cores for .* some, each once, not \[1, 1\]"),
        (
            {"vcd": "a.vcd", "vcd_cores": []},
            r"Cores for waveforms must be some, each once, not \[]",
        ),
        ({"vcd": "a.vcd", "engine": "amaranth"}, "Engine must be compiled to write waveforms, .*"),
        ({"network": "combining ports=3 radix=3"}, "Buses and computers need a power of two of .*"),
        ({"network": "combining width=8"}, "A computer sets width itself: it can't be 8"),
        ({"network": "torus k=2 n=2 payload=8"}, "A computer sets payload itself: it can't be 8"),
    ],
)
def test_refusals(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=f"^{message}$"):
        run(tmp_path, SHORT, **options)


def test_memory_is_at_terminals_and_not_at_the_endpoints_of_classes() -> None:
    network = build("torus k=2 n=1 classes=2")
    computer = Computer(network, program=[], local_rows=16, shared_words=40)
    assert (len(computer.nodes), computer.rows) == (2, 32)


def test_rows_of_nodes_are_not_rows_of_memory() -> None:
    network = build("twisted-torus columns=4 rows=2")
    assert len(Computer(network, program=[], local_rows=16).nodes) == network.ports


def test_waveforms(tmp_path: Path) -> None:
    path = tmp_path / "two.vcd"
    done = run(tmp_path, SHORT, "combining ports=2", vcd=path, vcd_cores=[1])
    text = path.read_text()
    assert "core_1" in text
    assert "core_0" not in text
    assert f"#{done.cycles}\n" in text
    with pytest.raises(ProgramFault, match="has not ended in 5 cycles"):
        run(tmp_path, SHORT, "combining ports=2", vcd=path, cycles=5)
    assert "#5\n" in path.read_text()
    assert "#6\n" not in path.read_text()
