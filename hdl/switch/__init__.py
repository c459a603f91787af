"""Switches: what any box of a multistage network and any router of a graph is made of."""
