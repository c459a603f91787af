"""Input files, for which nobody waits in vain."""

import os

__all__ = ["read_input"]


def read_input(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file, or of a pipe that something writes to; a FIFO without a writer is empty.

    Raises
    ------
    OSError
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    with open(descriptor, "rb") as file:
        return file.read()
