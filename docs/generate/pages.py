"""The text of all pages of the site."""

import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from multicube.hdl import FAMILIES

from .commands import COMMANDS, command_pages
from .commits import with_commits
from .figures import with_figures
from .markdown import DOCS
from .networks import network_list, network_page, parameters_page, references
from .proofs import PROOFS, proof_pages
from .python import python_pages

__all__ = ["FROM_ROOT", "GENERATED", "all_pages", "keywords"]

FROM_ROOT = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages of the root of the repository, and their names in the site."""

GENERATED = {
    "generate/commands.py": COMMANDS,
    "generate/networks.py": "reference/works.md",
    "generate/networks.toml": "networks/index.md",
    "generate/__init__.py": "reference/parameters.md",
    "generate/python.py": "reference/python/index.md",
}
"""Files of `docs` that a page is made of, and its name in the site.

The pages that are written link these files, so that no link is dead in the repository.
"""


def all_pages(drawn: Collection[str], live: Collection[str]) -> dict[str, str]:
    """The text of each page by its path in the site, with links that hold there.

    `drawn` and `live` name the networks that have a drawing, and a live page.
    """
    pages = {str(path.relative_to(DOCS)): _from_docs(path) for path in sorted(DOCS.rglob("*.md"))}
    pages |= {page: _from_root(DOCS.parent / name) for name, page in FROM_ROOT.items()}
    pages |= proof_pages(pages[PROOFS])
    return pages | dict(_generated(drawn, live))


@cache
def keywords() -> dict[str, list[str]]:
    """What a reader may type into the search, by the page of `docs` that answers."""
    return tomllib.loads((Path(__file__).parent / "keywords.toml").read_text())


def _from_docs(path: Path) -> str:
    inner = path.relative_to(DOCS)
    above = "../" * (len(inner.parts) - 1)
    text = path.read_text()
    if words := keywords().get(str(inner.with_suffix(""))):
        title, _, rest = text.partition("\n")
        entries = ", ".join(f"! {word}" for word in words)
        text = f"{title}\n\n```{{index}} {entries}\n```\n{rest}"
    for name, page in FROM_ROOT.items():
        text = text.replace(f"]({above}../{name}", f"]({above}{page}")
    for name, page in GENERATED.items():
        text = text.replace(f"]({above}{name}", f"]({above}{page}")
    return with_figures(with_commits(text))


def _from_root(path: Path) -> str:
    text = path.read_text()
    for name, page in FROM_ROOT.items():
        text = text.replace(f"]({name}", f"]({page}")
    return text.replace("](docs/", "](")


def _generated(drawn: Collection[str], live: Collection[str]) -> Iterator[tuple[str, str]]:
    yield "networks/index.md", network_list(drawn)
    for name, family in FAMILIES.items():
        page = network_page(family, drawn=name in drawn, live=name in live)
        yield f"networks/{name}.md", page
    yield from command_pages()
    yield "reference/works.md", references()
    yield "reference/parameters.md", parameters_page()
    yield from python_pages()
