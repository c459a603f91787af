"""What the library uses of Amaranth's private interfaces is in one module."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALLOWED = "sim/engines/amaranth_internals.py"


def _imported(path: Path) -> Iterator[str]:
    """The full names of what a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import():
                yield from (each.name for each in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield from (f"{module}.{each.name}" for each in node.names)


def _private(path: Path) -> list[str]:
    return [
        name
        for name in _imported(path)
        if name.startswith("amaranth.") and any(part[0] == "_" for part in name.split("."))
    ]


def test_private_interfaces_are_used_in_one_module() -> None:
    files = [path for folder in ("hdl", "sim", "boards") for path in (ROOT / folder).rglob("*.py")]
    using = {path.relative_to(ROOT).as_posix() for path in files if _private(path)}
    assert using == {ALLOWED}


def test_reference_engine_needs_no_compiled_engine() -> None:
    code = """
import sys
sys.modules["multicube.sim.engines.compiled"] = None
sys.modules["multicube.sim.engines.amaranth_internals"] = None
from multicube.hdl import build
from multicube.sim.engines.amaranth import AmaranthEngine
with AmaranthEngine(build("cube", ports=2).fabric) as engine:
    engine.step(3)
    print(engine.cycle)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "3\n", done.stderr
