"""What can be chosen of a network: a frozen record whose fields say what they mean and allow.

A network states its parameters once, as a subclass of `Parameters`. The catalogue, the command
line, the checks, and the lists of `multicube list` are made from it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from numbers import Integral
from typing import Any, Self

from amaranth.hdl import ShapeLike

from .checks import check_integer, check_payload
from .errors import InvalidType, InvalidValue

__all__ = ["Parameter", "Parameters", "fixed", "integer", "payload_shape", "text", "word"]


@dataclass(frozen=True)
class Parameter:
    """What a value may be, and what it means.

    Attributes
    ----------
    description : str
    name : str
        As the word `name=value` of the command line; that of the field.
    default : Any
    title : str
        What messages call it.
    least, most : int or None
        Bounds of an integer.
    number : bool
        Whether it can be an integer.
    choices : tuple[str, ...]
        Words that it can be.
    form : str
        Form of the texts that it can be, which whoever uses it reads.
    objects : tuple[type, ...]
        Types of objects that it can be too; whoever uses it checks them.
    shape : bool
        Whether it can be a shape of Amaranth instead of a number of bits.
    listed : bool
        Whether the command line takes it; if not, it tells families of one class apart.
    """

    description: str
    name: str = ""
    default: Any = None
    title: str = ""
    least: int | None = None
    most: int | None = None
    number: bool = False
    choices: tuple[str, ...] = ()
    form: str = ""
    objects: tuple[type, ...] = ()
    shape: bool = False
    listed: bool = True

    @property
    def words(self) -> list[str]:
        """The words that it can be, and the form of its texts."""
        return [*self.choices, *([self.form] if self.form else [])]

    @property
    def values(self) -> str:
        """What is allowed, in words."""
        if not self.number:
            return ", ".join(self.words)
        bounds = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
        return ", ".join([bounds, *self.words])

    def parse(self, text: str) -> Any:
        """The value that a text stands for.

        Raises
        ------
        ValueError
            If the text is no integer where one is needed, or is none of the choices.
        """
        if text in self.choices:
            return text
        if self.number:
            try:
                return int(text)
            except ValueError:
                pass
        if self.form:
            return text
        if self.number:
            other = "".join(f" or {choice}" for choice in self.choices)
            raise InvalidValue(f"Parameter {self.name} must be an integer{other}, not {text!r}")
        allowed = ", ".join(self.choices)
        raise InvalidValue(f"Parameter {self.name} must be one of {allowed}, not {text!r}")

    def check(self, value: Any) -> Any:
        """The value if it is as it must be; an integer of any type as Python's own.

        Raises
        ------
        TypeError, ValueError
            If it is not.
        """
        if isinstance(value, str) and (value in self.choices or self.form):
            return value
        if self.shape and not isinstance(value, Integral):
            return check_payload(value)
        if isinstance(value, self.objects):
            return value
        if self.number:
            if not isinstance(value, str) or not self.choices:
                return check_integer(self.title, value, self.least or 0, self.most)
            other = " or ".join(self.choices)
            raise InvalidValue(f"{self.title} must be an integer or {other}, not {value!r}")
        if self.choices:
            allowed = ", ".join(self.choices)
            raise InvalidValue(f"{self.title} must be one of {allowed}, not {value!r}")
        if self.form:
            raise InvalidType(f"{self.title} must be text, not {value!r}")
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
) -> Any:
    """A field that is an integer, or one of some words, or a text of some form."""
    about = Parameter(
        description,
        title=title,
        least=least,
        most=most,
        number=True,
        choices=choices,
        form=form,
    )
    return field(default=default, metadata={"about": about})


def word(
    default: Any,
    description: str,
    choices: tuple[str, ...],
    *,
    title: str = "",
    objects: tuple[type, ...] = (),
    listed: bool = True,
) -> Any:
    """A field that is one of some words."""
    about = Parameter(description, title=title, choices=choices, objects=objects, listed=listed)
    return field(default=default, metadata={"about": about})


def fixed(default: Any, description: str) -> Any:
    """A field that is not for the command line: by it families of one class differ."""
    return field(default=default, metadata={"about": Parameter(description, listed=False)})


def text(default: str, description: str, form: str, *, title: str = "") -> Any:
    """A field that is a text of some form."""
    return field(
        default=default, metadata={"about": Parameter(description, title=title, form=form)}
    )


def payload_shape(default: ShapeLike = 16) -> Any:
    """The field for the shape of a packet's payload; if it is a number of bits, from 1 to 4,096."""
    about = Parameter(
        "width of the payload in bits",
        title="Payload",
        least=1,
        most=2**12,
        number=True,
        shape=True,
    )
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, eq=False)
class Parameters(Mapping[str, Any]):
    """Values for all that can be chosen of a network; also a mapping from their names.

    Raises
    ------
    TypeError, ValueError
        If a value is not as its field allows, or does not go with the others.
    """

    def __post_init__(self) -> None:
        for about in self.described():
            self._resolve(**{about.name: about.check(getattr(self, about.name))})

    @classmethod
    def described(cls) -> tuple[Parameter, ...]:
        """What each field is, in order."""
        return _described(cls)

    def __getitem__(self, name: str) -> Any:
        if name not in self.__dataclass_fields__:
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dataclass_fields__)

    def __len__(self) -> int:
        return len(self.__dataclass_fields__)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.values())))

    def _resolve(self, **values: Any) -> None:
        """Replace values, as "auto" by what it stands for; for `__post_init__` only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def altered(self, **values: Any) -> Self:
        """The same with other values for some."""
        return type(self)(**{**self, **values})


@cache
def _described(record: type[Parameters]) -> tuple[Parameter, ...]:
    return tuple(
        replace(
            each.metadata["about"],
            name=each.name,
            default=each.default,
            title=each.metadata["about"].title or each.name.capitalize().replace("_", " "),
        )
        for each in fields(record)
    )
