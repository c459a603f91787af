"""Programs: in the background, or to their end."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any


@contextmanager
def started(
    words: Sequence[str | PathLike[str]], **options: Any
) -> Iterator["subprocess.Popen[str]"]:
    """A program whose output is text in pipes; it does not outlive a test that fails."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition: Callable[[], object], seconds: float = 300) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def run_on_full_disk(
    *command: str | PathLike[str], folder: Path
) -> "subprocess.CompletedProcess[str]":
    """A program that can't write files of more than 8 KiB."""
    # Else it leaves truncated bytecode, and what it has run.
    unwritten = {"PYTHONDONTWRITEBYTECODE": "1", "COVERAGE_PROCESS_CONFIG": ""}
    return subprocess.run(
        ["bash", "-c", 'ulimit -f 8 && exec "$@"', "bash", *command],
        cwd=folder,
        env={**os.environ, **unwritten},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run_tool(*command: str | PathLike[str], folder: Path, **variables: str) -> str:
    """What a program says that must end well."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3000:]
    return said
