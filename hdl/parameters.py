"""What can be chosen of a network: a frozen record whose fields say what they mean and allow.

A network states its parameters once, as a subclass of `Parameters`. The catalogue, the command
line, the checks, and the lists of `multicube list` are made from it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Self

from amaranth.hdl import ShapeLike

from .checks import check_integer

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
    objects : bool
        Whether it can be an object of another kind, which whoever uses it checks: a shape, say.
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
    objects: bool = False
    listed: bool = True

    @property
    def values(self) -> str:
        """What is allowed, in words."""
        words = [*self.choices, *([self.form] if self.form else [])]
        if not self.number:
            return ", ".join(words)
        if self.most is not None:
            return ", ".join([f"{self.least} to {self.most}", *words])
        return ", ".join([f"{self.least} or more", *words])

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
            raise ValueError(f"Parameter {self.name} must be an integer{other}, not {text!r}")
        allowed = ", ".join(self.choices)
        raise ValueError(f"Parameter {self.name} must be one of {allowed}, not {text!r}")

    def check(self, value: Any) -> None:
        """Raise TypeError or ValueError if a value is not as it must be."""
        if isinstance(value, str) and (value in self.choices or self.form):
            return
        if self.objects and not isinstance(value, int | float | str):
            return
        if self.number:
            if not isinstance(value, str) or not self.choices:
                check_integer(self.title, value, self.least or 0, self.most)
                return
            other = " or ".join(self.choices)
            raise ValueError(f"{self.title} must be an integer or {other}, not {value!r}")
        if self.choices:
            raise ValueError(
                f"{self.title} must be one of {', '.join(self.choices)}, not {value!r}"
            )
        if self.form:
            raise TypeError(f"{self.title} must be text, not {value!r}")


def integer(
    default: int | str,
    description: str,
    *,
    least: int,
    most: int | None = None,
    choices: tuple[str, ...] = (),
    form: str = "",
    title: str = "",
    objects: bool = False,
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
        objects=objects,
    )
    return field(default=default, metadata={"about": about})


def word(
    default: Any,
    description: str,
    choices: tuple[str, ...],
    *,
    title: str = "",
    objects: bool = False,
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
    return integer(default, "width of the payload in bits", least=1, most=2**12, objects=True)


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
            about.check(getattr(self, about.name))

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
        """Put what "auto" stands for in the place of the word; for `__post_init__` only."""
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
