# amaranth: UnusedElaboratable=no
"""Boxes and networks that combine, under random traffic: every history must be a serial one."""

import random
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.lib.wiring import In, Out
from multicube.hdl.combining import (
    MERGES,
    OPERATIONS,
    POLICIES,
    CombiningBox,
    CombiningNetwork,
    MemoryLink,
    Operation,
    find_operation,
)
from multicube.hdl.fabric import Fabric, Pin
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.serial_order import Access, serial_order

ADD = find_operation("fetch-and-add")
XOR = Operation("fetch-and-xor", lambda x, e: x ^ e)
RMW = tuple(op for op in OPERATIONS if op.replies)


@dataclass
class Request:
    """What a processor sent, and when; and the reply."""

    processor: int
    identity: int
    word: int
    operation: Operation
    operand: int
    sent: int = -1
    answered: int = -1
    reply: int | None = None


class Memory:
    """A memory module in Python, which answers in order, after a random time."""

    def __init__(self, network: CombiningNetwork, pace: float) -> None:
        self.given = network.parameters
        self.pace = pace
        self.words = [0] * self.given["rows"]
        self.replies: deque[tuple[int, int, int]] = deque()

    def perform(self, request: dict[str, int]) -> None:
        operation = self.given["operations"][request["operation"]]
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
    served: int = 0
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
    store = find_operation("store", given["operations"])
    codes = {operation: code for code, operation in enumerate(given["operations"])}

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
                free = set(range(1 << given["identity"])) - outstanding[p].keys()
                if free:
                    operation = (
                        store if rng.random() < traffic.stores else rng.choice(traffic.operations)
                    )
                    offered[p] = Request(
                        p,
                        rng.choice(sorted(free)),
                        rng.choice(words),
                        operation,
                        rng.getrandbits(given["width"]) if rng.random() < 0.8 else 0,
                    )
                    left[p] -= 1
            request = offered[p]
            if request is not None:
                tag, address = network.locate(request.word)
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
                assert reply["tag"] == network.locate(request.word).tag
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
            Access(request.processor, request.operation, request.operand, request.reply)
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
    return CombiningNetwork(ports, **{"width": 8, "rows": 2, "identity": 2, **parameters})


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("radix", [2, 4])
def test_one_box_is_serial(radix: int, policy: str, merge: str) -> None:
    network = small(radix, radix=radix, policy=policy, merge=merge)
    for seed, pace in enumerate((None, 1.0, 0.3)):
        traffic = Traffic(memory=pace, seed=seed, take=1.0 if seed == 1 else 0.6)
        result = drive(network, traffic)
        check(network, result)
        assert (sum(result.combined) > 0) == (policy != "none")
