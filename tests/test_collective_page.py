"""Pages of collectives in Chromium: they do, and show, what the compiled engine does."""

from pathlib import Path
from typing import Any

import pytest
from browser import Tab, needs_chromium
from command_line import exit_status
from long_runs import long
from multicube.hdl import build
from multicube.sim import run_collective
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.live import CollectivePage

pytestmark = needs_chromium


@pytest.mark.parametrize(
    ("words", "kind", "root", "flits"),
    [
        ("mesh k=2 n=2 length=2", "allreduce", 2, 3),
        *(
            long("mesh k=3 n=2 length=4", kind, 4, 6)
            for kind in ("broadcast", "reduce", "allreduce")
        ),
        long("torus k=3 n=1 latency=2 length=2", "broadcast", 0, 4),
        long("fat-tree k=2 n=2", "barrier", 0, 1),
    ],
)
def test_a_page_performs_what_the_engine_does(
    words: str, kind: str, root: int, flits: int, chromium: Any, tmp_path: Path
) -> None:
    """What each terminal has heard after each cycle, the trees as the tables of the routers say,
    and the end."""
    how: dict[str, Any] = {"root": root, "flits": flits}
    page = CollectivePage(build(words), kind, **how)
    page.save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    run = run_collective(build(words), kind, **how, algorithm="network")
    shown = tab.do(
        f"""async () => {{
          const found = [];
          for (let cycle = 0; cycle < {run.cycles + 3}; cycle++) {{
            const {{ collective, moment }} = multicube;
            multicube.show();
            const text = (id) => document.getElementById(`collective-${{id}}`).textContent;
            found.push({{ heard: collective.heard, text: text("heard"),
              moved: moment.moves.map(({{ flit }}) => flit.channel),
              copies: text("copies"), merges: text("merges"),
              offered: moment.flits.map(({{ channel }}) => channel) }});
            await multicube.advance(1);
          }}
          return found;
        }}"""
    )
    bench = page.collective
    with CompiledEngine(bench) as engine:
        engine.set("send", 1)
        for frame in shown:
            listeners = [bench.sinks[each] for each in bench.task.listeners]
            assert frame["heard"] == engine.read(listeners, "heard")
            engine.step(1)
    about = tab.do("() => ABOUT.collective")
    # Flits are on the channels of the trees, and on no others.
    trees = {"broadcast": ["copies"], "reduce": ["merges"]}.get(kind, ["copies", "merges"])
    drawn = {channel for tree in trees for channel in about[tree]}
    assert {channel for frame in shown for channel in frame["offered"]} == drawn
    for what in ("copies", "merges"):
        assert any("node " in frame[what] for frame in shown) == (what in trees)
    split = any(len(frame["moved"]) > len(set(frame["moved"])) for frame in shown)
    # Copies over links of two cycles are offered on these one cycle later than to the terminal.
    assert split == ("copies" in trees and "latency" not in words)
    ends = [f"All has been heard, after {run.cycles} cycles." == frame["text"] for frame in shown]
    assert [at for at, over in enumerate(ends) if over] == [*range(run.cycles, run.cycles + 3)]
    assert not tab.errors
    tab.close()


def test_the_command_writes_a_page(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    path = str(tmp_path / "page.html")
    words = ["collective", "reduce", "ring", "k=3", "--page", path]
    assert exit_status(*words, "--algorithm", "ring") == 2
    message = "multicube: Option --page needs --algorithm network, not ring\n"
    assert capsys.readouterr().err == message
    assert not list(tmp_path.iterdir())
    assert exit_status(*words, "--algorithm", "network") == 0
    assert "by network: " in capsys.readouterr().out
    assert "<title>reduce" in Path(path).read_text()
