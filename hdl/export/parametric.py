"""The width of payloads as a parameter of exported Verilog.

A network is exported with payloads of three widths. If the texts of a module differ in numbers
alone, and each number grows with the width, the module has expressions in their place: the payload
only widens its wires, registers and memories. Whatever else a payload does in a network, such as
its parity, shows in the texts, and is refused.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from ..fabric.errors import InvalidValue

__all__ = ["PARAMETER", "of_any_width", "with_parameter"]

PARAMETER = "PAYLOAD"
"""The name of the parameter."""

_WIDER = (9, 1)
"""By how much payloads are wider than the first; once by over a byte, where most is refused."""

_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\d+'[hbd]\w+|\w+|\s+|.", re.DOTALL)
_REPEATED = re.compile(r"(\d+)'[hbd](?:0+|x)")
_MODULE = re.compile(r"(^module \w+ \($.*?^endmodule$)", re.DOTALL | re.MULTILINE)
_SIZE = re.compile(r"(?<=\d)x\d+$")
_NAME = re.compile(r"module (\w+)")
_INSTANCE = re.compile(r"^  (\w+) (?=\w+ \($)", re.MULTILINE)
_RANGE = re.compile(rf"\[{PARAMETER}([+-]\d+|):0\]")


def with_parameter(width: int, first: str, export: Callable[[int], str]) -> str:
    """The Verilog of a network whose payloads have any width.

    Parameters
    ----------
    width : int
        The default of the parameter.
    first : str
        The network's Verilog with payloads of this width.
    export : Callable[[int], str]
        Makes the Verilog with payloads of another width.

    Raises
    ------
    ValueError
        If the texts differ by more than numbers that grow with the width.
    """
    widths = _widths(width)
    # Comments between modules are those of the first text.
    found = [_tokens(first if widths[0] == width else export(widths[0]))]
    for count, wider in enumerate(widths[1:], 2):
        found.append(_tokens(export(wider)))
        if len({len(modules) for modules in found}) > 1:
            raise InvalidValue(_REFUSAL)
        texts = [_merged(widths[:count], module) for module in zip(*found)]
    modules = {_name(text): text for text in texts}
    wide, written = _wide(modules), iter(texts)
    text = re.sub(
        r"^// Made for .*$",
        rf"\g<0>\n// Parameter {PARAMETER} is the width of payloads; widths below are for {width}.",
        first,
        count=1,
        flags=re.MULTILINE,
    )
    return _MODULE.sub(lambda _: _declared(width, next(written), wide), text)


_REFUSAL = (
    f"Payload can't be the parameter {PARAMETER}: it does more in this network than widen wires, "
    "registers and memories"
)


def of_any_width(width: int, text: Callable[[int], str]) -> str:
    """A text with expressions of the parameter in place of the numbers that grow with it.

    Parameters
    ----------
    width : int
        The default of the parameter.
    text : Callable[[int], str]
        Makes the text for payloads of a width.

    Raises
    ------
    ValueError
        As `with_parameter`.

    Examples
    --------
    >>> of_any_width(16, lambda width: f"logic [{width + 2}:0] payload;")
    'logic [PAYLOAD+2:0] payload;'
    """
    widths = _widths(width)
    return _merged(widths, [_TOKEN.findall(text(each)) for each in widths])


def _widths(width: int) -> list[int]:
    """The widths whose texts are compared, the default first if it can be."""
    # A single bit has no range, and could not be told from other bits.
    least = max(width, 2)
    return [least, *(least + more for more in _WIDER)]


def _name(module: str) -> str:
    found = _NAME.match(module)
    assert found is not None, module
    return found[1]


def _tokens(text: str) -> list[list[str]]:
    """Those of each module."""
    return [_TOKEN.findall(module) for module in _MODULE.split(text)[1::2]]


def _merged(widths: Sequence[int], tokens: Sequence[Sequence[str]]) -> str:
    """A module with expressions, from its tokens for each width of the payload."""
    if len({len(each) for each in tokens}) > 1:
        raise InvalidValue(_REFUSAL)
    parts = [_expression(widths, place) for place in zip(*tokens)]
    if None in parts:
        raise InvalidValue(_REFUSAL)
    return "".join(map(str, parts))


def _expression(widths: Sequence[int], tokens: Sequence[str]) -> str | None:
    """What stands for the tokens in one place of texts for payloads of some widths."""
    first = tokens[0]
    if len(set(tokens)) == 1 or first.startswith(("//", "/*")):
        return first
    words = [_REPEATED.fullmatch(token) for token in tokens]
    if all(words) and len({token[-1] for token in tokens}) == 1:
        count = _sum(widths, [int(word[1]) for word in words if word])
        return count and f"{{{count}{{1'b{first[-1]}}}}}"
    numbers = [token.removeprefix("32'd") for token in tokens]
    if all(number.isdecimal() for number in numbers):
        return _sum(widths, [int(number) for number in numbers])
    # A module that is named after a width keeps the name that it has in the first text.
    return first if len({_SIZE.sub("x#", token) for token in tokens}) == 1 else None


def _sum(widths: Sequence[int], values: Sequence[int]) -> str | None:
    """Numbers as a multiple of the width and a rest."""
    times, left = divmod(values[1] - values[0], widths[1] - widths[0])
    rest = values[0] - times * widths[0]
    if times < 1 or left or [times * width + rest for width in widths] != list(values):
        return None
    return (f"{times}*" if times > 1 else "") + PARAMETER + (f"{rest:+d}" if rest else "")


def _wide(modules: Mapping[str, str]) -> set[str]:
    """The modules with the parameter: for themselves, or for those of which they have instances."""
    wide = {name for name, text in modules.items() if PARAMETER in text}
    while more := {
        name
        for name, text in modules.items()
        if name not in wide and not wide.isdisjoint(_INSTANCE.findall(text))
    }:
        wide |= more
    return wide


def _declared(width: int, text: str, wide: set[str]) -> str:
    """A module that declares the parameter, passes it on, and has names for its widths."""
    if _name(text) not in wide:
        return text
    head, _, rest = text.partition(" (\n")
    ports, end, body = rest.partition(");\n")
    given = f"#(.{PARAMETER}({PARAMETER}))"
    body = _INSTANCE.sub(lambda found: found[0] + (f"{given} " if found[1] in wide else ""), body)
    lines = []
    wider = sorted({int(top or 0) + 1 for top in _RANGE.findall(body)} - {0})
    for more in wider:
        name = "WIDTH" if len(wider) == 1 else f"WIDTH_{more}"
        top = f"{more - 1:+d}" if more > 1 else ""
        body = body.replace(f"[{PARAMETER}{top}:0]", f"[{name}-1:0]")
        body = body.replace(f"{{{PARAMETER}+{more}{{", f"{{{name}{{")
        lines.append(f"  localparam {name} = {PARAMETER}+{more};\n")
    declared = f" #(parameter {PARAMETER} = {width}) (\n"
    return f"{head}{declared}{ports}{end}{''.join(lines)}{body}"
