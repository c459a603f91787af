"""What this library raises when its user, or the machine it runs on, is at fault.

Anything else that is raised is a fault of the library: the command shows its traceback.
"""

__all__ = ["InvalidType", "InvalidValue", "MulticubeError"]


class MulticubeError(Exception):
    """Base of all errors that this library raises for its users, each said in one line."""


class InvalidValue(MulticubeError, ValueError):
    """A value is not one of those that are allowed."""


class InvalidType(MulticubeError, TypeError):
    """A value is of a type that is not allowed."""
