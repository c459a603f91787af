"""Stanfill 1987: communication architectures, and the Connection Machine's router."""

__all__ = ["SOURCE"]

SOURCE = "Stanfill 1987"
