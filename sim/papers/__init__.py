"""The papers' figures, tables and formulas, regenerated: each as a table and a picture.

A folder is a paper. The name of an item is its paper and its number there, and so is its file:
`siegel-fig9` is in `siegel/fig9.py`. Every `Item` of every file is found by itself.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

from ...hdl.fabric.checks import check_word
from .item import Column, Item, Options, PaperResult

__all__ = ["ITEMS", "Column", "Item", "Options", "PaperResult", "find_item"]


def _items() -> Iterator[Item]:
    for module in walk_packages(__path__, f"{__name__}."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, Item):
                yield value


def _order(item: Item) -> list[str | int]:
    """Sort key: paper, kind, and number, so that fig9 precedes fig10."""
    return [int(word) if word.isdecimal() else word for word in re.split(r"(\d+)", item.id)]


ITEMS: dict[str, Item] = {item.id: item for item in sorted(_items(), key=_order)}
"""All items by name."""


def find_item(name: str) -> Item:
    """The item with this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    check_word("Item", name, ITEMS)
    return ITEMS[name]
