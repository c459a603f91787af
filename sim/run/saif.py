"""Files in the Switching Activity Interchange Format (SAIF 2.0, IEEE 1801), for power tools."""

import os
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import NamedTuple

from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.input_file import read_content
from ...hdl.support.output_file import whole_file
from ..engines.compiled.activity_meter import Bits

__all__ = ["CYCLE", "Entries", "Recorded", "read_saif", "write_saif"]

CYCLE = 10
"""Nanoseconds that a cycle is said to last. Both edges of the clock are in the file."""

Named = tuple[str, Bits]

Entries = dict[str, dict[str, tuple[int, int]]]
"""By instance, "" for the top module, and net: its changes, and the cycles in which it was 1."""


class Recorded(NamedTuple):
    """The contents of a SAIF file.

    Attributes
    ----------
    network : str
        Digest of the network's fabric; empty if the file does not give it.
    cycles : int
    entries : Entries
    """

    network: str
    cycles: int
    entries: Entries


def write_saif(
    path: str | os.PathLike[str],
    network: str,
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
    network : str
        Digest of the network's fabric.
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
    with whole_file(path) as file, open(file, "w", encoding="utf-8") as stream:
        stream.writelines(_lines(network, cycles, nets, instances, top))


def _lines(
    network: str,
    cycles: int,
    nets: Iterable[Named],
    instances: Iterable[tuple[str, Iterable[Named]]],
    top: str,
) -> Iterator[str]:
    yield '(SAIFILE\n(SAIFVERSION "2.0")\n(DIRECTION "backward")\n'
    yield f'(DESIGN "{top}")\n(VENDOR "multicube")\n(PROGRAM_NAME "multicube")\n'
    yield f'(VERSION "{version("multicube")}, network {network}")\n(DIVIDER / )\n'
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


_HEAD = re.compile(
    r'\(SAIFILE\n(?:\([A-Z_]+ (?:"[^"\n]*"|/ )\)\n)*'
    r"\(TIMESCALE 1 ns\)\n\(DURATION (\d{1,18})\)\n\(INSTANCE \S+\n",
    re.A,
)
_LINE = re.compile(
    r"  \(INSTANCE (\S+)|    \((\S+) \(T0 (\d{1,18})\) \(T1 (\d{1,18})\) "
    r"\(TX 0\) \(TC (\d{1,18})\) \(IG 0\)\)",
    re.A,
)
_BRACKETS = frozenset(("  (NET", "  )", "  ))", "))"))


def read_saif(path: str | os.PathLike[str]) -> Recorded:
    """The contents of a file of `write_saif`.

    Raises
    ------
    ValueError
        If the file can't be read, or has a line of another form or with other times.
    """
    text = read_content("File", path).decode(errors="replace")
    head = _HEAD.match(text)
    cycles = 0 if head is None else int(head[1]) // CYCLE
    wrong = f"{os.fspath(path)} is no SAIF file that multicube has written"
    if head is None or cycles == 0 or not text.endswith("\n))\n"):
        raise InvalidValue(wrong)
    entries: Entries = {"": {}}
    into = entries[""]
    lines = text[head.end() :].splitlines()
    for number, line in enumerate(lines, text.count("\n", 0, head.end()) + 1):
        if line in _BRACKETS:
            continue
        found = _LINE.fullmatch(line)
        if found is None or found[1] in entries:
            raise InvalidValue(f"{wrong}: see line {number}")
        if found[1]:
            into = entries[found[1]] = {}
            continue
        name = found[2].replace("\\", "")
        low, high, changes = map(int, found.groups()[2:])
        if name in into or low + high != CYCLE * cycles or changes > 2 * cycles:
            raise InvalidValue(f"{wrong}: see line {number}")
        into[name] = changes, high // CYCLE
    network = re.search(r', network (\w+)"\)$', head[0], re.M)
    return Recorded(network[1] if network else "", cycles, entries)
