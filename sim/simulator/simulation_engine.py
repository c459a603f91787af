"""Runs testbenches and processes beside the compiled design, as Amaranth's simulator does.

Time passes in steps, and a step in delta cycles. In each of these all that was woken runs, and then
what it has set takes effect, which wakes others. What is combinational takes its new values one
delta cycle after what it depends on, all of it together. So a trigger that fires at a change
samples what logic made of the state before. As only the state is kept, these older values are noted
in each delta cycle: those of the signals that are `followed`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.hdl import DriverConflict, Shape, Signal

from ...hdl.support.interruption import held_interrupts
from ..engines.amaranth_internals import (
    ChangedTrigger,
    Design,
    EdgeTrigger,
    PySimEngine,
    SampleTrigger,
    combinational_signals,
    pin_blame,
    read_signals,
    value_to_string,
)
from ..engines.compiled.compiled_errors import UnsupportedConstruct
from ..engines.compiled.ir import Words
from ..engines.compiled.tables import lane_word
from .design_division import read_design
from .design_machine import DesignMachine
from .design_parts import Place
from .design_reading import Edge, Report
from .free_run import FOREVER, CClock
from .observation import Observation, Wanted
from .simulation_processes import Clock, Countdown, Process
from .simulation_signals import DesignState, EdgeWaker, Input, Logic, of_shape
from .vcd_recording import VcdRecording

__all__ = ["SimulationEngine"]

_READS = 300
"""How often values are computed in Python before code for them is compiled."""


def _is_looked_at(clock: Clock) -> bool:
    """Whether somebody waits for each edge of a clock."""
    return any(type(waker) not in (EdgeWaker, Countdown) for waker in clock.slot.wakers)


class _Following(PySimEngine):
    """Notes the older values of what triggers of a run sample."""

    _state: DesignState
    follow: Callable[[DesignState, Any], bool]

    def add_trigger_combination(self, combination: Any, *, oneshot: bool) -> Any:
        self.follow(self._state, combination)
        return super().add_trigger_combination(combination, oneshot=oneshot)


class RunView(_Following):
    """A simulation as processes of one run see it, but the first, which see the engine itself."""

    def __init__(self, engine: "SimulationEngine", state: DesignState) -> None:
        self._state = state
        self._active_triggers = engine._active_triggers
        self.step_design = engine.step_design
        self.follow = engine.follow


class SimulationEngine(_Following):
    """An engine of Amaranth's `Simulator` whose design is compiled.

    Attributes
    ----------
    runs : int
        How many are simulated at once.
    watched : dict
        The signals that logic or registers drive and whose changes somebody waits for.
    followed : dict
        The combinational signals that are noted in each delta cycle: those that were ever watched,
        or sampled when something else than a clock changes.
    before : dict
        Between delta cycles of a step: what those that are followed show.

    Raises
    ------
    UnsupportedConstruct, CombinationalLoop, NoCompiler, CompilerFailed
    """

    runs = 1

    def __init__(self, design: Design) -> None:
        self._design = design
        self.divided = read_design(design, self.runs)
        self.machine = DesignMachine(self.divided)
        if self.runs > 1 and self.machine.derived_edges:
            raise UnsupportedConstruct(
                "A design whose logic makes clocks or asynchronous resets can't have several runs"
            )
        self.settled = False
        self._active_triggers: set[Any] = set()
        self.watched: dict[Logic, None] = {}
        self.followed: dict[Logic, None] = {}
        self.before: dict[Logic, int] = {}
        self._said: dict[tuple[int, int], str] = {}
        self._texts: dict[Words, Observation] = {}
        self._settling: dict[Logic, int] = {}
        self._settled_version = 0
        combinational = combinational_signals(design)
        self._state = first = DesignState(self, combinational)
        self._others = [
            RunView(self, DesignState(self, combinational, run, first))
            for run in range(1, self.runs)
        ]
        self._wanted: list[Wanted] = []
        self._numbers: dict[Any, int] = {}
        self.observation: Observation | None = None
        self._compiled = self._reads = 0
        self._processes: set[Any] = set()
        self._clocks: list[Clock] = []
        self._testbenches: list[Any] = []
        self._delta_cycles = 0
        self._vcd_writers: list[VcdRecording] = []
        self._edges: set[Edge] = set()
        self._changed = True
        self._levels = [0] * len(self.machine.derived_edges)
        self._wait_for_edges()

    def _wait_for_edges(self) -> None:
        design = self.divided
        outside = [edge for edge in design.edges if edge not in self.machine.derived_edges]
        nets = {edge.net for edge in outside}
        owners = {
            net: (signal, bit)
            for signal, value in design.rest.logic.signals.items()
            for bit, net in enumerate(value)
            if net in nets and not self._state.is_combinational(signal)
        }
        for edge in outside:
            signal, bit = owners[edge.net]
            self._state.add_signal_waker(signal, EdgeWaker(self._edges, edge, bit))

    def reset(self) -> None:
        times = [self._now_plus_deltas(writer.fs_per_delta) for writer in self._vcd_writers]
        self.machine.reset()
        super().reset()
        self._delta_cycles = 0
        for view in self._others:
            view.state.reset()
        self._edges.clear()
        self.before.clear()
        self._said.clear()
        self._changed, self.settled = True, False
        self._levels = [0] * len(self._levels)
        for writer, time in zip(self._vcd_writers, times):
            writer.restart(time)

    # Signals that logic computes

    def observe(self, place: Place) -> int:
        """Number a value, to read it by `observed`."""
        key = place.part, tuple(place.nets)
        if key not in self._numbers:
            self._numbers[key] = len(self._wanted)
            self._wanted.append((place.part, place.part.logic.words(place.nets)))
        return self._numbers[key]

    def observed(self, number: int, cell: int) -> int:
        """The value of that number in a cell: by compiled code, once it is read often."""
        if number < self._compiled:
            assert self.observation is not None
            return self.observation.value(number, cell)
        self._reads += 1
        if self._reads <= _READS:
            part, words = self._wanted[number]
            return self.machine.evaluate(part, cell, words)
        return self.compile_observed().value(number, cell)

    def compile_observed(self) -> Observation:
        """Make compiled code of all that is observed; later the engine may make another one."""
        self._reads, self._compiled = 0, len(self._wanted)
        self.observation = Observation(self.machine, self._wanted)
        return self.observation

    # Processes

    def add_clock_process(self, clock: Signal, *, phase: int, period: int) -> None:
        slot = self._state.slots[self._state.get_signal(clock)]
        if slot.is_comb:
            raise DriverConflict("Clock signal is already driven by combinational logic")
        pieces = slot.pieces if isinstance(slot, Input) else None
        made = Clock(self._state, slot, pieces, phase=phase, period=period)
        self._clocks.append(made)
        self._processes.add(made)

    def add_async_process(self, simulator: Any, process: Callable[..., Any]) -> None:
        for view in (self, *self._others):
            made = Process(self._design, view, process, testbench=False, background=True)
            self._processes.add(made)

    def add_async_testbench(
        self, simulator: Any, process: Callable[..., Any], *, background: bool
    ) -> None:
        for view in (self, *self._others):
            made = Process(self._design, view, process, testbench=True, background=background)
            self._testbenches.append(made)

    # Time

    def step_design(self) -> None:
        still = False
        self.before = {}
        while not still:
            changes: set[Any] | None = set() if self._vcd_writers else None
            for trigger in self._active_triggers:
                trigger.run()
            self._active_triggers.clear()
            settles, before = self._changed, self.machine.version
            if settles:
                self._say(frozenset())
            if self._settled_version != before:
                self._settling = {slot: slot.value for slot in self.followed}
                self._settled_version = before
            settling = self._settling
            levels = self._derived_levels() if settles else self._levels
            edges = frozenset(self._edges)
            self._edges.clear()
            for process in self._processes:
                if process.runnable:
                    process.runnable = False
                    process.run()
            if edges:
                self._say(edges)
                self.machine.advance(edges)
            still = self._state.commit(changes)
            self._changed = self.machine.version != before
            self.settled, self.before = True, {}
            for writer in self._vcd_writers:
                writer.record(changes or (), self._now_plus_deltas(writer.fs_per_delta))
            self.before = settling
            if self._changed or settles:
                still = not (self._notify(levels) or self._changed) and still
            self._delta_cycles += 1
        self.before = {}

    def followed_from_now(self, slot: Logic) -> None:
        """Note what a combinational signal shows in each delta cycle, from this one on."""
        if slot not in self.followed:
            self.followed[slot] = None
            self._settling[slot] = slot.value

    def follow(self, state: DesignState, combination: Any) -> bool:
        """Whether only clocks and delays fire a trigger; if not, what it samples is followed."""
        clocks = [clock.slot for clock in self._clocks]
        slots = state.slots
        fires = (
            slots[state.get_signal(each.signal)]
            for each in combination._triggers
            if isinstance(each, ChangedTrigger | EdgeTrigger)
        )
        if all(slot in clocks for slot in fires):
            return True
        for trigger in combination._triggers:
            if isinstance(trigger, SampleTrigger):
                for signal in read_signals(trigger.value):
                    slot = slots[state.get_signal(signal)]
                    if isinstance(slot, Logic) and slot.lags:
                        self.followed_from_now(slot)
        return False

    def _derived_levels(self) -> list[int]:
        derived = self.machine.derived
        return [] if derived is None else [derived.value(n) for n in range(len(self._levels))]

    def _notify(self, levels: list[int]) -> bool:
        """Wake those who wait for changes of what the design drives.

        Parameters
        ----------
        levels : list[int]
            Those of the nets whose edges count, at the beginning of the delta cycle.

        Returns
        -------
        bool
            Whether there are any.
        """
        woken = False
        for slot in list(self.watched):
            woken |= slot.notify(slot.curr)
            if not slot.wakers:
                del self.watched[slot]
        if self._levels:
            stored = self._derived_levels()
            for number, edge in enumerate(self.machine.derived_edges):
                level = stored[number] if self.machine.stores(edge) else levels[number]
                if level != self._levels[number]:
                    self._levels[number] = level
                    if level == edge.level:
                        self._edges.add(edge)
                        woken = True
        return woken

    def _say(self, edges: frozenset[Edge]) -> None:
        """Print and raise what is reported at some edges, or without any."""
        alarms = self.machine.alarms
        if alarms is None:
            return
        for number, report in enumerate(self.divided.reports):
            now = report.edge in edges if edges else report.edge is None
            for run in range(self.runs) if now else ():
                if alarms.value(number, run):
                    self._report(report, run)
                else:
                    self._said.pop((id(report), run), None)

    def _report(self, report: Report, run: int) -> None:
        file, line = report.place
        text = "".join(self._formatted(part, run) for part in report.text or ())
        if report.edge is None:  # of what lasts it is said once
            if self._said.get((id(report), run)) == text:
                return
            self._said[id(report), run] = text
        match report.kind:
            case "print":
                print(text, end="")
            case "cover":
                print(f"Coverage hit at {file}:{line}:", text)
            case kind:
                what = {"assert": "Assertion", "assume": "Assumption"}[kind]
                where = f" in run {run}" if self.runs > 1 else ""
                ending = f": {text}" if report.text is not None else ""
                pin_blame(report.place, AssertionError(f"{what} violated{where}{ending}"))

    def _formatted(self, part: Any, run: int) -> str:
        if isinstance(part, str):
            return part
        words, width, form, signed = part
        if words not in self._texts:
            self._texts[words] = Observation(self.machine, [(self.divided.rest, words)])
        value = of_shape(self._texts[words].value(0, run), Shape(width, signed))
        if form.endswith("s"):
            return format(value_to_string(value), form[:-1])
        return format(value, form)

    def skip(self, limit: int = FOREVER) -> None:
        """Let clocks run in compiled code as long as nothing else happens.

        Parameters
        ----------
        limit : int
            From this time on nothing is done.
        """
        if all(map(_is_looked_at, self._clocks)) or not self._can_skip():
            return
        timeline = self._state.timeline
        now = timeline.now
        others = set(timeline.wakers) - {clock.wake for clock in self._clocks}
        limit = min([limit, *(timeline.wakers[waker] for waker in others)])
        clocks = (CClock * len(self._clocks))(*map(self._c_clock, self._clocks))
        passes = [tuple(clock.passes) for clock in clocks]
        with held_interrupts():
            timeline.now = self.machine.run(clocks, now, limit)
            for clock, after, allowed in zip(self._clocks, clocks, passes):
                clock.passed(after.due, [a - b for a, b in zip(allowed, after.passes)])
        self._say(frozenset())
        if self._derived_levels() != self._levels:
            self._changed = True
        else:
            timeline.advance()

    def _can_skip(self) -> bool:
        quiet = not (
            self._vcd_writers
            or self._active_triggers
            or self._edges
            or self._changed
            or self.watched
            or any(process.runnable for process in self._testbenches)
        )
        return (
            quiet
            and self.machine.few_edges
            and not any(clock.addresses & self.machine.makes_clocks_of for clock in self._clocks)
            and not any(
                process.runnable and not isinstance(process, Clock) for process in self._processes
            )
            and not any(clock.initial or isinstance(clock.slot, Logic) for clock in self._clocks)
        )

    def _c_clock(self, clock: Clock) -> CClock:
        wakers = clock.slot.wakers
        edges = {waker.edge for waker in wakers if isinstance(waker, EdgeWaker)}
        made = self.machine.clock(clock.pieces, clock.due, clock.half, edges)
        made.own_level = lane_word(clock.slot.curr, 0, 1)
        for rises in (0, 1):
            allowed = [
                waker.passes(rises) if isinstance(waker, Countdown) else 0
                for waker in wakers
                if not isinstance(waker, EdgeWaker)
            ]
            made.passes[rises] = min(allowed, default=FOREVER)
        return made

    @contextmanager
    def write_vcd(self, **options: Any) -> Iterator[None]:
        writer = VcdRecording(self, **options)
        self._vcd_writers.append(writer)
        try:
            yield
        finally:
            writer.close(self._now_plus_deltas(writer.fs_per_delta))
            self._vcd_writers.remove(writer)
