"""The throughput of a memory with a hot spot (Pfister and Norton, 1985; Siegel et al., IV-B)."""

from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.errors import InvalidValue

__all__ = ["hot_spot_limit"]


def hot_spot_limit(ports: int, hot: float) -> float:
    """Most requests per processor per cycle without combining.

    A fraction `hot` of the requests is for one module, which answers one per cycle; the others are
    uniform. With x requests per processor per cycle that module is saturated at
    N x (hot + (1 - hot) / N) = 1, so x = 1 / (1 + hot (N - 1)).

    Parameters
    ----------
    ports : int
        N, the number of processors and of memory modules.
    hot : float
        From 0 to 1.

    Examples
    --------
    >>> hot_spot_limit(1024, 0.01)
    0.0890...
    """
    ports = check_integer("Ports", ports, 1)
    if not 0 <= hot <= 1:
        raise InvalidValue(f"Fraction of a hot spot must be from 0 to 1, not {hot}")
    return 1 / (1 + hot * (ports - 1))
