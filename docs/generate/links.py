"""Finds dead links: in the Markdown of the pages, and in the finished site; and counts words."""

import re
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import unquote, urlsplit

__all__ = ["anchors", "dead_links", "dead_references", "references_of", "slug", "words_of"]

_FENCE = re.compile(r"^(`{3,}|:{3,})([^\n]*)\n(.*?)^\1 *$", re.M | re.S)
_HEADING = re.compile(r"^#+ +(.*?) *$", re.M)
_TARGET = re.compile(r"^\(([^()\s]+)\)=$", re.M)
_LINK = re.compile(r"\]\(<?([^()\s>]+)>?\)")


def _without_code(text: str) -> str:
    return re.sub(r"^(`{3,})[^\n]*\n.*?^\1 *$", "", text, flags=re.M | re.S)


def words_of(text: str) -> int:
    """How many words of prose a page has: without code, tables, directives and addresses."""
    plain = re.sub(r"\]\([^)]*\)", "]", _without_code(text))
    lines = [line for line in plain.splitlines() if not re.match(r" *\||    |:{3,}|:\w+:", line)]
    return len(re.findall(r"[A-Za-z][\w'-]*", "\n".join(lines)))


def anchors(text: str) -> set[str]:
    """The places in a page that a link can lead to, named as GitHub and MyST do."""
    text = _without_code(text)
    slugs = map(slug, _HEADING.findall(text))
    found: set[str] = set(_TARGET.findall(text))
    for first in slugs:
        number, name = 0, first
        while name in found:
            number += 1
            name = f"{first}-{number}"
        found.add(name)
    return found


def slug(heading: str) -> str:
    """The name of the place of a heading, as GitHub and MyST make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def references_of(text: str) -> list[str]:
    """The targets of all links and pictures of a page that lead to other places of the site."""
    return [
        target
        for target in _LINK.findall(re.sub(r"`[^`\n]*`", "", _without_code(text)))
        if not urlsplit(target).scheme
    ]


def dead_references(pages: Mapping[str, str], files: Iterable[str]) -> Iterator[str]:
    """The links of Markdown pages that lead nowhere, as "PAGE: TARGET".

    Parameters
    ----------
    pages : Mapping[str, str]
        The text of each page by its path, as "docs/families/tori.md".
    files : Iterable[str]
        Paths of all other files.
    """
    others = set(files)
    known = {path: anchors(text) for path, text in pages.items()}
    for path, text in pages.items():
        for target in references_of(text):
            place, _, anchor = target.partition("#")
            to = normpath(str(PurePosixPath(path).parent / place)) if place else path
            if to in known:
                if anchor and anchor not in known[to]:
                    yield f"{path}: {target}"
            elif to not in others:
                yield f"{path}: {target}"


class _Page(HTMLParser):
    """The links and the anchors of a page of the site."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif name in ("href", "src"):
                self.links.add(value)


def dead_links(site: Path) -> list[str]:
    """The links inside a site that lead to no file or no anchor, as "PAGE: TARGET"."""
    # A live page is a program: what it links is its own affair.
    pages = {
        path: _Page(path.read_text())
        for path in site.rglob("*.html")
        if path.parent.name != "live" and "_static" not in path.parts
    }
    dead = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if to.is_dir():
                to /= "index.html"
            lost = not to.exists()
            if not lost and parts.fragment and to in pages:
                lost = unquote(parts.fragment) not in pages[to].ids
            if lost:
                dead.append(f"{path.relative_to(site)}: {link}")
    return dead
