"""Random inputs that are mostly valid: some of them in short tests, as many as time allows in
`make fuzz`.

Short tests always try the same cases. `make fuzz` sets FUZZ_SECONDS, the time of each test, and
FUZZ_SEED, where its seeds start; a failure prints its seed and the smallest case that was found.
"""

import itertools
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

__all__ = ["check_line", "damaged", "fuzz", "fuzz_machine", "mutated"]

SECONDS = float(os.environ.get("FUZZ_SECONDS", 0))
SEED = int(os.environ.get("FUZZ_SEED", 0))

_CASE_SECONDS = 300
"""What a single case may take; the machine may be busy."""

_ROUND = 50
"""Cases of each seed in long runs."""

JUNK = st.sampled_from(
    [
        *("", " ", "-", "--", "=", ":", ",", "0", "-1", "1e999", "nan", "x", "ä", "½", "\udcff"),
        *("9" * 30, "9" * 5000, "x" * 5000, "../..", "/dev/null", "%s", "\x1b[31m", "[/b]"),
        *("a b", "1:2"),
    ]
)
"""Words and characters that have tripped up one program or another."""


def fuzz(check: Callable[[Any], None], cases: st.SearchStrategy, *, count: int) -> None:
    """Call `check` with `count` cases; in long runs with as many as there is time for."""
    end = time.monotonic() + SECONDS if SECONDS else math.inf
    with _endable():
        for number in itertools.count(SEED) if SECONDS else (SEED,):
            print("seed", number)  # of which a failure prints the last
            run = given(cases)(_limited(check, end))
            _settings(_ROUND if SECONDS else count)(seed(number)(run))()
            if time.monotonic() >= end:
                return


def fuzz_machine(machine: type[RuleBasedStateMachine], *, count: int, steps: int) -> None:
    """Let a state machine take `steps` steps, `count` times; in long runs as often as it can."""
    end = time.monotonic() + SECONDS if SECONDS else math.inf
    with _endable():
        for number in itertools.count(SEED) if SECONDS else (SEED,):
            print("seed", number)
            run_state_machine_as_test(seed(number)(machine), settings=_settings(count, steps))
            if time.monotonic() >= end:
                return


def _settings(count: int, steps: int = 50) -> settings:
    return settings(
        max_examples=count,
        stateful_step_count=steps,
        database=None,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )


def _limited(check: Callable[[Any], None], end: float) -> Callable[[Any], None]:
    """A check of a limited time; after the end there are only those of a case that fails."""
    failed = False

    def limited(case: Any) -> None:
        nonlocal failed
        if time.monotonic() >= end and not failed:
            return
        try:
            with _alarm():
                check(case)
        except _TooLong:
            failed = True
            raise AssertionError(f"This has taken {_CASE_SECONDS} s") from None
        except Exception:
            failed = True
            raise

    return limited


class _TooLong(BaseException):
    """Not an Exception: nothing but the harness may catch it."""


class _Ended(BaseException):
    """SIGINT or SIGTERM: not KeyboardInterrupt, which commands take for an end of their own."""


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> NoReturn:
        raise _TooLong

    usual = signal.signal(signal.SIGALRM, ring)
    signal.alarm(_CASE_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)


@contextmanager
def _endable() -> Iterator[None]:
    """A context in which SIGINT and SIGTERM end pytest, whatever is being tried."""

    def finish(number: int, frame: FrameType | None) -> NoReturn:
        raise _Ended

    usual = {each: signal.signal(each, finish) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except _Ended:
        raise KeyboardInterrupt from None
    finally:
        for each, handler in usual.items():
            signal.signal(each, handler)


def check_line(error: Exception) -> None:
    """Check that a refusal says something, in one line."""
    assert str(error)
    assert "\n" not in str(error)


def mutated(words: st.SearchStrategy[list[str]], others: st.SearchStrategy[str]) -> Any:
    """Lists of words, some of which have up to two of them dropped, repeated, moved or replaced."""

    @st.composite
    def draw_words(draw: st.DrawFn) -> list[str]:
        found = list(draw(words))
        for _ in range(draw(st.sampled_from([0, 0, 1, 1, 1, 2]))):
            at = draw(st.integers(0, max(len(found) - 1, 0)))
            old = found[at : at + 1]
            other = draw(st.one_of(others, JUNK))
            match draw(st.sampled_from(["drop", "repeat", "replace", "insert", "part", "move"])):
                case "drop":
                    found[at : at + 1] = []
                case "repeat":
                    found[at:at] = old
                case "replace":
                    found[at : at + 1] = [other]
                case "insert":
                    found.insert(at, other)
                case "part" if old:
                    cut = draw(st.integers(0, len(old[0])))
                    until = draw(st.integers(cut, min(cut + 2, len(old[0]))))
                    found[at] = old[0][:cut] + draw(JUNK) + old[0][until:]
                case "move" if old:
                    del found[at]
                    found.insert(draw(st.integers(0, len(found))), *old)
        return found

    return draw_words()


@st.composite
def damaged(draw: st.DrawFn, contents: st.SearchStrategy[bytes]) -> bytes:
    """Contents of files, some of which have up to three places changed, cut out or repeated."""
    found = bytearray(draw(contents))
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
        at = draw(st.integers(0, len(found)))
        size = draw(st.integers(0, 8))
        match draw(st.sampled_from(["cut", "repeat", "write", "end"])):
            case "cut":
                del found[at : at + size]
            case "repeat":
                found[at:at] = found[at : at + size]
            case "write":
                found[at : at + size] = draw(st.binary(min_size=1, max_size=8))
            case "end":
                del found[at:]
    return bytes(found)
