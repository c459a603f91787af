"""Programs for the processors of a combining network, run against its hardware.

A program is a generator. It yields an action, and is resumed with the result:

- a `Request`: resumed with the old value of the word, from 0 to 2^width - 1, or with None if the
  operation fetches nothing;
- a list of requests, sent in this order, as many at a time as the network's processors may have
  outstanding: resumed with the list of all replies, in the same order;
- a `Pause`: resumed after that many cycles, with the number of the current cycle.

The program's return value is its result. Programs share only the memory. Computation between two
yields takes no simulated time.

>>> from multicube.hdl import CombiningNetwork
>>> from multicube.sim import Request, run_programs
>>> def worker():
...     ticket = yield Request("fetch-and-add", word=3, operand=1)
...     return ticket
>>> run = run_programs(CombiningNetwork(2), [worker() for _ in range(2)], engine="amaranth")
>>> sorted(run.results), run.memory[3], sum(run.combined), run.serializable
([0, 1], 2, 1, True)
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import GEN_CREATED, getgeneratorstate
from types import GeneratorType
from typing import Any

from ...hdl.bench import ProgramBench
from ...hdl.fabric.checks import check_integer, check_kind, check_several, shown
from ...hdl.fabric.errors import InvalidType, InvalidValue
from ...hdl.networks.memory_network import MemoryNetwork
from ...hdl.networks.network import Network
from ..engines.engine_selection import open_engines
from ..measure.serial_order import Access, is_serializable
from .program_requests import Program
from .program_runner import ProgramRunner
from .run import LONGEST

__all__ = ["ProgramRun", "run_programs"]


@dataclass(frozen=True)
class ProgramRun:
    """The result of running programs.

    Attributes
    ----------
    engine : str
        The engine that was used.
    cycles : int
        Cycles until the last program ended.
    results : list
        The return value of each program.
    memory : list[int]
        Final value of each word.
    history : dict[int, list[Access]]
        For each word that was requested, all accesses in the order in which the network accepted
        them (`sent`). `answered` is the cycle in which the first word of the reply arrived.
    requests : int
        Number of requests.
    memory_requests : int
        Requests that reached a memory module, including combined ones.
    combined : list[int]
        By stage: requests that were absorbed there by another request.
    width : int
        Width of a word in bits.
    initial : dict[int, int]
        Words that were not zero at the beginning.
    row_words : int
        Words in a row of memory. If there are two, `history` is by the first of them.
    """

    engine: str
    cycles: int
    results: list[Any]
    memory: list[int]
    history: dict[int, list[Access]]
    requests: int
    memory_requests: int
    combined: list[int]
    width: int
    initial: dict[int, int]
    row_words: int = 1

    def __repr__(self) -> str:
        done = f"{sum(self.combined)} combined, {self.memory_requests} reached the memory"
        return (
            f"<ProgramRun of {len(self.results)} programs: {self.requests} requests, {done}, in "
            f"{self.cycles} cycles>"
        )

    @property
    def share_combined(self) -> float:
        """Share of the requests that were absorbed by another before they reached the memory."""
        return sum(self.combined) / self.requests if self.requests else 0.0

    @cached_property
    def serializable(self) -> bool:
        """Whether every word behaved as if its operations were performed one at a time, each at
        some time after it was sent and before it was answered (`serial_order`).

        Raises
        ------
        MulticubeError
            If this could not be determined.
        """
        initial = [self.initial.get(word, 0) for word in range(len(self.memory))]
        return is_serializable(
            self.history,
            width=self.width * self.row_words,
            initial={word: self._row(initial, word) for word in self.history},
            final={word: self._row(self.memory, word) for word in self.history},
        )

    def _row(self, words: Sequence[int], first: int) -> int:
        """The value of a row of memory, as one number."""
        row = words[first : first + self.row_words]
        return sum(value << at * self.width for at, value in enumerate(row))


def run_programs(
    network: MemoryNetwork,
    programs: Sequence[Program],
    *,
    engine: str = "auto",
    memory: Mapping[int, int] | None = None,
    limit: int = 10_000,
    cycles: int = 10_000_000,
) -> ProgramRun:
    """Run a program on each processor of a network, until all have ended.

    At the beginning of each cycle, all programs that have what they waited for are resumed; their
    requests are offered in the same cycle. A program resumes in the cycle after the last word of
    its reply. With messages of one word, a request that is never blocked therefore takes 2 n + 2
    cycles of a program's time, where n is the number of stages. In a network with several paths,
    all requests for word a take path number a // N mod paths (of a row of two words: with the row's
    number in the place of a).

    Parameters
    ----------
    network : MemoryNetwork
        A network of processors and memory.
    programs : Sequence[Program]
        Programs of the first processors, that have not begun; there may be fewer programs than
        processors.
    engine : str
        "compiled" (a C program), "amaranth", "verilator", or "auto": "compiled" if there is a C
        compiler. All give the same numbers.
    memory : Mapping[int, int], optional
        Initial values of words, from 0 to 2^width - 1; other words are zero.
    limit : int
        Cycles without any reply, while requests are outstanding, after which the run is given up.
    cycles : int
        Maximum length of the run, 1 to 2^31.

    Returns
    -------
    ProgramRun
        What the programs returned, and what the memory holds.

    Raises
    ------
    ProgramsStuck
        If no reply comes, or programs have not ended after `cycles`. The message lists the
        processors that wait, and for what.
    TypeError, ValueError
        If a program yields anything but requests, lists of them and pauses, or a request that
        the network does not support.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import Request, run_programs
    >>> def take_ticket():
    ...     ticket = yield Request("fetch-and-add", word=0, operand=1)
    ...     return ticket
    >>> run = run_programs(build("combining", ports=2), [take_ticket(), take_ticket()])
    >>> sorted(run.results), run.memory[0]
    ([0, 1], 2)
    """
    if not isinstance(network, Network) or not network.has_memory:
        raise InvalidType(f"Network must be one with memory, not {shown(network)}")
    programs = check_several("Programs", programs, "generators")
    for program in programs:
        if not isinstance(program, Generator):
            raise InvalidType(f"Program must be a generator, not {shown(program)}")
        if isinstance(program, GeneratorType) and getgeneratorstate(program) != GEN_CREATED:
            raise InvalidValue("Program must be a generator that has not begun, new for each run")
    if not 0 < len(programs) <= network.ports:
        raise InvalidValue(f"Programs must be from 1 to {network.ports}, not {len(programs)}")
    if len({id(program) for program in programs}) < len(programs):
        raise InvalidValue("Programs must be different generators, not one for several processors")
    limit = check_integer("Limit", limit, 1)
    cycles = check_integer("Cycles", cycles, 1, LONGEST)
    width = network.parameters["width"]
    check_kind("Memory", memory, Mapping | None, "a mapping of words to values")
    initial = dict(memory or {})
    for word, value in initial.items():
        network.locate(word)
        value = check_integer("Value", value, 0, (1 << width) - 1)

    bench = ProgramBench(network, initial)
    (opened,) = open_engines(engine, [bench])
    runner = ProgramRunner(bench, opened, programs, limit, cycles)
    runner.run()

    history: dict[int, list[Access]] = {}
    for sent in runner.taken:
        first = sent.word - sent.word % network.row_words
        history.setdefault(first, []).append(sent.access())
    meters = bench.meters.get("combined", {})
    modules = [opened.memory(bench.memory_cell(n), "words") for n in range(network.ports)]
    return ProgramRun(
        engine=opened.name,
        cycles=runner.now,
        results=[processor.result for processor in runner.processors],
        memory=network.words(modules),
        history=history,
        requests=len(runner.taken),
        memory_requests=sum(opened.read(bench.memory_meters, "crossed")),
        combined=[
            sum(opened.read([meters[str(pin.cell)] for pin in pins], "total"))
            for pins in network.combined()
        ],
        width=width,
        initial=initial,
        row_words=network.row_words,
    )
