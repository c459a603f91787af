"""Clos networks and Benes networks: all permutations pass, if boxes are set centrally."""
