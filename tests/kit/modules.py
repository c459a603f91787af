"""Files of Python that are no part of a package, as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load_module(path: Path, name: str) -> ModuleType:
    """The module, run anew."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for its dataclasses
    spec.loader.exec_module(module)
    return module


def load_example(name: str) -> ModuleType:
    """The module `examples/NAME.py`."""
    return load_module(EXAMPLES / f"{name}.py", f"{name}_example")


def refusal(example: ModuleType, *words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which an example refuses words of its command line."""
    assert example.__file__ is not None
    program = Path(example.__file__).name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [program, *words])
        with pytest.raises(SystemExit) as left:
            example.main()
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{program}: ")
    assert said.count("\n") == 1
    return said.removeprefix(f"{program}: ")
