"""Files in the Switching Activity Interchange Format (SAIF 2.0, IEEE 1801), for power tools."""

import os
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version

from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.input_file import read_input
from ...hdl.support.output_file import whole_file
from ..engines.compiled.activity_meter import Bits

__all__ = ["CYCLE", "Entries", "read_saif", "write_saif"]

CYCLE = 10
"""Nanoseconds that a cycle is said to last. Both edges of the clock are in the file."""

Named = tuple[str, Bits]

Entries = dict[str, dict[str, tuple[int, int]]]
"""By instance, "" for the top module, and net: its changes, and the cycles in which it was 1."""


def write_saif(
    path: str | os.PathLike[str],
    cycles: int,
    nets: Iterable[Named],
    instances: Iterable[tuple[str, Iterable[Named]]],
    *,
    top: str = "network",
) -> None:
    """Write how long each net was 0 and 1, and how often it changed ("backward" SAIF).

    Equal activity gives equal files: there is no date in them.

    Parameters
    ----------
    path : path-like
    cycles : int
    nets : Iterable
        Name and bits of each net of the top module, but for the clock and the reset.
    instances : Iterable
        Name of each instance in the top module, with its registers: of a memory, each row is named
        with its number.
    top : str
        Name of the top module.

    Raises
    ------
    OSError, ValueError
        If the file can't be written.
    """
    with whole_file(path) as file, open(file, "w") as stream:
        stream.writelines(_lines(cycles, nets, instances, top))


def _lines(
    cycles: int, nets: Iterable[Named], instances: Iterable[tuple[str, Iterable[Named]]], top: str
) -> Iterator[str]:
    yield '(SAIFILE\n(SAIFVERSION "2.0")\n(DIRECTION "backward")\n'
    yield f'(DESIGN "{top}")\n(VENDOR "multicube")\n(PROGRAM_NAME "multicube")\n'
    yield f'(VERSION "{version("multicube")}")\n(DIVIDER / )\n'
    yield f"(TIMESCALE 1 ns)\n(DURATION {CYCLE * cycles})\n(INSTANCE {top}\n  (NET\n"
    half = CYCLE * cycles // 2
    yield _entry("clk", half, half, 2 * cycles)
    yield _entry("rst", 2 * half, 0, 0)
    for name, bits in nets:
        yield from _net(cycles, name, bits)
    yield "  )\n"
    for instance, registers in instances:
        yield f"  (INSTANCE {instance}\n  (NET\n"
        for name, bits in registers:
            yield from _net(cycles, name, bits)
        yield "  ))\n"
    yield "))\n"


def _net(cycles: int, name: str, bits: Bits) -> Iterator[str]:
    whole = len(bits.toggles) == 1
    for bit, (toggles, high) in enumerate(zip(bits.toggles.tolist(), bits.high.tolist())):
        full = name if whole else f"{name}[{bit}]"
        escaped = full.replace("[", "\\[").replace("]", "\\]")
        yield _entry(escaped, CYCLE * (cycles - high), CYCLE * high, toggles)


def _entry(name: str, low: int, high: int, toggles: int) -> str:
    return f"    ({name} (T0 {low}) (T1 {high}) (TX 0) (TC {toggles}) (IG 0))\n"


def read_saif(path: str | os.PathLike[str]) -> tuple[int, Entries]:
    """The number of cycles that a file of `write_saif` tells of, and what was counted in them.

    Raises
    ------
    OSError, ValueError
        If the file can't be read, or is of another form.
    """
    text = read_input(path).decode(errors="replace")
    entries: Entries = {"": {}}
    duration = re.search(r"^\(TIMESCALE 1 ns\)\n\(DURATION (\d+)\)$", text, re.M)
    if duration is None or not text.startswith("(SAIFILE") or not text.endswith("))\n"):
        raise InvalidValue(f"{os.fspath(path)} is no SAIF file that multicube has written")
    into = entries[""]
    for instance, name, high, changes in re.findall(
        r"^  \(INSTANCE (\S+)$|^    \((\S+) \(T0 \d+\) \(T1 (\d+)\) \(TX 0\) \(TC (\d+)\)",
        text,
        re.M,
    ):
        if instance:
            into = entries.setdefault(instance, {})
        else:
            into[name.replace("\\", "")] = int(changes), int(high) // CYCLE
    return int(duration[1]) // CYCLE, entries
