"""Parameters of multistage networks: what goes with what, what "auto" means, what is refused."""

import inspect
import json
import re
from typing import Any

import pytest
from command_line import exit_status
from multicube.hdl import MultistageNetwork, build
from multicube.hdl.families.multistage.switching import SWITCHES
from multicube.hdl.families.multistage.switching_mode import SwitchingMode
from multicube.hdl.networks.flits import parse_lengths
from multicube.hdl.primitives.arbiters import ARBITERS
from refusals import refusals

SWITCH_NAMES = [
    "unbuffered",
    "single-buffered",
    "input-queued",
    "output-queued",
    "wormhole",
    "cut-through",
    "store-and-forward",
    "circuit",
]
STORING = {"cut-through", "store-and-forward"}
LINKED = {"input-queued", "wormhole", *STORING}
QUEUED = {"single-buffered", "input-queued", "output-queued"}

# A value of a parameter that is not everybody's own, and the switches that take it. The text is
# what the others say.
OFFERS: list[tuple[dict[str, Any], set[str], str]] = [
    ({"length": 3}, {"wormhole", *STORING, "circuit"}, "Length must be 1 with {0}, not 3"),
    ({"length": "1:4"}, {"wormhole", *STORING, "circuit"}, "Length must be 1 with {0}, not 1:4"),
    ({"policy": "hold"}, {*QUEUED, "wormhole", *STORING, "circuit"}, "{1}, not hold"),
    ({"policy": "drop"}, {"unbuffered", "wormhole", "circuit"}, "{1}, not drop"),
    ({"policy": "modified-hold"}, {"circuit"}, "{1}, not modified-hold"),
    ({"dilation": 2}, {"unbuffered", *QUEUED, "circuit"}, "Dilation must be 1 with {0}, not 2"),
    (
        {"replication": 3},
        {"unbuffered", *QUEUED, "wormhole", *STORING, "circuit"},
        "Replication must be 1 with {0}, not 3",
    ),
    ({"resubmit": 4, "policy": "drop"}, {"unbuffered", "wormhole", "circuit"}, "{1}, not drop"),
    ({"broadcast": 1}, set(SWITCH_NAMES), ""),
    ({"refill": "no"}, {*QUEUED, "wormhole"}, "Refill must be auto with {0}, not no"),
    ({"refill": "yes"}, {*QUEUED, "wormhole"}, "Refill must be auto with {0}, not yes"),
    ({"queues": "crosspoint"}, STORING, "Queues must be input with {0}, not crosspoint"),
    ({"memories": "separate"}, {"output-queued"}, "Memories must be auto with {0}, not separate"),
    (
        {"pipeline": 2},
        {"input-queued", "wormhole", "cut-through"},
        "Pipeline must be 0 with {0}, not 2",
    ),
    *(
        ({name: value}, LINKED, f"{name.capitalize()} must be {plain} with {{0}}, not {value}")
        for name, value, plain in (
            ("channels", 2, 1),
            ("latency", 3, 1),
            ("decision", 2, 1),
            ("arbiter", "fixed", "round-robin"),
            ("classes", 2, 1),
        )
    ),
    (
        {"arbiter": "weighted", "classes": 2, "weights": "2:1"},
        LINKED,
        "Arbiter must be round-robin with {0}, not weighted",
    ),
    ({"extra_stage": 1}, {*QUEUED, "circuit"}, "Extra stage must be 0 with {0}, not 1"),
    (
        {"extra_stage": 1, "faults": "box:1:2"},
        {*QUEUED, "circuit"},
        "Extra stage must be 0 with {0}, not 1",
    ),
    (
        {"parity": "byte"},
        {"unbuffered", *QUEUED, "circuit"},
        "Parity needs packets of one flit, or circuits, not {0}",
    ),
    ({"depth": 3}, {"input-queued", "output-queued", "wormhole", *STORING}, "{2}, not 3"),
    ({"routing": "xor"}, set(SWITCH_NAMES), ""),
    ({"hold_limit": 3}, set(SWITCH_NAMES), ""),
]
ONLY_DEPTH = {"unbuffered": 1, "single-buffered": 1, "circuit": 0}
POLICIES = {"unbuffered": "drop", "wormhole": "hold or drop"}


@pytest.mark.parametrize("switch", SWITCH_NAMES)
@pytest.mark.parametrize(
    ("offer", "takers", "text"),
    OFFERS,
    ids=[" ".join(f"{k}={v}" for k, v in row[0].items()) for row in OFFERS],
)
def test_switch_takes_or_refuses(
    switch: str, offer: dict[str, Any], takers: set[str], text: str
) -> None:
    if switch in takers:
        network = MultistageNetwork(8, switch=switch, **offer)
        assert network.parameters.items() >= offer.items()
        return
    text = text.format(
        f"switch={switch}",
        f"Policy must be {POLICIES.get(switch, 'hold')} with switch={switch}",
        f"Depth of switch {switch} must be {ONLY_DEPTH.get(switch)}",
    )
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        MultistageNetwork(8, switch=switch, **offer)


def test_every_parameter_is_offered() -> None:
    """But those that all networks have."""
    common = {"ports", "radix", "wiring", "switch", "payload"}
    offered = {name for offer, _, _ in OFFERS for name in offer}
    assert offered == set(inspect.signature(MultistageNetwork).parameters) - common


# Switch, and parameters given; depth, policy and resubmit that follow.
OWN_VALUES = [
    ("unbuffered", {}, (1, "drop", 0)),
    ("single-buffered", {}, (1, "hold", 0)),
    ("input-queued", {}, (4, "hold", 0)),
    ("output-queued", {}, (4, "hold", 0)),
    ("wormhole", {}, (4, "hold", 0)),
    ("wormhole", {"length": 9}, (4, "hold", 0)),
    ("wormhole", {"policy": "drop"}, (4, "drop", 16)),
    ("wormhole", {"policy": "drop", "resubmit": 0}, (4, "drop", 0)),
    ("cut-through", {}, (4, "hold", 0)),
    ("cut-through", {"length": 2}, (4, "hold", 0)),
    ("cut-through", {"length": "1:7"}, (14, "hold", 0)),
    ("store-and-forward", {"length": "1:7"}, (14, "hold", 0)),
    ("circuit", {}, (0, "hold", 0)),
    ("circuit", {"policy": "drop"}, (0, "drop", 8)),
    ("circuit", {"policy": "modified-hold"}, (0, "modified-hold", 8)),
    ("circuit", {"policy": "modified-hold", "resubmit": 2}, (0, "modified-hold", 2)),
    ("circuit", {"broadcast": 1}, (0, "hold", 8)),
]


@pytest.mark.parametrize(("switch", "given", "values"), OWN_VALUES)
def test_auto_stands_for_a_switchs_own_value(
    switch: str, given: dict[str, Any], values: tuple[int, str, int]
) -> None:
    auto = {"depth": "auto", "policy": "auto", "resubmit": "auto", **given}
    network = MultistageNetwork(8, switch=switch, **auto)
    names = ("depth", "policy", "resubmit")
    assert tuple(network.parameters[name] for name in names) == values
    # Said or found: it is the same network.
    said = MultistageNetwork(8, switch=switch, **given | dict(zip(names, values)))
    assert said.parameters == network.parameters
    assert said.fabric.cells == network.fabric.cells
    drops = values[1] != "hold" or (switch == "circuit" and "broadcast" in given)
    assert (network.drops, network.resubmits) == (drops, values[2] > 0)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"switch": "optical"}, f"Switch must be one of {', '.join(SWITCH_NAMES)}, not 'optical'"),
    ({"wiring": "mesh"}, "Wiring must be one of cube, omega, "),
    ({"ports": 12}, "Ports must be a power of the radix 2, not 12"),
    ({"ports": 2**17}, "Ports must be from 2 to 65536, not 131072"),
    ({"ports": 128, "radix": 128}, "Radix must be from 2 to 64, not 128"),
    ({"payload": 4097}, "Payload must be from 1 to 4096, not 4097"),
    ({"payload": 0}, "Payload must be from 1 to 4096, not 0"),
    ({"policy": "keep"}, "Policy must be one of auto, hold, drop, modified-hold, not 'keep'"),
    ({"refill": "maybe"}, "Refill must be one of auto, yes, no, not 'maybe'"),
    ({"refill": True}, "Refill must be one of auto, yes, no, not True"),
    ({"queues": "output"}, "Queues must be one of input, crosspoint, not 'output'"),
    ({"parity": "odd"}, "Parity must be one of none, packet, byte, not 'odd'"),
    ({"hold_limit": 0}, "Hold limit must be from 1 to 65536, not 0"),
    ({"dilation": 65}, "Dilation must be from 1 to 64, not 65"),
    ({"replication": 0}, "Replication must be from 1 to 64, not 0"),
    ({"resubmit": -1}, "Resubmit must be from 0 to 65536, not -1"),
    ({"resubmit": 2**17}, "Resubmit must be from 0 to 65536, not 131072"),
    ({"broadcast": 2}, "Broadcast must be from 0 to 1, not 2"),
    ({"extra_stage": 2}, "Extra stage must be from 0 to 1, not 2"),
    ({"depth": 0}, "Depth must be from 1 to 65536, not 0"),
    ({"depth": 2**16 + 1}, "Depth must be from 1 to 65536, not 65537"),
    ({"switch": "wormhole", "length": 0}, "Length must be from 1 to 1024, not 0"),
    ({"switch": "wormhole", "length": 1025}, "Length must be from 1 to 1024, not 1025"),
    ({"switch": "cut-through", "length": "2:5", "depth": 4}, "Depth must be at least the length "),
    (
        {"switch": "unbuffered", "ports": 64, "radix": 8, "dilation": 9},
        "Input links of an unbuffered switch must be from 2 to 64, not 72",
    ),
    ({"switch": "unbuffered", "resubmit": 3}, "Resubmit must be a power of two, not 3"),
    ({"switch": "circuit", "resubmit": 2}, "Resubmit must be 0 with policy=hold, not 2"),
    (
        {"switch": "unbuffered", "resubmit": 4, "broadcast": 1},
        "Broadcast must be 0 with resubmission, not 1",
    ),
    (
        {"switch": "wormhole", "length": "2:5", "broadcast": 1},
        "Depth must be at least the length of 5 flits with broadcast=1, not 4",
    ),
    (
        {"switch": "wormhole", "policy": "drop", "broadcast": 1},
        "Policy must be hold with switch=wormhole and broadcast=1, not drop",
    ),
    *(
        (
            {"switch": "circuit", "policy": policy, "resubmit": resubmit, "broadcast": 1},
            f"Resubmit with switch=circuit and broadcast=1 must be at least 2, not {resubmit}",
        )
        for policy, resubmit in (("hold", 0), ("drop", 1), ("modified-hold", 0))
    ),
    *(
        (
            {"switch": "wormhole", "policy": "drop", "replication": 2, "resubmit": resubmit},
            "Replication must be 1 with switch=wormhole and policy=drop, not 2",
        )
        for resubmit in (0, 4)
    ),
    *(
        (
            {"switch": "circuit", name: 2, "broadcast": 1},
            f"{name.capitalize()} must be 1 with switch=circuit and broadcast=1, not 2",
        )
        for name in ("dilation", "replication")
    ),
    (
        {"ports": 64, "radix": 8, "dilation": 9},
        "Input links of a switch must be from 2 to 64, not 72",
    ),
    (
        {"switch": "wormhole", "length": 2, "parity": "packet"},
        "Parity needs packets of one flit, or circuits, not switch=wormhole",
    ),
    (
        {"switch": "wormhole", "length": "bits:8+"},
        "Length in bits must be bits:HEADER+LOW:HIGH, not 'bits:8+'",
    ),
    (
        {"switch": "wormhole", "length": "bits:9999", "payload": 8},
        "Length must be from 1 to 1024, not 1250",
    ),
    ({"length": "bits:17"}, "Length must be 1 with switch=output-queued, not 2"),
    (
        {"ports": 9, "radix": 3, "broadcast": 1, "switch": "unbuffered"},
        "Broadcast masks of unbuffered switches need a radix that is a power of two, not 3",
    ),
    ({"ports": 64, "radix": "4x4x8"}, "Ports must be 128 with radix=4x4x8, not 64"),
    ({"radix": "4x"}, "Radix must be a number of at least 2, or several such as 4x4x8, or 4+, "),
    ({"radix": "4x128"}, "Radix must be from 2 to 64, not 128"),
    ({"radix": "64x64x64"}, "Ports must be from 2 to 65536, not 262144"),
    (
        {"ports": 24, "radix": "4+"},
        "Ports must be a power of 4, times a number below 4, with radix=4+, not 24",
    ),
    (
        {"radix": "2x3", "wiring": "baseline", "routing": "difference"},
        "Routing must be destination if sources have other digits (3x2) than destinations (2x3), "
        "not difference",
    ),
    (
        {"ports": 9, "radix": 3, "routing": "xor"},
        "XOR tags need a radix that is a power of two, not 3",
    ),
    ({"faults": "box:1:1"}, "Faults can be avoided only with extra_stage=1, not box:1:1"),
    ({"extra_stage": 1, "faults": "box:1"}, "Fault must be one of box:STAGE:NUMBER, "),
    ({"extra_stage": 1, "faults": "box:4:0"}, "Stage of fault box:4:0 must be from 0 to 3"),
    ({"extra_stage": 1, "faults": "box:1:0,box:2:0"}, "Faults must all be in the extra stage, "),
    ({"extra_stage": 1, "replication": 2}, "Replication must be 1 with extra_stage=1, not 2"),
    ({"extra_stage": 1, "dilation": 2}, "Dilation must be 1 with extra_stage=1, not 2"),
    (
        {"extra_stage": 1, "wiring": "baseline"},
        "An extra stage needs a wiring whose stages replace each digit of the source address by "
        "the same digit of the destination, not baseline",
    ),
    (
        {"extra_stage": 1, "broadcast": 1, "routing": "difference"},
        "Broadcast must be 0 with extra_stage=1 and routing=difference",
    ),
]


@pytest.mark.parametrize(("parameters", "message"), REFUSED, ids=[str(row[0]) for row in REFUSED])
def test_network_rejects(parameters: dict[str, Any], message: str) -> None:
    end = "" if message.endswith(" ") else "$"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}{end}"):
        MultistageNetwork(**parameters)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("ports", 8.0, "Ports"),
        ("depth", 2.0, "Depth"),
        ("length", None, "Length"),
        ("length", True, "Length"),
        ("hold_limit", "4", "Hold limit"),
        ("dilation", 1.0, "Dilation"),
        ("replication", None, "Replication"),
        ("resubmit", False, "Resubmit"),
        ("broadcast", True, "Broadcast"),
        ("extra_stage", True, "Extra stage"),
    ],
)
def test_network_rejects_what_is_no_integer(name: str, value: object, what: str) -> None:
    with pytest.raises(TypeError, match=f"^{what} must be an integer, not {value!r}$"):
        MultistageNetwork(**{name: value})


@pytest.mark.parametrize("faults", [None, 3, ("box:1:1",)])
def test_network_rejects_faults_that_are_no_text(faults: object) -> None:
    with pytest.raises(TypeError, match=rf"^Faults must be text, not {re.escape(repr(faults))}$"):
        MultistageNetwork(extra_stage=1, faults=faults)


@pytest.mark.parametrize(
    ("length", "lengths"),
    [(1, (1, 1)), (7, (7, 7)), ("3", (3, 3)), ("2:2", (2, 2)), ("1:1024", (1, 1024))],
)
def test_parse_lengths(length: int | str, lengths: tuple[int, int]) -> None:
    assert parse_lengths(length) == lengths


test_parse_lengths_rejects = refusals(
    parse_lengths,
    ("", "Length must be a number of flits, LOW:HIGH or geometric:MEAN, not ''"),
    ("a", "Length must be a number of flits, LOW:HIGH or geometric:MEAN, not 'a'"),
    ("1:2:3", "Length must be a number of flits, LOW:HIGH or geometric:MEAN, not '1:2:3'"),
    ("1:", "Length must be a number of flits, LOW:HIGH or geometric:MEAN, not '1:'"),
    ("4:3", "Length must be LOW:HIGH with LOW at most HIGH, not '4:3'"),
    ("0:3", "Length must be from 1 to 1024, not 0"),
    ("1:1025", "Length must be from 1 to 1024, not 1025"),
)


@pytest.mark.parametrize("longest", [1, 2, 3, 84])
def test_own_depth_holds_two_of_the_longest_packets(longest: int) -> None:
    assert SWITCHES["cut-through"].resolve_depth("auto", longest) == max(4, 2 * longest)


# One network of each kind, with its own values replaced where it can be.
NETWORKS: dict[str, dict[str, Any]] = {
    "unbuffered": {"switch": "unbuffered", "dilation": 2, "broadcast": 1},
    "resubmission": {"switch": "unbuffered", "resubmit": 8, "routing": "xor", "replication": 2},
    "single-buffered": {"switch": "single-buffered", "refill": "no", "replication": 2},
    "input-queued": {
        **{"switch": "input-queued", "depth": 3, "broadcast": 1, "payload": 5},
        **{"dilation": 2},
    },
    "output-queued": {
        **{"switch": "output-queued", "wiring": "cube", "extra_stage": 1},
        **{"parity": "byte", "faults": "box:1:2"},
    },
    "wormhole": {"switch": "wormhole", "length": "1:4", "refill": "yes", "wiring": "omega"},
    "rejecting": {"switch": "wormhole", "policy": "drop", "length": "3"},
    "cut-through": {"switch": "cut-through", "queues": "crosspoint", "length": 5, "broadcast": 1},
    "store-and-forward": {"switch": "store-and-forward", "length": 2, "replication": 2},
    "circuit": {
        **{"switch": "circuit", "policy": "modified-hold", "hold_limit": 3, "radix": 4},
        **{"dilation": 2, "replication": 2},
    },
}
assert {parameters["switch"] for parameters in NETWORKS.values()} == set(SWITCH_NAMES)


@pytest.mark.parametrize("given", NETWORKS.values(), ids=NETWORKS)
def test_parameters_make_the_same_network_again(given: dict[str, Any]) -> None:
    """As values, by `altered`, and as words of the command line."""
    network = MultistageNetwork(16, **given)
    names = list(inspect.signature(MultistageNetwork).parameters)
    assert list(network.parameters) == names
    assert network.parameters.items() >= given.items()
    words = {k: str(v) for k, v in network.parameters.items() if k != "wiring"}
    for same in (network.altered(), build(network.parameters["wiring"], **words)):
        expected = {k: str(v) for k, v in network.parameters.items()}
        assert {k: str(v) for k, v in same.parameters.items()} == expected
        assert same.packet == network.packet
        assert same.fabric.cells == network.fabric.cells
        assert same.fabric.drivers == network.fabric.drivers


@pytest.mark.parametrize("given", NETWORKS.values(), ids=NETWORKS)
def test_altered_changes_what_it_is_told_to(given: dict[str, Any]) -> None:
    network = MultistageNetwork(16, **given)
    other = network.altered(payload=77)
    assert other.parameters == network.parameters | {"payload": 77}
    assert other.packet["payload"].width == 77
    assert network.parameters["payload"] == given.get("payload", 16)
    assert (other.ordered, other.drops, other.stages) == (
        network.ordered,
        network.drops,
        network.stages,
    )


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        ({"switch": "output-queued"}, True),
        ({"switch": "output-queued", "broadcast": 1}, True),
        ({"switch": "output-queued", "replication": 2}, False),
        ({"switch": "unbuffered", "dilation": 2}, True),
        ({"switch": "input-queued", "dilation": 2}, False),
        ({"switch": "output-queued", "dilation": 2}, False),
        ({"switch": "unbuffered", "resubmit": 2}, False),
        ({"switch": "wormhole", "policy": "drop"}, True),
        ({"switch": "circuit", "policy": "drop"}, True),
        # Both stages in use: a broadcast may go the other way than the packet before it.
        ({"extra_stage": 1, "faults": "box:1:0"}, True),
        ({"extra_stage": 1, "faults": "box:1:0", "broadcast": 1}, False),
        ({"extra_stage": 1, "faults": "box:0:0", "broadcast": 1}, True),
        ({"extra_stage": 1, "broadcast": 1}, True),
    ],
)
def test_order_is_promised_where_there_is_one_way(given: dict[str, Any], ordered: bool) -> None:
    assert MultistageNetwork(8, **given).ordered is ordered


def _list(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert exit_status("list", *options) == 0
    return capsys.readouterr().out


def test_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    """Every switch, parameter and word that a parameter can be, not cut anywhere."""
    arguments = {name: {*()} for name in inspect.signature(MultistageNetwork).parameters}
    arguments |= {
        "switch": set(SWITCH_NAMES),
        "policy": {"auto", "hold", "drop", "modified-hold"},
        "refill": {"auto", "yes", "no"},
        "queues": {"input", "crosspoint"},
        "memories": {"auto", "shared", "separate"},
        "parity": {"none", "packet", "byte"},
        "routing": {"destination", "xor", "difference"},
        "depth": {"auto"},
        "ports": {"auto"},
        "radix": {"AxBxC"},
        "resubmit": {"auto"},
        "length": {"LOW:HIGH"},
        "faults": {"FAULTS"},
        "arbiter": {*ARBITERS, "priority", "weighted"},
        "weights": {"WEIGHT:WEIGHT"},
    }
    networks = json.loads(_list(capsys, "--json"))["networks"]
    (cube,) = [network for network in networks if network["name"] == "cube"]
    listed = {row["name"]: set(row["choices"]) for row in cube["parameters"]}
    assert listed | {"wiring": set()} == arguments
    assert all(row["description"] for row in cube["parameters"])
    words = set(re.split(r"[^\w:-]+", _list(capsys, "cube")))
    assert words >= {*SWITCH_NAMES, *listed, *set.union(*arguments.values())}
    assert set(SWITCHES) == set(SWITCH_NAMES)


def test_a_box_is_a_cell_type() -> None:
    class Nothing(SwitchingMode):
        name = "nothing"

        def box(self, *_: Any) -> Any:
            return None

    with pytest.raises(TypeError, match=r"^Box of switch nothing must be a CellType, not None$"):
        build("cube", ports=2, switch=Nothing())
