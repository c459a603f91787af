"""The pages of proofs: one for each kind of component, with a card for each component of it.

In `docs` they are one page, with tables of five columns.
"""

import re
from collections.abc import Iterable, Iterator

from .links import slug
from .markdown import hidden_tree

__all__ = ["PROOFS", "proof_pages"]

PROOFS = "reference/proofs.md"
"""The page in `docs`, and in the site the page that lists the others."""

_SECTION = re.compile(r"^## (.*)\n\n\| component \| proved \| .*\n\|[-|]+\|\n((?:\|.*\n)+)", re.M)
_BAR = re.compile(r"(?<!\\)\|")


def proof_pages(text: str) -> Iterator[tuple[str, str]]:
    """The paths and the texts of the pages of the site, of the text of the one in `docs`."""
    folder = PROOFS.removesuffix(".md")
    names = []
    for title, lines in _SECTION.findall(text):
        names.append(slug(title))
        cards = "\n".join(_cards(_claims(lines.splitlines())))
        yield f"{folder}/{names[-1]}.md", f"# {title}\n\n{_WORDS}\n\n{cards}"
    tree = hidden_tree(f"proofs/{name}" for name in names)
    yield PROOFS, f"{_SECTION.sub(_listed, text)}\n{tree}\n"


_WORDS = "[How it is proved](../proofs.md#how-it-is-proved) explains the words."


def _listed(section: re.Match[str]) -> str:
    """A section of the page that lists the others: the components, with links to their cards."""
    title, lines = section.groups()
    page = f"proofs/{slug(title)}.md"
    names = (f"[{name}]({page}#{slug(name)})" for name in _claims(lines.splitlines()))
    return f"## {title}\n\n{', '.join(names)}.\n"


def _claims(lines: Iterable[str]) -> dict[str, list[str]]:
    """What is said of each component, by its name."""
    claims: dict[str, list[str]] = {}
    for line in lines:
        component, proved, sizes, extent, by = map(str.strip, _BAR.split(line[1:-1]))
        claims.setdefault(component, []).append(_claim(proved, sizes, extent, by))
    return claims


def _claim(proved: str, sizes: str, extent: str, by: str) -> str:
    if not sizes:
        return proved
    length = f"for all runs of {extent}" if extent[0].isdigit() else extent
    return f"{proved} **{length[:1].upper()}{length[1:]}**, for {sizes}. {by}"


def _cards(claims: dict[str, list[str]]) -> Iterator[str]:
    for name, said in claims.items():
        yield f"## {name}\n\n:::{{card}}\n:class-card: proof\n\n" + "\n\n".join(said) + "\n:::\n"
