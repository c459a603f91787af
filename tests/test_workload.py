"""Workloads: messages that wait for each other, in hardware, against a model of events."""

import heapq
import json
import random
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from command_line import Call, command_refusals, exit_status
from long_runs import long
from multicube.hdl import FAMILIES, MulticubeError, build
from multicube.hdl.networks.family import Family
from multicube.sim import (
    Workload,
    WorkloadMessage,
    WorkloadRun,
    read_workload,
    run_workload,
)
from multicube.sim.report.timeline import timeline
from refusals import refusals

RING = "torus k=4 n=1 length=1:4"

HEADER = "id,source,destination,length,after,delay"


def expected(
    workload: Workload, transit: Callable[[int, int], int]
) -> dict[int, tuple[int, int, int]]:
    """When each message is ready, left and arrives if messages meet at their source only.

    `transit` has the cycles from one end to the other of a flit. Written from the page: a terminal
    sends one flit per cycle and one message at a time, of those that are ready the first one, and
    of computations one ends per cycle.
    """
    rank = {message.id: place for place, message in enumerate(workload.messages)}
    left_of = {message.id: set(message.after) for message in workload.messages}
    known: dict[int, int] = defaultdict(int)
    times: dict[int, tuple[int, int, int]] = {}
    waiting: dict[int, list[tuple[int, WorkloadMessage]]] = defaultdict(list)
    running: dict[int, list[tuple[int, WorkloadMessage]]] = defaultdict(list)
    free: dict[int, int] = defaultdict(int)
    next_end: dict[int, int] = defaultdict(int)
    events: list[tuple[int, int, int, int]] = []  # cycle, kind, terminal, message

    def release(message: WorkloadMessage) -> None:
        ready = known[message.id] + message.delay
        if message.length == 0:
            running[message.source].append((ready - 1, message))
            heapq.heappush(events, (ready - 1, 2, message.source, -1))
            return
        waiting[message.source].append((ready, message))
        heapq.heappush(events, (ready, 1, message.source, -1))

    def tell(terminal: int, which: int, cycle: int) -> None:
        for message in workload.messages:
            if message.source == terminal and which in left_of[message.id]:
                left_of[message.id].remove(which)
                known[message.id] = max(known[message.id], cycle)
                if not left_of[message.id]:
                    release(message)

    for message in workload.messages:
        if not message.after:
            release(message)
    while events:
        cycle, kind, terminal, which = heapq.heappop(events)
        if kind == 0:
            tell(terminal, which, cycle)
        elif kind == 2:
            over = [each for each in running[terminal] if each[0] <= cycle]
            if not over or cycle < next_end[terminal]:
                continue
            chosen = min(over, key=lambda each: rank[each[1].id])
            running[terminal].remove(chosen)
            times[chosen[1].id] = chosen[0] + 1, cycle, cycle
            next_end[terminal] = cycle + 1
            heapq.heappush(events, (cycle + 1, 2, terminal, -1))
            heapq.heappush(events, (cycle + 1, 0, terminal, chosen[1].id))
        elif cycle < free[terminal]:
            heapq.heappush(events, (free[terminal], 1, terminal, -1))
        elif able := [each for each in waiting[terminal] if each[0] <= cycle]:
            chosen = min(able, key=lambda each: rank[each[1].id])
            waiting[terminal].remove(chosen)
            ready, message = chosen
            left = cycle + message.length - 1
            arrived = left + transit(terminal, message.destination)
            times[message.id] = ready, left, arrived
            free[terminal] = left + 1
            heapq.heappush(events, (left + 1, 1, terminal, -1))
            if message.destination != terminal:
                heapq.heappush(events, (left + 1, 0, terminal, message.id))
            heapq.heappush(events, (arrived + 1, 0, message.destination, message.id))
    return times


def measured(run: WorkloadRun) -> dict[int, tuple[int, int, int]]:
    return {times.message.id: (times.ready, times.left, times.arrived) for times in run.messages}


def neighbours(seed: int, nodes: int, count: int) -> Workload:
    """Random messages to the next node of a ring, so that no two use the same link; computations.

    Each depends on up to three earlier ones that its terminal receives, sends or computes.
    """
    chance = random.Random(seed)
    messages: list[WorkloadMessage] = []
    for number in range(count):
        source = chance.randrange(nodes)
        seen = [each.id for each in messages if source in (each.source, each.destination)]
        after = tuple(chance.sample(seen, min(len(seen), chance.randrange(4))))
        length, delay = chance.randint(0, 4), chance.choice((0, 0, 1, 7, 40))
        to = (source + 1) % nodes
        if not length:
            to, delay = source, delay + 1
        messages.append(WorkloadMessage(count - number, source, to, length, after, delay))
    chance.shuffle(messages)
    return Workload("neighbours", tuple(messages))


@pytest.mark.parametrize("engine", ["compiled", long("amaranth")])
def test_every_engine_sends_as_the_model_of_events(engine: str) -> None:
    """Without contention in the network, to the cycle: a flit takes two cycles per hop here."""
    network = build(RING)
    workload = neighbours(374, 4, 16)
    run = run_workload(network, workload, engine=engine)
    assert measured(run) == expected(workload, lambda source, to: 2)
    assert sum(run.shares.values()) == run.cycles == 1 + max(m.arrived for m in run.messages)
    assert run.shares["wait"] > 0, "some messages must wait for others of their source"


def test_lists_may_be_long() -> None:
    """Of several blocks of rows in each source, and the last row of a block."""
    workload = neighbours(3, 4, 300)
    run = run_workload(build(RING), workload)
    assert max(map(len, workload.sent_by(4))) > 2 * 32
    assert measured(run) == expected(workload, lambda source, to: 2)


def test_computations_end_one_after_the_other_and_cost_no_link() -> None:
    """Three that are over at once, a message after the last, and nothing is sent meanwhile."""
    messages = (
        *(WorkloadMessage(number, 0, 0, 0, (), 5) for number in range(3)),
        WorkloadMessage(3, 0, 1, 1, (2,), 4),
        WorkloadMessage(4, 0, 1, 1, (), 5),
    )
    run = run_workload(build(RING), Workload("computing", messages))
    assert [times.arrived for times in run.messages[:3]] == [4, 5, 6]
    assert (run.messages[3].sent, run.messages[4].sent) == (6 + 1 + 4, 5)
    assert run.shares == {"compute": 9, "wait": 2, "hop": 3, "serialisation": 0}
    assert run.cycles == 14


def all_reduce(nodes: int, length: int, delay: int) -> Workload:
    """Ring all-reduce: each node passes on in a step what it received in the one before."""
    return Workload(
        "all-reduce",
        tuple(
            WorkloadMessage(
                step * nodes + node,
                node,
                (node + 1) % nodes,
                length,
                ((step - 1) * nodes + (node - 1) % nodes,) if step else (),
                delay if 0 < step < nodes else 0,
            )
            for step in range(2 * (nodes - 1))
            for node in range(nodes)
        ),
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("network", "hops"),
    [
        ("ring k=8 n=1 length=4", lambda source, to: 1),
        ("torus k=2 n=3 length=4", lambda source, to: (source ^ to).bit_count()),
    ],
    ids=["ring", "torus"],
)
def test_ring_all_reduce_needs_no_guessed_step(
    network: str, hops: Callable[[int, int], int]
) -> None:
    """112 sends, each as soon as it may be: a flit takes a cycle per hop and one at the end."""
    workload = all_reduce(8, 4, 10)
    assert len(workload.messages) == 112
    run = run_workload(build(network), workload)
    assert measured(run) == expected(workload, lambda source, to: hops(source, to) + 1)
    path = [workload.by_id[part.id] for part in run.critical_path]
    assert len(path) == 14
    assert run.shares == {
        "compute": 7 * 10,
        "wait": 0,
        "hop": sum(hops(each.source, each.destination) + 2 for each in path),
        "serialisation": 14 * 3,
    }


@pytest.mark.long
def test_contention_is_waiting() -> None:
    """Two messages for one terminal: the second waits for as long as the first has flits."""
    network = build(RING)
    one = WorkloadMessage(1, 0, 1, 4)
    alone = run_workload(network, Workload("one", (one,)))
    assert alone.shares == {"compute": 0, "wait": 0, "hop": 3, "serialisation": 3}
    both = run_workload(network, Workload("two", (one, WorkloadMessage(2, 2, 1, 4))))
    assert both.shares == {**alone.shares, "wait": 4}
    assert both.cycles == alone.cycles + 4


def test_a_message_to_its_own_terminal_counts_once() -> None:
    """When it arrives; leaving, it would count a second time, and the other would not wait."""
    messages = (
        WorkloadMessage(0, 0, 0),
        WorkloadMessage(1, 1, 0, delay=50),
        WorkloadMessage(2, 0, 1, after=(0, 1)),
    )
    run = run_workload(build(RING), Workload("own", messages))
    first, second, third = run.messages
    assert first.arrived < second.arrived
    assert third.ready == third.sent == second.arrived + 1


def test_what_comes_in_the_same_cycle_counts_twice() -> None:
    messages = (
        WorkloadMessage(0, 1, 0),
        WorkloadMessage(1, 0, 1, delay=2),
        WorkloadMessage(2, 0, 3, after=(0, 1)),
    )
    run = run_workload(build(RING), Workload("both", messages))
    arriving, leaving, third = run.messages
    assert arriving.arrived == leaving.left
    assert third.sent == leaving.left + 1


@pytest.mark.long
def test_pipelined_routers_take_what_they_take() -> None:
    """Their first packet on a path is slower than the next: this is waiting, not distance."""
    network = build("torus k=4 n=1 length=4 pipeline=1")
    run = run_workload(network, Workload("one", (WorkloadMessage(0, 0, 2, 3),)))
    assert run.shares["serialisation"] == 2
    assert run.shares["wait"] >= 0
    assert sum(run.shares.values()) == run.cycles


@pytest.mark.long
def test_messages_that_are_stuck_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """On one channel around a ring, whose four messages hold what the next one needs."""
    path = tmp_path / "w.csv"
    path.write_text(rows(*(f"{node},{node},{(node + 2) % 4},32,," for node in range(4))))
    words = ["ring", "k=4", "n=1", "channels=1", "allow_deadlock=1", "length=32", "--workload"]
    assert exit_status("sim", *words, str(path)) == 1
    assert capsys.readouterr().err == (
        "multicube: The messages do not balance: 4 of 4 sent, 0 delivered, "
        "not message 0 from 0 to 2\n"
    )


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_every_family_runs_workloads_or_is_refused(family: Family) -> None:
    network = family.build(**family.example)
    ports = min(network.sources, network.sinks)
    messages = tuple(
        WorkloadMessage(
            step * ports + node,
            node,
            (node + step + 1) % ports,
            after=((step - 1) * ports + (node - step) % ports,) if step else (),
            delay=step,
        )
        for step in range(3)
        for node in range(ports)
    )
    workload = Workload("circles", messages)
    loses = network.has_memory or (network.drops and not network.resubmits)
    if loses or network.sources != network.sinks:
        with pytest.raises(MulticubeError, match=r"^(There|Network) must "):
            run_workload(network, workload)
        return
    run = run_workload(network, workload)
    assert sum(run.shares.values()) == run.cycles == 1 + max(m.arrived for m in run.messages)
    assert all(times.ready <= times.sent <= times.left < times.arrived for times in run.messages)


@pytest.fixture(scope="module")
def small() -> WorkloadRun:
    messages = (
        WorkloadMessage(0, 0, 1),
        WorkloadMessage(1, 1, 0, after=(0,), delay=5),
        WorkloadMessage(2, 0, 3),
        WorkloadMessage(3, 0, 0, after=(1, 2)),
    )
    return run_workload(build(RING), Workload("small", messages))


def test_json_has_the_times_of_all_messages(small: WorkloadRun) -> None:
    record = json.loads(json.dumps(small.to_json()))
    assert [each["id"] for each in record["messages"]] == [0, 1, 2, 3]
    for each, times in zip(record["messages"], small.messages):
        named = {name: each[name] for name in ("ready", "sent", "left", "arrived")}
        assert named == {name: getattr(times, name) for name in named}
    assert [each["id"] for each in record["critical_path"]] == [0, 1, 3]
    assert record["shares"] == small.shares
    assert record["messages"][3]["after"] == [1, 2]


def test_timeline_has_spans_that_nest_and_arrows_that_begin_before_they_end(
    small: WorkloadRun,
) -> None:
    events = json.loads(json.dumps(timeline(small)))["traceEvents"]
    names = {each["args"].get("name") for each in events if each["ph"] == "M"}
    assert {f"terminal {number}" for number in (0, 1, 3)} <= names
    longest: dict[int, int] = {}
    spans = [each for each in events if each["ph"] in "be"]
    for each in spans:
        if each["ph"] == "b":
            end = next(
                other["ts"]
                for other in spans
                if (other["ph"], other["id"], other["name"]) == ("e", each["id"], each["name"])
            )
            assert each["ts"] < end
            longest[each["id"]] = max(longest.get(each["id"], 0), end - each["ts"])
    computing = {each["id"]: each["ts"] for each in spans if each["name"] == "compute"}
    assert list(computing) == [6 - 5] == [1]
    for times in small.messages:
        whole = times.arrived + 1 - times.ready + times.message.delay
        assert longest[times.message.id] == whole
    begins = {each["id"]: each["ts"] for each in events if each["ph"] == "s"}
    ends = {each["id"]: each["ts"] for each in events if each["ph"] == "f"}
    assert begins.keys() == ends.keys() == {"0-1", "1-3", "2-3"}
    assert all(begins[arrow] < ends[arrow] for arrow in begins)


def rows(*lines: str) -> str:
    return "\n".join((HEADER, *lines))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("id,source,after", 1, "the header must be id,source,destination[,length[,after[,delay]]]"),
        (rows("0,0,1,1,,0", "1,1,0,1,0"), 3, "there must be 6 fields, not 5"),
        (rows("0,0,x,1,,0"), 2, "destination must be a number, not 'x'"),
        (rows("0,-1,1,1,,0"), 2, "source must be a number, not '-1'"),
        (rows("0,0,1,-1,,0"), 2, "length must be a number, not '-1'"),
        (
            rows("0,0,1,0,,3"),
            2,
            "Destination must be 0, its source, with length 0, a computation, not 1",
        ),
        (rows("0,1,1,0,,"), 2, "Delay must be at least 1 with length 0, a computation, not 0"),
        (rows("0,0,1,1,,2147483648"), 2, "Delay must be from 0 to 2147483647, not 2147483648"),
        (rows("0,0,1,1,,0", "", "0,1,0,1,,0"), 4, "id 0 is also that of an earlier message"),
        (rows("0,0,1,1,7,0"), 2, "after 7, which is no message"),
        (rows("0,0,1,1,0,0"), 2, "it waits for itself: 0 after 0"),
        (
            rows("3,2,2,1,,0", "0,0,1,1,2,0", "1,1,0,1,0,0", "2,0,1,1,3;1,0"),
            5,
            "terminal 0 can't wait for message 3, which goes from 2 to 2: it neither receives nor "
            "sends it; let 2 send an answer, and wait for that",
        ),
        (rows("0,0,9,1,,0"), 2, "destination must be a terminal from 0 to 3, not 9"),
        (rows("0,0,1,1,,0", "1,4,1,1,,0"), 3, "source must be a terminal from 0 to 3, not 4"),
        (rows("0,0,1,5,,0"), 2, "length must be from 1 to 4 in this network, not 5"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(
    text: str, line: int, message: str, tmp_path: Path, call: Call
) -> None:
    path = tmp_path / "w.csv"
    path.write_text(text)
    words = ["sim", *RING.split(), "--workload", str(path)]
    call(*words).refuses(f"Workload {path}, line {line}: {message}")


def test_a_cycle_names_its_messages(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text(rows("4,0,1,1,6,0", "5,1,0,1,4,0", "6,0,1,1,5,0"))
    with pytest.raises(ValueError, match=r"line \d: it waits for itself: ") as found:
        read_workload(path)
    names = [int(word) for word in str(found.value).rpartition(": ")[2].split(" after ")]
    after = {4: 6, 5: 4, 6: 5}
    assert names[0] == names[-1]
    assert all(after[one] == other for one, other in pairwise(names))
    assert f"line {names[0] - 2}: " in str(found.value)


def test_a_file_may_be_short_and_have_spaces(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    text = "id,source,destination,length,after\r\n 7, 0 ,1,,\r\n\r\n8,1,0,2, 7 ;7\r\n"
    path.write_bytes(text.encode("utf-8-sig"))
    assert read_workload(path).messages == (
        WorkloadMessage(7, 0, 1),
        WorkloadMessage(8, 1, 0, 2, (7,)),
    )


test_refusals = refusals(
    lambda network, workload: run_workload(network, workload),
    (
        build("combining", ports=4),
        Workload("w", (WorkloadMessage(0, 0, 1),)),
        TypeError,
        "Network must carry packets for a workload, not requests of processors",
    ),
    (
        build("cube", ports=4, switch="unbuffered"),
        Workload("w", (WorkloadMessage(0, 0, 1),)),
        "Network must not be one that loses packets, for a workload",
    ),
    (
        build("cube", ports=4),
        Workload("w", (WorkloadMessage(5, 0, 9),)),
        "Message 5: destination must be a terminal from 0 to 3, not 9",
    ),
    (
        build("cube", ports=4),
        Workload("w", tuple(WorkloadMessage(number, 3, 0) for number in range(16385))),
        "Messages of terminal 3 must be at most 16384, not 16385",
    ),
    (
        build("cube", ports=64),
        Workload("w", tuple(WorkloadMessage(number, 3, 0) for number in range(16384))),
        "Bits in the tables of a workload must be at most 8589934592, not 34359738368",
    ),
    (build("cube", ports=4), "w.csv", TypeError, "Workload must be a Workload, not 'w.csv'"),
)


test_options_that_do_not_fit = command_refusals(
    f"sim {RING}",
    (
        ["--workload", "w.csv", "--load", "0.3"],
        "A workload takes no --load: its file lists all messages, and each must arrive",
    ),
    (
        ["--workload", "w.csv", "--fault", "link:1:1"],
        "A workload takes no --fault: its file lists all messages, and each must arrive",
    ),
    (
        ["--workload", "w.csv", "--trace", "t.csv"],
        "A workload takes no --trace: its file lists all messages, and each must arrive",
    ),
    (
        ["--timeline", "t.json"],
        "Without --workload FILE there is no --timeline: it is of a workload",
    ),
    (["--until", "5"], "Without --workload FILE there is no --until: it is of a workload"),
)


def test_command_writes_json_and_timeline(tmp_path: Path, small: WorkloadRun, call: Call) -> None:
    path, drawn = tmp_path / "small.csv", tmp_path / "small.json"
    path.write_text(rows("0,0,1,1,,0", "1,1,0,1,0,5", "2,0,3,1,,0", "3,0,0,1,1 2,0"))
    words = ["sim", *RING.split(), "--workload", str(path)]
    record = call(*words, "--timeline", str(drawn), "--json").record
    assert record == {**small.to_json(), "workload": str(path)}
    events = json.loads(json.dumps(timeline(small)))["traceEvents"]
    assert json.loads(drawn.read_text())["traceEvents"] == events
