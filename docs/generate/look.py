"""Looks at the finished site in Chromium: `python -m generate.look SITE PICTURES AXE`.

A page of each kind is opened at two widths in both themes, and its picture kept. What is wrong is a
line: a message of the browser, a page wider than its window, a table wider than the page, what
axe-core (a script from npm) calls serious. At the narrow width, tables are looked at on all pages.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

__all__ = ["KINDS", "main"]

KINDS = {
    "home": "index.html",
    "tutorial": "tutorials/first-network.html",
    "guide": "how-to/compare.html",
    "networks": "networks/index.html",
    "network": "networks/torus.html",
    "explanation": "explanation/switching.html",
    "paper": "papers/siegel.html",
    "command": "reference/commands/sweep.html",
    "object": "reference/python/multicube.simulate.html",
    "proofs": "reference/proofs/boxes-of-multistage-networks.html",
    "glossary": "reference/glossary.html",
    "costs": "design/boxes-cost.html",
}
"""A page of each kind."""

SEARCHES = {
    "fetch-and-add": "explanation/combining.html",
    "torus depth": "families/tori.html",
    "BookSim": "how-to/booksim.html",
    "wormhole": "explanation/switching.html",
}
"""What a reader types, and the page that answers, which must be found first (`keywords.toml`)."""

_SEARCH = 500
"""Milliseconds in which all results of a search are listed."""

_WIDTHS = (390, 1440)
_THEMES = ("light", "dark")

# The theme's search button shows other words than it is called by, and the arrows in its list of
# pages have no name.
_SERIOUS = """async () => {
    const theme = [[".search-button-field"], ["nav.bd-links summary"]];
    const found = await axe.run({ exclude: theme }, { iframes: false });
    return found.violations
        .filter((each) => each.impact === "serious" || each.impact === "critical")
        .map((each) => `${each.id}: ${each.nodes.length} x ${each.nodes[0].target.join(" ")}`);
}"""


_OUTSIDE = """() => [...document.querySelectorAll("article table")]
    .filter((each) => each.parentElement.scrollWidth > each.parentElement.clientWidth + 1).length"""


def main(site: Path, pictures: Path, axe: Path) -> int:
    """The status is 0 if nothing is wrong, or if there is no Chromium to look with."""
    program = which("chromium") or which("chromium-browser")
    if program is None:
        print("There is no Chromium: nobody has looked at the site", file=sys.stderr)
        return 0
    pictures.mkdir(parents=True, exist_ok=True)
    wrong = 0
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for kind, page in KINDS.items():
            for width in _WIDTHS:
                for theme in _THEMES:
                    picture = pictures / f"{kind}-{width}-{theme}.png"
                    for line in _looked(chromium, site / page, width, theme, picture, axe):
                        wrong += 1
                        print(f"{page}, {width} pixels, {theme}: {line}", file=sys.stderr)
        for line in (*_too_wide(chromium, site), *_searched(chromium, site)):
            wrong += 1
            print(line, file=sys.stderr)
        chromium.close()
    print(f"{pictures}: {len(KINDS)} pages at {len(_WIDTHS)} widths in {len(_THEMES)} themes")
    return int(wrong > 0)


def _looked(
    chromium: Any, path: Path, width: int, theme: str, picture: Path, axe: Path
) -> Iterator[str]:
    """What is wrong with a page."""
    said: list[str] = []
    page = chromium.new_page(
        viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
    )
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    for live in page.frames[1:]:
        if live.url.startswith("file:"):  # others are further down, and not loaded yet
            live.wait_for_function("document.documentElement.dataset.ready === 'true'")
    page.screenshot(path=picture)
    yield from (line for line in said if line.startswith(("error", "warning")))
    over = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    if over > 0:
        yield f"wider than the window by {over} pixels"
    if outside := page.evaluate(_OUTSIDE):
        yield f"{outside} tables have columns outside of the page"
    page.add_script_tag(path=axe)
    yield from page.evaluate(_SERIOUS)
    page.close()


def _too_wide(chromium: Any, site: Path) -> Iterator[str]:
    """The tables of all pages that a narrow screen does not show whole."""
    page = chromium.new_page(viewport={"width": min(_WIDTHS), "height": 900})
    for path in sorted(site.rglob("*.html")):
        inner = path.relative_to(site)
        if inner.parts[0] not in ("_modules", "_static", "live") and "<table" in path.read_text():
            page.goto(path.as_uri(), wait_until="domcontentloaded")
            if outside := page.evaluate(_OUTSIDE):
                yield f"{inner}, {min(_WIDTHS)} pixels: {outside} tables are too wide"
    page.close()


def _searched(chromium: Any, site: Path) -> Iterator[str]:
    """What a search does not find."""
    for text, wanted in SEARCHES.items():
        page = chromium.new_page()
        page.goto(f"{(site / 'search.html').as_uri()}?q={quote(text)}")
        page.wait_for_selector("#search-results li a")
        page.wait_for_timeout(_SEARCH)
        links = page.eval_on_selector_all(
            "#search-results li a", "all => all.map((each) => each.getAttribute('href'))"
        )
        found = [link.partition("?")[0].partition("#")[0] for link in links]
        if found[0] != wanted:
            yield f"search for {text!r}: {found[:3]}, not {wanted}"
        page.close()


if __name__ == "__main__":
    sys.exit(main(*(Path(each).resolve() for each in sys.argv[1:4])))
