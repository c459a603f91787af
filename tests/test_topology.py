"""Wiring plans and routing tags against the labels that the literature gives."""

import itertools
import re
from collections.abc import Callable

import pytest
from multicube.hdl import MultistageNetwork
from multicube.hdl.core.fabric import Fabric, Pin
from multicube.hdl.networks.catalogue import FAMILIES, find
from multicube.hdl.topology import AddressCode, MultistagePlan, TagScheme, multistage_plan
from multicube.hdl.topology.multistage import ALIASES, PLANS
from multicube.hdl.topology.tags import check_routing

SIZES = [(2, 2), (4, 2), (8, 2), (64, 2), (4, 4), (16, 4), (64, 4), (8, 8), (64, 8), (27, 3)]
SIZE_IDS = [f"{ports}-by-{radix}" for ports, radix in SIZES]

every_size = pytest.mark.parametrize(("ports", "radix"), SIZES, ids=SIZE_IDS)
every_plan = pytest.mark.parametrize("name", PLANS)


def stages_of(ports: int, radix: int) -> int:
    return next(n for n in range(10) if radix**n == ports)


# The label of the line that a packet from S to D is on as it leaves its box in stage s (counted
# from 0 at the input), written with whole numbers rather than digits. b is the radix.


def cube_label(S: int, D: int, s: int, b: int, n: int) -> int:
    # Siegel et al., III-B: after stage i it is d_{n-1} ... d_i s_{i-1} ... s_0, with i = n - 1 - s.
    low = b ** (n - 1 - s)
    return D // low * low + S % low


def omega_label(S: int, D: int, s: int, b: int, n: int) -> int:
    # Lawrie: a window that slides over the digits of S and D.
    return (S * b ** (s + 1) + D // b ** (n - 1 - s)) % b**n


def indirect_cube_label(S: int, D: int, s: int, b: int, n: int) -> int:
    low = b ** (s + 1)
    return S // low * low + D % low


def flip_label(S: int, D: int, s: int, b: int, n: int) -> int:
    # The window slides the other way; the inverse shuffle comes after the box.
    window = S // b ** (s + 1) + D % b ** (s + 1) * b ** (n - 1 - s)
    return window * b % b**n + window * b // b**n


def baseline_label(S: int, D: int, s: int, b: int, n: int) -> int:
    # Stage s chooses d_{n-1-s}, and the 1/b of the block that the inverse shuffle leads to.
    block = b ** (n - s)
    top = D // block * block
    return top + S // b ** (s + 1) * b % block + D // b ** (n - 1 - s) % b


def butterfly_label(S: int, D: int, s: int, b: int, n: int) -> int:
    # The digits above n-1-s have been chosen; the box has just chosen digit n-1-s, kept in place 0.
    block = b ** (n - s)
    return D // block * block + S % block // b * b + D // b ** (n - 1 - s) % b


LABELS: dict[str, Callable[[int, int, int, int, int], int]] = {
    "cube": cube_label,
    "omega": omega_label,
    "baseline": baseline_label,
    "indirect-cube": indirect_cube_label,
    "butterfly": butterfly_label,
    "flip": flip_label,
}


@every_size
@every_plan
def test_plan_uses_the_lines_of_the_literature(name: str, ports: int, radix: int) -> None:
    plan = multistage_plan(name, ports, radix)
    n = stages_of(ports, radix)
    assert len(plan.stages) == n
    assert (plan.ports, plan.boxes) == (ports, ports // radix)
    for source, destination in itertools.product(range(ports), repeat=2):
        labels = [
            plan.line(hop.stage, hop.box, hop.output) for hop in plan.path(source, destination)
        ]
        assert labels == [LABELS[name](source, destination, s, radix, n) for s in range(n)]


def test_cube_gives_the_path_of_figure_2() -> None:
    """Input 6 to output 0 of 8: exchange, exchange, straight, over lines 110, 010, 000, 000."""
    plan = multistage_plan("cube", 8)
    path = plan.path(6, 0)
    assert [hop.input ^ hop.output for hop in path] == [1, 1, 0]
    assert [plan.line(hop.stage, hop.box, hop.output) for hop in path] == [0b010, 0, 0]


@every_size
def test_cube_pairs_lines_by_one_digit(ports: int, radix: int) -> None:
    """III-A and III-E: at stage i the lines that differ only in digit i share a box."""
    plan = multistage_plan("cube", ports, radix)
    n = stages_of(ports, radix)
    for s in range(n):
        boxes: dict[int, list[int]] = {}
        for line in range(ports):
            box, port = plan.port(s, line)
            assert port == line // radix ** (n - 1 - s) % radix
            assert plan.line(s, box, port) == line
            boxes.setdefault(box, []).append(line)
        assert sorted(boxes) == list(range(ports // radix))
        for lines in boxes.values():
            assert {line - lines[0] for line in lines} == {
                port * radix ** (n - 1 - s) for port in range(radix)
            }


def receivers(fabric: Fabric) -> dict[Pin, Pin]:
    """Which input each output drives, by the `valid` of their streams."""
    return {
        Pin(driver.cell, driver.path[:-1]): Pin(receiver.cell, receiver.path[:-1])
        for receiver, driver in fabric.drivers.items()
        if receiver.path[-1] == "valid"
    }


@every_size
@every_plan
def test_packets_follow_their_tags_through_the_fabric(name: str, ports: int, radix: int) -> None:
    """Wire by wire: boxes that know nothing but the top digit bring every pair together.

    What is met is also what `path` predicts, and the tag is back in place at the end.
    """
    network = MultistageNetwork(ports, radix=radix, wiring=name)
    wires = receivers(network.fabric)
    plan, bits, n = network.plan, (radix - 1).bit_length(), network.stages
    mask = (1 << bits * n) - 1
    schemes = [plan.tags(routing) for routing in ("destination", "xor")[: 1 if radix == 3 else 2]]
    for source, destination in itertools.product(range(ports), repeat=2):
        hops = plan.path(source, destination)
        predicted = network.path(source, destination)
        for scheme in schemes:
            xor = scheme.routing == "xor"
            tag = original = scheme.tag(source, destination)
            passed = []
            at = wires[Pin(None, ("i", source))]
            for hop in hops:
                digit = tag >> bits * (n - 1)
                tag = (tag << bits | digit) & mask
                port = at.path[1]
                output = digit ^ port if xor else digit
                assert (at.cell, port, output) == (f"box_{hop.stage}_{hop.box}", *hop[2:])
                passed.append(Pin(at.cell, ("o", output)))
                at = wires[passed[-1]]
            assert at == Pin(None, ("o", destination))
            assert passed == predicted
            assert tag == original
            assert scheme.destination(tag, source) == destination
            assert scheme.source(tag, destination) == (source if xor else None)


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
def test_plans_are_topologically_equal(name: str, ports: int, radix: int) -> None:
    """Bermond, Fourneau and Jean-Marie: networks with one path between every two terminals, in
    which the first (and the last) m stages fall into N / b^m parts, are all isomorphic. That there
    is one path is shown above: all pairs are joined, and b^n paths begin at each input."""
    plan = multistage_plan(name, ports, radix)
    n = stages_of(ports, radix)
    ports_of_boxes: list[list[tuple[object, object]]] = []
    for s in range(n):
        edges: list[tuple[object, object]] = []
        for box in range(plan.boxes):
            for port in range(radix):
                line = plan.line(s, box, port)
                if s + 1 < n:
                    line = plan.relabel(s + 1, line)
                    edges.append(((s, box), (s + 1, plan.port(s + 1, line)[0])))
        ports_of_boxes.append(edges)
    for m in range(2, n + 1):
        first = [edge for edges in ports_of_boxes[: m - 1] for edge in edges]
        last = [edge for edges in ports_of_boxes[n - m : n - 1] for edge in edges]
        assert components(first) == components(last) == ports // radix**m


@every_size
def test_cube_tags_are_those_of_the_paper(ports: int, radix: int) -> None:
    """III-C: the destination tag is D, the XOR tag is S xor D."""
    plan = multistage_plan("cube", ports, radix)
    code = plan.code
    for source, destination in itertools.product(range(ports), repeat=2):
        assert plan.tags().tag(source, destination) == code.encode(destination)
        if radix != 3:
            assert code.encode(destination) == destination
            assert plan.tags("xor").tag(source, destination) == source ^ destination
            assert plan.tags("xor").source(source ^ destination, destination) == source


def test_address_code_writes_each_digit_apart() -> None:
    code = AddressCode(3, 3)
    assert (code.count, code.digit_bits, code.width) == (27, 2, 6)
    assert code.split(2 * 9 + 0 * 3 + 1) == [1, 0, 2]
    assert code.encode(2 * 9 + 0 * 3 + 1) == 0b10_00_01
    assert all(code.decode(code.encode(address)) == address for address in range(27))
    assert [AddressCode(2, 6).encode(address) for address in range(64)] == list(range(64))


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
        ("delta", "omega"),
        ("bidelta", "omega"),
        ("sw-banyan", "butterfly"),
        ("fly", "butterfly"),
    ],
)
def test_alias_names_a_plan(alias: str, name: str) -> None:
    assert ALIASES[alias] == name
    assert find(alias) is FAMILIES[name]


def test_aliases_hide_no_plan() -> None:
    assert not ALIASES.keys() & PLANS.keys()
    assert set(ALIASES.values()) <= PLANS.keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cube", 12, 2), "Ports must be a power of the radix 2, not 12"),
        (("cube", 2, 4), "Ports must be a power of the radix 4, not 2"),
        (("cube", 0, 2), "Ports must be at least 2, not 0"),
        (("cube", 1, 2), "Ports must be at least 2, not 1"),
        (("cube", -8, 2), "Ports must be at least 2, not -8"),
        (("cube", 8, 1), "Radix must be at least 2, not 1"),
        (("cube", 8, 0), "Radix must be at least 2, not 0"),
        (
            ("torus", 8, 2),
            "Wiring must be one of cube, omega, baseline, indirect-cube, butterfly, flip, "
            "not 'torus'",
        ),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_multistage_plan_rejects(arguments: tuple[str, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        multistage_plan(*arguments)


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
