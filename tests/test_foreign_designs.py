# amaranth: UnusedElaboratable=no
"""Designs of other authors in our simulator and in Amaranth's: every signal, every cycle."""

import gc
import re
import subprocess
import sys
from pathlib import Path

import pytest
from foreign_designs import DESIGNS
from long_runs import long
from simulator_pairs import check_equal

SHORT = "divider"


@pytest.mark.filterwarnings("ignore")  # of their code
@pytest.mark.parametrize("name", [name if name == SHORT else long(name) for name in DESIGNS])
def test_foreign_design(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-O0")
    make, how = DESIGNS[name]
    found = check_equal(make, cycles=60 if name == SHORT else 200, **how)
    moving = [signal for signal in found[0] if len({each[signal] for each in found}) > 1]
    assert len(moving) > len(found[0]) / 20
    del found, moving
    gc.collect()  # what their code has made and not used is told of here, not in another test


@pytest.mark.parametrize(("cores", "word"), [long("1", "0x447"), long("8", "0x2238")])
def test_example_of_the_speed(cores: str, word: str) -> None:
    """One core, and eight, which are lanes."""
    pytest.importorskip("pythondata_cpu_minerva")
    example = Path(__file__).parent.parent / "examples" / "simulator_speed.py"
    command = [sys.executable, "-W", "ignore", str(example), "--seconds", "0.1", "--cores", cores]
    done = subprocess.run([*command, "--only", "multicube", "Amaranth"], capture_output=True)
    words = re.findall(r"word (\w+) after 1,000 cycles", done.stdout.decode())
    assert words == [word, word], done.stderr
