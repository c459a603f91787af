"""Traffic of a run: patterns, read from words, files, lists, matrices and functions; and traces."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from inspect import signature
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from ...hdl.fabric.checks import check_integer, check_limit, nearest, shown
from ...hdl.fabric.errors import InvalidType, InvalidValue
from ...hdl.fabric.numerals import integer_of, is_natural, number_of
from ...hdl.graphs.permutations import PERMUTATIONS, neighbor, random_permutation, tornado
from ...hdl.support.input_file import read_text, text_lines
from .destinations import Destinations
from .flow_traffic import Flow, Flows, is_flow_header, parse_flows
from .injection_process import InjectionProcess
from .matrix import MOST_ENTRIES, check_matrix
from .pattern import Pattern, check_load, short_name
from .trace import TRACE_START, Trace, TracePacket, read_trace

__all__ = [
    "TRACE_START",
    "TRAFFIC",
    "Pattern",
    "Trace",
    "TracePacket",
    "check_load",
    "in_bursts",
    "pattern",
    "read_trace",
    "short_name",
]

MOST_PORTS = 2**24
"""Most terminals that there can be traffic for: more than any network has."""

LONGEST_NAME = 2**14
"""Most characters of a name that lists all destinations or weights."""

_SILENT = "x"
"""Written in place of the destination of a terminal that sends nothing; so is -1."""

_UNREADABLE = ("array", "flows", "function")
"""Names of patterns that came from Python, and are too large to be written as a text."""


def pattern(traffic: Any, ports: int, sinks: int | None = None) -> Pattern:
    """The traffic pattern that a text, list, matrix or function describes.

    Parameters
    ----------
    traffic : str, path-like, Sequence, np.ndarray, Callable or Pattern
        A *text* is one of the words of docs/reference/traffic.md, whatever its capitals. A *list*
        has the destination of each terminal, None or -1 for a terminal that sends nothing. A
        *matrix* has in row X the weights with which X sends to each terminal: rows with larger sums
        have more load. A list of `Flow` has rates, lengths and times, too. A *function* is called
        with each terminal and the number of terminals, and returns a destination, or such a row of
        weights. A *path* is of a file that holds a list, a matrix or flows.
    ports : int
        Number of terminals.
    sinks : int, optional
        Number of terminals that receive, if it differs from that of those that send.

    Returns
    -------
    Pattern
        Its `name` is a text that gives the same pattern again, unless it came from a list, matrix
        or function and would be longer than 16,384 characters.

    Raises
    ------
    TypeError, ValueError
        If this describes no pattern, or one that does not fit the number of terminals.

    Examples
    --------
    >>> from multicube.sim import pattern
    >>> pattern("bit-reversal", 8)
    <Pattern bit-reversal of 8 terminals>
    >>> pattern([1, 2, 3, 0], 4).name
    '1,2,3,0'
    """
    ports = check_integer("Ports", ports, 1)
    check_limit("Ports", ports, MOST_PORTS)
    sinks = ports if sinks is None else sinks
    if isinstance(traffic, Pattern):
        if traffic.terminals != ports:
            raise InvalidValue(
                f"Traffic {short_name(traffic.name)} is for {traffic.terminals} terminals, "
                f"not {ports}"
            )
        return traffic
    if isinstance(traffic, str):
        return _from_text(traffic, ports, sinks)
    if isinstance(traffic, os.PathLike):
        return _from_text(f"file:{os.fspath(traffic)}", ports, sinks)
    if callable(traffic) and not isinstance(traffic, type):
        return _from_function(traffic, ports, sinks)
    if isinstance(traffic, Sequence) or hasattr(traffic, "__array__"):
        return _from_values(traffic, ports, sinks)
    raise InvalidType(
        "Traffic must be a text, a list of destinations, a matrix, a function or a pattern, "
        f"not {shown(traffic)}"
    )


# Lists, matrices and functions.


def _from_values(values: Any, ports: int, sinks: int, origin: str = "array") -> Pattern:
    """A pattern from a list of destinations or a matrix. `origin` names it if it is large."""
    if np.ma.is_masked(values):
        raise InvalidValue("Traffic must be an array without masked values")
    rows = values if isinstance(values, Sequence) else np.asarray(values)
    if isinstance(rows, np.ndarray) and rows.ndim not in (1, 2):
        raise InvalidValue(f"Traffic must have one or two dimensions, not {rows.ndim}")
    if any(isinstance(row, Flow) for row in rows):
        flows = [row for row in rows if isinstance(row, Flow)]
        if len(flows) != len(rows):
            raise InvalidType("Traffic must hold flows only, or none")
        places = tuple(f"Flow {number}" for number in range(len(flows)))
        together = Flows(tuple(flows), ports, places)
        return _from_flows(f"flows:{together.digest}", together)
    if any(map(_is_row, rows)):
        found = _from_matrix(rows, ports, sinks)
        return replace(found, name=_matrix_name(rows, found, origin))
    destinations = _check_destinations(rows, ports, sinks)
    name = ",".join(_SILENT if to is None else str(to) for to in destinations)
    if len(name) > LONGEST_NAME:
        name = _digest(name.encode(), origin)
    return _from_destinations(name, destinations)


def _is_row(entry: Any) -> bool:
    return isinstance(entry, Sequence | np.ndarray) and not isinstance(entry, str)


def _from_function(function: Callable[[int, int], Any], ports: int, sinks: int) -> Pattern:
    with suppress(ValueError):  # one in C may have no signature
        arguments = signature(function)
        try:
            arguments.bind(0, ports)
        except TypeError:
            raise InvalidType(
                "Traffic function must take a terminal and the number of terminals, "
                f"not {arguments}"
            ) from None
    results = []
    for source in range(ports):
        results.append(function(source, ports))
        if _is_row(results[-1]) and ports * sinks > MOST_ENTRIES:
            break  # refused below, without calling it more often
    rows = sum(map(_is_row, results))
    if rows not in (0, len(results)):
        raise InvalidType(
            "Traffic function must return destinations of all terminals, or weights of all"
        )
    origin = f"function:{getattr(function, '__name__', 'unnamed')}"
    return _from_values(results, ports, sinks, origin)


def _check_destinations(values: Iterable[Any], ports: int, sinks: int) -> list[int | None]:
    found: list[int | None] = []
    for source, value in enumerate(values):
        if value is None or (isinstance(value, Integral) and value == -1):
            found.append(None)
        else:
            found.append(check_integer(f"Destination of terminal {source}", value, 0, sinks - 1))
    if len(found) != ports:
        raise InvalidValue(f"Traffic must have {ports} destinations, not {len(found)}")
    return found


def _from_destinations(name: str, destinations: Sequence[int | None]) -> Pattern:
    senders = sum(to is not None for to in destinations)
    if not senders:
        raise InvalidValue("Traffic must have at least one terminal that sends")
    mean = len(destinations) / senders
    rates = [0.0 if to is None else mean for to in destinations]
    when = InjectionProcess(rates=tuple(rates) if mean > 1 else ())
    return Pattern(name, Destinations(tuple(to or 0 for to in destinations), 1), when)


def _from_matrix(rows: Any, ports: int, sinks: int, name: str = "") -> Pattern:
    matrix = check_matrix(rows, ports, sinks)
    sums = matrix.sum(axis=1)
    rates = sums / sums.mean()
    equal = np.allclose(rates, 1, rtol=0, atol=1e-9)
    when = InjectionProcess(rates=() if equal else tuple(rates.tolist()))
    return Pattern(name, Destinations((0,) * ports, matrix=matrix), when)


def _from_flows(name: str, flows: Flows) -> Pattern:
    average = _from_matrix(flows.matrix, flows.terminals, flows.terminals, name)
    return replace(average, flows=flows)


def _matrix_name(rows: Any, found: Pattern, origin: str) -> str:
    if len(rows) * len(rows[0]) * 2 <= LONGEST_NAME:  # a digit and a comma for each entry
        name = "matrix:" + "/".join(",".join(map(_weight_text, row)) for row in rows)
        if len(name) <= LONGEST_NAME:
            return name
    assert found.where.matrix is not None
    return _digest(found.where.matrix.tobytes(), origin)


def _weight_text(weight: Any) -> str:
    return repr(float(weight)).removesuffix(".0")


def _digest(contents: bytes, origin: str) -> str:
    """A name of large contents, which can't be read again."""
    return f"{origin}:{hashlib.sha256(contents).hexdigest()[:12]}"


# Text.


def _from_text(text: str, ports: int, sinks: int) -> Pattern:
    for ending, timed in ((_BURSTS, in_bursts), (_INTERVAL, _in_closed_loop)):
        base, found, numbers = _without(ending, text)
        if found:
            return timed(_from_text(base, ports, sinks), numbers)
    name, colon, rest = text.partition(":")
    name = name.lower()
    if name == "file" and rest:
        return _from_file(rest, ports, sinks)
    if name in _UNREADABLE and rest:
        raise InvalidValue(
            f"Traffic {text} came from Python and is too large for a text: give that {name} again"
        )
    name = _ALIASES.get(name, name)
    text = (name + colon + rest).lower()
    if name == "matrix" and rest:
        rows = [
            [_number(text, word, number_of) for word in row.split(",")] for row in rest.split("/")
        ]
        return _from_matrix(rows, ports, sinks, text)
    if name == "one-each" and rest:
        return _one_each(text, _from_text(rest, ports, sinks))
    if not colon and all(word == _SILENT or _is_integer(word) for word in text.split(",")):
        values = [
            None if word == _SILENT else _number(text, word, integer_of) for word in text.split(",")
        ]
        return _from_destinations(text, _check_destinations(values, ports, sinks))
    if name in _FORMS:
        words = rest.split(":") if colon else []
        form, make = _FORMS[name]
        required = len(form.split("[")[0].split(":")) - 1
        if required <= len(words) <= form.count(":"):
            made = make(text, ports, words)
            if _TERMINAL in form:
                check_integer(f"Terminal T of {name}", made.where.favourites[0], 0, sinks - 1)
            return made
        raise InvalidValue(f"Traffic {name} must be written as {name}{form}, not {text!r}")
    suggestion = nearest(name, _FORMS)
    if suggestion:
        raise InvalidValue(f"Traffic {text!r} is not known{suggestion}")
    raise InvalidValue(f"Traffic must be one of {', '.join(TRAFFIC)}, not {text!r}")


def _is_integer(word: str) -> bool:
    return is_natural(word.strip().removeprefix("-"))


def _uniform(text: str, ports: int, words: list[str]) -> Pattern:
    return Pattern(text, Destinations((0,) * ports))


def _hot_spot(text: str, ports: int, words: list[str]) -> Pattern:
    fraction = _fraction(text, "H", words[0])
    return Pattern(text, Destinations((_target(text, words[1:]),) * ports, fraction))


def _any_each(text: str, ports: int, words: list[str]) -> Pattern:
    return Pattern(text, Destinations((0,) * ports), InjectionProcess(quota=1))


def _one_each(text: str, base: Pattern) -> Pattern:
    if not base.where.fixed or replace(base.when, rates=()) != InjectionProcess():
        raise InvalidValue(f"Traffic one-each needs a permutation or destinations, not {base.name}")
    return replace(base, name=text, when=replace(base.when, quota=1))


def _all_to_one(text: str, ports: int, words: list[str]) -> Pattern:
    to_one = Destinations((_target(text, words),) * ports, 1)
    return Pattern(text, to_one, InjectionProcess(quota=1))


def _broadcast(text: str, ports: int, words: list[str]) -> Pattern:
    return Pattern(text, Destinations((0,) * ports, spread=_fraction(text, "B", words[0])))


def _sphere(text: str, ports: int, words: list[str]) -> Pattern:
    beta = _fraction(text, "BETA", words[0])
    size = _number(text, words[1], integer_of) if words[1:] else 0
    if words[1:] and size not in range(1, ports + 1):
        raise InvalidValue(f"Terminals SIZE of sphere must be from 1 to {ports}, not {size}")
    return Pattern(text, Destinations(tuple(range(ports)), beta, local=True, sphere=size))


def _local(text: str, ports: int, words: list[str]) -> Pattern:
    alpha = _fraction(text, "ALPHA", words[0])
    size = _number(text, words[1], integer_of) if words[1:] else 0
    if words[1:] and (size not in range(1, ports + 1) or ports % size):
        raise InvalidValue(f"Terminals SIZE of locality must divide {ports}, not {size}")
    own = tuple(range(ports))
    return Pattern(text, Destinations(own, alpha, local=True, sphere=size, tabled=True))


def _permutation(text: str, ports: int, words: list[str]) -> Pattern:
    numbers = [_number(text, word, integer_of) for word in words]
    permuted = PERMUTATIONS[text.split(":")[0]][0](ports, *numbers)
    return Pattern(text, Destinations(tuple(permuted), 1))


def _random_permutation(text: str, ports: int, words: list[str]) -> Pattern:
    seed = _number(text, words[0], integer_of) if words else 1
    return Pattern(text, Destinations(tuple(random_permutation(ports, seed)), 1))


def _by_digits(function: Callable, text: str, ports: int, words: list[str]) -> Pattern:
    return Pattern(text, Destinations((0,) * ports, 1, digitwise=function))


def _diagonal(text: str, ports: int, words: list[str]) -> Pattern:
    check_limit("Entries of a traffic matrix", ports**2, MOST_ENTRIES)
    own = np.eye(ports)
    return _from_matrix(2 * own + np.roll(own, 1, axis=1), ports, ports, text)


def _asymmetric(text: str, ports: int, words: list[str]) -> Pattern:
    if ports % 2:
        raise InvalidValue(f"Ports of asymmetric traffic must be even, not {ports}")
    check_limit("Entries of a traffic matrix", ports**2, MOST_ENTRIES)
    return _from_matrix(np.tile(np.eye(ports // 2), (2, 2)), ports, ports, text)


_ALIASES = {"bitcomp": "complement", "bitrev": "bit-reversal", "shuffle": "perfect-shuffle"}
"""The names of BookSim2 that are others here."""

_TERMINAL = "[:T]"
"""The form of a terminal that is the favourite of all, by default 0."""

_FORMS: dict[str, tuple[str, Callable[[str, int, list[str]], Pattern]]] = {
    "uniform": ("", _uniform),
    "hotspot": (f":H{_TERMINAL}", _hot_spot),
    "one-each": ("", _any_each),
    "all-to-one": (_TERMINAL, _all_to_one),
    "broadcast": (":B", _broadcast),
    "sphere": (":BETA[:SIZE]", _sphere),
    "locality": (":ALPHA[:SIZE]", _local),
    **{
        name: ("".join(f":{word}" for word in words), _permutation)
        for name, (_, words) in PERMUTATIONS.items()
    },
    "tornado": ("", partial(_by_digits, tornado)),
    "neighbor": ("", partial(_by_digits, neighbor)),
    "randperm": ("[:SEED]", _random_permutation),
    "diagonal": ("", _diagonal),
    "asymmetric": ("", _asymmetric),
}
"""For each word: the form of its parameters, and the function that makes the pattern."""

TRAFFIC = (
    *(name + form for name, (form, _) in _FORMS.items()),
    "one-each:DESTINATIONS",
    "DESTINATION,DESTINATION,...",
    "matrix:WEIGHT,WEIGHT,.../...",
    "file:FILE",
    "TRAFFIC+bursts:ON:OFF",
    "TRAFFIC+interval:T",
)
"""The forms that `pattern` accepts."""


def _target(text: str, words: list[str]) -> int:
    """The favourite terminal of all."""
    return _number(text, words[0], integer_of) if words else 0


def _fraction(text: str, letter: str, word: str) -> float:
    fraction = _number(text, word, number_of)
    if not 0 <= fraction <= 1:
        name = text.split(":")[0]
        raise InvalidValue(f"Fraction {letter} of {name} must be from 0 to 1, not {word}")
    return fraction


_Number = TypeVar("_Number", int, float)


def _number(text: str, word: str, read: Callable[[str], _Number]) -> _Number:
    try:
        return read(word)
    except ValueError:
        what = "an integer" if read is integer_of else "a number"
        raise InvalidValue(
            f"Traffic {short_name(text)!r} needs {what} in place of {word!r}"
        ) from None


# Bursts and closed loops.

_BURSTS, _INTERVAL = "+bursts", "+interval"


def _without(ending: str, text: str) -> tuple[str, bool, list[str]]:
    """A text without an ending, whether it had it, and the numbers in it."""
    at = text.lower().rfind(ending)
    first, *numbers = text[at + len(ending) :].split(":")
    if at < 0 or first or "/" in text[at:]:  # part of a path
        return text, False, []
    return text[:at], True, numbers


def in_bursts(base: Pattern, words: Sequence[str]) -> Pattern:
    """The traffic of a pattern in bursts: `words` are the mean cycles of a burst and of a pause.

    Raises
    ------
    ValueError
        If these are not two numbers that are allowed, or the traffic has times of its own.
    """
    text = f"{base.name}{_BURSTS}:{':'.join(words)}"
    if len(words) != 2:
        raise InvalidValue(f"Bursts must be written as {_BURSTS}:ON:OFF, not as in {text!r}")
    if base.flows is not None:
        raise InvalidValue(f"Traffic {base.name} has no bursts: its flows have times")
    if base.when.quota:
        raise InvalidValue(f"Traffic {base.name} has no bursts: all packets are sent at once")
    if base.when.interval is not None:
        raise InvalidValue(f"Traffic {base.name} has no bursts: its interval says when it sends")
    lengths = [_number(text, word, number_of) for word in words]
    when = replace(base.when, bursts=(lengths[0], lengths[1]))
    return replace(base, name=text, when=when)


def _in_closed_loop(base: Pattern, words: list[str]) -> Pattern:
    text = f"{base.name}{_INTERVAL}:{':'.join(words)}"
    if len(words) != 1:
        raise InvalidValue(f"Interval must be written as {_INTERVAL}:T, not as in {text!r}")
    if base.flows is not None:
        raise InvalidValue(f"Traffic {base.name} has no interval: its flows have rates")
    if base.when.quota:
        raise InvalidValue(f"Traffic {base.name} has no interval: all packets are sent at once")
    interval = _number(text, words[0], number_of)
    return replace(base, name=text, when=replace(base.when, interval=interval))


# Files.


def _from_file(path: str, ports: int, sinks: int) -> Pattern:
    """A pattern from a file of flows, or of numbers, separated by commas or spaces.

    A matrix has a line for each terminal, with a weight for each that receives. A list has one
    destination in each line, or all in one. Flows have a header (`parse_flows`).
    """
    name = f"file:{path}"
    text = read_text("Traffic", path)
    written = [line.split("#")[0] for line in text_lines(text)]
    lines = [
        (number, words)
        for number, line in enumerate(written, 1)
        if (words := line.replace(",", " ").split())
    ]
    try:
        if any(map(is_flow_header, written)):
            return _from_flows(name, parse_flows(path, text, ports))
        for number, line in enumerate(written, 1):
            if re.search(r"(^|,)\s*,", line):
                raise InvalidValue(f"line {number} must hold something before each comma")
        if len(lines) == 1 or all(len(words) == 1 for _, words in lines):
            values = [_destination(number, word) for number, words in lines for word in words]
            return _from_destinations(name, _check_destinations(values, ports, sinks))
        return _from_matrix([_weights(*line, sinks) for line in lines], ports, sinks, name)
    except ValueError as error:
        raise InvalidValue(f"Traffic {path}: {error}") from None


def _destination(number: int, word: str) -> int | None:
    if word.lower() == _SILENT:
        return None
    try:
        return integer_of(word)
    except ValueError:
        raise InvalidValue(f"line {number} must hold destinations, not {word!r}") from None


def _weights(number: int, words: list[str], sinks: int) -> list[float]:
    if len(words) != sinks:
        raise InvalidValue(f"line {number} must hold {sinks} weights, not {len(words)}")
    try:
        return [number_of(word) for word in words]
    except ValueError:
        raise InvalidValue(f"line {number} must hold weights, not {' '.join(words)!r}") from None
