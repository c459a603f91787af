"""The site: every page is reached, no link is dead, and each network has its page.

`make docs` builds it in full; here are the checks that need no Sphinx, and a long one that does.
"""

import csv
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from posixpath import normpath

import multicube.hdl
import pytest
from command_line import exit_status
from docstrings import has_example, public, public_names
from generate.commands import command_pages
from generate.commits import commits, digest
from generate.curves import draw_curve, read_curve
from generate.diagrams import DIAGRAMS
from generate.figures import drawn_items, picture_of, place_of
from generate.links import anchors, dead_links, dead_references, words_of
from generate.measurements import CHOOSE, COST, CURVES, MEASURES
from generate.networks import about, default, lacking
from generate.pages import FROM_ROOT, GENERATED, all_pages, keywords
from generate.proofs import PROOFS, proof_pages
from generate.python import PLACE
from generate.site import without_text
from generate.tables import with_labels
from multicube import draw
from multicube.hdl import FAMILIES, build
from multicube.hdl.networks.family import Group
from multicube.sim import read_records, rerun
from multicube.sim.papers import ITEMS
from multicube.sim.theory.prediction import MODELS
from page_code import PAGES, ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    """All pages by path in the site, as if each network had a drawing and a live page."""
    if lacking():
        pytest.skip("a network has no page: test_every_network_is_named_and_measured says which")
    return all_pages(FAMILIES, FAMILIES)


def _files() -> set[str]:
    """The files of the site that are no pages, by path."""
    found = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*") if path.suffix != ".md"}
    for name in FAMILIES:
        found |= {f"networks/pictures/{name}{end}.svg" for end in ("", "-small", "-curve")}
    return found | {f"pictures/{item}.svg" for item in drawn_items()}


def test_no_dead_link(site: dict[str, str]) -> None:
    assert not [*dead_references(site, _files())]


def test_links_of_the_root_lead_to_files() -> None:
    """These pages are read without the site, too: on GitHub, and README.md in the package index."""
    pages = [ROOT / name for name in ("README.md", *FROM_ROOT, "boards/README.md")]
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in [*pages, *PAGES[1:]]}
    files = [str(path.relative_to(ROOT)) for path in DOCS.rglob("*.*")] + ["LICENSE"]
    dead = dead_references({str(path.relative_to(ROOT)): path.read_text() for path in pages}, [])
    for link in dead:
        page, _, target = link.partition(": ")
        place, _, anchor = target.partition("#")
        path = ((ROOT / page).parent / place).resolve().relative_to(ROOT)
        assert str(path) in files, link
        assert not anchor or anchor in anchors(texts[str(path)]), link


def test_no_link_is_dead_in_the_repository() -> None:
    """There pages are read without the site, whose generated pages are not in it."""
    texts = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "boards" / "README.md"]
    pages = {str(path.relative_to(ROOT)): path.read_text() for path in texts}
    others = [path for path in DOCS.rglob("*.*") if path.suffix != ".md"]
    files = [str(path.relative_to(ROOT)) for path in [*others, ROOT / "LICENSE"]]
    assert not [*dead_references(pages, files)]


def test_links_to_what_pages_are_made_of_lead_to_the_pages(site: dict[str, str]) -> None:
    for name, page in GENERATED.items():
        assert (DOCS / name).exists()
        assert page in site
    assert "](../networks/index.md)" in site["tutorials/first-network.md"]
    assert not [path for path, text in site.items() if "](generate/" in text]


def test_every_page_is_in_the_tree(site: dict[str, str]) -> None:
    reached = Counter({"index.md": 1})
    for path, text in site.items():
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.M | re.S):
            entries = [line for line in tree.splitlines() if line and not line.startswith(":")]
            reached.update(normpath(Path(path).parent / f"{entry}.md") for entry in entries)
    assert set(reached) == set(site)
    assert set(reached.values()) == {1}


def test_each_public_name_has_a_page(site: dict[str, str]) -> None:
    """One, which the lists of all packages link that have the name."""
    pages = {path: text for path, text in site.items() if path.startswith(f"{PLACE}/")}
    assert len({path.casefold() for path in pages}) == len(pages)
    documented = Counter(
        name for text in pages.values() for name in re.findall(r"^\.\. auto\w+:: (.*)$", text, re.M)
    )
    assert set(documented.values()) == {1}
    for package, names in public_names().items():
        listed = re.findall(r"^- \[`(\w+)`\]", pages[f"{PLACE}/{package}.md"], re.M)
        assert sorted(listed) == sorted(set(names) - {"__version__"})


def test_each_class_without_an_example_says_where_one_is(site: dict[str, str]) -> None:
    """Or what returns it, or what it is part of; of a network, how it is built."""
    said = re.compile(r"^```pycon$|^(An example is with|Returned by|Part of|Taken by) ", re.M)
    lacking = [
        each.name
        for each in public()
        if each.owner is None
        and inspect.isclass(each.item)
        and not issubclass(each.item, Exception)
        and not has_example(each)
        and not said.search(site[f"{PLACE}/{each.name}.md"])
    ]
    assert lacking == []
    built = site[f"{PLACE}/multicube.hdl.BenesNetwork.md"]
    assert '>>> build("benes")\n<benes ports=8 ' in built
    assert (
        "\nReturned by {py:obj}`run_computer`.\n" in site[f"{PLACE}/multicube.sim.ComputerRun.md"]
    )


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("[a](b.md)", []),
        ("[a](b.md#two-words)", []),
        ("[a](b.md#two-words-1)", []),
        ("[a](b.md#two-words-2)", ["a.md: b.md#two-words-2"]),
        ("[a](#here) ![x](x.svg)\n\n# Here", []),
        ("[a](#there)", ["a.md: #there"]),
        ("![a](y.svg)", ["a.md: y.svg"]),
        ("[a](https://example.org/b.md)", []),
        ("`[a](no.md)`\n```text\n[a](no.md)\n```", []),
        ("[a](d/c.md) [b](c.md)", ["a.md: c.md"]),
    ],
)
def test_dead_references(text: str, dead: list[str]) -> None:
    b = "# Two *words*\n\n## `Two` words\n\n```text\n# two words\n```\n"
    pages = {"a.md": text, "b.md": b, "d/c.md": "[up](../b.md)"}
    assert [*dead_references(pages, ["x.svg"])] == dead


def test_dead_links_of_a_site(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#x">1</a><a href="b.html#y">2</a><img src="no.svg"><a href="#z">3</a>'
        '<a href="https://example.org">4</a><a href="sub/">5</a>'
    )
    (tmp_path / "b.html").write_text('<p id="x">')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text("")
    assert sorted(dead_links(tmp_path)) == ["a.html: #z", "a.html: b.html#y", "a.html: no.svg"]


def test_every_network_is_named_and_measured() -> None:
    """The one test that fails where a new network is forgotten; those of pages are skipped then."""
    assert lacking() == ""


def test_a_forgotten_network_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    families = {"cube": FAMILIES["cube"], "knoedel": FAMILIES["cube"]}
    monkeypatch.setattr("generate.networks.FAMILIES", families)
    assert lacking() == "measure by make docs-data: knoedel"
    for folder in ("CURVES", "COST"):
        monkeypatch.setattr(f"generate.networks.{folder}", tmp_path)
    assert lacking() == "measure by make docs-data: cube knoedel"
    for name in families:
        (tmp_path / f"{name}.csv").touch()
        (tmp_path / f"{name}.json").touch()
    assert lacking() == ""


def test_groups_are_those_of_the_catalogue() -> None:
    assert set(about()["group"]) == {group.name.lower() for group in Group}
    assert {family.group for family in FAMILIES.values()} == set(Group)
    keys = {key for group in about()["group"].values() for key in group["papers"]}
    keys |= {key for family in FAMILIES.values() for key in family.papers}
    assert keys <= set(about()["works"])
    assert set(about()["models"]) == set(MODELS)
    assert set(about()["good"]) <= set(FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_page_of_a_network(name: str, site: dict[str, str]) -> None:
    """All of its parameters, with their limits, there or on the page of shared ones."""
    family, page = FAMILIES[name], site[f"networks/{name}.md"]
    both = f"{site['reference/parameters.md']}\n{page}"
    rows = [line.split(" | ") for line in both.splitlines() if line.startswith("| `")]
    shown = {(row[0].strip("| `"), *row[1:3]) for row in rows if len(row) > 2}
    for parameter in family.parameters:
        assert (parameter.name, default(parameter), parameter.values) in shown
        assert f"`{parameter.name}`" in page
    assert all(f"`{alias}`" in page for alias in family.aliases)
    classes = re.findall(r"\{py:class\}`~multicube\.hdl\.(\w+)`", page)
    assert all(hasattr(multicube.hdl, each) for each in classes), classes
    title, introduction, *_ = page.split("\n\n")
    assert title == f"# {name}"
    assert len(re.findall(r"\.(?= |$)", introduction)) >= 3, introduction
    sections = re.findall("^## (.*)$", page, re.M)
    assert sections[:4] == ["Running", "Measured", "Cost in an FPGA", "Theory"]
    assert sections[-1] == "Parameters"


@pytest.mark.parametrize("name", FAMILIES)
def test_measurements_are_of_the_network_shown(name: str) -> None:
    if not (CURVES / f"{name}.csv").exists():
        pytest.skip(f"{name} is not measured: test_every_network_is_named_and_measured says so")
    chosen = FAMILIES[name].build(**FAMILIES[name].example).chosen
    with (CURVES / f"{name}.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert row["network"] == name
    assert build(f"{name} {row['parameters']}").chosen == chosen
    for folder in (COST, MEASURES):
        path = folder / f"{name}.json"
        if path.exists():
            found = json.loads(path.read_text())
            assert found["network"] == name
            assert build(name, **found["parameters"]).chosen == chosen


def test_first_table_is_of_the_networks_that_it_names() -> None:
    for name, (size, _) in about()["choose"].items():
        with (CHOOSE / f"{name}.csv").open(newline="") as file:
            row = next(csv.DictReader(file))
        assert row["network"] == name
        assert build(f"{name} {row['parameters']}").chosen == build(f"{name} {size}").chosen
        area = json.loads((CHOOSE / f"{name}-area.json").read_text())
        assert area["network"] == f"{name} {size}"
        fabric = build(area["network"]).fabric
        kinds = Counter(cell.type for cell in fabric.cells.values() if not cell.type.auxiliary)
        found = {fabric.cells[each["cell"]].type: each["number"] for each in area["cells"]}
        assert found == kinds
        assert area["tables"] == sum(each["number"] * each["tables"] for each in area["cells"])


def test_measured_files_state_the_commit_that_made_them(site: dict[str, str]) -> None:
    """Files made again are recorded again: `python -m generate.commits FILE` in docs."""
    folders = (CURVES, COST, MEASURES, CHOOSE)
    measured = {path for folder in folders for path in folder.iterdir()}
    items = {picture_of(name) for name in ITEMS} - {f"{name}.svg" for name in drawn_items()}
    measured |= {DOCS / "pictures" / picture for picture in items if picture}
    assert {str(path.relative_to(DOCS)) for path in measured} <= set(commits())
    for name, found in commits().items():
        assert digest(DOCS / name) == found["digest"], name
        assert re.fullmatch("[0-9a-f]{10}", found["commit"])
        assert found["machine"]
    known = commits()
    for name in FAMILIES:
        shown = re.findall(r"Measured at commit (\w+) \(", site[f"networks/{name}.md"])
        files = [folder / f"{name}.{end}" for folder, end in zip(folders, ("csv", "json", "json"))]
        names = [str(path.relative_to(DOCS)) for path in files if path.exists()]
        assert shown == [known[each]["commit"] for each in names]
    assert "Measured at commit" in site["networks/index.md"]
    for name in ("data/peers.json", "data/standard-cells.json"):
        assert f"Measured at commit {known[name]['commit']} (" in site["design/boxes-cost.md"]
    commit = known["pictures/booksim.svg"]["commit"]
    assert (
        f'booksim.svg)\n\n<p class="measured">Measured at commit {commit}'
        in (site["explanation/engine.md"])
    )


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="there is no history")
def test_commits_of_measured_files_are_in_the_history() -> None:
    shallow = ["git", "rev-parse", "--is-shallow-repository"]
    if subprocess.run(shallow, cwd=ROOT, capture_output=True, text=True).stdout == "true\n":
        pytest.skip("the history is shallow")
    # A commit that was amended stays among the objects of this checkout, not of another.
    run = subprocess.run(
        ["git", "rev-list", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    history = {commit[:10] for commit in run.stdout.split()}
    assert {found["commit"] for found in commits().values()} <= history


def test_keywords_are_on_their_pages(site: dict[str, str]) -> None:
    every = [word for words in keywords().values() for word in words]
    assert len(set(every)) == len(every)
    for name, words in keywords().items():
        page = site[f"{name}.md"]
        title, index, text = page.split("\n\n", 2)
        assert title.startswith("# ")
        assert index.splitlines()[0] == f"```{{index}} {', '.join(f'! {word}' for word in words)}"
        said = re.sub(r"\W+", " ", f"{title} {text}".lower())
        assert not [word for word in words if re.sub(r"\W+", " ", word.lower()) not in said]


def test_picture_of_a_curve() -> None:
    """Measured points on both sides, and the formula where it applies."""
    curve = read_curve(CURVES / "cube.csv")
    latency, throughput = draw_curve(FAMILIES["cube"], curve).axes
    measured = latency.containers[0].lines[0]
    carried = [point for point in curve.points if not point.saturated]
    assert [*measured.get_ydata()] == [point.latency for point in carried]
    assert curve.saturation is not None
    assert "formula" in latency.get_legend_handles_labels()[1]
    assert "formula" not in throughput.get_legend_handles_labels()[1]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/tutorials/first-network.md"])
def test_install_line_is_that_of_the_project(page: str) -> None:
    line = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["multicube"]["install"]
    shown = re.findall(r"^ *((?:python3? -m )?pip install .*)$", (ROOT / page).read_text(), re.M)
    assert shown[0] == line


def test_prose_is_at_most_25_000_words() -> None:
    """Without code, tables and directives, and without the design notes; proofs have a program."""
    guide = (path for path in DOCS.rglob("*.md") if path.parent.name != "design")
    counts = {path: words_of(path.read_text()) for path in guide if path.name != "proofs.md"}
    assert sum(counts.values()) <= 25_000, sorted(counts.items(), key=lambda each: -each[1])[:5]
    assert len([path for path in (DOCS / "explanation").glob("*.md") if path.stem != "index"]) == 12


def test_glossary_is_a_list_of_definitions() -> None:
    """A definition is on a line of its own; behind the term it would be plain text."""
    _, *entries = (DOCS / "reference" / "glossary.md").read_text().strip().split("\n\n")
    assert not [entry for entry in entries if not re.match(r"[^:\n]+\n: \S", entry)]


def _table(*rows: list[str]) -> str:
    heads, *others = rows
    head = "".join(f"<th><p>{each}</p></th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{each}</td>' for each in row)}</tr>" for row in others)
    return f'<table class="table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def test_cells_of_a_wide_table_have_their_head() -> None:
    """What is empty in the first column is that of the row above, and short cells share a line."""
    long = "a word or two, or a few more"
    wide = with_labels(
        _table(["what", "n", "why", "how"], ["x", "1", long, long], ["", "2", "", "y"])
    )
    assert wide.startswith('<table class="table stacked" role="table"><thead role="rowgroup">')
    assert '<td class="brief" data-label="n" role="cell">1</td>' in wide
    assert f'<td data-label="why" role="cell">{long}</td>' in wide
    assert wide.count('data-above="x"') == 1


def test_a_narrow_table_stays_as_it_is() -> None:
    narrow = f"<p>&lt;</p>\n{_table(['k', 'n', 'nodes', 'cycles'], ['16', '2', '256', '1,024'])}"
    assert with_labels(narrow) == narrow


def test_each_proof_is_in_a_card_that_is_linked() -> None:
    text = (DOCS / PROOFS).read_text()
    pages = dict(proof_pages(text))
    index = pages.pop(PROOFS)
    assert len(pages) == len(re.findall(r"^\| component ", text, re.M)) > 8
    assert "| component |" not in index
    named = set(re.findall(r"^\| (`\w+`) \|", text, re.M))
    assert set(re.findall(r"^## (`\w+`)$", "\n".join(pages.values()), re.M)) == named
    assert set(re.findall(r"\[(`\w+`)\]\(proofs/", index)) == named
    tests = re.findall(r"`test_\w+` in test_\w+\.py", text)
    assert re.findall(r"`test_\w+` in test_\w+\.py", "\n".join(pages.values())) == tests


def test_thumbnails_have_no_letters(tmp_path: Path) -> None:
    draw(build("cube ports=4"), tmp_path / "cube.svg")
    drawing = (tmp_path / "cube.svg").read_text()
    small = without_text(drawing)
    assert '<g id="text_' in drawing
    assert '<g id="text_' not in small
    assert small.count('<g id="line') == drawing.count('<g id="line')
    assert small.count("<g ") == small.count("</g>")


def test_explanations_have_drawings() -> None:
    for path in (DOCS / "explanation").glob("*.md"):
        assert path.stem == "index" or "](../pictures/" in path.read_text(), path


def test_diagrams_are_those_of_the_program() -> None:
    for name, diagram in DIAGRAMS.items():
        assert (DOCS / "pictures" / f"{name}.svg").read_text() == str(diagram()), name


def test_every_picture_is_shown(site: dict[str, str]) -> None:
    files = {path.name for path in (DOCS / "pictures").iterdir()}
    texts = [(ROOT / "README.md").read_text(), *site.values()]
    assert not [name for name in files if not any(f"pictures/{name})" in text for text in texts)]


def test_every_item_of_a_paper_is_on_its_page(site: dict[str, str]) -> None:
    for name in ITEMS:
        page, _, anchor = place_of(name).partition("#")
        assert f"({anchor})=" in site[page], name
        assert f"multicube paper {name}" in site[page], name
    assert set(drawn_items()) <= set(ITEMS)
    assert all(picture_of(name) == f"{name}.svg" for name in drawn_items())
    assert not [name for name in drawn_items() if (DOCS / "pictures" / f"{name}.svg").exists()]


@pytest.mark.long
@pytest.mark.parametrize("name", FAMILIES)
def test_curves_can_be_run_again(name: str) -> None:
    if not (CURVES / f"{name}.csv").exists():
        pytest.skip(f"{name} is not measured: test_every_network_is_named_and_measured says so")
    record, *_ = read_records(CURVES / f"{name}.csv")
    assert not record.differences(rerun(record))


@pytest.mark.long
def test_site_is_built(tmp_path: Path) -> None:
    """Without a warning, and with no dead link."""
    pytest.importorskip("myst_parser", reason="the tools of the site are not installed")
    command = [sys.executable, "-m", "generate.site", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=DOCS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "networks" / "torus.html").read_text()
    assert "virtual channels per link" in page.lower()


def test_the_pages_of_commands_change_none_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A command keeps the help option that it makes for the first one who asks."""
    pages = dict(command_pages())
    assert "-h, --help" in pages["reference/commands/board-run.md"]
    assert "- [multicube sim](commands/sim.md): Simulate" in pages["reference/commands.md"]
    assert exit_status("export", "-h") == 0
    assert capsys.readouterr().out.startswith("Usage: multicube export")
