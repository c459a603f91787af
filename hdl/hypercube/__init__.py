"""The router of the Connection Machine: inject, route, buffer, refer, deliver (Stanfill, 4.2)."""

from .buffer import Buffer
from .deliver import Deliver
from .inject import Inject
from .message import Message, Slot
from .node import LINKS, SCHEDULES, HypercubeNode
from .refer import Refer
from .route import Route
from .seniority import PRIORITIES, Seniority
from .wires import Wires

__all__ = [
    "LINKS",
    "PRIORITIES",
    "SCHEDULES",
    "Buffer",
    "Deliver",
    "HypercubeNode",
    "Inject",
    "Message",
    "Refer",
    "Route",
    "Seniority",
    "Slot",
    "Wires",
]
