"""Fields of parameters: what each may be, said once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from .checks import check_flag, check_integer, nearest, shown
from .errors import InvalidType, InvalidValue
from .numerals import integer_of

__all__ = ["Parameter", "fixed", "integer", "text", "word"]


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
