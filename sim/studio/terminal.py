"""What a command says while it runs: it shows how far it is on a terminal alone, so it gets one."""

import asyncio
import os
import re
import sys
from contextlib import suppress
from typing import Any

from ...hdl.support.pseudo_terminals import no_pseudo_terminals

__all__ = ["Terminal"]

_ROWS, _COLUMNS = 24, 200

_MOST = 1 << 16
"""Most bytes that are kept of what it says."""

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

_BAR = re.compile(r"(?:(.*): +)?\d+%\|.*\| (\d+)/(\d+) ")
"""A bar of tqdm."""


class Terminal:
    """The terminal of a process, of which its standard error is a part.

    Attributes
    ----------
    its : int
        The file descriptor that the process gets.
    """

    def __init__(self) -> None:
        self._own, self.its = _opened()
        self._said = b""

    def __enter__(self) -> "Terminal":
        asyncio.get_running_loop().add_reader(self._own, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._own)
        self._hear()
        os.close(self._own)
        os.close(self.its)

    def _hear(self) -> None:
        with suppress(OSError):  # there is nothing more
            while part := os.read(self._own, _MOST):
                self._said = (self._said + part)[-_MOST:]

    @property
    def _parts(self) -> list[str]:
        """What it has said, also on lines that were written over."""
        text = _ESCAPE.sub("", self._said.decode(errors="replace"))
        return [part.strip() for part in re.split(r"[\r\n]+", text)]

    @property
    def lines(self) -> list[str]:
        """What it has said, without empty lines."""
        return [part for part in self._parts if part]

    @property
    def progress(self) -> dict[str, Any] | None:
        """How far it is, in words, and as so many of all; None if it has said nothing yet."""
        if not self._said:
            return None
        # The last part is where it writes now; it is empty after a line that has been wiped.
        now = next(iter(self._parts[-1:]), "") or "".join(self._parts[-2:-1])
        if bar := _BAR.match(now):
            return {"done": int(bar[2]), "total": int(bar[3]), "text": bar[1] or ""}
        return {"done": None, "total": None, "text": now}


def _opened() -> tuple[int, int]:
    """The ends of a new terminal: ours, at which nobody waits, and that of a process."""
    if sys.platform == "win32":
        raise no_pseudo_terminals("The workbench")
    import termios

    own, its = os.openpty()
    termios.tcsetwinsize(its, (_ROWS, _COLUMNS))
    os.set_blocking(own, False)
    return own, its
