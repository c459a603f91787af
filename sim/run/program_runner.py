"""Runs the programs of processors beside the hardware of a network."""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from ...hdl.bench import ProgramBench
from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.errors import InvalidType, InvalidValue, MulticubeError
from ..engines import Engine
from .program_requests import Pause, Program, Request, RequestCoder, SentRequest, Step

__all__ = ["ProgramRunner", "ProgramsStuck"]


_SHOWN = 8
"""How many processors an error message lists."""


class _Processor:
    """A program, and its requests."""

    def __init__(
        self, number: int, program: Program, coder: RequestCoder, outstanding: int
    ) -> None:
        self.number = number
        self.program = program
        self.coder = coder
        self.offer = f"offer_{number}"
        self.port = f"port_{number}"
        self.ended = False
        self.result: Any = None
        self.wakes: int | None = None
        self.paused = False
        self.free = deque(range(outstanding))
        self.queue: deque[SentRequest] = deque()
        self.offered: tuple[int, SentRequest] | None = None
        self.waiting: dict[int, SentRequest] = {}
        self._replies: list[int | None] = []
        self._single = False
        self._left = 0
        self._rests = 0

    @property
    def busy(self) -> bool:
        return self._left > 0

    def begin(self, now: int) -> None:
        """Start the program."""
        self._resume(None, now)

    def wake(self, now: int) -> None:
        """Resume the program, after its pause or with its replies."""
        self.wakes = None
        if self.paused:
            self.paused = False
            self._resume(now, now)
        else:
            self._resume(self._replies[0] if self._single else self._replies, now)

    def _resume(self, value: Any, now: int) -> None:
        """Run the program until it yields something that takes time."""
        while True:
            try:
                step = self.program.send(value)
            except StopIteration as stop:
                self.ended, self.result = True, stop.value
                return
            try:
                if not self._begin(step, now):
                    return
            except (InvalidType, InvalidValue) as error:
                raise type(error)(f"Processor {self.number}: {error}") from error
            value = [] if isinstance(step, list) else now

    def _begin(self, step: Step, now: int) -> bool:
        """Start what the program yielded; return whether it takes no time."""
        if isinstance(step, Pause):
            check_integer("Pause", step.cycles, 0)
            if step.cycles:
                self.wakes, self.paused = now + step.cycles, True
            return not step.cycles
        self._single = isinstance(step, Request)
        requests = [step] if isinstance(step, Request) else step
        if not isinstance(requests, list) or not all(isinstance(r, Request) for r in requests):
            raise InvalidType(
                f"Program must yield a Request, a list of Requests or a Pause, not {step!r}"
            )
        for position, request in enumerate(requests):
            self.queue.append(self.coder.encode(request, self.number, position, now))
        self._left = len(requests)
        self._replies = [None] * self._left
        return not self._left

    def next(self, now: int) -> int | None:
        """The next request, as the bits of the port, if one can be offered from this cycle on."""
        if self.offered is not None or not self.queue or not self.free or now < self._rests:
            return None
        self.offered = self.free.popleft(), self.queue.popleft()
        return self.coder.offer(*self.offered)

    def take(self, now: int) -> SentRequest:
        """Note that the network accepts the offered request."""
        assert self.offered is not None
        identity, sent = self.offered
        self.offered = None
        self.waiting[identity] = sent
        self._rests = now + self.coder.length(sent)
        sent.sent = now
        return sent

    def answer(self, bits: int, now: int) -> None:
        """Accept a reply. After the last, the program resumes when all its words have arrived."""
        tag, identity, value = self.coder.decode(bits)
        sent = self.waiting.pop(identity, None)
        if sent is None or sent.tag != tag:
            raise RuntimeError(f"Processor {self.number} received a reply to no request of its own")
        self.free.append(identity)
        sent.answered = now
        if sent.operation.replies:
            if sent.bits:
                value &= (1 << sent.bits) - 1
            sent.reply = self._replies[sent.position] = value
        self._left -= 1
        if not self._left:
            self.wakes = now + self.coder.lengths[0]

    def unanswered(self) -> list[SentRequest]:
        """Requests that have been offered and not yet answered, oldest first."""
        return [*self.waiting.values(), *([self.offered[1]] if self.offered else [])]

    def __str__(self) -> str:
        if self.busy:
            waiting = self.unanswered() or list(self.queue)
            return str(waiting[0])
        return f"processor {self.number} pauses until cycle {self.wakes}"


class ProgramRunner:
    """Runs an engine and the programs together."""

    def __init__(
        self,
        bench: ProgramBench,
        engine: Engine,
        programs: Sequence[Program],
        limit: int,
        most: int,
    ) -> None:
        coder = RequestCoder(bench.network)
        outstanding = bench.network.parameters["outstanding"]
        self.bench = bench
        self.engine = engine
        self.limit = limit
        self.most = most
        self.now = 0
        self.taken: list[SentRequest] = []
        self.processors = [
            _Processor(number, program, coder, outstanding)
            for number, program in enumerate(programs)
        ]
        # Processors to resume, ordered by cycle.
        self._wakes: list[tuple[int, int]] = []

    def run(self) -> None:
        """Run all programs until they end."""
        self.engine.set("on", 1)
        for processor in self.processors:
            processor.begin(self.now)
            self._plan(processor)
        heard = 0
        while True:
            while self._wakes and self._wakes[0][0] <= self.now:
                _, number = heappop(self._wakes)
                self.processors[number].wake(self.now)
                self._plan(self.processors[number])
            busy = [processor for processor in self.processors if processor.busy]
            if not busy and not self._wakes:
                return
            if self.now >= self.most:
                raise ProgramsStuck(self._message(f"Programs have not ended in {self.now} cycles"))
            if busy:
                if self.now - heard >= self.limit:
                    raise ProgramsStuck(self._message(f"No reply has come for {self.limit} cycles"))
                if self._cycle(busy):
                    heard = self.now
            else:
                heard = min(self._wakes[0][0], self.most)
                self.engine.step(heard - self.now)
                self.now = heard

    def _plan(self, processor: _Processor) -> None:
        if processor.wakes is not None:
            heappush(self._wakes, (processor.wakes, processor.number))

    def _cycle(self, busy: list[_Processor]) -> bool:
        """Simulate a cycle in which requests are outstanding; return whether a reply arrived."""
        for processor in busy:
            offer = processor.next(self.now)
            if offer is not None:
                self.engine.set(processor.offer, offer)
        flags = self.engine.read([processor.port for processor in busy], "seen")
        answered = [processor for processor, seen in zip(busy, flags) if seen & 2]
        replies = self.engine.read([processor.port for processor in answered], "reply")
        for processor, bits in zip(answered, replies):
            processor.answer(bits, self.now)
            self._plan(processor)
        taken = [processor for processor, seen in zip(busy, flags) if seen & 1]
        self.taken += [processor.take(self.now) for processor in taken]
        self.engine.step(1)
        self.now += 1
        for processor in taken:
            self.engine.set(processor.offer, 0)
        return bool(answered)

    def _message(self, what: str) -> str:
        alive = [str(processor) for processor in self.processors if not processor.ended]
        more = [f"and {len(alive) - _SHOWN} more"] if len(alive) > _SHOWN else []
        return f"{what}: " + "; ".join(alive[:_SHOWN] + more)


class ProgramsStuck(MulticubeError):
    """The programs wait for replies that do not come, or do not end.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import Request, run_programs
    >>> def wait():
    ...     while (yield Request("load", word=0)) == 0:
    ...         pass
    >>> run_programs(build("combining", ports=2), [wait()], cycles=1000)
    Traceback (most recent call last):
    ...
    multicube.sim.run.program_runner.ProgramsStuck: Programs have not ended in 1000 cycles: ...
    """
