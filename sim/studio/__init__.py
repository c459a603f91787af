"""The workbench in a browser: what the command does, with forms and drawings."""

from .server import application, serve

__all__ = ["application", "serve"]
