# amaranth: UnusedElaboratable=no
"""Exported combining networks, driven by cocotb in Icarus: a serial order explains all replies."""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import CombiningNetwork, write_verilog
from multicube.hdl.operations.memory import OPERATIONS, Operation, find_operation
from multicube.hdl.primitives.pacing import request_length
from multicube.sim.measure.serial_order import Access, serial_order

SEED = 20240607
WIDTH = 16
REQUESTS = 60
"""From each processor, before the words are loaded in the end."""
OUTSTANDING = 6
"""Requests that a processor waits for at a time."""
LOAD = find_operation("load")

CASES: dict[str, dict[str, Any]] = {
    "combining": {},
    "RP3's": {
        **{"radix": 4, "paths": 2, "queues": "input", "combine": "none"},
        **{"depth": 8, "delay": 2, "lengths": "2:3"},
    },
}


@dataclass(frozen=True)
class Request:
    """A request that the network took."""

    processor: int
    word: int
    identity: int
    tag: int
    operation: Operation
    operand: int
    sent: int
    last: bool = False


@dataclass(frozen=True)
class Reply:
    """A reply that a processor took, and when it was first shown to it."""

    processor: int
    identity: int
    tag: int
    value: int
    came: int
    taken: int


def judge(requests: list[Request], replies: list[Reply]) -> None:
    """Every request has one reply of its own, and those of each word have a serial order.

    The last requests are loads, one of each word, sent when all others had been answered.
    """
    answers = match(requests, replies)
    end = max(reply.taken for request, reply in answers if not request.last)
    final: dict[int, int] = {}
    histories: dict[int, list[Access]] = defaultdict(list)
    for request, reply in answers:
        if request.last:
            assert request.operation == LOAD
            assert request.sent > end
            assert request.word not in final
            final[request.word] = reply.value
        else:
            histories[request.word].append(
                Access(
                    request.processor,
                    request.operation,
                    request.operand,
                    reply.value,
                    request.sent,
                    reply.came,
                )
            )
    assert final.keys() >= histories.keys(), "a word was not loaded in the end"
    for word, history in histories.items():
        order = serial_order(history, width=WIDTH, final=final[word])
        assert order is not None, f"no serial order explains the replies of word {word}"


def match(requests: list[Request], replies: list[Reply]) -> list[tuple[Request, Reply]]:
    """Requests, in the order in which they were sent, each with its reply."""
    open_: dict[tuple[int, int], Request] = {}
    found: dict[Request, Reply] = {}
    # A reply that is taken in the cycle in which a request is sent is that of an earlier one.
    events = [(reply.taken, 0, reply) for reply in replies]
    events += [(request.sent, 1, request) for request in requests]
    for _, _, event in sorted(events, key=lambda event: event[:2]):
        key = event.processor, event.identity
        if isinstance(event, Request):
            assert key not in open_, f"identity used twice at a time: {event}"
            open_[key] = event
        else:
            request = open_.pop(key, None)
            assert request is not None, f"nobody waits for {event}"
            assert request.tag == event.tag, f"{event} has a tag of another's"
            assert request.sent < event.came, f"{event} came before its request"
            found[request] = event
    assert not open_, f"no reply to {list(open_.values())}"
    return [(request, found[request]) for request in sorted(requests, key=lambda r: r.sent)]


def task_of(network: CombiningNetwork, requests: int) -> dict[str, Any]:
    """What the simulator is to do: few words, two of them in one memory module."""
    ports = network.ports
    words = [3, 3 + ports, 2, 7]
    return {
        # One path for each word keeps a processor's requests for it in order.
        "words": [
            [network.locate(word, (processor + word // ports) % network.paths) for word in words]
            for processor in range(ports)
        ],
        "requests": requests,
        "operations": len(network.operations),
        "lengths": [request_length(operation, network.lengths) for operation in network.operations],
        "outstanding": OUTSTANDING,
        "load": network.operations.index(LOAD),
        "combined": [[(pin.cell, *pin.path) for pin in stage] for stage in network.combined()],
    }


Drive = Callable[[CombiningNetwork, Path], tuple[list[Request], list[Reply], dict[str, Any]]]


@pytest.fixture
def drive(tmp_path: Path, compile_bench: Callable[..., Any]) -> Drive:
    """Run a network's Verilog: requests, replies, and the record that they are from."""

    def run(
        network: CombiningNetwork, verilog: Path
    ) -> tuple[list[Request], list[Reply], dict[str, Any]]:
        print("seed", SEED)
        task, record = tmp_path / "task.json", tmp_path / "record.json"
        task.write_text(json.dumps(task_of(network, REQUESTS)))
        bench = compile_bench("icarus", verilog)
        environment = {"PORTS": f"{verilog}.json", "TASK": str(task), "RECORD": str(record)}
        done = bench.run("operations_on_few_words", environment, SEED, module="memory_traffic")
        assert done is None
        seen = json.loads(record.read_text())
        requests = [
            Request(**{**request, "operation": network.operations[request["operation"]]})
            for request in seen["requests"]
        ]
        replies = [Reply(**reply) for reply in seen["replies"]]
        print(len(requests), "requests in", seen["cycles"], "cycles, combined", seen["combined"])
        return requests, replies, seen

    return run


def export(case: str, folder: Path) -> tuple[CombiningNetwork, Path]:
    network = CombiningNetwork(8, width=WIDTH, rows=2, outstanding=8, **CASES[case])
    verilog = folder / "network.v"
    write_verilog(network.fabric, verilog)
    return network, verilog


@pytest.mark.long
@pytest.mark.parametrize("case", ["combining", long("RP3's")])
def test_exported_network_answers_in_a_serial_order(
    case: str, tmp_path: Path, drive: Drive
) -> None:
    network, verilog = export(case, tmp_path)
    requests, replies, seen = drive(network, verilog)
    sent = Counter(request.processor for request in requests if not request.last)
    assert sent == dict.fromkeys(range(8), REQUESTS)
    assert {request.operation for request in requests} == set(OPERATIONS)
    assert seen["most"] == OUTSTANDING
    assert any(reply.taken > reply.came for reply in replies)
    for combined in seen["combined"]:
        assert (combined > 0) == (network.parameters["combine"] != "none")
    judge(requests, replies)


@pytest.mark.long
def test_boxes_that_compare_no_tags_are_found(tmp_path: Path, drive: Drive) -> None:
    """A mistake in the wiring: requests for different modules combine."""
    network, verilog = export("combining", tmp_path)
    text, straps = re.subn(r"\.later\(3'd\d\)", ".later(3'd0)", verilog.read_text())
    assert straps == 12
    verilog.write_text(text)
    requests, replies, _ = drive(network, verilog)
    with pytest.raises(AssertionError, match="no serial order"):
        judge(requests, replies)


def history(seed: int) -> tuple[list[Request], list[Reply]]:
    """What processors would see of a memory that performs at most one operation a cycle."""
    rng = random.Random(seed)
    memory = [0, 0]
    requests: list[Request] = []
    replies: list[Reply] = []
    free = {(processor, identity): -1 for processor in range(4) for identity in range(3)}
    newest = dict.fromkeys(range(4), -1)

    def perform(cycle: int, request: Request) -> None:
        word, operation = request.word, request.operation
        came = cycle + rng.randrange(1, 5)
        taken = came + rng.randrange(3)
        requests.append(request)
        replies.append(
            Reply(request.processor, request.identity, request.tag, memory[word], came, taken)
        )
        memory[word] = operation.perform(memory[word], request.operand, WIDTH)
        free[request.processor, request.identity] = taken
        newest[request.processor] = request.sent

    for cycle in range(150):
        processor, identity = rng.choice(list(free))
        earliest = max(free[processor, identity], newest[processor]) + 1
        if earliest <= cycle:
            sent = max(earliest, cycle - rng.randrange(6))
            word, operation = rng.randrange(2), rng.choice(OPERATIONS)
            operand = rng.randrange(1, 1 << WIDTH)
            perform(cycle, Request(processor, word, identity, word + 4, operation, operand, sent))
    for word in range(2):
        perform(200, Request(word, word, 0, word + 4, LOAD, 0, 199, last=True))
    return requests, replies


@pytest.mark.parametrize("seed", range(20))
def test_a_good_history_is_accepted(seed: int) -> None:
    requests, replies = history(seed)
    assert len(requests) > 60
    judge(requests, replies)


def _two(requests: list[Request], replies: list[Reply]) -> tuple[int, int]:
    """Two of one processor, for one word, that returned different values, long after each other."""
    return next(
        (i, j)
        for i, first in enumerate(requests)
        for j, second in enumerate(requests)
        if (first.processor, first.word) == (second.processor, second.word)
        and replies[i].taken + 20 < second.sent
        and first.operation.replies
        and second.operation.replies
        and replies[i].value != replies[j].value
    )


def swap_values(requests: list[Request], replies: list[Reply]) -> None:
    i, j = _two(requests, replies)
    one, other = replies[i].value, replies[j].value
    replies[i], replies[j] = replace(replies[i], value=other), replace(replies[j], value=one)


def swap_receivers(requests: list[Request], replies: list[Reply]) -> None:
    """Two that are under way at the same time, of processors that both wait for that identity."""
    i, j = next(
        (i, j)
        for i, first in enumerate(requests)
        for j, second in enumerate(requests)
        if first.identity == second.identity
        and first.word == second.word
        and first.processor != second.processor
        and max(first.sent, second.sent) < min(replies[i].came, replies[j].came)
        and first.operation.replies
        and second.operation.replies
        and replies[i].value != replies[j].value
    )
    one, other = replies[i].processor, replies[j].processor
    replies[i] = replace(replies[i], processor=other)
    replies[j] = replace(replies[j], processor=one)


def lose(requests: list[Request], replies: list[Reply]) -> None:
    del replies[17]


def duplicate(requests: list[Request], replies: list[Reply]) -> None:
    replies.append(replies[17])


def invent(requests: list[Request], replies: list[Reply]) -> None:
    replies.append(replace(replies[17], identity=7))


def misroute(requests: list[Request], replies: list[Reply]) -> None:
    replies[17] = replace(replies[17], tag=replies[17].tag ^ 1)


def hurry(requests: list[Request], replies: list[Reply]) -> None:
    replies[17] = replace(replies[17], came=requests[17].sent)


def forget(requests: list[Request], replies: list[Reply]) -> None:
    """What is left in the memory in the end is not what was written."""
    replies[-1] = replace(replies[-1], value=replies[-1].value ^ 1)


CORRUPTIONS = {
    swap_values: "no serial order",
    swap_receivers: "no serial order|used twice",
    lose: "no reply to|used twice",
    duplicate: "nobody waits",
    invent: "nobody waits",
    misroute: "tag of another",
    hurry: "came before",
    forget: "no serial order",
}


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda corrupt: corrupt.__name__)
def test_a_corrupted_history_is_rejected(corrupt: Callable[..., None]) -> None:
    found = 0
    for seed in range(10):
        requests, replies = history(seed)
        try:
            corrupt(requests, replies)
        except StopIteration:
            continue
        found += 1
        with pytest.raises(AssertionError, match=CORRUPTIONS[corrupt]):
            judge(requests, replies)
    assert found > 2


@pytest.mark.parametrize(("values", "serial"), [((0, 1), True), ((2, 0), False)])
def test_requests_of_one_processor_for_a_word_keep_their_order(
    values: tuple[int, int], serial: bool
) -> None:
    """It adds 1 and then, without waiting for the reply, 2."""
    add = find_operation("fetch-and-add")
    requests = [
        Request(0, 0, 0, 5, add, 1, sent=1),
        Request(0, 0, 1, 5, add, 2, sent=2),
        Request(1, 0, 0, 5, LOAD, 0, sent=20, last=True),
    ]
    replies = [
        Reply(0, 0, 5, values[0], 8, 8),
        Reply(0, 1, 5, values[1], 7, 7),
        Reply(1, 0, 5, 3, 27, 27),
    ]
    if serial:
        judge(requests, replies)
    else:
        with pytest.raises(AssertionError, match="no serial order"):
            judge(requests, replies)
