# amaranth: UnusedElaboratable=no
"""Dimension cycles that overlap on serial wires: latency, steps, payloads, engines."""

import random
from typing import Any

import pytest
from driving import transport
from long_runs import long
from multicube.hdl import ConnectionMachine
from multicube.hdl.families.connection_machine.payload import PayloadPart
from multicube.sim import Run, SimulationError, pattern, simulate, simulate_runs

SEED = 5


def machine(n: int, schedule: str = "pipelined", **parameters: Any) -> ConnectionMachine:
    return ConnectionMachine(n, schedule=schedule, links="serial", **parameters)


@pytest.mark.parametrize(
    ("n", "parameters", "step", "parts"),
    [
        # valid, relative address, processor, and as long as the header: parts of the payload
        (12, {"processors": 16, "priority": "fixed", "payload": 32}, 17, 2),
        (12, {"processors": 16, "age": 20, "payload": 32}, 37, 1),
        (4, {"priority": "fixed", "payload": 11}, 5, 3),
        # The payload is so long that a wire would not be free in time.
        (3, {"priority": "fixed", "payload": 20}, 10, 2),
        # A single wire is served in every step.
        (1, {"priority": "fixed", "payload": 20}, 22, 0),
    ],
)
def test_length_of_a_step(n: int, parameters: dict[str, Any], step: int, parts: int) -> None:
    dut = machine(n, **parameters)
    assert (dut.step, dut.parts) == (step, parts)
    assert dut.zero_load_cycles == (n + 2 + parts) * step
    words = dut.altered(links="word")
    assert (words.step, words.parts) == (1, 0)


def deliveries(
    dut: ConnectionMachine, sent: dict[tuple[int, int], int]
) -> dict[int, list[tuple[int, int]]]:
    """For each terminal: the first cycle in which each packet was shown, and the packet.

    `sent` has the packets by terminal and the first cycle in which they are offered.
    """
    cycles = max(cycle for _, cycle in sent) + 3 * dut.zero_load_cycles
    trace = transport(dut, cycles=cycles, offer=lambda port, cycle: sent.get((port, cycle)))
    found: dict[int, list[tuple[int, int]]] = {}
    for cycle, seen in enumerate(trace):
        for port, payload in seen.moved():
            found.setdefault(port, []).append((cycle, payload))
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "parameters"),
    [
        long(3, {"priority": "fixed", "payload": 9}),
        (2, {"processors": 2, "age": 3, "payload": 7, "buffers": 1}),
        long(4, {"processors": 2, "age": 5, "payload": 40, "buffers": 2}),
    ],
)
def test_a_message_alone(n: int, parameters: dict[str, Any]) -> None:
    """Step by step, from the turn of the dimensions; `parts` steps later than its header."""
    print("seed", SEED)
    rng = random.Random(SEED)
    dut = machine(n, **parameters)
    code, bits = dut.tags.code, dut.tags.code.width
    per_node = dut.ports >> n
    sent, expected = {}, {}
    for number in range(12):
        source, destination = rng.randrange(dut.ports), rng.randrange(dut.ports)
        offered = (n + 5 + dut.parts) * dut.step * number + rng.randrange(dut.step)
        packet = code.encode(destination) | rng.getrandbits(parameters["payload"]) << bits
        sent[source, offered] = packet
        step = offered // dut.step + 1
        left = source // per_node ^ destination // per_node
        while left:
            left &= ~(1 << step % n)
            step += 1
        expected.setdefault(destination, []).append(((step + 1 + dut.parts) * dut.step, packet))
    assert deliveries(dut, sent) == expected


@pytest.mark.long
@pytest.mark.parametrize("priority", ["fixed", long("oldest")])
@pytest.mark.parametrize(("n", "processors"), [(2, 2), long(2, 4), long(3, 4)])
def test_messages_move_as_with_whole_dimension_cycles(
    priority: str, n: int, processors: int
) -> None:
    """A permutation with conflicts: each message arrives in the same step, with its payload."""
    print("seed", SEED)
    rng = random.Random(SEED)
    places = rng.sample(range(processors << n), processors << n)
    steps = []
    for schedule in ("dimension", "pipelined"):
        dut = machine(
            n,
            schedule,
            processors=processors,
            priority=priority,
            payload=12,
            buffers=2,
            **({"age": 4} if priority == "oldest" else {}),
        )
        code = dut.tags.code
        sent = {
            (source, 0): code.encode(place) | (77 * source + 5) % 4096 << code.width
            for source, place in enumerate(places)
        }
        found = deliveries(dut, sent)
        assert {port: [packet for _, packet in own] for port, own in found.items()} == {
            place: [sent[source, 0]] for source, place in enumerate(places)
        }
        assert all(cycle % dut.step == 0 for own in found.values() for cycle, _ in own)
        steps.append({port: own[0][0] // dut.step - dut.parts for port, own in found.items()})
    assert steps[0] == steps[1]
    assert len(set(steps[0].values())) > 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "parameters"),
    [
        (2, {"processors": 4, "buffers": 1}),
        (3, {"processors": 2, "buffers": 2, "priority": "fixed", "payload": 40}),
        *(
            long(n, {"processors": processors, "buffers": buffers, "payload": payload})
            for n, processors in ((1, 4), (3, 8), (5, 2), (4, 16))
            for buffers, payload in ((1, 4), (4, 64))
        ),
    ],
)
def test_books_balance_under_full_load(n: int, parameters: dict[str, Any]) -> None:
    print("seed", SEED)
    dut = machine(n, **parameters)
    runs = [
        Run(pattern(traffic, dut.ports), 1.0, 200 * dut.step, 100, SEED, source_depth=4)
        for traffic in ("uniform", "hotspot:0.5")
    ]
    for result in simulate_runs(dut, runs, bins=16, engine="compiled"):
        assert (result.lost, result.misrouted, result.duplicated, result.damaged) == (0, 0, 0, 0)
        assert result.injected == result.delivered > 0


@pytest.mark.long
def test_engines_agree() -> None:
    dut = machine(2, processors=2, buffers=1, payload=6, age=8)
    options = {"load": 0.02, "cycles": 300, "warmup": 0, "bins": 16, "source_depth": 4}
    records = [
        simulate(dut, seed=SEED, engine=engine, **options).to_json()
        for engine in ("amaranth", "compiled")
    ]
    assert [record.pop("engine") for record in records] == ["amaranth", "compiled"]
    assert records[0] == records[1]
    assert records[0]["delivered"] > 0


def test_bench_sees_parts_that_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the parts of payloads do not cross wires, packets are damaged."""
    elaborate = PayloadPart.elaborate

    def silent(self: PayloadPart, platform: object) -> Any:
        m = elaborate(self, platform)
        m.d.comb += self.o_wire.eq(0)
        return m

    monkeypatch.setattr(PayloadPart, "elaborate", silent)
    with pytest.raises(SimulationError):
        simulate(machine(2, payload=6), traffic="one-each", engine="compiled")


def test_pipelined_messages_are_not_combined() -> None:
    with pytest.raises(
        ValueError, match=r"^Combine must be none with schedule pipelined, not 'add'$"
    ):
        machine(2, combine="add")
