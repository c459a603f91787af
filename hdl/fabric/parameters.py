"""The parameters of a network: a frozen record whose fields describe their meaning and values.

A network states its parameters once, as a subclass of `Parameters`. The catalogue, the command
line, the checks and the output of `multicube list` are derived from it.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from inspect import cleandoc
from textwrap import wrap
from typing import Any, ClassVar

from .errors import InvalidType, InvalidValue
from .parameter_fields import Parameter

__all__ = [
    "Parameters",
    "check_described",
    "pairs",
    "plain_values",
    "with_parameters",
    "words_in",
]


@dataclass(frozen=True, eq=False)
class Parameters(Mapping[str, Any]):
    """The values of all parameters of a network; also a mapping from their names.

    Raises
    ------
    TypeError, ValueError
        If a field does not allow a value, or values are not compatible with each other.
    """

    aliases: ClassVar[Mapping[str, str]] = {}
    """Other words for the names of some parameters."""

    of_switch: ClassVar[frozenset[str]] = frozenset()
    """The names of those that say what switches do, and not what is linked."""

    def __post_init__(self) -> None:
        check_described(self)

    @classmethod
    def named(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values by the names of their parameters, of which some have other words too.

        Raises
        ------
        ValueError
            If a parameter is given by two words.
        """
        found: dict[str, Any] = {}
        for word, value in values.items():
            name = cls.aliases.get(word, word)
            if name in found:
                raise InvalidValue(f"Parameter {name} is given twice")
            found[name] = value
        return found

    @classmethod
    def described(cls) -> tuple[Parameter, ...]:
        """The description of each field, in order; those that are given by name only come last."""
        return _described(cls)

    @classmethod
    def plain(cls) -> dict[str, Any]:
        """The values that a summary leaves out, by name."""
        return {about.name: about.plain for about in cls.described() if about.plain is not None}

    @classmethod
    def summary(cls, values: Mapping[str, Any]) -> str:
        """Values as words NAME=VALUE for a shell, without those that a summary leaves out."""
        plain = cls.plain()
        given = plain_values(values)
        shown = {name: value for name, value in given.items() if value != plain.get(name)}
        return shlex.join(f"{name}={value}" for name, value in shown.items())

    def __getitem__(self, name: str) -> Any:
        if name not in _names(type(self)):
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return (about.name for about in self.described())

    def __len__(self) -> int:
        return len(_names(type(self)))

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.values())))

    def _resolve(self, **values: Any) -> None:
        """Replace values, such as "auto" by its meaning; for `__post_init__` only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def check_described(record: Any) -> None:
    """Check the values of the fields that say what they allow, and store Python's own integers.

    Parameters
    ----------
    record : Any
        A frozen dataclass; fields that say nothing are not checked.
    """
    for about in _described(record.__class__):
        object.__setattr__(record, about.name, about.check(getattr(record, about.name)))


@cache
def _names(record: type[Parameters]) -> frozenset[str]:
    return frozenset(each.name for each in fields(record))


@cache
def _described(record: type) -> tuple[Parameter, ...]:
    silent = [each.name for each in fields(record) if "about" not in each.metadata]
    if silent and issubclass(record, Parameters):  # it would be lost where a network is made again
        raise InvalidType(
            f"Field {silent[0]} of {record.__name__} must say what it allows: integer, word, text "
            f"or fixed of {__name__}"
        )
    return tuple(
        replace(
            each.metadata["about"],
            name=each.name,
            default=each.default,
            title=each.metadata["about"].title or each.name.capitalize().replace("_", " "),
        )
        for each in sorted(fields(record), key=lambda each: bool(each.kw_only))
        if "about" in each.metadata
    )


def words_in(text: str) -> list[str]:
    """The words of a text; those with spaces are in quotes, as for a shell.

    A backslash has no meaning of its own, since names of files may have some.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    list[str]
        The words, without quotes.

    Raises
    ------
    ValueError
        If a quote has no end.

    Examples
    --------
    >>> from multicube.hdl.fabric.parameters import words_in
    >>> words_in("graph 'file=my net.json' depth=2")
    ['graph', 'file=my net.json', 'depth=2']
    """
    reader = shlex.shlex(text, posix=True, punctuation_chars=False)
    reader.whitespace_split, reader.escape, reader.commenters = True, "", ""
    try:
        return list(reader)
    except ValueError as error:
        raise InvalidValue(f"Words {text!r} can't be read: {error}") from None


def pairs(words: Iterable[str]) -> dict[str, str]:
    """Words of the form NAME=VALUE as a dictionary.

    Parameters
    ----------
    words : Iterable[str]
        The words.

    Returns
    -------
    dict[str, str]
        The values by name.

    Raises
    ------
    ValueError
        If a word is not NAME=VALUE, or a name is given twice.

    Examples
    --------
    >>> from multicube.hdl.fabric.parameters import pairs
    >>> pairs(["ports=8", "depth=2"])
    {'ports': '8', 'depth': '2'}
    """
    values: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name:
            raise InvalidValue(f"Parameter must be written as name=value, not {word!r}")
        if name in values:
            raise InvalidValue(f"Parameter {name} is given twice")
        values[name] = value
    return values


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as JSON has them: an object of a user, or a shape, is its name or text.

    Parameters
    ----------
    values : Mapping[str, Any]
        The values by name.

    Returns
    -------
    dict[str, Any]
        Numbers, texts and None by name.

    Examples
    --------
    >>> from amaranth.hdl import signed
    >>> from multicube.hdl.fabric.parameters import plain_values
    >>> plain_values({"ports": 8, "payload": signed(5)})
    {'ports': 8, 'payload': 'signed(5)'}
    """
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (int, float, str)):
        return value
    return value.__name__ if isinstance(value, type) else str(value)


def with_parameters(text: str, record: type[Parameters]) -> str:
    """A docstring with a section that describes the parameters of a record.

    Parameters
    ----------
    text : str
        The docstring.
    record : type[Parameters]
        The record of parameters.

    Returns
    -------
    str
        The docstring with the section.
    """
    text = cleandoc(text)
    section = ["Parameters", "----------"]
    for about in record.described():
        kind = "object" if about.default is None else type(about.default).__name__
        values = about.values or kind
        values = f"int, {values}" if about.number else values
        default = "empty" if about.default == "" else about.default
        section.append(f"{about.name} : {values}; default {default}")
        section += wrap(f"{about.description[:1].upper()}{about.description[1:]}.", **_INDENTED)
    head, line, rest = text.partition(next(iter(_HEADING.findall(text)), "\0"))
    return "\n\n".join(filter(None, [head.rstrip(), "\n".join(section), line + rest]))


_HEADING = re.compile(r"^\w.*\n---+$", re.MULTILINE)
_INDENTED: Any = {"width": 96, "initial_indent": "    ", "subsequent_indent": "    "}
