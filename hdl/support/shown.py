"""HTML renderers of objects, registered by the name of their module.

So `hdl` need not import `sim`, which has the renderers.
"""

from importlib import import_module
from typing import Any

__all__ = ["html_of", "show_by"]

_FUNCTIONS: dict[str, tuple[str, str]] = {}


def show_by(kind: str, module: str, function: str) -> None:
    """Let objects of a kind be shown by a function, whose module is imported when first used.

    Parameters
    ----------
    kind : str
        Such as "network".
    module, function : str
        The function takes the object, and returns HTML.
    """
    _FUNCTIONS[kind] = module, function


def html_of(kind: str, given: Any) -> str | None:
    """What a notebook shows of an object; None if its representation as text is all there is."""
    if kind not in _FUNCTIONS:
        return None
    module, function = _FUNCTIONS[kind]
    return getattr(import_module(module), function)(given)
