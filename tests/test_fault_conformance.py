"""Every kind of fault in every network of the catalogue: it works, or is refused in one line.

What a fault does must show in the books: packets are delivered, counted as dropped or corrupted, or
missed. Here the books are added up a second time, from the counts of the result.
"""

from dataclasses import replace
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from command_line import Call
from driving import exercise
from example_networks import (
    WORDS,
    assert_one_line,
    example,
    packets_of,
    pairs_of,
    phases_of,
    skip_if_combining,
)
from long_runs import ALIKE, long
from multicube.hdl import FAMILIES, Network
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.links.packet import Packet
from multicube.hdl.links.rejecting_link import RejectingLink
from multicube.sim import Result, SimulationError, Trace, TracePacket
from multicube.sim import simulate as simulated
from multicube.sim.workload.fault_cells import LinkFault, LinkGate
from multicube.sim.workload.faults import cut
from multicube.sim.workload.injection import EFFECTS
from multicube.sim.workload.random_faults import network_links

REJECTING = [
    "omega switch=wormhole policy=drop",
    "omega switch=wormhole policy=drop resubmit=0 length=3",
    "cube switch=unbuffered resubmit=4",
    "cube switch=unbuffered resubmit=4 replication=2",
    "cube switch=circuit policy=drop",
]
"""Networks whose links tell the sender the fate of its packets."""

SORTS = ("dead", "lossy", "severed", "babbling", "flip=0", "stuck1=0")
WORDS = [*FAMILIES, *REJECTING, *WORDS]
SHORT = {*FAMILIES} - ALIKE | {"gp1000", *REJECTING}

SHARES = 8

every_kind = pytest.mark.parametrize(
    "words", [words if words in SHORT else long(words) for words in WORDS]
)


def outcome(network: Network, *faults: str, **options: object) -> Result | str:
    """The result of a run, whether or not its books balance; or the line that refuses it."""
    given = {"load": 0.2, "cycles": 60, "warmup": 0, "bins": 16, "engine": "compiled", **options}
    try:
        found = simulated(network, faults=faults, **given)
    except SimulationError as error:
        refusal, found = error, error.result
    except InvalidValue as error:
        assert_one_line(str(error))
        return str(error)
    else:
        refusal = None
    assert isinstance(found, Result)
    wrong = (found.misrouted, found.duplicated or 0, found.damaged, found.lost, found.stamps_differ)
    wrong += (found.reordered if network.ordered else 0, found.serializable is False)
    assert any(wrong) == (refusal is not None), "what is wrong is told"
    return found


def test_sorts_are_all_effects() -> None:
    named = [sort.partition("=")[0] for sort in SORTS]
    assert [*named, "straight"] == [effect for effect in EFFECTS if effect != "stuck0"]


@pytest.mark.one_in(24)
@pytest.mark.parametrize(
    ("words", "share"),
    [
        *((words, number % SHARES) for number, words in enumerate(WORDS) if words in SHORT),
        *(long(words, None) for words in WORDS),
    ],
)
def test_each_kind_of_fault_works_or_is_refused(words: str, share: int | None) -> None:
    """Short runs try a share of all faults in each network."""
    network = example(words)
    if not network.has_memory:
        skip_if_combining(network)
    time = ":from=20:for=10"
    faults = [f"random:1:link:{sort}{time}" for sort in SORTS]
    faults += [f"random:1:cell:dead{time}", "random:1:state:flip:from=20", "box:0:0:straight"]
    for fault in faults if share is None else faults[share::SHARES]:
        found = outcome(network, fault)
        if isinstance(found, str):
            reasons = ("must be at most the 0", "can't be severed", "must be at a cell that has")
            if "straight" in fault:
                reasons = ("stuck at straight", "Places with a stage", "one link per port")
            assert any(reason in found for reason in reasons), found
            assert "at most the 0" not in found or not network_links(network)
            continue
        assert found.generated == found.rejected + found.unsent + found.injected
        missing = found.injected - found.delivered - found.corrupted
        if not network.resubmits:
            missing -= found.dropped
        if not network.broadcasts:
            assert found.lost == missing + (found.duplicated or 0), fault
        keeps = not (network.has_memory or network.resubmits)
        if keeps and ("lossy" in fault or "dead" in fault):
            assert missing >= 0, fault


@pytest.mark.one_in(16)
@every_kind
def test_a_lossy_link_loses_what_crosses_it(words: str) -> None:
    """And nothing else, of packets that are each alone in the network."""
    network = packets_of(words)
    skip_if_combining(network)
    links = {str(pin) for pin in network_links(network)}
    if network.recovers or (network.relation is not None and network.relation.choice):
        pytest.skip("lost packets are sent again, or headers have a choice")
    if phases_of(network) or not network.path_is_fixed or "replication" in words:
        pytest.skip("packets take one of several paths")
    pairs = list(pairs_of(network))[::3]
    crossed = {pair: {str(pin) for pin in network.path(*pair)} & links for pair in pairs}
    used = sorted(set().union(*crossed.values()))
    if not used:
        pytest.skip("its links are no streams between two cells")
    link = used[len(used) // 2]
    period = 40 + 4 * (network.zero_load_cycles + network.lengths[1])
    packets = [
        TracePacket(period * turn, *pair, network.lengths[0]) for turn, pair in enumerate(pairs)
    ]
    found = outcome(
        network, f"link:{link}:lossy", traffic=Trace("apart", tuple(packets)), cycles=1000
    )
    assert isinstance(found, Result)
    lost = sum(link in links for links in crossed.values())
    assert found.delivered == len(pairs) - lost < len(pairs)
    assert (found.misrouted, found.duplicated or 0, found.damaged) == (0, 0, 0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", [words for words in REJECTING if "resubmit=0" not in words])
def test_links_that_tell_the_fate_of_packets_lose_none_while_dead(words: str) -> None:
    """Links that are dead for a time, in turn: who is told sends again."""
    network = example(words)
    for link in network_links(network)[::5]:
        found = outcome(network, f"link:{link}:dead:from=10:for=15:every=40", load=0.1)
        assert isinstance(found, Result)
        assert (found.lost, found.misrouted, found.damaged) == (0, 0, 0), link
        assert found.injected == found.delivered > 40, link


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [words if words == REJECTING[2] else long(words) for words in WORDS]
)
def test_engines_agree_on_faults(words: str) -> None:
    network = example(words)
    skip_if_combining(network)
    faults = [
        f"random:1:link:{effect}:seed={seed}"
        for seed, effect in enumerate(
            ("dead:from=5:for=10", "lossy:from=9:for=8", "babbling:for=3")
        )
    ]
    results = [
        outcome(network, *faults, cycles=20, engine=engine) for engine in ("amaranth", "compiled")
    ]
    one, other = (
        replace(each, engine="") if isinstance(each, Result) else each for each in results
    )
    assert one == other


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "fault",
    ["random:1:cell", *(f"link:1:0:{sort}" for sort in SORTS)],
)
def test_a_fault_by_its_stage_where_packets_are_rejected(call: Call, fault: str) -> None:
    words = "sim omega ports=4 switch=wormhole policy=drop --load .2 --cycles 60 --warmup 0 --json"
    told = call(*words.split(), "--fault", fault)
    assert told.status == 1
    assert told.err.startswith("multicube: The books do not balance: "), told
    assert told.err.count("\n") == 1


PACKET = Packet(2, 4, flits=True)


async def cycle(ctx: Any, dut: wiring.Component, **given: int) -> set[str]:
    """Set these wires of both sides of a link, and all others to 0; go to the next cycle.

    Returns which wires were 1 that each side saw of the other.
    """
    ways = {
        "i": (dut.i, ("valid", "close"), ("ready", "reject")),
        "o": (dut.o, ("ready", "reject"), ("valid", "close")),
    }
    for side, (link, inputs, _) in ways.items():
        for name in inputs:
            ctx.set(getattr(link, name), given.get(f"{side}_{name}", 0))
    seen = {
        f"{side}_{name}": ctx.get(getattr(link, name))
        for side, (link, _, outputs) in ways.items()
        for name in outputs
    }
    await ctx.tick()
    # It says nothing of a word that is not there.
    seen["o_close"] &= seen["o_valid"]
    return {name for name, bit in seen.items() if bit}


@pytest.mark.parametrize("component", [LinkFault, LinkGate])
@pytest.mark.parametrize("last", [False, True])
def test_a_dead_link_rejects_a_header_and_passes_rejections(
    component: type[LinkFault | LinkGate], last: bool
) -> None:
    dut = component(PACKET, link=RejectingLink, last=last)

    async def testbench(ctx: Any) -> None:
        refusal = set() if last else {"i_reject"}
        word = {"i_valid": 1, "o_ready": 1}
        passed = {"i_ready", "o_valid"}
        ctx.set(dut.dead, 1)
        assert await cycle(ctx, dut, **word) == refusal
        assert await cycle(ctx, dut, o_ready=1) == set()
        ctx.set(dut.dead, 0)
        assert await cycle(ctx, dut, **word) == passed
        # A path leads through it: its flits wait while it is dead, and its rejection comes back.
        ctx.set(dut.dead, 1)
        assert await cycle(ctx, dut, **word) == set()
        ctx.set(dut.dead, 0)
        assert await cycle(ctx, dut, **word) == passed
        ctx.set(dut.dead, 1)
        assert await cycle(ctx, dut, o_reject=1) == {"i_reject"}
        assert await cycle(ctx, dut, **word) == refusal
        ctx.set(dut.dead, 0)
        # The last flit closes the path: the next one is a header.
        assert await cycle(ctx, dut, **word) == passed
        assert await cycle(ctx, dut, **word, i_close=1) == {*passed, "o_close"}
        ctx.set(dut.dead, 1)
        assert await cycle(ctx, dut, **word) == refusal

    exercise(dut, testbench)


def test_a_severed_link_closes_the_path_that_it_has_cut() -> None:
    dut = LinkFault(PACKET, link=RejectingLink)

    async def testbench(ctx: Any) -> None:
        word = {"i_valid": 1, "o_ready": 1}
        assert await cycle(ctx, dut, **word) == {"i_ready", "o_valid"}
        ctx.set(dut.severed, 1)
        assert await cycle(ctx, dut, i_valid=1) == {"i_ready", "o_valid", "o_close"}
        assert ctx.get(dut.o.payload.last)
        assert await cycle(ctx, dut, **word) == {"i_ready", "o_valid", "o_close"}
        # The fault has ended, but the rest of the packet is swallowed up to the flit that closes.
        ctx.set(dut.severed, 0)
        assert await cycle(ctx, dut, **word) == {"i_ready"}
        assert await cycle(ctx, dut, **word, i_close=1) == {"i_ready"}
        assert await cycle(ctx, dut, **word) == {"i_ready", "o_valid"}
        # A rejection takes the rest with it: the next flit is a header again.
        ctx.set(dut.severed, 1)
        assert await cycle(ctx, dut, i_valid=1) == {"i_ready", "o_valid", "o_close"}
        ctx.set(dut.severed, 0)
        assert "i_reject" in await cycle(ctx, dut, o_reject=1)
        assert await cycle(ctx, dut, **word) == {"i_ready", "o_valid"}

    exercise(dut, testbench)


def test_nobody_hears_the_rejection_of_what_nobody_sent() -> None:
    dut = LinkFault(PACKET, link=RejectingLink)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.babbling, 1)
        assert await cycle(ctx, dut, o_ready=1, o_reject=1) == {"i_ready", "o_valid"}

    exercise(dut, testbench)


class Counted(wiring.Component):
    """The two ends of a link that no fault is made for: it also has a counter of credits."""

    def __init__(self) -> None:
        link = wiring.Signature(
            {"payload": Out(PACKET), "valid": Out(1), "ready": In(1), "credits": In(4)}
        )
        super().__init__({"i": In(link), "o": Out(link)})


def test_a_link_of_another_kind_is_refused() -> None:
    fabric = Fabric({})
    for name in ("one", "two"):
        fabric.place(Cell(name, CellType(Counted)))
    fabric.link(Pin("one", ("o",)), Pin("two", ("i",)))
    fabric.link(Pin("two", ("o",)), Pin("one", ("i",)))
    with pytest.raises(InvalidValue, match=r"^Fault must be at a stream, a circuit, or .*one\.o"):
        cut(fabric, [Pin("one", ("o",))])


def test_faults_at_random_places_are_in_links_of_memories_too() -> None:
    """They have a stream in each direction."""
    network = example("combining")
    pins = network_links(network)
    cells = network.fabric.cells
    assert {pin.path[-1] for pin in pins} == {"request", "reply"}
    assert (
        len(pins)
        == len(set(pins))
        == 2 * sum(a.cell in cells and b.cell in cells for a, b in network.fabric.links)
    )
