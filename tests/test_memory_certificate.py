"""Certificates of networks between processors and memory: each word has a serial order."""

import hashlib
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from claims import needs_yosys
from command_line import exit_status
from long_runs import long
from multicube.hdl import CombiningNetwork, build
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.networks.memory_network import MemoryNetwork
from multicube.hdl.networks.packet_network import PacketNetwork
from multicube.hdl.operations.memory import find_operation
from multicube.sim.proofs.certificate import certificate
from multicube.sim.proofs.combining_contract import place_claims
from multicube.sim.proofs.combining_values import value_claims
from multicube.sim.proofs.contracts import contract_of, module_blocks
from multicube.sim.proofs.prover import Unproved, prove_for_ever

TOOLS = Path(__file__).parents[1] / "tools"
CUBE = "combining ports=4 depth=2 wait=1 width=4 rows=2 outstanding=2"


Verdict = Callable[[dict[str, Any], str], str | None]


@pytest.fixture(scope="module")
def verdict() -> Iterator[Verdict]:
    """Why a certificate is void, with its Verilog; or None."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        common = importlib.import_module("check_certificate")
        check = importlib.import_module("check_memory_certificate").check

        def found(cert: dict[str, Any], verilog: str) -> str | None:
            why: str | None = common.verdict(cert, verilog, check)
            return why

        yield found


def small(ports: int = 2, **given: Any) -> CombiningNetwork:
    """A network of one box, with loads, stores and fetch-and-adds of two bits."""
    operations = tuple(map(find_operation, ("load", "store", "fetch-and-add")))
    kept = {"depth": 2, "wait": 1, "rows": 2, "outstanding": 2, "width": 2}
    return CombiningNetwork(ports, operations=operations, **(kept | given))


@cache
def unproved(words: str) -> tuple[str, str]:
    network = build(words)
    assert isinstance(network, MemoryNetwork)
    return json.dumps(certificate(network, limit=0)), verilog_text(network, "network")


@pytest.mark.parametrize(
    "words",
    [
        CUBE,
        long("combining ports=4 combine=none"),
        long("combining ports=16 radix=4"),
        long("combining ports=4 paths=2"),
        long("combining ports=64"),
    ],
)
def test_serial_orders_compose(verdict: Verdict, words: str) -> None:
    text, verilog = unproved(words)
    cert = json.loads(text)
    assert verdict(cert, verilog) is None
    assert cert["conditions"] == ["network_combining_box", "network_memory_module"]


VERILOG: dict[str, tuple[str, str]] = {
    "reply_of_another_box": (r"(\.o__0__reply__payload\(box_1_)0", r"\g<1>1"),
    "reply_is_taken_by_another": (r"(\.i__0__reply__ready\(box_0_)0", r"\g<1>1"),
    "requests_are_lost": (r"(\.o__0__request__ready\()box_1_0__i__0__request__ready", r"\g<1>1'd1"),
    "processors_are_swapped": (r"(\.i__0__request__payload\(i__)0", r"\g<1>1"),
    "words_of_two_modules_combine": (r"(\.later\(2'd)1", r"\g<1>0"),
    "memories_are_swapped": (r"(\.i__request__valid\(box_1_0__o__)0", r"\g<1>1"),
    "a_strap_is_open": (r"(\.later\()2'd1", r"\1"),
    "a_memory_is_deaf": (r"(\.i__request__valid\()box_1_0__o__0__request__valid", r"\g<1>1'd0"),
    "a_gate_is_another": (r"(?m)^(  assign requests_0__found_0 = .*) & ", r"\1 | "),
}


@pytest.mark.parametrize("name", VERILOG)
def test_other_hardware_voids_the_certificate(verdict: Verdict, name: str) -> None:
    text, verilog = unproved(CUBE)
    changed, count = re.subn(*VERILOG[name], verilog, count=1)
    assert count, "the bug does not apply"
    cert = json.loads(text)
    cert["sha256"] = hashlib.sha256(changed.encode()).hexdigest()
    assert verdict(cert, changed) is not None


FALSE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another_file": lambda c: c.update(sha256="0" * 64),
    "an_open_condition": lambda c: c["conditions"].clear(),
    "two_modules_have_one_tag": lambda c: c["tags"].__setitem__(0, c["tags"][1]),
    "a_module_is_left_out": lambda c: c["tags"].pop(),
    "a_path_leads_elsewhere": lambda c: c["tags"][0].append(3),
    "a_processor_is_left_out": lambda c: c.update(processors=3),
    "no_contract": lambda c: c["contracts"].clear(),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_certificate_is_void(verdict: Verdict, name: str) -> None:
    text, verilog = unproved(CUBE)
    cert = json.loads(text)
    FALSE[name](cert)
    assert verdict(cert, verilog) is not None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("combining ports=4 hashing=polynomial", "address_hasher"),
        ("dcsh k=4 n=2", "dcshrouter"),
        ("deflection k=4", "deflection_router"),
    ],
)
def test_cells_without_a_contract_have_no_certificate(text: str, kind: str) -> None:
    """It is refused before the Verilog is written, which takes long."""
    network, steps = build(text), list[str]()
    assert isinstance(network, MemoryNetwork | PacketNetwork)
    with pytest.raises(InvalidValue, match=f"^There is no contract of cells of this kind: {kind}$"):
        certificate(network, limit=0, tell=steps.append)
    assert steps == []


@pytest.mark.long
def test_the_command_writes_a_certificate_that_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cert, verilog = tmp_path / "net.json", tmp_path / "net.v"
    assert exit_status("prove", *CUBE.split(), "-o", str(cert)) == 0
    assert "with the value of a serial order of its word" in capsys.readouterr().out
    checks = [sys.executable, str(TOOLS / "check_memory_certificate.py"), str(cert), str(verilog)]
    done = subprocess.run(checks, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(
        "holds: each request is answered once, with the value of a serial"
    )


# The contracts of the modules.


def failing(network: CombiningNetwork, cell: str, verilog: str) -> list[str]:
    """The claims about the module of a cell that are not proved."""
    kind = network.fabric.cells[cell].type
    name = "network_memory_module" if cell == "memory_0" else "network_combining_box"
    about = contract_of(kind, name, module_blocks(verilog), limit=600)
    return [one["claims"] for one in about["proofs"] if one["cycles"] != "for ever"]


@needs_yosys
@pytest.mark.parametrize(
    "given",
    [
        long({}),
        long({"merge": "unlimited"}),
        long({"depth": 3, "wait": 2}),
        long({"depth": 4, "width": 4}),
        long({"ports": 4, "radix": 4, "width": 1}),
    ],
)
def test_boxes_keep_their_contract(given: dict[str, Any]) -> None:
    network = small(**given)
    assert failing(network, "box_0_0", verilog_text(network, "network")) == []


@needs_yosys
def test_memory_modules_keep_their_contract() -> None:
    network = small()
    assert failing(network, "memory_0", verilog_text(network, "network")) == []


BROKEN: dict[str, tuple[str, str, str, str]] = {
    # The cell, the claims that fail, what is replaced and by what.
    "another_row": ("memory_0", "words", r"words\[(current\[\d\])\] <=", r"words[~\1] <="),
    "an_operand_is_forgotten": (
        "box_0_0",
        "values",
        r"(wait_1_0__records\[1'h0\] <= \{ [^,]*, )record_\d+_operand",
        r"\g<1>2'h0",
    ),
    "another_name_is_kept": (
        "box_0_0",
        "places",
        r"(wait_0_0__records\[1'h0\] <= \{ )(i__0__request__payload\[1\])",
        r"\1~\2",
    ),
    "a_record_is_lost": (
        "box_0_0",
        "places",
        r"(assign take = \(o__0__reply__valid & hit\)) & \w+",
        r"\1",
    ),
    "another_key": ("box_0_0", "places", r"(else if \(store\) wait_0_0__key_0 <= )key", r"\1~key"),
    "two_words_combine": (
        "box_0_0",
        "values",
        r"requests_0__address_1 == i__0__request__payload\[2\]",
        "1'b1",
    ),
    "another_sum_goes_on": (
        "box_0_0",
        "values",
        r"(= requests_0__found_work_0\[3:2\]) \+ ",
        r"\1 - ",
    ),
    "another_sum_comes_back": ("box_0_0", "values", r"(assign result_part\w* = .*) \+ ", r"\1 - "),
}


@pytest.mark.long
@needs_yosys
@pytest.mark.parametrize("name", [name if name == "another_row" else long(name) for name in BROKEN])
def test_a_broken_module_breaks_its_contract(name: str) -> None:
    cell, claims, old, new = BROKEN[name]
    network = small()
    blocks = module_blocks(verilog_text(network, "network"))
    module = "network_memory_module" if cell == "memory_0" else "network_combining_box"
    blocks[module], count = re.subn(old, new, blocks[module], count=1)
    assert count, "the bug does not apply"
    assert claims in failing(network, cell, "\n".join(blocks.values()))


@needs_yosys
@pytest.mark.long
@pytest.mark.parametrize("write", [place_claims, value_claims])
def test_what_is_assumed_lets_requests_combine_and_be_answered(
    write: Callable[[Any, str], str],
) -> None:
    """So the proofs are not about nothing: with one claim more, that fewer are answered than sent
    to the memory, a run is found that breaks it."""
    network = small()
    box = network.box.build()
    text = module_blocks(verilog_text(network, "network"))["network_combining_box"]
    claimed = re.sub(r"assert \(", "assert (1'b1 | ", write(box, text))
    more = """
  reg [3:0] sent = 0, got = 0;
  always @(posedge clk) if (began) begin
    sent <= sent + (o__0__request__valid & o__0__request__ready);
    got <= got + (i__0__reply__valid & i__0__reply__ready)
      + (i__1__reply__valid & i__1__reply__ready);
  end
  always @* assert (!began | got <= sent);
endmodule"""
    with pytest.raises(Unproved, match="breaks a claim"):
        prove_for_ever(claimed.rpartition("endmodule")[0] + more, "network_combining_box", 100)


@pytest.mark.long
@needs_yosys
def test_a_name_that_is_not_in_the_module_is_no_wire() -> None:
    network = small()
    text = module_blocks(verilog_text(network, "network"))["network_combining_box"]
    renamed = place_claims(network.box.build(), text.replace("replies_0__level", "other"))
    with pytest.raises(Unproved, match="can't read the claims"):
        prove_for_ever(renamed, "network_combining_box", 60)
