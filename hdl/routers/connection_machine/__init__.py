"""The router of the Connection Machine: inject, route, buffer, refer, deliver (Stanfill, 4.2).

Refer is Stanfill's word for deflection routing. The router can also combine messages that have the
same destination.
"""

from .buffer import Buffer
from .combine import Combine
from .deliver import Deliver
from .inject import Inject
from .message import Message, Slot
from .node import COMBINES, LINKS, SCHEDULES, HypercubeNode
from .payload import Moves, PayloadPart
from .refer import Refer
from .route import Route
from .seniority import PRIORITIES, Seniority
from .wires import Wires

__all__ = [
    "COMBINES",
    "LINKS",
    "PRIORITIES",
    "SCHEDULES",
    "Buffer",
    "Combine",
    "Deliver",
    "HypercubeNode",
    "Inject",
    "Message",
    "Moves",
    "PayloadPart",
    "Refer",
    "Route",
    "Seniority",
    "Slot",
    "Wires",
]
