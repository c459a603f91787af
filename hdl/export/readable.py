"""Verilog as a person would write it: expressions in place of wires without a name.

Yosys gives every operator a wire, `_12_`. Here such a wire is replaced by its expression where it
is read once, and has the name of what it helps to compute where it is read more often. What is
equal several times in a row is a replication.
"""

import re
from collections import defaultdict

from .verilog_names import free_name

__all__ = ["readable"]

_UNNAMED = re.compile(r"\b_\d+_\b")
_SIGNAL = re.compile(r"  (?:wire|reg) (?:\[\d+:0\] )?(_\d+_);")
_ASSIGN = re.compile(r"  assign (_\d+_) = (.*);")
_TARGET = re.compile(r"(?:assign |^\s+)?([A-Za-z]\w*|_\d+_)(?:\[[^]]*\])? (=|<=) ")
_PORT = re.compile(r"^    \.(\w+)\(")
_INSTANCE = re.compile(r"^  \w+ (\w+) \($")

# An expression that stands alone, and one that needs no brackets. Only behind a register's name is
# `<=` no comparison.
_WHOLE = re.compile(r"(?: = |\(|, |\{ |(?:^\s+|\) |else )[^\s(]+ <= )(_\d+_)(?=;|\)|,| \})")
_SIMPLE = re.compile(r"\w+(\[[\d:]+\])?|[\d'hbd]+|\{ [^{}]* \}")

_NUMBER = re.compile(r"\b\d+\b|(?<='h)\w+")

_LONGEST = 96
"""Columns of a line into which an expression is put."""

# The width of what stands inside these depends on what stands around: they stay as they are.
_CONTEXT = re.compile(r"<<|>>|\$signed| [*/%+-] ")


def readable(text: str) -> str:
    """The text of a module, as `write_verilog` of Yosys writes it, for people to read."""
    return _sorted(_named(_repeated(_folded(text))))


def _sorted(text: str) -> str:
    """Text in which wires that are declared together stand by name: Yosys has no order."""
    return re.sub(
        r"(?:^  wire [^\n]*;\n)+",
        lambda found: "\n".join(sorted(found[0].splitlines(), key=_declared)) + "\n",
        text,
        flags=re.MULTILINE,
    )


def _declared(line: str) -> list[str]:
    """The name that a line declares, with numbers as numbers."""
    name = line.rstrip(";").rpartition(" ")[2]
    return [part.zfill(6) for part in re.split(r"(\d+)", name)]


def _folded(text: str) -> str:
    """Text in which wires that are read once are replaced by their expressions."""
    lines: list[str | None] = list(text.split("\n"))
    declared, defined = {}, {}
    users: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        assert line is not None
        if wire := _SIGNAL.fullmatch(line):
            declared[wire[1]] = number
            continue
        own = _ASSIGN.fullmatch(line)
        if own:
            defined[own[1]] = number
        for name in _UNNAMED.findall(own[2] if own else line):
            users[name].append(number)
    waiting = [name for name in defined if name in declared and len(users[name]) == 1]
    # An expression may stand in another one that is itself put elsewhere: from the inside out.
    for name in sorted(waiting, key=lambda name: defined[name]):
        at, (user,) = defined[name], users[name]
        line, target = lines[at], lines[user]
        if line is None or target is None:
            continue
        own = _ASSIGN.fullmatch(line)
        assert own is not None, line
        put = _put(target, name, own[2])
        if put is None:
            continue
        lines[user], lines[at], lines[declared[name]] = put, None, None
        for inner in set(_UNNAMED.findall(own[2])):
            users[inner] = [user if number == at else number for number in users[inner]]
    return "\n".join(line for line in lines if line is not None)


def _put(line: str, name: str, expression: str) -> str | None:
    """A line with an expression in place of a wire; None if it must or should not stand there."""
    # The width of these is their own.
    simple = _SIMPLE.fullmatch(expression)
    if f"{name}[" in line or "@(" in line.partition(")")[0] or line.lstrip().startswith("case"):
        return None
    if not simple and (_CONTEXT.search(expression) or _CONTEXT.search(line)):
        return None
    if not simple and name not in _WHOLE.findall(line):
        expression = f"({expression})"
    put = _UNNAMED.sub(lambda wire: expression if wire[0] == name else wire[0], line)
    # The same for numbers of any length, so that wider networks are written alike.
    return put if len(_NUMBER.sub("0", put)) <= _LONGEST else None


def _repeated(text: str) -> str:
    """Text with replications, `{ 4{x} }`, in place of concatenations of equal parts."""

    def shortened(match: re.Match[str]) -> str:
        parts: list[tuple[str, int]] = []
        for part in match[1].split(", "):
            if parts and parts[-1][0] == part:
                parts[-1] = part, parts[-1][1] + 1
            else:
                parts.append((part, 1))
        if all(count < 3 for _, count in parts):
            return match[0]
        shown = [f"{{{n}{{{part}}}}}" if n > 2 else ", ".join([part] * n) for part, n in parts]
        return shown[0] if len(shown) == 1 else f"{{ {', '.join(shown)} }}"

    return re.sub(r"\{ ([^{}()?]*) \}", shortened, text)


def _named(text: str) -> str:
    """Text in which wires and registers without a name are named after what they are for."""
    lines = text.split("\n")
    declared = {found[1] for line in lines if (found := _SIGNAL.fullmatch(line)) is not None}
    if not declared:
        return text
    purposes: dict[str, tuple[str, str]] = {}
    instance = ""
    for line in lines:
        if head := _INSTANCE.match(line):
            instance = head[1]
        if _SIGNAL.fullmatch(line):
            continue
        own = _ASSIGN.fullmatch(line)
        target, role = _purpose(line, own[1] if own else None, instance)
        for name in _UNNAMED.findall(own[2] if own else line):
            if target != name and target and name in declared:
                purposes.setdefault(name, (target, role))
    taken = set(re.findall(r"[A-Za-z_]\w*", text))
    names: dict[str, str] = {}

    def name_of(wire: str, depth: int = 0) -> str:
        if wire not in names:
            target, role = purposes.get(wire, ("wire", ""))
            if _UNNAMED.fullmatch(target):
                # A part of a part is numbered with it.
                target = name_of(target, depth + 1) if depth < 50 else "part"
                target = re.sub(r"(_part)?(_\d+)?$", "", target)
            names[wire] = free_name(f"{target}_{role or 'part'}", taken)
        return names[wire]

    for name in sorted(declared, key=lambda name: int(name.strip("_"))):
        name_of(name)
    return _UNNAMED.sub(lambda match: names.get(match[0], match[0]), text)


def _purpose(line: str, own: str | None, instance: str) -> tuple[str, str]:
    """What a line computes, and what a wire that it reads is for this."""
    if own is not None:
        return own, ""
    if port := _PORT.match(line):
        return f"{instance}_{port[1]}", ""
    target = _TARGET.search(line)
    if target is None:
        return "", ""
    return target[1], "next" if target[2] == "<=" else ""
