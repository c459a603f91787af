"""A compiled program: what is in the memories at the beginning, and where its instructions come
from."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from ...hdl.computer.address_map import LOCAL, PROGRAM, SHARED
from ...hdl.fabric.errors import MulticubeError

__all__ = ["ProgramImage", "Variable", "read_image"]


_MESSAGES = "mc_uses_messages"
"""The symbol that code has if it sends or receives messages."""

_BARRIER = "mc_barrier_arrived"
"""The shared global of the runtime."""


@dataclass(frozen=True)
class Variable:
    """A global: its first shared word, and how many there are."""

    first: int
    words: int


@dataclass(frozen=True)
class ProgramImage:
    """A compiled program.

    Attributes
    ----------
    program : list[int]
        Words of code and constants.
    own : list[int]
        Words of each core's own memory, from its beginning; the stack comes first.
    shared : dict[int, int]
        Shared words that are not 0 at the beginning.
    shared_words : int
        Words that globals take.
    variables : dict[str, Variable]
        The globals of whole words, by name.
    functions : list[tuple[int, str]]
        Where each function begins, in order.
    messages : bool
        Whether cores send words to each other.
    lines : list[tuple[int, str, int]]
        The address from which on code comes from a line of a file, in order.
    warnings : str
        What the compiler warned of.
    """

    program: list[int]
    own: list[int]
    shared: dict[int, int]
    shared_words: int
    variables: dict[str, Variable]
    functions: list[tuple[int, str]]
    messages: bool
    lines: list[tuple[int, str, int]]
    warnings: str = ""

    def has(self, address: int) -> bool:
        """Whether there is a word of the program."""
        return PROGRAM <= address < PROGRAM + 4 * len(self.program)

    def place(self, address: int) -> str:
        """What an instruction belongs to: "sort.c:17", a function without lines, or its address."""
        at = bisect_right(self.lines, (address, "\x7f", 0)) - 1
        if at >= 0 and self.lines[at][2]:
            _, file, line = self.lines[at]
            return f"{file}:{line}"
        at = bisect_right(self.functions, (address, "\x7f")) - 1
        if at >= 0 and self.has(address):
            return f"function {self.functions[at][1]}"
        return f"address {address:#010x}"


def read_image(elf: bytes) -> ProgramImage:
    """Read what the linker has made.

    Raises
    ------
    MulticubeError
        If the library that reads it is not installed.
    """
    try:
        from elftools.elf.constants import SH_FLAGS
        from elftools.elf.elffile import ELFFile
    except ImportError:
        message = "pyelftools is not installed: pip install 'multicube[computer]'"
        raise MulticubeError(message) from None
    file: Any = ELFFile(BytesIO(elf))
    memories: dict[int, bytearray] = {PROGRAM: bytearray(), LOCAL: bytearray()}
    shared: dict[int, int] = {}
    shared_bytes = 0
    for section in file.iter_sections():
        begin, size = section["sh_addr"], section["sh_size"]
        if not section["sh_flags"] & SH_FLAGS.SHF_ALLOC or not size:
            continue
        stored = b"" if section["sh_type"] == "SHT_NOBITS" else section.data()
        if begin >= SHARED:
            shared_bytes = max(shared_bytes, begin - SHARED + size)
            words = enumerate(_words(stored), begin - SHARED >> 2)
            shared |= {at: word for at, word in words if word}
            continue
        first = max(each for each in memories if each <= begin)
        memory = memories[first]
        memory.extend(bytes(begin - first - len(memory)))
        memory += stored.ljust(size, b"\0")
    symbols = list(file.get_section_by_name(".symtab").iter_symbols())
    variables, functions = _globals(symbols)
    return ProgramImage(
        program=_words(memories[PROGRAM]),
        own=_words(memories[LOCAL]),
        shared=shared,
        shared_words=-(-shared_bytes // 4),
        variables=variables,
        functions=functions,
        messages=any(symbol.name == _MESSAGES for symbol in symbols),
        lines=sorted(_lines(file)),
    )


def _words(data: bytes | bytearray) -> list[int]:
    padded = bytes(data) + bytes(-len(data) % 4)
    return [int.from_bytes(padded[at : at + 4], "little") for at in range(0, len(padded), 4)]


def _globals(symbols: Iterable[Any]) -> tuple[dict[str, Variable], list[tuple[int, str]]]:
    """The program's shared variables of whole words, and functions."""
    variables: dict[str, Variable] = {}
    functions = []
    for symbol in symbols:
        kind, at, size = symbol["st_info"]["type"], symbol["st_value"], symbol["st_size"]
        if kind == "STT_FUNC":
            functions.append((at, symbol.name))
        elif (
            kind == "STT_OBJECT"
            and at >= SHARED
            and size
            and not (at | size) % 4
            and not symbol.name.startswith(".")
            and symbol.name != _BARRIER
        ):
            variables[symbol.name] = Variable(at - SHARED >> 2, size // 4)
    return variables, sorted(functions)


def _lines(file: Any) -> Iterator[tuple[int, str, int]]:
    """What the table of lines says; line 0 is where a table ends."""
    if not file.has_dwarf_info():
        return
    dwarf = file.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        files = program.header["file_entry"]
        older = program.header["version"] < 5
        for entry in program.get_entries():
            if (state := entry.state) is not None:
                name = Path(files[state.file - older].name.decode(errors="replace")).name
                yield state.address, name, 0 if state.end_sequence else state.line
