"""The parameters of a network: a frozen record whose fields describe their meaning and values.

A network states its parameters once, as a subclass of `Parameters`. The catalogue, the command
line, the checks and the output of `multicube list` are derived from it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from inspect import cleandoc
from numbers import Integral
from textwrap import wrap
from typing import Any, ClassVar

from .checks import check_flag, check_integer, nearest, shown
from .errors import InvalidType, InvalidValue
from .numerals import integer_of

__all__ = [
    "Parameter",
    "Parameters",
    "check_described",
    "fixed",
    "integer",
    "pairs",
    "plain_values",
    "text",
    "with_parameters",
    "word",
]


@dataclass(frozen=True)
class Parameter:
    """The allowed values of a parameter, and its meaning.

    Attributes
    ----------
    description : str
        What it means, in a line.
    name : str
        Name of the field, and of the word `name=value` on the command line.
    default : Any
        The value if none is given.
    title : str
        The name used in messages.
    least, most : int or None
        Bounds of an integer.
    number : bool
        Whether integers are allowed.
    choices : tuple[str, ...]
        Words that are allowed.
    meanings : Mapping[str, str]
        What the choices mean, if that is said.
    form : str
        Form of the texts that are allowed; the user of the parameter parses them.
    objects : tuple[type, ...]
        Types of objects that are allowed too; the user of the parameter checks them.
    other : callable, optional
        Checks and returns what is given in place of a number.
    plain : Any
        The value that a summary leaves out; None if it shows all values.
    listed : bool
        Whether the command line accepts it; if not, it distinguishes families of one class.
    """

    description: str
    name: str = ""
    default: Any = None
    title: str = ""
    least: int | None = None
    most: int | None = None
    number: bool = False
    choices: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    form: str = ""
    objects: tuple[type, ...] = ()
    other: Callable[[Any], Any] | None = None
    plain: Any = None
    listed: bool = True

    @property
    def words(self) -> list[str]:
        """The words that are allowed, and the form of its texts."""
        return [*self.choices, *([self.form] if self.form else [])]

    @property
    def values(self) -> str:
        """The allowed values, for messages."""
        if not self.number:
            return ", ".join(self.words)
        bounds = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
        return ", ".join([bounds, *self.words])

    def parse(self, text: str) -> Any:
        """The value that a text stands for; capitals don't matter in the name of a choice.

        Raises
        ------
        ValueError
            If the text is not an integer where one is required, or not one of the choices.
        """
        if text.lower() in self.choices:
            return text.lower()
        if self.number:
            try:
                return integer_of(text)
            except ValueError:
                pass
        if self.form:
            return text
        if self.number:
            other = "".join(f" or {choice}" for choice in self.choices)
            raise InvalidValue(
                f"Parameter {self.name} must be an integer{other}, not {self._refused(text)}"
            )
        allowed = ", ".join(self.choices)
        raise InvalidValue(
            f"Parameter {self.name} must be one of {allowed}, not {self._refused(text)}"
        )

    def _refused(self, value: Any) -> str:
        """A value that is not allowed, and the choice that it may stand for."""
        return f"{shown(value)}{nearest(value, self.choices)}"

    def check(self, value: Any) -> Any:
        """Check a value and return it; an integer of any type becomes a Python `int`.

        Raises
        ------
        TypeError, ValueError
            If the value is not allowed.
        """
        if isinstance(value, str) and (value in self.choices or self.form):
            return value
        if self.other is not None and not isinstance(value, Integral):
            return self.other(value)
        if isinstance(value, self.objects):
            return value
        if self.number:
            if not isinstance(value, str) or not self.choices:
                return check_integer(self.title, value, self.least or 0, self.most)
            other = " or ".join(self.choices)
            raise InvalidValue(
                f"{self.title} must be an integer or {other}, not {self._refused(value)}"
            )
        if self.choices:
            allowed = ", ".join(self.choices)
            raise InvalidValue(f"{self.title} must be one of {allowed}, not {self._refused(value)}")
        if self.form:
            raise InvalidType(f"{self.title} must be text, not {shown(value)}")
        return self._check_fixed(value)

    def _check_fixed(self, value: Any) -> Any:
        """Check a value that nobody chooses: it is as the default, or what "auto" stands for."""
        if isinstance(self.default, bool):
            check_flag(self.title, value)
        elif isinstance(self.default, int) or (
            isinstance(self.default, str) and not isinstance(value, str)
        ):
            return check_integer(self.title, value, 0, 2**32)
        return value


def integer(
    default: int | str,
    description: str,
    *,
    least: int,
    most: int | None = None,
    choices: tuple[str, ...] = (),
    form: str = "",
    title: str = "",
    plain: Any = None,
) -> Any:
    """A field that is an integer, or one of some words, or a text of a given form.

    Parameters
    ----------
    default : int or str
        The value if none is given.
    description : str
        What it is.
    least : int
        The least value.
    most : int, optional
        The greatest value.
    choices : tuple[str, ...]
        Words that are values, too.
    form : str
        The form of texts that are values, too.
    title : str
        Its name in messages, if it is not that of the field.
    plain : Any
        The value that a summary leaves out; None if it shows all values.

    Returns
    -------
    Any
        The field of a dataclass.
    """
    about = Parameter(
        description,
        title=title,
        least=least,
        most=most,
        number=True,
        choices=choices,
        form=form,
        plain=plain,
    )
    return field(default=default, metadata={"about": about})


def word(
    default: Any,
    description: str,
    choices: tuple[str, ...] | Mapping[str, str],
    *,
    title: str = "",
    objects: tuple[type, ...] = (),
    plain: Any = None,
    listed: bool = True,
) -> Any:
    """A field that is one of a list of words, or of a dictionary of words and their meanings.

    Parameters
    ----------
    default : Any
        The value if none is given.
    description : str
        What it is.
    choices : tuple[str, ...] or Mapping[str, str]
        The words, or the words and their meanings.
    title : str
        Its name in messages, if it is not that of the field.
    objects : tuple[type, ...]
        Types of objects that are values in Python, too.
    plain : Any
        The value that a summary leaves out; None if it shows all values.
    listed : bool
        Whether the command line accepts it.

    Returns
    -------
    Any
        The field of a dataclass.
    """
    about = Parameter(
        description,
        title=title,
        choices=tuple(choices),
        meanings=choices if isinstance(choices, Mapping) else {},
        objects=objects,
        plain=plain,
        listed=listed,
    )
    return field(default=default, metadata={"about": about})


def fixed(default: Any, description: str, *, plain: Any = None) -> Any:
    """A field that distinguishes families of one class; it is not for the command line.

    Parameters
    ----------
    default : Any
        The value.
    description : str
        What it is.
    plain : Any
        The value that a summary leaves out; None if it shows all values.

    Returns
    -------
    Any
        The field of a dataclass.
    """
    return field(
        default=default, metadata={"about": Parameter(description, listed=False, plain=plain)}
    )


def text(default: str, description: str, form: str, *, title: str = "", plain: Any = None) -> Any:
    """A field that is a text of a given form.

    Parameters
    ----------
    default : str
        The value if none is given.
    description : str
        What it is.
    form : str
        The form of the text, as messages show it.
    title : str
        Its name in messages, if it is not that of the field.
    plain : Any
        The value that a summary leaves out; None if it shows all values.

    Returns
    -------
    Any
        The field of a dataclass.
    """
    return field(
        default=default,
        metadata={"about": Parameter(description, title=title, form=form, plain=plain)},
    )


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
        """Values as words NAME=VALUE, without those that a summary leaves out."""
        plain = cls.plain()
        given = plain_values(values)
        shown = {name: value for name, value in given.items() if value != plain.get(name)}
        return " ".join(f"{name}={value}" for name, value in shown.items())

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
