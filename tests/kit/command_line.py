"""The command, in this process."""

import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from multicube.sim.command import main

__all__ = ["Call", "Outcome", "command_refusals", "exit_status"]


def exit_status(*words: str) -> int:
    """The exit status of `multicube WORDS`."""
    with pytest.raises(SystemExit) as left:
        main([*words])
    assert isinstance(left.value.code, int)
    return left.value.code


class Outcome(NamedTuple):
    """What a command left: its exit status, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def record(self) -> Any:
        """The JSON object that it printed, if all went well."""
        assert self.status == 0, self.err
        return json.loads(self.out)

    def refuses(self, message: str) -> None:
        """Check that it printed one line, with this message; "..." stands for any text."""
        pattern = re.escape(message).replace(re.escape("..."), ".*")
        assert (self.status, self.out) == (2, "")
        assert re.fullmatch(f"multicube: {pattern}\n", self.err), self.err


Call = Callable[..., Outcome]
"""The fixture `call`: runs the command in an empty folder."""


def command_refusals(
    words: str, *rows: tuple[str | Sequence[str], str], part: bool = False
) -> Callable[..., None]:
    """A test that the command refuses, behind these words, those of each row, in one line with the
    row's message, or in which that is a part, and that it writes nothing."""

    @pytest.mark.parametrize(("more", "message"), rows, ids=[row[-1] for row in rows])
    def test(more: str | Sequence[str], message: str, call: Call) -> None:
        given = shlex.split(more) if isinstance(more, str) else more
        call(*shlex.split(words), *given).refuses(f"...{message}..." if part else message)
        assert list(Path().iterdir()) == []

    return test
