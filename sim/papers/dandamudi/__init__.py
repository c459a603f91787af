"""Dandamudi and Eager 1990: hierarchical networks, their links, distances and delays."""

__all__ = ["SOURCE"]

SOURCE = "Dandamudi and Eager 1990"
