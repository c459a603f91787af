# amaranth: UnusedElaboratable=no
"""A small one of each component: a row has its parameters.

Whatever holds of all components is tested with these, in `test_components.py`; a new one needs a
row here. What each does is in the test files of its room, and what is proved, in `proof_table`.
"""

from typing import Any

from amaranth.lib import data
from multicube.hdl.bench.replying_terminal import ReplyingTerminal
from multicube.hdl.bench.stamp import Stamp
from multicube.hdl.computer.message_end import message_payload
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.families.connection_machine.message import Message
from multicube.hdl.families.dcsh.dcsh_graph import DCSH
from multicube.hdl.families.single_stage.single_stage_graph import ManYo
from multicube.hdl.graphs.address_codes import AddressCode
from multicube.hdl.graphs.mask_rule import MaskRule
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.links.packet import Packet
from multicube.hdl.operations.combining_rules import Rules
from multicube.hdl.operations.folds import Fold
from multicube.hdl.operations.memory import OPERATIONS
from multicube.hdl.switch.entry import InputQueue, OutputQueue
from multicube.hdl.switch.exit import Exit
from multicube.hdl.switch.grant import Grant
from multicube.hdl.switch.merge import Groups
from multicube.hdl.switch.shape import InputChannel, OutputChannel, RouterShape
from multicube.hdl.terminals.bus_words import WordMap
from multicube.hdl.terminals.remote_memory import reply_payload, request_payload
from proof_table import components

FLITS, WORDS, ROUTED = Packet(2, 8, flits=True), Packet(2, 8), Packet(4, 8)
LONG = Packet(2, 8, length=4)
GROUPED = Packet(2, 8, flits=True, groups=True)
TAGS = multistage_plan("omega", 4).tags("destination")
STAMPED = Packet(TAGS.code.width, Stamp(TAGS.code.width))
NUMBERED = Packet(TAGS.code.width, Stamp(TAGS.code.width, message=8))
FILLED = Packet(TAGS.code.width, Stamp(TAGS.code.width, message=8, word=8))
LINK = MemoryLink(tag=2, identity=2, address=4, width=32)
MAP = WordMap((1, 2), 16, 2)
REQUESTS, REPLIES = Packet(2, request_payload(LINK)), Packet(2, reply_payload(LINK))
REMOTE = {"link": LINK, "tags": TAGS, "queued": True}
MESSAGE = Message(2, 1, 4, 8)
DCSH_2 = DCSH(2, 2)
ADD = Fold("add", 8)
SHAPE = RouterShape(
    (InputChannel((0, 0)), InputChannel((0, 1)), InputChannel((-1, 0))),
    (
        OutputChannel((0, 0), (0, 2)),
        OutputChannel((0, 1), (0, 1, 2)),
        OutputChannel((-1, 0), (0, 1, 2)),
    ),
)
PLAIN = RouterShape(
    (InputChannel((0, 0)), InputChannel((-1, 0))),
    (OutputChannel((0, 0), (0, 1)), OutputChannel((-1, 0), (0, 1))),
)
CHOICE = RouterShape(
    (InputChannel((0, 0)), InputChannel((-1, 0))),
    (
        OutputChannel((0, 0), (0, 1), False),
        OutputChannel((1, 0), (0, 1), False),
        OutputChannel((0, 1), (0, 1), True),
        OutputChannel((-1, 0), (0, 1)),
    ),
    choice=True,
)

PARAMETERS: dict[str, dict[str, Any]] = {
    # primitives
    "ArrivalQueue": {"shape": 8, "writers": 2, "depth": 3},
    "InterchangeBox": {"radix": 2, "shape": 8},
    "JointArbiter": {"radix": 3},
    "LaneQueue": {"shape": 8, "writers": 3, "lanes": 2, "depth": 2},
    "LinkEnd": {"shape": 8},
    "CodedMultiplexer": {"count": 4, "width": 8},
    "QuickMultiplexer": {"count": 8, "width": 5},
    "TreeMultiplexer": {"count": 9, "width": 8},
    "OutputBuffer": {"shape": 8, "depth": 2},
    "Pacer": {"link": LINK, "direction": "request", "lengths": (1, 2)},
    "RandomBits": {"width": 5},
    "RandomOrder": {"count": 3},
    "ReplayQueue": {"shape": 8, "depth": 3},
    "RequestQueue": {"shape": 8, "outputs": 3, "depth": 3},
    "RoundRobin": {"count": 3},
    "TagEncoder": {"scheme": TAGS},
    "TagDecoder": {"scheme": TAGS},
    "WordBuffer": {"link": LINK, "direction": "reply", "lengths": (1, 2), "depth": 4},
    "Xoroshiro128": {},
    # boxes
    "CircuitBox": {"packet": WORDS, "reply": 4, "radix": 2, "policy": "modified-hold"},
    "CircuitDistributor": {"packet": WORDS, "copies": 2},
    "CircuitMerger": {"packet": WORDS, "copies": 2},
    "CombiningBox": {"link": LINK},
    "CombiningRouter": {"link": LINK, "shape": PLAIN, "module": 1},
    "InputBufferedBox": {"link": LINK},
    "CombiningQueue": {
        "link": LINK,
        "rules": Rules(OPERATIONS),
        "writers": 2,
        "depth": 3,
        "pairwise": True,
    },
    "WaitBuffer": {"key": 3, "record": 8, "size": 3},
    "OutputQueuedSwitch": {"packet": WORDS, "radix": 2, "depth": 3},
    "InputQueuedSwitch": {"packet": WORDS, "radix": 2, "depth": 3},
    "PipelinedSwitch": {"packet": WORDS, "radix": 2, "depth": 3, "pipeline": 1},
    "PipelinedFlitSwitch": {"packet": FLITS, "radix": 2, "depth": 3, "pipeline": 1},
    "RejectingWormholeSwitch": {"packet": FLITS, "radix": 2},
    "UnbufferedSwitch": {"packet": WORDS, "radix": 2, "reject": 1},
    "WormholeSwitch": {"packet": FLITS, "radix": 2, "depth": 3},
    "CutThroughSwitch": {"packet": FLITS, "radix": 2, "depth": 3, "length": 3},
    # switch
    "CopyTracker": {"radix": 3},
    "ReplicatingQueue": {"packet": FLITS, "readers": 2, "depth": 3},
    "OutputQueued": {
        "packet": LONG,
        "shape": CHOICE,
        "route": None,
        "entry": OutputQueue(3),
        "selection": "random",
    },
    "Merge": {
        "packet": GROUPED,
        "inputs": 3,
        "outputs": 2,
        "groups": Groups(2, "add", 3),
        "lane": 2,
    },
    "OutputOwners": {"shape": SHAPE, "arbiter": "round-robin"},
    "Pipelined": {
        "packet": WORDS,
        "shape": PLAIN,
        "route": None,
        "entry": InputQueue(3),
        "pipeline": 2,
    },
    "RouteStage": {"packet": FLITS, "exits": SHAPE.outputs},
    "Selector": {"shape": CHOICE, "selection": "random"},
    "Switch": {
        "packet": FLITS,
        "shape": SHAPE,
        "route": None,
        "entry": InputQueue(3),
        "grant": Grant(arbiter="random", decision=2),
        "exit": Exit(buffer=1),
    },
    "SplitQueue": {"packet": FLITS, "depth": 3},
    "Traversal": {"packet": FLITS, "shape": SHAPE, "depth": 3, "needed": {}},
    # routers
    "ClusterChannel": {"packet": FLITS, "plan": DCSH_2},
    "ClusterMultiplexer": {"packet": FLITS, "inputs": 2, "depth": 2},
    "CommunicationController": {"word": 8, "links": 3},
    "SilentLane": {"word": 8},
    "Buffer": {"message": MESSAGE, "buffers": 2, "arrivals": 2, "injections": 1},
    "Combine": {"fold": ADD, "message": MESSAGE, "places": 3},
    "Deliver": {"packet": Packet(3, 8), "message": MESSAGE, "places": 3, "processors": 2},
    "Inject": {"packet": Packet(3, 8), "message": MESSAGE, "processors": 2, "buffers": 2},
    "HypercubeNode": {"packet": Packet(3, 8), "dimensions": 2, "processors": 2, "buffers": 2},
    "PayloadPart": {"cycles": 4, "dimensions": 2, "buffers": 2, "processors": 2, "payload": 8},
    "Refer": {"places": 3, "wires": 2},
    "Route": {"places": 3, "wires": 2},
    "Seniority": {"message": MESSAGE, "places": 3},
    "Wires": {"message": MESSAGE, "dimensions": 2, "shared": False, "serial": True},
    "CreditLink": {"packet": FLITS, "channels": 2, "latency": 3, "depth": 3},
    "DCSHRouter": {"packet": FLITS, "plan": DCSH_2, "depth": 2},
    "DeflectionRouter": {"packet": ROUTED, "digit": 2},
    "RandomDetour": {"packet": FLITS, "terminals": 4},
    "LeastDelayDetour": {
        "packet": FLITS,
        "terminals": 4,
        "links": ((0,), (1,)),
        "depth": 1,
        "hops": 1,
        "direct": (1, 1, 1, 1),
        "detour": (1, 1, 1, 1),
        "onward": (1,) * 16,
    },
    "DetourEnd": {"packet": FLITS},
    "PacketRouter": {"packet": LONG, "shape": PLAIN, "depth": 4},
    "PipelinedRouter": {"packet": FLITS, "shape": SHAPE, "depth": 3, "pipeline": 1},
    "GroupTable": {
        "groups": Groups(2, "add"),
        "inputs": 3,
        "outputs": 2,
        "copies": (1, 3),
        "merges": (0b01_10_011, 0b10_01_111),
    },
    "RouteTable": {
        "tag": 2,
        "outputs": 3,
        "readers": (0, 0),
        "via": (None, 0),
        "rows_0": (1, 2, 4, 1),
        "via_0": (0, 2, 4, 1),
    },
    "WormRouter": {"packet": FLITS, "shape": SHAPE, "depth": 3},
    # terminals
    "AddressHasher": {"link": LINK, "columns": (1, 2, 3, 1)},
    "AxiTarget": {"link": LINK, "words": MAP, "data": 32},
    "AxiStreamInput": {"packet": FLITS, "tags": TAGS},
    "AxiStreamOutput": {"packet": FLITS, "tags": TAGS},
    "CircuitParityChecker": {"packet": Packet(2, 8, flits=True), "length": 3},
    "CircuitInitiator": {"packet": WORDS, "delay": 2},
    "CircuitResponder": {"packet": WORDS, "tags": TAGS},
    "ClockCrossing": {"shape": 8, "depth": 4},
    "CombiningEnd": {"link": LINK, "way": 2},
    "LoopPartitionInterface": {"packet": FLITS, "plan": ManYo(2)},
    "MaskGuard": {"width": 3, "rule": MaskRule(0b101, 0b111, 0b001)},
    "MemoryModule": {"link": LINK, "rows": 16},
    "MemoryPartitionInterface": {"link": LINK, "places": (0, 1), "width": 2},
    "ProcessorEnd": {"link": LINK, "tags": TAGS, "lengths": (1, 2, 3)},
    "MemoryEnd": {"link": LINK, "tags": TAGS},
    "OrderedRequests": {"link": LINK, "words": MAP, "note": data.StructLayout({"one": 1})},
    "RequestsByIdentity": {
        "link": LINK,
        "words": MAP,
        "note": data.StructLayout({"id": 2, "last": 1}),
    },
    "ParityGenerator": {"packet": WORDS},
    "ParityChecker": {"packet": WORDS},
    "PartitionInterface": {"packet": FLITS, "tags": TAGS},
    "RemoteProcessorEnd": {**REMOTE, "sent": REQUESTS, "received": REPLIES},
    "RemoteMemoryEnd": {**REMOTE, "sent": REPLIES, "received": REQUESTS},
    "Distributor": {"packet": WORDS, "copies": 2},
    "Merger": {"packet": WORDS, "copies": 2, "policy": "fair"},
    "Resubmitter": {"packet": WORDS, "stages": 2, "delay": 2},
    "Acceptor": {"packet": WORDS},
    "RetransmissionInterface": {
        "packet": FLITS,
        "tags": TAGS,
        "window": 2,
        "longest": 3,
        "delay": 4,
    },
    "RetryInterface": {"packet": FLITS, "length_max": 3, "delay": 4, "stages": 2},
    "RetryReceiver": {"packet": FLITS},
    "ProcessorMultiplexer": {"link": LINK, "processors": 2},
    "MemoryDemultiplexer": {"link": LINK, "modules": 2},
    "WishboneTarget": {"link": LINK, "words": MAP, "data": 32},
    "WishboneBurstTarget": {"link": LINK, "words": MAP, "data": 32},
    # computer
    "ComputerNode": {"program_rows": 16, "local_rows": 16},
    "SharedWindow": {"words": 4},
    "NoSharedMemory": {},
    "MessageEnd": {"packet": Packet(2, message_payload(), flits=True), "tags": TAGS},
    "NoMessages": {},
    # bench
    "Bursts": {},
    "StepProcessor": {"fold": ADD, "links": 2, "rows": 1, "steps": 3},
    "Timer": {},
    "WindowAges": {"time": 8},
    "LinkMeter": {"links": 3},
    "EventMeter": {"width": 3},
    "LevelMeter": {"width": 3},
    "MessageSource": {"packet": WORDS, "tags": TAGS, "depth": 2},
    "Collector": {"packet": WORDS, "fold": ADD},
    "Processor": {
        "link": LINK,
        "code": AddressCode(2, 2),
        "tag_bits": (("module", 0), ("module", 1)),
        "rows": 16,
        "outstanding": 4,
        "depth": 2,
        "mix": (1,) * len(OPERATIONS),
        "bins": 4,
    },
    "ProgramPort": {"link": LINK},
    "Sink": {"packet": STAMPED, "tags": TAGS, "bins": 4},
    "Sender": {"packet": STAMPED, "tags": TAGS},
    "BernoulliSource": {"packet": STAMPED, "tags": TAGS, "depth": 2},
    "ReplyingTerminal": {
        "packet": Packet(TAGS.code.width, ReplyingTerminal.payload(TAGS)),
        "tags": TAGS,
        "depth": 2,
    },
    "ReplaySource": {"packet": STAMPED, "tags": TAGS, "depth": 2, "trace": (2, 3)},
    "DependentSource": {"packet": NUMBERED, "tags": TAGS, "blocks": 2, "arrivals": 2},
    "WaitingRows": {"count_bits": 2, "delay_bits": 3},
    "FlowSource": {"packet": STAMPED, "tags": TAGS, "depth": 2, "windows": 1},
    "CollectiveSource": {
        "packet": FILLED,
        "tags": TAGS,
        "blocks": 2,
        "arrivals": 2,
        "word": 8,
        "rows": 4,
        "banks": 2,
    },
    "GroupTerminal": {"packet": Packet(2, 8, flits=True, groups=True), "depth": 2, "longest": 2},
    "TwinSource": {"packet": WORDS, "word": WORDS},
    "TwinSink": {"packet": WORDS, "word": WORDS},
}

KINDS = {part.__name__: part for part in components()}


def cell_type(name: str) -> CellType:
    """The component of a row."""
    return CellType(KINDS[name], **PARAMETERS[name])
