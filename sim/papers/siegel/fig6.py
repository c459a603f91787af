"""Figure 6: the permutation of input j to output j - 1 modulo N, passed at once."""

from collections.abc import Iterator

from ....hdl.graphs.permutations import cyclic_shift
from ....hdl.graphs.schedules.passes import settings, state_name
from ...workload.traffic import TracePacket
from ..item import Item, Options, Row
from . import SOURCE
from .fig1 import PORTS, box_label, crossed_links, draw_paths, sent

__all__ = ["FIG6"]

_PERMUTATION = cyclic_shift(PORTS, -1)


def _rows(options: Options) -> Iterator[Row]:
    packets = (TracePacket(0, *pair) for pair in enumerate(_PERMUTATION))
    network, result = sent(packets, options)
    plan = network.plan
    crossed = crossed_links(network, result)
    for s, column in enumerate(settings(plan, _PERMUTATION)):
        for box, setting in enumerate(column):
            yield {
                "stage": plan.stages[s].digit,
                "box": box_label(plan, s, box),
                "setting": state_name(setting),
                "crossed": sum(link[:2] == (s, box) for link in crossed),
                "note": f"RTL: {result.delivered} packets sent in one cycle, input j to output "
                f"j - 1 modulo {PORTS}, all arrive; the slowest after {result.latency.max} cycles "
                f"(no conflict: {network.stages}).",
            }


FIG6 = Item(
    "siegel-fig6",
    "Permutation of input j to output j - 1 modulo N, N = 8",
    f"{SOURCE}, V",
    columns="stage | box = box of lines | setting | crossed = outputs used, RTL",
    rows=_rows,
    draw=lambda rows: draw_paths(enumerate(_PERMUTATION), "C0"),
    notes=lambda rows, options: (rows[0]["note"],),
    ignores=("cycles", "seed"),
)
