"""Execution traces of Chakra (MLCommons): what each rank of a program computes, sends, receives.

A file is a sequence of messages of Protocol Buffers, each behind its length: `GlobalMetadata`, and
then `Node` for each step of the rank, by the schema that MLCommons publishes (`et_def.proto`).
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from ...hdl.fabric.checks import check_limit, check_path
from ...hdl.fabric.errors import InvalidValue, MulticubeError
from ...hdl.fabric.numerals import is_natural
from ...hdl.support.input_file import given_once, read_content
from .chakra_collectives import COLLECTIVES, Transfer
from .packets import MOST_PACKETS, Scale
from .workload import Workload, WorkloadMessage

__all__ = ["chakra_prefix", "read_chakra"]

_NODE_TYPES = (
    *("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE"),
    *("COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL"),
)
_NANOSECONDS = 1000
"""Those of a microsecond, in which durations are."""


@dataclass(frozen=True)
class _Node:
    """A node of a rank."""

    id: int
    kind: str
    after: tuple[int, ...]
    micros: int
    inputs: str
    attributes: dict[str, Any] = field(repr=False)
    place: str = ""

    def integer(self, name: str, default: int | None = None) -> int:
        """A number that is an attribute of the node, from 0 to 2^63 - 1."""
        value = self.attributes.get(name, default)
        if type(value) is not int or not 0 <= value < 2**63:
            raise InvalidValue(f"{self.place}: {name} must be a number from 0 on, not {value!r}")
        return value


def chakra_prefix(path: str | os.PathLike[str]) -> str | None:
    """The prefix of the files `PREFIX.0.et`, `PREFIX.1.et`, ... that a path names, or None.

    The path is the prefix, or that of one of the files.
    """
    check_path("Workload", path)
    text = os.fspath(path)
    if text.endswith(".et"):
        prefix, _, rank = text.removesuffix(".et").rpartition(".")
        return prefix if prefix and is_natural(rank) else None
    return text if os.path.exists(f"{text}.0.et") else None


def read_chakra(prefix: str | os.PathLike[str], scale: Scale | None = None) -> Workload:
    """Read the execution traces of Chakra in `PREFIX.0.et`, `PREFIX.1.et`, ...

    Rank N is terminal N. A node begins when those that it depends on have ended.

    - Nodes with a duration, except those of communication, compute for this time.
    - COMM_SEND ends when its last flit has entered the network; `comm_dst` is the receiver,
      `comm_size` the bytes. COMM_RECV ends when the message has arrived: the one with the same
      `comm_src`, `comm_dst` and `comm_tag`; of several, they belong together in their order.
    - COMM_COLL becomes messages (`COLLECTIVES`). Those of the ranks of a group belong together in
      their order; `pg_name` is a group that a METADATA node lists, without it all ranks are.

    Parameters
    ----------
    prefix : path-like
        What the names of the files begin with.
    scale : Scale, optional
        How bytes and nanoseconds are converted; by default a flit has 16 bytes, and a cycle a
        nanosecond.

    Returns
    -------
    Workload
        The messages and computations of all ranks.

    Raises
    ------
    MulticubeError
        If protobuf is not installed.
    ValueError
        If a file can't be read, is no such trace, or a rank waits for what no other sends.

    Examples
    --------
    >>> from multicube.sim import MulticubeError, read_chakra
    >>> try:
    ...     read_chakra("absent")
    ... except MulticubeError as error:
    ...     print(error)
    Chakra absent.0.et can't be read: there is no such file
    """
    check_path("Prefix", prefix)
    return _Conversion(os.fsdecode(prefix), Scale.given(scale)).workload()


@dataclass(frozen=True)
class _Flow:
    """A message that one rank sends to another, as packets.

    Attributes
    ----------
    destination : int
    lengths : Sequence[int]
        Of the packets, in flits.
    names : Sequence[int]
        Their ids.
    """

    destination: int
    lengths: Sequence[int]
    names: Sequence[int]


class _Conversion:
    """The traces of all ranks, as they become a workload."""

    def __init__(self, prefix: str, scale: Scale) -> None:
        self.prefix = prefix
        self.scale = scale
        self.ranks = [_nodes(path) for path in _files(prefix)]
        self.messages: list[WorkloadMessage] = []
        self.places: list[str] = []
        self._names = 0

    def workload(self) -> Workload:
        received = self._received()
        collectives = self._collectives()
        for rank, nodes in enumerate(self.ranks):
            # By node: the messages that are over when it is.
            ends: dict[int, list[int]] = {}
            for node in nodes:
                after = list(dict.fromkeys(each for other in node.after for each in ends[other]))
                if node.kind == "COMM_SEND":
                    flow = received[rank, node.id]
                    ends[node.id] = self._send(node, rank, flow, after)
                elif node.kind == "COMM_RECV":
                    ends[node.id] = [*after, *received[rank, node.id].names]
                elif node.kind == "COMM_COLL":
                    operation = collectives[rank, node.id]
                    ends[node.id] = self._take_part(node, rank, *operation, after)
                elif node.micros:
                    (name,) = self._new(1)
                    cycles = self.scale.cycles(node.micros * _NANOSECONDS)
                    self._add(node, name, rank, rank, 0, after, cycles)
                    ends[node.id] = [name]
                else:
                    ends[node.id] = after
        return Workload(self.prefix, tuple(self.messages), tuple(self.places))

    def _new(self, count: int) -> range:
        """New ids of messages."""
        check_limit("Packets of a trace", self._names + count, MOST_PACKETS)
        self._names += count
        return range(self._names - count, self._names)

    def _add(self, node: _Node, *fields: Any) -> None:
        try:
            self.messages.append(WorkloadMessage(*fields))
        except ValueError as error:
            raise InvalidValue(f"{node.place}: {error}") from None
        self.places.append(node.place)

    def _flow(self, destination: int, size: int) -> _Flow:
        lengths = self.scale.packets(size)
        return _Flow(destination, lengths, self._new(len(lengths)))

    def _send(self, node: _Node, rank: int, flow: _Flow, after: Sequence[int]) -> list[int]:
        for name, length in zip(flow.names, flow.lengths):
            self._add(node, name, rank, flow.destination, length, after)
        return list(flow.names)

    # Each to one other.

    def _received(self) -> dict[tuple[int, int], _Flow]:
        """By rank and node: what it sends, or receives."""
        ends: dict[str, dict[tuple[int, int, int], list[tuple[int, _Node]]]]
        ends = {"COMM_SEND": {}, "COMM_RECV": {}}
        for rank, nodes in enumerate(self.ranks):
            for node in nodes:
                if node.kind in ends:
                    sends = node.kind == "COMM_SEND"
                    source = node.integer("comm_src", rank if sends else None)
                    destination = node.integer("comm_dst", None if sends else rank)
                    if rank != (source if sends else destination):
                        what = "comm_src" if sends else "comm_dst"
                        raise InvalidValue(
                            f"{node.place}: {what} must be {rank}, the rank of the file, not "
                            f"{source if sends else destination}"
                        )
                    flow = source, destination, node.integer("comm_tag", 0)
                    ends[node.kind].setdefault(flow, []).append((rank, node))
        found = {}
        for flow in ends["COMM_SEND"] | ends["COMM_RECV"]:
            sent, received = (ends[kind].get(flow, []) for kind in ends)
            text = f"from {flow[0]} to {flow[1]} with tag {flow[2]}"
            if len(sent) != len(received):
                (_, node) = (sent + received)[0]
                raise InvalidValue(
                    f"{node.place}: there are {len(sent)} COMM_SEND nodes {text}, and "
                    f"{len(received)} COMM_RECV nodes"
                )
            for (sender, node), (receiver, other) in zip(sent, received):
                size = node.integer("comm_size")
                if other.integer("comm_size", size) != size:
                    raise InvalidValue(
                        f"{other.place}: comm_size must be {size}, as where it is sent, not "
                        f"{other.integer('comm_size')}"
                    )
                both = self._flow(receiver, size)
                found[sender, node.id] = found[receiver, other.id] = both
        return found

    # Several together.

    def _collectives(self) -> dict[tuple[int, int], tuple[list[Transfer], list[_Flow]]]:
        """By rank and node: the messages of the whole operation."""
        # Groups of the same ranks take turns of their own.
        turns: dict[tuple[str, tuple[int, ...]], dict[int, list[_Node]]] = {}
        for rank, nodes in enumerate(self.ranks):
            groups = _groups(nodes, len(self.ranks))
            for node in nodes:
                if node.kind == "COMM_COLL":
                    name, group = _group(node, groups)
                    if rank not in group:
                        raise InvalidValue(f"{node.place}: its group has no rank {rank}")
                    turns.setdefault((name, group), {}).setdefault(rank, []).append(node)
        found = {}
        for (_, group), nodes_of in turns.items():
            counts = {rank: len(nodes_of.get(rank, [])) for rank in group}
            first = next(iter(nodes_of.values()))[0]
            if len(set(counts.values())) > 1:
                few, many = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
                raise InvalidValue(
                    f"{first.place}: rank {many} takes part in {counts[many]} operations of this "
                    f"group, and rank {few} in {counts[few]}"
                )
            for together in zip(*(nodes_of[rank] for rank in group)):
                operation = self._operation(group, together)
                for rank, node in zip(group, together):
                    found[rank, node.id] = operation
        return found

    def _operation(
        self, group: Sequence[int], nodes: Sequence[_Node]
    ) -> tuple[list[Transfer], list[_Flow]]:
        first = nodes[0]
        asked = {(node.integer("comm_type"), node.integer("comm_size", 0)) for node in nodes}
        if len(asked) > 1:
            other = next(
                node
                for node in nodes
                if any(
                    node.integer(name, 0) != first.integer(name, 0)
                    for name in ("comm_type", "comm_size")
                )
            )
            raise InvalidValue(
                f"{other.place}: comm_type and comm_size must be those of the other ranks, as in "
                f"{first.place}"
            )
        ((kind, size),) = asked
        name, algorithm = COLLECTIVES.get(kind, (str(kind), None))
        if algorithm is None:
            known = ", ".join(each for each, does in COLLECTIVES.values() if does)
            raise InvalidValue(f"{first.place}: comm_type must be one of {known}, not {name}")
        check_limit("Messages of an operation", len(group) ** 2, MOST_PACKETS)
        transfers = algorithm(group, size)
        return transfers, [self._flow(each.destination, each.size) for each in transfers]

    def _take_part(
        self,
        node: _Node,
        rank: int,
        transfers: Sequence[Transfer],
        flows: Sequence[_Flow],
        after: Sequence[int],
    ) -> list[int]:
        """What a rank sends in an operation; return what is over when it is."""
        # What is sent at the begin is over after all that it waits for.
        begins = any(each.source == rank and not each.after for each in transfers)
        ends = [] if begins else list(after)
        for transfer, flow in zip(transfers, flows):
            if transfer.source == rank:
                awaited = [name for place in transfer.after for name in flows[place].names]
                self._send(node, rank, flow, awaited or after)
            if rank in (transfer.source, transfer.destination):
                ends += flow.names
        return ends


def _groups(nodes: Sequence[_Node], ranks: int) -> dict[str, tuple[int, ...]]:
    """The groups that METADATA nodes list, by name; without a name, all ranks."""
    groups = {"": tuple(range(ranks))}
    for node in nodes:
        if node.kind == "METADATA" and "pg_name" in node.inputs:
            try:
                listed = json.loads(node.inputs)
                if isinstance(listed, list) and listed and isinstance(listed[0], str):
                    listed = json.loads(listed[0])
                for each in listed:
                    members = each["ranks"]
                    if not isinstance(members, list) or {*map(type, members)} - {int}:
                        raise ValueError
                    group = tuple(members or range(ranks))
                    if groups.setdefault(str(each["pg_name"]), group) != group:
                        raise ValueError
            except (ValueError, TypeError, KeyError, RecursionError):
                raise InvalidValue(f"{node.place}: its process groups can't be read") from None
    return groups


def _group(node: _Node, groups: dict[str, tuple[int, ...]]) -> tuple[str, tuple[int, ...]]:
    """The name of the group of an operation, and its ranks."""
    involved = node.attributes.get("involved_dim", [])
    if not isinstance(involved, list) or not all(involved):
        raise InvalidValue(f"{node.place}: involved_dim must be a list, true in all dimensions")
    name = str(node.attributes.get("pg_name", ""))
    if name not in groups:
        raise InvalidValue(f"{node.place}: pg_name {name} is no group that a METADATA node lists")
    group = groups[name]
    if len(set(group)) != len(group) or not set(group) <= set(groups[""]):
        raise InvalidValue(f"{node.place}: group {name} must have different ranks of the trace")
    return name, group


# Files.


def _files(prefix: str) -> list[str]:
    """The files of all ranks."""
    count = 0
    while os.path.exists(f"{prefix}.{count}.et"):
        count += 1
    folder, _, name = prefix.rpartition(os.sep)
    for each in os.listdir(folder or os.curdir) if os.path.isdir(folder or os.curdir) else ():
        rank = each.removeprefix(f"{name}.").removesuffix(".et")
        if each == f"{name}.{rank}.et" and is_natural(rank) and int(rank) >= count:
            raise InvalidValue(f"Chakra {prefix}.{count}.et is missing, but there is {each}")
    if not count:
        raise InvalidValue(f"Chakra {prefix}.0.et can't be read: there is no such file")
    return [f"{prefix}.{rank}.et" for rank in range(count)]


def _nodes(path: str) -> list[_Node]:
    """The nodes of a rank, each behind those that it depends on, else in the order of the file."""
    nodes: dict[int, _Node] = {}
    for message in _messages(path):
        place = f"Chakra {path}, node {message.id}"
        if message.id in nodes:
            raise InvalidValue(f"{place}: an earlier node has this id, too")
        if message.type not in range(len(_NODE_TYPES)):
            raise InvalidValue(f"{place}: type {message.type} is not known")
        try:
            attributes = given_once([(each.name, _value(each)) for each in message.attr])
        except InvalidValue as error:
            raise InvalidValue(f"{place}: {error}") from None
        nodes[message.id] = _Node(
            message.id,
            _NODE_TYPES[message.type],
            tuple(dict.fromkeys((*message.ctrl_deps, *message.data_deps))),
            message.duration_micros,
            message.inputs.values,
            attributes,
            place,
        )
    for node in nodes.values():
        for other in node.after:
            if other not in nodes:
                raise InvalidValue(f"{node.place}: it depends on node {other}, which is none")
    places = list(nodes)
    order = {number: turn for turn, number in enumerate(places)}
    sorter = TopologicalSorter({node.id: node.after for node in nodes.values()})
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = error.args[1][::-1]
        path_ = " after ".join(map(str, cycle))
        raise InvalidValue(f"{nodes[cycle[0]].place}: it waits for itself: {path_}") from None
    found: list[_Node] = []
    ready: list[int] = []
    while sorter.is_active():
        for number in sorter.get_ready():
            heappush(ready, order[number])
        node = nodes[places[heappop(ready)]]
        found.append(node)
        sorter.done(node.id)
    return found


def _value(attribute: Any) -> Any:
    kind = attribute.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(attribute, kind)
    return list(value.values) if kind == "bool_list" else value


def _messages(path: str) -> Iterator[Any]:
    """The nodes of a file, as Protocol Buffers reads them."""
    metadata, node = _schema()
    from google.protobuf.message import DecodeError

    content = memoryview(read_content("Chakra", path))
    at, number = 0, 0
    while at < len(content):
        try:
            size, begin = _varint(content, at)
            at = begin + size
            if at > len(content):
                raise IndexError
            read = (node if number else metadata).FromString(bytes(content[begin:at]))
        except IndexError:
            raise InvalidValue(f"Chakra {path} ends within message {number}") from None
        except DecodeError:
            what = "Node" if number else "GlobalMetadata"
            raise InvalidValue(f"Chakra {path}: message {number} is no {what} of Chakra") from None
        if number:
            yield read
        number += 1
    if not number:
        raise InvalidValue(f"Chakra {path} is empty")


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    """A number of 7 bits in each byte, and the place behind it."""
    number = shift = 0
    while True:
        byte = content[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
        if shift > 63:
            raise IndexError


_SCALARS = {
    **{3: "double", 5: "float", 7: "int32", 9: "int64", 11: "uint32", 13: "uint64"},
    **{15: "sint32", 17: "sint64", 19: "fixed32", 21: "fixed64", 23: "sfixed32", 25: "sfixed64"},
    **{27: "bool", 29: "string"},
}
"""The values of an attribute by their number in the schema."""


@cache
def _schema() -> tuple[Any, Any]:
    """The classes GlobalMetadata and Node: what is read of Chakra's schema.

    In a pool of their own, so that they get along with Chakra's tools in the same process.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ModuleNotFoundError:
        raise MulticubeError("protobuf is not installed: pip install 'multicube[chakra]'") from None
    file = descriptor_pb2.FileDescriptorProto(
        name="multicube_chakra.proto", package="ChakraProtoMsg", syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto

    def add(message: Any, number: int, name: str, kind: str, several: bool = False) -> Any:
        label = kinds.LABEL_REPEATED if several else kinds.LABEL_OPTIONAL
        scalar = getattr(kinds, f"TYPE_{kind.upper()}", None)
        return message.field.add(
            number=number,
            name=name,
            label=label,
            type=kinds.TYPE_MESSAGE if scalar is None else scalar,
            type_name=f".ChakraProtoMsg.{kind}" if scalar is None else None,
        )

    bools = file.message_type.add(name="BoolList")
    add(bools, 1, "values", "bool", True)
    attribute = file.message_type.add(name="AttributeProto")
    attribute.oneof_decl.add(name="value")
    add(attribute, 1, "name", "string")
    for number, kind in _SCALARS.items():
        add(attribute, number, f"{kind}_val", kind).oneof_index = 0
    add(attribute, 28, "bool_list", "BoolList").oneof_index = 0
    metadata = file.message_type.add(name="GlobalMetadata")
    add(metadata, 1, "version", "string")
    values = file.message_type.add(name="IOInfo")
    add(values, 1, "values", "string")
    node = file.message_type.add(name="Node")
    add(node, 1, "id", "uint64")
    add(node, 3, "type", "int32")
    add(node, 4, "ctrl_deps", "uint64", True)
    add(node, 5, "data_deps", "uint64", True)
    add(node, 7, "duration_micros", "uint64")
    add(node, 8, "inputs", "IOInfo")
    add(node, 10, "attr", "AttributeProto", True)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}"))
        for name in ("GlobalMetadata", "Node")
    )
    return tuple(classes)
