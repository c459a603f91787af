"""Values of a parametrised test that only `make test-long` tries."""

from typing import Any

import pytest
from multicube.hdl import FAMILIES

__all__ = ["ALIKE", "families", "long"]

ALIKE = {name for name, family in FAMILIES.items() if family.preset is not None} | {
    *("baseline", "butterfly", "flip", "indirect-cube", "mesh", "ring", "sw-banyan"),
    *("fat-tree", "hyperx", "kautz", "de-bruijn", "express-mesh", "cube-connected-cycles"),
    *("complete", "star", "tree", "chordal-ring", "psnn", "pse", "leiserson-fat-tree"),
    *("slim-fly", "polarfly", "megafly", "hexa-mesh", "folded-hexa-torus", "twisted-torus"),
    *("generalized-chordal-ring", "x-tree", "mesh-of-trees", "linear-array"),
    *(
        "spanning-bus-hypercube",
        "dual-bus-hypercube",
        "lens",
        "data-manipulator",
        "dynamic-redundancy",
    ),
    *("hypertree", "tree-of-meshes"),
    *("man-yo", "lambda", "omega", "processor-memory", "graph"),
    *("clos", "five-stage-clos", "benes", "hierarchical"),
    *("bh-bh", "bh-br", "bh-cc", "bh-ccc", "cc-br"),
}
"""Networks that have the cells of another one: presets, other wirings of boxes, other graphs for
the routers and tables of `dragonfly`, or for the gates of `lssn`. Of tests that compile
an engine for each network, short runs leave these out."""


def long(*values: Any, **options: Any) -> Any:
    """What `pytest.param` makes of values and options, marked as long."""
    return pytest.param(*values, **options, marks=pytest.mark.long)


def families(*others: str) -> list[Any]:
    """The names of all families; those of networks that are `ALIKE`, and of others, for long runs
    only."""
    return [long(name) if name in {*ALIKE, *others} else name for name in FAMILIES]
