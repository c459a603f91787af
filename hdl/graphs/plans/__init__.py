"""Multistage networks as plans: stages of boxes, and the wires between."""
