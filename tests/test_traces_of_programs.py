"""Traces of Netrace and of Chakra as workloads, from bytes that are made by their descriptions."""

import bz2
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from command_line import Call
from multicube.hdl import build
from multicube.sim import Scale, read_chakra, read_netrace, run_workload
from multicube.sim.workload.workload_files import read_any_workload

RING = "ring k=8 n=1 length=4"


# Netrace: the packed structs of netrace.h, little-endian.


def netrace(packets: Iterable[Sequence], notes: bytes = b"", regions: int = 1) -> bytes:
    """A trace of packets: cycle, id, type, source, destination, ids of those that depend on it."""
    body = b"".join(
        struct.pack("<QIIBBBBB", cycle, name, 0xC0FFEE, kind, source, to, 0x23, len(after))
        + struct.pack(f"<{len(after)}I", *after)
        for cycle, name, kind, source, to, after in packets
    )
    header = struct.pack("<I", 0x484A5455) + struct.pack("<f", 1.0) + b"test".ljust(30, b"\0")
    header += bytes([8, 0]) + struct.pack("<QQII", 1000, 3, len(notes), regions) + bytes(8)
    assert len(header) == 72
    return header + notes + struct.pack("<QQQ", 0, 1000, 3) * regions + body


READ, ANSWER = 1, 2
"""Types of packets: a request of 8 bytes, and its answer of 72."""

PACKETS = (
    (0, 7, READ, 0, 1, (8,)),
    (30, 8, ANSWER, 1, 0, (9, 10)),
    (32, 9, READ, 0, 2, ()),
    (500, 10, READ, 0, 3, ()),
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("pack", [bz2.compress, bytes], ids=["bz2", "plain"])
def test_packets_wait_for_packets_and_for_their_cycle(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "a.tra.bz2"
    path.write_bytes(pack(netrace(PACKETS, b"some notes\0", 2)))
    workload = read_any_workload(path, longest=8)
    sizes = {each.id: each.length for each in workload.messages if each.length}
    assert sizes == {7: 1, 8: 5, 9: 1, 10: 1}
    run = run_workload(build("ring k=8 n=1 length=8"), workload)
    times = {each.message.id: each for each in run.messages}
    assert times[7].sent == 0
    assert times[8].sent == 30 > times[7].arrived, "not before its cycle"
    assert times[9].sent == times[8].arrived + 1 > 32, "not before what it depends on"
    assert times[10].sent == 500


def test_a_packet_that_is_too_long_goes_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.tra"
    path.write_bytes(netrace(PACKETS))
    workload = read_netrace(path, Scale(flit_bytes=8, longest=4))
    assert [each.length for each in workload.messages if each.source == 1 and each.length] == [
        *(4, 4, 1),
    ]
    run = run_workload(build(RING), workload)
    arrived = [times.arrived for times in run.messages if times.message.source == 1]
    (ready,) = [times.sent for times in run.messages if times.message.id == 9]
    assert ready == max(arrived) + 1, "after the last part"
    early = read_netrace(path, Scale(longest=4), until=32)
    assert {each.id & 0xFFFF for each in early.messages} == {7, 8}


def changed(at: int, value: int) -> bytes:
    content = bytearray(netrace(PACKETS))
    content[at] = value
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (netrace(PACKETS)[:-1], " ends within packet 3 of the file"),
        (netrace(PACKETS)[:98], " ends within packet 0 of the file"),
        (netrace(PACKETS)[:60], " must begin with the number 0x484a5455"),
        (bz2.compress(netrace(PACKETS))[:-9], " can't be read: it is not whole"),
        (b"BZh9 nonsense", " can't be read: it is not whole"),
        (bz2.compress(b"no trace"), " must begin with the number 0x484a5455"),
        (changed(7, 0x40), " must be of version 1, not 4"),
        (netrace(()), " holds no packets"),
        (netrace([(0, 1, 9, 0, 1, ())]), ", packet 1: type 9 has no known length"),
        (
            netrace([(0, 1, READ, 0, 1, (5,))]),
            ", packet 1: packet 5 depends on it, but there is none",
        ),
        (
            netrace([(0, 1, READ, 0, 9, ())]),
            ", packet 1: destination must be a terminal from 0 to 7, not 9",
        ),
        (
            netrace([(0, 1, READ, 0, 1, ()), (0, 1, READ, 0, 1, ())]),
            ", packet 1: id 1 is also that of an earlier message",
        ),
        (
            netrace([(0, 1, READ, 0, 0, (2,)), (0, 2, READ, 0, 0, (1,))]),
            ", packet 1: it waits for itself: 1 after 2 after 1",
        ),
        (
            netrace([(0, 1, READ, 0, 1, (2,)), (5, 2, READ, 3, 0, ())]),
            ", packet 2: terminal 3 can't wait for message 1, which goes from 0 to 1: it neither "
            "receives nor sends it; let 1 send an answer, and wait for that",
        ),
        (
            netrace([(2**60, 1, READ, 0, 1, ())]),
            ", packet 1: Delay must be from 0 to 2147483647, not 1152921504606846976",
        ),
    ],
)
def test_a_wrong_netrace_is_refused_in_one_line(
    content: bytes, message: str, tmp_path: Path, call: Call
) -> None:
    path = tmp_path / "a.tra.bz2"
    path.write_bytes(content)
    call("sim", *RING.split(), "--workload", str(path)).refuses(f"Netrace {path}{message}")


# Chakra: Protocol Buffers by hand, with the numbers of et_def.proto.


def varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def number(place: int, value: int) -> bytes:
    return varint(place << 3) + varint(value)


def text(place: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(place << 3 | 2) + varint(len(raw)) + raw


COMP, SEND, RECV, COLL = 4, 5, 6, 7

INTEGER = {"comm_size": 9, "comm_src": 7, "comm_dst": 7, "comm_tag": 7, "comm_type": 9}
"""The fields of AttributeProto that hold these: int64_val or int32_val."""


def node(
    name: int, kind: int, after: Sequence[int] = (), micros: int = 0, **attributes: int
) -> bytes:
    parts = [number(1, name), text(2, f"node {name}"), number(3, kind)]
    parts += [number(5, other) for other in after]
    parts += [number(7, micros)] if micros else []
    for key, value in attributes.items():
        parts.append(text(10, text(1, key) + number(INTEGER.get(key, 13), value)))
    return b"".join(parts)


def files(folder: Path, *ranks: Sequence[bytes]) -> str:
    prefix = folder / "run"
    for rank, nodes in enumerate(ranks):
        messages = [text(1, "1.0.0"), *nodes]
        content = b"".join(varint(len(each)) + each for each in messages)
        (folder / f"run.{rank}.et").write_bytes(content)
    return str(prefix)


def test_ranks_compute_send_and_receive(tmp_path: Path) -> None:
    """0 computes and sends; 1 has computed meanwhile, receives, computes and answers."""
    pair = {"comm_src": 0, "comm_dst": 1, "comm_size": 64}
    back = {"comm_src": 1, "comm_dst": 0, "comm_size": 16, "comm_tag": 3}
    prefix = files(
        tmp_path,
        [node(1, COMP, micros=2), node(2, SEND, [1], **pair), node(5, RECV, [2], **back)],
        [
            node(1, COMP, micros=1),
            node(9, SEND, [4], **back),
            node(4, COMP, [1, 3], micros=1),
            node(3, RECV, **pair),
        ],
    )
    run = run_workload(build(RING), read_chakra(prefix, Scale(longest=4, cycle_ns=100)))
    times = {(each.message.source, each.message.length): each for each in run.messages}
    there, back_again = times[0, 4], times[1, 1]
    begun, *_, last = sorted(each.arrived for each in run.messages if not each.message.length)
    assert begun == 9, "a microsecond is 10 cycles"
    assert there.sent == 20, "after two microseconds"
    assert last == there.arrived + 10, "and then computes"
    assert back_again.sent == last + 1
    assert (run.shares["compute"], run.cycles) == (30, back_again.arrived + 1)


def test_messages_of_one_tag_keep_their_order_and_long_ones_go_in_parts(tmp_path: Path) -> None:
    def sizes(one: int, other: int) -> list[dict[str, int]]:
        return [{"comm_src": 0, "comm_dst": 1, "comm_size": size} for size in (one, other)]

    first, second = sizes(16, 160)
    prefix = files(
        tmp_path,
        [node(1, SEND, **first), node(2, SEND, **second)],
        [
            node(1, RECV, **first),
            node(2, RECV, **second),
            node(3, SEND, [1], comm_dst=2, comm_size=1),
            node(4, SEND, [2], comm_dst=2, comm_size=20),
        ],
        [node(1, RECV, comm_src=1, comm_size=1), node(2, RECV, comm_src=1, comm_size=20)],
    )
    messages = read_chakra(prefix, Scale(longest=4)).messages
    assert [each.length for each in messages] == [1, 4, 4, 2, 1, 2]
    assert messages[4].after == (messages[0].id,)
    assert messages[5].after == tuple(each.id for each in messages[1:4])


@pytest.mark.parametrize(
    ("kind", "bytes_each", "steps"),
    [(0, 64, 14), (2, 512, 7), (7, 64, 7), (8, 64, 7), (9, 0, 14)],
    ids=["all_reduce", "all_gather", "reduce_scatter", "reduce_scatter_block", "barrier"],
)
def test_operations_of_all_go_around_a_ring(
    kind: int, bytes_each: int, steps: int, tmp_path: Path
) -> None:
    """Every rank sends `steps` times to the next one, each time after what came and what left."""
    each = [node(1, COMP, micros=1), node(2, COLL, [1], comm_type=kind, comm_size=512)]
    prefix = files(tmp_path, *[each] * 8)
    scale = Scale(flit_bytes=16, longest=64)
    workload = read_chakra(prefix, scale)
    sent = [one for one in workload.messages if one.length]
    assert len(sent) == 8 * steps
    for source in range(8):
        own = [one for one in sent if one.source == source]
        assert {one.destination for one in own} == {(source + 1) % 8}
        assert {one.length for one in own} == {max(1, bytes_each // 16)}
        begin, *others = own
        assert workload.by_id[begin.after[0]].is_computation
        for before, one in zip(own, others):
            came, left = (workload.by_id[other] for other in one.after)
            assert (came.source, left) == ((source - 1) % 8, before)


@pytest.mark.long
def test_all_reduce_takes_as_long_as_the_same_as_csv(tmp_path: Path) -> None:
    """That of the page, which adds up for 10 cycles in a step, but here without adding."""
    each = [node(1, COLL, comm_type=0, comm_size=8 * 4 * 16)]
    prefix = files(tmp_path, *[each] * 8)
    run = run_workload(build(RING), read_any_workload(prefix, longest=4))
    lines = ["id,source,destination,length,after"]
    for step in range(14):
        for rank in range(8):
            after = (step - 1) * 8 + (rank - 1) % 8 if step else ""
            lines.append(f"{step * 8 + rank},{rank},{(rank + 1) % 8},4,{after}")
    path = tmp_path / "same.csv"
    path.write_text("\n".join(lines))
    assert run.cycles == run_workload(build(RING), read_any_workload(path)).cycles


def test_all_to_all_waits_for_nothing_but_its_begin(tmp_path: Path) -> None:
    each = [node(1, COLL, comm_type=6, comm_size=512), node(2, SEND, [1], comm_dst=0, comm_size=1)]
    ranks = [[*each], *[each[:1]] * 3]
    ranks[0][1] = node(2, COMP, [1], micros=1)
    messages = read_chakra(files(tmp_path, *ranks), Scale(longest=64)).messages
    sent = [one for one in messages if one.length]
    pairs = {(one.source, one.destination) for one in sent}
    assert pairs == {(a, b) for a in range(4) for b in range(4) if a != b}
    assert all(one.length == 8 and not one.after for one in sent)
    (computing,) = (one for one in messages if not one.length)
    assert len(computing.after) == 6, "when all three have come, and all three have left"


@pytest.mark.parametrize("kind", [0, 6])
def test_operations_in_a_row_wait_for_the_last_one_alone(kind: int, tmp_path: Path) -> None:
    """Those before it are over when it begins; else dependencies were as many as their square."""
    each = [node(turn, COLL, [turn - 1][:turn], comm_type=kind, comm_size=64) for turn in range(9)]
    messages = read_chakra(files(tmp_path, *[each] * 4)).messages
    waits = {other for one in messages if one.source == 0 for other in one.after}
    counts = [len(one.after) for one in messages if one.source == 0]
    assert max(counts) == {0: 12, 6: 6}[kind], "what a rank sends in an operation, and gets"
    assert len(waits) == max(counts) * 8 + {0: 10, 6: 0}[kind], "but for the last step"


def test_groups_are_those_of_the_metadata(tmp_path: Path) -> None:
    listed = '[{"pg_name": "7", "ranks": [1, 3]}, {"pg_name": "8", "ranks": []}]'
    groups = number(1, 0) + number(3, 1) + text(8, text(1, listed))

    def coll(name: int, group: str) -> bytes:
        return node(name, COLL, comm_type=2, comm_size=16) + text(
            10, text(1, "pg_name") + text(29, group)
        )

    ranks = [
        [groups, coll(1, "7"), coll(2, "8")] if rank % 2 else [groups, coll(2, "8")]
        for rank in range(4)
    ]
    messages = read_chakra(files(tmp_path, *ranks), Scale(longest=64)).messages
    of_seven = [
        (one.source, one.destination) for one in messages if (one.source + 2) % 4 == one.destination
    ]
    assert of_seven == [(1, 3), (3, 1)]
    assert len(messages) == 2 + 4 * 3


def test_groups_of_the_same_ranks_take_turns_of_their_own(tmp_path: Path) -> None:
    """Rank 0 begins with one of them, after 5 cycles, and rank 1 with the other, after 9."""
    listed = '[{"pg_name": "7", "ranks": [0, 1]}, {"pg_name": "8", "ranks": [0, 1]}]'
    groups = number(1, 0) + number(3, 1) + text(8, text(1, listed))

    def coll(name: int, group: str, after: Sequence[int] = ()) -> bytes:
        each = node(name, COLL, after, comm_type=2, comm_size=16)
        return each + text(10, text(1, "pg_name") + text(29, group))

    ranks = [
        [groups, node(1, COMP, micros=5), coll(2, "7", [1]), coll(3, "8", [2])],
        [groups, node(1, COMP, micros=9), coll(2, "8", [1]), coll(3, "7")],
    ]
    workload = read_chakra(files(tmp_path, *ranks), Scale(cycle_ns=1000))
    sent = {
        place[-len("0.et, node 2") :]: one for one, place in zip(workload.messages, workload.places)
    }
    seven = sent["0.et, node 2"].id, sent["1.et, node 3"].id
    assert set(sent["0.et, node 3"].after) == {*seven}


@pytest.mark.parametrize(("micros", "cycle_ns", "cycles"), [(7, 0.7, 10000), (1, 0.3, 3334)])
def test_times_are_divided_as_they_are_written(micros: int, cycle_ns: float, cycles: int) -> None:
    assert Scale(cycle_ns=cycle_ns).cycles(micros * 1000) == cycles


GROUP = '[{{"pg_name": "1", "ranks": {}}}]'
ALONE = {"comm_dst": 1, "comm_size": 16}


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (
            [[node(1, COMP, [5])]],
            ".0.et, node 1: it depends on node 5, which is none",
        ),
        ([[node(1, COMP), node(1, COMP)]], ".0.et, node 1: an earlier node has this id, too"),
        (
            [[node(1, COMP, [2]), node(2, COMP, [1])]],
            ".0.et, node 1: it waits for itself: 1 after 2 after 1",
        ),
        ([[node(1, 12)]], ".0.et, node 1: type 12 is not known"),
        (
            [[node(1, SEND, comm_size=3)], []],
            ".0.et, node 1: comm_dst must be a number from 0 on, not None",
        ),
        (
            [[node(1, SEND, **ALONE)], []],
            ".0.et, node 1: there are 1 COMM_SEND nodes from 0 to 1 with tag 0, and 0 COMM_RECV "
            "nodes",
        ),
        (
            [[node(1, SEND, **ALONE)], [node(1, RECV, comm_src=0, comm_size=17)]],
            ".1.et, node 1: comm_size must be 16, as where it is sent, not 17",
        ),
        (
            [[node(1, SEND, comm_src=1, **ALONE)], []],
            ".0.et, node 1: comm_src must be 0, the rank of the file, not 1",
        ),
        (
            [[node(1, COLL, comm_type=5, comm_size=4)]],
            ".0.et, node 1: comm_type must be one of ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, "
            "REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, BARRIER, not BROADCAST",
        ),
        (
            [[node(1, COLL, comm_type=0, comm_size=4)], []],
            ".0.et, node 1: rank 0 takes part in 1 operations of this group, and rank 1 in 0",
        ),
        (
            [[node(1, COLL, comm_type=kind, comm_size=4)] for kind in (0, 2)],
            ".1.et, node 1: comm_type and comm_size must be those of the other ranks, as in "
            "Chakra {prefix}.0.et, node 1",
        ),
        (
            [
                [
                    node(1, COLL, comm_type=0, comm_size=4)
                    + text(10, text(1, "pg_name") + text(29, "x"))
                ]
            ],
            ".0.et, node 1: pg_name x is no group that a METADATA node lists",
        ),
        *(
            (
                [[number(1, 4) + number(3, 1) + text(8, text(1, listed))]],
                ".0.et, node 4: its process groups can't be read",
            )
            for listed in (
                "[" * 9999 + '"pg_name"',
                *map(GROUP.format, ("[0.5]", "[1e999]", "[true]", '"0"', "null")),
                '[{"pg_name": "1", "ranks": [0]}, {"pg_name": "1", "ranks": [1]}]',
            )
        ),
        (
            [[node(1, COLL, comm_type=0, involved_dim=1)]],
            ".0.et, node 1: involved_dim must be a list, true in all dimensions",
        ),
        (
            [[node(1, COMP, cost=1) + node(1, COMP, cost=2)]],
            ".0.et, node 1: Entry 'cost' must be given once, not twice, in {{'cost': 2}}",
        ),
        ([[node(1, COMP)[:-1]]], ".0.et: message 1 is no Node of Chakra"),
        ([[b"\xff\xff\xff"]], ".0.et: message 1 is no Node of Chakra"),
    ],
)
def test_a_wrong_chakra_is_refused_in_one_line(
    ranks: Sequence[Sequence[bytes]],
    message: str,
    tmp_path: Path,
    call: Call,
) -> None:
    prefix = files(tmp_path, *ranks)
    call("sim", *RING.split(), "--workload", prefix).refuses(
        f"Chakra {prefix}{message.format(prefix=prefix)}"
    )


def test_ranks_of_chakra_have_ascii_digits(tmp_path: Path) -> None:
    prefix = files(tmp_path, [node(1, COMP, micros=1)])
    other = (tmp_path / "run.0.et").rename(tmp_path / "run.\N{ARABIC-INDIC DIGIT THREE}.et")
    (tmp_path / "run.0.et").write_bytes(other.read_bytes())
    assert len(read_chakra(prefix).messages) == 1


def test_files_of_chakra_that_end_early_or_are_missing(tmp_path: Path) -> None:
    prefix = files(tmp_path, [node(1, COMP, micros=1)], [node(1, COMP)], [])
    path = tmp_path / "run.0.et"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"run\.0\.et ends within message 1$"):
        read_chakra(prefix)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"run\.0\.et is empty$"):
        read_any_workload(f"{prefix}.0.et")
    (tmp_path / "run.1.et").unlink()
    with pytest.raises(ValueError, match=r"run\.1\.et is missing, but there is run\.2\.et$"):
        read_chakra(prefix)
    with pytest.raises(ValueError, match=r"none\.0\.et can't be read: there is no such file$"):
        read_chakra(tmp_path / "none")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--until", "5"],
            "A workload of CSV takes no until: only packets of Netrace have a cycle",
        ),
        (["--flit-bytes", "5"], "A workload of CSV takes no flit_bytes: its lengths are flits"),
        (["--cycle-ns", "5"], "A workload of CSV takes no cycle_ns: its times are cycles"),
    ],
)
def test_options_that_are_for_other_formats(
    words: list[str], message: str, tmp_path: Path, call: Call
) -> None:
    path = tmp_path / "w.csv"
    path.write_text("id,source,destination\n0,0,1\n")
    call("sim", *RING.split(), "--workload", str(path), *words).refuses(f"{message}")


def test_files_of_chakras_own_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of mlc-chakra, where it is installed (it asks for much, so it is no dependency)."""
    generator = pytest.importorskip("chakra.src.generator.generator")
    monkeypatch.chdir(tmp_path)
    generator.one_comm_coll_node_allreduce(8, 512)
    generator.two_comp_nodes_dependent(8, 5)
    generator.one_metadata_node_all_types(1)
    assert len(read_chakra("ALL_REDUCE", Scale(longest=4)).messages) == 112
    computing = read_chakra("two_comp_nodes_dependent").messages
    assert [each.delay for each in computing] == [5000] * 16
    with pytest.raises(ValueError, match="holds no messages"):
        read_chakra("one_metadata_node_all_types")
