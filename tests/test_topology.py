"""Wiring plans and routing tags against the labels that the literature gives."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.catalogue.catalogue import FAMILIES, find
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.address_codes import AddressCode
from multicube.hdl.graphs.plans.multistage import MultistagePlan
from multicube.hdl.graphs.plans.named_plans import ALIASES, PLANS, multistage_plan
from multicube.hdl.graphs.tags import TagScheme, check_routing
from refusals import refusals

SIZES: list[tuple[int, int | str]] = [
    *[(2, 2), (4, 2), (8, 2), (16, 2), (4, 4), (16, 4), (8, 8), (27, 3)],
    *[(6, "2x3"), (24, "3x2x4"), (8, "2x4")],
]
LARGER = [(64, 2), (64, 4), (64, 8), (32, "4x4x2"), (32, "2x4x4"), (30, "5x2x3")]
SIZE_IDS = [f"{ports}-by-{radix}" for ports, radix in (*SIZES, *LARGER)]

every_size = pytest.mark.parametrize(
    ("ports", "radix"), [*SIZES, *(long(*size) for size in LARGER)], ids=SIZE_IDS
)
every_plan = pytest.mark.parametrize("name", PLANS)


def radices_of(ports: int, radix: int | str) -> list[int]:
    """The radix of each stage."""
    if isinstance(radix, str):
        return [int(each) for each in radix.split("x")]
    return [radix] * next(n for n in range(10) if radix**n == ports)


def is_binary(radix: int | str) -> bool:
    return all(int(each) in (2, 4, 8) for each in str(radix).split("x"))


# The label of the line that a packet from S to D is on as it leaves its box in stage s (counted
# from 0 at the input), written with whole numbers rather than digits. Stage s has boxes of radix b,
# `above` is the product of the radices of the stages before it, `low` that of those behind it, and
# `first` the radix of the first stage.


def cube_label(S: int, D: int, first: int, above: int, b: int, low: int) -> int:
    # Siegel et al., III-B: after stage i it is d_{n-1} ... d_i s_{i-1} ... s_0, with i = n - 1 - s.
    return D // low * low + S % low


def omega_label(S: int, D: int, first: int, above: int, b: int, low: int) -> int:
    # Lawrie: a window that slides over the digits of S and D.
    return (S * above * b + D // low) % (above * b * low)


def indirect_cube_label(S: int, D: int, first: int, above: int, b: int, low: int) -> int:
    return S // (above * b) * (above * b) + D % (above * b)


def flip_label(S: int, D: int, first: int, above: int, b: int, low: int) -> int:
    # The window slides the other way; the inverse shuffle comes after the box.
    ports = above * b * low
    window = S // (above * b) + D % (above * b) * low
    return window * b % ports + window * b // ports


def baseline_label(S: int, D: int, first: int, above: int, b: int, low: int) -> int:
    # Stage s chooses d_{n-1-s}, and the 1/b of the block that the inverse shuffle leads to.
    block = b * low
    return D // block * block + S // (above * b) * b % block + D // low % b


def butterfly_label(S: int, D: int, first: int, above: int, b: int, low: int) -> int:
    # The digits above n-1-s have been chosen; the box has just chosen digit n-1-s, kept in place 0.
    # The source's digits n-1 down to 1 are replaced in stages 1, 2, ..., and digit 0 in stage 0.
    block = b * low
    return D // block * block + S // first % low * b + D // low % b


LABELS: dict[str, Callable[[int, int, int, int, int, int], int]] = {
    "cube": cube_label,
    "omega": omega_label,
    "baseline": baseline_label,
    "indirect-cube": indirect_cube_label,
    "butterfly": butterfly_label,
    "flip": flip_label,
}


@every_size
@every_plan
def test_plan_uses_the_lines_of_the_literature(name: str, ports: int, radix: int | str) -> None:
    plan = multistage_plan(name, ports, radix)
    radices = radices_of(ports, radix)
    assert len(plan.stages) == len(radices)
    assert (plan.ports, plan.columns) == (ports, tuple(ports // b for b in radices))
    sizes = [
        (radices[0], math.prod(radices[:s]), b, math.prod(radices[s + 1 :]))
        for s, b in enumerate(radices)
    ]
    for source, destination in itertools.product(range(ports), repeat=2):
        labels = [
            plan.line(hop.stage, hop.box, hop.output) for hop in plan.path(source, destination)
        ]
        assert labels == [LABELS[name](source, destination, *size) for size in sizes]


def test_cube_gives_the_path_of_figure_2() -> None:
    """Input 6 to output 0 of 8: exchange, exchange, straight, over lines 110, 010, 000, 000."""
    plan = multistage_plan("cube", 8)
    path = plan.path(6, 0)
    assert [hop.input ^ hop.output for hop in path] == [1, 1, 0]
    assert [plan.line(hop.stage, hop.box, hop.output) for hop in path] == [0b010, 0, 0]


@every_size
def test_cube_pairs_lines_by_one_digit(ports: int, radix: int | str) -> None:
    """III-A and III-E: at stage i the lines that differ only in digit i share a box."""
    plan = multistage_plan("cube", ports, radix)
    radices = radices_of(ports, radix)
    for s, b in enumerate(radices):
        low = math.prod(radices[s + 1 :])
        boxes: dict[int, list[int]] = {}
        for line in range(ports):
            box, port = plan.port(s, line)
            assert port == line // low % b
            assert plan.line(s, box, port) == line
            boxes.setdefault(box, []).append(line)
        assert sorted(boxes) == list(range(ports // b))
        for lines in boxes.values():
            assert {line - lines[0] for line in lines} == {port * low for port in range(b)}


def receivers(fabric: Fabric) -> dict[Pin, Pin]:
    """Which input each output drives, by the `valid` of their streams."""
    return {
        Pin(driver.cell, driver.path[:-1]): Pin(receiver.cell, receiver.path[:-1])
        for receiver, driver in fabric.drivers.items()
        if receiver.path[-1] == "valid"
    }


@every_size
@every_plan
def test_packets_follow_their_tags_through_the_fabric(
    name: str, ports: int, radix: int | str
) -> None:
    """Wire by wire: boxes that know nothing but the top digit bring every pair together.

    What is met is also what `path` predicts, and the tag is back in place at the end.
    """
    network = MultistageNetwork(ports, radix=radix, wiring=name)
    wires = receivers(network.fabric)
    plan, radices = network.plan, radices_of(ports, radix)
    widths = [(b - 1).bit_length() for b in radices]
    width = sum(widths)
    routings = ["destination", *(["xor"] if is_binary(radix) else ["difference"])]
    if isinstance(radix, str) and name in ("baseline", "butterfly") and not is_binary(radix):
        routings = ["destination"]  # Sources and destinations have digits of other radices.
    schemes = [plan.tags(routing) for routing in routings]
    for source, destination in itertools.product(range(ports), repeat=2):
        hops = plan.path(source, destination)
        predicted = network.path(source, destination)
        for scheme in schemes:
            tag = original = scheme.tag(source, destination)
            passed = []
            at = wires[Pin(None, ("i", source))]
            for hop, b, bits in zip(hops, radices, widths):
                digit = tag >> width - bits
                tag = (tag << bits | digit) & (1 << width) - 1
                port = at.path[1]
                output = {
                    "destination": digit,
                    "xor": digit ^ port,
                    "difference": (port + digit) % b,
                }[scheme.routing]
                assert (at.cell, port, output) == (f"box_{hop.stage}_{hop.box}", *hop[2:])
                passed.append(Pin(at.cell, ("o", output)))
                at = wires[passed[-1]]
            assert at == Pin(None, ("o", destination))
            assert passed == predicted
            assert tag == original
            assert scheme.destination(tag, source) == destination
            assert scheme.source(tag, destination) == (
                None if scheme.routing == "destination" else source
            )


def components(edges: list[tuple[object, object]]) -> int:
    parent: dict[object, object] = {}

    def root(node: object) -> object:
        parent.setdefault(node, node)
        while parent[node] != node:
            node = parent[node]
        return node

    for a, b in edges:
        parent[root(a)] = root(b)
    return sum(root(node) == node for node in list(parent))


@every_size
@every_plan
def test_plans_are_topologically_equal(name: str, ports: int, radix: int | str) -> None:
    """Bermond, Fourneau and Jean-Marie: networks with one path between every two terminals, in
    which the first (and the last) m stages fall into N / b^m parts, are all isomorphic. That there
    is one path is shown above: all pairs are joined, and b^n paths begin at each input."""
    plan = multistage_plan(name, ports, radix)
    radices = radices_of(ports, radix)
    n = len(radices)
    ports_of_boxes: list[list[tuple[object, object]]] = []
    for s in range(n):
        edges: list[tuple[object, object]] = []
        for box in range(plan.columns[s]):
            for port in range(radices[s]):
                line = plan.line(s, box, port)
                if s + 1 < n:
                    line = plan.relabel(s + 1, line)
                    edges.append(((s, box), (s + 1, plan.port(s + 1, line)[0])))
        ports_of_boxes.append(edges)
    for m in range(2, n + 1):
        first = [edge for edges in ports_of_boxes[: m - 1] for edge in edges]
        last = [edge for edges in ports_of_boxes[n - m : n - 1] for edge in edges]
        assert components(first) == ports // math.prod(radices[:m])
        assert components(last) == ports // math.prod(radices[n - m :])


@every_size
def test_cube_tags_are_those_of_the_paper(ports: int, radix: int | str) -> None:
    """III-C: the destination tag is D, the XOR tag is S xor D, and in base 2 so is the difference
    tag."""
    plan = multistage_plan("cube", ports, radix)
    code = plan.code
    for source, destination in itertools.product(range(ports), repeat=2):
        assert plan.tags().tag(source, destination) == code.encode(destination)
        if is_binary(radix):
            assert code.encode(destination) == destination
            assert plan.tags("xor").tag(source, destination) == source ^ destination
            assert plan.tags("xor").source(source ^ destination, destination) == source
        if radix == 2:
            assert plan.tags("difference").tag(source, destination) == source ^ destination


def test_address_code_writes_each_digit_apart() -> None:
    code = AddressCode(3, 3)
    assert (code.count, code.digit_bits, code.width) == (27, 2, 6)
    assert code.split(2 * 9 + 0 * 3 + 1) == [1, 0, 2]
    assert code.encode(2 * 9 + 0 * 3 + 1) == 0b10_00_01
    assert all(code.decode(code.encode(address)) == address for address in range(27))
    assert [AddressCode(2, 6).encode(address) for address in range(64)] == list(range(64))


@pytest.mark.parametrize("address", [np.uint8(200), np.array([200], np.uint8)])
def test_codes_of_short_numbers_are_whole(address: Any) -> None:
    """In the type of the address, which has 8 bits here, a code of 10 bits would be cut off."""
    assert AddressCode(3, 5).encode(address) == AddressCode(3, 5).encode(200)


@pytest.mark.parametrize("address", [-1, 27])
def test_address_code_rejects_address(address: int) -> None:
    with pytest.raises(ValueError, match=rf"^Address must be from 0 to 26, not {address}$"):
        AddressCode(3, 3).encode(address)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("generalized-cube", "cube"),
        ("multistage-cube", "cube"),
        ("indirect-binary-n-cube", "indirect-cube"),
        ("multistage-shuffle-exchange", "omega"),
        ("bidelta", "omega"),
        ("fly", "butterfly"),
    ],
)
def test_alias_names_a_plan(alias: str, name: str) -> None:
    assert ALIASES[alias] == name
    assert find(alias) is FAMILIES[name]


def test_aliases_hide_no_plan() -> None:
    assert not ALIASES.keys() & PLANS.keys()
    assert set(ALIASES.values()) <= PLANS.keys()


test_multistage_plan_rejects = refusals(
    lambda arguments: multistage_plan(*arguments),
    (("cube", 12, 2), "Ports must be a power of the radix 2, not 12"),
    (("cube", 2, 4), "Ports must be a power of the radix 4, not 2"),
    (("cube", 0, 2), "Ports must be at least 2, not 0"),
    (("cube", 1, 2), "Ports must be at least 2, not 1"),
    (("cube", -8, 2), "Ports must be at least 2, not -8"),
    (("cube", 8, 1), "Radix must be at least 2, not 1"),
    (("cube", 8, 0), "Radix must be at least 2, not 0"),
    (
        ("torus", 8, 2),
        "Wiring must be one of cube, omega, baseline, indirect-cube, butterfly, flip, not 'torus'",
    ),
)


@pytest.mark.parametrize("value", ["8", 8.0, None, True])
def test_multistage_plan_rejects_a_wrong_type(value: object) -> None:
    with pytest.raises(TypeError, match=f"^Ports must be an integer, not {value!r}$"):
        multistage_plan("cube", value)
    with pytest.raises(TypeError, match=f"^Radix must be an integer, not {value!r}$"):
        multistage_plan("cube", 8, value)


def test_tag_scheme_rejects_routing() -> None:
    plan: MultistagePlan = multistage_plan("cube", 8)
    with pytest.raises(
        ValueError, match=r"^Routing must be destination, xor or difference, not 'random'$"
    ):
        plan.tags("random")


@pytest.mark.parametrize("radix", [3, 6])
def test_tag_scheme_rejects_xor_in_a_radix_that_is_no_power_of_two(radix: int) -> None:
    message = f"^XOR tags need a radix that is a power of two, not {radix}$"
    with pytest.raises(ValueError, match=message):
        TagScheme("xor", AddressCode(radix, 2), (0, 1), (0, 1))
    with pytest.raises(ValueError, match=message):
        check_routing("xor", radix)
