"""Pseudo-terminals, which Windows has in another form."""

import sys

from ..fabric.errors import InvalidValue

__all__ = ["check_pseudo_terminals", "no_pseudo_terminals"]


def no_pseudo_terminals(what: str) -> InvalidValue:
    """What to raise on Windows, where `what` needs some."""
    return InvalidValue(f"{what} needs Linux or macOS; on Windows it runs in WSL")


def check_pseudo_terminals(what: str) -> None:
    """Raise ValueError on Windows; `what` is what needs pseudo-terminals."""
    if sys.platform == "win32":
        raise no_pseudo_terminals(what)
