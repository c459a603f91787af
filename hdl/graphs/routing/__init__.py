"""Routing in graphs: relations, algorithms for any graph, and freedom from deadlock."""
