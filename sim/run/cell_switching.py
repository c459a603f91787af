"""What switched in a cell of a network, read from the SAIF file of a run."""

import os
from collections.abc import Iterator, Sequence

from amaranth.lib.wiring import In

from ...hdl.export.cell_modules import storage_of
from ...hdl.export.top_ports import Clock
from ...hdl.export.verilog_module import Storage
from ...hdl.export.verilog_names import net_name, port_name
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Fabric
from ...hdl.fabric.pins import Pin
from ..synthesis import Switching
from .saif import Entries, read_saif

__all__ = ["cell_switching", "network_switching"]


def network_switching(fabric: Fabric, path: str | os.PathLike[str]) -> dict[str, Switching]:
    """What switched at the inputs and in the registers of a whole network.

    Parameters
    ----------
    fabric : Fabric
        The network's.
    path : path-like
        A file that a run of this network has written (`multicube sim --activity`).

    Returns
    -------
    dict[str, Switching]
        By the name of a bit in the network's Verilog: `box_0_1.queue_0__free[1]`.

    Raises
    ------
    ValueError
        If the file can't be read, or is that of another network.
    """
    cycles, entries = _entries(fabric, path)
    return {
        f"{instance}.{bit}" if instance else bit: Switching(changes / cycles, high / cycles)
        for instance, bits in entries.items()
        for bit, (changes, high) in bits.items()
    }


def cell_switching(
    fabric: Fabric, cells: Sequence[str], path: str | os.PathLike[str], instance: str
) -> dict[str, Switching]:
    """What switched at the inputs and in the registers of cells of one type, on average.

    Parameters
    ----------
    fabric : Fabric
        The network's.
    cells : Sequence[str]
        Names of some of its cells.
    path : path-like
        As `network_switching`.
    instance : str
        Name of the one cell in the design that is measured.

    Returns
    -------
    dict[str, Switching]
        By the name of a bit there: `i__0__payload[3]`, `alone.queue_0__free[1]`.

    Raises
    ------
    ValueError
        If the file can't be read, or is that of another network.
    """
    cycles, entries = _entries(fabric, path)
    totals: dict[str, list[int]] = {}
    for cell in cells:
        for bit, (changes, high) in _of(fabric, cell, entries, instance):
            total = totals.setdefault(bit, [0, 0])
            total[0] += changes
            total[1] += high
    each = cycles * len(cells)
    return {bit: Switching(changes / each, high / each) for bit, (changes, high) in totals.items()}


def _entries(fabric: Fabric, path: str | os.PathLike[str]) -> tuple[int, Entries]:
    """What a file contains, after a check that it is of this network, with its nets and registers.

    Registers may be missing, but no bit of one, and no row of a memory.
    """
    network, cycles, entries = read_saif(path)
    leaves = {net_name(pin): fabric.resolve(pin)[()][0] for pin in fabric.drivers.values()}
    leaves |= {port_name(port): leaf for port, leaf in fabric.boundary.items()}
    nets = [Storage(name, leaf.width, None) for name, leaf in leaves.items()]
    nets += [Storage(name, 1, None) for name in Clock().ports]
    own = {"": nets, **{name: storage_of(cell.type) for name, cell in fabric.cells.items()}}
    if entries.keys() != own.keys():
        raise InvalidValue(f"{os.fspath(path)} is of another network, with other cells")
    for instance, bits in entries.items():
        left = set(bits)
        for names in map(set, map(_bits, own[instance])):
            if names <= left:
                left -= names
        if left:
            name = min(left).partition("[")[0]
            raise InvalidValue(f"{os.fspath(path)} is of another network: {name} has other bits")
    if network not in ("", fabric.digest):
        raise InvalidValue(f"{os.fspath(path)} is of another network, with other wires or straps")
    return cycles, entries


def _bits(stored: Storage) -> Iterator[str]:
    """The names of the bits of a register, or of a memory."""
    for row in [""] if stored.rows is None else [f"[{row}]" for row in range(stored.rows)]:
        for bit in range(stored.width):
            yield f"{stored.name}{row}" + (f"[{bit}]" if stored.width > 1 else "")


def _of(
    fabric: Fabric, cell: str, entries: Entries, instance: str
) -> Iterator[tuple[str, tuple[int, int]]]:
    for bit, counted in entries[cell].items():
        yield f"{instance}.{bit}", counted
    for path, leaf in fabric.cells[cell].type.leaves.items():
        driver = fabric.drivers.get(Pin(cell, path))
        if leaf.flow != In or driver is None:
            continue
        net, port = net_name(driver), port_name(path)
        for number in range(leaf.width):
            end = f"[{number}]" if leaf.width > 1 else ""
            if net + end in entries[""]:
                yield port + end, entries[""][net + end]
