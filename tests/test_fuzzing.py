"""Random cases end when they should, whatever the code that they try makes of it."""

import contextlib
import signal
import time

import fuzzing
import pytest
from hypothesis import strategies as st


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_them_all(number: int) -> None:
    tried = []

    def check(case: int) -> None:
        tried.append(case)
        with contextlib.suppress(Exception, KeyboardInterrupt):  # as a command does
            signal.raise_signal(number)

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        fuzzing.fuzz(check, st.integers(), count=5)
    assert len(tried) == 1
    assert signal.getsignal(number) == before


def test_they_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "SECONDS", 0.2)
    tried = []

    def check(case: int) -> None:
        tried.append(case)
        time.sleep(0.05)

    fuzzing.fuzz(check, st.integers(), count=5)
    assert len(tried) < 10
