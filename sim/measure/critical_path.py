"""The critical path of a workload: what its length consists of."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ...hdl.fabric.parameters import plain_values
from ..workload.workload import WorkloadMessage

__all__ = ["Flow", "MessageTimes", "PathPart", "WorkloadRun", "critical_chain", "critical_path"]


class Flow(NamedTuple):
    """What messages of equal cost have in common."""

    source: int
    destination: int
    length: int


@dataclass(frozen=True)
class MessageTimes:
    """The times of a message of a workload, in cycles from 0 on.

    Attributes
    ----------
    message : WorkloadMessage
        The message.
    ready : int
        The first cycle in which it could be sent: the messages that it depends on have arrived, and
        its delay has passed. For a computation, the first cycle after it.
    sent, left : int
        When the network took its first flit, and its last.
    arrived : int
        When its last flit arrived. For a computation all three are its last cycle.
    """

    message: WorkloadMessage
    ready: int
    sent: int
    left: int
    arrived: int

    def known_at(self, terminal: int) -> int:
        """The cycle in which it comes for what depends on it at a terminal.

        Parameters
        ----------
        terminal : int
            Its source or its destination.

        Returns
        -------
        int
            The cycle.
        """
        return self.arrived if self.message.destination == terminal else self.left

    def to_json(self) -> dict[str, Any]:
        """The message and its times as plain lists, numbers and strings.

        Returns
        -------
        dict[str, Any]
            The values by name.
        """
        times = {name: getattr(self, name) for name in ("ready", "sent", "left", "arrived")}
        return {**asdict(self.message), "after": [*self.message.after], **times}


@dataclass(frozen=True)
class PathPart:
    """A message of the critical path, and the causes of its cycles.

    Attributes
    ----------
    id : int
        The id of the message.
    compute : int
        Cycles of its delay.
    wait : int
        Cycles of waiting, at its source and in the network, compared with an idle network.
    hop : int
        Cycles of a message of one flit in an idle network. 0 if the next message of the path only
        waits until this one has left.
    serialisation : int
        Cycles that its other flits add. If the next message only waits until this one has left: all
        its flits.
    """

    id: int
    compute: int
    wait: int
    hop: int
    serialisation: int


@dataclass(frozen=True)
class WorkloadRun:
    """The result of a workload.

    Attributes
    ----------
    network : str
        Family.
    parameters : dict[str, Any]
        Parameters of the network.
    engine : str
        The engine that was used.
    workload : str
        Name of the workload.
    cycles : int
        From cycle 0 until the last message has arrived: the sum of all parts of the critical path.
    messages : list[MessageTimes]
        In the order of the workload.
    critical_path : list[PathPart]
        Each message delays the next, and the last ends the workload.
    """

    network: str
    parameters: dict[str, Any]
    engine: str
    workload: str
    cycles: int
    messages: list[MessageTimes]
    critical_path: list[PathPart]

    def __repr__(self) -> str:
        return f"<WorkloadRun of {len(self.messages)} messages in {self.cycles} cycles>"

    @property
    def shares(self) -> dict[str, int]:
        """Cycles of the critical path by what they were; their sum is `cycles`."""
        kinds = ("compute", "wait", "hop", "serialisation")
        return {kind: sum(getattr(part, kind) for part in self.critical_path) for kind in kinds}

    def to_json(self) -> dict[str, Any]:
        """All fields and `shares` as plain lists, dictionaries, numbers and strings.

        Returns
        -------
        dict[str, Any]
            The values by name.
        """
        return {
            "network": self.network,
            "parameters": plain_values(self.parameters),
            "engine": self.engine,
            "workload": self.workload,
            "cycles": self.cycles,
            "shares": self.shares,
            "critical_path": [asdict(part) for part in self.critical_path],
            "messages": [times.to_json() for times in self.messages],
        }


def critical_chain(messages: Sequence[MessageTimes]) -> list[MessageTimes]:
    """The messages of the critical path, the first one first.

    It ends with the message that arrives last. Before a message stands the one among those that it
    depends on that came last; of several, the first in its `after`.
    """
    known = {times.message.id: times for times in messages}
    chain = [max(messages, key=lambda times: times.arrived)]
    while after := chain[-1].message.after:
        here = chain[-1].message.source
        chain.append(max((known[other] for other in after), key=lambda each: each.known_at(here)))
    return chain[::-1]


def critical_path(chain: Sequence[MessageTimes], alone: Mapping[Flow, int]) -> list[PathPart]:
    """The parts of a chain; `alone` has the cycles of its messages, and of ones of one flit."""
    parts = []
    for place, times in enumerate(chain):
        message = times.message
        after = chain[place + 1].message.source if place + 1 < len(chain) else message.destination
        flow, taken = (
            Flow(message.source, message.destination, message.length),
            times.known_at(after),
        )
        if message.is_computation:
            hop = serialisation = 0
        elif after == message.destination:
            hop = alone[flow._replace(length=1)]
            serialisation = alone[flow] - hop
        else:
            hop, serialisation = 0, message.length
        wait = taken + 1 - times.ready - hop - serialisation
        parts.append(PathPart(message.id, message.delay, wait, hop, serialisation))
    return parts
