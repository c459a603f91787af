"""Certificates of networks: contracts of cells, proved, and what follows from them and the wires."""
