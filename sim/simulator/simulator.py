"""The simulator, with the interface of Amaranth's."""

from typing import Any

import amaranth.sim
from amaranth.hdl import Fragment

from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.errors import InvalidType
from ..engines.amaranth_internals import femtoseconds
from .simulation_engine import SimulationEngine

__all__ = ["Simulator"]


class Simulator(amaranth.sim.Simulator):
    """Simulates any Amaranth design, hundreds of times faster than Amaranth's own simulator.

    Clocks, testbenches, processes, waveforms and `reset` are those of `amaranth.sim.Simulator`,
    whose documentation holds here: `add_clock`, `add_testbench`, `add_process`, `run`,
    `run_until`, `advance`, `reset` and `write_vcd`. The design is compiled to C; while nothing
    but clocks changes, no Python runs.

    Parameters
    ----------
    toplevel : Elaboratable
        The design.
    runs : int
        How many runs are simulated at once, at most 65,536: as many testbenches and processes are
        made of each that is added. `ctx.run` is the number of its run, from 0 on. Each run has its
        own signals and memories, except for clocks and asynchronous resets.

    Raises
    ------
    UnsupportedConstruct
        If the design has an instance of a foreign module, or another construct that has no meaning
        in a simulation.
    CombinationalLoop
        If a signal depends on itself.
    NoCompiler, CompilerFailed
        If there is no C compiler, or it fails.
    TypeError
        If the design is no Elaboratable.

    Examples
    --------
    >>> from amaranth.hdl import Module, Signal
    >>> from multicube.sim import Simulator
    >>> m, count = Module(), Signal(8)
    >>> m.d.sync += count.eq(count + 1)
    >>> async def bench(ctx):
    ...     await ctx.tick().repeat(5)
    ...     print(ctx.get(count))
    >>> simulator = Simulator(m)
    >>> simulator.add_clock(1e-6)
    >>> simulator.add_testbench(bench)
    >>> simulator.run()
    5
    """

    _engine: SimulationEngine

    def __init__(self, toplevel: Any, *, runs: int = 1) -> None:
        runs = check_integer("Runs", runs, 1, 65_536)
        if not (isinstance(toplevel, Fragment) or hasattr(toplevel, "elaborate")):
            raise InvalidType(f"Design must be an Elaboratable, not {type(toplevel).__name__}")
        super().__init__(toplevel, engine=type("Engine", (SimulationEngine,), {"runs": runs}))

    def run(self) -> None:
        """Run the simulation until all testbenches and critical processes have ended."""
        while self.advance():
            self._engine.skip()

    def run_until(self, deadline: Any, **options: Any) -> None:
        """Run the simulation until a time.

        Parameters
        ----------
        deadline : Period
            The time, from the start of the simulation.
        **options : Any
            Further arguments of Amaranth's `run_until`.
        """
        limit = femtoseconds(deadline)
        if options or self._engine.now > limit:
            super().run_until(deadline, **options)
        while self._engine.now < limit:
            self.advance()
            self._engine.skip(limit)
