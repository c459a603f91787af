# amaranth: UnusedElaboratable=no
"""The records of combined requests in a box."""

from amaranth.hdl import Cat, Module, ShapeLike, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer

__all__ = ["WaitBuffer"]


class WaitBuffer(wiring.Component):
    """An associative memory: records are found and removed by their keys.

    A record that is stored in a cycle can be found from the next one on. Several may have the same
    key; they come out in any order. All outputs are combinational; `free` depends on registers
    only.

    Parameters
    ----------
    key, record : ShapeLike
    size : int
        Number of records, at least 1.

    Members
    -------
    free : Out(1)
        There is room for a record.
    store : In(1)
        Store `record` under `key`. Only while there is room.
    key, record : In
    wanted : In(key)
    hit : Out(1)
        There is a record with the key `wanted`.
    more : Out(1)
        There are several.
    found : Out(record)
        One of the records with this key.
    take : In(1)
        Remove it. Only while `hit` is 1.
    """

    def __init__(self, key: ShapeLike, record: ShapeLike, *, size: int) -> None:
        size = check_integer("Size", size, 1)
        self.size = size
        self._key, self._record = key, record
        super().__init__(
            {
                "free": Out(1),
                "store": In(1),
                "key": In(key),
                "record": In(record),
                "wanted": In(key),
                "hit": Out(1),
                "more": Out(1),
                "found": Out(record),
                "take": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = range(self.size)
        memory = Memory(shape=self._record, depth=self.size, init=[])
        m.submodules.records = memory
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        used = Signal(self.size)
        keys = [Signal(self._key, name=f"key_{row}") for row in rows]

        hits = Signal(self.size)
        m.d.comb += [
            hits.eq(Cat(used[row] & (keys[row] == self.wanted) for row in rows)),
            self.hit.eq(hits.any()),
            self.more.eq((hits & (hits - 1)[: self.size]).any()),
            self.free.eq(~used.all()),
            write.en.eq(self.store),
            write.data.eq(self.record),
            self.found.eq(read.data),
        ]
        for row in reversed(rows):
            with m.If(hits[row]):
                m.d.comb += read.addr.eq(row)
            with m.If(~used[row]):
                m.d.comb += write.addr.eq(row)
        for row in rows:
            with m.If(self.take & (read.addr == row)):
                m.d.sync += used[row].eq(0)
            with m.If(self.store & (write.addr == row)):
                m.d.sync += [used[row].eq(1), keys[row].eq(self.key)]
        return m
