"""Multistage cube networks, in all switching modes, and what belongs to them alone."""
