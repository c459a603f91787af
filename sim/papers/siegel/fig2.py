"""Figure 2: the path from input 6 to output 0, by the formula, on the RTL, and in the paper."""

from collections.abc import Iterator

from ...workload.traffic import TracePacket
from ..item import Item, Options, Row
from . import SOURCE
from .fig1 import bits, crossed_links, draw_paths, sent

__all__ = ["FIG2"]

_SOURCE, _DESTINATION = 6, 0

_PUBLISHED_PATH = {
    "input": ("110", None),
    2: ("010", "exchange"),
    1: ("000", "exchange"),
    0: ("000", "straight"),
}
"""Line after each stage, and setting of the box, from the text of the paper."""


def _rows(options: Options) -> Iterator[Row]:
    source, destination = _SOURCE, _DESTINATION
    network, result = sent([TracePacket(0, source, destination)], options)
    plan = network.plan
    measured: dict[int | str, int] = {"input": source}
    for link in crossed_links(network, result):
        measured[plan.stages[link[0]].digit] = plan.line(*link)
    before = source
    for place, line in measured.items():
        row: Row = {"after": place, "measured": bits(plan, line)}
        if isinstance(place, str):
            row["predicted"] = bits(plan, source)
        else:
            # The destination's bits from the top down to this stage's, and the source's below.
            low = (1 << place) - 1
            row["predicted"] = bits(plan, destination & ~low | source & low)
            row["xor"] = (source ^ destination) >> place & 1
            row["destination"] = destination >> place & 1
            row["setting"] = "straight" if line == before else "exchange"
        row["published"], row["published_setting"] = _PUBLISHED_PATH[place]
        lines = {row["measured"], row["predicted"], row["published"]}
        row["agrees"] = len(lines) == 1 and row.get("setting") == row["published_setting"]
        yield row
        before = line


FIG2 = Item(
    "siegel-fig2",
    "Path from input 6 to output 0",
    f"{SOURCE}, III-B and III-C",
    columns="after = after stage | measured = line, RTL | predicted = formula"
    " | published = in paper | xor = XOR tag bit | destination = dest. tag bit"
    " | setting = box, RTL | published_setting = in paper | agrees",
    rows=_rows,
    draw=lambda rows: draw_paths([(_SOURCE, _DESTINATION)]),
    notes=(
        "From input 6 to output 0: XOR tag 110, destination tag 000.",
        "The line after stage i is d(n-1) ... d(i) s(i-1) ... s(0).",
    ),
    ignores=("cycles", "seed"),
)
