"""What the parts of a function of a sliced type hand on to each other."""

import re

from .statements import C_TYPES, Places

__all__ = ["connected"]

_NAME = re.compile(r"\b[bknp]\d+(?:t\d+)?\b")
"""Bytes of lanes, masks and numbers in lanes, and planes, in the text of a function."""


_LANES = "kn"

_FORMS = {"b": "z[{}]", "k": "y[{} * VECTORS + v]", "n": "x[{} * VECTORS + v]", "p": "m[{}]"}
"""By the first letter of a name: where such values are kept (`Places`)."""


def connected(parts: list[tuple[bool, list[str]]]) -> dict[str, int]:
    """Let values be kept that go from part to part; return how many places they need."""
    named = [[list(dict.fromkeys(_NAME.findall(line))) for line in lines] for _, lines in parts]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    kept: set[str] = set()
    for number, named_lines in enumerate(named):
        for names in named_lines:
            for name in names:
                first.setdefault(name, number)
                last[name] = number
                if first[name] != number or (parts[number][0] and name[0] not in _LANES):
                    kept.add(name)
    places = _homes(parts, named, first)
    kept -= places.keys()
    every = Places(_FORMS)
    for number, (lane, lines) in enumerate(parts):
        known: dict[str, None] = {}
        text: list[str] = []
        for line, names in zip(lines, named[number]):
            new = [name for name in names if name not in known]
            known.update(dict.fromkeys(new))
            for name in new:
                if name in kept and name not in places:
                    places[name] = every.take(name)
            there = _LANES if lane else "p"  # what has a name of its own; other places are known
            local = [name for name in new if name in places and name[0] in there]
            text += [
                f"{C_TYPES[name[0]]} {name} = {places[name]};"
                for name in local
                if first[name] < number
            ]
            other = {name: places[name] for name in names if name[0] not in there}
            text.append(_renamed(line, other))
            text += [
                f"{places[name]} = {name};"
                for name in local
                if first[name] == number and name in kept
            ]
        for name in known:
            if name in kept and last[name] == number:
                every.leave(name, places[name])
        lines[:] = text
    return every.counts


def _renamed(line: str, others: dict[str, str]) -> str:
    return _NAME.sub(lambda found: others.get(found[0], found[0]), line) if others else line


_STORED = re.compile(r"(?:store\(((?:state|out|kept) \+ \d+), (.*)\)|(there\[\d+\]) = (p\w+));")
_LOADED_FROM = re.compile(r"V (n\w+) = (load\((\w+) \+ [^()]+\)|splat\(now[^()]+\));")


def _homes(
    parts: list[tuple[bool, list[str]]], named: list[list[list[str]]], first: dict[str, int]
) -> dict[str, str]:
    """Where values are besides, that go from part to part: where they are stored or come from."""
    homes: dict[str, str] = {}
    stores: dict[str, tuple[int, int]] = {}  # by what is loaded from there
    loads: dict[str, str] = {}
    for number, (_, lines) in enumerate(parts):
        for at, line in enumerate(lines):
            if stored := _STORED.fullmatch(line):
                place, name, plane, plane_name = stored.groups()
                if place:
                    stores[f"load({place})"] = number, at
                    if first.get(name) == number:  # a value that has a name
                        homes.setdefault(name, f"load({place})")
                elif first[plane_name] == number:
                    homes.setdefault(plane_name, plane)
            elif loaded := _LOADED_FROM.fullmatch(line):
                loads[loaded[1]] = loaded[2]
    # What is loaded can be loaded again, but for registers that have got their next value.
    for number, lines_ in enumerate(named):
        seen: set[str] = set()
        for at, names in enumerate(lines_):
            for name in names:
                if name not in seen and name in loads:
                    seen.add(name)
                    if stores.get(loads[name], (number, at)) < (number, at):
                        del loads[name]
    return {**loads, **homes}
