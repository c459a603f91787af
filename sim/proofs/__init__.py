"""Certificates: proved contracts of cells, and what follows for a network."""
