"""The points of a load sweep that runs: they are in the file from which it could go on."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from ..run.resume import kept_results

__all__ = ["sweep_points"]


def sweep_points(path: Path) -> list[dict[str, Any]]:
    """What has been measured by now, in order of increasing load, with what the formulas predict.

    Parameters
    ----------
    path : Path
        As `multicube sweep --resume` writes it; it need not be there yet.
    """
    try:
        state = path.stat()
    except FileNotFoundError:
        return []
    return _read(path, state.st_mtime_ns, state.st_ino)


@lru_cache(maxsize=64)
def _read(path: Path, _changed: int, _number: int) -> list[dict[str, Any]]:
    found = [
        {
            "load": point["offered_load"],
            "throughput": point["throughput"],
            "latency": point["latency"]["mean"],
            "saturated": point["saturated"],
            "predicted": {
                "latency": point["predicted"]["latency_mean"],
                "throughput": point["predicted"]["throughput"],
            },
        }
        for point in kept_results(path)
    ]
    return sorted(found, key=lambda point: point["load"])
