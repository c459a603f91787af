"""Requests and replies in hardware, between terminals that have room for few replies."""

from dataclasses import asdict, dataclass
from typing import Any

from ...hdl.bench.replying_terminal import ReplyBench
from ...hdl.fabric.checks import check_integer, check_kind
from ...hdl.networks.packet_network import PacketNetwork
from ..engines.engine_selection import open_engines, resolve_engine
from .run_steps import patience

__all__ = ["ReplyRun", "run_replies"]


@dataclass(frozen=True)
class ReplyRun:
    """What became of requests.

    Attributes
    ----------
    cycles : int
        Cycles in which terminals sent requests.
    requested, received : int
        Requests that the network took, and replies that arrived.
    stuck : bool
        Whether requests are left that can't move any more: a deadlock.
    """

    cycles: int
    requested: int
    received: int
    stuck: bool

    def __str__(self) -> str:
        end = "then nothing moves any more: it is locked up" if self.stuck else "all are answered"
        return (
            f"in hardware: {self.requested} requests in {self.cycles} cycles, "
            f"{self.received} replies, {end}"
        )

    def to_json(self) -> dict[str, Any]:
        """All fields as numbers and truth values.

        Returns
        -------
        dict[str, Any]
            Of JSON's types.
        """
        return asdict(self)


def run_replies(
    network: PacketNetwork,
    reply: tuple[int, int] = (0, 0),
    *,
    depth: int = 2,
    cycles: int = 2000,
    seed: int = 1,
    engine: str = "auto",
) -> ReplyRun:
    """Let all terminals send requests as fast as they can, and answer the requests that they get.

    A terminal takes a request only while it has room for the reply (`ReplyingTerminal`). After
    some cycles no more requests are sent, and all must be answered.

    Parameters
    ----------
    network : PacketNetwork
        Its packets may have one flit.
    reply : tuple[int, int]
        The classes of requests and of replies.
    depth : int
        Replies that wait at a terminal.
    cycles : int
        Cycles in which requests are sent.
    seed : int
        Seed of the random destinations.
    engine : str
        `auto`, `compiled`, `amaranth` or `verilator`.

    Returns
    -------
    ReplyRun
        How many were sent and answered, and whether all stopped.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or packets can't be of one flit.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import run_replies
    >>> run_replies(build("torus", k=2, n=1, classes=2), (0, 1), cycles=50).stuck
    False
    """
    check_kind("Network", network, PacketNetwork, "a network of packets")
    depth = check_integer("Depth", depth, 1, 2**16)
    cycles = check_integer("Cycles", cycles, 1, 2**24)
    seed = check_integer("Seed", seed, 0, 2**32 - 1)
    bench = ReplyBench(network, reply=reply, depth=depth, seed=seed)
    (opened,) = open_engines(resolve_engine(engine), [bench])
    with opened as running:

        def count(port: str) -> int:
            return sum(running.read(bench.terminals, port))

        running.set("send", 1)
        running.step(cycles)
        running.set("send", 0)
        received, still = -1, 0
        while count("received") < count("requested") or still < 2:
            if count("received") == received:
                still += 1
                if still == 2:
                    break
            else:
                received, still = count("received"), 0
            running.step(patience(network))
        requested, received = count("requested"), count("received")
    return ReplyRun(cycles, requested, received, received < requested)
