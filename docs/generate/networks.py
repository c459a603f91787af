"""The page of each network of the catalogue, as Markdown, and the page that lists them."""

import json
import shlex
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import multicube.hdl
from multicube.hdl import FAMILIES
from multicube.hdl.fabric.parameter_fields import Parameter
from multicube.hdl.networks.family import Family, Group
from multicube.sim.papers import ITEMS

from .commits import measured_at
from .curves import Curve, read_curve
from .figures import place_of
from .markdown import DOCS, hidden_tree, table, title_of
from .measurements import (
    CHOOSE,
    COST,
    CURVES,
    MEASURES,
    cost_command,
    curve_command,
    measure_command,
    words,
)

__all__ = [
    "about",
    "default",
    "group_of",
    "lacking",
    "network_list",
    "network_page",
    "parameters_page",
    "references",
    "rival",
    "shared_parameters",
]


_WINDOW = 2000
"""Cycles of a window of the first table."""

_MANY = 12
"""A parameter that so many families have is on a page of its own."""


@cache
def about() -> dict[str, Any]:
    """What `networks.toml` says."""
    return tomllib.loads((Path(__file__).parent / "networks.toml").read_text())


def group_of(family: Family) -> dict[str, Any]:
    """The group of a family: its further pages, its papers."""
    return about()["group"][family.group.name.lower()]


def lacking() -> str:
    """The networks whose page can't be made, and what is to be done, in one line; or nothing."""
    unmeasured = [
        name
        for name in FAMILIES
        if not ((CURVES / f"{name}.csv").exists() and (COST / f"{name}.json").exists())
    ]
    return f"measure by make docs-data: {' '.join(unmeasured)}" if unmeasured else ""


def _capital(text: str) -> str:
    """A text as a sentence begins; a symbol, as in "b-ary" or "q^2", stays small."""
    return text if text[1:2] in ("-", "^") else text[:1].upper() + text[1:]


def _command(words: Sequence[str]) -> str:
    """A command as a block that can be copied."""
    return f"```sh\n{shlex.join(words)}\n```"


def network_page(family: Family, *, drawn: bool, live: bool) -> str:
    """The page of a network.

    Parameters
    ----------
    family : Family
    drawn : bool
        Whether there is a drawing, `pictures/NAME.svg`.
    live : bool
        Whether there is a live page, `live/NAME.html` at the top of the site.
    """
    parts = [
        f"# {family.name}",
        *_introduction(family),
        *(_live(family) if live else ()),
        *(_drawing(family) if drawn else ()),
        *_measured(family),
        *_cost(family),
        *_theory(family),
        *_papers(family),
        *_further(family),
        *_parameters(family),
    ]
    return "\n\n".join(parts) + "\n"


def _introduction(family: Family) -> Iterable[str]:
    good = about()["good"].get(family.name, group_of(family)["good"])
    yield f"{_capital(family.description)}. {good}"
    network = family.build(**family.example)
    terminals = (
        f"{network.ports} terminals"
        if network.sources == network.sinks
        else f"{network.sources} sources and {network.sinks} sinks"
    )
    lines = []
    if family.aliases:
        lines.append(f"Also: {', '.join(f'`{alias}`' for alias in family.aliases)}")
    if (name := family.component.__name__) in multicube.hdl.__all__:
        lines.append(f"Class: {{py:class}}`~multicube.hdl.{name}`")
    if family.preset is not None:
        lines.append(f"Preset of: [{family.preset.family}]({family.preset.family}.md)")
    lines.append(f"Shown here: `{shlex.join(words(family))}`, with {terminals}")
    yield "\n".join(f"- {line}" for line in lines)


def _live(family: Family) -> Iterable[str]:
    address = f"../live/{family.name}.html"
    yield "## Running"
    yield (
        f'<iframe class="live" src="{address}#run&amp;plain" loading="lazy" '
        f'title="The network {family.name}, running"></iframe>'
    )
    yield (
        f'The hardware itself runs here. <a href="{address}">Open it with its controls.</a> '
        f"`{shlex.join(['multicube', 'view', *words(family)])}` writes this page."
    )


def _drawing(family: Family) -> Iterable[str]:
    command = _command(["multicube", "draw", *words(family), "-o", f"{family.name}.svg"])
    picture = f"![The network {family.name}](pictures/{family.name}.svg)"
    yield f":::{{dropdown}} As a drawing\n{picture}\n\n{command}\n:::"


def _parameters(family: Family) -> Iterable[str]:
    yield "## Parameters"
    shared = set(map(_parameter, shared_parameters()))
    own = [each for each in family.parameters if _parameter(each) not in shared]
    others = [each for each in family.parameters if _parameter(each) in shared]
    if own:
        yield parameter_table(own)
    if others:
        links = ", ".join(f"[`{each.name}`](../reference/parameters.md)" for each in others)
        yield f"As in [many networks](../reference/parameters.md): {links}."
    yield (
        "Values that do not fit together are refused in one line. In Python the parameters are "
        f'keyword arguments of `build("{family.name}", ...)`.'
    )


def parameter_table(parameters: Iterable[Parameter]) -> str:
    """Defaults, values and meanings of parameters, and what their values mean."""
    parameters = list(parameters)
    heading = ("parameter", "default", "values", "meaning")
    parts = [table(heading, [_parameter(each) for each in parameters])]
    for each in parameters:
        if each.meanings:
            parts.append(f"Values of `{each.name}`:")
            parts.append("\n".join(f"- `{name}`: {what}" for name, what in _meanings(each)))
    return "\n\n".join(parts)


def _parameter(each: Parameter) -> tuple[str, str, str, str]:
    return f"`{each.name}`", default(each), each.values, _capital(each.description)


@cache
def shared_parameters() -> tuple[Parameter, ...]:
    """The parameters that many families have, with the same default, values and meaning."""
    everywhere = [each for family in FAMILIES.values() for each in family.parameters]
    counts = Counter(map(_parameter, everywhere))
    found = {_parameter(each): each for each in everywhere if counts[_parameter(each)] >= _MANY}
    return tuple(found.values())


def parameters_page() -> str:
    """The page of shared parameters."""
    rows = sorted(shared_parameters(), key=lambda each: each.name)
    return (
        "# Parameters that networks share\n\n"
        f"At least {_MANY} families have these parameters. Each network's "
        "[page](../networks/index.md) has its own, and `multicube list NETWORK` prints all.\n\n"
        f"{parameter_table(rows)}\n"
    )


def default(parameter: Parameter) -> str:
    """The default of a parameter, as its page shows it."""
    return f"`{parameter.default}`" if parameter.default != "" else "empty"


def _meanings(parameter: Parameter) -> Iterable[tuple[str, str]]:
    return ((name, meaning) for name, meaning in parameter.meanings.items() if meaning)


def _theory(family: Family) -> Iterable[str]:
    yield "## Theory"
    yield group_of(family)["theory"]
    theory = family.build(**family.example).theory
    if theory is not None:
        model = about()["models"][theory.model]
        yield f"{model} [Where it applies.](../explanation/measurement.md#theory)"
    path = MEASURES / f"{family.name}.json"
    if path.exists():
        yield from _graph(family, json.loads(path.read_text()), measured_at(path))


def _graph(family: Family, found: dict[str, Any], small: str) -> Iterable[str]:
    """The measures of a network of nodes and links, and the small print below."""

    yield f"The graph of `{shlex.join(words(family))}`, computed:"
    yield table(
        ("measure", "value"),
        [
            ("nodes", found["nodes"]),
            ("links; those in both directions count once", found["links"]),
            ("virtual channels", found["channels"]),
            ("degree", f"{found['least_degree']} to {found['most_degree']}"),
            ("diameter", found["diameter"]),
            ("mean distance", f"{found['mean_distance']:.4g}"),
            ("fan-out time F", _bounds(found, "fan_out")),
            ("bisection width e", _bounds(found, "bisection")),
        ],
    )
    yield small
    yield _command(measure_command(family)[:-1])
    if found["formulas"]:
        yield "What Ginosar and Egozi (1989) print for it:"
        yield table(
            ("measure", "printed", "its value", "computed", "remark"),
            [
                (
                    each["measure"],
                    f"`{each['printed']}`",
                    _between(each["value"], each["value"]),
                    _between(each["lower"], each["upper"]),
                    _capital(each["why"]),
                )
                for each in found["formulas"]
            ],
        )
    yield "[What these measures are.](../papers/ginosar.md)"


def _bounds(found: dict[str, Any], name: str) -> str:
    """A number that is searched for, or what the network states of it."""
    stated = found.get(f"stated_{name}")
    bounds = found.get(name) or {"lower": stated, "upper": stated}
    return _between(bounds["lower"], bounds["upper"])


def _between(lower: float | None, upper: float | None) -> str:
    """A number, or its bounds; a dash if there is none."""
    if lower is None or upper is None:
        return "-"
    return f"{lower:.4g}" if lower == upper else f"{lower:.4g} to {upper:.4g}"


def _measured(family: Family) -> Iterable[str]:
    path = CURVES / f"{family.name}.csv"
    if not path.exists():
        return
    curve = read_curve(path)
    yield "## Measured"
    yield f"![Latency and throughput of {family.name} by load](pictures/{family.name}-curve.svg)"
    yield _summary(curve)
    yield measured_at(path)
    other = rival(family)
    if other is not None:
        yield f"The grey curve is that of [`{other}`]({other}.md), as on its own page."
    yield _command([*curve_command(family), "-o", f"{family.name}.csv"])
    yield (
        f"[The table.](../data/curves/{family.name}.csv) `multicube rerun {family.name}.csv` runs "
        "it again, and compares all numbers."
    )


def rival(family: Family) -> str | None:
    """The network whose curve stands beside that of a family."""
    name = str(group_of(family)["rival"])
    return name if name != family.name and (CURVES / f"{name}.csv").exists() else None


def _summary(curve: Curve) -> str:
    lines = [
        "Uniform traffic. Bars are 99 % confidence intervals; hollow points are saturated. "
        f"At a load of {curve.points[0].load:g} the mean latency is "
        f"{curve.points[0].latency:.2f} cycles."
    ]
    if curve.saturation is None:
        lines.append("The network carries every load up to the highest one measured.")
    else:
        lines.append(
            f"It saturates from a load of about {curve.saturation:.3g} on, and delivers at most "
            f"{max(point.throughput for point in curve.points):.3f} packets per terminal per cycle."
        )
    return " ".join(lines)


def _cost(family: Family) -> Iterable[str]:
    path = COST / f"{family.name}.json"
    if not path.exists():
        return
    found = json.loads(path.read_text())
    area, stored = found["area"], found["storage"]
    tools = ", ".join(f"{name} {version}" for name, version in found["tools"].items())
    yield "## Cost in an FPGA"
    yield (
        f"The whole network `{shlex.join(words(family))}` in a {found['device']['part']}, "
        f"by {tools}:"
    )
    yield table(
        ("primitives", "number"),
        [
            ("4-input tables in all", f"{area['tables']:,}"),
            ("of these for logic", f"{area['luts']:,}"),
            ("memories of 16 x 4 bits in tables", f"{area['lut_rams']:,}"),
            ("flip-flops", f"{area['flip_flops']:,}"),
            ("block memories", f"{area['block_rams']:,}"),
            ("bits that must be stored", f"{stored['bits']:,}"),
        ],
    )
    yield measured_at(path)
    yield _command(cost_command(family)[:-1])
    yield (
        "[How it is measured](../how-to/synthesis.md), and "
        "[single boxes and routers](../design/boxes-cost.md)."
    )


def _papers(family: Family) -> Iterable[str]:
    keys = dict.fromkeys([*family.papers, *group_of(family)["papers"]])
    items = [ITEMS[name] for name in group_of(family)["items"]]
    if not (keys or items):
        return
    yield "## Papers"
    if keys:
        yield "\n".join(f"- {about()['works'][key]}" for key in keys)
    if items:
        yield "Figures and tables that the library regenerates:"
        yield "\n".join(
            f"- [{item.title}](../{place_of(item.id)}) ({item.source})" for item in items
        )


def _further(family: Family) -> Iterable[str]:
    yield "## Read on"
    yield "\n".join(f"- [{title_of(page)}](../{page}.md)" for page in group_of(family)["read"])


def network_list(drawn: Collection[str]) -> str:
    """The page that lists all networks, with the drawings of those in `drawn`."""
    parts = [
        "# Networks",
        "Each network of the catalogue has a page with the running hardware, a measured curve, the "
        "cost in an FPGA, the theory, the papers and the parameters. The pages show small "
        "examples; the networks of this table have about 64 terminals.",
        "## Which one?",
        _which(drawn),
        measured_at(*_chosen_files()),
        f"*Diameter and bisection count links between switches; a one-way link is half a link of "
        f"the bisection. Saturation is the load, in packets per terminal per cycle, from which on "
        f"uniform traffic of single flits waits longer and longer, in windows of {_WINDOW:,} "
        f"cycles. Tables are the look-up tables of all boxes or "
        f"routers in an ECP5, with payloads of 16 bits: one of each kind is synthesised, and "
        f"multiplied by their number. `make docs-data` measures all of it. "
        f"[How to choose.](../how-to/choose.md)*",
    ]
    for group in Group:
        families = [family for family in FAMILIES.values() if family.group is group]
        cards = "\n\n".join(_card(family, family.name in drawn) for family in families)
        parts += [
            f"## {group.value}",
            f"::::{{grid}} 1 2 2 3\n:gutter: 3\n\n{cards}\n::::",
            hidden_tree((family.name for family in families), group.value),
        ]
    parts.append(hidden_tree((f"../{page}" for page in _deeper()), "In depth"))
    return "\n\n".join(parts) + "\n"


def _deeper() -> Iterable[str]:
    """The pages on kinds of networks that are written by hand: in `families`, and at the top."""
    found = sorted([*DOCS.glob("*.md"), *(DOCS / "families").glob("*.md")])
    pages = (str(path.relative_to(DOCS).with_suffix("")) for path in found)
    return (page for page in pages if page not in ("index", "promises"))


def _which(drawn: Collection[str]) -> str:
    """The first table: networks of one size, and when to choose which."""
    rows = []
    for name, (size, when) in about()["choose"].items():
        picture = f"![{name}](pictures/{name}-small.svg)" if name in drawn else ""
        rows.append((picture, f"[{name}]({name}.md) `{size}`", *_chosen_measures(name), when))
    measured = ("diameter", "bisection", "saturation", "FPGA tables")
    heading = ("picture", "network", *measured, "choose it when")
    return f":::{{div}} which\n{table(heading, rows)}\n:::"


def _chosen_files() -> Iterable[Path]:
    """What the first table is made of."""
    for name in about()["choose"]:
        yield from (CHOOSE / f"{name}{end}" for end in (".json", ".csv", "-area.json"))


def _chosen_measures(name: str) -> tuple[str, str, str, str]:
    """Diameter, bisection, saturation and look-up tables of a network of the first table."""
    area = CHOOSE / f"{name}-area.json"
    measures, curve = CHOOSE / f"{name}.json", CHOOSE / f"{name}.csv"
    found = json.loads(measures.read_text()) if measures.exists() else {}
    saturation = read_curve(curve).saturation if curve.exists() else None
    return (
        str(found.get("diameter", "-")),
        _bounds(found, "bisection"),
        "none" if saturation is None else f"{saturation:.2f}",
        f"{json.loads(area.read_text())['tables']:,}" if area.exists() else "-",
    )


def _card(family: Family, drawn: bool) -> str:
    """What the list shows of a network."""
    picture = f":img-top: pictures/{family.name}-small.svg\n" if drawn else ""
    return (
        f":::{{grid-item-card}} {family.name}\n{picture}:link: {family.name}\n:link-type: doc\n"
        f":class-card: thumbnail\n\n{_capital(family.description)}\n:::"
    )


def references() -> str:
    """The page of all works."""
    works = "\n".join(f"- {work}" for work in sorted(about()["works"].values()))
    return f"# References\n\n{works}\n"
