"""Packages that import a module when one of its names is first used, since some take long."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, file: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """The list `__all__` and the functions `__getattr__` and `__dir__` of a package.

    Its names are stated once, in the stub beside its `__init__.py`, which type checkers read as
    well: a line `from .MODULE import NAME as NAME` for each.

    Parameters
    ----------
    package : str
    file : str
        Its `__file__`.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text())
    homes = {
        name.name: f"{node.level * '.'}{node.module}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name], package), name)

    return sorted(homes), get, lambda: sorted(homes)
