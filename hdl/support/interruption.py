"""Signals that end work like Ctrl-C, by KeyboardInterrupt, so that everything is cleaned up."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["INTERRUPTED", "held_interrupts", "interrupt", "terminable"]

INTERRUPTED = 130
"""Status of a command that Ctrl-C has ended, after it has printed what it had."""

_TERMINATIONS = [
    signal.Signals[name]
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK")  # the last is of Windows, which lacks the second
    if name in signal.Signals.__members__
]

_came: list[int] = []


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal like Ctrl-C."""
    _came.append(number)
    raise KeyboardInterrupt


@contextmanager
def terminable() -> Iterator[Sequence[int]]:
    """A context in which SIGTERM and SIGHUP, unless they are ignored, raise KeyboardInterrupt.

    Its value is the list of the signals received.
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
    """A context that delays a KeyboardInterrupt until its end.

    Its value is the list of the signals received.
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
