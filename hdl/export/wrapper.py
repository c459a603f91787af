"""How an exported module is used: an instantiation template, and a SystemVerilog wrapper."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .verilog_names import bit_range, is_identifier

__all__ = ["Bundle", "bundles", "instantiation", "wrapper_text"]

_INDEXED = re.compile(r"(\w+?)_{1,2}(\d+)_{1,2}([a-zA-Z]\w*)")


@dataclass(frozen=True)
class Bundle:
    """Ports that are numbered alike, such as `i__0__payload` to `i__7__ready`.

    Attributes
    ----------
    name : str
        What stands before the number.
    members : Mapping[str, Mapping[str, Any]]
        By what stands behind it: the port with the number 0.
    ports : Sequence[Mapping[str, str]]
        By number: the port of each member.
    """

    name: str
    members: Mapping[str, Mapping[str, Any]]
    ports: Sequence[Mapping[str, str]]


def bundles(ports: Sequence[Mapping[str, Any]], plain: frozenset[str]) -> list[Bundle]:
    """The bundles among the ports of a module, as `port_list` describes them.

    Parameters
    ----------
    ports : Sequence[Mapping[str, Any]]
    plain : frozenset[str]
        Ports that belong to none: clocks and resets.
    """
    found: dict[str, dict[int, dict[str, Mapping[str, Any]]]] = defaultdict(dict)
    for port in ports:
        match = _INDEXED.fullmatch(port["name"])
        if match is not None and port["name"] not in plain:
            name, number, member = match.groups()
            found[name].setdefault(int(number), {})[member] = port
    own = []
    for name, numbered in found.items():
        rows = [numbered[number] for number in sorted(numbered)]
        forms = [
            {member: (port["direction"], port["width"]) for member, port in row.items()}
            for row in rows
        ]
        if sorted(numbered) == list(range(len(rows))) and all(form == forms[0] for form in forms):
            named = [{member: port["name"] for member, port in row.items()} for row in rows]
            own.append(Bundle(name, rows[0], named))
    return own


def instantiation(
    name: str, ports: Sequence[Mapping[str, Any]], parameters: Mapping[str, int]
) -> str:
    """An instance of a module in Verilog, to be copied; signals have the names of the ports."""
    given = ", ".join(f".{parameter}({value})" for parameter, value in parameters.items())
    column = max(len(port["name"]) for port in ports)
    lines = [
        f"  .{port['name']:<{column}} ({port['name']:<{column}}){comma}  // {_said(port)}"
        for port, comma in zip(ports, [*[","] * (len(ports) - 1), " "])
    ]
    return "\n".join(
        [
            f"// An instance of module {name}, to be copied.",
            f"{name} {f'#({given}) ' if given else ''}{name}_0 (",
            *lines,
            ");",
            "",
        ]
    )


def _said(port: Mapping[str, Any]) -> str:
    return f"{port['direction']} {bit_range(port['width'])}".rstrip()


def wrapper_text(
    name: str,
    ports: Sequence[Mapping[str, Any]],
    plain: frozenset[str],
    parameters: Mapping[str, int],
) -> str:
    """A SystemVerilog module `NAME_sv` around a module, with an array of interfaces in place of
    ports that are numbered alike.

    An interface `NAME_i` has the modports `network`, as the module sees it, and `user`, the other
    way about. The fields of a payload are a packed structure in the package `NAME_types`; or in the
    interface, if the module has parameters, which the interface and the wrapper then have, too.
    """
    return "\n".join(_wrapper(name, ports, bundles(ports, plain), parameters)) + "\n"


def _wrapper(
    name: str,
    ports: Sequence[Mapping[str, Any]],
    own: Sequence[Bundle],
    parameters: Mapping[str, int],
) -> Iterator[str]:
    declared = given = ""
    if parameters:
        values = ", ".join(f"parameter {each} = {value}" for each, value in parameters.items())
        declared = f" #({values})"
        given = f"#({', '.join(f'.{each}({each})' for each in parameters)}) "
    yield f"// SystemVerilog around module {name}: arrays of interfaces. Written by multicube."
    yield "// One file holds all of it, whatever its name."
    yield "/* verilator lint_off DECLFILENAME */"
    yield ""
    types = {
        (bundle.name, member): f"{bundle.name}_{member}_t"
        for bundle in own
        for member, port in bundle.members.items()
        if _tiles(port)
    }
    if types and not parameters:
        yield f"package {name}_types;"
        for bundle in own:
            for member, port in bundle.members.items():
                if (bundle.name, member) in types:
                    yield from _structure(types[bundle.name, member], port)
        yield "endpackage\n"
    for bundle in own:
        yield f"interface {name}_{bundle.name}{declared};"
        for member, port in bundle.members.items():
            type_ = types.get((bundle.name, member))
            if type_ and parameters:
                yield from _structure(type_, port)
            package = "" if parameters else f"{name}_types::"
            shape = f"{package}{type_} " if type_ else f"logic {bit_range(port['width'])}"
            yield f"  {shape}{member};"
        for modport, flip in (("network", False), ("user", True)):
            directions = ", ".join(
                f"{_flipped(port['direction']) if flip else port['direction']} {member}"
                for member, port in bundle.members.items()
            )
            yield f"  modport {modport} ({directions});"
        yield "endinterface\n"
    bundled = {port for bundle in own for row in bundle.ports for port in row.values()}
    single = [port for port in ports if port["name"] not in bundled]
    outer = [
        f"  {port['direction']} logic {bit_range(port['width'])}{port['name']}" for port in single
    ]
    outer += [
        f"  {name}_{bundle.name}.network {bundle.name} [{len(bundle.ports)}]" for bundle in own
    ]
    yield f"module {name}_sv{declared} ("
    yield ",\n".join(outer)
    yield ");"
    joined = [f"    .{port['name']}({port['name']})" for port in single]
    joined += [
        f"    .{port}({bundle.name}[{number}].{member})"
        for bundle in own
        for number, row in enumerate(bundle.ports)
        for member, port in row.items()
    ]
    yield f"  {name} {given}network (\n" + ",\n".join(joined) + "\n  );"
    yield "endmodule\n"
    yield "/* verilator lint_on DECLFILENAME */"


def _flipped(direction: str) -> str:
    return "output" if direction == "input" else "input"


def _outer(port: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The fields of a port that have bits and are in no other field, the highest first."""
    fields = port.get("fields", {}).items()
    outer = ((name, at["offset"], at["width"]) for name, at in fields if "." not in name)
    return sorted((field for field in outer if field[2]), key=lambda field: -field[1])


def _tiles(port: Mapping[str, Any]) -> bool:
    """Whether the fields of a port are all of it, and do not overlap."""
    end = port["width"]
    for name, offset, width in _outer(port):
        if offset + width != end or not is_identifier(name):
            return False
        end = offset
    return end == 0


def _structure(name: str, port: Mapping[str, Any]) -> Iterator[str]:
    yield "  typedef struct packed {"
    for field, _, width in _outer(port):
        yield f"    logic {bit_range(width)}{field};"
    yield f"  }} {name};"
