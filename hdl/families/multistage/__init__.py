"""Multistage cube networks in all switching modes, with their special cells and networks."""
