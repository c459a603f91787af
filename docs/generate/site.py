"""Builds the site: `make docs`.

The pages of `docs` are copied to a folder of sources; the pages that are generated, and their
pictures, are added there; Sphinx makes the site of it. Then every link inside the site is followed.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from joblib import Parallel, delayed
from multicube import draw
from multicube.hdl import FAMILIES, MulticubeError
from multicube.hdl.networks.family import Family
from multicube.sim.papers import ITEMS, Options
from multicube.sim.report.drawing import save_figure
from sphinx.cmd.build import build_main
from tqdm import tqdm

from .commands import has_command
from .curves import draw_curve, read_curve
from .figures import drawn_items
from .links import dead_links
from .markdown import DOCS
from .measurements import CURVES, words
from .networks import lacking, rival
from .pages import all_pages

__all__ = ["main", "without_text"]

ROOT = DOCS.parent
_LIBRARY = ("hdl", "sim")

HOME = ["omega", "ports=16"]
"""The network that runs on the first page."""

_REFUSED = 2
"""Status of a command that can't do what is asked."""


def main(site: Path) -> int:
    """Build the site in a folder; the status is 0 if there is no warning and no dead link.

    Nothing is built if a network can have no page.
    """
    if lacks := lacking():
        print(f"Networks without a page: {lacks}", file=sys.stderr)
        return _REFUSED
    source = site.parent / "site-source"
    cache = site.parent / "site-pictures"
    _copy_files(source)
    _copy_mathjax(source / "_static")
    networks = source / "networks" / "pictures"
    networks.mkdir(parents=True, exist_ok=True)
    drawn = frozenset(
        name for name, family in FAMILIES.items() if _network_pictures(family, cache, networks)
    )
    _figures(cache, source / "pictures")
    live = _live_pages(cache / "live", source / "extra" / "live")
    pages = all_pages(drawn, live)
    _write_pages(source, pages)
    _remove_others(site, pages)
    options = ["-b", "html", "-W", "--keep-going", "-q", "-j", "2"]
    status = build_main([*options, str(source), str(site)])
    _mend_sources(site)
    dead = dead_links(site)
    for link in dead:
        print(f"dead link: {link}", file=sys.stderr)
    print(f"{site / 'index.html'}: {len(FAMILIES)} networks, {len(drawn)} drawn, {len(live)} live")
    return status or bool(dead)


def _mend_sources(site: Path) -> None:
    """Remove the links of source pages that lead nowhere: `viewcode` names objects by the module
    that defines them, and their pages are those of the module that offers them."""
    for path in (site / "_modules").rglob("*.html"):
        text = path.read_text()

        def kept(link: re.Match[str], page: Path = path) -> str:
            file, _, anchor = link[1].partition("#")
            target = page.parent / file
            known = target.exists() and (not anchor or anchor in _anchors(target))
            return link[0] if known else link[2] if "viewcode-back" not in link[0] else ""

        link = r'<a (?:class="viewcode-back" )?href="([^":#]+\.html[^"]*)">([^<]*)</a>'
        mended = re.sub(link, kept, text)
        if mended != text:
            path.write_text(mended)


@cache
def _anchors(page: Path) -> frozenset[str]:
    return frozenset(re.findall(r'id="([^"]*)"', page.read_text()))


def _copy_files(source: Path) -> None:
    """Copy what is no page and no part of the generator."""
    for path in DOCS.rglob("*"):
        inner = path.relative_to(DOCS)
        if path.is_file() and path.suffix != ".md" and inner.parts[0] != "generate":
            target = source / inner
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists() or target.stat().st_mtime < path.stat().st_mtime:
                shutil.copy2(path, target)


def _copy_mathjax(static: Path) -> None:
    """Copy what typesets equations beside the pages, if npm has brought it."""
    found = ROOT / "build" / "npm" / "node_modules" / "mathjax" / "es5"
    if found.exists():
        (static / "mathjax").mkdir(parents=True, exist_ok=True)
        shutil.copy2(found / "tex-mml-chtml.js", static / "mathjax")
        fonts = Path("output") / "chtml" / "fonts"
        shutil.copytree(found / fonts, static / "mathjax" / fonts, dirs_exist_ok=True)


def _write_pages(source: Path, pages: Mapping[str, str]) -> None:
    """Write the pages that are new or changed, which Sphinx then reads again; remove all others."""
    for path in source.rglob("*.md"):
        if str(path.relative_to(source)) not in pages:
            path.unlink()
    for name, text in pages.items():
        path = source / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def _remove_others(site: Path, pages: Mapping[str, str]) -> None:
    """Remove what an earlier build has made, of pages that are no more and of modules."""
    shutil.rmtree(site / "_modules", ignore_errors=True)
    for path in site.rglob("*.html"):
        inner = path.relative_to(site)
        made = inner.parts[0] in ("_static", "live")
        if not made and str(inner.with_suffix(".md")) not in pages:
            path.unlink()


def _newest() -> float:
    """When the library was last changed."""
    files = (path for each in _LIBRARY for path in (ROOT / each).rglob("*.*"))
    return max(path.stat().st_mtime for path in files if "__pycache__" not in path.parts)


def _is_current(path: Path, *others: Path) -> bool:
    newest = max(_newest(), *(each.stat().st_mtime for each in others), 0)
    return path.exists() and path.stat().st_mtime > newest


def _network_pictures(family: Family, cache: Path, folder: Path) -> bool:
    """Draw a network and its curve; whether it can be drawn."""
    cache.mkdir(parents=True, exist_ok=True)
    table = CURVES / f"{family.name}.csv"
    curve = cache / f"{family.name}-curve.svg"
    if table.exists():
        made_of = (table, DOCS / "generate" / "curves.py")
        if not _is_current(curve, *made_of):
            other = rival(family)
            beside = read_curve(CURVES / f"{other}.csv") if other else None
            save_figure(draw_curve(family, read_curve(table), beside, other or ""), curve)
        shutil.copy2(curve, folder)
    drawing = cache / f"{family.name}.svg"
    if not _is_current(drawing):
        try:
            draw(family.build(**family.example), drawing)
        except MulticubeError:
            return False
    shutil.copy2(drawing, folder)
    (folder / f"{family.name}-small.svg").write_text(without_text(drawing.read_text()))
    return True


def without_text(drawing: str) -> str:
    """What a thumbnail shows of a drawing of matplotlib: letters would be too small to be read."""
    return re.sub(r'^( *)<g id="text_\d+">\n.*?^\1</g>\n', "", drawing, flags=re.M | re.S)


def _figures(cache: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in tqdm(drawn_items(), disable=None, desc="figures"):
        picture = cache / f"{name}.svg"
        if not _is_current(picture):
            save_figure(ITEMS[name].run(Options()).draw(), picture)
        shutil.copy2(picture, folder)


def _live_pages(cache: Path, folder: Path) -> frozenset[str]:
    """The networks that have a live page; none if the library has no command for it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not has_command("view"):
        return frozenset()
    cache.mkdir(parents=True, exist_ok=True)
    made = Parallel(n_jobs=-1)(
        delayed(_live_page)(words(family), cache / f"{family.name}.html")
        for family in FAMILIES.values()
    )
    names = frozenset(name for name, done in zip(FAMILIES, made) if done)
    _live_page(HOME, cache / "omega16.html")
    shutil.copy2(cache / "omega16.html", folder)
    for name in names:
        shutil.copy2(cache / f"{name}.html", folder)
    return names


def _live_page(network: list[str], path: Path) -> bool:
    if not _is_current(path):
        command = [sys.executable, "-m", "multicube", "view", *network, "-o", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == _REFUSED:
            print(done.stderr.strip(), file=sys.stderr)
            return False
        if done.returncode:
            raise RuntimeError(done.stderr)
    return True


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
