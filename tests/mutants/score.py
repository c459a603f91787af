"""The mutation score: do the short tests find each seeded bug of this folder?

`ROOM.toml` has the bugs of a room of the library, a table each. `what` says what is wrong, and
`tests` names the tests of which one should fail. `at` is a module and the qualified name of a
function, class, method or constant in it; a module alone, or the path of a file that is not Python,
is the whole file. `old` stands there exactly once, however its lines are broken; `new` takes its
place. All bugs are tried, or those whose names are given, by JOBS processes (2). Status 1 if a bug
is not found.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from compileall import compile_dir
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import SimpleQueue

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
PACKAGES = ("hdl", "sim", "boards")
COPIED = (*PACKAGES, "tools", "tests", "docs", "examples", "pyproject.toml", "README.md")
LIMIT = 900
"""Seconds that the tests of a bug may take: some wait 300 for what never comes."""


@dataclass(frozen=True)
class Mutant:
    """A bug: what is wrong, the tests that should find it, its place, and the change there."""

    name: str
    what: str
    tests: list[str]
    at: str
    old: str
    new: str

    @property
    def file(self) -> str:
        """The file of the place, seen from the root of the tree."""
        place = self.at.partition(":")[0]
        if "/" in place:
            return place
        path = place.removeprefix("multicube.").replace(".", "/")
        return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"

    def applied(self, root: Path) -> str:
        """The changed file. ValueError if the place is gone, or the old text not once in it."""
        if not (root / self.file).exists():
            raise ValueError(f"{self.name}: there is no {self.file}")
        text = (root / self.file).read_text()
        first, last = self._place(text)
        found = [m for m in _pattern(self.old).finditer(text, first) if m.end() <= last]
        if len(found) != 1:
            raise ValueError(f"{self.name} fits {len(found)} places of {self.at}, not one")
        start, end = found[0].span()
        line = text[text.rfind("\n", 0, start) + 1 :]
        lines = self.new.split("\n")
        deeper = _indent(line) - _indent(lines[0])
        new = "\n".join(x and " " * (_indent(x) + deeper) + x.lstrip() for x in lines)
        return text[:start] + new.lstrip() + text[end:]

    def _place(self, text: str) -> tuple[int, int]:
        """Where the text begins and ends that the qualified name stands for."""
        name = self.at.partition(":")[2]
        if not name:
            return 0, len(text)
        nodes: list[ast.AST] = [_tree(text)]
        for part in name.split("."):
            nodes = [node for outer in nodes for x, node in definitions(outer) if x == part]
        if len(nodes) != 1:
            raise ValueError(f"{self.name}: {self.at} is defined {len(nodes)} times, not once")
        decorators = [x.lineno for x in getattr(nodes[0], "decorator_list", [])]
        lines = text.splitlines(keepends=True)
        first, last = min([nodes[0].lineno, *decorators]) - 1, nodes[0].end_lineno
        return len("".join(lines[:first])), len("".join(lines[:last]))


_tree = cache(ast.parse)


def definitions(node: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """What a block of code defines, with its name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child.name, child
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            yield from ((x.id, child) for x in targets if isinstance(x, ast.Name))
        elif isinstance(child, ast.stmt):
            yield from definitions(child)


def _pattern(code: str) -> re.Pattern[str]:
    """Finds code wherever its words and signs stand in this order, with any space between."""
    words = re.findall(r"\w+|[^\w\s]", code)
    gaps = [r"\s+" if (a + b).isidentifier() else r"\s*" for a, b in pairwise(words)]
    inner = "".join(re.escape(a) + b for a, b in zip(words, [*gaps, ""]))
    return re.compile(rf"(?<!\w){inner}" if words[0].isidentifier() else inner)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def mutants(*names: str) -> list[Mutant]:
    """The bugs of these names, or all."""
    known: dict[str, Mutant] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for name, fields in tomllib.loads(path.read_text()).items():
            if name in known:
                raise ValueError(f"Two bugs are called {name}")
            known[name] = Mutant(name, **fields)
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"No bug is called {unknown[0]}")
    return [known[name] for name in names or known]


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
    for part in [*(folder / "sim/multicube").glob("*.py*"), *(folder / p for p in PACKAGES)]:
        (package / part.name).symlink_to(part)
    # By content, since a file and its bug may be of the same second and size.
    for part in PACKAGES:
        compile_dir(folder / part, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return folder


def run(folder: Path, tests: list[str], limit: float | None) -> tuple[str, list[str], str]:
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
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return "time out", [], ""
    if done.returncode < 0:  # a bug may end Python itself
        return "killed", [], done.stdout
    found = {0: "survived", 1: "killed"}.get(done.returncode, "no test ran")
    return found, re.findall(r"^FAILED (.*?)(?: - .*)?$", done.stdout, re.M), done.stdout


def attempt(mutant: Mutant, copies: "SimpleQueue[Path]") -> tuple[str, list[str], str]:
    """`run` with the bug in one of the copies."""
    folder = copies.get()
    try:
        (folder / mutant.file).write_text(mutant.applied(ROOT))
        return run(folder, mutant.tests, LIMIT)
    except (OSError, ValueError) as error:
        return "does not apply", [], str(error)
    finally:
        if (ROOT / mutant.file).exists():
            shutil.copy(ROOT / mutant.file, folder / mutant.file)
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
        # A test that fails without a bug finds none. All of them may take long.
        tests = sorted(failed)
        verdict, _, text = run(copies.get(), tests, None) if tests else ("survived", [], "")
    print(f"{len(bugs) - wrong} of {len(bugs)} killed")
    if verdict != "survived":
        print(f"Some of these tests fail without a bug: {text[-2000:]}")
    return int(wrong > 0 or verdict != "survived")


if __name__ == "__main__":
    sys.exit(main())
