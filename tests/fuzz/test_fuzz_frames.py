# amaranth: UnusedElaboratable=no
"""Random bytes on a board's serial line, in both directions.

The board's end, as hardware, does what a model of the protocol does. The host's end gives the right
reply, or says in one line what is wrong.
"""

from collections.abc import Iterator

import pytest
from amaranth.lib.wiring import In, Out
from fuzzing import check_line, damaged, fuzz
from hypothesis import strategies as st
from multicube.boards.command_port import ADDRESS_BITS, CommandPort, strap_words
from multicube.boards.host import BoardError, Line
from multicube.boards.protocol import (
    CRC_BYTES,
    FRAME_BYTES,
    IDENTITY_BYTES,
    SYNC,
    Command,
    Refusal,
    crc,
    frame,
)
from multicube.boards.simulated import SerialAdapter
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim.engines.compiled import CompiledEngine

DIVISOR = 4
IDENTITY = 0x0123_4567_89AB_CDEF
STRAPS = (("load", 22), ("seed", 64))
VALUE = 0x5A
NOW = 7
PORT_OUTPUTS = ("idle", "send", "measure", "strap_load", "strap_seed")
BYTE_CYCLES = 10 * DIVISOR + 4

LAST_STRAP = Command.STRAP + max(words.stop for words in strap_words(dict(STRAPS)).values()) - 1

ARGUMENTS = {
    # Few cycles and few bytes, so that no case takes long; or the past: 2^31 ahead or more.
    Command.RUN: st.one_of(st.integers(0, 40), st.integers(NOW + 2**31, 2**32 - 1)),
    Command.READ: st.builds(
        lambda address, size: address | size << ADDRESS_BITS,
        st.integers(0, 2**ADDRESS_BITS - 1),
        st.integers(0, 6),
    ),
}


def checked(body: bytes) -> bytes:
    return body + crc(body).to_bytes(CRC_BYTES, "big")


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """A few frames, mostly of commands that there are."""
    found = b""
    for _ in range(draw(st.integers(1, 3))):
        command = draw(st.sampled_from([*Command, Command.STRAP + 1, LAST_STRAP, 0x3F, 0xFF]))
        argument = draw(ARGUMENTS.get(command, st.integers(0, 2**32 - 1)))
        found += draw(damaged(st.just(frame(command, argument))))
    return found


class Model:
    """What the board answers to each byte, by the text of `protocol`."""

    def __init__(self) -> None:
        self.frame = b""
        self.outputs = dict.fromkeys(PORT_OUTPUTS, 0) | {"idle": 1}
        self.straps = strap_words(dict(STRAPS))

    def take(self, byte: int) -> bytes:
        if not self.frame and byte != SYNC:
            return b""
        self.frame += bytes([byte])
        if len(self.frame) < FRAME_BYTES:
            return b""
        body, check, self.frame = self.frame[1:-CRC_BYTES], self.frame[-CRC_BYTES:], b""
        if check != crc(body).to_bytes(CRC_BYTES, "big"):
            return checked(bytes([Refusal.CHECKSUM]))
        return checked(self.reply(body[0], int.from_bytes(body[1:], "little")))

    def reply(self, command: int, argument: int) -> bytes:
        data = b""
        match command:
            case Command.STATUS:
                data = IDENTITY.to_bytes(IDENTITY_BYTES, "little") + NOW.to_bytes(4, "little")
            case Command.GATES:
                self.outputs |= {"send": argument & 1, "measure": argument >> 1 & 1}
            case Command.READ:
                data = bytes([VALUE]) * (argument >> ADDRESS_BITS)
            case Command.CLEAR | Command.LOAD | Command.RUN:
                pass
            case _:
                if not self.set_strap(command - Command.STRAP, argument):
                    return bytes([Refusal.UNKNOWN])
        return bytes([command]) + data

    def set_strap(self, word: int, argument: int) -> bool:
        for name, width in STRAPS:
            if word in self.straps[name]:
                low = 32 * (word - self.straps[name].start)
                part = (2**32 - 1 << low) & 2**width - 1
                self.outputs[f"strap_{name}"] &= ~part
                self.outputs[f"strap_{name}"] |= argument << low & part
                return True
        return False


def board() -> Fabric:
    """A command port with an adapter at its line; all that it reads is `VALUE`."""
    fabric = Fabric(
        {"valid": In(1), "payload": In(8), "value": In(8), "now": In(32)}
        | {name: Out(dict(STRAPS).get(name.removeprefix("strap_"), 1)) for name in PORT_OUTPUTS}
    )
    port = CellType(CommandPort, divisor=DIVISOR, straps=STRAPS, identity=IDENTITY, latency=2)
    fabric.place(Cell("port", port))
    fabric.place(Cell("adapter", CellType(SerialAdapter, divisor=DIVISOR)))
    fabric.link(Pin("adapter", ("tx",)), Pin("port", ("rx",)))
    fabric.link(Pin("port", ("tx",)), Pin("adapter", ("rx",)))
    for name in ("valid", "payload"):
        fabric.link(Pin(None, (name,)), Pin("adapter", ("i", name)))
    for name in ("value", "now"):
        fabric.link(Pin(None, (name,)), Pin("port", (name,)))
    for name in PORT_OUTPUTS:
        fabric.link(Pin("port", (name,)), Pin(None, (name,)))
    return fabric


@pytest.fixture(scope="module")
def engine() -> Iterator[CompiledEngine]:
    with CompiledEngine(board()) as opened:
        opened.set("value", VALUE)
        opened.set("now", NOW)
        opened.step(BYTE_CYCLES)
        yield opened


def answered(engine: CompiledEngine, byte: int) -> bytes:
    """What the board sends after a byte, until it waits for another one."""
    before = engine.get(Pin("adapter", ("count",)))
    engine.set("payload", byte)
    engine.set("valid", 1)
    engine.step(1)
    engine.set("valid", 0)
    engine.step(BYTE_CYCLES)
    for _ in range(40):
        if engine.get(Pin(None, ("idle",))):
            break
        engine.step(BYTE_CYCLES)
    engine.step(BYTE_CYCLES)
    rows = engine.memory("adapter", "received")
    return bytes(rows[at] for at in range(before, engine.get(Pin("adapter", ("count",)))))


def test_frames_to_the_board(engine: CompiledEngine) -> None:
    start = engine.save()

    def check(message: bytes) -> None:
        engine.restore(start)
        model = Model()
        for byte in message:
            assert answered(engine, byte) == model.take(byte)
            for name, value in (model.outputs if not model.frame else {}).items():
                assert engine.get(Pin(None, (name,))) == value, name

    fuzz(check, frames(), count=15)


class Port:
    """A serial port at which replies wait, one for each frame; silent once they are used up."""

    port = "fuzzed"
    timeout = 0.1

    def __init__(self, replies: list[bytes]) -> None:
        self.replies = replies
        self.said = b""

    def write(self, message: bytes) -> None:
        if any(message) and self.replies:
            self.said += self.replies.pop(0)

    def read(self, size: int) -> bytes:
        part, self.said = self.said[:size], self.said[size:]
        return part


@st.composite
def replies(draw: st.DrawFn) -> tuple[int, int, list[bytes]]:
    """A command, the size of its data, and three replies, some of them damaged."""
    command = draw(st.sampled_from([*Command]))
    size = draw(st.integers(0, 12))
    whole = st.binary(min_size=size, max_size=size).map(
        lambda data: checked(bytes([command]) + data)
    )
    refused = st.sampled_from([checked(bytes([refusal])) for refusal in Refusal])
    each = damaged(st.one_of(whole, whole, refused))
    return command, size, draw(st.lists(each, min_size=3, max_size=3))


def test_replies_to_the_host() -> None:
    def check(case: tuple[int, int, list[bytes]]) -> None:
        command, size, waiting = case
        # A reply that has more than it should is cut off there.
        parts = [said[: 1 + size + CRC_BYTES] for said in waiting]
        good = [said for said in parts if said == checked(bytes([command]) + said[1 : 1 + size])]
        try:
            data = Line(Port(list(waiting))).ask(command, 5, size)
        except BoardError as error:
            check_line(error)
            refused = any(said[:1] == bytes([Refusal.UNKNOWN]) for said in waiting)
            assert refused or not good
        else:
            assert checked(bytes([command]) + data) in good

    fuzz(check, replies(), count=25)
