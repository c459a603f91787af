"""Figure 3: the broadcast from 0 to 4, 5, 6 and 7, by destination tag 100 and mask 011."""

from collections.abc import Iterator

from ....hdl.graphs.plans.multistage import Hop, MultistagePlan
from ...workload.traffic import TracePacket
from ..item import Item, Options, Row
from . import SOURCE
from .fig1 import bits, box_label, box_state_name, crossed_links, draw_paths, sent, states_of

__all__ = ["FIG3", "broadcast_hops"]

_SOURCE, _TAG, _MASK = 0, 0b100, 0b011


def broadcast_hops(plan: MultistagePlan, source: int, tag: int, mask: int) -> list[Hop]:
    """The boxes that a broadcast passes in a cube; where the mask is 1, it takes both outputs."""
    hops = []
    lines = {source}
    for s, stage in enumerate(plan.stages):
        reached = set()
        both = mask >> stage.digit & 1
        for line in sorted(lines):
            box, port = plan.port(s, line)
            for output in (0, 1) if both else (tag >> stage.digit & 1,):
                hops.append(Hop(s, box, port, output))
                reached.add(plan.line(s, box, output))
        lines = reached
    return hops


def _rows(options: Options) -> Iterator[Row]:
    packet = TracePacket(0, _SOURCE, _TAG, mask=_MASK)
    network, result = sent([packet], options, broadcast=1)
    plan = network.plan
    hops = broadcast_hops(plan, _SOURCE, _TAG, _MASK)
    crossed = crossed_links(network, result)
    reached = [output for output, count in enumerate(result.terminals["delivered"]) if count]
    for (s, box), state in states_of(plan, hops).items():
        i = plan.stages[s].digit
        outputs = [link for link in crossed if link[:2] == (s, box)]
        expected = [(*hop[:2], hop.output) for hop in hops if hop[:2] == (s, box)]
        yield {
            "stage": i,
            "box": box_label(plan, s, box),
            "tag": _TAG >> i & 1,
            "mask": _MASK >> i & 1,
            "setting": box_state_name(state),
            "measured": ", ".join(bits(plan, plan.line(*link)) for link in outputs),
            "predicted": ", ".join(bits(plan, plan.line(*link)) for link in expected),
            "reached": reached,
        }


FIG3 = Item(
    "siegel-fig3",
    "Broadcast from input 0 to outputs 4, 5, 6 and 7",
    f"{SOURCE}, III-B and III-C",
    columns="stage | box = box of lines | tag = tag bit | mask = mask bit | setting"
    " | measured = lines after it, RTL | predicted = by tag and mask",
    rows=_rows,
    draw=lambda rows: draw_paths([(_SOURCE, output) for output in rows[0]["reached"]]),
    notes=lambda rows, options: (
        f"Destination tag {_TAG:03b}, broadcast mask {_MASK:03b}, from input {_SOURCE}.",
        f"Outputs reached on the RTL: {', '.join(map(str, rows[0]['reached']))}; published: 4, 5, "
        "6, 7.",
    ),
    ignores=("cycles", "seed"),
)
