# amaranth: UnusedElaboratable=no
"""Boxes and networks that combine, under random traffic: every history must be a serial one."""

import itertools
import random
import re
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.lib.wiring import In, Out
from long_runs import long
from multicube.hdl import CombiningNetwork
from multicube.hdl.boxes.combining import MERGES, CombiningBox
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.combining_rules import POLICIES
from multicube.hdl.operations.memory import OPERATIONS, Operation, find_operation
from multicube.hdl.operations.operation_unit import OperationUnit
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.measure.serial_order import Access, serial_order

ADD = find_operation("fetch-and-add")
XOR = Operation("fetch-and-xor", lambda x, e: x ^ e)


@dataclass
class Request:
    """What a processor sent, and when; and the reply."""

    processor: int
    identity: int
    word: int
    operation: Operation
    operand: int
    path: int = 0
    sent: int = -1
    answered: int = -1
    reply: int | None = None


class Memory:
    """A memory module in Python, which answers in order, after a random time."""

    def __init__(self, network: CombiningNetwork, pace: float) -> None:
        self.given = network.parameters
        self.operations = network.operations
        self.pace = pace
        self.words = [0] * self.given["rows"]
        self.replies: deque[tuple[int, int, int]] = deque()

    def perform(self, request: dict[str, int]) -> None:
        operation = self.operations[request["operation"]]
        old = self.words[request["address"]]
        self.words[request["address"]] = operation.perform(
            old, request["operand"], self.given["width"]
        )
        # Of an operation that fetches nothing, no one may rely on the value.
        value = old if operation.replies else random.getrandbits(self.given["width"])
        self.replies.append((request["tag"], request["identity"], value))


@dataclass
class Traffic:
    """How a run is driven: probabilities with which things happen in a cycle."""

    words: int = 2
    requests: int = 60
    load: float = 1.0
    take: float = 1.0
    memory: float | None = None  # None: memory modules in hardware
    operations: tuple[Operation, ...] = OPERATIONS
    stores: float = 0.1
    seed: int = 1
    limit: int = 20_000


class Ports:
    """The streams of a fabric as plain ports, driven through any engine."""

    def __init__(self, network: CombiningNetwork, engine: type, *, memories: bool) -> None:
        self.network = network
        self.link = network.link
        processors = range(network.ports)
        modules = range(0 if memories else network.ports)
        boundary = {}
        for side, numbers, forward, backward in (
            ("p", processors, In, Out),
            ("m", modules, Out, In),
        ):
            for n in numbers:
                boundary[f"{side}_request_{n}"] = forward(self.link.request_layout)
                boundary[f"{side}_request_valid_{n}"] = forward(1)
                boundary[f"{side}_request_ready_{n}"] = backward(1)
                boundary[f"{side}_reply_{n}"] = backward(self.link.reply_layout)
                boundary[f"{side}_reply_valid_{n}"] = backward(1)
                boundary[f"{side}_reply_ready_{n}"] = forward(1)
        fabric = Fabric(boundary)
        if memories:
            sides = {"p": network.place(fabric)}
        else:
            sides = dict(zip("pm", network.place_boxes(fabric)))
        for side, pins in sides.items():
            for n, pin in enumerate(pins):
                for stream in ("request", "reply"):
                    for leaf, suffix in (("payload", ""), ("valid", "_valid"), ("ready", "_ready")):
                        fabric.link(
                            Pin(None, (f"{side}_{stream}{suffix}_{n}",)),
                            Pin(pin.cell, (*pin.path, stream, leaf)),
                        )
        self.fabric = fabric
        self.engine = engine(fabric)
        self._values: dict[str, int] = {}

    def set(self, name: str, value: int) -> None:
        if self._values.get(name) != value:
            self.engine.set(name, value)
            self._values[name] = value

    def get(self, name: str) -> int:
        return self.engine.get(Pin(None, (name,)))

    def pack(self, layout: Any, values: dict[str, int]) -> int:
        return sum(values[name] << layout[name].offset for name, _ in layout)

    def unpack(self, layout: Any, word: int) -> dict[str, int]:
        return {
            name: word >> layout[name].offset & (1 << layout[name].width) - 1 for name, _ in layout
        }


@dataclass
class Result:
    requests: list[Request]
    combined: list[int]
    cycles: int
    memory: list[list[int]]
    ports: Ports = field(repr=False, default=None)


def drive(network: CombiningNetwork, traffic: Traffic, engine: type = CompiledEngine) -> Result:
    """Run traffic to its end: every request is answered once, and nothing is left over."""
    rng = random.Random(traffic.seed)
    random.seed(traffic.seed)
    given = network.parameters
    ports = Ports(network, engine, memories=traffic.memory is None)
    layout, reply_layout = network.link.request_layout, network.link.reply_layout
    modules = (
        []
        if traffic.memory is None
        else [Memory(network, traffic.memory) for _ in range(network.ports)]
    )
    words = rng.sample(range(network.ports * given["rows"]), traffic.words)
    store = find_operation("store", network.operations)
    codes = {operation: code for code, operation in enumerate(network.operations)}

    sent: list[Request] = []
    left = [traffic.requests] * network.ports
    offered: list[Request | None] = [None] * network.ports
    outstanding: list[dict[int, Request]] = [{} for _ in range(network.ports)]
    combined = [0] * network.stages
    held: dict[str, int] = {}
    combined_pins = [pin for stage in network.combined() for pin in stage]
    cycle = 0
    while any(left) or any(offered) or any(outstanding):
        assert cycle < traffic.limit, "the network has stopped"
        for p in range(network.ports):
            if offered[p] is None and left[p] and rng.random() < traffic.load:
                free = set(range(given["outstanding"])) - outstanding[p].keys()
                if free:
                    operation = (
                        store if rng.random() < traffic.stores else rng.choice(traffic.operations)
                    )
                    offered[p] = Request(
                        p,
                        rng.choice(sorted(free)),
                        rng.choice(words),
                        operation,
                        rng.getrandbits(given["width"]) if rng.random() < 0.8 else 1,
                    )
                    # One path for each word keeps a processor's requests for it in order.
                    offered[p].path = (p + offered[p].word // network.ports) % network.paths
                    left[p] -= 1
            request = offered[p]
            if request is not None:
                tag, address = network.locate(request.word, request.path)
                ports.set(
                    f"p_request_{p}",
                    ports.pack(
                        layout,
                        {
                            "tag": tag,
                            "identity": request.identity,
                            "address": address,
                            "operation": codes[request.operation],
                            "operand": request.operand,
                        },
                    ),
                )
            ports.set(f"p_request_valid_{p}", int(request is not None))
            ports.set(f"p_reply_ready_{p}", int(rng.random() < traffic.take))
        for d, module in enumerate(modules):
            # An unanswered reply stays as it is, as streams must.
            if f"m{d}" not in held and module.replies and rng.random() < module.pace:
                tag, identity, value = module.replies[0]
                held[f"m{d}"] = ports.pack(
                    reply_layout, {"tag": tag, "identity": identity, "value": value}
                )
            ports.set(f"m_reply_valid_{d}", int(f"m{d}" in held))
            if f"m{d}" in held:
                ports.set(f"m_reply_{d}", held[f"m{d}"])
            ports.set(f"m_request_ready_{d}", int(rng.random() < module.pace))

        for p in range(network.ports):
            if offered[p] is not None and ports.get(f"p_request_ready_{p}"):
                request, offered[p] = offered[p], None
                request.sent = cycle
                outstanding[p][request.identity] = request
                sent.append(request)
            valid, word = ports.get(f"p_reply_valid_{p}"), ports.get(f"p_reply_{p}")
            before = held.get(f"p{p}")
            assert before is None or (valid and word == before), "a reply changed while it waited"
            held.pop(f"p{p}", None)
            if valid and not ports._values[f"p_reply_ready_{p}"]:
                held[f"p{p}"] = word
            elif valid:
                reply = ports.unpack(reply_layout, word)
                request = outstanding[p].pop(reply["identity"])
                assert reply["tag"] == network.locate(request.word, request.path).tag
                request.reply, request.answered = reply["value"], cycle
        for d, module in enumerate(modules):
            valid, word = ports.get(f"m_request_valid_{d}"), ports.get(f"m_request_{d}")
            before = held.get(f"r{d}")
            assert before is None or (valid and word == before), "a request changed in view"
            held.pop(f"r{d}", None)
            if valid and ports._values[f"m_request_ready_{d}"]:
                module.perform(ports.unpack(layout, word))
            elif valid:
                held[f"r{d}"] = word
            if f"m{d}" in held and ports.get(f"m_reply_ready_{d}"):
                del held[f"m{d}"]
                module.replies.popleft()
        for number, pin in enumerate(combined_pins):
            combined[number // network.plan.boxes] += ports.engine.get(pin)
        ports.engine.step(1)
        cycle += 1
    memory = (
        [module.words for module in modules]
        if modules
        else [ports.engine.memory(f"memory_{d}", "words") for d in range(network.ports)]
    )
    return Result(sent, combined, cycle, memory, ports=ports)


def check(network: CombiningNetwork, result: Result) -> None:
    """The history of every word is a serial one, and all wait buffers are empty again."""
    width = network.parameters["width"]
    histories = defaultdict(list)
    for request in result.requests:
        histories[request.word].append(
            Access(
                request.processor,
                request.operation,
                request.operand,
                request.reply,
                request.sent,
                request.answered,
            )
        )
    for word, history in histories.items():
        row, module = divmod(word, network.ports)
        final = result.memory[module][row]
        assert serial_order(history, width=width, final=final) is not None, f"word {word}"
    engine = result.ports.engine
    if isinstance(engine, CompiledEngine) and ("later",) in network.box.leaves:
        for cell in result.ports.fabric.cells:
            if cell.startswith("box"):
                for i in range(network.parameters["radix"]):
                    for j in range(network.parameters["radix"]):
                        assert engine.signal(cell, f"wait_{i}_{j}.used") == 0


def small(ports: int, **parameters: Any) -> CombiningNetwork:
    return CombiningNetwork(ports, **{"width": 8, "rows": 2, "outstanding": 4, **parameters})


# Each policy once, each merge and each kind of memory twice.
QUICK = {
    ("none", "unlimited", None),
    ("rp3", "unlimited", None),
    ("ultracomputer", "pairwise", 0.3),
    ("all", "pairwise", 0.3),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("policy", "merge", "pace"),
    [
        case if case in QUICK else long(*case)
        for case in itertools.product(POLICIES, MERGES, (None, 0.3))
    ],
)
def test_one_box_is_serial(policy: str, merge: str, pace: float | None) -> None:
    network = small(2, combine=policy, merge=merge)
    result = drive(network, Traffic(memory=pace, take=0.6))
    check(network, result)
    assert (sum(result.combined) > 0) == (policy != "none")


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "merge"),
    [
        ("none", "pairwise"),
        long("rp3", "pairwise"),
        long("all", "pairwise"),
        long("all", "unlimited"),
    ],
)
def test_one_box_of_four_ports_is_serial(policy: str, merge: str) -> None:
    network = small(4, radix=4, combine=policy, merge=merge)
    result = drive(network, Traffic(memory=0.4, take=0.7, requests=100))
    check(network, result)
    assert (sum(result.combined) > 0) == (policy != "none")


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "parameters", "traffic"),
    [
        long(2, {"depth": 2, "wait": 1}, {"words": 1, "memory": 0.2}),
        (2, {"depth": 2, "wait": 1, "merge": "unlimited"}, {"words": 1, "memory": 0.2}),
        long(2, {"depth": 8, "wait": 8, "merge": "unlimited", "outstanding": 16}, {"words": 1}),
        long(2, {"depth": 3, "wait": 3, "outstanding": 2}, {"words": 4, "load": 0.4}),
        (4, {"wiring": "omega"}, {"words": 3, "memory": 0.5, "take": 0.5}),
        long(8, {"merge": "unlimited", "width": 32}, {"words": 2, "take": 0.8}),
        long(8, {"wiring": "baseline", "width": 32}, {"words": 12, "load": 0.3}),
        long(16, {"width": 32, "wait": 2, "outstanding": 2}, {"words": 2, "requests": 20}),
        long(16, {"radix": 4, "width": 32, "merge": "unlimited"}, {"words": 3, "requests": 40}),
        (16, {"combine": "rp3", "width": 32}, {"words": 2, "requests": 30, "memory": 0.7}),
        long(8, {"lengths": "2:4"}, {"words": 2, "take": 0.8}),
        long(4, {"lengths": (1, 3), "merge": "unlimited"}, {"words": 2, "memory": 0.4}),
        (8, {"paths": 2}, {"words": 2}),
        long(8, {"paths": 2, "radix": 4, "lengths": "1:2"}, {"words": 3, "requests": 40}),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_networks_are_serial(ports: int, parameters: dict, traffic: dict) -> None:
    network = small(ports, **parameters)
    result = drive(network, Traffic(**traffic))
    check(network, result)
    assert all(count > 0 for count in result.combined)


@pytest.mark.long
def test_an_unhindered_request_takes_one_cycle_a_box_and_one_in_the_memory() -> None:
    network = small(8, outstanding=2)
    result = drive(network, Traffic(load=0.01, requests=10, words=16))
    latencies = [request.answered - request.sent for request in result.requests]
    assert min(latencies) == 2 * 3 + 1
    assert latencies.count(7) > 0.8 * len(latencies)


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "radix", "merge"), [(2, 2, "pairwise"), (16, 2, "pairwise"), long(16, 4, "unlimited")]
)
def test_simultaneous_fetch_and_adds_take_no_longer_than_one(
    ports: int, radix: int, merge: str
) -> None:
    """Combining costs no cycle: all meet at once, one request reaches the memory, and each gets an
    index of its own."""
    network = small(ports, radix=radix, merge=merge, width=32)
    result = drive(network, Traffic(words=1, requests=1, operations=(ADD,), stores=0.0))
    check(network, result)
    assert sum(result.combined) == ports - 1
    stages = network.stages
    assert {request.answered - request.sent for request in result.requests} == {2 * stages + 1}


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "parameters", "traffic"),
    [
        (2, {"depth": 1}, {"words": 1, "memory": 0.3}),
        long(4, {"depth": 8, "delay": 2, "lengths": "2:3"}, {"words": 2, "take": 0.6}),
        (4, {"depth": 4, "delay": 2, "lengths": 4}, {"words": 1, "memory": 0.5}),
        long(16, {"radix": 4, "depth": 8, "lengths": "1:3"}, {"words": 3, "requests": 20}),
        (8, {"paths": 2, "radix": 4, "depth": 8, "delay": 2, "lengths": "2:3"}, {"words": 2}),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_networks_with_queues_at_the_inputs_are_serial(
    ports: int, parameters: dict, traffic: dict
) -> None:
    network = small(ports, queues="input", combine="none", **parameters)
    check(network, drive(network, Traffic(**traffic)))


INPUT_QUEUES = {"queues": "input", "combine": "none", "depth": 8, "delay": 2, "lengths": "2:3"}


@pytest.mark.long
@pytest.mark.parametrize(
    "parameters", [INPUT_QUEUES, *map(long, ({}, {"lengths": (2, 3)}, {"paths": 2}))]
)
def test_engines_agree(parameters: dict) -> None:
    network = small(4, **parameters)
    traffic = Traffic(take=0.7, requests=25)
    results = [drive(network, traffic, engine) for engine in (AmaranthEngine, CompiledEngine)]
    assert results[0].requests == results[1].requests
    assert results[0].combined == results[1].combined
    assert results[0].memory == results[1].memory
    check(network, results[0])


@pytest.mark.long
def test_requests_traverse_rp3_s_network_in_eight_cycles() -> None:
    """128 ports, four stages of 4 x 4 boxes that take two cycles each, two paths (VII-E)."""
    network = small(128, radix=4, paths=2, **INPUT_QUEUES)
    assert (network.stages, network.plan.boxes) == (4, 32)
    ports = Ports(network, CompiledEngine, memories=False)
    for module, path in ((0, 0), (77, 1), (127, 0)):
        tag, _ = network.locate(module, path)
        ports.set("p_request_5", tag << network.link.request_layout["tag"].offset)
        ports.set("p_request_valid_5", 1)
        for _ in range(8):
            assert not any(ports.get(f"m_request_valid_{d}") for d in range(128))
            ports.engine.step(1)
            ports.set("p_request_valid_5", 0)
        there = [d for d in range(128) if ports.get(f"m_request_valid_{d}")]
        assert there == [module]
        ports.set(f"m_request_ready_{module}", 1)
        ports.engine.step(1)


@pytest.mark.long
def test_an_operation_of_one_s_own() -> None:
    network = small(4, operations=(*OPERATIONS, XOR), merge="unlimited")
    result = drive(network, Traffic(operations=(XOR,), words=1))
    check(network, result)
    assert sum(result.combined) > 20


@pytest.mark.long
def test_order_of_one_processor_s_requests_for_a_word() -> None:
    """With several outstanding. Each adds 1, so later requests of a processor return more."""
    network = small(4, outstanding=16, merge="unlimited", width=16)
    result = drive(network, Traffic(operations=(ADD,), stores=0, words=1, requests=100))
    check(network, result)
    store = find_operation("store")
    assert store not in {request.operation for request in result.requests}


@pytest.mark.long
def test_the_checks_find_a_box_that_answers_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both processors get the reply to the combined request."""
    monkeypatch.setattr(
        "multicube.hdl.boxes.combining.combining_switch.OperationUnit",
        lambda operations, width, *, used: OperationUnit(operations, width, used=frozenset()),
    )
    network = small(2)
    result = drive(network, Traffic(operations=(ADD,)), AmaranthEngine)
    with pytest.raises(AssertionError, match=r"^word"):
        check(network, result)


@pytest.mark.parametrize(
    ("ports", "radix", "wiring"),
    [(8, 2, "cube"), (8, 2, "omega"), (16, 4, "baseline"), (27, 3, "flip")],
)
def test_bits_of_a_tag(ports: int, radix: int, wiring: str) -> None:
    network = small(ports, radix=radix, wiring=wiring)
    for module in range(ports):
        code = network.code.encode(module)
        bits = [code >> bit & 1 for kind, bit in network.tag_bits if kind == "module"]
        tag = sum(bit << position for position, bit in enumerate(bits))
        assert tag == network.tags.tag(0, module) == network.locate(module).tag


def test_locate() -> None:
    network = small(8, rows=4)
    assert network.locate(13) == (network.tags.tag(3, 5), 1)
    with pytest.raises(ValueError, match=r"^Path must be from 0 to 0, not 1$"):
        network.locate(13, 1)
    with pytest.raises(ValueError, match=r"^Word must be from 0 to 31, not 32$"):
        network.locate(32)


LINK = MemoryLink(tag=2, address=2, width=8)
REJECTED = [
    (lambda: CombiningBox("link"), TypeError, "Link must be a MemoryLink, not 'link'"),
    (lambda: CombiningBox(LINK, radix=1), ValueError, "Radix must be at least 2, not 1"),
    (lambda: CombiningBox(LINK, depth=1), ValueError, "Depth must be at least 2, not 1"),
    (lambda: CombiningBox(LINK, wait=0), ValueError, "Wait must be at least 1, not 0"),
    (
        lambda: CombiningBox(LINK, policy="some"),
        ValueError,
        "Policy must be one of none, rp3, ultracomputer, all, not 'some'",
    ),
    (
        lambda: CombiningBox(LINK, merge="all"),
        ValueError,
        "Merge must be one of pairwise, unlimited, not 'all'",
    ),
    (
        lambda: CombiningBox(LINK, radix=8),
        ValueError,
        "Tag of a link must have at least 3 bits for a box of radix 8, not 2",
    ),
    (lambda: CombiningNetwork(8, width=65), ValueError, "Width must be from 1 to 64, not 65"),
    (lambda: CombiningNetwork(8, rows=0), ValueError, "Rows must be from 1 to 65536, not 0"),
    (
        lambda: CombiningNetwork(8, outstanding=0),
        ValueError,
        "Outstanding must be from 1 to 65536, not 0",
    ),
]


@pytest.mark.parametrize(
    ("build", "error", "message"), REJECTED, ids=[message.split()[0] for _, _, message in REJECTED]
)
def test_combining_rejects(build: Callable[[], object], error: type, message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        build()
