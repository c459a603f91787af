"""What shows objects, as HTML and as figures, registered by the name of its module.

So `hdl` need not import `sim`, and what measures need not import what draws.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["html_of", "plot_of", "show_by"]

_FUNCTIONS: dict[str, tuple[str, str]] = {}


def show_by(kind: str, module: str, function: str) -> None:
    """Let objects of a kind be shown by a function, whose module is imported when first used.

    Parameters
    ----------
    kind : str
        Such as "network".
    module, function : str
        The function takes the object, and returns HTML; of "sweep plot" a figure.
    """
    _FUNCTIONS[kind] = module, function


def html_of(kind: str, given: Any) -> str | None:
    """What a notebook shows of an object; None if its representation as text is all there is."""
    return _function(kind)(given) if kind in _FUNCTIONS else None


def plot_of(kind: str, given: Any, *arguments: Any, **options: Any) -> Any:
    """The figure of an object."""
    return _function(f"{kind} plot")(given, *arguments, **options)


def _function(kind: str) -> Callable[..., Any]:
    module, function = _FUNCTIONS[kind]
    return getattr(import_module(module), function)
