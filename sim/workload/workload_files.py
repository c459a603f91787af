"""Workloads in files, whose contents say which format they have."""

import os

from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.input_file import as_text, read_content
from .chakra import chakra_prefix, read_chakra
from .netrace import NETRACE_STARTS, parse_netrace
from .packets import Scale
from .workload import Workload, parse_workload

__all__ = ["read_any_workload"]


def read_any_workload(
    path: str | os.PathLike[str],
    *,
    longest: int = 1,
    flit_bytes: int | None = None,
    cycle_ns: float | None = None,
    until: int | None = None,
) -> Workload:
    """Read a workload: CSV (`read_workload`), or a trace of Netrace or Chakra.

    Parameters
    ----------
    path : path-like
        For Chakra the prefix of the files of all ranks, or one of them.
    longest : int
        Most flits of a packet: a longer message of a trace goes in several.
    flit_bytes : int, optional
        For traces: bytes of a flit, 16 if not given.
    cycle_ns : float, optional
        For Chakra: nanoseconds of a cycle, 1 if not given.
    until : int, optional
        For Netrace: only packets before this cycle of the trace are sent.

    Raises
    ------
    TypeError, ValueError
        If the file can't be read, or a number is not for such a file.
    """
    given = {"flit_bytes": flit_bytes, "cycle_ns": cycle_ns, "until": until}
    given = {name: value for name, value in given.items() if value is not None}
    prefix = chakra_prefix(path)
    content = b"" if prefix is not None else read_content("Workload", path)
    kind = "CSV"
    if prefix is not None:
        kind = "Chakra"
    elif content.startswith(NETRACE_STARTS):
        kind = "Netrace"
    for name in given:
        if name not in _TAKES[kind]:
            raise InvalidValue(f"A workload of {kind} takes no {name}: {_WHY[name]}")
    given.pop("until", None)
    scale = Scale(longest=longest, **given)  # type: ignore[arg-type]
    if prefix is not None:
        return read_chakra(prefix, scale)
    if kind == "Netrace":
        return parse_netrace(os.fspath(path), content, scale, until=until)
    return parse_workload(os.fspath(path), as_text("Workload", path, content))


_TAKES = {"CSV": (), "Netrace": ("flit_bytes", "until"), "Chakra": ("flit_bytes", "cycle_ns")}
_WHY = {
    "flit_bytes": "its lengths are flits",
    "cycle_ns": "its times are cycles",
    "until": "only packets of Netrace have a cycle",
}
