"""A network as a library in C, for other simulators: the compiled engine's program and tables."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from ...hdl.fabric.checks import check_kind, shown
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.pins import Path as Port
from ...hdl.fabric.pins import Pin
from ...hdl.networks.network import Network
from ...hdl.networks.packet_network import PacketNetwork
from ...hdl.support.counted import counted
from ...hdl.support.output_file import check_output, check_output_folder, whole_file
from ...hdl.support.printable import printable
from ..engines.compiled.emit_c import DRIVER, LANES
from ..engines.compiled.program import lowered_types
from ..engines.compiled.tables import Tables
from ..engines.compiled.words import word_count

__all__ = ["CLibrary", "write_c_library"]

_TAKEN = {
    "C's header {}.h": {
        *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits"),
        *("locale", "math", "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool"),
        *("stddef", "stdint", "stdio", "stdlib", "stdnoreturn", "string", "tgmath", "threads"),
        *("time", "uchar", "wchar", "wctype"),
    },
    "CMake's target {}": {
        *("all", "clean", "edit_cache", "help", "install", "package", "preinstall"),
        *("rebuild_cache", "test"),
    },
    "the system's {}": {
        *("atomic", "c", "crypt", "dl", "gcc", "l", "m", "rt", "util", "xnet", "y"),
        *("cnd", "mtx", "sem", "thrd", "timer", "tss"),
        *("aio", "dirent", "dlfcn", "fcntl", "fnmatch", "ftw", "glob", "grp", "iconv", "langinfo"),
        *("libgen", "mqueue", "netdb", "poll", "pthread", "pwd", "regex", "sched", "search"),
        *("semaphore", "spawn", "strings", "syslog", "termios", "unistd", "utime", "wordexp"),
    },
}
"""Names that a library can't have, by what has them: the headers of C11, for one of which its own
would be taken; targets that CMake makes itself, or may; and of the system the libraries that `-l`
finds, prefixes of functions of C11 and POSIX, and headers of POSIX."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")

_QUIET = """\
/* Generated code does not use all that it declares, and means its conversions. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wpsabi"
"""

_DRIVER_NAMES = ("publish", "settle", "run")


def write_c_library(
    network: Network, folder: str | os.PathLike[str], name: str = "mc"
) -> dict[str, Any]:
    """Write a network as a library in C11: sources, header, and files for CMake, pkg-config, DPI-C.

    Either all files are written, or none. They replace those of a library of this name in the
    folder, which is made if there is none. The program is that of the compiled engine, and needs
    GCC or Clang.

    Parameters
    ----------
    network : Network
        It carries packets, with one clock.
    folder : path-like
        The folder.
    name : str
        Name of the library, and prefix of all names in its header: 1 to 63 small letters, digits
        and underscores, the first a letter.

    Returns
    -------
    dict
        A summary: `name`, `files` (their names), `sources`, `sinks`, and the `fields` of a flit
        with their widths.

    Raises
    ------
    ValueError
        If the network can't be such a library, the name can't be such a prefix, or a file can't be
        written.
    UnsupportedConstruct, CombinationalLoop
        If the compiled engine can't simulate a cell of the network, or a signal depends on itself.

    Examples
    --------
    >>> from multicube import build, write_c_library
    >>> summary = write_c_library(build("cube", ports=4), "cube4")
    >>> summary["name"], summary["sources"]
    ('mc', 4)
    """
    check_output_folder(folder)
    target = Path(folder)
    made = not target.exists()
    if not made:
        check_output(target / f"{name}.c")
    library = CLibrary(network, name)
    texts = library.files()
    with ExitStack() as stack:
        if made:
            target.mkdir()
            stack.callback(_remove_empty, target)
        for file, text in texts.items():
            stack.enter_context(whole_file(target / file)).write_text(text, "utf-8")
    for path in target.glob(f"{name}_*.c"):  # those of a library of more kinds of cells
        begins = _renamed({"publish": f"{path.stem}_publish"}).strip().encode()
        if path.name not in texts and path.read_bytes().startswith(begins):
            path.unlink()
    return library.summary | {"files": list(texts)}


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # it has files
        folder.rmdir()


class CLibrary:
    """The texts of such a library.

    Parameters are those of `write_c_library`.
    """

    def __init__(self, network: Network, name: str = "mc") -> None:
        check_kind("Network", network, Network, "a network")
        if not isinstance(network, PacketNetwork):
            raise InvalidValue(f"A C library needs a network of packets, not {network.family!r}")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidValue(
                "Name of a C library must be 1 to 63 small letters, digits and underscores, "
                f"the first a letter, not {shown(name)}"
            )
        for owner, names in _TAKEN.items():
            if name in names:
                raise InvalidValue(f"Name of a C library must not be that of {owner.format(name)}")
        self.network = network
        self.name = name
        self.fabric = network.fabric
        self.fabric.check()
        self.fabric.check_one_clock("A C library")
        modules, plan = lowered_types(self.fabric)
        self.tables = Tables([self.fabric], modules, plan)
        self.tables.fill()
        self.words = word_count(network.packet.size)
        self.lone = network.flits and network.lengths[1] == 1  # each flit is a packet
        # Of each field that has bits: name, lowest bit and width.
        self.fields = [
            (str(key), field.offset, field.width) for key, field in network.packet if field.width
        ]

    @property
    def summary(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "sources": self.network.sources,
            "sinks": self.network.sinks,
            "fields": {field: width for field, _, width in self.fields},
        }

    def files(self) -> dict[str, str]:
        """The text of each file."""
        sources = {f"{self.name}.c": self._own(self._fixed("library.c"))}
        for number, text in enumerate(self.tables.program.sources):
            names = {each: self._function(number, each) for each in self._functions(number)}
            sources[f"{self.name}_{number}.c"] = _renamed(names) + _QUIET + text
        last = int(self.network.packet.size) - 1
        given = {
            "sources": " ".join(sources),
            "version": version("multicube"),
            "about": self._title,
        }
        return {
            f"{self.name}.h": self._header(),
            **sources,
            "CMakeLists.txt": self._template("library.cmake", given),
            f"{self.name}.pc": self._template("library.pc", given),
            f"{self.name}.svh": self._template("library.svh", {**given, "last": last}),
        }

    # Texts with names of this library

    def _fixed(self, file: str) -> str:
        """A file of this folder, whose names get the prefix of this library."""
        text = files(__package__).joinpath(file).read_text("utf-8")
        renamed = re.sub(r"\bMC_", f"{self.name.upper()}_", re.sub(r"\bmc_", f"{self.name}_", text))
        return re.sub(r"\bMC_H\b", f"{self.name.upper()}_H", renamed)

    def _template(self, file: str, given: Mapping[str, object]) -> str:
        return Template(self._fixed(file)).substitute(given, name=self.name)

    @property
    def _title(self) -> str:
        """The network in a line, as all files can have it: names of files have any characters."""
        line = " ".join(str(self.network).split())
        return re.sub(r"[*$#\\\"]", "_", printable(line))

    def _header(self) -> str:
        network = self.network
        members = [
            f"  uint64_t {name}{f'[{-(-width // 64)}]' if width > 64 else ''};"
            f" /* {counted(width, 'bit')}{self._meaning(name)} */\n"
            for name, _, width in self.fields
        ]
        given = {
            "title": self._title,
            "version": version("multicube"),
            "packets": self._about_packets(),
            "sources": network.sources,
            "sinks": network.sinks,
            "longest": network.lengths[1] if network.flits else 1,
            "bits": network.packet.size,
            "words": self.words,
            "about": " The tag of other flits than the first is data." * self._several,
            "members": "".join(members),
            "tags": self._about_tags(),
        }
        return self._template("library.h", given)

    @property
    def _several(self) -> bool:
        """Whether packets can have several flits."""
        return self.network.flits and not self.lone

    def _meaning(self, field: str) -> str:
        if field == "last" and self.lone:
            return ": taken as 1, since a packet is a flit"
        return _MEANINGS.get(field, "")

    def _about_packets(self) -> str:
        network = self.network
        text = "A packet is a flit."
        if self._several:
            low, high = network.lengths
            length = f"{high}" if low == high else f"from {low} to {high}"
            text = f"A packet is {length} flit{'s' if high > 1 else ''}, one after the other."
        if network.drops and not network.resubmits:
            text += " Packets may be dropped on their way."
        if not network.ordered:
            text += "\n   Packets from a source to a sink can overtake each other."
        return text

    def _about_tags(self) -> str:
        network = self.network
        if network.tags.routing != "destination":
            return "\n   Here it depends on both, and is no address."
        tags = self._tags()[1]
        if tags == list(range(network.sinks)):
            return "\n   Here it is the number of the sink."
        return "\n   Here it depends on the sink, but is not always its number."

    # The tables

    def _own(self, program: str) -> str:
        """The source around the driver."""
        driver = {each: f"{self.name}_all_{each}" for each in _DRIVER_NAMES}
        tables = "\n".join(self._declarations())
        return f'#include "{self.name}.h"\n\n' + "\n".join(
            [_renamed(driver) + DRIVER, tables, program]
        )

    def _functions(self, number: int) -> list[str]:
        return [
            "publish",
            "update",
            *(f"late_{n}" for n in range(self.tables.program.late[number])),
        ]

    def _function(self, number: int, name: str) -> str:
        """The name, among all, of a function of a type."""
        return f"{self.name}_{number}_{name}"

    def _declarations(self) -> Iterator[str]:
        """The C that declares all tables."""
        groups, program = self.tables.groups, self.tables.program
        types, places, memories = [], [], []
        contents: list[str] = []
        at = _aligned(8 + 4 * self.network.sinks * self.words)

        def placed(array: np.ndarray) -> int:
            """The place of an array in the block of what changes."""
            nonlocal at
            place, at = at, _aligned(at + array.nbytes)
            contents.extend(_contents(place, array))
            return place

        for number, group in enumerate(groups):
            for name in ("index", "straps", "live"):
                kind = "int32_t" if name == "index" else "uint32_t"
                items = getattr(group, name).ravel().tolist()
                yield _array(f"static const {kind} {name}_{number}[]", items)
            for name in self._functions(number):
                more = "" if name == "publish" else ", long, long"
                yield f"void {self._function(number, name)}(Context *, const Type *{more});"
            places.append(f"{{{placed(group.state)}, {len(group.module.memories)}}}")
            for memory in range(len(group.module.memories)):
                rows = group.memories.get(memory)
                memories.append(0 if rows is None else placed(rows))
            types.append(
                f"{{{self._function(number, 'publish')}, {self._function(number, 'update')}, "
                f"{group.cells}, 0, index_{number}, straps_{number}, 0, live_{number}, "
                f"{group.first_wire}, 0, 0, 0, 0, 0, 0, 0}}"  # it is not sliced
            )
        tasks = [
            f"{{{self._function(task.type, f'late_{task.function}')}, types + {task.type}, "
            f"{task.begin}, {task.end}, 0, 0}}"
            for task in program.tasks
        ]
        source_tags, sink_tags = self._tags()
        fields = [
            f"{{offsetof({self.name}_flit, {name}) + {8 * (bit // 64)}, "
            f"{low + bit}, {min(64, width - bit)}}}"
            for name, low, width in self.fields
            for bit in range(0, width, 64)
        ]
        yield _array("static const Type types[]", types)
        yield _array("static const Task tasks[]", tasks)
        yield _array("static const struct { size_t state; int memories; } places[]", places)
        yield _array("static const size_t memory_places[]", memories)
        yield "typedef struct { size_t at; uint32_t bytes, count, value; } Contents;"
        yield _array("static const Contents contents[]", contents)
        wires = f"struct {{ int32_t valid, ready, payload[{self.words}]; }}"
        yield _array(f"static const {wires} sources[]", self._streams("i", self.network.sources))
        yield _array(f"static const {wires} sinks[]", self._streams("o", self.network.sinks))
        yield _array("static const struct { size_t member; unsigned at, width; } fields[]", fields)
        yield _array("static const uint64_t source_tags[]", source_tags)
        yield _array("static const uint64_t sink_tags[]", sink_tags)
        always = self.network.packet.const({"last": 1} if self.lone else {}).as_bits()
        given = [f"0x{always >> 32 * word & 0xFFFFFFFF:x}" for word in range(self.words)]
        yield _array("static const uint32_t always[]", given)
        yield self._combined()
        yield (
            f"enum {{ TYPES = {len(types)}, TASKS = {len(tasks) or 1}, TASK_COUNT = {len(tasks)}, "
            f"MEMORIES = {len(memories) or 1}, FIELDS = {len(fields)} }};\n"
            f"#define WIRES {self.tables.wire_count}\n#define REST_BYTES ((size_t){at})\n"
            f"#define IDENTITY UINT64_C(0x{self.tables.identity()[:16]})\n"
        )

    def _streams(self, side: str, count: int) -> list[str]:
        """The wires of the streams of all sources, or of all sinks."""
        streams = []
        for number in range(count):
            valid, ready = (self._wire((side, number, each)) for each in ("valid", "ready"))
            payload = [self._wire((side, number, "payload"), word) for word in range(self.words)]
            streams.append(f"{{{valid}, {ready}, {{{', '.join(map(str, payload))}}}}}")
        return streams

    def _wire(self, port: Port, word: int = 0) -> int:
        pin = Pin(None, port)
        return self.tables.wire(0, self.fabric.drivers.get(pin, pin), word)

    # Tags

    def _tags(self) -> tuple[list[int], list[int]]:
        """What each source and each sink contributes to a tag."""
        tags = self.network.tags
        return (
            [tags.tag(source, 0) for source in range(self.network.sources)],
            [tags.tag(0, sink) for sink in range(self.network.sinks)],
        )

    def _combined(self) -> str:
        """The C function that makes a tag of these two."""
        tags = self.network.tags
        head = "static uint64_t combined(uint64_t source, uint64_t sink) {\n"
        if tags.routing == "destination":
            return f"{head}  (void)source;\n  return sink;\n}}\n"
        if tags.routing == "xor":
            return f"{head}  return source ^ sink;\n}}\n"
        code = tags.tag_code
        digits = [
            f"((source >> {place} & {ones}u) + (sink >> {place} & {ones}u)) % {radix}u << {place}"
            for place, width, radix in zip(code.places, code.widths, code.radices)
            for ones in [(1 << width) - 1]
        ]
        return (
            f"{head}  return {f' |{chr(10)}         '.join(f'({each})' for each in digits)};\n}}\n"
        )


_MEANINGS = {
    "tag": ": of the first flit, it leads to the sink",
    "mask": ": 1 for both values of this bit of the tag",
    "kind": ": 0 if it is for one sink, and not for a group",
    "last": ": 1 in the last flit of a packet",
    "length": ": so many cycles the packet holds a link",
}


def _renamed(names: Mapping[str, str]) -> str:
    """Names that all libraries' functions share, as names of one."""
    return "".join(f"#define {name} {own}\n" for name, own in names.items()) + "\n"


def _aligned(place: int) -> int:
    return -(-place // (4 * LANES)) * 4 * LANES


def _contents(place: int, array: np.ndarray) -> list[str]:
    """What an array holds that is not 0: place and bytes of an element, how many, and the value."""
    flat = array.ravel()
    starts = np.flatnonzero(np.diff(flat, prepend=flat[:1] ^ 1))
    counts = np.diff(starts, append=len(flat))
    size = flat.itemsize
    return [
        f"{{{place + start * size}, {size}, {count}, {value}u}}"
        for start, count, value in zip(starts.tolist(), counts.tolist(), flat[starts].tolist())
        if value
    ]


def _array(declaration: str, items: Sequence[object]) -> str:
    """An array in C, which has an element at least."""
    items = items or [0]
    rows = [", ".join(map(str, items[at : at + 16])) for at in range(0, len(items), 16)]
    return f"{declaration} = {{\n" + ",\n".join(rows) + "\n};"
