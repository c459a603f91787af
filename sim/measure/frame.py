"""Results as tables of pandas."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...hdl.fabric.errors import MulticubeError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame_of"]


def frame_of(rows: Sequence[Mapping[str, Any]]) -> "pd.DataFrame":
    """A table with these rows.

    Raises
    ------
    MulticubeError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MulticubeError("pandas is not installed: pip install 'multicube[notebook]'") from None
    return pd.DataFrame(list(rows))
