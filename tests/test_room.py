"""Under a limit of memory a command ends: with its result, or with one line."""

import subprocess
import sys

import pytest
from long_runs import long
from multicube.hdl.support.room import lacks_memory

COMMAND = "from multicube.sim.command import main; main()"


def limited(kibibytes: int, *words: str, code: str = COMMAND) -> "subprocess.CompletedProcess[str]":
    """Run Python code with so much address space."""
    limit = f'ulimit -v {kibibytes}; exec "$@"'
    return subprocess.run(
        ["bash", "-c", limit, "bash", sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "kibibytes", [100_000, *map(long, (200_000, 280_000)), 340_000, long(400_000)]
)
def test_a_run_with_little_memory_ends(kibibytes: int) -> None:
    words = "sim ring k=4 n=1 --load .2 --cycles 60 --warmup 0"
    done = limited(kibibytes, *words.split())
    if done.returncode != 0:
        assert done.returncode == 2, done
        assert done.stderr.startswith("multicube: "), done
        assert done.stderr.count("\n") == 1, done


def test_libraries_are_not_loaded_without_room() -> None:
    """SciPy's would wait for memory for ever."""
    code = """
import resource
from multicube.hdl.support.room import ask_for_room
import numpy, psutil
used = psutil.Process().memory_info().vms
resource.setrlimit(resource.RLIMIT_AS, (used + 40 * 2**20,) * 2)
ask_for_room()
ask_for_room()
try:
    import scipy.special
except MemoryError:
    print("refused")
"""
    done = limited(4_000_000, code=code)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_errors_that_come_from_a_lack_of_memory() -> None:
    assert lacks_memory(MemoryError())
    assert lacks_memory(ImportError("x.so: failed to map segment from shared object"))
    assert not lacks_memory(ImportError("No module named 'x'"))
    error = ValueError("so")
    error.__cause__ = MemoryError()
    assert lacks_memory(error)
