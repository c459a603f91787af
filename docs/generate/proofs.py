"""The page of proofs with a card for each component, in place of tables of five columns."""

import re
from collections.abc import Iterable

__all__ = ["with_cards"]

_TABLE = re.compile(r"^\| component \| proved \| .*\n\|[-|]+\|\n((?:\|.*\n)+)", re.M)
_BAR = re.compile(r"(?<!\\)\|")


def with_cards(text: str) -> str:
    """The page, whose tables of proofs are cards."""
    return _TABLE.sub(lambda found: _grid(found[1].splitlines()), text)


def _grid(lines: Iterable[str]) -> str:
    claims: dict[str, list[str]] = {}
    for line in lines:
        component, proved, sizes, extent, by = map(str.strip, _BAR.split(line[1:-1]))
        claims.setdefault(component, []).append(_claim(proved, sizes, extent, by))
    cards = "\n\n".join(
        f":::{{grid-item-card}} {name}\n:class-card: proof\n\n{_joined(said)}\n:::"
        for name, said in claims.items()
    )
    return f"::::{{grid}} 1\n:gutter: 3\n\n{cards}\n::::\n"


def _claim(proved: str, sizes: str, extent: str, by: str) -> str:
    if not sizes:
        return proved
    length = f"for all runs of {extent}" if extent[0].isdigit() else extent
    return f"{proved} **{length[:1].upper()}{length[1:]}**, for {sizes}. {by}"


def _joined(claims: Iterable[str]) -> str:
    return "\n\n".join(claims)
