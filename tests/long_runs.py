"""Values of a parametrised test that only `make test-long` tries."""

from typing import Any

import pytest

__all__ = ["long"]


def long(*values: Any, **options: Any) -> Any:
    """What `pytest.param` makes of values and options, marked as long."""
    return pytest.param(*values, **options, marks=pytest.mark.long)
