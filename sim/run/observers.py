"""What watches a run, or acts on it, between two cycles: each is an observer of its engine."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar

from ...hdl.bench import Bench
from ...hdl.fabric.checks import check_integer
from ..engines import Engine, PortEngine, WaveEngine
from ..measure.result import Result
from ..workload.faults import inject
from ..workload.injection import Injection

__all__ = ["NEVER", "Ask", "LinkFaults", "Observed", "Observer", "Waves"]

NEVER = 2**62

Ask = Callable[..., Any]
"""Calls a method of the engine, by its name, with these arguments."""


class Observer:
    """What watches the runs of an engine, or acts on them. The methods here do nothing.

    Attributes
    ----------
    needs : type
        The protocol that the engine must have.
    purpose : str
        What for, as in "Engine must be compiled to write checkpoints"; empty if all engines do.
    """

    needs: ClassVar[type] = PortEngine
    purpose: ClassVar[str] = ""

    def prepare(self, bench: Bench) -> Bench:
        """The bench on which the runs of `bench` are to be observed, before an engine has it."""
        return bench

    def begin(self, engine: Any) -> None:
        """Begin with an engine that is in its first cycle, and has what this observer needs.

        If each run has its own engine, this begins anew with each, when the last one is closed.
        """

    def before(self, cycle: int) -> int:
        """Do what is to be done before this cycle is simulated.

        Returns
        -------
        int
            The next cycle before which this is to be called, or `NEVER`. It may be called earlier.
        """
        return NEVER

    def run_ended(self) -> None:
        """Do what is to be done when one of the runs has ended; others may go on."""

    def answer(self, ask: Ask, method: str, *arguments: Any) -> Any:
        """Answer what a run asks of the engine; `ask` asks the engine, and the other observers."""
        return ask(method, *arguments)

    def interrupted(self) -> None:
        """The user has interrupted the run, between two cycles. It is measured as far as it is."""

    def end(self, results: Sequence[Result]) -> list[Result]:
        """The results of the runs, with what this observer has found."""
        return list(results)

    def close(self) -> None:
        """No cycle follows: the runs have ended, or something was raised."""


class Observed:
    """An engine as its runs see it, with observers.

    It is stepped from one cycle in which an observer wants to be called to the next. All else that
    runs ask passes the observers on its way to the engine, the first of them last.

    Parameters
    ----------
    engine : Engine
        In its first cycle. It is closed with this.
    observers : Sequence[Observer]
        In the order in which they act before a cycle.
    """

    def __init__(self, engine: Engine, observers: Sequence[Observer] = ()) -> None:
        self.name = engine.name
        self.runs = engine.runs
        self.cycle = engine.cycle
        self._engine = engine
        self._observers = observers
        with ExitStack() as stack:
            stack.push(engine)
            for each in observers:
                each.begin(engine)
                stack.callback(each.close)
            self._stack = stack.pop_all()

    def step(self, cycles: int) -> None:
        """As in `PortEngine`. What the engine has simulated before it was restored is skipped."""
        end = self.cycle + check_integer("Cycles", cycles, 0)
        engine = self._engine
        while self.cycle < end:
            stop = min([end, *(each.before(self.cycle) for each in self._observers)])
            if stop > engine.cycle:
                try:
                    engine.step(stop - engine.cycle)
                except KeyboardInterrupt:
                    self.cycle = engine.cycle
                    for each in self._observers:
                        each.interrupted()
                    raise
            self.cycle = stop

    def reset(self, cycles: int = 1) -> None:
        """As in `ResetEngine`; observers do not act in it."""
        self.__getattr__("reset")(cycles)
        self.cycle += cycles

    def __getattr__(self, method: str) -> Any:
        ask: Ask = self._ask
        for each in self._observers:
            ask = partial(each.answer, ask)
        return partial(ask, method)

    def _ask(self, method: str, *arguments: Any) -> Any:
        return getattr(self._engine, method)(*arguments)

    def run_ended(self) -> None:
        """One of the runs has ended."""
        for each in self._observers:
            each.run_ended()

    def end(self, results: Sequence[Result]) -> list[Result]:
        """The results of all runs, with what the observers have found."""
        for each in self._observers:
            results = each.end(results)
        return list(results)

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> "Observed":
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)


class LinkFaults(Observer):
    """Places the cells of faults into links."""

    def __init__(self, faults: Sequence[Injection]) -> None:
        self._faults = faults

    def prepare(self, bench: Bench) -> Bench:
        return inject(bench, bench.network.fault_plan, self._faults)


class Waves(Observer):
    """Writes all signals of a run to a VCD file."""

    needs = WaveEngine
    purpose = "write all waveforms to a VCD file"

    def __init__(self, path: Any) -> None:
        self._path = path

    def begin(self, engine: WaveEngine) -> None:
        engine.record(self._path)
