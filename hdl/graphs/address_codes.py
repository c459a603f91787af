"""Addresses of terminals as numbers, and as digits of one radix or several."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any, TypeVar

import numpy as np

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue

__all__ = ["AddressCode", "MixedCode"]

Numbers = TypeVar("Numbers", int, np.ndarray)
"""A number, or an array of numbers that are all treated alike."""


@dataclass(frozen=True)
class AddressCode:
    """How an address of `digits` base-`radix` digits is written in bits.

    Attributes
    ----------
    radix, digits : int
        The base of a digit, and the number of digits.
    """

    radix: int
    digits: int

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """The radix of each digit, least significant first."""
        return (self.radix,) * self.digits

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The width of each digit in bits, least significant first."""
        return tuple((radix - 1).bit_length() for radix in self.radices)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The lowest bit of each digit in a code, least significant first."""
        return tuple(accumulate(self.widths[:-1], initial=0))

    @cached_property
    def count(self) -> int:
        """Number of addresses: the product of the radices."""
        return prod(self.radices)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the code of an address is the address itself."""
        return {(1 << width) - radix for radix, width in zip(self.radices, self.widths)} == {0}

    @property
    def digit_bits(self) -> int:
        """Width of the widest digit in bits."""
        return (self.radix - 1).bit_length()

    @property
    def width(self) -> int:
        """Width of a whole code in bits."""
        return sum(self.widths)

    def permuted(self, digits: Sequence[int]) -> "AddressCode":
        """The code whose digit j is digit `digits[j]` of this one."""
        return self

    def with_radix(self, digit: int, radix: int) -> "AddressCode":
        """The code in which this digit has another radix."""
        if self.radices[digit] == radix:
            return self
        return MixedCode.of([*self.radices[:digit], radix, *self.radices[digit + 1 :]])

    def split(self, address: Numbers) -> list[Numbers]:
        """The digits of an address, or of an array of them, least significant first.

        Raises
        ------
        TypeError, ValueError
            If the address does not exist.
        """
        if isinstance(address, np.ndarray):
            if not np.all((address >= 0) & (address < self.count)):
                raise InvalidValue(f"Address must be from 0 to {self.count - 1}, not {address}")
            address = address.astype(np.int64)  # in which codes are not cut off
        elif type(address) is not int or not 0 <= address < self.count:
            address = check_integer("Address", address, 0, self.count - 1)
        digits: list[Any] = []
        for radix in self.radices:
            address, digit = divmod(address, radix)
            digits.append(digit)
        return digits

    def join(self, digits: Sequence[Numbers]) -> Numbers:
        """The address with these digits, least significant first."""
        address: Any = 0
        for digit, radix in zip(reversed(digits), reversed(self.radices)):
            address = address * radix + digit
        return address

    def pack(self, digits: Sequence[int]) -> int:
        """The code of digits, least significant first."""
        return sum(digit << place for digit, place in zip(digits, self.places))

    def unpack(self, code: int) -> list[int]:
        """The digits of a code, least significant first."""
        return [code >> place & (1 << width) - 1 for place, width in zip(self.places, self.widths)]

    def block_mask(self, size: int) -> int:
        """The bits of a code in which the addresses of a block differ.

        A block is `size` consecutive addresses, the first of which is a multiple of `size`.

        Raises
        ------
        ValueError
            If a block does not consist of all addresses that agree in some bits: its size must be a
            power of the radix, times a power of two that divides the radix.
        """
        digits = 0
        while size > 0 and self.radix ** (digits + 1) <= size and digits < self.digits:
            digits += 1
        part, rest = divmod(size, self.radix**digits)
        whole = rest == 0 and part.bit_count() == 1
        if size not in range(1, self.count + 1) or not whole or self.radix % part:
            raise InvalidValue(
                f"Size of a block must be a power of {self.radix}, times a power of two that "
                f"divides {self.radix}, up to {self.count}, not {size}"
            )
        return (1 << digits * self.digit_bits + part.bit_length() - 1) - 1

    def encode(self, address: int) -> int:
        """The code of an address."""
        if self.is_plain and address in range(self.count):
            return address
        return self.pack(self.split(address))

    def decode(self, code: int) -> int:
        """The address of a code."""
        return self.join(self.unpack(code))


@dataclass(frozen=True)
class MixedCode(AddressCode):
    """How an address is written whose digits have different radices.

    Attributes
    ----------
    radix : int
        The greatest radix.
    digits : int
        The number of digits.
    sizes : tuple[int, ...]
        The radix of each digit, least significant first.
    aligned : bool
        Whether all digits have the width of the widest.
    """

    sizes: tuple[int, ...]
    aligned: bool = False

    @classmethod
    def of(cls, sizes: Sequence[int], *, aligned: bool = False) -> AddressCode:
        """The code of digits with these radices; a plain one if they are equal."""
        if len(set(sizes)) <= 1:
            return AddressCode(max(sizes, default=2), len(sizes))
        return cls(max(sizes), len(sizes), tuple(sizes), aligned)

    @cached_property
    def radices(self) -> tuple[int, ...]:
        return self.sizes

    @cached_property
    def widths(self) -> tuple[int, ...]:
        if self.aligned:
            return (self.digit_bits,) * self.digits
        return super().widths

    def block_mask(self, size: int) -> int:
        raise InvalidValue("Blocks of addresses need digits of equal radices")

    def permuted(self, digits: Sequence[int]) -> AddressCode:
        return replace(self, sizes=tuple(self.sizes[j] for j in digits))
