"""Signals that end work as Ctrl-C does, by KeyboardInterrupt: all tidies up after itself."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["held_interrupts", "interrupt", "terminable"]

_TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)

_came: list[int] = []


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal as Ctrl-C is handled."""
    _came.append(number)
    raise KeyboardInterrupt


@contextmanager
def terminable() -> Iterator[Sequence[int]]:
    """A context in which SIGTERM and SIGHUP, unless they are ignored, raise KeyboardInterrupt.

    It gives the list of those that came.
    """
    _came.clear()
    if threading.current_thread() is not threading.main_thread():
        yield _came
        return
    usual = {each: signal.getsignal(each) for each in _TERMINATIONS}
    for each, handler in usual.items():
        if handler == signal.SIG_DFL:
            signal.signal(each, interrupt)
    try:
        yield _came
    finally:
        for each, handler in usual.items():
            signal.signal(each, handler)


@contextmanager
def held_interrupts() -> Iterator[Sequence[int]]:
    """A context at whose end a KeyboardInterrupt is raised that would have been raised within.

    It gives the list of the signals that came.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    usual = {each: signal.getsignal(each) for each in (signal.SIGINT, *_TERMINATIONS)}
    held = {
        each: handler
        for each, handler in usual.items()
        if handler in (interrupt, signal.default_int_handler) and callable(handler)
    }
    for each in held:
        signal.signal(each, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for each, handler in held.items():
            signal.signal(each, handler)
    for number in came:
        held[signal.Signals(number)](number, None)
