"""Routing: the channels that packets take, permutations that pass, and freedom from deadlock."""
