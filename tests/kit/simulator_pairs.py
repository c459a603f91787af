"""Designs in Amaranth's simulator and in ours, side by side: every signal, every cycle."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import amaranth.sim
from amaranth.hdl import Elaboratable, Signal
from amaranth.hdl._mem import MemoryInstance
from multicube.sim import Simulator
from random_modules import interesting

KINDS = (amaranth.sim.Simulator, Simulator)

Trace = list[dict[str, int]]


def named_signals(simulator: Any) -> tuple[dict[str, Signal], dict[str, Signal]]:
    """All signals of a design by their hierarchical names; and those that nothing in it drives."""
    fragments = simulator._design.fragments
    driven, named = set(), {}
    for fragment, info in fragments.items():
        for statements in fragment.statements.values():
            driven |= {id(each) for each in statements._lhs_signals()}
        if isinstance(fragment, MemoryInstance):
            for port in fragment._read_ports:
                driven |= {id(each) for each in port._data._rhs_signals()}
        for signal, name in info.signal_names.items():
            named[".".join((*info.name[1:], name))] = signal
    clocks = {
        id(each)
        for fragment in fragments
        for domain in fragment.domains.values()
        for each in (domain.clk, domain.rst)
    }
    shown = dict(sorted(named.items()))
    free = {n: s for n, s in shown.items() if id(s) not in driven | clocks and len(s)}
    distinct = {id(signal): name for name, signal in reversed(free.items())}
    return shown, {name: free[name] for name in sorted(distinct.values())}


def trace(
    kind: Callable[[Elaboratable], Any],
    design: Elaboratable,
    *,
    cycles: int,
    seed: int = 1,
    clocks: Mapping[str, float] = {"sync": 1e-6},
    resets: Sequence[str] = (),
    hold: float = 0.5,
    fixed: Mapping[str, int] = {},
    stride: int = 1,
) -> Trace:
    """All signals in every cycle of the first clock, with random inputs.

    Parameters
    ----------
    kind : Callable
        A class of simulators.
    design : Elaboratable
    cycles, seed : int
    clocks : Mapping[str, float]
        Periods by domain.
    resets : Sequence[str]
        Domains that are reset now and then.
    hold : float
        How often an input keeps its value.
    fixed : Mapping[str, int]
        Inputs that are not random.
    stride : int
        Look at every so many cycles only, and leave the inputs as they are between.
    """
    rng = random.Random(seed)
    simulator = kind(design)
    shown, free = named_signals(simulator)
    found: Trace = []
    domains = simulator._design.fragment.domains

    async def drive(ctx: Any) -> None:
        for name, value in fixed.items():
            ctx.set(shown[name], value)
        for _ in range(cycles):
            for name, signal in free.items():
                if name not in fixed and rng.random() >= hold:
                    value = interesting(rng, len(signal))
                    ctx.set(signal.as_unsigned(), value)
            for domain in resets:
                ctx.set(domains[domain].rst, rng.random() < 0.05)
            found.append({name: ctx.get(signal) for name, signal in shown.items()})
            domain = next(iter(clocks))
            await (ctx.tick(domain) if stride == 1 else ctx.tick(domain).repeat(stride))

    for domain, period in clocks.items():
        simulator.add_clock(period, domain=domain)
    simulator.add_testbench(drive)
    simulator.run()
    return found


def check_equal(make: Callable[[], Elaboratable], **how: Any) -> Trace:
    """Check that a design, made anew for each, does the same in both simulators."""
    expected, got = (trace(kind, make(), **how) for kind in KINDS)
    for cycle, (a, b) in enumerate(zip(expected, got, strict=True)):
        wrong = {name: (a[name], b.get(name)) for name in a if a[name] != b.get(name)}
        assert not wrong, f"cycle {cycle}: {wrong}"
    return expected
