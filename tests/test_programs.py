# amaranth: UnusedElaboratable=no
"""Programs against the hardware of combining networks: times, replies, books, and complaints."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In
from long_runs import long
from multicube.hdl import CombiningNetwork
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.memory import find_operation
from multicube.sim import Pause, ProgramRun, ProgramsStuck, Request, run_programs
from multicube.sim.measure.serial_order import Access
from multicube.sim.run.program_requests import Program

OPERATIONS = tuple(
    find_operation(name)
    for name in (
        "load",
        "store",
        "fetch-and-store",
        "fetch-and-add",
        "fetch-and-max",
        "fetch-and-or",
    )
)


def small(ports: int = 4, **parameters: Any) -> CombiningNetwork:
    """A network of 16 words that is quickly built; one that does not combine, still more so."""
    given = {"width": 16, "rows": 16 // ports, "outstanding": 4, "depth": 2, "wait": 2}
    return CombiningNetwork(ports, **{"operations": OPERATIONS, **given, **parameters})


def plain(ports: int = 4, **parameters: Any) -> CombiningNetwork:
    return small(ports, combine="none", **parameters)


def script(*steps: Any) -> Program:
    """Yields these, and returns what came of each."""
    replies = []
    for step in steps:
        replies.append((yield step))
    return replies


ADD = Request("fetch-and-add", 5, 1)


def test_one_processor_computes_with_the_memory() -> None:
    steps = [
        Request("load", 5),
        Request("store", 5, 300),
        Request("fetch-and-add", 5, -301),
        Request(find_operation("fetch-and-max"), 5, 7),
        Request("fetch-and-store", 6, 0xFFFF),
        Request("fetch-and-or", 6, 0x1010),
        Request("fetch-and-store", 6, -2),
    ]
    run = run_programs(plain(), [script(*steps)], memory={5: 9, 6: 4, 0: 1})
    assert run.results == [[9, None, 300, 0xFFFF, 4, 0xFFFF, 0xFFFF]]
    assert run.memory == [1, 0, 0, 0, 0, 7, 0xFFFE, *[0] * 9]
    assert (run.requests, run.memory_requests, run.combined) == (7, 7, [0, 0])
    assert [access.reply for access in run.history[5]] == [9, None, 300, 0xFFFF]
    assert list(run.history) == [5, 6]
    assert run.serializable


@pytest.mark.long
@pytest.mark.parametrize("ports", [2, 8])
def test_times(ports: int) -> None:
    """2 n + 1 cycles from request to reply, and one until the next request; pauses last exactly."""
    steps = [Pause(0), ADD, Pause(0), Pause(10), Pause(0), ADD, ADD, Pause(3)]
    run = run_programs(plain(ports), [script(*steps)])
    trip = 2 * ports.bit_length() - 1
    first = trip + 1
    assert run.results == [
        [0, 0, first, first + 10, first + 10, 1, 2, first + 10 + 2 * (trip + 1) + 3]
    ]
    assert run.cycles == first + 10 + 2 * (trip + 1) + 3
    sent = [0, first + 10, first + 10 + trip + 1]
    assert [(access.sent, access.answered) for access in run.history[5]] == [
        (cycle, cycle + trip) for cycle in sent
    ]


@pytest.mark.long
def test_times_of_longer_messages() -> None:
    """A store takes 3 cycles on each link, a load and a reply 2; a box waits for the head only."""
    steps = [Request("load", 0), Pause(0), [Request("store", 0, 7), Request("load", 1)], Pause(0)]
    run = run_programs(plain(2, lengths=(2, 3)), [script(*steps)])
    assert run.results == [[0, 6, [None, 0], 6 + 3 + 6]]
    assert [(access.sent, access.answered) for access in run.history[0]] == [(0, 4), (6, 11)]
    assert [(access.sent, access.answered) for access in run.history[1]] == [(9, 13)]
    assert run.serializable


@pytest.mark.parametrize("outstanding", [3, long(1)])
def test_several_requests_at_once(outstanding: int) -> None:
    """One is sent a cycle, while there are identities; replies stand in the order of requests."""
    network = plain(outstanding=outstanding)
    requests = [Request("fetch-and-add", word, 1) for word in (5, 5, 7, 5, 0, 7, 5, 5)]
    requests.insert(3, Request("store", 9, 2))
    run = run_programs(network, [script(requests, [], ADD)])
    assert run.results == [[[0, 1, 0, None, 2, 0, 1, 3, 4], [], 5]]
    assert run.serializable
    times = sorted(access.sent for history in run.history.values() for access in history)
    assert times[:outstanding] == list(range(outstanding))
    for cycle in range(run.cycles):
        under_way = [
            access
            for history in run.history.values()
            for access in history
            if access.sent <= cycle <= access.answered
        ]
        assert len(under_way) <= outstanding


def mixed(index: int, words: list[int]) -> Program:
    """Requests of several kinds, some several at a time, and pauses."""
    names = ("fetch-and-add", "fetch-and-or", "load", "store", "fetch-and-store")
    seen = []
    for turn in range(12):
        requests = [
            Request(names[(index + turn + at) % 5], words[(index * turn + at) % len(words)], turn)
            for at in range(turn % 4)
        ]
        seen.append((yield requests))
        seen.append((yield Pause((index * turn) % 3)))
        seen.append((yield Request("fetch-and-add", words[0], 1)))
    return seen


@pytest.mark.long
def test_engines_agree() -> None:
    runs = [
        run_programs(
            small(),
            [mixed(index, [1, 2]) for index in range(3)],
            engine=engine,
            memory={1: 70, 15: 3},
        )
        for engine in ("compiled", "amaranth")
    ]
    assert runs[0].engine == "compiled"
    assert runs[0] == replace(runs[1], engine="compiled")
    assert runs[0].serializable
    assert runs[0].memory[15] == 3


@pytest.mark.long
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"combine": "none"},
        long({"paths": 2}),
        long({"combine": "none", "queues": "input", "delay": 2}),
    ],
    ids=lambda parameters: "-".join(map(str, parameters.values())) or "usual",
)
def test_books_balance(parameters: dict[str, Any]) -> None:
    """What was combined did not reach the memory, as meters at either place say."""
    network = small(4, **parameters)
    run = run_programs(network, [mixed(index, [3, 6, 7]) for index in range(4)])
    assert run.serializable
    assert run.requests == sum(map(len, run.history.values())) == 4 * (12 + 3 * (1 + 2 + 3))
    assert run.memory_requests == run.requests - sum(run.combined)
    assert run.share_combined == sum(run.combined) / run.requests
    assert len(run.combined) == network.stages
    assert (sum(run.combined) > 0) == (network.parameters["combine"] == "all")


def test_simultaneous_fetch_and_adds_meet_in_every_stage() -> None:
    run = run_programs(small(4), [script(ADD) for _ in range(4)])
    assert sorted(reply for (reply,) in run.results) == list(range(4))
    assert (run.memory_requests, run.combined) == (1, [2, 1])


def test_wide_words() -> None:
    network = plain(2, width=64)
    steps = [Request("fetch-and-add", 1, -1), Request("fetch-and-add", 1, 2**64 - 1)]
    run = run_programs(network, [script(*steps)], memory={1: 2**63})
    assert run.results == [[2**63, 2**63 - 1]]
    assert run.memory[1] == 2**63 - 2


def test_a_changed_history_is_not_serializable() -> None:
    run = run_programs(plain(2), [script(ADD, ADD) for _ in range(2)])
    assert run.serializable
    add = find_operation("fetch-and-add")
    wrong = {5: [*run.history[5][:-1], replace(run.history[5][-1], reply=0)]}
    assert not replace(run, history=wrong).serializable
    assert not replace(run, initial={5: 1}).serializable
    assert not replace(run, memory=[0] * 16).serializable
    late = [Access(0, add, 1, 1, 0, 5), Access(1, add, 1, 0, 6, 9)]
    assert not replace(run, history={5: late}, memory=[2] * 16).serializable


def test_nothing_asked() -> None:
    run = run_programs(plain(), [script(), script(Pause(7))])
    assert (run.cycles, run.requests, run.share_combined, run.history) == (7, 0, 0.0, {})
    assert run.serializable


class DeafMemory(wiring.Component):
    """Takes requests and never replies."""

    def __init__(self, link: MemoryLink, rows: int) -> None:
        self.rows = rows
        super().__init__({"i": In(link)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = self.words = Memory(shape=16, depth=self.rows, init=[])
        self.words.read_port()
        m.d.comb += self.i.request.ready.eq(1)
        return m


def test_missing_replies_are_reported() -> None:
    network = plain()
    cell = network.fabric.cells["memory_1"]
    deaf = CellType(DeafMemory, link=network.link, rows=4)
    network.fabric.cells["memory_1"] = replace(cell, type=deaf)
    programs = [
        script(Request("load", 4)),
        script(Pause(20), ADD),
        script(Request("load", 6), Pause(1000)),
    ]
    message = (
        "No reply has come for 100 cycles: "
        "processor 1 has waited for fetch-and-add of word 5 since cycle 20 (not answered); "
        "processor 2 pauses until cycle 1006"
    )
    with pytest.raises(ProgramsStuck, match=f"^{re.escape(message)}$"):
        run_programs(network, programs, limit=100)


def waiting_for_ever() -> Program:
    while (yield Request("load", 5)) == 0:
        pass


@pytest.mark.long
def test_programs_that_never_end_are_reported() -> None:
    with pytest.raises(
        ProgramsStuck,
        match=r"^Programs have not ended in 200 cycles: processor 0 has waited for load of word 5 "
        r"since cycle \d+ .*; processor 7 has waited for load .*; and 5 more$",
    ):
        run_programs(plain(16), [waiting_for_ever() for _ in range(13)], cycles=200)
    with pytest.raises(
        ProgramsStuck,
        match=r"^Programs have not ended in 50 cycles: processor 0 pauses until cycle 60$",
    ):
        run_programs(plain(), [script(Pause(60))], cycles=50)


def test_long_pauses_are_no_silence() -> None:
    run = run_programs(plain(), [script(Pause(1000), ADD)], limit=20)
    assert run.results == [[1000, 0]]


REJECTED_STEPS = [
    (
        Request("fetch-and-multiply", 0),
        ValueError,
        "Operation must be one of load, store, fetch-and-store, fetch-and-add, fetch-and-max, "
        "fetch-and-or, not 'fetch-and-multiply'; did you mean 'fetch-and-max'?",
    ),
    (
        Request(replace(find_operation("load"), name="peek"), 0),
        ValueError,
        "Operation must be one of the network's, not <Operation peek>",
    ),
    (Request("load", 16), ValueError, "Word must be from 0 to 15, not 16"),
    (Request("load", -1), ValueError, "Word must be from 0 to 15, not -1"),
    (Request("load", "x"), TypeError, "Word must be an integer, not 'x'"),
    (Request("store", 1, 65536), ValueError, "Operand must be from -32768 to 65535, not 65536"),
    (Request("store", 1, -32769), ValueError, "Operand must be from -32768 to 65535, not -32769"),
    (Request("store", 1, 0.5), TypeError, "Operand must be an integer, not 0.5"),
    (Pause(-1), ValueError, "Pause must be at least 0, not -1"),
    (
        ("load", 1),
        TypeError,
        "Program must yield a Request, a list of Requests or a Pause, not ('load', 1)",
    ),
    (
        [Request("load", 1), None],
        TypeError,
        "Program must yield a Request, a list of Requests or a Pause, "
        "not [Request(operation='load', word=1, operand=0, part=0), None]",
    ),
]


@pytest.mark.parametrize(("step", "error", "message"), REJECTED_STEPS)
def test_programs_rejects_steps(
    step: Any, error: type, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first step is looked at before the engine does anything; opening one takes time.
    monkeypatch.setattr("multicube.sim.run.programs.open_engines", lambda *_: [Mock()])
    with pytest.raises(error, match=f"^{re.escape(f'Processor 1: {message}')}$"):
        run_programs(plain(2), [script(), script(step)])


def shared() -> list[Program]:
    return [script()] * 2


def ended() -> list[Program]:
    program = script()
    list(program)
    return [program]


REJECTED = [
    (lambda: run_programs("net", []), TypeError, "Network must be one with memory, not 'net'"),
    (lambda: run_programs(plain(2), []), ValueError, "Programs must be from 1 to 2, not 0"),
    (
        lambda: run_programs(plain(2), [script() for _ in range(5)]),
        ValueError,
        "Programs must be from 1 to 2, not 5",
    ),
    (
        lambda: run_programs(plain(2), shared()),
        ValueError,
        "Programs must be different generators, not one for several processors",
    ),
    (
        lambda: run_programs(plain(2), ended()),
        ValueError,
        "Program must be a generator that has not begun, new for each run",
    ),
    (lambda: run_programs(plain(2), [7]), TypeError, "Program must be a generator, not 7"),
    (
        lambda: run_programs(plain(2), [script()], limit=0),
        ValueError,
        "Limit must be at least 1, not 0",
    ),
    (
        lambda: run_programs(plain(2), [script()], cycles=1.5),
        TypeError,
        "Cycles must be an integer, not 1.5",
    ),
    (
        lambda: run_programs(plain(2), [script()], memory={16: 0}),
        ValueError,
        "Word must be from 0 to 15, not 16",
    ),
    (
        lambda: run_programs(plain(2), [script()], memory={1: -1}),
        ValueError,
        "Value must be from 0 to 65535, not -1",
    ),
    (
        lambda: run_programs(plain(2), [script()], engine="steam"),
        ValueError,
        "Engine must be one of auto, compiled, amaranth, verilator, not 'steam'",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REJECTED)
def test_run_programs_rejects(call: Callable[[], ProgramRun], error: type, message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call()


def test_a_program_s_own_error_comes_through() -> None:
    def failing() -> Program:
        yield ADD
        raise LookupError("mine")

    with pytest.raises(LookupError, match=r"^mine$"):
        run_programs(plain(2), [failing()])
