"""Digests of values: those of equal values are equal, in every process; others never are."""

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from dis import get_instructions
from enum import Enum
from functools import cached_property, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

__all__ = ["Digest", "digest"]

_LIBRARY = __name__.partition(".")[0]
_KNOWN = {_LIBRARY, "amaranth", "numpy", "builtins", *sys.stdlib_module_names}
"""Packages whose code is the same wherever their version is."""

_PLAIN = {bool, int, float, str, type(None)}
"""Types whose `repr` says all."""

_OF_MODULES = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
"""Instructions that read what a module names. Names of attributes are none of its names, and a
function that comes to another process takes no more of its module along than it reads."""

_LENGTH = 32
"""Hexadecimal digits of a digest."""


class Digest:
    """The digest of a sequence of values.

    A value may be a number, a text, bytes, None, an array of NumPy, a class or a function, a
    sequence, set or mapping of values, and any object whose attributes are values.

    Attributes
    ----------
    foreign : bool
        Whether the digest does not say all: it met a class or a function that is neither of this
        library nor of a package that it stands on, whose name does not say what it does, since its
        user may change it; or an object without attributes. The code of such a function, and of
        the methods of such a class, is part of the digest, and so are the numbers, texts, functions
        and classes of its module that it names, but nothing else that it reads.
    """

    def __init__(self, *values: Any) -> None:
        self._hash = hashlib.sha256()
        self._within: list[int] = []
        self._seen: set[type | FunctionType] = set()
        self.foreign = False
        self.add(*values)

    def add(self, *values: Any) -> None:
        """Continue with these values."""
        for value in values:
            self._add(value)

    def __str__(self) -> str:
        return self._hash.hexdigest()[:_LENGTH]

    def _write(self, kind: str, content: bytes = b"") -> None:
        self._hash.update(b"%s %d " % (kind.encode(), len(content)))
        self._hash.update(content)

    def _add(self, value: Any) -> None:
        match value:
            case None | bool() | int() | float() | complex() if not isinstance(value, Enum):
                self._write(type(value).__name__, repr(value).encode())
            case str() if not isinstance(value, Enum):
                self._write("str", value.encode(errors="surrogatepass"))
            case bytes() | bytearray():
                self._write("bytes", bytes(value))
            case np.ndarray() if value.dtype != object:
                self._write("array", f"{value.dtype.str} {value.shape}".encode())
                self._write("data", np.ascontiguousarray(value).tobytes())
            case np.generic():
                self._add(value.item())
            case range():
                self._write("range", repr(value).encode())
            case type():
                self._class(value)
            case FunctionType():
                self._function(value)
            case BuiltinFunctionType():
                self._name(value)
            case MethodType():
                self._group("method", [value.__func__, value.__self__])
            case partial():
                self._group("partial", [value.func, value.args, value.keywords])
            case Mapping() if not is_dataclass(value):
                self._group("mapping", sorted(value.items(), key=lambda item: repr(item[0])))
            case Set():
                self._group("set", sorted(digest(each) for each in value))
            case Sequence() | np.ndarray() if not is_dataclass(value):
                self._sequence(value)
            case _:
                self._object(value)

    def _group(self, kind: str, values: Sequence[Any]) -> None:
        self._write(f"{kind} of {len(values)}")
        self.add(*values)

    def _sequence(self, values: Sequence[Any] | np.ndarray) -> None:
        kinds = set(map(type, values))
        if kinds and kinds <= _PLAIN:  # the longest ones, of one text
            self._write("plain", repr(tuple(values)).encode())
            return
        (kind,) = kinds if len(kinds) == 1 else (None,)
        if is_dataclass(kind) and len(values) > 1:  # by field, which are such sequences often
            self._group("records", [kind, len(values)])
            for each in fields(kind):
                self._add([getattr(value, each.name) for value in values])
            return
        self._group("sequence", list(values))

    def _name(self, value: Any) -> None:
        module = getattr(value, "__module__", None) or "builtins"
        self.foreign |= not _is_known(value)
        self._write("name", f"{_place(module)}.{value.__qualname__}".encode())

    def _class(self, kind: type) -> None:
        self._name(kind)
        if not _is_known(kind) and kind not in self._seen:
            self._seen.add(kind)
            for base in kind.__bases__:
                self._class(base)
            self._group("class", list(_members(kind)))

    def _function(self, function: FunctionType) -> None:
        self._name(function)
        foreign = function.__module__ is None or not _is_known(function)
        if foreign and function not in self._seen:
            self._seen.add(function)
            self._code(function.__code__, function)
            kept = [cell.cell_contents for cell in function.__closure__ or ()]
            self._group("kept", [function.__defaults__, function.__kwdefaults__, kept])

    def _code(self, code: CodeType, function: FunctionType) -> None:
        self._group("code", [code.co_code, code.co_names])
        self._group("named", [each for each in _named(code, function) if _is_plain(each)])
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant, function)
            else:
                self._add(constant)

    def _object(self, value: Any) -> None:
        if id(value) in self._within:
            self._write("within", str(self._within.index(id(value))).encode())
            return
        self._name(type(value))
        self._within.append(id(value))
        parts = list(_attributes(value))
        if parts:
            self._group("object", parts)
        elif "__repr__" not in _defined(type(value)):
            self.foreign = True
        else:
            self._write("text", repr(value).encode(errors="surrogatepass"))
        self._within.pop()


def _is_known(value: Any) -> bool:
    """Whether a class or a function is what its name says, wherever their version is."""
    return (getattr(value, "__module__", None) or "builtins").partition(".")[0] in _KNOWN


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """The methods and plain values that a class defines by name, and the classes of others."""
    for name, member in sorted(vars(kind).items()):
        match member:
            case staticmethod() | classmethod():
                member = member.__func__
            case property():
                member = member.fget
            case cached_property():
                member = member.func
        if isinstance(member, FunctionType) or not name.startswith("__"):
            yield name, member if _is_plain(member) else type(member)


def _named(code: CodeType, function: FunctionType) -> Iterator[Any]:
    """What code in a function names of its module, without what that has from others."""
    used = [each.argval for each in get_instructions(code) if each.opname in _OF_MODULES]
    for name in dict.fromkeys(used):
        found = function.__globals__.get(name)
        if getattr(found, "__module__", function.__module__) == function.__module__:
            yield found


def _is_plain(member: Any) -> bool:
    """Whether all of a member of a class or a module counts."""
    return type(member) in _PLAIN or isinstance(member, FunctionType | type)


def _place(module: str) -> str:
    """A module's name; in the library its package and file, which may move to another folder.

    No two files of the library have the same name, but for the figures of papers.
    """
    library, _, file = module.rpartition(".")
    within = library.split(".")
    return f"{_LIBRARY}.{file}" if within[0] == _LIBRARY and "papers" not in within else module


def _defined(kind: type) -> set[str]:
    """What a class and its bases define, but for what all objects have."""
    return {name for each in kind.__mro__[:-1] for name in vars(each)}


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object by name, without those that are computed from the others.

    Python's hashes are among these, which Amaranth keeps in an attribute; they differ by process.
    Where a value of Amaranth was written is not part of it; it differs by folder.
    """
    if isinstance(value, Enum):
        yield "name", value.name
    elif is_dataclass(value):
        for each in fields(value):
            yield each.name, getattr(value, each.name)
    else:
        for name, each in sorted(getattr(value, "__dict__", {}).items()):
            computed = isinstance(getattr(type(value), name, None), cached_property)
            if not computed and not name.endswith(("_hash", "src_loc")):
                yield name, each


def digest(*values: Any) -> str:
    """The digest of some values, as 32 hexadecimal digits."""
    return str(Digest(*values))
