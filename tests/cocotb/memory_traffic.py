"""What cocotb does to an exported network with memory. Runs inside the simulator.

The environment names the list of ports that was exported beside the Verilog (PORTS), a file that
says what to do (TASK: see `Task`), and one for what was seen (RECORD: see `Record`). Whether that
is right is for others to judge.
"""

import json
import os
import random
from pathlib import Path
from typing import Any, TypedDict

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

LONGEST = 20_000
"""Cycles in which all must have been answered."""


class Task(TypedDict):
    """What to do.

    `words` has the tag and the address of each word, by processor. `requests` each processor sends,
    of the first `operations` codes; never more than `outstanding` at a time. `lengths` says how
    many cycles a request of each code takes on its link. In the end each word is loaded (with the
    code `load`). `combined` names the outputs that tell how many requests were combined, by stage.
    """

    words: list[list[tuple[int, int]]]
    requests: int
    operations: int
    lengths: list[int]
    outstanding: int
    load: int
    combined: list[list[tuple[str, str]]]


class Request(TypedDict):
    """A request; `word` is its place in the task's list, `sent` the cycle in which it was taken."""

    processor: int
    word: int
    identity: int
    tag: int
    operation: int
    operand: int
    sent: int
    last: bool


class Reply(TypedDict):
    """A reply; `came` is the cycle in which it was first shown, `taken` that in which it went."""

    processor: int
    identity: int
    tag: int
    value: int
    came: int
    taken: int


class Record(TypedDict):
    """All requests and replies in the order in which they passed.

    `combined` has the requests combined, by stage, `most` the most that a processor waited for at a
    time.
    """

    requests: list[Request]
    replies: list[Reply]
    combined: list[int]
    most: int
    cycles: int


class Port:
    """The streams of one processor. Inputs are set, and outputs read, once a cycle."""

    def __init__(self, dut: Any, number: int, fields: dict[str, Any]) -> None:
        self._signals = {
            (stream, member): getattr(dut, f"i__{number}__{stream}__{member}")
            for stream in ("request", "reply")
            for member in ("payload", "valid", "ready")
        }
        self._request = fields[f"i__{number}__request__payload"]
        self._reply = fields[f"i__{number}__reply__payload"]
        self.size = len(self._signals["request", "payload"])
        self.width = self._request["operand"]["width"]

    def set(self, request: Request | None, address: int, idle: int, ready: bool) -> None:
        """Offer a request, or show `idle` without one; take a reply, or do not."""
        payload = idle
        if request is not None:
            values = {**request, "address": address}
            payload = sum(values[name] << at["offset"] for name, at in self._request.items())
        self._signals["request", "valid"].value = request is not None
        self._signals["request", "payload"].value = payload
        self._signals["reply", "ready"].value = ready

    @property
    def takes(self) -> bool:
        return self._signals["request", "ready"].value == 1

    @property
    def shown(self) -> dict[str, int] | None:
        """The fields of the reply."""
        if self._signals["reply", "valid"].value != 1:
            return None
        payload = int(self._signals["reply", "payload"].value)
        return {
            name: payload >> at["offset"] & (1 << at["width"]) - 1
            for name, at in self._reply.items()
        }


class Processor:
    """Sends random requests after random gaps, and takes replies when it likes."""

    def __init__(self, number: int, port: Port, task: Task, rng: random.Random) -> None:
        self.number = number
        self.port = port
        self.task = task
        self.rng = rng
        self.left = task["requests"]
        self.loads: list[int] = []  # words that it is still to load in the end
        self.offered: Request | None = None
        self.waiting: set[int] = set()  # identities
        self.rest = 0
        self.pace = self.patience = 1.0
        self.ready = False
        self.before: dict[str, int] | None = None
        self.came = 0

    @property
    def idle(self) -> bool:
        return not (self.left or self.loads or self.offered or self.waiting)

    def act(self, cycle: int) -> None:
        """Set what the network sees in this cycle."""
        rng = self.rng
        if cycle % 60 == 0:
            self.pace = rng.choice([0.1, 0.5, 1.0])
            self.patience = rng.choice([0.1, 0.5, 1.0])
        self.rest = max(0, self.rest - 1)
        wants = self.left or self.loads
        free = sorted(set(range(self.task["outstanding"])) - self.waiting)
        if wants and self.offered is None and not self.rest and free and rng.random() < self.pace:
            self.offered = self._request(rng.choice(free))
        self.ready = rng.random() < self.patience
        address = 0
        if self.offered is not None:
            address = self.task["words"][self.number][self.offered["word"]][1]
        self.port.set(self.offered, address, rng.getrandbits(self.port.size), self.ready)

    def _request(self, identity: int) -> Request:
        rng, task = self.rng, self.task
        last = not self.left
        word = self.loads.pop() if last else rng.randrange(len(task["words"][0]))
        self.left -= not last
        return {
            "processor": self.number,
            "word": word,
            "identity": identity,
            "tag": task["words"][self.number][word][0],
            "operation": task["load"] if last else rng.randrange(task["operations"]),
            "operand": rng.getrandbits(rng.choice([1, 8, self.port.width])),
            "sent": -1,
            "last": last,
        }

    def see(self, cycle: int, record: Record) -> None:
        """Note what the network did in this cycle."""
        shown = self.port.shown
        if self.before is None:
            self.came = cycle
        else:
            assert shown == self.before, f"port {self.number} let go of a reply, cycle {cycle}"
        self.before = None if self.ready else shown
        if shown is not None and self.ready:
            # Unknown identities are noted too.
            self.waiting.discard(shown["identity"])
            record["replies"].append(
                {
                    "processor": self.number,
                    "identity": shown["identity"],
                    "tag": shown["tag"],
                    "value": shown["value"],
                    "came": self.came,
                    "taken": cycle,
                }
            )
        if self.offered is not None and self.port.takes:
            record["requests"].append({**self.offered, "sent": cycle})
            self.waiting.add(self.offered["identity"])
            self.rest = self.task["lengths"][self.offered["operation"]]
            self.offered = None
            record["most"] = max(record["most"], len(self.waiting))


@cocotb.test()
async def operations_on_few_words(dut: Any) -> None:
    """Random requests and gaps, and random back-pressure on replies; then loads of all words."""
    task: Task = json.loads(Path(os.environ["TASK"]).read_text())
    ports = json.loads(Path(os.environ["PORTS"]).read_text())["ports"]
    assert all(len(getattr(dut, port["name"])) == port["width"] for port in ports)
    fields = {port["name"]: port["fields"] for port in ports if "fields" in port}
    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    processors = [
        Processor(number, Port(dut, number, fields), task, rng)
        for number in range(len(task["words"]))
    ]
    counters = [
        [getattr(getattr(dut, cell), port) for cell, port in stage] for stage in task["combined"]
    ]
    record: Record = {
        "requests": [],
        "replies": [],
        "combined": [0] * len(counters),
        "most": 0,
        "cycles": 0,
    }
    dut.rst.value = 1
    for processor in processors:
        processor.port.set(None, 0, 0, False)
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    loading = False
    quiet = 0
    for cycle in range(LONGEST):
        if all(processor.idle for processor in processors):
            if not loading:
                for word in range(len(task["words"][0])):
                    rng.choice(processors).loads.append(word)
                loading = True
            else:
                quiet += 1  # perhaps there are replies that nobody waits for
            if quiet > 50:
                break
        for processor in processors:
            processor.act(cycle)
        await ReadOnly()
        for processor in processors:
            processor.see(cycle, record)
        for stage, outputs in enumerate(counters):
            record["combined"][stage] += sum(int(output.value) for output in outputs)
        await FallingEdge(dut.clk)
    record["cycles"] = cycle
    Path(os.environ["RECORD"]).write_text(json.dumps(record))
    dut._log.info(f"{len(record['replies'])} replies in {cycle} cycles")
