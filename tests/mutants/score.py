"""The mutation score: do the short tests find each seeded bug of this folder?

Each `NAME.patch` is a unified diff of the library. The lines before it start with "# " and say what
is wrong; the last of them, "# tests:", names the tests of which one should fail. All patches are
tried, or those whose names are given, by JOBS processes (2). Status 1 if a bug is not found.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from compileall import compile_dir
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import SimpleQueue

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
PACKAGES = ("hdl", "sim", "boards")
COPIED = (*PACKAGES, "tests", "docs", "examples", "pyproject.toml", "README.md")
LIMIT = 300
"""Seconds that the tests of a bug may take, on a busy machine."""


@dataclass
class Mutant:
    """A patch: what is wrong, the tests that should find it, and the changes of each file."""

    name: str
    what: str
    tests: list[str]
    changes: list[tuple[str, str, str]]

    @classmethod
    def read(cls, path: Path) -> "Mutant":
        said, _, diff = path.read_text().partition("\n--- ")
        *what, tests = (line.removeprefix("# ") for line in said.splitlines())
        changes = []
        for part in f"\n--- {diff}".split("\n--- ")[1:]:
            file, *hunks = re.split(r"\n@@.*@@.*\n", part.partition("\n+++ b/")[2])
            for hunk in hunks:
                lines = hunk.rstrip("\n").split("\n")
                old, new = ("\n".join(x[1:] for x in lines if x[0] != sign) for sign in "+-")
                changes.append((file, old, new))
        return cls(path.stem, " ".join(what), tests.removeprefix("tests: ").split(), changes)

    def applied(self, root: Path) -> dict[str, str]:
        """The changed files. ValueError if a part of the patch does not fit exactly one place."""
        texts: dict[str, str] = {}
        for file, old, new in self.changes:
            text = texts.get(file) or (root / file).read_text()
            if text.count(old) != 1:
                raise ValueError(f"{self.name} fits {text.count(old)} places of {file}, not one")
            texts[file] = text.replace(old, new)
        return texts


def mutants(*names: str) -> list[Mutant]:
    """The patches of these names, or all."""
    paths = [FOLDER / f"{name}.patch" for name in names] or sorted(FOLDER.glob("*.patch"))
    return list(map(Mutant.read, paths))


def copy_tree(folder: Path) -> Path:
    """A copy of what tests need, in which `path/multicube` is the package of `pyproject.toml`."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            unused = shutil.ignore_patterns("__pycache__", FOLDER.name)
            shutil.copytree(ROOT / name, folder / name, ignore=unused)
        else:
            shutil.copy(ROOT / name, folder)
    package = folder / "path/multicube"
    package.mkdir(parents=True)
    for part in [*(folder / "sim/multicube").glob("*.py"), *(folder / p for p in PACKAGES)]:
        (package / part.name).symlink_to(part)
    # By content, since a file and its bug may be of the same second and size.
    for part in PACKAGES:
        compile_dir(folder / part, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return folder


def run(folder: Path, tests: list[str]) -> tuple[str, list[str], str]:
    """What became of a bug in a copy, the tests that failed, and their output."""
    words = ["-x", "-q", "-m", "not long", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder / "path")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return "time out", [], ""
    found = {0: "survived", 1: "killed"}.get(done.returncode, "no test ran")
    return found, re.findall(r"^FAILED (.*?)(?: - .*)?$", done.stdout, re.M), done.stdout


def attempt(mutant: Mutant, copies: "SimpleQueue[Path]") -> tuple[str, list[str], str]:
    """`run` with the bug in one of the copies."""
    folder = copies.get()
    try:
        for file, text in mutant.applied(ROOT).items():
            (folder / file).write_text(text)
        return run(folder, mutant.tests)
    except (OSError, ValueError) as error:
        return "does not apply", [], str(error)
    finally:
        for file, *_ in mutant.changes:
            shutil.copy(ROOT / file, folder / file)
        copies.put(folder)


def main() -> int:
    bugs, jobs = mutants(*sys.argv[1:]), int(os.environ.get("JOBS", 2))
    copies: SimpleQueue[Path] = SimpleQueue()
    failed: set[str] = set()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        for job in range(jobs):
            copies.put(copy_tree(Path(scratch) / str(job)))
        for bug, (verdict, tests, text) in zip(bugs, pool.map(lambda b: attempt(b, copies), bugs)):
            print(f"{verdict:14} {bug.name:36} {bug.what}", flush=True)
            failed.update(tests)
            if verdict != "killed":
                wrong += 1
                print(text[-2000:])
        # A test that fails without a bug finds none.
        verdict, _, text = run(copies.get(), sorted(failed)) if failed else ("survived", [], "")
    print(f"{len(bugs) - wrong} of {len(bugs)} killed")
    if verdict != "survived":
        print(f"Some of these tests fail without a bug: {text[-2000:]}")
    return int(wrong > 0 or verdict != "survived")


if __name__ == "__main__":
    sys.exit(main())
