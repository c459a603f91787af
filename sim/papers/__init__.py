"""The papers' figures, tables and formulas, regenerated: each as a table and a picture.

The name of an item is its paper and its number there. The name of its module begins with the paper:
`siegel_*.py` for Siegel et al., `stanfill_*.py` for Stanfill, `dcsh_*.py` for Ould-Khaoua and
Sotudeh, `ginosar_*.py` for Ginosar and Egozi, `dandamudi_*.py` for Dandamudi and Eager.
`combining_*.py` are our own measurements of claims about combining in Siegel et al. Each module
lists its items in `ITEMS`.
"""

import re

from ...hdl.fabric.checks import nearest
from ...hdl.fabric.errors import InvalidValue
from . import (
    combining_hotspot,
    combining_latency,
    dandamudi_queueing,
    dandamudi_replication,
    dandamudi_silicon,
    dandamudi_simulated,
    dandamudi_static,
    dcsh_figures,
    ginosar_figures,
    ginosar_prediction,
    ginosar_silicon,
    ginosar_steps,
    ginosar_tables,
    siegel_bandwidth,
    siegel_box_size,
    siegel_depth,
    siegel_dilation,
    siegel_enhanced,
    siegel_layout,
    siegel_lssn,
    siegel_machines,
    siegel_partitions,
    siegel_reliability,
    siegel_shared_memory,
    siegel_single_stage,
    siegel_structure,
    siegel_tags,
    siegel_waiting,
    stanfill_fan,
    stanfill_hypercube,
    stanfill_router,
    stanfill_survey,
)
from .item import Column, Item, Options, PaperResult

__all__ = ["ITEMS", "Column", "Item", "Options", "PaperResult", "find_item"]

_MODULES = (
    siegel_structure,
    siegel_tags,
    siegel_partitions,
    siegel_reliability,
    siegel_enhanced,
    siegel_bandwidth,
    siegel_box_size,
    siegel_waiting,
    siegel_depth,
    siegel_dilation,
    siegel_machines,
    siegel_single_stage,
    siegel_lssn,
    siegel_shared_memory,
    siegel_layout,
    combining_hotspot,
    combining_latency,
    stanfill_fan,
    stanfill_hypercube,
    stanfill_router,
    stanfill_survey,
    dcsh_figures,
    ginosar_figures,
    ginosar_tables,
    ginosar_steps,
    ginosar_prediction,
    ginosar_silicon,
    dandamudi_static,
    dandamudi_queueing,
    dandamudi_replication,
    dandamudi_simulated,
    dandamudi_silicon,
)


def _order(item: Item) -> list[str | int]:
    """Sort key: paper, kind, and number, so that fig9 precedes fig10."""
    return [int(word) if word.isdecimal() else word for word in re.split(r"(\d+)", item.id)]


ITEMS: dict[str, Item] = {
    item.id: item
    for item in sorted((item for module in _MODULES for item in module.ITEMS), key=_order)
}
"""All items by name."""


def find_item(name: str) -> Item:
    """The item with this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in ITEMS:
        raise InvalidValue(
            f"Item must be one of {', '.join(ITEMS)}, not {name!r}{nearest(name, ITEMS)}"
        )
    return ITEMS[name]
