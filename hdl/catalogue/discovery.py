"""The families of `multicube.hdl.families`: who adds a folder or a file there need not name it."""

from importlib import import_module
from pkgutil import walk_packages

from .. import families
from ..networks.family import Family, GraphFamily

__all__ = ["ENTRIES"]


def _modules() -> list[str]:
    """Modules that may have `FAMILIES`; those in folders, which have more hardware, first."""
    found = [module.name for module in walk_packages(families.__path__, f"{families.__name__}.")]
    return sorted(
        (name for name in found if name.endswith(("_graph", "_network"))),
        key=lambda name: (-name.count("."), name),
    )


ENTRIES: list[Family | GraphFamily] = [
    family for name in _modules() for family in getattr(import_module(name), "FAMILIES", ())
]
"""What these modules say in `FAMILIES`."""
