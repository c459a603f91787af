"""The structures that C programs declare, for ctypes."""

import ctypes
import re
from typing import Any

__all__ = ["c_fields"]

_NUMBERS: dict[str, Any] = {
    "long": ctypes.c_long,
    "unsigned long": ctypes.c_ulong,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
}


def c_fields(name: str, program: str) -> list[tuple[str, Any]]:
    """The fields of a structure that a program declares, in order; pointers are addresses.

    Examples
    --------
    >>> [name for name, _ in c_fields("Pair", "typedef struct { long *first, second; } Pair;")]
    ['first', 'second']
    """
    (found,) = re.findall(rf"struct {name} {{([^}}]*)}};|struct {{([^}}]*)}} {name};", program)
    text = re.sub(r"/\*.*?\*/|\bconst\b", "", "".join(found), flags=re.DOTALL)
    text = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"*\1", text)  # pointers to functions
    fields: list[tuple[str, Any]] = []
    for declaration in text.split(";")[:-1]:
        kind, pointer, names = re.findall(r"([\w ]*\w) *(\*| )(.*)", declaration)[0]
        for each in f"{pointer}{names}".split(","):
            type_ = ctypes.c_void_p if "*" in each else _NUMBERS[kind.strip()]
            ((field, count),) = re.findall(r"(\w+)(?:\[(\d+)\])?", each)
            fields.append((field, type_ * int(count) if count else type_))
    return fields
