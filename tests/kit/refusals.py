# amaranth: UnusedElaboratable=no
"""Tables of what is refused, and how."""

import re
from collections.abc import Callable
from typing import Any

import pytest

Errors = type[Exception] | tuple[type[Exception], ...]


def refused(message: str, error: Errors = ValueError) -> Any:
    """What is within raises an error whose message is this; "..." stands for any text."""
    return pytest.raises(error, match=f"^{re.escape(message).replace(re.escape('...'), '.*')}$")


def refusals(
    call: Callable[..., object], *rows: tuple[Any, ...], error: Errors = ValueError
) -> Callable[..., None]:
    """A test that a call is refused with the arguments of each row.

    A row has the arguments, the error if it is not `error`, and the message.
    """
    cases = []
    for *given, message in rows:
        own = isinstance(given[-1], type) and issubclass(given[-1], Exception)
        cases.append(pytest.param(given[: len(given) - own], given[-1] if own else error, message))

    @pytest.mark.parametrize(("given", "raised", "message"), cases, ids=[row[-1] for row in rows])
    def test(given: list[Any], raised: Errors, message: str) -> None:
        with refused(message, raised):
            call(*given)

    return test
