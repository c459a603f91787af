"""The commit and the machine that each measured file of `docs` was made at: `data/commits.json`.

    python -m generate.commits FILE ...

records the files at the last commit that changed the library; `make docs-data` does so itself. A
digest says which contents were recorded, so a file that was made again is not shown as an old one.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypedDict

from multicube.hdl.support.output_file import whole_file

from .markdown import DOCS

__all__ = ["COMMITS", "Record", "commits", "digest", "measured_at", "record", "with_commits"]

COMMITS = DOCS / "data" / "commits.json"
_LIBRARY = ("hdl", "sim")
_TABLE = re.compile(r"^<!-- measured: ([\w./-]+) -->$", re.M)
"""A line below a table that is made from a file of `docs`: the small print replaces it."""
_PICTURE = re.compile(r"^!\[[^\]]*\]\((?:\.\./)*(pictures/[\w-]+\.\w+)\)$", re.M)


class Record(TypedDict):
    """Where and when a file was made."""

    commit: str
    machine: str
    digest: str


@cache
def commits() -> dict[str, Record]:
    """The records by path in `docs`."""
    found: dict[str, Record] = json.loads(COMMITS.read_text())
    return found


def digest(path: Path) -> str:
    """A digest of a file."""
    return sha256(path.read_bytes()).hexdigest()[:16]


def record(paths: Iterable[Path]) -> None:
    """Record that files were made just now, if their contents are new."""
    known = commits()
    made = {str(path.resolve().relative_to(DOCS)): digest(path) for path in paths}
    git = ["git", "log", "-1", "--format=%h", "--abbrev=10", "--", *_LIBRARY]
    run = subprocess.run(git, cwd=DOCS.parent, capture_output=True, text=True, check=True)
    new = {
        name: Record(commit=run.stdout.strip(), machine=_machine(), digest=contents)
        for name, contents in made.items()
        if name not in known or known[name]["digest"] != contents
    }
    with whole_file(COMMITS) as file:
        file.write_text(json.dumps(known | new, indent=0, sort_keys=True) + "\n")
    commits.cache_clear()


def _machine() -> str:
    """The kind of processor."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", info.read_text(), re.M) if info.exists() else None
    return found[1] if found else "unknown processor"


def measured_at(*paths: Path) -> str:
    """The small print below what is made of files; nothing if they are not recorded."""
    known = commits()
    names = [str(path.relative_to(DOCS)) for path in paths if path.exists()]
    found = [known[name] for name in names if name in known]
    made = dict.fromkeys(f"{each['commit']} ({each['machine']})" for each in found)
    return f'<p class="measured">Measured at commit {", ".join(made)}.</p>' if made else ""


def with_commits(text: str) -> str:
    """A page with the small print below measured tables, and pictures that have their own line."""

    def shown(picture: re.Match[str]) -> str:
        small = measured_at(DOCS / picture[1])
        return f"{picture[0]}\n\n{small}" if small else picture[0]

    return _PICTURE.sub(shown, _TABLE.sub(lambda mark: measured_at(DOCS / mark[1]), text))


if __name__ == "__main__":
    record(map(Path, sys.argv[1:]))
