# amaranth: UnusedElaboratable=no
"""Tests of cocotb in our simulator, and what they see there and in Icarus."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import verilog
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from long_runs import long
from multicube.sim import run_cocotb

HERE = Path(__file__).parent


class Counter(wiring.Component):
    """Counts by a step while it is enabled."""

    enable: In(1)
    step: In(8)
    count: Out(16)
    sum: Out(17)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = Memory(shape=8, depth=3, init=[5, 6, 7])
        m.d.comb += rows.read_port().addr.eq(self.count)
        m.submodules.inner = inner = Module()
        twice = Signal(17)
        inner.d.comb += twice.eq(self.count << 1)
        with m.If(self.enable):
            m.d.sync += self.count.eq(self.count + self.step)
        m.d.comb += self.sum.eq(self.count + self.step)
        return m


def run_here(design: str, module: str, folder: Path, **environment: str) -> Any:
    """The result and output of a run in a process of its own."""
    code = f"{design}\nfrom multicube.sim import run_cocotb\nprint(run_cocotb(design, {module!r}))"
    paths = os.pathsep.join(map(str, (HERE, HERE.parent, HERE.parent / "kit")))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "CFLAGS": "-O0", **environment},
        capture_output=True,
        text=True,
    )
    found = re.search(r"CocotbResult\(tests=(\d+), failed=(\d+)\)", done.stdout)
    assert found, done.stdout + done.stderr
    return (int(found[1]), int(found[2])), done.stdout


OWN = "from test_cocotb_adapter import Counter\ndesign = Counter()"


def test_results_and_names(tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    result, output = run_here(OWN, "counter_traffic", tmp_path, SEEN=str(seen))
    assert result == (3, 1)
    assert "fails failed" in output
    moments = json.loads(seen.read_text())
    edges = [each for each in moments if each[0] == "rising edge"]
    after = [each for each in moments if each[0] == "read only"]
    for (_, _, enable, step, count, _), (*_, now, _) in zip(edges, after):
        assert int(now, 2) == (int(count, 2) + int(enable) * int(step, 2)) % (1 << 16)


@pytest.mark.long
def test_icarus_sees_the_same(tmp_path: Path, compile_bench: Callable[..., Any]) -> None:
    text = verilog.convert(Counter(), name="network", emit_src=False)
    (tmp_path / "counter.v").write_text(text)
    theirs, ours = tmp_path / "theirs.json", tmp_path / "ours.json"
    bench = compile_bench("icarus", tmp_path / "counter.v")
    assert bench.run("counts", {"SEEN": str(theirs)}, module="counter_traffic") is None
    run_here(OWN, "counter_traffic", tmp_path, SEEN=str(ours))
    assert json.loads(ours.read_text()) == json.loads(theirs.read_text())


NETWORK = """
import os
from pathlib import Path
from multicube.hdl import write_verilog
from test_cocotb import _export, _network  # of networks in Verilog
design = _network({case!r})
os.environ.update(_export(Path.cwd(), {case!r})[1])
"""


@pytest.mark.parametrize("case", [long("input-queued-xor"), long("connection-machine")])
def test_network_carries_all_packets(case: str, tmp_path: Path) -> None:
    chosen = {"COCOTB_TEST_FILTER": "every_packet_arrives", "COCOTB_RANDOM_SEED": "3"}
    result, output = run_here(NETWORK.format(case=case), "traffic", tmp_path, **chosen)
    assert result == (1, 0), output


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([], r"^Modules must be names of Python modules, not \[\]$"),
        (5, "^Modules must be names of Python modules, not 5$"),
        ("traffic", "^cocotb must not be loaded before its tests are run; once in a process$"),
    ],
)
def test_what_is_refused(modules: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cocotb", sys)
    with pytest.raises((TypeError, ValueError), match=message):
        run_cocotb(Counter(), modules)
