"""The gallery of the papers' figures, as Markdown."""

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from multicube.sim.papers import ITEMS

from .networks import DOCS, table, title_of

__all__ = ["Picture", "drawn_items", "figures_page", "pictures"]


class Picture(NamedTuple):
    """A picture of the gallery.

    Attributes
    ----------
    name : str
        What the page's links call it.
    file : str
        Its file, in `docs` or in the folder `pictures` of the site.
    title, source, command : str
    """

    name: str
    file: str
    title: str
    source: str
    command: str


@cache
def _about() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "figures.toml").read_text())


def drawn_items() -> list[str]:
    """The items whose picture is drawn when the site is built."""
    return list(_about()["drawn"])


def pictures() -> list[Picture]:
    """All pictures: those of the papers' items, then the others."""
    found = []
    for item in ITEMS.values():
        files = [f"{item.id}.svg", f"{item.id}.png"]
        file = next((each for each in files if (DOCS / each).exists()), None)
        if item.id in _about()["drawn"]:
            file = f"pictures/{item.id}.svg"
        if file is not None:
            command = f"multicube paper {item.id}"
            found.append(Picture(item.id, file, item.title, item.source, command))
    others = [Picture(Path(each["file"]).stem, **each) for each in _about()["other"]]
    return found + others


def figures_page() -> str:
    """The gallery: thumbnails, then each picture with its source and the command that makes it."""
    parts = [
        "# Figures",
        "The papers' figures, regenerated, and our own on their claims. Each is made by one "
        "command: it measures the hardware, prints a table with the formula and the printed "
        "value beside it, and draws the picture. [How to use the command](paper-siegel.md), and "
        "[what was not confirmed](findings.md).",
    ]
    chosen = pictures()
    known = {picture.name for picture in chosen}
    for prefix, heading in [*_about()["papers"].items(), ("", "Others")]:
        mine = [each for each in chosen if _paper(each) == prefix]
        rest = [item for item in ITEMS.values() if _prefix(item.id) == prefix]
        rest = [item for item in rest if item.id not in known]
        parts += [f"## {heading}", _thumbnails(mine), *(_section(each) for each in mine)]
        if rest:
            parts += [
                f"### Without a picture here: {heading}",
                table(
                    ("item", "shows", "from"),
                    [(f"`{item.id}`", item.title, item.source) for item in rest],
                ),
            ]
            for item in rest:
                parts.insert(-1, f"({item.id.lower()})=")
    return "\n\n".join(parts) + "\n"


def _prefix(name: str) -> str:
    return name.partition("-")[0]


def _paper(picture: Picture) -> str:
    """The beginning of an item's name; empty for other pictures."""
    return _prefix(picture.name) if picture.name in ITEMS else ""


def _thumbnails(chosen: Iterable[Picture]) -> str:
    cards = "\n\n".join(
        f":::{{grid-item-card}}\n:img-top: {each.file}\n:img-alt: {each.title}\n"
        f":link: {each.name.lower()}\n:link-type: ref\n:class-card: thumbnail\n\n{each.title}\n:::"
        for each in chosen
    )
    return f"::::{{grid}} 2 3 4 4\n:gutter: 2\n\n{cards}\n::::"


def _section(picture: Picture) -> str:
    pages = [
        path.stem for path in sorted(DOCS.glob("*.md")) if f"]({picture.file})" in path.read_text()
    ]
    links = ", ".join(f"[{title_of(page)}]({page}.md)" for page in pages)
    return "\n\n".join(
        [
            f"({picture.name.lower()})=\n### {picture.title}",
            f"![{picture.title}]({picture.file})",
            f"From: {picture.source}." + (f" Explained in: {links}." if links else ""),
            f"```sh\n{picture.command}\n```",
        ]
    )
