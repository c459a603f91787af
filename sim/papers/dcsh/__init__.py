"""Ould-Khaoua and Sotudeh: the Distributed Crossbar Switch Hypermesh (DCSH) beside the torus."""

__all__ = ["SOURCE"]

SOURCE = "Ould-Khaoua and Sotudeh, section III-C"
