"""Room in memory for the linear algebra of NumPy and SciPy, if this process has a limit.

OpenBLAS, which both load, waits for ever where it can't have the memory that it wants.
"""

import mmap
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["ask_for_room", "lacks_memory"]

_LIBRARIES = ("numpy", "scipy")

_ROOM = 128 * 2**20
"""Bytes of address space that are enough to load them, with one thread."""

_SIGNS = ("failed to map segment", "cannot allocate memory", "cannot create shared object")
"""What the loader of shared libraries says if there is no memory for one."""


class _Room(MetaPathFinder):
    """Finds nothing, but raises MemoryError where there is no room for what is to be loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        library, *parts = name.split(".")
        if library in _LIBRARIES and len(parts) < 2:
            try:
                mmap.mmap(-1, _ROOM).close()
            except OSError:
                raise MemoryError from None
        return None


def ask_for_room() -> None:
    """From now on, raise MemoryError where NumPy or a part of SciPy is imported without room."""
    if sys.platform == "win32":  # its processes have no such limit
        return
    import resource

    limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    if limited and not any(isinstance(finder, _Room) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Room())


def lacks_memory(error: BaseException) -> bool:
    """Whether an error says that there is not enough memory, or comes from one that does."""
    said = str(error).lower()
    if isinstance(error, MemoryError) or any(sign in said for sign in _SIGNS):
        return True
    return error.__cause__ is not None and lacks_memory(error.__cause__)
