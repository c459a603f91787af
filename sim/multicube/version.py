"""The version of the installed library."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("multicube")
