"""The networks that the library can build, by name, and their parameters."""

import inspect
from dataclasses import dataclass, field, replace
from typing import Any

from ..combining import MERGES, OPERATION_SETS
from ..combining import POLICIES as COMBINE_POLICIES
from ..hypercube import FOLDS, LINKS, PRIORITIES, SCHEDULES
from ..interfaces.parity import PARITIES
from ..switches.circuit import POLICIES
from ..topology import multistage
from ..topology.hypercube_routing import HYPERCUBE_ROUTINGS
from ..topology.tags import ROUTINGS
from .combining import QUEUES as COMBINING_QUEUES
from .combining import CombiningNetwork
from .connection_machine import ConnectionMachine
from .dcsh import DCSHNetwork
from .hypercube import HypercubeNetwork
from .multistage import MultistageNetwork
from .network import Network
from .presets import PRESETS, Preset
from .stage_sequenced import StageSequencedNetwork
from .switching import QUEUES, REFILLS, SWITCHES
from .torus import TorusNetwork

__all__ = ["FAMILIES", "Family", "Parameter", "build", "find", "own_parameters"]


@dataclass(frozen=True)
class Parameter:
    """A word `name=value` of the command line.

    Attributes
    ----------
    name : str
    default : Any
    description : str
    choices : tuple[str, ...]
        Allowed words; one in capitals stands for words of a form that the network checks itself.
    number : bool
        Whether an integer is allowed too.
    """

    name: str
    default: Any
    description: str
    choices: tuple[str, ...] = ()
    number: bool = False

    @property
    def values(self) -> str:
        """What is allowed, in words."""
        return ", ".join((*(("integer",) if self.number else ()), *self.choices))

    def parse(self, text: str) -> Any:
        """The value that a text stands for.

        Raises
        ------
        ValueError
            If the text is no integer where one is needed, or is none of the choices.
        """
        if text in self.choices:
            return text
        if self.number:
            try:
                return int(text)
            except ValueError:
                pass
        if any(choice.isupper() for choice in self.choices):
            return text
        if self.number:
            other = "".join(f" or {choice}" for choice in self.choices)
            raise ValueError(f"Parameter {self.name} must be an integer{other}, not {text!r}")
        allowed = ", ".join(self.choices)
        raise ValueError(f"Parameter {self.name} must be one of {allowed}, not {text!r}")


@dataclass(frozen=True)
class Family:
    """Networks that differ only in parameters.

    Attributes
    ----------
    name : str
    description : str
    component : type[Network]
    fixed : dict[str, Any]
        Arguments of the component that make it this family.
    parameters : tuple[Parameter, ...]
        The arguments that are left to choose.
    aliases : tuple[str, ...]
    preset : Preset or None
        The machine whose network this is.
    example : dict[str, Any]
        What makes a small network of it, of 4 to 16 terminals, where defaults don't: for tests.
    """

    name: str
    description: str
    component: type[Network]
    fixed: dict[str, Any]
    parameters: tuple[Parameter, ...]
    aliases: tuple[str, ...] = ()
    preset: Preset | None = None
    example: dict[str, Any] = field(default_factory=dict)


_MULTISTAGE_PARAMETERS: dict[str, tuple[str, bool, tuple[str, ...]]] = {
    "ports": ("terminals, a power of the radix", True, ()),
    "radix": ("inputs and outputs of a box", True, ()),
    "switch": ("how a box switches", False, tuple(SWITCHES)),
    "depth": ("packets, or flits, that fit into each queue", True, ("auto",)),
    "payload": ("width of the payload in bits", True, ()),
    "routing": ("what the tag holds", False, ROUTINGS),
    "length": ("flits of a packet", True, ("LOW:HIGH",)),
    "policy": ("what becomes of a blocked packet or request", False, ("auto", *POLICIES)),
    "hold_limit": ("cycles until modified-hold drops a request", True, ()),
    "dilation": ("links in the place of each one between stages", True, ()),
    "replication": ("copies of the network", True, ()),
    "resubmit": ("longest delay until a dropped packet is sent again; 0: never", True, ("auto",)),
    "broadcast": ("1: packets carry a broadcast mask", True, ()),
    "refill": ("a slot freed in a cycle can be filled in it", False, REFILLS),
    "extra_stage": ("1: an Extra Stage Cube", True, ()),
    "parity": ("parity inside the network", False, ("none", *PARITIES)),
    "faults": ("what an Extra Stage Cube avoids: box:1:3, link:2:5", False, ("FAULTS",)),
    "queues": ("where a cut-through switch has its queues", False, QUEUES),
}
"""Of each parameter: its meaning, whether it can be an integer, and the words that it can be."""

_COMBINING_PARAMETERS: dict[str, tuple[str, bool, tuple[str, ...]]] = {
    "ports": ("processors, and memory modules: a power of the radix, over the paths", True, ()),
    "radix": ("inputs and outputs of a box", True, ()),
    "wiring": ("wiring plan", False, tuple(multistage.PLANS)),
    "combine": ("which requests for one word become one", False, tuple(COMBINE_POLICIES)),
    "depth": ("requests, at inputs words, that fit into each queue", True, ()),
    "wait": ("records in each wait buffer", True, ()),
    "merge": ("with how many others a queued request combines", False, MERGES),
    "width": ("width of a word of memory in bits", True, ()),
    "rows": ("words in each memory module", True, ()),
    "outstanding": ("requests that a processor may wait for", True, ()),
    "operations": ("what boxes and memories know", False, tuple(OPERATION_SETS)),
    "lengths": ("words of a load or reply, and of other requests", True, ("SHORT:LONG",)),
    "beats": ("cycles that a word takes on a link", True, ()),
    "queues": ("where a box has its queues", False, COMBINING_QUEUES),
    "delay": ("cycles of a box", True, ()),
    "paths": ("paths between two ports", True, ()),
}

_HYPERCUBE_PARAMETERS: dict[str, tuple[str, bool, tuple[str, ...]]] = {
    "n": ("dimension of the hypercube: it has 2^n nodes", True, ()),
    "routing": ("order of the dimensions", False, HYPERCUBE_ROUTINGS),
    "depth": ("flits that fit into each queue", True, ()),
    "payload": ("width of the payload in bits", True, ()),
    "length": ("flits of a packet", True, ("LOW:HIGH",)),
}

_TORUS_PARAMETERS: dict[str, tuple[str, bool, tuple[str, ...]]] = {
    "k": ("nodes in a dimension", True, ()),
    "n": ("dimensions: it has k^n terminals", True, ()),
    "channels": ("virtual channels a link; a torus with one can deadlock", True, ("auto",)),
    "decision": ("cycles that a router needs to send a header on", True, ()),
    "depth": ("flits that fit into each queue", True, ()),
    "payload": ("width of the payload in bits", True, ()),
    "length": ("flits of a packet", True, ("LOW:HIGH",)),
}

_CONNECTION_MACHINE_PARAMETERS: dict[str, tuple[str, bool, tuple[str, ...]]] = {
    "n": ("dimension of the hypercube: it has 2^n nodes", True, ()),
    "processors": ("terminals of a node, a power of two", True, ()),
    "buffers": ("packets that a node can store", True, ()),
    "payload": ("width of the payload in bits", True, ()),
    "schedule": ("whether one dimension is served in a step, or all", False, SCHEDULES),
    "priority": ("which packets are routed first, and referred last", False, PRIORITIES),
    "links": ("whether wires carry a packet in a cycle, or bit by bit", False, LINKS),
    "combine": ("what becomes of packets for one processor that meet", False, ("none", *FOLDS)),
    "age": ("width of a packet's step of birth in bits", True, ("auto",)),
}

_DCSH_PARAMETERS: dict[str, tuple[str, bool, tuple[str, ...]]] = {
    "k": ("nodes of a cluster", True, ()),
    "n": ("dimensions: there are k^n terminals", True, ()),
    "decision": ("cycles that a header is looked at in each multiplexer", True, ()),
    "depth": ("flits that fit into each queue", True, ()),
    "payload": ("width of the payload in bits", True, ()),
    "length": ("flits of a packet", True, ("LOW:HIGH",)),
    "broadcast": ("1: packets carry a broadcast mask", True, ()),
}


def _parameters(
    component: type[Network], described: dict[str, tuple[str, bool, tuple[str, ...]]]
) -> tuple[Parameter, ...]:
    defaults = inspect.signature(component).parameters
    return tuple(
        Parameter(word, defaults[word].default, text, choices, number)
        for word, (text, number, choices) in described.items()
    )


def _multistage(name: str, description: str) -> Family:
    return Family(
        name,
        description,
        MultistageNetwork,
        {"wiring": name},
        _parameters(MultistageNetwork, _MULTISTAGE_PARAMETERS),
        tuple(alias for alias, plan in multistage.ALIASES.items() if plan == name),
    )


def _of_preset(name: str, preset: Preset) -> Family:
    base = _NETWORKS[preset.family]
    parameters = tuple(
        replace(parameter, default=preset.defaults.get(parameter.name, parameter.default))
        for parameter in base.parameters
    )
    return Family(
        name,
        preset.description,
        base.component,
        base.fixed,
        parameters,
        preset=preset,
        example=preset.example,
    )


_NETWORKS: dict[str, Family] = {
    name: _multistage(name, description) for name, (_, description) in multistage.PLANS.items()
}
_NETWORKS["stage-sequenced"] = Family(
    "stage-sequenced",
    "one control a stage; a sequencer sets one permutation after the other",
    StageSequencedNetwork,
    {},
    (
        Parameter("ports", 32, "terminals, a power of two", (), True),
        Parameter("wiring", "flip", "wiring plan", tuple(multistage.PLANS)),
        Parameter("payload", 16, "width of the payload in bits", (), True),
    ),
    example={"ports": 8},
)

_NETWORKS["combining"] = Family(
    "combining",
    "processors and memory: boxes combine requests for one word, fetch-and-add in the switches",
    CombiningNetwork,
    {},
    _parameters(CombiningNetwork, _COMBINING_PARAMETERS),
    example={"ports": 4},
)

_NETWORKS["hypercube"] = Family(
    "hypercube",
    "wormhole routers in n dimensions; routing=ecube (dimensions in order), pcube or adaptive",
    HypercubeNetwork,
    {},
    _parameters(HypercubeNetwork, _HYPERCUBE_PARAMETERS),
    example={"n": 3},
)

for _name, _description, _fixed in (
    ("torus", "wormhole routers in n rings each, which go both ways; dimensions in order", {}),
    ("mesh", "a torus without wrap-around links", {"wrap": False}),
    ("ring", "a torus of uni-directional rings (n=1: a single ring)", {"directions": 1}),
):
    _NETWORKS[_name] = Family(
        _name,
        _description,
        TorusNetwork,
        _fixed,
        _parameters(TorusNetwork, _TORUS_PARAMETERS),
        example={"k": 3},
    )

_NETWORKS["connection-machine"] = Family(
    "connection-machine",
    "a hypercube whose routers inject, route, buffer, refer and deliver; 2^n nodes of processors",
    ConnectionMachine,
    {},
    _parameters(ConnectionMachine, _CONNECTION_MACHINE_PARAMETERS),
    example={"n": 3},
)

_NETWORKS["dcsh"] = Family(
    "dcsh",
    "hypermesh: each node owns a channel in each of its clusters, which all others there hear",
    DCSHNetwork,
    {},
    _parameters(DCSHNetwork, _DCSH_PARAMETERS),
    ("hypermesh",),
    example={"k": 3},
)

FAMILIES: dict[str, Family] = _NETWORKS | {
    name: _of_preset(name, preset) for name, preset in PRESETS.items()
}
"""All families by name, the presets last."""


def find(name: str) -> Family:
    """The family of a name or alias.

    Raises
    ------
    ValueError
        If there is none.
    """
    for family in FAMILIES.values():
        if name == family.name or name in family.aliases:
            return family
    raise ValueError(f"Network must be one of {', '.join(FAMILIES)}, not {name!r}")


def build(name: str, **parameters: str | int) -> Network:
    """A network from its name or alias, and parameters as values or as text.

    Raises
    ------
    TypeError, ValueError
        If there is no such network or parameter, or a value does not fit.
    """
    family = find(name)
    known = {parameter.name: parameter for parameter in family.parameters}
    values = {parameter.name: parameter.default for parameter in family.parameters}
    for word, value in parameters.items():
        if word not in known:
            allowed = ", ".join(known)
            raise ValueError(f"Parameter of {family.name} must be one of {allowed}, not {word!r}")
        values[word] = known[word].parse(value) if isinstance(value, str) else value
    network = family.component(**family.fixed, **values)
    network.family = family.name
    return network


def own_parameters(network: Network) -> dict[str, Any]:
    """The parameters with which `build` makes a network: those that its family takes."""
    if network.family not in FAMILIES:
        return network.parameters
    family = FAMILIES[network.family]
    return {known.name: network.parameters[known.name] for known in family.parameters}
