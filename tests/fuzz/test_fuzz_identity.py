"""Files change while runs are stored: a stored result is never another than a fresh run's."""

import json
from pathlib import Path
from typing import Any

import pytest
from fuzzing import fuzz_machine
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from multicube.hdl import Network, build
from multicube.hdl.fabric.errors import InvalidValue
from multicube.sim import rerun, simulate, sweep
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run import checkpoint as checkpoints
from multicube.sim.run.recorded_runs import Record
from multicube.sim.workload.traffic import read_trace

SHORT: dict[str, Any] = {"cycles": 60, "warmup": 0, "bins": 16, "engine": "compiled"}

CONTENTS = {
    "graph.json": [
        json.dumps({"nodes": 4, "links": links})
        for links in (
            [[0, 1], [1, 2], [2, 3], [3, 0]],
            [[0, 2], [2, 1], [1, 3], [3, 0]],
            [{"source": 0, "target": to, "latency": 3} for to in (1, 2, 3)],
        )
    ],
    "traffic.txt": ["1 2 3 0", "3 0 1 2", "0,1,0,0\n1,0,0,0\n0,0,0,1\n0,0,1,0"],
    "trace.csv": [
        "cycle,source,destination\n" + "".join(f"{n},{n % 4},{(n + by) % 4}\n" for n in range(20))
        for by in (1, 2, 3)
    ],
}
"""Each file has one of these contents at a time."""


class _Killed(Exception):
    """What ends a run without warning."""


@pytest.mark.long
def test_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checkpoints, "_PART_SECONDS", 1e-9)
    monkeypatch.setattr(checkpoints, "max", lambda *numbers: 17, raising=False)
    monkeypatch.setitem(checkpoints.Checkpoint.__init__.__kwdefaults__, "seconds", 0)
    step = CompiledEngine.step
    fresh: dict[tuple[object, ...], dict[str, Any]] = {}

    class Machine(RuleBasedStateMachine):
        """Files, one store of each kind, and the runs that were recorded."""

        def __init__(self) -> None:
            super().__init__()
            self.now = dict.fromkeys(CONTENTS, 0)
            self.records: list[tuple[bool, dict[str, int], dict[str, Any]]] = []
            for name in CONTENTS:
                self.edit(name, 0)
            for name in ("points.json", "run.npz"):
                Path(name).unlink(missing_ok=True)

        def network(self) -> Network:
            return build("graph file=graph.json")

        def given(self, traced: bool) -> dict[str, Any]:
            if traced:
                return {"traffic": read_trace("trace.csv", 4), "bins": 16, "engine": "compiled"}
            return {"traffic": "file:traffic.txt", "load": 0.3, **SHORT}

        def fresh(self, traced: bool) -> dict[str, Any]:
            """What a run gives that knows no store."""
            traffic = self.now["trace.csv" if traced else "traffic.txt"]
            key = traced, self.now["graph.json"], traffic
            if key not in fresh:
                fresh[key] = simulate(self.network(), **self.given(traced)).to_json()
            return fresh[key]

        @rule(name=st.sampled_from(sorted(CONTENTS)), number=st.integers(0, 2))
        def edit(self, name: str, number: int) -> None:
            Path(name).write_text(CONTENTS[name][number])
            self.now[name] = number

        @rule()
        def resume(self) -> None:
            options = {"traffic": "file:traffic.txt", "processes": 1, "refine": False, **SHORT}
            kept = sweep(self.network(), [0.3], resume="points.json", **options)
            assert kept.points[0].to_json() == self.fresh(False)

        @rule(traced=st.booleans(), parts=st.integers(0, 6))
        def go_on(self, traced: bool, parts: int) -> None:
            """Killed after some parts; or the checkpoint is another run's, and is refused."""
            left = parts

            def killed(engine: CompiledEngine, cycles: int) -> None:
                nonlocal left
                if not left:
                    raise _Killed
                left -= 1
                step(engine, cycles)

            refusal = ""
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(CompiledEngine, "step", killed if parts else step)
                try:
                    found = simulate(self.network(), checkpoint="run.npz", **self.given(traced))
                except _Killed:
                    return
                except InvalidValue as error:
                    refusal = str(error)
            if refusal:
                assert refusal == "run.npz is the checkpoint of another run"
                Path("run.npz").unlink()
            else:
                assert found.to_json() == self.fresh(traced)

        @rule(traced=st.booleans())
        def record(self, traced: bool) -> None:
            self.records.append((traced, dict(self.now), self.fresh(traced)))

        @rule(which=st.integers(0, 3))
        def again(self, which: int) -> None:
            """The result is that of the files as they are, and says which have changed."""
            for traced, then, result in self.records[which : which + 1]:
                found = rerun(result)
                assert found.to_json() == self.fresh(traced)
                traffic = "trace.csv" if traced else "traffic.txt"
                changed = [
                    what
                    for what, name in (("network", "graph.json"), ("traffic", traffic))
                    if then[name] != self.now[name]
                ]
                assert Record.of(result).changes(found) == changed

    fuzz_machine(Machine, count=3, steps=15)
