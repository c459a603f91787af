# amaranth: UnusedElaboratable=no
"""No counter of a test bench overflows in the longest run that is allowed, or it says so.

The counters are found in the hardware itself: registers to which something is added. Each must hold
what it is given in as many cycles as a run may have.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from amaranth.hdl import Fragment, Signal, Value
from amaranth.hdl._ast import Assign, Const, Operator, Slice, Switch, SwitchValue
from amaranth.lib.memory import Memory
from multicube.hdl import build
from multicube.hdl.bench import bench_for
from multicube.hdl.bench import stamp as stamps
from multicube.hdl.bench.ensemble import StepProcessor
from multicube.hdl.bench.instruments import COUNT_BITS, EventMeter, LevelMeter
from multicube.hdl.bench.message_bench import MessageBench
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.operations.folds import Fold
from multicube.sim import Message, Run, Trace, TracePacket, pattern, simulate
from multicube.sim.run import messenger as messengers
from multicube.sim.run import run as runs
from multicube.sim.run import simulation

BENCH = "multicube.hdl.bench"

MOST_CYCLES = 2**COUNT_BITS - 1
"""`simulation._advance` refuses to go on from there."""

WRAPS = {
    ("Sender", "index"): "number of a flit, 0 again after the last one",
    ("Sender", "stamp_sum"): "a sum modulo 2^64, compared with that of the sinks",
    ("Sink", "index"): "number of a flit, 0 again after the last one",
    ("Sink", "stamp_sum"): "a sum modulo 2^64, compared with that of the sources",
    ("WindowAges", "least"): "stops at its largest value",
    ("WindowAges", "most"): "stops at its largest value",
    ("ReplaySource", "position"): "stops at the number of rows",
    ("Processor", "row"): "stops at the number of rows",
    ("StepProcessor", "step"): "stops at the number of steps",
}
"""Registers that are added to and are no counters of a run, and why they may stay as they are."""


def types(only: str = "") -> dict[str, CellType]:
    """The cells of test benches, of each kind and with each of its options."""
    found: dict[str, CellType] = {}
    trace = Trace("mine", (TracePacket(2, 0, 1), TracePacket(3, 1, 0)))
    cases: list[tuple[str, dict[str, Any], Any]] = [
        ("cube", {"ports": 4}, pattern("uniform", 4)),
        ("cube", {"ports": 4, "broadcast": 1}, pattern("uniform", 4)),
        ("cube", {"ports": 4}, trace),
        ("torus", {"k": 2, "length": 4}, pattern("uniform", 4)),
        ("combining", {"ports": 4}, pattern("hotspot:0.5", 4)),
    ]
    for name, parameters, traffic in cases:
        if only not in name:
            continue
        network = build(name, **parameters)
        bench = bench_for(network, Run(traffic).sources(network), bins=8)
        found |= {f"{name} {parameters} {each}": each for each in bench.types()}
    found["level meter"] = CellType(LevelMeter, width=5)
    found["event meter"] = CellType(EventMeter, width=5)
    step = {"fold": Fold("add", 8), "links": 2, "rows": 1, "steps": 3}
    found["step processor"] = CellType(StepProcessor, **step)
    network = build("cube", ports=4)
    message = MessageBench(network, Fold("add", network.packet["payload"].width), depth=2)
    found |= {f"message {each}": each for each in message.types()}
    return {
        name: each for name, each in found.items() if each.component.__module__.startswith(BENCH)
    }


def most(value: Value) -> int:
    """The largest number that an expression can be, at least."""
    match value:
        case Const():
            return value.value
        case Operator(operator="+") if not value.shape().signed:
            return sum(map(most, value.operands))
        case Operator(operator="&"):
            return min(map(most, value.operands))
        case Operator(operator="<<"):
            number, by = map(most, value.operands)
            return number << by
        case SwitchValue():
            return max(most(each) for _, each in value.cases)
    return (1 << len(value)) - 1


def additions(fragment: Fragment) -> Iterator[tuple[Value, Value]]:
    """All registers of a component to which something is added, with what is added."""

    def inside(statements: Any) -> Iterator[tuple[Value, Value]]:
        for statement in statements:
            if isinstance(statement, Switch):
                for _, then, _ in statement.cases:
                    yield from inside(then)
            elif isinstance(statement, Assign):
                yield from (
                    (statement.lhs, addend) for addend in added(statement.lhs, statement.rhs)
                )

    def same(one: Value, other: Value) -> bool:
        if isinstance(one, Slice) and isinstance(other, Slice):
            here, there = ((each.start, each.stop) for each in (one, other))
            return one.value is other.value and here == there
        return one is other

    def added(register: Value, value: Value) -> Iterator[Value]:
        if isinstance(value, Operator) and value.operator == "+":
            for this, other in (value.operands, value.operands[::-1]):
                if same(this, register):
                    yield other
        if isinstance(value, SwitchValue):
            for _, each in value.cases:
                yield from added(register, each)

    for domain, statements in fragment.statements.items():
        if domain != "comb":
            yield from inside(statements)


def counters(type_: CellType) -> Iterator[tuple[str, str, int, int]]:
    """Component and name of each counter of a type, its width, and the most it grows by a cycle."""
    waiting: list[Any] = [type_.build()]
    while waiting:
        component = waiting.pop()
        if isinstance(component, Memory):
            continue
        fragment = Fragment.get(component, None)
        if type(component).__module__.startswith(BENCH):
            for register, addend in additions(fragment):
                signal = register.value if isinstance(register, Slice) else register
                assert isinstance(signal, Signal)
                yield type(component).__name__, signal.name, len(register), most(addend)
        waiting += [inner.origins[0] for inner, *_ in fragment.subfragments if inner.origins]


def test_counters_hold_the_longest_run(monkeypatch: pytest.MonkeyPatch) -> None:
    found = types()
    monkeypatch.setattr(stamps, "MOST_FOLLOWED", 2)
    found |= {f"not followed, {name}": type_ for name, type_ in types("cube").items()}
    seen = set()
    for name, type_ in found.items():
        for component, register, width, step in counters(type_):
            seen.add((component, register))
            if (component, register) not in WRAPS:
                assert step * MOST_CYCLES < 1 << width, f"{name}: {component}.{register}"
        built: Any = type_.build()
        for kind in ("total", "network"):
            if hasattr(built, f"{kind}_histogram"):
                assert getattr(built, f"{kind}_histogram").shape >= COUNT_BITS
    for known in (("Sink", "delivered"), ("LinkMeter", "crossed"), ("Processor", "timed")):
        assert known in seen
    assert set(WRAPS) <= seen  # nothing stands in the table that is gone
    assert len(seen) > 40


def test_runs_end_before_the_counters_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "COUNT_BITS", 6)
    with pytest.raises(ValueError, match=r"did not end within 2\^6 cycles, the range of the count"):
        simulate("cube ports=2", cycles=60, warmup=10, engine="amaranth")
    assert runs.LONGEST < MOST_CYCLES
    longest = {"cycles": runs.LONGEST, "warmup": 1, "limit": runs.LONGEST}
    with pytest.raises(ValueError, match="Warm-up and cycles together must be at most 2147483648"):
        Run(pattern("uniform", 2), **longest)


def test_messages_end_before_the_counters_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    messenger = messengers.Messenger(build("cube", ports=2), engine="amaranth")
    messenger.send([Message(0, 1, 5)])
    monkeypatch.setattr(messengers, "LONGEST", 5)
    with pytest.raises(ValueError, match="Cycles of all messages so far must be at most 5, not"):
        messenger.send([Message(0, 1, 5)])


def test_latencies_are_unknown_where_the_timestamps_wrapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The window is short, but what waits at its end takes longer than a timestamp can tell."""
    network = build("cube", ports=8, depth=64)
    options: dict[str, Any] = {"traffic": "hotspot:1", "load": 1, "cycles": 50, "warmup": 0}
    monkeypatch.setattr(runs, "TIME_BITS", 7)
    result = simulate(network, **options, bins=16)
    assert result.latency.max is result.latency.mean is result.network_latency.mean is None
    assert result.latency.beyond == sum(result.terminals["delivered"]) > 40
    assert result.verdict.endswith("; latencies are only measured below 2^7 cycles")
    assert result.drain > 128
    assert result.lost == 0
