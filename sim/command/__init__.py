"""The command `multicube`.

The modules of its subcommands import at their tops only what their help needs. What is slow to
import, such as Amaranth, is imported when a subcommand runs.
"""

import os
import sys

from ...hdl.support.interruption import INTERRUPTED
from ...hdl.support.room import ask_for_room, lacks_memory

__all__ = ["INTERRUPTED", "NO_MEMORY", "main"]

NO_MEMORY = "There is not enough memory for this"

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""How many threads linear algebra starts, by the names that such libraries read when loaded."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit, as `entry.main` does; Ctrl-C while it is loaded is one line too.

    Linear algebra has one thread, unless the environment says otherwise: its library sets memory
    aside for each when it is loaded.
    """
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    try:
        ask_for_room()
        from .entry_point import main as run
    except KeyboardInterrupt:
        print("multicube: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and not lacks_memory(error):
            raise
        print(f"multicube: {NO_MEMORY}", file=sys.stderr)
        sys.exit(2)
    run(arguments)
