"""The command, in this process."""

import pytest
from multicube.sim.command import main


def exit_status(*words: str) -> int:
    """The exit status of `multicube WORDS`."""
    with pytest.raises(SystemExit) as left:
        main([*words])
    assert isinstance(left.value.code, int)
    return left.value.code
