# amaranth: UnusedElaboratable=no
"""What every network of the catalogue must do, presets included: new ones are tested from here on.

The tests ask a network what it can do, and never which one it is. Each is tried as its entry's
`example`; the long runs try every other word that a parameter can be, too (`cube switch=circuit`),
in one of the networks that have this parameter.
"""

import itertools
import json
import random
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Call
from example_networks import (
    WORDS,
    assert_one_line,
    assert_refused,
    example,
    packets_of,
    pairs_of,
    phases_of,
    skip_if_combining,
)
from long_runs import families, long
from multicube.hdl import FAMILIES, PacketNetwork, PartitionedNetwork, build, write_verilog
from multicube.hdl.bench import bench_for
from multicube.hdl.catalogue.catalogue import find
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.isolation import shared_channel
from multicube.hdl.graphs.partitions import Partition, Subnetwork, check_mask
from multicube.hdl.graphs.routing.deadlock import deadlock_cycle
from multicube.sim import Run, Trace, TracePacket, simulate_runs
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.probe import Probe, crossings
from multicube.sim.workload.class_traffic import network_traffic
from multicube.sim.workload.traffic import TRACE_START
from scripted_terminals import records_of, scripted
from verilog_tools import assert_lint_free

SEED = 16


LOCK_STEP = {
    *("combining", "connection-machine", "cube", "dcsh", "hypercube", "omega", "torus"),
    *("bus", "dragonfly"),
}
"""Networks that tests of their own run in lock step on both engines, in short runs too."""

UNLIKE = {
    *("combining-graph", "stage-sequenced", "lssn", "bus", "torus", "crossbar", "dcsh"),
    *("combining", "connection-machine", "delta", "hypercube"),
}
"""Networks whose Verilog takes long to write or has tests of its own."""

every = pytest.mark.parametrize("name", FAMILIES)
every_kind = pytest.mark.parametrize("words", [*FAMILIES, *map(long, WORDS)])
every_kind_compiled = pytest.mark.parametrize("words", [*families(), *map(long, WORDS)])


# The catalogue.


@pytest.mark.parametrize("words", WORDS)
def test_every_word_makes_another_network(words: str) -> None:
    """Words that change nothing would try the same network twice."""
    others, _, _ = words.rpartition(" ")
    assert example(words).fabric.digest != example(others).fabric.digest


def test_names_are_unique_and_aliases_resolve() -> None:
    names = [name for family in FAMILIES.values() for name in (family.name, *family.aliases)]
    assert len(set(names)) == len(names)
    assert [family.name for family in FAMILIES.values()] == list(FAMILIES)
    for family in FAMILIES.values():
        for name in (family.name, *family.aliases):
            assert find(name) is family


@every
def test_examples_are_small(name: str) -> None:
    network = example(name)
    assert network.family == name
    assert max(network.sources, network.sinks) in range(4, 25)


@every_kind
def test_stages_are_the_switches_on_the_longest_path(words: str) -> None:
    """Of a network's cells those are switches that have several inputs or outputs."""
    network = packets_of(words)
    cells = network.fabric.cells

    def is_switch(pin: Pin) -> bool:
        return any(1 in path for path in cells[pin.cell].type.leaves)

    if phases := phases_of(network):
        first, second = (phase.lengths for phase in phases)
        triples = itertools.product(range(network.ports), repeat=3)
        assert network.stages == 1 + max(first[a][via] + second[via][b] for a, via, b in triples)
        return
    pairs = pairs_of(network)
    assert network.stages == max(sum(map(is_switch, network.path(*pair))) for pair in pairs)


def test_all_are_listed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = call("list", "--json")
    assert (outcome.status, outcome.err) == (0, "")
    entries = {entry["name"]: entry for entry in json.loads(outcome.out)["networks"]}
    assert list(entries) == list(FAMILIES)
    monkeypatch.setenv("COLUMNS", "200")
    text = call("list").out
    for name, family in FAMILIES.items():
        assert call("list", name, "--json").record["networks"] == [entries[name]]
        assert entries[name]["aliases"] == list(family.aliases)
        assert entries[name]["description"] == family.description
        for word in (name, *family.aliases):
            assert re.search(rf"(?<![\w-]){word}(?![\w-])", text), word


@pytest.mark.one_in(6)
@every
def test_is_listed(name: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    family = FAMILIES[name]
    (entry,) = call("list", name, "--json").record["networks"]
    shown = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]}
    assert shown == {parameter.name: parameter.default for parameter in family.parameters}
    assert all(parameter["description"] for parameter in entry["parameters"])
    assert build(name, **shown).parameters == build(name).parameters
    monkeypatch.setenv("COLUMNS", "200")
    alone = call("list", name.upper()).out
    for word in (name, *family.aliases, *shown):
        assert re.search(rf"(?<![\w-]){word}(?![\w-])", alone), word
    for parameter in family.parameters:
        assert re.search(rf"^{parameter.name} +{re.escape(str(parameter.default))} ", alone, re.M)


@pytest.mark.one_in(6)
@every
def test_bad_parameters(name: str, call: Call) -> None:
    """Each of a wrong type, out of its range, and as an unknown word."""
    unnamed = []
    for parameter in FAMILIES[name].parameters:
        word = parameter.name.removesuffix("s").replace("_", "[_ ]")
        named = re.compile(rf"\b{word}s?\b", re.IGNORECASE)
        outcome = call("export", name, f"{parameter.name}=?", "-o", "none.v")
        assert_refused(outcome, "?")
        refusals = [outcome.err]
        for value in (2.5, None, -1, 10**12) if parameter.number else (2.5, None, "?"):
            with pytest.raises((TypeError, ValueError)) as refusal:
                build(name, **{parameter.name: value})
            assert_one_line(str(refusal.value))
            refusals.append(str(refusal.value))
        unnamed += [refusal for refusal in refusals if not named.search(refusal)]
    assert not unnamed
    assert_refused(call("export", name, "colour=red", "-o", "none.v"), "not 'colour'")
    assert not Path("none.v").exists()


@pytest.mark.parametrize("name", families())
def test_drawing(name: str, call: Call) -> None:
    """A picture, with a path in it."""
    words = [f"{word}={value}" for word, value in FAMILIES[name].example.items()]
    outcome = call("draw", name, *words, "--path", "0:1", "-o", "drawing.svg")
    assert (outcome.status, outcome.err) == (0, "")
    picture = ElementTree.parse("drawing.svg").getroot()
    assert picture.tag.endswith("svg")


# Simulation.


@pytest.mark.long
@every_kind_compiled
def test_books_balance(words: str) -> None:
    """Every packet is accounted for, when the network is idle, busy and overloaded."""
    network = example(words)
    skip_if_combining(network)
    print("seed", SEED)
    uniform = network_traffic("uniform", network)
    runs = [
        Run(uniform, load, cycles=300, warmup=50, seed=SEED, source_depth=8)
        for load in (0.05, 0.5, 1.0)
    ]
    # Raises an error if packets are lost, misrouted, duplicated, or overtake each other.
    for result in simulate_runs(network, runs, engine="compiled", bins=64):
        assert result.injected > 0
        assert result.generated == result.rejected + result.unsent + result.injected
        lost = 0 if network.resubmits else result.dropped
        assert result.injected == result.delivered + lost + result.corrupted
        assert (result.lost, result.misrouted, result.duplicated or 0) == (0, 0, 0)
        assert result.damaged == 0
        assert network.drops or (result.dropped, result.corrupted) == (0, 0)


def singles(network: PacketNetwork) -> Iterator[tuple[tuple[int, int], dict[str, int]]]:
    """Packets that are each alone in the network: its ends, and its flits on each metered link."""
    pairs = list(pairs_of(network))[::3]
    length = network.lengths[0]
    period = 40 + 4 * (network.zero_load_cycles + network.sources + network.lengths[1])
    packets = [TracePacket(period * turn, *pair, length) for turn, pair in enumerate(pairs)]
    bench = bench_for(network, Trace("singles", tuple(packets)).sources(network), bins=2)
    with CompiledEngine(bench) as engine:
        probe = Probe(engine, [0], bench)
        probe.set("send", 1)
        probe.set("measure", 1)
        engine.step(TRACE_START)
        before = crossings(engine, bench)
        for turn, (source, destination) in enumerate(pairs):
            engine.step(period)
            now = crossings(engine, bench)
            moved = {str(output): flits - before[output] for output, flits in now.items()}
            before = now
            delivered = probe.sinks("delivered")
            assert sum(delivered) == turn + 1, "each is delivered before the next is sent"
            yield (source, destination), moved


@pytest.mark.one_in(8)
@every_kind_compiled
def test_packets_take_their_path(words: str) -> None:
    """All flits of a packet that is alone cross the links of `path`, and no others that packets may
    take; as many, if its header has a choice; or links by which it may go by way of an intermediate
    terminal. An acknowledgement, if there is one, takes the path back."""
    network = packets_of(words)
    skip_if_combining(network)
    flits = network.lengths[0] if network.packet.flits else 1
    pairs = pairs_of(network)
    chosen = network.relation is not None and network.relation.choice
    ways = network.channels if chosen or phases_of(network) else network.path
    links = {str(pin) for pair in pairs for pin in ways(*pair)}
    for pair, moved in singles(network):
        crossed = {link: count for link, count in moved.items() if count and link in links}
        # Serial wires have no meters.
        path = [str(pin) for pin in network.path(*pair) if str(pin) in moved]
        if network.recovers:
            back = map(str, network.path(*reversed(pair)))
            assert crossed == Counter(dict.fromkeys(path, flits)) + Counter(back), pair
        elif network.path_is_fixed:
            assert crossed == dict.fromkeys(path, flits), pair
        elif phases_of(network):
            assert set(crossed.values()) == {flits}, pair
            assert len(crossed) <= network.stages, pair
            assert path[-1] in crossed, pair
            assert crossed.keys() <= set(map(str, network.channels(*pair))), pair
        else:
            assert list(crossed.values()) == [flits] * len(path), pair
            assert path[-1] in crossed, pair


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "words", [*families("combining-graph", "delta", *LOCK_STEP), *map(long, WORDS)]
)
def test_engines_agree(words: str) -> None:
    """On every port of every cell, cycle by cycle at first, and on all histograms; and after a
    reset amid traffic."""
    network = example(words)
    skip_if_combining(network)
    print("seed", SEED)
    run = Run(network_traffic("uniform", network), 0.6, seed=SEED, source_depth=4)
    bench = bench_for(network, run.sources(network), bins=8)
    pins = [Pin(cell.name, path) for cell in bench.cells.values() for path in cell.type.leaves]
    with AmaranthEngine(bench) as reference, CompiledEngine(bench) as engine:
        for one in (reference, engine):
            one.set("send", 1)
            one.set("measure", 1)
        spans = [*[1] * 8, *[8 + network.zero_load_cycles] * 9]
        for turn, cycles in enumerate(spans):
            for one in (reference, engine):
                if turn == 11:
                    one.reset(2)
                one.step(cycles)
            differing = [pin for pin in pins if engine.get(pin) != reference.get(pin)]
            assert not differing, (engine.cycle, differing)
        for sink, kind in itertools.product(bench.sinks, bench.latencies):
            memory = f"{kind}_histogram"
            assert engine.memory(sink, memory) == reference.memory(sink, memory)
        assert sum(engine.read(bench.sinks, "delivered")) > 0


# Verilog.


@pytest.mark.long
@pytest.mark.parametrize("words", [*families(*UNLIKE), *map(long, WORDS)])
def test_verilog(words: str, tmp_path: Path) -> None:
    """The linter has nothing to say, and the list of ports is that of the module."""
    network = example(words)
    path = tmp_path / "network.v"
    summary = write_verilog(network.fabric, path)
    assert summary["cells"] == len(network.fabric.cells)
    assert_lint_free([path])
    header = re.search(r"^module network \((.*?)\);", path.read_text(), re.MULTILINE | re.DOTALL)
    assert header is not None
    declared = re.findall(r"(input|output) (?:\[(\d+):0\] )?(\w+)", header[1])
    listed = json.loads(Path(f"{path}.json").read_text())["ports"]
    assert [(port["direction"], port["width"], port["name"]) for port in listed] == [
        (direction, int(top or 0) + 1, name) for direction, top, name in declared
    ]
    terminals = {port["name"].split("__")[1] for port in listed if "__" in port["name"]}
    assert terminals == set(map(str, range(max(network.sources, network.sinks))))
    assert [port["name"] for port in listed if "__" not in port["name"]] == ["clk", "rst"]


# Deadlock.


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [long(n) if n == "staran" else n for n in FAMILIES])
def test_defaults_are_free_of_deadlock(name: str, call: Call) -> None:
    """Or it is said why that can't be asked."""
    outcome = call("deadlock", name, "--json")
    if outcome.status == 0:
        record = json.loads(outcome.out)
        assert (record["network"], record["free"], record["cycle"]) == (name, True, None)
        assert deadlock_cycle(build(name)) is None
    else:
        assert_refused(outcome)


# Partitions.


def partitioned(network: PacketNetwork) -> PartitionedNetwork:
    """The network with masks, or the test ends with its refusal checked."""
    try:
        return PartitionedNetwork(network)
    except ValueError as refusal:
        assert_one_line(str(refusal))
        pytest.skip(f"refused: {refusal}")


@pytest.mark.one_in(3)
@every_kind
def test_partitions_are_refused_by_the_command_too(words: str, call: Call) -> None:
    name, *changes = words.split()
    given = {**FAMILIES[name].example, **dict(change.split("=") for change in changes)}
    options = [f"{word}={value}" for word, value in given.items()]
    try:
        PartitionedNetwork(example(words))
    except (TypeError, ValueError):
        outcome = call("export", name, *options, "--partitions", "-o", "parts.v")
        assert_refused(outcome, "artition")
        assert not Path("parts.v").exists()


def some_partitions(network: PacketNetwork) -> list[Partition]:
    """Divided by each digit (bits are digits), unequal ones, and the halves of one wide box.

    Without those whose packets the network's tags or its extra stage can't confine.
    """
    whole = network.undivided
    digits = range(whole.code.digits)
    parts = [whole.divided(whole.subnetworks[0].members[0], digit) for digit in digits]
    if digits == range(1) and whole.code.is_plain:
        halves = (range(first, network.ports, 2) for first in range(2))
        parts.append(Partition.of_members(whole.code, halves))
    smaller = (
        one.divided(one.subnetworks[0].members[0], (digit + 1) % len(digits))
        for digit, one in zip(digits, parts)
        if len(digits) > 1
    )

    def confined(subnetwork: Subnetwork) -> bool:
        rule = network.mask_rule
        try:
            check_mask(network.tags, subnetwork.mask)
        except ValueError:
            return False
        return rule is None or rule.keeps(subnetwork)

    return [one for one in (*parts, *smaller) if all(map(confined, one.subnetworks))]


@pytest.mark.one_in(2)
@every_kind
def test_subnetworks_share_no_channel(words: str) -> None:
    """By the paths of all pairs; what a network says of every size is so at this one."""
    network = packets_of(words)
    partitioned(network)
    if network.isolates:
        shared = shared_channel(network, network.tags.code)
        assert (shared is None) == (network.mask_rule is None)
    for partition in some_partitions(network):
        used = [
            {
                channel
                for pair in itertools.product(part.members, repeat=2)
                for channel in network.channels(*pair)
            }
            for part in partition.subnetworks
        ]
        for one, other in itertools.combinations(used, 2):
            assert not one & other


@pytest.mark.one_in(12)
@every_kind_compiled
def test_packets_stay_in_their_subnetwork(words: str) -> None:
    """Whatever their tags: those of one subnetwork after the other, until nothing moves."""
    assert_confined(packets_of(words))


@pytest.mark.parametrize("words", ["hypercube", "lssn"])
def test_no_flit_of_a_packet_of_one_says_where_it_may_go(words: str) -> None:
    """A terminal may break the rules: none of its flits is the last one, and each has a tag."""
    network = packets_of(words)
    assert network.lengths == (1, 1)
    assert_confined(network, last=0)


def assert_confined(network: PacketNetwork, last: int = 1) -> None:
    """What is sent stays in its subnetwork; `last` is that of each packet's last flit."""
    skip_if_combining(network)
    network = network.altered(payload=16)
    parted = partitioned(network)
    print("seed", SEED)
    generator = random.Random(SEED)
    partition = generator.choice(some_partitions(network))
    length, packets = network.lengths[0], 12

    def flit(source: int, number: int) -> int:
        tag = network.tags.tag(source, generator.randrange(network.ports))
        fields = {"tag": tag, "payload": source}
        if parted.packet.flits:
            fields["last"] = last * (number % length == length - 1)
        return parted.packet.const(fields).as_value().value

    flits = length * packets
    scripts = [[flit(source, number) for number in range(flits)] for source in range(network.ports)]
    limits = [f"limit_{partition.of(source).members[0]}" for source in range(network.ports)]
    fabric = scripted(parted, scripts, network.ports * flits, waits=True, limits=limits)
    pairs = itertools.product(range(network.ports), repeat=2)
    channels = {pin for pair in pairs for pin in network.channels(*pair)}
    offers = {pin: Pin(pin.cell, (*pin.path, "valid")) for pin in channels}
    with CompiledEngine(fabric) as engine:
        for part in partition.subnetworks:
            engine.set("mask", part.mask)
            engine.set("mask_member", part.value)
            engine.set("mask_write", 1)
            engine.step(1)
        engine.set("mask_write", 0)
        taken: set[Pin] = set()
        for part in partition.subnetworks:
            pairs = itertools.product(part.members, repeat=2)
            free = {pin for pair in pairs for pin in network.channels(*pair)} - taken
            engine.set(f"limit_{part.members[0]}", flits)
            idle = 0
            while idle < 50:
                engine.step(1)
                used = {pin for pin, valid in offers.items() if engine.get(valid)}
                assert used <= free
                taken |= used
                idle = 0 if used else idle + 1
        records = records_of(engine, network.ports)
    offset = parted.packet["payload"].offset
    for terminal, record in enumerate(records):
        senders = {word >> offset & 0xFFFF for word in record}
        part = partition.of(terminal)
        # The terminals of no subnetwork don't send.
        assert senders or part not in partition.subnetworks
        assert senders <= set(part.members)
