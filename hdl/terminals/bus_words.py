"""From the addresses of a bus to the words of a network's memory."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal, Value

__all__ = ["WordMap"]


@dataclass(frozen=True)
class WordMap:
    """Where a network has its words: word a is row a // N of memory module a mod N.

    Attributes
    ----------
    columns : tuple[int, ...]
        For each bit of the number of a module, from the lowest: the bits of the tag that it sets.
    rows : int
        Words in each memory module.
    tag : int
        Width of a tag in bits.
    """

    columns: tuple[int, ...]
    rows: int
    tag: int

    @property
    def bits(self) -> int:
        """Width of the number of a word."""
        return len(self.columns) + self.row_bits

    @property
    def row_bits(self) -> int:
        return (self.rows - 1).bit_length()

    def place(self, m: Module, name: str, word: Value) -> tuple[Value, Value, Value]:
        """In hardware: the tag that leads to a word, its row, and whether the word exists."""
        count = len(self.columns)
        tag = Signal(self.tag, name=f"{name}_tag")
        m.d.comb += tag.eq(
            Cat(
                Cat(word[bit] for bit, column in enumerate(self.columns) if column >> at & 1).xor()
                for at in range(self.tag)
            )
        )
        row = word[count : self.bits]
        exists = Const(1) if self.rows == 1 << self.row_bits else row < self.rows
        return tag, row, exists
