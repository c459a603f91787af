"""The figures of a paper that the library regenerates, as Markdown for the paper's page."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from multicube.sim.papers import ITEMS
from multicube.sim.papers.item import Item

from .commits import measured_at
from .markdown import DOCS, table

__all__ = ["drawn_items", "picture_of", "place_of", "with_figures"]

_MARK = re.compile(r"^<!-- figures: ([\w ]+) -->$", re.M)
"""A line of a paper's page that its figures replace: the beginnings of the items' names."""


@cache
def _about() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "figures.toml").read_text())


def drawn_items() -> list[str]:
    """The items whose picture is drawn when the site is built."""
    return list(_about()["drawn"])


def picture_of(name: str) -> str | None:
    """The picture of an item, in the folder `pictures`; None if it has none."""
    if name in _about()["drawn"]:
        return f"{name}.svg"
    files = (f"{name}.svg", f"{name}.png")
    return next((file for file in files if (DOCS / "pictures" / file).exists()), None)


def place_of(name: str) -> str:
    """Where the site shows an item: page and anchor, from the top of the site."""
    return f"papers/{_about()['papers'][_prefix(name)]}.md#{name.lower()}"


def with_figures(text: str) -> str:
    """A page whose marks are replaced by figures: pictures first, then what has only a table."""
    return _MARK.sub(lambda mark: _figures(mark[1].split()), text)


def _prefix(name: str) -> str:
    return name.partition("-")[0]


def _figures(prefixes: list[str]) -> str:
    items = [item for item in ITEMS.values() if _prefix(item.id) in prefixes]
    shown = {item.id: picture for item in items if (picture := picture_of(item.id))}
    cards = "\n\n".join(_card(ITEMS[name], picture) for name, picture in shown.items())
    parts = [f"::::{{grid}} 1 1 2 2\n:gutter: 3\n\n{cards}\n::::"]
    others = [item for item in items if item.id not in shown]
    if others:
        parts += [f"({item.id.lower()})=" for item in others]
        parts.append(
            table(
                ("command", "shows", "from"),
                [(f"`multicube paper {each.id}`", each.title, each.source) for each in others],
            )
        )
    return "\n\n".join(parts)


def _card(item: Item, picture: str) -> str:
    small = measured_at(DOCS / "pictures" / picture)
    return (
        f":::{{grid-item-card}}\n:class-card: figure\n\n({item.id.lower()})=\n"
        f"[![{item.title}](../pictures/{picture})](../pictures/{picture})\n\n"
        f"**{item.title}** ({item.source})\n\n```sh\nmulticube paper {item.id}\n```\n\n{small}\n:::"
    )
