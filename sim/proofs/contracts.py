"""Contracts of cells: what is proved of each module of a network, for its parameters, and how."""

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ...hdl.boxes.combining import CombiningBox
from ...hdl.fabric.cell import Cell, CellType
from ...hdl.fabric.digest import digest
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.channel_model import FAIR
from ...hdl.routers.credit_link import CreditLink
from ...hdl.routers.route_table import RouteTable
from ...hdl.switch.output_queued import OutputQueued
from ...hdl.switch.pipelined import Pipelined
from ...hdl.switch.route import DigitRoute
from ...hdl.switch.routed_switch import RoutedSwitch
from ...hdl.switch.switch import Switch
from ...hdl.terminals.memory_module import MemoryModule
from ..engines.compiled.build import kept
from ..synthesis.tools import need_tools
from .combining_contract import place_claims
from .combining_values import value_claims
from .memory_contract import memory_claims
from .output_queue_contract import output_queue_claims
from .pipeline_contract import stage_claims
from .prover import SCRIPTS, Unproved, prove_for_ever, prove_inductive
from .queue_contract import queue_claims
from .switch_contract import crossing_claims

__all__ = [
    "OF_MEMORY",
    "OF_PACKETS",
    "check_contracts",
    "contract_of",
    "contracts_of",
    "module_blocks",
]

OF_PACKETS = (RouteTable, CreditLink, RoutedSwitch)
"""Kinds of cells of a network of packets of which there are contracts."""

OF_MEMORY = (CombiningBox, MemoryModule)
"""Those of a network with memory."""

_ROUND = 4
"""Most cycles that a word and its credit are on their way between two switches in stages: a cycle
each in the stage, into the queue, into `freed`, and into the sender's count."""

Prover = Callable[[str, str, float], float]

_METHODS: dict[str, tuple[str, Prover]] = {
    "crossing": ("property directed reachability, the queues' memories cut", prove_for_ever),
    "queues": (
        "induction over 3 cycles",
        lambda text, top, limit: prove_inductive(text, top, 3, limit),
    ),
}

for _what in ("output queues", "stages", "places", "values", "words"):
    _METHODS[_what] = _METHODS["queues"]

_SAYS = {
    "output queues": "a word enters the queue that its route names, if there is a place; it is "
    "shown when those before it have left, as it came; one that waits lets at most as many words "
    "go first as there are other inputs",
    "crossing": "an output shows only the first word of a queue, unchanged, where its header's "
    "route goes; a word leaves by one output, and one that is accepted is in the queue; the words "
    "of packets do not mix; a word whose output is free leaves in turn; a header lets at most one "
    "packet of each other input go first, and takes one of several outputs after as many cycles in "
    "which one was free as there are others to be granted it",
    "stages": "what leaves a queue is shown in the next cycle, unchanged, at the one output of its "
    "header's route, and nothing else is; the words of packets do not mix; no more are sent than "
    "there are places behind, and a place is given back when its word has left; a word whose "
    "output has room leaves in turn; a header lets at most one packet of each other input go first",
    "queues": "a word is shown when those before it have left, as it came",
    "places": "a request is in one queue, record or queue of replies, or behind the box, until it "
    "is answered, once; a record goes before the reply to the request that went on; what is shown "
    "stays; inputs have a queue's places in turn, and a reply for which there is room gets on",
    "values": "a request is its queue's last, as it came, or goes on as one with the last for its "
    "word, which does to any value what they do in order; its reply is that which came, or what "
    "the first makes of that",
    "words": "requests are performed one at a time, as they are taken, and each is answered once "
    "by the value before it",
}


def module_blocks(verilog: str) -> dict[str, str]:
    """The text of each module, by its name."""
    found = re.finditer(r"^module (\w+) \(.*?^endmodule$", verilog, re.MULTILINE | re.DOTALL)
    return {each[1]: each[0] for each in found}


def digest_of(name: str, blocks: Mapping[str, str]) -> str:
    """The SHA-256 of a module and of those in it, whatever their names begin with."""
    text = "\n".join([blocks[name], *_inside(name, blocks)])
    return hashlib.sha256(text.encode()).hexdigest()


def _inside(name: str, blocks: Mapping[str, str]) -> list[str]:
    """The Verilog of the multiplexers in a module."""
    inside = re.findall(r"^  (\w+_multiplexer_\w+) ", blocks[name], re.MULTILINE)
    return [blocks[one] for one in sorted(set(inside))]


def contracts_of(
    cells: Mapping[str, Cell],
    top: str,
    blocks: Mapping[str, str],
    limit: float,
    step: Callable[[str], None],
) -> tuple[dict[str, Any], dict[str, str]]:
    """The contract of each module of a network, and the module of each cell."""
    module_of = {}
    for line in blocks[top].splitlines():
        words = line.split()
        if len(words) == 3 and words[2] == "(" and words[0] in blocks and words[1] in cells:
            module_of[words[1]] = words[0]
    contracts: dict[str, Any] = {}
    for cell, module in module_of.items():
        if module in contracts:
            continue
        contracts[module] = one = contract_of(cells[cell].type, module, blocks, limit=limit)
        if one["kind"] != "table":
            how = one.get("unproved", "proved for ever")
            step(f"contract of {module}: {how}")
    return contracts, module_of


def check_contracts(types: Iterable[CellType], kinds: tuple[type, ...]) -> None:
    """Check that all types of cells are of these kinds.

    Raises
    ------
    ValueError
        If one is of another: there is no contract of it, or of it and the others.
    """
    for type_ in types:
        if not issubclass(type_.component, kinds):
            raise InvalidValue(f"There is no contract of cells of this kind: {type_.name}")
        component = type_.build()
        if isinstance(component, RoutedSwitch) and component.shape.lanes > 1:
            raise InvalidValue(f"There is no contract of bundles of links: {type_.name}")


def contract_of(
    type_: CellType, name: str, blocks: Mapping[str, str], *, limit: float
) -> dict[str, Any]:
    """The contract of a module as data, with the proofs of its claims.

    Parameters
    ----------
    type_ : CellType
    name : str
        Of the module.
    blocks : Mapping[str, str]
        As `module_blocks`.
    limit : float
        Seconds after which a proof is given up; 0 if none is tried.
    """
    component = type_.build()
    record: dict[str, Any] = {
        "component": type_.component.__name__,
        "sha256": digest_of(name, blocks),
    }
    if isinstance(component, RouteTable):
        return {**record, "kind": "table", "proofs": []}
    if isinstance(component, CreditLink):
        about = {
            "kind": "link",
            "inputs": component.channels,
            "depth": component.depth,
            "ports": _link_ports(component),
        }
        return {**record, **about, "proofs": [], "unproved": "no proof for these parameters"}
    if isinstance(component, CombiningBox):
        record |= {"kind": "box", "ports": component.radix, "tag": component.link.tag}
        record["combines"] = component.combines
    elif isinstance(component, MemoryModule):
        record |= {"kind": "memory", "rows": component.rows}
    else:
        record |= _switch(component)
    rest = _inside(name, blocks)
    claims = _claims(component, blocks[name]) if limit else "no proof was tried"
    record["claims"] = [*claims] if isinstance(claims, dict) else ["none"]
    record["proofs"] = []
    if isinstance(claims, str):
        record["unproved"] = claims
        return record
    for what, text in claims.items():
        proof = _proved(what, "\n".join([text, *rest]), name, limit)
        record["proofs"].append(proof)
        if proof["cycles"] != "for ever":
            record["unproved"] = f"{what}: {proof.get('because')}"
    return record


def _claims(component: Any, text: str) -> dict[str, str] | str:
    """The claims to be proved, in the text of the module; or why there are none."""
    plain = True
    if isinstance(component, OutputQueued):
        plain = not component.packet.sized
    elif isinstance(component, Switch):
        plain = component.groups is None and not component.grant.timeout and not component.ahead
        plain = plain and component.grant.selection == "first-free"
        plain = plain and (not component.shape.choice or component.grant.arbiter in FAIR)
        plain = plain and not component.entry.store
    elif isinstance(component, Pipelined):
        plain = _in_stages(component)
    if not plain or (isinstance(component, RoutedSwitch) and component.packet.broadcast):
        return "no proof for these options of the switch"
    for kind, claims in _CLAIMS.items():
        if isinstance(component, kind):
            try:
                return {what: write(component, text) for what, write in claims.items()}
            except InvalidValue as error:
                return str(error)
    return f"no proof of {type(component).__name__} for these parameters"


def _in_stages(component: Pipelined) -> bool:
    """Whether the stages of a switch have a proof (`stage_claims`)."""
    guarded = component.shape.guarded_outputs(component.switching)
    plain = component.pipeline == 1 and component.packet.flits and not guarded
    return plain and component.arbiter == "round-robin"


_CLAIMS: dict[type, dict[str, Callable[[Any, str], str]]] = {
    OutputQueued: {"output queues": output_queue_claims},
    Switch: {"crossing": crossing_claims, "queues": queue_claims},
    Pipelined: {"stages": stage_claims, "queues": queue_claims},
    CombiningBox: {"places": place_claims, "values": value_claims},
    MemoryModule: {"words": memory_claims},
}


def _proved(what: str, text: str, top: str, limit: float) -> dict[str, Any]:
    """The record of a proof: found before by the same tools, or now."""
    how, prove = _METHODS[what]
    problem = hashlib.sha256(f"{how}\n{text.replace(top, 'top')}".encode()).hexdigest()
    record = {"claims": what, "says": _SAYS[what], "how": how, "problem": problem}

    def make(work: Path) -> Path:
        began = time.monotonic()
        cycles = prove(text, top, limit)
        found: dict[str, Any] = {"cycles": "for ever" if math.isinf(cycles) else cycles}
        found["seconds"] = round(time.monotonic() - began, 1)
        made = work / "proof.json"
        made.write_text(json.dumps(found), "utf-8")
        return made

    try:
        stored = kept(digest(problem, SCRIPTS, need_tools()), ".json", make)
    except Unproved as error:
        return {**record, "cycles": 0, "because": str(error)}
    return {**record, **json.loads(stored.read_text("utf-8"))}


def _switch(component: RoutedSwitch) -> dict[str, Any]:
    """What the composition needs of a switch."""
    shape = component.shape
    entry, logic = component.entry, component.logic
    before = isinstance(component, OutputQueued)
    decision = component.grant.decision if isinstance(component, Switch) else 1
    arbiter = "round-robin"
    if isinstance(component, Switch):
        arbiter = component.grant.arbiter
    elif isinstance(component, Pipelined):
        arbiter = component.arbiter
    stages = component.pipeline if isinstance(component, Pipelined) else 0
    links = {j: link for link in shape.links for j in link}
    # In stages an output is passed on to another input in a cycle.
    handed, sent = (1, _ROUND) if stages else (0, 0)
    outputs: list[dict[str, Any]] = [
        {
            "inputs": list(output.inputs),
            "terminal": output.is_terminal,
            "wires": (1 if before else len(links[j]))
            + (0 if output.is_terminal else decision - 1 + sent)
            + handed,
        }
        for j, output in enumerate(shape.outputs)
    ]
    route: dict[str, Any] = {"by": "table"}
    if isinstance(logic, DigitRoute):
        route = {"by": "digit", "bits": logic.rotates, "outputs": logic.outputs}
        route["routing"] = logic.routing
        # Some of them may be channels of one link. The port of a terminal is -1 less its digit.
        route["inputs"] = [one.end[0] for one in shape.inputs]
        route["digits"] = [max(one.end[0], -1 - one.end[0]) for one in shape.outputs]
    elif logic is not None:
        route = {"by": "gates"}
    timed = isinstance(component, Switch) or not shape.choice
    if isinstance(component, Pipelined):
        timed = _in_stages(component) and bool(component.credited)
    return {
        "kind": "switch",
        "queue": "output" if before else "input",
        "depth": entry.depth,
        "inputs": len(shape.inputs),
        "outputs": outputs,
        "fair": arbiter in FAIR,
        "timed": timed,
        "stages": stages,
        "choice": shape.choice,
        # A channel that is no escape channel is taken at once, but has the wires in turn.
        "tries": decision + max(output["wires"] for output in outputs),
        "equal": shape.equal_choices,
        "route": route,
        "ports": _side_ports(component),
    }


def _side_ports(component: RoutedSwitch) -> dict[str, list[Any]]:
    """Ports beside the streams, and of which stream they tell: `open` and `credit` of an output
    come from `space`, `open` or `freed` of the input behind it."""
    ports: dict[str, list[Any]] = {}
    shape = component.shape
    if isinstance(component, Switch):
        for n, j in enumerate(component.guarded_outputs):
            ports[f"open__{n}"] = ["open", "o", j]
        for n, i in enumerate(component.guarded_inputs):
            ports[f"space__{n}"] = ["open", "i", i]
    if isinstance(component, Pipelined):
        for n, j in enumerate(component.credited):
            ports[f"credit__{n}"] = ["credit", "o", j]
    for n, i in enumerate(shape.credited_inputs):
        ports[f"freed__{n}"] = ["credit", "i", i]
    return ports


def _link_ports(link: CreditLink) -> dict[str, list[Any]]:
    ports: dict[str, list[Any]] = {f"freed__{c}": ["credit", "o", c] for c in range(link.channels)}
    for n, c in enumerate(link.guarded):
        ports[f"open__{n}"] = ["open", "i", c]
    return ports
