"""Random files of traces: each is read as it says, or refused in one line."""

from pathlib import Path

import pytest
from fuzzing import check_line, damaged, fuzz
from hypothesis import strategies as st
from multicube.hdl import PacketNetwork, build
from multicube.hdl.fabric.errors import MulticubeError
from multicube.sim.workload.traffic import TracePacket, read_trace

PORTS = 4
COLUMNS = ("cycle", "source", "destination", "length", "mask")


@st.composite
def traces(draw: st.DrawFn) -> bytes:
    """A trace, whose numbers are mostly allowed."""
    width = draw(st.integers(3, 5))
    number = st.one_of(st.integers(0, 3), st.sampled_from([-1, 4, 2**31 - 1, 2**31, 10**40]))
    rows = st.lists(st.tuples(st.integers(0, 50), *[st.integers(0, 3)] * (width - 1)), max_size=6)
    lines = [",".join(COLUMNS[:width]), *(",".join(map(str, row)) for row in draw(rows))]
    if draw(st.booleans()):
        lines.append(",".join(str(draw(number)) for _ in range(width)))
    end = draw(st.sampled_from(["\n", "\r\n", "\n\n", " \n"]))
    return end.join(lines).encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16"])))


def expected(content: bytes) -> list[TracePacket] | None:
    """The packets of a plain file, read without the library; None if the file may be refused."""
    header, *lines = content.decode().split("\n")
    rows = [line.split(",") for line in lines if line.strip()]
    width = header.count(",") + 1
    if header != ",".join(COLUMNS[:width]) or width < 3 or not rows:
        return None
    if not all(len(row) == width and all(word.isdecimal() for word in row) for row in rows):
        return None
    packets = [TracePacket(*map(int, row)) for row in rows]
    known = all(
        each.cycle < 2**31 and max(each.source, each.destination) < PORTS for each in packets
    )
    return packets if known else None


def test_traces(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    networks = [build("cube", ports=PORTS, broadcast=1), build("torus", k=2, length="1:3")]

    def check(content: bytes) -> None:
        path.write_bytes(content)
        try:
            wanted = expected(content) if content.isascii() else None
        except ValueError:  # numbers of thousands of digits
            wanted = None
        try:
            trace = read_trace(path, PORTS)
        except MulticubeError as error:
            assert wanted is None
            check_line(error)
            return
        assert wanted is None or list(trace.packets) == wanted
        for network in networks:
            assert isinstance(network, PacketNetwork)
            try:
                plan = trace.sources(network)
            except MulticubeError as error:
                check_line(error)
            else:
                rows = [straps["trace"] for straps in plan.contents]
                assert sum(map(len, rows)) == len(trace.packets)

    fuzz(check, damaged(traces()), count=30)


@pytest.mark.parametrize("digits", [5000])
def test_long_numbers(digits: int, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"cycle,source,destination\n{'9' * digits},0,1\n")
    with pytest.raises(MulticubeError, match=r"line 2: all fields must be integers"):
        read_trace(path, PORTS)
