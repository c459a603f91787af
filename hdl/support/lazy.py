"""Packages that import a module when one of its names is first used, since some take long."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, file: str, made: str = ""
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """The list `__all__` and the functions `__getattr__` and `__dir__` of a package.

    Its names are stated once, in the stub beside its `__init__.py`, which type checkers read as
    well: a line `from .MODULE import NAME as NAME` for each.

    Parameters
    ----------
    package : str
    file : str
        Its `__file__`.
    made : str
        The module that makes the classes that the stub declares itself.
    """
    homes: dict[str, str] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = f"{node.level * '.'}{node.module}"
            homes |= {each.name: module for each in node.names if each.asname}
        elif isinstance(node, ast.ClassDef):
            homes[node.name] = made

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name], package), name)

    return sorted(homes), get, lambda: sorted(homes)
