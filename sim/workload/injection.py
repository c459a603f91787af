"""Faults as data: the place, the effect and the time of each, and how they are written."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast, get_args

from ...hdl.fabric.checks import check_field, check_kind, check_word
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import is_natural
from ...hdl.fabric.pins import Pin
from ...hdl.graphs.plans.extra_stage import Fault

__all__ = [
    "BITWISE",
    "EFFECTS",
    "FORMS",
    "Effect",
    "Injection",
    "StateBits",
    "parse_fault",
    "place_text",
]

Effect = Literal["dead", "lossy", "severed", "babbling", "flip", "stuck0", "stuck1", "straight"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)

BITWISE: tuple[Effect, ...] = ("flip", "stuck0", "stuck1")
"""Effects on one bit."""

_MOST_BITS = 2**16
"""More than any packet or register has."""

FORMS = (
    "PLACE, PLACE:dead, PLACE:lossy, PLACE:severed, PLACE:babbling, PLACE:flip=BIT, "
    "PLACE:stuck0=BIT, PLACE:stuck1=BIT, PLACE:straight, optionally followed by :rate=PROBABILITY, "
    ":from=CYCLE, and :for=CYCLES and :every=CYCLES or :begins=PROBABILITY:ends=PROBABILITY"
)
"""The forms that `parse_fault` accepts, for messages."""


class StateBits(NamedTuple):
    """A register of a cell, or a row of a memory, by the names in its Verilog.

    Names of inner submodules have dots, such as `queue_0.free`.
    """

    cell: str
    name: str
    row: int | None = None

    def __str__(self) -> str:
        row = "" if self.row is None else f"[{self.row}]"
        return f"state:{self.cell}.{self.name}{row}"


@dataclass(frozen=True)
class Injection:
    """A fault to inject, and its effect.

    Attributes
    ----------
    place : Fault, Pin or StateBits
        A box means all links that enter or leave it; for effects other than "dead", only those that
        leave it. In a network of any kind a pin means the link that this output drives, and a pin
        with an empty path means a cell, which is treated like a box.
    effect : str
        One of `EFFECTS`. With "dead" nothing passes, and the sender waits for ever; on a link on
        which packets are rejected or not accepted, it learns that they are. With "lossy" packets,
        or flits, are accepted and lost. With "severed" whole packets are: the receiver of
        a packet that had begun to pass gets a last flit in place of the rest. With "babbling" the
        wire that says that there is a word is always 1: the receiver also takes words that nobody
        sent. With "flip" a bit of each packet is inverted; with "stuck0" and "stuck1" it has this
        value. With "straight" a box ignores tags and connects every input to the output of the same
        number. State has only the effects on a bit; it flips once, at the begin of the fault.
    bit : int
        The bit concerned. In a packet the tag has the lowest bits.
    rate : float
        Probability that "lossy" or an effect on a bit concerns a packet, in steps of 2^-16; in
        state, that a bit flips in a cycle.
    start : int
        First cycle of the fault; 0 for "straight".
    length : int
        Cycles that it lasts: it is transient. 0 if it is permanent.
    period : int
        Cycles from one beginning to the next: it is intermittent. 0 if it begins once.
    begins, ends : float
        Probabilities per cycle, in steps of 2^-16, that the fault begins if it is absent, and ends
        if it is present: it is intermittent, at random. 0 if not.
    """

    place: Fault | Pin | StateBits
    effect: Effect = "dead"
    bit: int = 0
    rate: float = 1
    start: int = 0
    length: int = 0
    period: int = 0
    begins: float = 0
    ends: float = 0

    def __post_init__(self) -> None:
        check_word("Effect", self.effect, EFFECTS)
        check_field(self, "bit", "Bit", 0, _MOST_BITS - 1)
        check_field(self, "start", "First cycle", 0, 2**31)
        check_field(self, "length", "Length", 0, 2**31)
        check_field(self, "period", "Period", 0, 2**31)
        if not 0 <= self.rate <= 1:
            raise InvalidValue(f"Rate must be from 0 to 1, not {self.rate}")
        if 0 < self.rate < 2**-16 and not isinstance(self.place, StateBits):
            raise InvalidValue(f"Rate on a link must be 0 or at least 2^-16, not {self.rate}")
        if self.begins or self.ends:
            self._check_times()
        straight = self.effect == "straight"
        if straight and not (isinstance(self.place, Fault) and self.place.kind == "box"):
            raise InvalidValue(f"Only a box can be stuck at straight, not {place_text(self.place)}")
        if straight and self.start:
            raise InvalidValue(f"First cycle of effect straight must be 0, not {self.start}")
        if straight and (self.length or self.begins):
            raise InvalidValue("Effect straight must be permanent, not transient or intermittent")
        if self.rate != 1 and self.effect not in ("lossy", *BITWISE):
            raise InvalidValue(f"Rate of effect {self.effect} must be 1, not {self.rate}")
        state = isinstance(self.place, StateBits)
        if state:
            self._check_state()
        once = state and self.effect == "flip" and self.rate == 1
        if self.period and not once and not 0 < self.length < self.period:
            raise InvalidValue(
                f"Length must be from 1 to {self.period - 1} with a period of {self.period}, "
                f"not {self.length}"
            )

    @property
    def permanent(self) -> bool:
        """Whether it never ends, once it has begun."""
        return not (self.length or self.period or self.begins)

    def _check_times(self) -> None:
        for name, rate in (("begins", self.begins), ("ends", self.ends)):
            if not 2**-16 <= rate <= 1:
                raise InvalidValue(f"Probability {name} must be from 2^-16 to 1, not {rate}")
        if self.length or self.period:
            raise InvalidValue("A fault that begins at random must have neither length nor period")

    def _check_state(self) -> None:
        if self.effect not in BITWISE:
            raise InvalidValue(
                f"Effect on {self.place} must be one of {', '.join(BITWISE)}, not {self.effect}"
            )
        if self.effect == "flip" and self.rate == 1 and self.length:
            raise InvalidValue("Length of a flip of state must be 0 without a rate: it flips once")
        if self.effect != "flip" and self.rate != 1:
            raise InvalidValue(f"Rate of effect {self.effect} on state must be 1, not {self.rate}")


def place_text(place: Fault | Pin | StateBits) -> str:
    """A place as it is written."""
    if isinstance(place, Pin):
        return f"{'link' if place.path else 'cell'}:{place}"
    return str(place)


_NUMBER = "[0-9]{1,18}"
_FORM = re.compile(
    rf"(?P<place>\w+:{_NUMBER}:{_NUMBER}|cell:\w+|link:\w+(\.\w+)+"
    rf"|state:\w+(\.[\w$]+)+(\[{_NUMBER}\])?)"
    rf"(:(?P<effect>dead|lossy|severed|babbling|straight|(flip|stuck[01])={_NUMBER}))?"
    rf"(:rate=(?P<rate>[0-9]*\.?[0-9]+))?"
    rf"(:from=(?P<start>{_NUMBER}))?"
    rf"(:for=(?P<length>{_NUMBER}))?"
    rf"(:every=(?P<period>{_NUMBER}))?"
    rf"(:begins=(?P<begins>[0-9]*\.?[0-9]+):ends=(?P<ends>[0-9]*\.?[0-9]+))?"
)


def parse_fault(text: str) -> Injection:
    """Parse an injection such as `link:1:3` or `cell:router_5:severed:from=200`.

    Raises
    ------
    ValueError
        If the text has none of the `FORMS`.
    """
    check_kind("Fault", text, str, "a text")
    form = _FORM.fullmatch(text)
    if form is None:
        raise InvalidValue(f"Fault must be one of {FORMS}, not {text!r}")
    for word, number in (
        ("for", form["length"]),
        ("every", form["period"]),
        ("begins", form["begins"]),
        ("ends", form["ends"]),
    ):
        if number is not None and not float(number):  # 0 would mean that nothing is said of it
            raise InvalidValue(f"Fault {text} must have {word} above 0, not {number}")
    effect, _, bit = (form["effect"] or "dead").partition("=")
    return Injection(
        _parse_place(form["place"]),
        cast(Effect, effect),
        bit=int(bit or 0),
        rate=float(form["rate"] or 1),
        start=int(form["start"] or 0),
        length=int(form["length"] or 0),
        period=int(form["period"] or 0),
        begins=float(form["begins"] or 0),
        ends=float(form["ends"] or 0),
    )


def _parse_place(text: str) -> Fault | Pin | StateBits:
    kind, _, name = text.partition(":")
    cell, _, rest = name.partition(".")
    if kind == "cell":
        return Pin(name, ())
    if kind == "link" and rest:
        return Pin(cell, tuple(int(part) if is_natural(part) else part for part in rest.split(".")))
    if kind == "state":
        register, _, row = rest.rstrip("]").partition("[")
        return StateBits(cell, register, int(row) if row else None)
    return Fault.parse(text)
