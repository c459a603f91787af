"""Which box a multistage network is made of, and what belongs between boxes and terminals."""

from collections.abc import Mapping
from typing import Any

from ..fabric import CellType
from ..interfaces.circuit import CircuitInitiator, CircuitResponder
from ..interfaces.resubmission import Acceptor, Resubmitter
from ..interfaces.retry import RetryInterface, RetryReceiver
from ..packet import Packet
from ..switches import InputQueuedSwitch, OutputQueuedSwitch
from ..switches.circuit import CircuitBox
from ..switches.rejecting_wormhole import RejectingWormholeSwitch
from ..switches.unbuffered import UnbufferedSwitch
from ..switches.wormhole import CutThroughSwitch, WormholeSwitch
from ..topology.tags import TagScheme

__all__ = ["Ends", "box_types", "end_types"]

Ends = tuple[tuple[str, CellType], tuple[str, CellType]]
"""Name and type of the cells in front of the first boxes, and of those behind the last ones."""


def box_types(
    given: Mapping[str, Any], packet: Packet, stages: int, longest: int
) -> list[CellType]:
    """The type of the boxes of each stage.

    Parameters
    ----------
    given : Mapping[str, Any]
        The network's parameters.
    packet : Packet
        As the boxes see it.
    stages : int
    longest : int
        Most flits of a packet.
    """
    if given["switch"] != "unbuffered":
        return [_box(given, packet, longest)] * stages
    inside = given["dilation"]
    return [
        CellType(
            UnbufferedSwitch,
            packet=packet,
            radix=given["radix"],
            routing=given["routing"],
            dilation_in=1 if stage == 0 else inside,
            dilation_out=1 if stage == stages - 1 else inside,
            reject=stages if given["resubmit"] else 0,
        )
        for stage in range(stages)
    ]


def _box(given: Mapping[str, Any], packet: Packet, longest: int) -> CellType:
    common = {"packet": packet, "radix": given["radix"], "routing": given["routing"]}
    queue = {
        "depth": given["depth"],
        "refill": {"auto": None, "yes": True, "no": False}[given["refill"]],
    }
    match given["switch"], given["policy"]:
        case "circuit", policy:
            limit = given["hold_limit"] if policy == "modified-hold" else 1
            return CellType(CircuitBox, policy=policy, hold_limit=limit, **common)
        case "wormhole", "drop":
            return CellType(RejectingWormholeSwitch, **common)
        case "wormhole", _:
            return CellType(WormholeSwitch, **common, **queue)
        case "cut-through", _:
            size = {"depth": given["depth"], "length": longest}
            return CellType(CutThroughSwitch, queues=given["queues"], **common, **size)
        case "output-queued", _:
            return CellType(OutputQueuedSwitch, **common, **queue)
        case _:
            return CellType(InputQueuedSwitch, **common, **queue)


def end_types(
    given: Mapping[str, Any], packet: Packet, tags: TagScheme, stages: int, longest: int
) -> Ends | None:
    """The network interfaces that the boxes need at the terminals, if any.

    Parameters
    ----------
    given, stages, longest
        As in `box_types`.
    packet : Packet
        As the terminals see it.
    tags : TagScheme
    """
    resubmit = given["resubmit"]
    match given["switch"], given["policy"]:
        case "circuit", _:
            return (
                ("initiator", CellType(CircuitInitiator, packet=packet, delay=resubmit)),
                ("responder", CellType(CircuitResponder, packet=packet, tags=tags)),
            )
        case "wormhole", "drop":
            retry = {"length_max": longest, "delay": resubmit, "stages": stages}
            return (
                ("retry", CellType(RetryInterface, packet=packet, **retry)),
                ("receiver", CellType(RetryReceiver, packet=packet)),
            )
        case "unbuffered", _ if resubmit:
            return (
                (
                    "resubmitter",
                    CellType(Resubmitter, packet=packet, stages=stages, delay=resubmit),
                ),
                ("acceptor", CellType(Acceptor, packet=packet)),
            )
        case _:
            return None
