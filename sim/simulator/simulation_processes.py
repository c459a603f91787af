"""Clocks, processes and testbenches, and what they wait for."""

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from amaranth.hdl import ValueLike

from ..engines.amaranth_internals import (
    AsyncProcess,
    BaseProcess,
    DomainReset,
    ProcessContext,
    PySimEngine,
    SignalState,
    SimulationState,
    TestbenchContext,
    TickTrigger,
    TriggerState,
)
from .design_parts import Piece
from .free_run import FOREVER

if TYPE_CHECKING:
    from .simulation_engine import SimulationEngine

__all__ = ["Clock", "Countdown", "Process"]

_UNKNOWN = object()
"""In the place of a reset that logic may change."""


class Clock(BaseProcess):
    """A clock of a constant period.

    Parameters
    ----------
    state : SimulationState
    slot : SignalState
        The state of its signal.
    pieces : list[Piece] or None
        Where the signal is in the design.
    phase, period : int
        In femtoseconds.
    """

    def __init__(
        self,
        state: SimulationState,
        slot: Any,
        pieces: list[Piece] | None,
        *,
        phase: int,
        period: int,
    ) -> None:
        self.state, self.slot, self.pieces = state, slot, pieces
        self.addresses = {piece.address for piece in pieces or ()}
        self.phase, self.half = phase, period // 2
        self.reset()

    def reset(self) -> None:
        self.runnable = self.initial = True
        self.critical = False

    def wake(self) -> None:
        self.runnable = True

    def run(self) -> None:
        if not self.initial:
            self.slot.update(int(not self.slot.curr))
        self.state.set_delay_waker(self.phase if self.initial else self.half, self.wake)
        self.initial = False

    @property
    def due(self) -> int:
        """When it changes next."""
        timeline = self.state.timeline
        return int(timeline.now if self.runnable else timeline.wakers[self.wake])

    def passed(self, due: int, edges: list[int]) -> None:
        """Take over what happened elsewhere.

        Parameters
        ----------
        due : int
            When it changes next.
        edges : list[int]
            How often it fell and rose.
        """
        level = self.slot.curr ^ sum(edges) & 1
        if isinstance(self.slot, SignalState):
            self.slot.curr = self.slot.next = level
        self.runnable = False
        self.state.timeline.wakers[self.wake] = due
        for waker in self.slot.wakers:
            if isinstance(waker, Countdown):
                waker.count -= edges[waker.level]


class Countdown:
    """Wakes a process after some edges of a clock, or at one at which its domain is reset."""

    def __init__(self, trigger: "_Counted", edge: Any, count: int, reset: Any) -> None:
        self.trigger, self.edge, self.count, self.reset = trigger, edge, count, reset
        self.level = edge.polarity

    def __call__(self, before: int, after: int) -> bool:
        if self.trigger.broken:
            return False
        if before == after or after != self.level:
            return True
        self.count -= 1
        if self.count > 0 and not (self.reset is not None and self.reset.next):
            return True
        self.trigger.hit(self.edge)
        return False

    def passes(self, rises: int) -> int:
        """How many more edges need not be looked at."""
        if self.reset is not None and self.reset.curr:
            return 0
        return self.count - 1 if rises == self.level else FOREVER


class _Counted(TriggerState):
    """Waits for a number of edges of a clock."""

    def __init__(
        self, engine: "SimulationEngine", combination: Any, count: int, reset: Any
    ) -> None:
        self._count, self._reset = count, reset
        super().__init__(engine, combination, engine._active_triggers, oneshot=True)

    def add_edge_waker(self, trigger: Any) -> None:
        waker = Countdown(self, trigger, self._count, self._reset)
        self._engine.state.add_signal_waker(trigger.signal, waker)

    @property
    def broken(self) -> bool:
        return bool(self._broken)

    def hit(self, trigger: Any) -> None:
        self._triggers_hit.add(trigger)
        self.activate()


class _Ticks(TickTrigger):
    """As Amaranth's; but many ticks are waited for at once."""

    def sample(self, *exprs: ValueLike) -> "_Ticks":
        sampled = (*self._sampled, *exprs)
        return _Ticks(self._engine, self._process, domain=self._domain, sampled=sampled)

    async def repeat(self, count: int) -> tuple[Any, ...]:
        count = operator.index(count)
        reset = self._reset()
        edge = self._collect_trigger()
        free = count > 1 and reset is not _UNKNOWN
        if not (free and self._engine.follow(self._engine.state, edge)):
            return tuple(await super().repeat(count))
        trigger = _Counted(self._engine, edge, count, reset)
        _, _, active, *values = await trigger
        if active:
            raise DomainReset
        return tuple(values)

    def _reset(self) -> Any:
        """The reset of the domain, if only the outside drives it."""
        domain = self._domain
        if domain.rst is None:
            return None
        if domain.async_reset:
            return _UNKNOWN
        state = self._engine.state
        slot = state.slots[state.get_signal(domain.rst)]
        return slot if isinstance(slot, SignalState) else _UNKNOWN


class _Tick:
    """What contexts have in common.

    Attributes
    ----------
    run : int
        Which of several runs it is.
    """

    run: int

    def tick(self, domain: Any = "sync", *, context: Any = None) -> TickTrigger:
        made = super().tick(domain, context=context)  # type: ignore[misc]
        return _Ticks(made._engine, made._process, domain=made._domain)


class _ProcessContext(_Tick, ProcessContext):
    pass


class _TestbenchContext(_Tick, TestbenchContext):
    pass


class Process(AsyncProcess):
    """A process or testbench."""

    def __init__(
        self,
        design: Any,
        engine: PySimEngine,
        constructor: Callable[..., Any],
        *,
        testbench: bool,
        background: bool,
    ) -> None:
        self.constructor = constructor
        kind = _TestbenchContext if testbench else _ProcessContext
        self.context = kind(design, engine, self)
        self.context.run = engine.state.run
        self.background = background
        self.reset()
