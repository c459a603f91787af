"""The use of links, from the results of runs."""

import os
from collections.abc import Mapping

from ...hdl.catalogue.catalogue import build
from ...hdl.fabric.checks import check_kind
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network
from ..run.record import changes
from ..run.recorded_runs import read_records

__all__ = ["check_heat", "read_heat"]


def read_heat(path: str | os.PathLike[str], network: Network) -> dict[str, float]:
    """The use of a network's links that `multicube sim --json` wrote: flits per cycle, by name.

    Raises
    ------
    ValueError
        If the file can't be read, has not one run with the use of links, or is of another network.
    """
    records = read_records(path)
    if len(records) != 1 or not isinstance(heat := records[0].measured.get("links"), dict):
        raise InvalidValue(f"File {path} must have one result of multicube sim --json")
    other = build(records[0].network, **records[0].parameters)
    if str(other) != str(network):
        raise InvalidValue(f"Result in {path} is of {other}, not of {network}")
    if changes(records[0].run, {"network_digest": network.digest}):
        raise InvalidValue(f"Result in {path} is of {network} as it was before its file changed")
    check_heat(heat, network)
    return heat


def check_heat(heat: Mapping[str, float], network: Network) -> None:
    """Check that this is the use of links of a network.

    Raises
    ------
    ValueError
        If not.
    """
    check_kind("Heat", heat, Mapping, "the use of links by their names")
    known = {wire.link for wire in network.wires.values()}
    for link, use in heat.items():
        if link not in known:
            raise InvalidValue(f"Use must be of links of {network}, not of {link!r}")
        if isinstance(use, bool) or not isinstance(use, int | float) or not 0 <= use < float("inf"):
            raise InvalidValue(f"Use of link {link!r} must be a number of at least 0, not {use!r}")
