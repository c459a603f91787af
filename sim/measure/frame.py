"""Results as tables of pandas, and as figures."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from ...hdl.fabric.errors import MulticubeError
from ...hdl.support.shown import plot_of
from .row import row_of, wide_row

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .result import Result

__all__ = ["Curves", "Tabled"]


class Tabled(ABC):
    """One or more results, which are the rows of a table."""

    @abstractmethod
    def _labelled(self) -> Iterator[tuple[dict[str, Any], "Result"]]:
        """The results, and what their rows have besides."""

    def to_frame(self, percentiles: Iterable[float] = ()) -> "pd.DataFrame":
        """A pandas table with a row for each result, and a column for each parameter.

        Parameters
        ----------
        percentiles : Iterable[float]
            Further percentiles of the latency, from 0 to 100: 99.9 is in column `latency_p99.9`.

        Returns
        -------
        DataFrame
            The table; of a comparison with the label of each row's network.

        Raises
        ------
        MulticubeError
            If pandas is not installed.
        ValueError
            If a percentile is none.
        """
        rows = [{**label, **wide_row(each, percentiles)} for label, each in self._labelled()]
        try:
            import pandas as pd
        except ImportError:
            raise MulticubeError(
                "pandas is not installed: pip install 'multicube[notebook]'"
            ) from None
        return pd.DataFrame(rows)


class Curves(Tabled):
    """Results at several loads, which are also curves of a figure."""

    _kind: ClassVar[str]
    """What `plot_of` calls it."""

    def plot(self, ax: "Axes | None" = None, **options: Any) -> "Figure":
        """Latency and throughput against offered load, in a figure of their own or on given axes.

        Parameters
        ----------
        ax : Axes, optional
            Axes of matplotlib to draw on; their labels and limits are set.
        **options : Any
            What is drawn on given axes, "latency" or "throughput" (`of`); the `title`; the `size`
            of the figure in inches, or its `width` in print, "column" or "page"; and a `style` of
            matplotlib.

        Returns
        -------
        Figure
            The figure of the axes, or a new one.
        """
        return plot_of(self._kind, self, ax, **options)

    def rows(self) -> list[dict[str, Any]]:
        """A row of a table for each result; one is enough to run it again.

        Returns
        -------
        list[dict[str, Any]]
            Values by the name of the column.
        """
        return [{**label, **row_of(result)} for label, result in self._labelled()]
