"""Graphs by name: their nodes, links and routing."""
