"""Layouts of networks on a grid of wires, with coordinates: their area and lengths of wires."""

from .columns import Connection, Side, columns
from .left_edge import left_edge
from .lines import lines
from .wire_grid import Layout, Square, Wire

__all__ = ["Connection", "Layout", "Side", "Square", "Wire", "columns", "left_edge", "lines"]
